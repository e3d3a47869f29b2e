"""What runs of scale.py result in: results.csv with a row for each run, a table and a picture."""
import collections
import csv
import math
import os
import re
import statistics
from xml.sax.saxutils import escape

RESULT = ["epochs", "steps", "loss", "accuracy", "images_per_s", "seconds"]
COLUMNS = ["size", "run", "date", "status", "command_s"] + RESULT + ["command"]
TAIL_BYTES = 1 << 20  # of an output, in which its result is looked for

Scaling = collections.namedtuple("Scaling", ["seconds", "speed_up", "efficiency"])


def tail(path):
    """The last text of a file; none if there is no file."""
    try:
        with open(path, "rb") as file:
            file.seek(max(0, os.path.getsize(path) - TAIL_BYTES))
            return file.read().decode(errors="replace")
    except FileNotFoundError:
        return ""


def result_in(output):
    """By name, what the last line with a result says."""
    lines = re.findall(r"\bresult: (.*)", output)
    return dict(re.findall(r"(\w+)=(\S+)", lines[-1])) if lines else {}


def load(path):
    """The rows of results.csv, none if there is no such file."""
    try:
        with open(path, newline="", encoding="utf-8") as file:
            header, *rows = csv.reader(file)
    except FileNotFoundError:
        return []
    except (ValueError, csv.Error):
        header, rows = [], []
    if header != COLUMNS or not all(
            len(row) == len(COLUMNS) and all(re.fullmatch(r"[1-9]\d*", cell) for cell in row[:2])
            for row in rows):
        raise ValueError("{} is no results.csv of this program, or was changed".format(path))
    return [dict(zip(COLUMNS, row)) for row in rows]


def store(path, rows):
    """All rows are on the disk when this returns. A kill leaves the old file or the new one."""
    with open(path + ".new", "w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        table.writeheader()
        table.writerows(rows)
        file.flush()
        os.fsync(file.fileno())
    os.replace(path + ".new", path)


def number(text):
    """A finite number of at least 0, or nothing."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0 <= value < math.inf else None


def by_size(rows, column):
    """The numbers of this column for each size; sizes without one are left out."""
    values = collections.defaultdict(list)
    for row in rows:
        if number(row[column]) is not None:
            values[int(row["size"])].append(number(row[column]))
    return dict(sorted(values.items()))


def scaling(seconds, weak):
    """By size, of the median or published seconds. The smallest size has its own speed-up."""
    first = min(seconds, default=1)
    result = {}
    for size, value in sorted(seconds.items()):
        growth = seconds[first] / value * (size / first if weak else 1)
        result[size] = Scaling(value, growth * first, growth * first / size)
    return result


def medians(values):
    return {size: statistics.median(some) for size, some in values.items()}


def shown(form, value):
    return "-" if value is None else form.format(value)


def scaling_cells(line):
    return [shown("{:.2f}", line and line.seconds), shown("{:.2f}", line and line.speed_up),
            shown("{:.0%}", line and line.efficiency)]


def aligned(lines):
    widths = [max(map(len, column)) for column in zip(*lines)]
    return "".join("  ".join(cell.rjust(width) for cell, width in zip(line, widths)) + "\n"
                   for line in lines)


def table(rows, seconds, beside, weak, beside_name):
    ours, theirs = scaling(medians(seconds), weak), scaling(beside, weak)
    images, accuracy = (medians(by_size(rows, column)) for column in ("images_per_s", "accuracy"))
    lines = [["size", "runs", "seconds", "speed-up", "efficiency", "images/s", "accuracy"] +
             (["|", "seconds", "speed-up", "efficiency"] if beside else [])]
    for size in sorted({**ours, **theirs}):
        lines.append([str(size), str(len(seconds.get(size, [])))] + scaling_cells(ours.get(size)) +
                     [shown("{:.1f}", images.get(size)), shown("{:.2f}", accuracy.get(size))] +
                     (["|"] + scaling_cells(theirs.get(size)) if beside else []))
    heading = "right of the bar: {}\n".format(beside_name) if beside else ""
    return heading + "\n" + aligned(lines)


class Picture:
    """Sizes to speed-ups, both in steps of doubling."""
    WIDTH, HEIGHT, MARGIN = 640, 480, 60

    def __init__(self, sizes, speed_ups):
        self.first, self.last = math.log2(min(sizes)), math.log2(max(sizes))
        self.low = math.floor(math.log2(min(speed_ups)))
        self.high = max(math.ceil(math.log2(max(speed_ups))), self.low + 1)
        self.parts = []

    def at(self, size, speed_up):
        span = self.last - self.first or 1
        right = (math.log2(size) - self.first) / span * (self.WIDTH - 2 * self.MARGIN)
        up = (math.log2(speed_up) - self.low) / (self.high - self.low)
        return (round(self.MARGIN + right, 1),
                round(self.HEIGHT - self.MARGIN - up * (self.HEIGHT - 2 * self.MARGIN), 1))

    def text(self, x, y, text, more=""):
        self.parts.append('<text x="{}" y="{}" {}>{}</text>'.format(x, y, more, escape(text)))

    def line(self, points, more):
        self.parts.append('<polyline points="{}" fill="none" {}/>'.format(
            " ".join("{},{}".format(*self.at(*point)) for point in points), more))

    def axes(self, sizes):
        bottom = self.HEIGHT - self.MARGIN
        for size in sizes:
            x = self.at(size, 2 ** self.low)[0]
            self.text(x, bottom + 20, str(size), 'text-anchor="middle"')
        for power in range(self.low, self.high + 1):
            y = self.at(sizes[0], 2 ** power)[1]
            self.parts.append('<path d="M{} {}H{}" stroke="#ddd"/>'.format(
                self.MARGIN, y, self.WIDTH - self.MARGIN))
            self.text(self.MARGIN - 8, y + 4, "{:g}".format(2.0 ** power), 'text-anchor="end"')
        self.text(self.WIDTH / 2, bottom + 42, "workers", 'text-anchor="middle"')
        self.text(self.MARGIN, self.MARGIN - 14, "speed-up, efficiency in %")

    def curve(self, lines, name, color, row):
        """The efficiencies are above the line of the first row, and below that of the next."""
        self.line([(size, line.speed_up) for size, line in lines.items()],
                  'stroke="{}" stroke-width="2"'.format(color))
        where, anchor = ((-8, -6), "end") if row == 1 else ((8, 16), "start")
        for size, line in list(lines.items())[1:]:
            x, y = self.at(size, line.speed_up)
            self.text(x + where[0], y + where[1], "{:.0%}".format(line.efficiency),
                      'fill="{}" text-anchor="{}"'.format(color, anchor))
        self.legend(name, color, row)

    def legend(self, name, color, row):
        self.text(self.MARGIN + 12, self.MARGIN + 12 + 18 * row, name, 'fill="{}"'.format(color))

    def svg(self, title):
        return ('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {0} {1}" width="{0}" '
                'height="{1}" font-family="sans-serif" font-size="12">\n<title>{2}</title>\n'
                '<rect width="100%" height="100%" fill="white"/>\n{3}\n</svg>\n').format(
                    self.WIDTH, self.HEIGHT, escape(title), "\n".join(self.parts))


def picture(title, seconds, beside, weak, beside_name):
    ours, theirs = scaling(medians(seconds), weak), scaling(beside, weak)
    first = min(ours)
    runs = [(size, ours[first].seconds / value * (size if weak else first))
            for size, values in seconds.items() for value in values]
    sizes = sorted({**ours, **theirs})
    result = Picture(sizes, [sizes[0], sizes[-1]] + [speed_up for _, speed_up in runs] +
                     [line.speed_up for line in theirs.values()])
    result.axes(sizes)
    result.line([(size, size) for size in sizes], 'stroke="#999" stroke-dasharray="4"')
    result.legend("ideal", "#777", 0)
    for point in runs:
        result.parts.append('<circle cx="{}" cy="{}" r="3" fill="#1f6fb4"/>'.format(
            *result.at(*point)))
    result.curve(ours, "measured, line through the medians", "#1f6fb4", 1)
    if theirs:
        result.curve(theirs, beside_name, "#c0561f", 2)
    return result.svg(title)


def report(folder, rows, command, weak, beside, beside_name):
    """Writes table.txt and scaling.svg, if a run has succeeded, and returns the table."""
    rows = [row for row in rows if row["status"] == "0"]
    if not rows:
        return "scale: no run has succeeded yet\n"
    told = all(number(row["seconds"]) for row in rows)
    seconds = by_size(rows, "seconds" if told else "command_s")
    title = "{} scaling of: {}".format("weak" if weak else "strong", command)
    text = "{}\nruns: {}; medians; the seconds are {}\n".format(
        title, len(rows),
        "those of the results" if told else "of whole commands, since a run told none")
    text += table(rows, seconds, beside, weak, beside_name)
    for name, content in (("table.txt", text),
                          ("scaling.svg", picture(title, seconds, beside, weak, beside_name))):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(content)
    return text

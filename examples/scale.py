#!/usr/bin/env python3
"""Runs a training at several sizes, and tells how it scales. Examples:

    scale.py --sizes 1,2,4,8 --output scaling/ -- ddprun --nproc-per-node {size} ./train
    scale.py --sizes 4,8,16 --per-node 4 --output scaling/ -- \\
        srun --nodes {nodes} --ntasks-per-node 1 ddprun --nproc-per-node {per_node} ./train
    scale.py --sizes 4,8,16 --per-node 4 --output scaling/ -- \\
        sbatch --wait --nodes {nodes} --gpus-per-node {per_node} --output {log} job.sh

The command is run as it is, without a shell. In its words these are replaced:
  {size}                 number of workers
  {nodes}, {per_node}    nodes, and workers on each; --per-node says how many a full node has
  {1024/size}            1024 divided by the size, such as a batch of 1024 in all
  {1000*size}            1000 for each worker, such as data that grow with the size
  {run}                  1 to --repeat
  {log}                  a file for what a batch job prints

A run's numbers are those of its last line "result: epochs=4 steps=100 loss=0.5 accuracy=61.2
images_per_s=1000 seconds=12.5"; "-" stands for a number that there is not. Where a run says no
seconds, the time of its whole command counts.

A training that resumes from a snapshot needs another one in each run, such as
--snapshot scaling/snapshots/{size}.{run}/snapshot.pt for ddprun.

The folder of --output gets results.csv, with a row after each run, table.txt and scaling.svg, and
in logs/ what the commands print. Started again, it runs what results.csv lacks.
"""
import argparse
import datetime
import os
import re
import shlex
import signal
import subprocess
import sys
import time

import scale_results

GRACE_S = 30  # from SIGTERM to SIGKILL; more than the --grace of ddprun


def fail(text, status=1):
    print("scale: " + text, file=sys.stderr)
    sys.exit(status)


def sizes_of(text):
    if not re.fullmatch(r"[1-9]\d*(,[1-9]\d*)*", text):
        raise argparse.ArgumentTypeError("{!r} is not a list such as 1,2,4,8".format(text))
    return sorted({int(word) for word in text.split(",")})


def published(text):
    pair = r"[1-9]\d*:(?=[\d.]*[1-9])\d+(\.\d+)?"
    if not re.fullmatch("{0}(,{0})*".format(pair), text):
        raise argparse.ArgumentTypeError("{!r} is not a table such as 1:210,2:115".format(text))
    return {int(size): float(seconds)
            for size, seconds in (word.split(":") for word in text.split(","))}


def read_options(words):
    parser = argparse.ArgumentParser(
        usage="scale.py --sizes LIST --output FOLDER [options] -- COMMAND...",
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=sizes_of, required=True, help="such as 1,2,4,8")
    parser.add_argument("--output", required=True, metavar="FOLDER")
    parser.add_argument("--repeat", type=int, default=3, help="runs of each size; default: 3")
    parser.add_argument("--per-node", type=int, metavar="N", help="workers on a full node")
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument("--strong", dest="weak", action="store_false",
                      help="the work is the same at each size; the default")
    kind.add_argument("--weak", action="store_true", help="the work grows with the size")
    parser.set_defaults(weak=False)
    parser.add_argument("--keep-going", action="store_true", help="after a run that fails, too")
    parser.add_argument("--dry-run", action="store_true", help="say what would run, and end")
    parser.add_argument("--beside", type=published, default={}, metavar="SIZE:SECONDS,...",
                        help="a published table, shown beside the measured one")
    parser.add_argument("--beside-name", default="published", metavar="NAME")
    split = words.index("--") if "--" in words else len(words)
    options = parser.parse_args(words[:split])
    options.command = words[split + 1:]
    if not options.command:
        parser.error("no command; write it after --")
    if options.repeat < 1 or (options.per_node or 1) < 1:
        parser.error("--repeat and --per-node are at least 1")
    if len(options.sizes) > 1 and len({tuple(fill(options, n, 1)) for n in options.sizes}) == 1:
        parser.error("the command is the same at each size; write {size} where the number belongs")
    return options


def log_of(options, size, run, kind):
    return os.path.join(options.output, "logs", "size-{}.run-{}.{}".format(size, run, kind))


def fill(options, size, run):
    """The words of the command for a run."""
    def value(match):
        factor, sign, name = match.groups()
        if factor:
            if sign == "/" and int(factor) % size:
                fail("{}: {} cannot be divided by size {}; leave out that size, or take a "
                     "multiple of it".format(match.group(), factor, size), 2)
            return str(int(factor) // size if sign == "/" else int(factor) * size)
        if name in ("nodes", "per_node"):
            full = options.per_node
            if not full:
                fail("{}: how many workers has a node? Say it by --per-node".format(
                    match.group()), 2)
            if size > full and size % full:
                fail("size {} does not fill nodes of {} workers (--per-node); leave it out".format(
                    size, full), 2)
            return str(max(1, size // full) if name == "nodes" else min(size, full))
        return {"size": str(size), "run": str(run),
                "log": log_of(options, size, run, "job.log")}[name]

    placeholder = re.compile(r"\{(?:(\d+)([*/])size|(size|nodes|per_node|run|log))\}")
    return [placeholder.sub(value, word) for word in options.command]


def command_line(options, size, run):
    return " ".join(shlex.quote(word) for word in fill(options, size, run))


def read_rows(options, path):
    """Those of results.csv, if they are of the same command."""
    try:
        rows = scale_results.load(path)
    except ValueError as error:
        fail("{}; move it away, or take another --output".format(error))
    for row in rows:
        command = command_line(options, int(row["size"]), int(row["run"]))
        if row["command"] != command:
            fail("{} has the results of another command; take another --output\n"
                 "  there: {}\n  now:   {}".format(path, row["command"], command))
    return rows


class Runner:
    """One command at a time, in a process group of its own. The first signal ends the command, and
    the second kills it."""

    def __init__(self):
        self.child = None
        self.stopped_by = None
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGALRM):
            if signal.getsignal(number) != signal.SIG_IGN:  # nohup ignores SIGHUP
                signal.signal(number, self.on_signal)

    def on_signal(self, number, _):
        again = self.stopped_by is not None
        self.stopped_by = self.stopped_by or number
        self.send(signal.SIGKILL if again else signal.SIGTERM)
        signal.alarm(0 if again else GRACE_S)

    def send(self, number):
        if self.child:
            os.killpg(self.child.pid, number)

    def run(self, words, log):
        """To the end; the status as a shell has it."""
        with open(log, "wb") as file:
            child = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=file,
                                     stderr=subprocess.STDOUT, start_new_session=True)
            self.child = child
            if self.stopped_by:
                self.send(signal.SIGTERM)
            # While the child is not reaped, its group's number is no other's.
            os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
            self.send(signal.SIGKILL)  # what it has left
            self.child = None
            signal.alarm(0)
            status = child.wait()
        return status if status >= 0 else 128 - status


def run_once(options, runner, size, run):
    """The row of a run, or nothing if a signal ended it."""
    log, job_log = (log_of(options, size, run, kind) for kind in ("log", "job.log"))
    if os.path.exists(job_log):  # of a run that failed
        os.remove(job_log)
    date = datetime.datetime.now().astimezone().isoformat(timespec="seconds")
    began = time.monotonic()
    status = runner.run(fill(options, size, run), log)
    took = time.monotonic() - began
    output = scale_results.tail(log) + "\n" + scale_results.tail(job_log)
    if runner.stopped_by:
        jobs = re.findall(r"Submitted batch job (\d+)", output)
        if jobs:
            print("scale: job {0} may still run; end it by: scancel {0}".format(jobs[-1]))
        return None
    said = scale_results.result_in(output)
    if not status and said.get("loss") == said.get("images_per_s") == "-":
        print("scale: run {} of size {} has trained nothing; if it resumed from the snapshot of "
              "another run, give each its own; see --help".format(run, size))
        status = "untrained"
    elif status:
        print("scale: run {} of size {} failed with status {}. Its last lines, of {}:".format(
            run, size, status, log))
        print("".join("    {}\n".format(line) for line in output.strip().splitlines()[-20:]))
    row = {name: said.get(name, "-") for name in scale_results.RESULT}
    row.update(size=str(size), run=str(run), date=date, status=str(status),
               command_s="{:.3f}".format(took), command=command_line(options, size, run))
    return row


def main():
    options = read_options(sys.argv[1:])
    path = os.path.join(options.output, "results.csv")
    rows = read_rows(options, path)
    done = {(int(row["size"]), int(row["run"])) for row in rows if row["status"] == "0"}
    # Rounds, each in the opposite order: what changes with time changes all sizes alike.
    wanted = [(size, run) for run in range(1, options.repeat + 1)
              for size in (options.sizes if run % 2 else reversed(options.sizes))]
    todo = [pair for pair in wanted if pair not in done]
    print("scale: {} of {} runs are to do; results go to {}".format(len(todo), len(wanted), path))
    for size, run in todo:
        print("  size {}, run {}: {}".format(size, run, command_line(options, size, run)))
    sys.stdout.flush()
    if options.dry_run:
        return 0
    os.makedirs(os.path.join(options.output, "logs"), exist_ok=True)
    runner, failed = Runner(), 0
    for number, (size, run) in enumerate(todo, 1):
        if runner.stopped_by or (failed and not options.keep_going):
            break
        row = run_once(options, runner, size, run)
        if row is None:
            break
        rows.append(row)
        scale_results.store(path, rows)
        failed += row["status"] != "0"
        print("scale: {} of {} done: size {}, run {}, {} s".format(
            number, len(todo), size, run, row["command_s"]), flush=True)
    print(scale_results.report(options.output, rows, " ".join(options.command), options.weak,
                               options.beside, options.beside_name))
    if runner.stopped_by:
        print("scale: stopped by {}; start it again to go on".format(
            signal.Signals(runner.stopped_by).name))
        return 128 + runner.stopped_by
    if failed:
        print("scale: failed runs: {}; start it again to repeat them".format(failed))
    return 1 if failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except OSError as error:
        fail(str(error))

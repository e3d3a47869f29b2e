"""Turns what bench/run.sh measured into a report in Markdown.

Usage: table.py FOLDER. In it: rows, lines of FIGURE, ROUND, COLUMN and VALUE between tabs; facts,
lines of NAME and VALUE; missing, lines of text. Ratios are made within a round, between runs that
follow each other, so that a machine that becomes slower for a while does not tilt them.
"""

import collections
import dataclasses
import os
import statistics
import sys

OURS = "ddprun"
STORE_CLIENTS = (1, 16, 64, 256, 1024)


@dataclasses.dataclass
class Figure:
    """One thing that is measured; `targets` has the bound of the ratio to each peer. Where it is
    not `judged` the reader holds it against the target."""

    key: str
    title: str
    unit: str
    factor: float = 1  # from what the rows say to `unit`
    digits: int = 1
    targets: dict = dataclasses.field(default_factory=dict)
    judged: bool = True


# A target is (whether ratios are inverted, theirs to ours; their bound; which side is good).


def at_most(bound):
    return (False, bound, "at most")


def at_least(bound):
    return (False, bound, "at least")


def times_less(bound):
    return (True, bound, "at least")


def closed_loop(clients):
    """What so many clients of a store get that each set a key, get it, and begin again."""
    key = f"store_closed_{clients}"
    who = f"{clients:,} client{'s' if clients > 1 else ''} set and get 64 B"
    yield Figure(f"{key}_rate", f"{who}", "1,000/s", 1e-3, 1, {"libuv": at_least(1.2)})
    yield Figure(f"{key}_cpu", f"{who}, the store's time for each", "us", 1e6, 2)
    yield Figure(f"{key}_p50", f"{who}, half of the answers within", "us", 1e6, 0)
    yield Figure(f"{key}_p99", f"{who}, 99 % of the answers within", "us", 1e6, 0,
                 {"libuv": at_most(1.0)})


STORE_FIGURES = [
    *(figure for clients in STORE_CLIENTS for figure in closed_loop(clients)),
    Figure("store_set_rate", "8 clients set 64 B, 64 at a time", "1,000/s", 1e-3, 0),
    Figure("store_set_cpu", "8 clients set 64 B, the store's time for each", "us", 1e6, 3,
           {"libuv": times_less(1.5)}),
    Figure("store_add_rate", "8 clients add, 64 at a time", "1,000/s", 1e-3, 0),
    Figure("store_add_cpu", "8 clients add, the store's time for each", "us", 1e6, 3,
           {"libuv": times_less(1.5)}),
    *(Figure(f"store_rendezvous_{clients}_{what}",
             f"{clients:,} clients set a key and wait for all keys{whose}", "ms", 1e3, 2, targets)
      for clients in (64, 256, 1024)
      for what, whose, targets in (("round", "", {"libuv": times_less(2)}),
                                   ("cpu", ", the store's time", {}))),
    Figure("store_storm_time", "4,096 clients connect at once, to the last first answer", "ms",
           1e3, 0),
    Figure("store_value_4_rate", "a value of 4 MiB, set and got", "MB/s", 1e-6, 0),
    Figure("store_value_16_rate", "a value of 16 MiB, set and got", "MB/s", 1e-6, 0),
    Figure("store_idle_memory", "a store's memory for an idle connection", "B", 1, 0),
]
FIGURES = [
    Figure("launch_2", "2 × `/bin/true`, start to end", "ms", 1e3, 1,
           {"sh": at_most(2.5), "torchrun": times_less(400)}),
    Figure("launch_64", "64 × `/bin/true`, start to end", "ms", 1e3, 1, {"sh": at_most(1.4)}),
    Figure("launch_memory_2", "the launcher's peak memory, 2 workers", "MiB", 1 / 1024),
    Figure("launch_memory_64", "the launcher's peak memory, 64 workers", "MiB", 1 / 1024),
    Figure("idle_switches", "times that the launcher runs while 8 workers sleep", "1/s", 1, 2),
    Figure("idle_memory", "the launcher's memory meanwhile", "MB", 1024e-6),
    Figure("output_redirects", "a worker's output into a file", "MB/s", 1, 0),
    Figure("output_tee", "a worker's output into a file and a pipe", "MB/s", 1, 0,
           {"torchrun": at_least(10)}),
    Figure("restart_1", "a worker's exit to the next one", "ms", 1e3),
    Figure("restart_2", "a worker's exit to the next 2 workers", "ms", 1e3),
    Figure("restart_16", "a worker's exit to the next 16 workers", "ms", 1e3),
    Figure("first_step", "a worker's death to the next training step, `toy`", "ms", 1e3, 0),
    Figure("ddp_rate", "`fashion_mnist`, 2 ranks, steady state", "img/s", 1, 0,
           {"torchrun": at_least(1.0), "torchrun+malloc": at_least(1.0)}),
    Figure("ddp_wall", "`fashion_mnist`, 2 ranks, whole job", "s", 1, 1,
           {"torchrun": at_most(0.65), "torchrun+malloc": at_most(0.65)}),
    Figure("ddp_accuracy", "`fashion_mnist`, test accuracy", "%", 1, 1),
    Figure("snapshot_256", "snapshot of 256 MiB", "MiB/s", 1, 0, {"dd": at_least(0.8)}),
    Figure("snapshot_1024", "snapshot of 1 GiB", "MiB/s", 1, 0, {"dd": at_least(0.8)}),
    Figure("agents_start", "1,000 agents' start to the first generation", "ms", 1e3, 0,
           judged=False),
    Figure("agents_cpu", "their coordinator's share of a core, steady state", "%", 100, 2,
           judged=False),
    Figure("agents_memory", "their coordinator's memory", "MB", 1024e-6, judged=False),
    Figure("agent_memory", "memory of the agent of an idle node of that job", "MB", 1024e-6,
           judged=False),
    Figure("start_16", "16 nodes, `/bin/true` on each, start to end", "ms", 1e3, 0,
           {"torchrun": times_less(50)}, judged=False),
    Figure("restart_nodes", "a worker's exit to the next 8 workers, 4 nodes", "ms", 1e3,
           judged=False),
    Figure("loss_4s", "a node's death to the next 6 workers, `--dead-after 4s`", "s", 1, 2,
           judged=False),
    Figure("loss_1.5s", "a node's death to the next 6 workers, `--dead-after 1.5s`", "s", 1, 2,
           judged=False),
    Figure("head_4s", "the head's death to the next 6 workers, `--dead-after 4s`", "s", 1, 2,
           judged=False),
    Figure("head_1.5s", "the head's death to the next 6 workers, `--dead-after 1.5s`", "s", 1, 2,
           judged=False),
    Figure("join", "a fourth node's start to the next 8 workers", "s", 1, 3, judged=False),
    *STORE_FIGURES,
]
BOUNDS = {  # of our own medians, in the figure's unit
    "idle_switches": 0,
    "idle_memory": 10,
    "restart_1": 8,
    "restart_2": 20,
    "restart_16": 20,
    "agents_start": 500,
    "agents_cpu": 10,
    "agent_memory": 10,
    "restart_nodes": 100,
    "loss_4s": 5,
    "loss_1.5s": 2.2,
    "head_4s": 6,
    "join": 3,
    "store_idle_memory": 2048,
}
FLOORS = {"output_redirects": 1000}  # likewise


def read_rows(path):
    """{figure: {column: {round: value}}}"""
    rows = collections.defaultdict(lambda: collections.defaultdict(dict))
    with open(path, encoding="utf-8") as file:
        for line in file:
            figure, number, column, value = line.rstrip("\n").split("\t")
            rows[figure][column][int(number)] = float(value)
    return rows


def median_and_quartiles(values, digits):
    """"8.1 (7.9–8.4)": half of all values lie between those in brackets."""
    low = high = values[0]
    if len(values) > 1:
        low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    text = f"{statistics.median(values):,.{digits}f}"
    return f"{text} ({low:,.{digits}f}–{high:,.{digits}f})"


def ratios_to(peer, ours, inverse):
    shared = sorted(set(ours) & set(peer))
    pairs = [(ours[number], peer[number]) for number in shared]
    return [b / a if inverse else a / b for a, b in pairs]


def verdict(figure, value, bound, sense):
    if not figure.judged:
        return f"{sense} {bound:g}"
    met = value <= bound if sense == "at most" else value >= bound
    return f"{sense} {bound:g}: {'met' if met else '**missed**'}"


def peer_line(figure, name, peer, ours):
    """The line of one peer: its figure, the ratio of ours to it, and the target."""
    inverse, bound, sense = figure.targets.get(name, (False, None, ""))
    ratios = ratios_to(peer, ours, inverse)
    values = [value * figure.factor for value in peer.values()]
    kind = f"{name} ÷ {OURS}" if inverse else f"{OURS} ÷ {name}"
    target = "" if bound is None else verdict(figure, statistics.median(ratios), bound, sense)
    ratio = median_and_quartiles(ratios, 3 if statistics.median(ratios) < 0.1 else 2)
    return (
        f"| | {name} | {median_and_quartiles(values, figure.digits)} | {len(values)} |"
        f" {kind}: {ratio} | {target} |"
    )


def figure_lines(figure, columns):
    if OURS not in columns:
        yield f"| {figure.title}, {figure.unit} | {OURS} | failed | 0 | | |"
        return
    ours = columns[OURS]
    values = [value * figure.factor for value in ours.values()]
    target = ""
    if figure.key in BOUNDS:
        target = verdict(figure, statistics.median(values), BOUNDS[figure.key], "at most")
    if figure.key in FLOORS:
        target = verdict(figure, statistics.median(values), FLOORS[figure.key], "at least")
    yield (
        f"| {figure.title}, {figure.unit} | {OURS} |"
        f" {median_and_quartiles(values, figure.digits)} | {len(values)} | | {target} |"
    )
    for name in sorted(set(columns) - {OURS}):
        yield peer_line(figure, name, columns[name], ours)


def report(folder):
    yield "# Results"
    yield ""
    yield "Written by `bench/run.sh`; `bench/README.md` says what each line measures. Medians, with"
    yield "the middle half of all rounds in brackets; ratios are made within rounds."
    yield ""
    yield "| | |\n|---|---|"
    with open(os.path.join(folder, "facts"), encoding="utf-8") as file:
        for line in file:
            yield "| {} | {} |".format(*line.rstrip("\n").split("\t"))
    yield ""
    yield "| what | whose | figure | rounds | ratio | target |"
    yield "|---|---|---|---|---|---|"
    rows = read_rows(os.path.join(folder, "rows"))
    for figure in FIGURES:
        if figure.key in rows:
            yield from figure_lines(figure, rows[figure.key])
    with open(os.path.join(folder, "missing"), encoding="utf-8") as file:
        for line in file:
            yield f"\n{line.rstrip()}"


print("\n".join(report(sys.argv[1])))

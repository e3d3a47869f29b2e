#!/usr/bin/env python3
"""Makes one trace of those of several ranks, one process a rank:

    merge_traces.py traces/*.pt.trace.json >all.json

Reads the traces of ddprun's workers and of Python's torch.profiler. Times need no shift: each trace
has those of its node's clock. Open the result in ui.perfetto.dev.
"""
import json
import sys


def events_of(trace, rank, shift_us):
    for event in trace["traceEvents"]:
        if event.get("ph") == "M" and event["name"].startswith("process_"):
            continue
        is_process = isinstance(event.get("pid"), int)  # Kineto has lanes with names, too
        event["pid"] = rank if is_process else f"{event.get('pid')} of rank {rank}"
        if "ts" in event:
            event["ts"] += shift_us
        if "id" in event:  # an arrow between two events of this rank
            event["id"] = f"{rank}.{event['id']}"
        yield event


def about_rank(rank, host):
    named = {"process_name": {"name": f"rank {rank} on {host}"},
             "process_sort_index": {"sort_index": rank}}
    return [{"ph": "M", "name": name, "pid": rank, "tid": 0, "args": args}
            for name, args in named.items()]


def main(paths):
    if not paths:
        sys.exit(__doc__)
    merged = {"schemaVersion": 1, "displayTimeUnit": "ms", "traceEvents": []}
    for path in paths:
        try:
            with open(path, encoding="utf-8") as file:
                trace = json.load(file)
            rank = trace["distributedInfo"]["rank"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            sys.exit(f"{path}: no trace of a rank ({error!r})")
        base_ns = trace.get("baseTimeNanoseconds", 0)
        merged.setdefault("baseTimeNanoseconds", base_ns)
        shift_us = (base_ns - merged["baseTimeNanoseconds"]) / 1000
        merged["traceEvents"] += about_rank(rank, trace.get("host_name", "an unknown host"))
        merged["traceEvents"] += events_of(trace, rank, shift_us)
    json.dump(merged, sys.stdout)


main(sys.argv[1:])

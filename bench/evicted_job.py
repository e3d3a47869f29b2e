#!/usr/bin/env python3
"""Four nodes of one training, which all get TERM, one after the other: how many steps are saved,
and the time from the last TERM to the last node's end.

usage: evicted_job.py DDPRUN TOY [ROUNDS]
"""
import pathlib
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time

from announced_losses import NODES, free_port

APART_MS = (50, 900)  # the first TERM and the last


def start(ddprun, toy, port, node, folder):
    return subprocess.Popen(
        [ddprun, f"--nnodes=2:{NODES}", f"--node-rank={node}", f"--rdzv-endpoint=127.0.0.1:{port}",
         f"--rdzv-id={port}", "--state-dir=none", toy, "1000000", "1000000"],
        cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def wait_for_training(job):
    """Its worker makes steps."""
    if not any(" | Batchsize: " in line for line in job.stdout):
        raise SystemExit("a node ended before it trained")


def measure(programs, apart_ms):
    """The steps that were saved, the nodes' statuses, and the seconds."""
    port = free_port()
    with tempfile.TemporaryDirectory() as folder:
        jobs = [start(*programs, port, node, folder) for node in range(NODES)]
        for job in jobs:
            wait_for_training(job)
        order = random.sample(jobs, NODES)
        for number, job in enumerate(order):
            if number > 0:
                time.sleep(apart_ms / 1000 / (NODES - 1))
            job.terminate()
        began = time.monotonic()
        texts = [job.communicate()[0] for job in jobs]
        took = time.monotonic() - began
    saved = set(re.findall(r"at step (\d+)", "".join(texts)))
    return len(saved), {job.returncode for job in jobs}, took


def main():
    programs = [str(pathlib.Path(each).resolve()) for each in sys.argv[1:3]]
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 10
    first, last = APART_MS
    found = [measure(programs, first + (last - first) * i / (rounds - 1)) for i in range(rounds)]
    saved, statuses, took = zip(*found)
    print(f"TERM to all {NODES} nodes within {first} to {last} ms: {min(saved)} to {max(saved)}"
          f" saved steps, statuses {sorted(set().union(*statuses))}; the last node ends"
          f" {statistics.median(took):.2f} s ({min(took):.2f}–{max(took):.2f}) after the last TERM")


if __name__ == "__main__":
    main()

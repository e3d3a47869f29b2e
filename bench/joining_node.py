#!/usr/bin/env python3
"""Steps that four nodes lose when a fifth one joins, by --join-policy and the time of a snapshot.

A lost step is one that was finished and is done again. Workers use the worker runtime and save only
when they are asked to.

usage: joining_node.py DDPRUN SLOW_SAVER [ROUNDS]
"""
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

from announced_losses import free_port

NODES = 4
SAVE_SECONDS = (0.2, 2.0)


def start(command, port, node, policy, folder):
    ddprun, saver, seconds = command
    return subprocess.Popen(
        [ddprun, f"--nnodes={NODES}:{NODES + 1}", f"--node-rank={node}", "--last-call=0s",
         f"--rdzv-endpoint=127.0.0.1:{port}", f"--rdzv-id={port}", "--state-dir=none",
         f"--join-policy={policy}", "--on-signal=TERM=stop", saver, str(seconds)],
        cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def resumed_at(job, generation):
    """The step from which the job's worker goes on in that generation."""
    is_there = False
    for line in job.stdout:
        is_there = is_there or f"generation {generation} " in line
        if is_there and (found := re.search(r"resumes at step (\d+)", line)):
            return int(found.group(1))
    raise SystemExit(f"no generation {generation}")


def measure(command, policy):
    """Steps lost, and the seconds from the fifth node's start to the next generation's workers."""
    port = free_port()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        jobs = [start(command, port, node, policy, folder) for node in range(NODES)]
        try:
            resumed_at(jobs[0], 1)
            while not (folder / "step.1").exists() or int((folder / "step.1").read_text()) < 50:
                time.sleep(0.05)
            began = time.monotonic()
            jobs.append(start(command, port, NODES, policy, folder))
            resumed = resumed_at(jobs[0], 2)
            took = time.monotonic() - began
            return int((folder / "step.1").read_text()) - resumed, took
        finally:
            for job in jobs:
                job.terminate()
            for job in jobs:
                job.communicate()


def main():
    programs = [str(pathlib.Path(each).resolve()) for each in sys.argv[1:3]]
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 10
    for seconds in SAVE_SECONDS:
        found = {"now": [], "snapshot": []}
        for _ in range(rounds):
            for policy, results in found.items():
                results.append(measure([*programs, seconds], policy))
        for policy, results in found.items():
            lost, took = zip(*results)
            print(f"{policy}, a snapshot takes {seconds} s: {statistics.median(lost):.0f} steps"
                  f" lost ({min(lost)}–{max(lost)}), {statistics.median(took):.2f} s to the next"
                  " generation's workers", flush=True)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Four agents on this machine, of which one is lost or leaves: the time until another one starts
the next generation. Losses that are announced do not wait for --dead-after. A plain TERM counts as
one node's only after a second, in which the others might get it, too.

usage: announced_losses.py DDPRUN [ROUNDS]
"""
import os
import pathlib
import signal
import socket
import statistics
import subprocess
import sys
import time

NODES = 4


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def start(ddprun, port, node, on_term):
    return subprocess.Popen(
        [ddprun, f"--nnodes=2:{NODES}", f"--node-rank={node}", f"--rdzv-endpoint=127.0.0.1:{port}",
         f"--rdzv-id={port}", "--nproc-per-node=2", f"--on-signal=TERM={on_term}", "sleep", "600"],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def wait_for(job, text):
    """When the job has printed that; it ends the program if the job ends first."""
    for line in job.stderr:
        if text in line:
            return time.monotonic()
    raise SystemExit(f"ddprun ended before it printed: {text}")


def agent_of(guard):
    for child in pathlib.Path(f"/proc/{guard}/task/{guard}/children").read_text().split():
        if pathlib.Path(f"/proc/{child}/comm").read_text() == "ddprun\n":
            return int(child)
    raise SystemExit(f"{guard} has no agent process")


def kill_agent(job):
    os.kill(agent_of(job.pid), signal.SIGKILL)


def kill_both(job):
    """The guard has no time to say anything."""
    agent = agent_of(job.pid)
    job.send_signal(signal.SIGSTOP)
    os.kill(agent, signal.SIGKILL)
    job.kill()


HEAD, OTHER = 0, NODES - 1
LOSSES = {  # the node, what SIGTERM does, and what happens
    "kill -9 of its agent": (OTHER, "leave", kill_agent),
    "kill -9 of its guard": (OTHER, "leave", subprocess.Popen.kill),
    "kill -9 of its agent, then of its guard": (OTHER, "leave", kill_both),
    "TERM": (OTHER, "auto", subprocess.Popen.terminate),
    "TERM with TERM=leave": (OTHER, "leave", subprocess.Popen.terminate),
    "TERM to the head": (HEAD, "auto", subprocess.Popen.terminate),
    "TERM to the head with TERM=leave": (HEAD, "leave", subprocess.Popen.terminate),
}


def measure(ddprun, node, on_term, lose):
    port = free_port()
    jobs = [start(ddprun, port, each, on_term) for each in range(NODES)]
    for job in jobs:
        wait_for(job, "generation 1 ")
    lost = jobs.pop(node)
    began = time.monotonic()
    lose(lost)
    took = wait_for(jobs[0], "generation 2 ") - began
    for job in jobs:
        job.send_signal(signal.SIGINT)
    for job in [*jobs, lost]:
        job.communicate()
    return took


def main():
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 10
    for name, loss in LOSSES.items():
        times = sorted(1000 * measure(sys.argv[1], *loss) for _ in range(rounds))
        print(f"{name}: {statistics.median(times):.1f} ms "
              f"({times[rounds // 4]:.1f}–{times[-1 - rounds // 4]:.1f})", flush=True)


if __name__ == "__main__":
    main()

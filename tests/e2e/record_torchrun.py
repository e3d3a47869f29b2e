#!/usr/bin/env python3
"""Prints what torchrun gives its workers, for each of the lines below: the text that
torchrun_environment.txt keeps and torchrun_environment_test.cpp compares with ddprun's.

    record_torchrun.py PATH_OF_TORCHRUN > torchrun_environment.txt
"""
import os
import re
import socket
import subprocess
import sys
import tempfile

# One option each, but for what it needs. The program is added. Not here: --numa-binding, which
# torchrun refuses without GPUs, and --use-env, which only torch.distributed.launch has.
LINES = [
    "--nproc-per-node=2",
    "",
    "--nproc-per-node=2 --standalone",
    "--nproc-per-node=2 --nnodes=1:1",
    "--nproc-per-node=2 --rdzv-backend=static",
    "--nproc-per-node=2 --rdzv-backend=c10d",
    "--nproc-per-node=2 --rdzv-backend=c10d --rdzv-endpoint=localhost:0",
    "--nnodes=1:4 --rdzv-backend=c10d --rdzv-endpoint=localhost:0 --rdzv-conf=last_call_timeout=1",
    "--nproc-per-node=2 --rdzv-id=job7 --rdzv-backend=c10d --rdzv-endpoint=localhost:0",
    "--nproc-per-node=2 --max-restarts=3",
    "--nproc-per-node=2 --monitor-interval=1",
    "--nproc-per-node=2 --start-method=fork",
    "--nproc-per-node=2 --event-log-handler=null",
    "--nproc-per-node=2 --logs-specs=default",
    "--nproc-per-node=2 --run-path",
    "--nproc-per-node=2 --module",
    "--nproc-per-node=2 --role=trainer",
    "--nproc-per-node=2 --log-dir=logs",
    "--nproc-per-node=2 --log-dir=/dev/null",
    "--nproc-per-node=2 --redirects=3",
    "--nproc-per-node=2 --tee=0:3",
    "--nproc-per-node=2 --tee=3 --log-line-prefix-template=[${rank}]",
    "--nproc-per-node=2 --tee=3 --local-ranks-filter=0",
    "--nproc-per-node=2 --tee=3 --duplicate-stdout-filters=a,b",
    "--nproc-per-node=2 --tee=3 --duplicate-stderr-filters=a,b",
    "--nproc-per-node=2 --node-rank=0",
    "--nproc-per-node=2 --master-addr=localhost --master-port=PORT",
    "--nproc-per-node=2 --master-addr=127.0.0.1 --master-port=PORT",
    "--nproc-per-node=2 --local-addr=127.0.0.1",
    "--nproc-per-node=2 --signals-to-handle=SIGTERM,SIGUSR1",
    "--nproc-per-node=2 --shutdown-timeout=5",
    "--nproc-per-node=2 --virtual-local-rank",
]

# The environment in which both launchers are started, besides the worker's folder.
BASE = {"PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "LC_ALL": "C"}

BY_THE_SHELL = ("PWD", "SHLVL", "_", "OLDPWD")

WORKER = '#!/bin/sh\nexec /usr/bin/env > "$WORKER_FOLDER/$RANK"\n'
PYTHON_WORKER = """import os
with open(os.path.join(os.environ["WORKER_FOLDER"], os.environ["RANK"]), "w") as file:
    file.writelines(f"{name}={value}\\n" for name, value in os.environ.items())
"""


def free_port():
    with socket.socket() as each:
        each.bind(("127.0.0.1", 0))
        return each.getsockname()[1]


def plain(name, value):
    """What is new in each run, by a word for it."""
    if name == "MASTER_PORT" and value != "PORT":
        return "ANY"
    value = re.sub(r"^/tmp/torchelastic_\w+", "TMP", value)
    value = re.sub(r"(none|job7)_\w+", r"\1", value)
    return re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}(_\w+)?", "UUID", value)


def workers_of(torchrun, line):
    """The variables of each worker, by rank."""
    with tempfile.TemporaryDirectory() as folder:
        worker = os.path.join(folder, "worker")
        for path, text in ((worker, WORKER), (worker + ".py", PYTHON_WORKER)):
            with open(path, "w") as file:
                file.write(text)
            os.chmod(path, 0o700)
        out = os.path.join(folder, "out")
        os.mkdir(out)
        port = str(free_port())
        words = line.replace("PORT", port).split()
        environment = {**BASE, "WORKER_FOLDER": out}
        program = {"--module": ["worker"], "--run-path": ["worker.py"]}.get(
            words[-1] if words else "", ["--no-python", worker])
        subprocess.run([torchrun, *words, *program], cwd=folder, env=environment,
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        workers = {}
        for rank in os.listdir(out):
            with open(os.path.join(out, rank)) as file:
                pairs = dict(text.split("=", 1) for text in file.read().splitlines())
            workers[int(rank)] = {name: plain(name, value.replace(port, "PORT"))
                                  for name, value in pairs.items()
                                  if name not in environment and name not in BY_THE_SHELL}
        return workers


def print_line(line, workers, usual):
    """Of each worker what differs from the worker of that rank in `usual`, and -NAME for what it
    lacks."""
    print(f"line {line}".rstrip())
    for rank, variables in sorted(workers.items()):
        print(f"rank {rank}")
        expected = usual.get(rank, {})
        for name in sorted(set(variables) | set(expected)):
            if name not in variables:
                print(f"-{name}")
            elif variables[name] != expected.get(name):
                print(f"{name}={variables[name]}")


def main():
    version = subprocess.run([os.path.join(os.path.dirname(sys.argv[1]), "python3"), "-c",
                              "import torch; print(torch.__version__)"],
                             check=True, capture_output=True, text=True).stdout.strip()
    print(f"# torchrun {version}; by record_torchrun.py. "
          "After the first line: what differs from it.")
    usual = {}
    for line in LINES:
        workers = workers_of(sys.argv[1], line)
        print_line(line, workers, usual)
        usual = usual or workers


if __name__ == "__main__":
    main()

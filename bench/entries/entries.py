#!/usr/bin/env python3
"""Counts the files that a story goes through at the head: from a lost node to the next generation.

Usage: entries.py [BUILD]. Compiles ddprun with -finstrument-functions into BUILD, build/entries
unless given, runs a job of three nodes on this machine, stops one by SIGSTOP, and lists each file
of launcher/ and rendezvous/ that the head's process enters from the verdict that the node is lost
until it has spawned the workers of the next generation: how often from another file, and which are
shell.
"""

import collections
import contextlib
import os
import pathlib
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
FLAGS = ("-O0 -g1 -fno-inline -finstrument-functions "
         "-finstrument-functions-exclude-file-list=/usr/,record.cpp")
BEGIN = re.compile(r"Coordinator::on\(ddprun::Instant, ddprun::NodeLost const&")
END = "ddprun::spawn_process("
LOOP = "ddprun::Supervisor::run()"
WAIT_S = 60


def build(folder):
    record = folder / "record.o"
    folder.mkdir(parents=True, exist_ok=True)
    run = lambda *command: subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    run("c++", "-std=c++20", "-O1", "-fPIE", "-c", "bench/entries/record.cpp", "-o", record)
    run("cmake", "-S", ".", "-B", folder, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=None",
        "-DDDPRUN_TESTS=OFF", "-DDDPRUN_WORKER=OFF", f"-DCMAKE_CXX_FLAGS={FLAGS}",
        f"-DCMAKE_EXE_LINKER_FLAGS={record}")
    run("cmake", "--build", folder, "--target", "ddprun")
    return folder / "bin/ddprun"


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def wait_for(what, why):
    until = time.monotonic() + WAIT_S
    while not what():
        if time.monotonic() > until:
            sys.exit(f"entries: {why}: not within {WAIT_S} s")
        time.sleep(0.05)


def children_of(pid):
    return [int(each) for each in
            pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def play(ddprun, folder):
    """The head's process, which has written its file."""
    stamps = folder / "stamps"
    stamps.touch()
    port = free_port()
    command = [ddprun, "--rdzv-id=entries", f"--rdzv-endpoint=127.0.0.1:{port}", "--nnodes=2:3",
               "--state-dir=none", "--console=none", "sh", "-c",
               f"echo $DDPRUN_GENERATION >>{stamps}; exec sleep 600"]
    environment = {**os.environ, "ENTRIES_FOLDER": str(folder)}
    nodes = [subprocess.Popen([*command[:1], f"--node-rank={rank}", *command[1:]], env=environment,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
             for rank in range(3)]
    started = lambda number, count: stamps.read_text().split().count(number) >= count
    lost = []
    try:
        wait_for(lambda: started("1", 3), "the first generation")
        head = children_of(nodes[0].pid)[0]
        lost = [nodes[2].pid, *children_of(nodes[2].pid)]
        for each in lost:
            os.kill(each, signal.SIGSTOP)
        wait_for(lambda: started("2", 2), "the second generation")
    finally:
        for each in lost:
            with contextlib.suppress(ProcessLookupError):  # the one before may have killed it
                os.kill(each, signal.SIGCONT)
        for node in nodes:
            if node.poll() is None:
                node.send_signal(signal.SIGTERM)
            node.wait()
    return folder / str(head)


def functions_in(path):
    data = path.read_bytes()
    return [(function, entered == 1) for function, entered in struct.iter_unpack("<QQ", data)]


def places_of(ddprun, addresses):
    """By address: (function, file), of this project's own; others are left out."""
    text = subprocess.run(["addr2line", "-f", "-C", "-e", ddprun], text=True, check=True,
                          input="\n".join(f"{address:#x}" for address in addresses),
                          stdout=subprocess.PIPE).stdout.splitlines()
    places = {}
    for address, name, where in zip(addresses, text[::2], text[1::2]):
        path = where.rsplit(":", 1)[0].partition("/./")[2]  # by -ffile-prefix-map
        if path.startswith(("launcher/", "rendezvous/")):
            places[address] = (name, path)
    return places


def event_before(records, name_of):
    """Where the event begins that says so: what the supervisor's loop calls."""
    stack = []  # positions of what was entered and not left
    for position, (function, entered) in enumerate(records):
        if not entered:
            del stack[-1:]
            continue
        stack.append(position)
        if BEGIN.search(name_of(function)):
            names = [name_of(records[each][0]) for each in stack]
            loop = max((place for place, name in enumerate(names) if name == LOOP), default=-1)
            return stack[loop + 1]
    sys.exit("entries: no node was lost")


def entries_in(records, places):
    """How often each file is entered from another one, in the story."""
    name_of = lambda function: places.get(function, ("", ""))[0]
    counts = collections.Counter()
    stack = [""]  # files; empty: not of this project
    for function, entered in records[event_before(records, name_of):]:
        if not entered:
            stack = stack[:-1] or [""]
            continue
        path = places.get(function, ("", ""))[1]
        if path and path != next((each for each in reversed(stack) if each), ""):
            counts[path] += 1
        stack.append(path)
        if name_of(function).startswith(END):
            return counts
    sys.exit("entries: no worker was spawned after that")


def shell_files():
    files = set()
    for room in ROOT.glob("*/**/CMakeLists.txt"):
        text = room.read_text()
        found = re.search(r"\n  SHELL\n(.*?)(?:\n  [A-Z]|\)\n)", text, re.S)
        if "add_room(" in text and found:
            files |= {str((room.parent / name).relative_to(ROOT)) for name in found[1].split()}
    return files


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build/entries").resolve()
    ddprun = build(folder)
    work = pathlib.Path(tempfile.mkdtemp())
    try:
        records = functions_in(play(ddprun, work))
    finally:
        shutil.rmtree(work)
    places = places_of(ddprun, sorted({function for function, _ in records}))
    counts = entries_in(records, places)
    shell = shell_files()
    units = collections.Counter()
    for path, count in counts.items():
        units[os.path.splitext(path)[0]] += count
    for unit, count in units.most_common():
        is_shell = unit in shell or f"{unit}.cpp" in shell
        print(f"{count:5} {unit}{', shell' if is_shell else ''}")
    print(f"{len(units)} files, {sum(units.values())} entries")


if __name__ == "__main__":
    main()

"""Compiles each source alone, without a result, as the build in FOLDER would: a missing include
that the sources of a target lend each other is an error here. Left out are sources that share a
precompiled header, as those with LibTorch do, and those that the build itself writes.

Usage: each_source.py FOLDER [JOBS [PART/PARTS]]. Prints the errors, and how many sources there
were; of six parts, 2/6 is each sixth source from the second on.
"""

import concurrent.futures
import json
import os
import pathlib
import shlex
import subprocess
import sys


def look_at(step):
    command = shlex.split(step["command"])
    output = command.index("-o")
    command = [*command[:output], *command[output + 2:], "-fsyntax-only", "-Werror"]
    return subprocess.run(command, cwd=step["directory"], check=False).returncode == 0


folder = pathlib.Path(sys.argv[1])
jobs = int(sys.argv[2]) if len(sys.argv) > 2 else os.cpu_count() or 1
steps = json.loads((folder / "compile_commands.json").read_text(encoding="utf-8"))
steps = [step for step in steps
         if step["file"].endswith(".cpp") and "cmake_pch" not in step["command"]
         and folder.resolve() not in pathlib.Path(step["file"]).parents]
if len(sys.argv) > 3:
    part, parts = map(int, sys.argv[3].split("/"))
    steps = steps[part - 1::parts]
with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
    passed = list(pool.map(look_at, steps))
print(f"{len(steps)} sources, {passed.count(False)} with errors")
sys.exit(0 if all(passed) and steps else 1)

"""Shows that each rule matters: takes one away, and looks for where that is seen.

Usage: mutations.py [--build FOLDER] [PART OF A NAME...]. Changes one place in a copy of the
sources, compiles what includes it, plays scenarios and seeds until one breaks a promise or hangs,
and then the unit test of the changed file. What was found stays in the build folder, so that it
goes on where it was ended; when the sources change, all begins anew. Without names it writes
mutations.tsv beside this file. Ends with 1 if a mutation was not caught. JOBS says how many at
once. Nothing of this is in the product.
"""

import argparse
import concurrent.futures
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from mutation_list import MUTATIONS

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = pathlib.Path(__file__).resolve().parent
PARTS = ("launcher", "rendezvous", "tests/sim", "tests/unit")
COMPILER = [os.environ.get("CXX", "c++"), "-std=c++20", "-O1", "-w"]
PLAYS = [
    ["--seeds", "1-1000"],
    ["--seeds", "3001-3300", "--hosts", "3", "--faults", "20"],
    ["--seeds", "1-300", "--hosts", "4", "--faults", "40"],
    ["--seeds", "2001-2300", "--one-head"],
    ["--seeds", "6001-6600", "--hosts", "3", "--faults", "20", "--claims"],
]
PLAY_SECONDS_MAX = 120  # without a mutation it is a tenth of that


def sources():
    """What the simulator is made of, as its CMakeLists.txt says."""
    text = (HERE / "CMakeLists.txt").read_text(encoding="utf-8")
    machines = re.search(r"set\(machines\n(.*?)\)", text, re.S).group(1).split()
    own = re.search(r"add_executable\(sim\n(.*?)\)", text, re.S).group(1).split()
    return machines + ["tests/sim/" + name for name in own if name.endswith(".cpp")]


def digest_of_tree():
    digest = hashlib.sha256(" ".join(COMPILER).encode() + repr(PLAYS).encode())
    for part in PARTS:
        for kind in ("*.?pp", "scenarios/*.txt"):
            for file in sorted((ROOT / part).rglob(kind)):
                digest.update(str(file.relative_to(ROOT)).encode() + file.read_bytes())
    return digest.hexdigest()[:16]


def compile_one(source, root, folder):
    target = folder / (source.replace("/", "_") + ".o")
    if target.exists():
        return target
    unfinished = target.with_suffix(".part")
    subprocess.run(COMPILER + ["-I", str(root), "-c", str(root / source), "-o", str(unfinished)],
                   check=True)
    return unfinished.rename(target)


def depends_on(source, changed):
    """Whether `source` must be compiled again: a header changes all."""
    return source in changed or any(file.endswith(".hpp") for file in changed)


def run(command):
    """What was printed, and whether that is a failure; nothing if it hangs."""
    try:
        result = subprocess.run(command, capture_output=True, text=True, timeout=PLAY_SECONDS_MAX,
                                check=False)
    except subprocess.TimeoutExpired:
        return "", None
    return result.stdout, result.returncode != 0


def play(program):
    """The first story that breaks a promise, and what it broke; nothing if none does."""
    for scenario in sorted((HERE / "scenarios").glob("*.txt")):
        text, failed = run([program, "--scenario", str(scenario)])
        if failed is None or failed:
            said = text.partition("\n")[0].removeprefix(str(scenario) + ": ") if failed else "hangs"
            return f"scenario {scenario.stem}: {said or 'crashed'}"
    for arguments in PLAYS:
        text, failed = run([program, "--first", *arguments])
        if failed is None:
            return " ".join(arguments) + " hangs"
        if failed:
            more = " ".join(arguments[2:])
            return (text.partition("\n")[0] or "crashed") + (f" ({more})" if more else "")
    return None


def unit_tests(root, stem):
    """Of a source, or of what it is a part of: coordinator's, of coordinator_generations."""
    while stem:
        found = sorted((root / "tests/unit").glob(f"{stem}*_test.cpp"))
        if found:
            return found
        stem = stem.rpartition("_")[0]
    return []


def test(changed, linked, root):
    """The first unit test of a changed file that fails; nothing if none does."""
    machines = [each for source, each in linked.items() if not source.startswith("tests/")]
    for source in changed:
        for case in unit_tests(root, pathlib.Path(source).stem):
            program = root / "unit"
            helpers = [root / "tests/main.cpp", root / "tests/unit/trace.cpp"]
            subprocess.run(COMPILER + ["-O0", "-I", str(root), str(case), *map(str, helpers),
                                       *map(str, machines), "-lfmt", "-o", str(program)],
                           check=True)
            text, failed = run([program, "-nc"])
            if failed:  # one that takes long proves nothing
                cases = [line for line in text.splitlines() if line.startswith("TEST CASE:")]
                name = (cases or ["crashed"])[0].removeprefix("TEST CASE:").strip()
                return f"{case.name}: {name}"
    return None


def catch(mutation, objects):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for part in PARTS:
            shutil.copytree(ROOT / part, folder / part)
        shutil.copy(ROOT / "tests/main.cpp", folder / "tests/main.cpp")
        for file, old, new in mutation.changes():
            text = (folder / file).read_text(encoding="utf-8")
            if text.count(old) != 1:
                sys.exit(f"{mutation.name}: its text is {text.count(old)} times in {file}")
            (folder / file).write_text(text.replace(old, new), encoding="utf-8")
        changed = [file for file, _, _ in mutation.changes()]
        linked = {
            source: compile_one(source, folder, folder)
            if depends_on(source, changed) else objects[source]
            for source in objects
        }
        program = folder / "sim"
        subprocess.run(COMPILER + [*map(str, linked.values()), "-lfmt", "-o", str(program)],
                       check=True)
        return play(program) or test(changed, linked, folder) or "NOT CAUGHT"


def caught_by(mutation, objects, folder):
    """The same, or what was found before."""
    key = hashlib.sha256(repr(mutation).encode()).hexdigest()[:16]
    found = folder / (key + ".txt")
    if not found.exists():
        found.write_text(catch(mutation, objects), encoding="utf-8")
    text = found.read_text(encoding="utf-8")
    print(f"{mutation.name:<62} {text}", flush=True)
    return text


def check_texts():
    """All at once, before an hour is spent."""
    for mutation in MUTATIONS:
        for file, old, _ in mutation.changes():
            count = (ROOT / file).read_text(encoding="utf-8").count(old)
            if count != 1:
                sys.exit(f"{mutation.name}: its text is {count} times in {file}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--build", type=pathlib.Path,
                        default=pathlib.Path(tempfile.gettempdir()) / "ddprun-mutations")
    parser.add_argument("names", nargs="*")
    asked = parser.parse_args()
    check_texts()
    chosen = [each for each in MUTATIONS
              if not asked.names or any(name in each.name for name in asked.names)]
    folder = asked.build / digest_of_tree()
    folder.mkdir(parents=True, exist_ok=True)
    jobs = int(os.environ.get("JOBS", os.cpu_count() or 1))
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        names = sources()
        objects = dict(zip(names, pool.map(lambda each: compile_one(each, ROOT, folder), names)))
        texts = list(pool.map(lambda each: caught_by(each, objects, folder), chosen))
    missed = texts.count("NOT CAUGHT")
    if not asked.names:
        rows = [f"{each.name}\t{text.partition(';')[0]}"[:100].rstrip() + "\n"
                for each, text in zip(chosen, texts)]
        (HERE / "mutations.tsv").write_text("".join(rows), encoding="utf-8")
    print(f"{len(chosen) - missed} of {len(chosen)} mutations caught")
    return 1 if missed else 0


sys.exit(main())

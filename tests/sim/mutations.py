"""Shows that each rule matters: takes one away, and looks for where that is seen.

Usage: mutations.py [--replay] [--part K/N] [--build FOLDER] [RULE, OR PART OF A NAME...]. Changes
one place, compiles what has it, and plays scenarios, seeds of several kinds and variants of
scenarios; and what two heads do at once in a real folder, for which the simulator has one of its
own. The machines' unit tests are run only where none of them breaks a promise, crashes or hangs.
mutations.tsv beside this file says which rule was missed where, what that broke, and by how
many of how many seeds, and is written anew for each that is asked for. --replay asks only what it
names, and searches where that misses nothing any more, but by those unit tests alone that the file
names: all take long to compile. Ends with 1 if a mutation was not caught.
JOBS says how many at once. Nothing of this is in the product.
"""

import argparse
import concurrent.futures
import dataclasses
import hashlib
import os
import pathlib
import re
import sys
import tempfile
import time

from mutant import CLAIMS, CLAIMS_TEST, COMPILER, HERE, ROOT, UNIT_SECONDS_MAX
from mutant import WORKER_BUILD, WORKER_TESTS
from mutant import BuildError, Mutant, Sources, run
from mutation_list import MUTATIONS
from rules import FILES, RULES, place_of

TABLE = HERE / "mutations.tsv"
HEADER = ("rule", "what was done instead", "where that was seen", "what it broke", "seeds")
KINDS = [  # what is asked of all stories of one
    ["--votes"],
    ["--votes", "--hosts", "3", "--faults", "20"],
    ["--votes", "--hosts", "5", "--faults", "30"],
    ["--witness", "--hosts", "4", "--faults", "20"],
    ["--anchored"],
    ["--claims", "--hosts", "2", "--faults", "15"],
    ["--claims", "--hosts", "3", "--faults", "20"],
]
SEEDS_COUNT = 150  # of each
NEAR_COUNT = 30  # variants of each scenario, where neither that nor a seed sees it
STORY_SECONDS_MAX = 10  # without a mutation it is a hundredth of that
STORIES_AT_ONCE = 50
HANGS = "it hangs"


@dataclasses.dataclass
class Caught:
    by: str  # words that catch_again() understands
    broke: str
    seeds: str = ""  # how many of how many see it

    def unit_file(self):
        """The file of the unit test that saw it, without its ending; nothing if none did."""
        kind, _, rest = self.by.partition(" ")
        return rest.partition(":")[0] if kind == "unit" else None


def first_line(text):
    """Of what was printed, without what is another with any change."""
    return text.partition("\n")[0].partition(";")[0].strip()[:100] or "it crashes"


def play(mutant, *what):
    text, failed = run([mutant.simulator(), *what], STORY_SECONDS_MAX)
    if failed is None:
        return HANGS
    return first_line(text.partition(": ")[2]) if failed else None


def scenario_file(name):
    return HERE / "scenarios" / f"{name}.txt"


def play_scenario(mutant, name):
    file = scenario_file(name)
    return play(mutant, "--scenario", file) if file.exists() else None


def play_seed(mutant, seed, wishes):
    return play(mutant, "--seeds", str(seed), *wishes)


def play_seeds(mutant, first, last, wishes):
    """Those that break a promise; of stories that crash or hang, the first."""
    broken = []
    for begin in range(first, last + 1, STORIES_AT_ONCE):
        end = min(begin + STORIES_AT_ONCE - 1, last)
        command = [mutant.simulator(), "--seeds", f"{begin}-{end}", *wishes]
        text, failed = run(command, STORY_SECONDS_MAX * 6)
        said = re.findall(r"^seed (\d+): (.*)", text, re.M)
        broken += [Caught(" ".join(["seed", seed, *wishes]), first_line(broke))
                   for seed, broke in said]
        if said or failed is False or " cut short" in text:
            continue
        for seed in range(begin, end + 1):
            if broke := play_seed(mutant, seed, wishes):
                broken.append(Caught(" ".join(["seed", str(seed), *wishes]), broke))
                if broke == HANGS:
                    return broken  # the others may, too
                break
    return broken


def run_tests(program, *filters):
    """The first case that fails: its file, its name, and what it broke."""
    text, failed = run([program, "-nc", "-aa=1", *filters], UNIT_SECONDS_MAX)
    case = re.search(r"(\w+)\.cpp:\d+:\nTEST CASE: +(.+)", text)
    if not failed or case is None:  # one that takes long proves nothing
        return None
    error = re.search(r"ERROR: (.+)", text)
    return case.group(1), case.group(2), first_line(error.group(1) if error else "")


def in_filter(case):
    return case.replace(",", "*")  # a comma separates filters


def test_units(mutant, tests):
    found = run_tests(mutant.unit_program(tests))
    return found and Caught(f"unit {found[0]}: {found[1]}", found[2])


def test_folder(mutant):
    """Two heads that claim at once."""
    found = run_tests(mutant.unit_program([CLAIMS_TEST]), "-tc=claims on disk: of two *")
    return found and Caught(f"folder {found[1]}", found[2])


def test_worker(mutant):
    found = run_tests(mutant.worker_program(), "-tc=snapshot store*")
    return found and Caught(f"worker {found[1]}", found[2])


def catch_again(mutant, by):
    """What is broken now by what has caught it before; nothing if nothing is."""
    kind, _, rest = by.partition(" ")
    if kind == "scenario":
        return play_scenario(mutant, rest)
    if kind == "seed":
        seed, *wishes = rest.split()
        return play_seed(mutant, seed, wishes)
    if kind == "near":
        name, _, seed = rest.partition(", seed ")
        return play_seed(mutant, seed, ["--near", scenario_file(name)])
    if kind == "folder":
        found = test_folder(mutant)
        return found and found.broke
    if kind == "unit":
        file, _, case = rest.partition(": ")
        source = next((each for each in mutant.sources.unit_tests
                       if pathlib.Path(each).stem == file), None)
        if source is None:
            return None
        found = run_tests(mutant.unit_program([source]), f"-tc={in_filter(case)}")
        return found and found[2]
    found = run_tests(mutant.worker_program(), f"-tc={in_filter(rest)}")
    return found and found[2]


def play_scenarios(mutant):
    """One where two of something live at once, before one that waits for ever; none after one that
    hangs, since others may, too."""
    broken = []
    for name in sorted(file.stem for file in (HERE / "scenarios").glob("*.txt")):
        if broke := play_scenario(mutant, name):
            broken.append(Caught(f"scenario {name}", broke))
        if broke == HANGS:
            break
    return min(broken, key=lambda each: " ms: S" not in each.broke, default=None)


def play_near(mutant):
    """The first variant that misses the rule, and nothing without that."""
    with tempfile.TemporaryDirectory() as name:
        unchanged = Mutant([], mutant.sources, pathlib.Path(name))
        for file in sorted((HERE / "scenarios").glob("*.txt")):
            wishes = ["--near", file]
            command = [mutant.simulator(), "--seeds", f"1-{NEAR_COUNT}", *wishes]
            text, _ = run(command, STORY_SECONDS_MAX * 6)
            for seed, broke in re.findall(r"^seed (\d+) near [^:]*: (.*)", text, re.M):
                if play_seed(unchanged, seed, wishes) is None:
                    return Caught(f"near {file.stem}, seed {seed}", first_line(broke))
    return None


def play_kinds(mutant):
    """The first seed that misses the rule, of how many."""
    broken = [each for wishes in KINDS for each in play_seeds(mutant, 1, SEEDS_COUNT, wishes)]
    count = f"{len(broken)} of {len(KINDS) * SEEDS_COUNT}"
    return broken[0] if broken else None, count


def search(mutant, known):
    """By what jobs do; unit tests, which say again what the code says, only where that is nothing,
    or where the simulator has not what was changed. If known, the seeds are not counted anew where
    a scenario sees it: stories that hang take minutes."""
    if mutant.is_of_worker():
        return test_worker(mutant)
    caught, count = None, ""
    if mutant.is_in(mutant.sources.sim):
        caught = play_scenarios(mutant)
        if caught and known:
            return dataclasses.replace(caught, seeds=known.seeds)
        by_seed, count = play_kinds(mutant)
        caught = caught or by_seed or play_near(mutant)
    if caught is None and mutant.is_in(CLAIMS):
        caught = test_folder(mutant)
    units = mutant.sources.unit_tests
    if caught is None and units and mutant.is_in(mutant.sources.test_kit + mutant.sources.machines):
        caught = test_units(mutant, units)
    return caught and dataclasses.replace(caught, seeds=count)


def catch(mutation, sources, known, replays):
    """What catches it; nothing if nothing does."""
    with tempfile.TemporaryDirectory() as name:
        try:
            mutant = Mutant(mutation.changes(), sources, pathlib.Path(name))
            if replays and known and (broke := catch_again(mutant, known.by)):
                return Caught(known.by, broke, known.seeds)
            return search(mutant, known if replays else None)
        except BuildError as error:
            print(f"{mutation.name}: {error}", file=sys.stderr)
            return None


def check_unchanged(sources, known):
    """What fails by itself proves nothing."""
    seeds = [caught for caught in known if caught.by.startswith(("seed ", "near "))]
    with tempfile.TemporaryDirectory() as name:
        mutant = Mutant([], sources, pathlib.Path(name))
        caught = play_scenarios(mutant) or test_folder(mutant)
        if sources.unit_tests:
            caught = caught or test_units(mutant, sources.unit_tests)
        caught = caught or next((each for each in seeds if catch_again(mutant, each.by)), None)
    if caught:
        sys.exit(f"without any mutation this fails: {caught.by}: {caught.broke}")


def read_table():
    if not TABLE.exists():
        return {}
    rows = [line.split("\t") for line in TABLE.read_text(encoding="utf-8").splitlines()]
    return {row[1]: Caught(*row[2:]) for row in rows[1:] if len(row) in (4, 5)}


def write_table(table):
    rows = [HEADER, *((each.rule, each.name, table[each.name].by, table[each.name].broke,
                       table[each.name].seeds)
                      for each in in_order(MUTATIONS) if each.name in table)]
    TABLE.write_text("".join("\t".join(row) + "\n" for row in rows), encoding="utf-8")


def print_each(chosen, found):
    """As they are found, each below its rule."""
    rule = None
    for mutation, caught in zip(chosen, found):
        if mutation.rule != rule:
            rule = mutation.rule
            print(rule, RULES.get(rule) or f"of {FILES[rule[0]]}")
        said = f"{caught.by}: {caught.broke}; {caught.seeds}" if caught else "NOT CAUGHT"
        print(f"    {mutation.name}: {said}", flush=True)
        yield caught


def check_list():
    """Before anything is compiled."""
    for mutation in MUTATIONS:
        for file, old, _ in mutation.changes():
            count = (ROOT / file).read_text(encoding="utf-8").count(old)
            if count != 1:
                sys.exit(f"{mutation.name}: its text is {count} times in {file}")
    broken = {each.rule for each in MUTATIONS}
    if missing := [rule for rule in RULES if rule not in broken]:
        sys.exit(f"no mutation takes away {', '.join(missing)}")
    if len({each.name for each in MUTATIONS}) < len(MUTATIONS):
        sys.exit("two mutations have one name")


def in_order(mutations):
    return sorted(mutations, key=lambda each: place_of(each.rule))


def chosen_by(names):
    can_build_worker = (WORKER_BUILD / WORKER_TESTS).exists()
    for mutation in in_order(MUTATIONS):
        if names and not any(name == mutation.rule or name in mutation.name for name in names):
            continue
        if mutation.changes()[0][0].startswith("worker/") and not can_build_worker:
            print(f"skipped: {mutation.name}: {WORKER_BUILD / WORKER_TESTS} is not built")
            continue
        yield mutation


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/mutations")
    parser.add_argument("--replay", action="store_true")
    parser.add_argument("--part", default="1/1", help="2/3: each third, from the second on")
    parser.add_argument("names", nargs="*")
    asked = parser.parse_args()
    check_list()
    began = time.monotonic()
    part, parts = map(int, asked.part.split("/"))
    chosen = list(chosen_by(asked.names))[part - 1 :: parts]
    table = read_table()
    compiled = asked.build / hashlib.sha256(repr(COMPILER).encode()).hexdigest()[:8]
    known = [table[each.name] for each in chosen if each.name in table]
    named = {each.unit_file() for each in known} if asked.replay else None
    sources = Sources(compiled, named)
    jobs = int(os.environ.get("JOBS", os.cpu_count() or 1))
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        list(pool.map(sources.compile, sources.all()))
        check_unchanged(sources, known)
        found = pool.map(
            lambda each: catch(each, sources, table.get(each.name), asked.replay), chosen)
        try:
            found = dict(zip([each.name for each in chosen], print_each(chosen, found)))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)  # ctrl-C means all
            raise
    missed = [name for name, caught in found.items() if caught is None]
    elsewhere = [name for name, caught in found.items()
                 if caught and (name not in table or table[name].by != caught.by)]
    if asked.replay and elsewhere:
        print("these are seen elsewhere now; commit mutations.tsv:", *elsewhere, sep="\n    ")
    table |= {name: caught for name, caught in found.items() if caught}
    write_table({name: caught for name, caught in table.items() if name not in missed})
    by_units = [name for name, caught in found.items() if caught and caught.by.startswith("unit ")]
    if by_units:
        print("seen by unit tests alone:", *by_units, sep="\n    ")
    print(f"{len(chosen) - len(missed)} of {len(chosen)} mutations caught,"
          f" {time.monotonic() - began:.0f} s")
    return 1 if missed else 0


try:
    sys.exit(main())
except BuildError as error:
    sys.exit(str(error))

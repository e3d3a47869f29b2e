"""Programs of sources in which one place is changed; nothing is copied that is not changed."""

import json
import os
import pathlib
import re
import shlex
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = pathlib.Path(__file__).resolve().parent
COMPILER = [os.environ.get("CXX", "c++"), "-std=c++20", "-O1", "-w"]
UNIT_SECONDS_MAX = 60
# The real folder, for which the simulator has one of its own.
CLAIMS = ["launcher/disk/claims_on_disk.cpp", "launcher/system/whole_file.cpp",
          "rendezvous/wire/claim_seal.cpp", "rendezvous/wire/message_codec.cpp"]
CLAIMS_TEST = "tests/unit/launcher/disk/claims_on_disk_test.cpp"
# Those need sockets; that one goes through all stories there are, which takes long.
UNIT_TESTS_LEFT_OUT = ("agent_wire", "claims_folder", "claims_on_disk", "coordinator_search")
WORKER_BUILD = ROOT / "build/release"
WORKER_TESTS = "bin/worker_test"


class BuildError(Exception):
    """Of a mutation: its text is not there, or it does not compile."""


def run(command, seconds_max):
    """What was printed, and whether that is a failure; nothing of both if it hangs."""
    try:
        result = subprocess.run(command, capture_output=True, text=True, errors="replace",
                                timeout=seconds_max, check=False)
    except subprocess.TimeoutExpired:
        return "", None
    return result.stdout, result.returncode != 0


def must(command, folder=ROOT):
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise BuildError(f"{shlex.join(map(str, command))}\n{result.stdout}{result.stderr}")
    return result.stdout


class Sources:
    """What is compiled once: the simulator, and unit tests of what it is made of: all, or those
    whose files are `named`, without their ending."""

    def __init__(self, folder, named=None):
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        text = (HERE / "CMakeLists.txt").read_text(encoding="utf-8")
        rooms = re.search(r"set\(rooms\n(.*?)\)", text, re.S).group(1).split()
        self.machines = re.search(r"set\(machines\n(.*?)\)", text, re.S).group(1).split()
        self.machines += sorted(str(file.relative_to(ROOT))
                                for room in rooms for file in (ROOT / room).glob("*.cpp"))
        options = re.search(r"set\(options\n(.*?)\)", text, re.S).group(1).split()
        own = re.search(r"add_executable\(sim\n(.*?)\)", text, re.S).group(1).split()
        own = [f"tests/sim/{name}" for name in own if name.endswith(".cpp")]
        self.sim = self.machines + options + own
        self.unit_tests = sorted({
            str(file.relative_to(ROOT))
            for machine in self.machines
            for file in (ROOT / "tests/unit").rglob(f"{pathlib.Path(machine).stem}*_test.cpp")
            if not file.name.startswith(UNIT_TESTS_LEFT_OUT)
        })
        self.unit_tests += [CLAIMS_TEST,
                            "tests/unit/rendezvous/membership/orphan_test.cpp"]
        if named is not None:
            self.unit_tests = [file for file in self.unit_tests
                               if pathlib.Path(file).stem in named]
        self.test_kit = ["tests/main.cpp", "tests/unit/trace.cpp", *CLAIMS]

    def all(self):
        return list(dict.fromkeys(self.sim + self.test_kit + [CLAIMS_TEST] + self.unit_tests))

    def object_of(self, source):
        return self.folder / (source.replace("/", "_") + ".o")

    def includes(self, source):
        """All that it was compiled from, by the compiler's word; nothing if it was not yet."""
        list_ = self.object_of(source).with_suffix(".d")
        if not list_.exists():
            return []
        return list_.read_text(encoding="utf-8").replace("\\\n", " ").split()[1:]

    def compile(self, source):
        """Unless that was done since it was changed."""
        target = self.object_of(source)
        made_of = [ROOT / file for file in self.includes(source)]
        if target.exists() and made_of and all(
            file.exists() and file.stat().st_mtime < target.stat().st_mtime for file in made_of
        ):
            return
        unfinished = target.with_suffix(".part")
        must(COMPILER + ["-I.", "-MMD", "-MF", target.with_suffix(".d"), "-c", source,
                         "-o", unfinished])
        unfinished.rename(target)


class Mutant:
    """The same with changes: each program is made when it is asked for, in `folder`."""

    def __init__(self, changes, sources, folder):
        self.sources = sources
        self.folder = folder
        self.changed = [file for file, _, _ in changes]
        for file, old, new in changes:
            own = folder / file
            text = (own if own.exists() else ROOT / file).read_text(encoding="utf-8")
            if text.count(old) != 1:
                raise BuildError(f"{old!r} is {text.count(old)} times in {file}")
            own.parent.mkdir(parents=True, exist_ok=True)
            own.write_text(text.replace(old, new), encoding="utf-8")

    def is_of_worker(self):
        return self.changed[0].startswith("worker/")

    def is_in(self, sources):
        """Whether one of them is another than without the mutation."""
        return any(self._has_change(source) for source in sources)

    def simulator(self):
        return self._program("sim", self.sources.sim)

    def unit_program(self, tests):
        """Of those tests, and of all machines."""
        name = "all_unit_tests" if len(tests) > 1 else pathlib.Path(tests[0]).stem
        return self._program(name, tests + self.sources.test_kit + self.sources.machines)

    def worker_program(self):
        """Of what the preset release has compiled; with the change, what it compiles together."""
        program = self.folder / "worker_test"
        if program.exists():
            return program
        text = (WORKER_BUILD / "compile_commands.json").read_text(encoding="utf-8")
        original = ROOT / self.changed[0]
        for step in json.loads(text):
            together = pathlib.Path(step["file"])
            if together.suffix == ".cxx" and f'"{original}"' in together.read_text("utf-8"):
                break
        else:
            raise BuildError(f"{WORKER_BUILD} does not compile {original}")
        own = self.folder / together.name
        text = together.read_text(encoding="utf-8")
        own.write_text(text.replace(str(original), str(self.folder / self.changed[0])), "utf-8")
        command = shlex.split(step["command"])
        made = own.with_suffix(".o")
        command[command.index("-o") + 1] = str(made)
        command[command.index(step["file"])] = str(own)
        must([*command, "-w"], step["directory"])
        steps = must(["ninja", "-C", WORKER_BUILD, "-t", "commands", WORKER_TESTS])
        link = next(each for each in steps.splitlines() if f" -o {WORKER_TESTS} " in each)
        link = next(each for each in link.split(" && ") if f" -o {WORKER_TESTS} " in each)
        # Before the library, which is asked only for what is missing then.
        link = link.replace(f" -o {WORKER_TESTS} ", f" -o {program} {made} ")
        must(shlex.split(link), WORKER_BUILD)
        return program

    def _program(self, name, sources):
        program = self.folder / name
        if not program.exists():
            objects = [self._object(source) for source in sources]
            must(COMPILER + [*objects, "-lfmt", "-lsodium", "-o", program])
        return program

    def _has_change(self, source):
        return any(file in self.changed for file in [source, *self.sources.includes(source)])

    def _object(self, source):
        if not self._has_change(source):
            return self.sources.object_of(source)
        target = self.folder / self.sources.object_of(source).name
        if not target.exists():
            own = self.folder / source
            must(COMPILER + ["-I", self.folder, "-I.", "-c", own if own.exists() else source,
                             "-o", target])
        return target

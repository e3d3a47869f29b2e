"""A rule that mutations.py takes away: the exact text that is replaced, by what."""

import dataclasses
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]


def path_of(file):
    """From the root; files of the machines are named here without their folders."""
    if "/" in file:
        return file
    libraries = ("launcher", "rendezvous", "worker")
    found = [path for library in libraries for path in (ROOT / library).rglob(file)]
    if len(found) != 1:
        raise LookupError(f"{len(found)} files are named {file}")
    return str(found[0].relative_to(ROOT))


@dataclasses.dataclass
class Mutation:
    rule: str
    name: str
    file: str  # see path_of()
    old: str
    new: str
    more: tuple = ()  # further changes of its kind: (file, old, new)

    def changes(self):
        return [(path_of(file), old, new) for file, old, new in (
            (self.file, self.old, self.new), *self.more)]

"""keep.py CONTROL FOLDER: makes FOLDER a small corpus of what a merge of libFuzzer has seen.

CONTROL is the file of -set_cover_merge: for each input, which features it reaches. The next
input is the one that adds most, until the corpus has FILES_MAX inputs or BYTES_MAX.
"""

import hashlib
import pathlib
import sys

FILES_MAX = 60
BYTES_MAX = 100_000
INPUT_BYTES_MAX = 8_000


def read_control(path):
    """Each input, and its features."""
    lines = pathlib.Path(path).read_text(encoding="utf-8").splitlines()
    count = int(lines[0])
    names = lines[2 : 2 + count]
    features = {}
    for line in lines[2 + count :]:
        kind, number, *rest = line.split()
        if kind in ("FT", "COV"):
            features.setdefault(names[int(number)], set()).update(kind + each for each in rest)
    return features


def choose(features):
    """The bytes of the chosen inputs."""
    inputs = {name: pathlib.Path(name).read_bytes() for name in features}
    left = {name for name, data in inputs.items() if 0 < len(data) <= INPUT_BYTES_MAX}
    seen = set()
    chosen = []
    size = 0
    while left and len(chosen) < FILES_MAX:
        best = max(sorted(left), key=lambda n: (len(features[n] - seen), -len(inputs[n])))
        left.remove(best)
        if not features[best] - seen:
            break
        if size + len(inputs[best]) > BYTES_MAX:
            continue
        seen |= features[best]
        size += len(inputs[best])
        chosen.append(inputs[best])
    return chosen


def main(control, folder):
    chosen = choose(read_control(control))
    corpus = pathlib.Path(folder)
    corpus.mkdir(parents=True, exist_ok=True)
    for old in corpus.iterdir():
        old.unlink()
    for data in chosen:
        (corpus / hashlib.sha1(data).hexdigest()[:16]).write_bytes(data)


main(*sys.argv[1:])

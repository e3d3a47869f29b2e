#!/usr/bin/env python3
"""Joins a sharded snapshot of ddprun's C++ workers into one file, as they save it without shards:

    join_shards.py run/snapshot.pt joined.pt

Both Python's torch.load() and C++ workers read the result. Needs PyTorch, the memory for the whole
state, and twice its size of disk space beside the result.
"""
import os
import sys
import tempfile
import zipfile
import zlib

import torch

HEADER_BYTES = 128  # of a shard
UNIT_BYTES = 64     # each storage begins at a multiple of it


def stream_of(snapshot, sizes, sums):
    """The bytes of all shards, in pieces."""
    for shard, (size, expected) in enumerate(zip(sizes, sums)):
        path = f"{snapshot}.shard-{shard}-of-{len(sizes)}"
        crc = 0
        with open(path, "rb") as file:
            file.seek(HEADER_BYTES)
            while size > 0:
                piece = file.read(min(size, 1 << 20))
                if not piece:
                    sys.exit(f"{path} is cut off")
                crc = zlib.crc32(piece, crc)
                size -= len(piece)
                yield piece
        if crc != expected:
            sys.exit(f"{path} is damaged, or belongs to another snapshot")


def take(stream, left, count):
    """The next `count` bytes, in pieces; `left` has what the last piece had too many."""
    while count > 0:
        piece = left.pop() if left else next(stream)
        if len(piece) > count:
            left.append(piece[count:])
        yield piece[:count]
        count -= min(len(piece), count)


def state_in(shards, snapshot, folder):
    """The dict that PICKLE describes."""
    stream = stream_of(snapshot, shards["BYTES"].tolist(), shards["CRC32"].tolist())
    left = []
    with tempfile.TemporaryFile(dir=folder) as file:
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr("archive/data.pkl", shards["PICKLE"].numpy().tobytes())
            archive.writestr("archive/version", "3\n")
            for key, size in enumerate(shards["STORAGES"].tolist()):
                with archive.open(f"archive/data/{key}", "w", force_zip64=True) as record:
                    for piece in take(stream, left, size):
                        record.write(piece)
                for _ in take(stream, left, -size % UNIT_BYTES):
                    pass
        file.seek(0)
        for _ in stream:  # checks the last shard
            pass
        return torch.load(file)


def main(arguments):
    if len(arguments) != 2:
        sys.exit(__doc__)
    snapshot, joined = os.path.realpath(arguments[0]), arguments[1]
    folder = os.path.dirname(os.path.abspath(joined))
    content = torch.load(snapshot)
    if "SHARDS" not in content:
        sys.exit(f"{snapshot} has no shards; copy it as it is")
    state = state_in(content.pop("SHARDS"), snapshot, folder)
    content["MODEL_STATE"] = {**state["MODEL_STATE"], **content["MODEL_STATE"]}
    if state["OPTIMIZER_STATE"] is not None:
        content["OPTIMIZER_STATE"] = state["OPTIMIZER_STATE"]
    torch.save(content, joined + ".unfinished")
    os.replace(joined + ".unfinished", joined)


if __name__ == "__main__":
    main(sys.argv[1:])

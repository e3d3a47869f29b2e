"""Writes what bench/write_snapshot.cpp writes, by torch.save(), and prints the seconds it took.

The file is brought to the disk and renamed into place, then its folder is brought to the disk: what
a program must do so that a crash never leaves it without a snapshot.
"""

import os
import sys
import time

import torch

TENSOR_MIB = 16


def save(state, path):
    """Replaces `path` by `state`, on the disk when it returns."""
    with open(path + ".tmp", "wb") as file:
        torch.save(state, file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(path + ".tmp", path)
    folder = os.open(os.path.dirname(path), os.O_RDONLY)
    os.fsync(folder)
    os.close(folder)


def main(folder, mib):
    torch.manual_seed(1)
    count = int(mib) // TENSOR_MIB
    model = {f"layer{i}": torch.rand(TENSOR_MIB << 18) for i in range(count)}
    start = time.perf_counter()
    save({"MODEL_STATE": model, "EPOCHS_RUN": 0}, os.path.join(folder, "snapshot.pt"))
    print(time.perf_counter() - start)


main(*sys.argv[1:])

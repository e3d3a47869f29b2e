#!/usr/bin/env python3
"""Packs a folder of pictures, with a folder for each class, into one HDF5 file:

    folder_to_hdf5.py FOLDER FILE

The file has the bytes of each JPEG and PNG file in `images`, the number of its class in `labels`,
and the names of the classes in `classes`. The order is that of torchvision's ImageFolder.
"""
import os
import sys

try:
    import h5py
    import numpy
except ImportError:
    sys.exit("folder_to_hdf5: h5py is missing; apt install python3-h5py, or pip install h5py")


def pictures(folder, classes):
    """The path of each picture, and the number of its class."""
    for number, name in enumerate(classes):
        for path, _, files in sorted(os.walk(os.path.join(folder, name), followlinks=True)):
            for file in sorted(files):
                if file.lower().endswith((".jpg", ".jpeg", ".png")):
                    yield os.path.join(path, file), number


def main(folder, target):
    classes = sorted(each.name for each in os.scandir(folder) if each.is_dir())
    found = list(pictures(folder, classes))
    if not found:
        sys.exit(f"folder_to_hdf5: {folder} has no class with a JPEG or PNG file")
    unfinished = target + ".part"
    with h5py.File(unfinished, "w") as file:
        images = file.create_dataset("images", (len(found),), h5py.vlen_dtype(numpy.uint8))
        for i, (path, _) in enumerate(found):
            images[i] = numpy.fromfile(path, numpy.uint8)
        file["labels"] = numpy.array([number for _, number in found], numpy.int64)
        file["classes"] = classes
    os.replace(unfinished, target)
    print(f"{target}: {len(found)} pictures of {len(classes)} classes")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])

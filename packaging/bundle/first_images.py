"""first_images.py COUNT FROM TO: copies the first COUNT training images of Fashion-MNIST, and their
labels, from one folder to another, as IDX files of that many."""

import gzip
import os
import struct
import sys

count, source, target = int(sys.argv[1]), sys.argv[2], sys.argv[3]
# By name: the bytes of the header, which begins with a magic number and the count, and of an item.
for name, header_bytes, item_bytes in (
    ("train-images-idx3-ubyte.gz", 16, 28 * 28),
    ("train-labels-idx1-ubyte.gz", 8, 1),
):
    path = os.path.join(source, name)
    with gzip.open(path) as file:
        header = file.read(header_bytes)
        items = file.read(count * item_bytes)
    if len(items) != count * item_bytes:
        sys.exit(f"{path} has {len(items) // item_bytes} items, not {count}; fetch it again")
    with gzip.GzipFile(os.path.join(target, name), "wb", mtime=0) as file:
        file.write(header[:4] + struct.pack(">I", count) + header[8:] + items)

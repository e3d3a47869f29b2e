#!/usr/bin/env python3
"""Writes a wheel that holds the program ddprun as a script, and the licences; no Python code.

Usage: wheel.py TREE VERSION PLATFORM SUMMARY FOLDER
TREE is what packages.sh stages. The same tree gives the same bytes at any time.
"""

import base64
import hashlib
import os
import pathlib
import sys
import time
import zipfile


def record_line(name: str, content: bytes) -> str:
    """A line of RECORD: the file, its hash and its size."""
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(content)}\n"


def contents(tree: pathlib.Path, version: str, platform: str, summary: str) -> dict[str, bytes]:
    """The files of the wheel by their names, in their order there; RECORD comes last."""
    info = f"ddprun-{version}.dist-info"
    files = {f"ddprun-{version}.data/scripts/ddprun": (tree / "bin/ddprun").read_bytes()}
    for licence in sorted((tree / "share/doc/ddprun/licences").iterdir()):
        files[f"{info}/licenses/{licence.name}"] = licence.read_bytes()
    files[f"{info}/METADATA"] = (
        f"Metadata-Version: 2.1\nName: ddprun\nVersion: {version}\nSummary: {summary}\n"
        "License: BSD-3-Clause\n").encode()
    files[f"{info}/WHEEL"] = (
        "Wheel-Version: 1.0\nGenerator: packaging/wheel.py\nRoot-Is-Purelib: false\n"
        f"Tag: py3-none-{platform}\n").encode()
    lines = [record_line(name, content) for name, content in files.items()]
    files[f"{info}/RECORD"] = "".join([*lines, f"{info}/RECORD,,\n"]).encode()
    return files


def main() -> None:
    tree, version, platform, summary, folder = sys.argv[1:]
    # A zip file knows no time before 1980.
    moment = time.gmtime(max(int(os.environ["SOURCE_DATE_EPOCH"]), 315532800))[:6]
    target = pathlib.Path(folder) / f"ddprun-{version}-py3-none-{platform}.whl"
    with zipfile.ZipFile(target, "w") as wheel:
        for name, content in contents(pathlib.Path(tree), version, platform, summary).items():
            entry = zipfile.ZipInfo(name, moment)
            entry.external_attr = (0o100755 if "/scripts/" in name else 0o100644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            wheel.writestr(entry, content, compresslevel=9)


if __name__ == "__main__":
    main()

"""seeds.py FOLDER: writes first inputs for each target into FOLDER/TARGET/, from real messages."""

import pathlib
import struct
import sys

import worker_seeds

ROOT = pathlib.Path(__file__).parents[2]


def counted(text):
    return struct.pack("<Q", len(text)) + text


def store_codec():
    """Conversations as clients of PyTorch 1.13 and of 2.6 and later begin them."""
    key, value = counted(b"/k"), counted(b"v1")
    barrier = b"default_pg/0//store_based_barrier_key:1"
    long, longer = counted(barrier), counted(barrier + b":last")
    other = counted(barrier[:-1] + b"2")
    old = [
        b"\x03" + counted(b"init/") + struct.pack("<q", 1),
        b"\x00" + key + value,
        b"\x05" + struct.pack("<Q", 1) + key,
        b"\x02" + key,
        b"\x01" + key + value + counted(b"v2"),
        b"\x06\x08" + key,
        b"\x07" + key,
    ]
    new = [
        b"\x0d" + struct.pack("<I", 25240),
        b"\x04" + key + struct.pack("<q", -1),
        b"\x06" + struct.pack("<Q", 2) + key + counted(b"/x") + b"\x0c",
        b"\x09" + key + value,
        b"\x0b" + struct.pack("<Q", 2) + key + value + key + value,
        b"\x0a" + struct.pack("<Q", 2) + key + key,
        b"\x0e" + key + value + b"\x0f" + key + b"\x10" + key + b"\x11",
        b"\x12" + key + struct.pack("<q", 2),
        b"\x01" + long + value + b"\x01" + longer + value + b"\x03" + other + b"\x08" + long,
        b"\x06" + struct.pack("<Q", 3) + longer + other + long,
    ]
    greeting = b"\x00\xce\xf7\x85\x3c"
    return [b"\x03" + x for x in [*old, b"".join(old), greeting + b"".join(new)]]


def hosts():
    for line in (ROOT / "tests/unit/launcher/allocation/hostlist_vectors.txt").open():
        kind, _, text = line.rstrip("\n").partition(" ")
        if kind in ("names", "no-names", "folds") and len(text) < 80:
            yield b"\x00" + text.encode()
        elif kind in ("counts", "no-counts"):
            yield b"\x01" + text.encode()
    yield from (b"\x020-3,8", b"\x02\n", b"\x03all", b"\x03none", b"\x030,2-5")


def job_file():
    for path in sorted((ROOT / "configs").glob("*.yaml")):
        yield b"\x00" + path.read_bytes()
    yield b"\x01program: a\nprofiles:\n  p: {nproc_per_node: 2}\n"
    yield b"\x00program: ${HOME:-x}/t\nargs: [--a, '$$']\nenv: {A: 1}\n"


def lines():
    return [
        b"\x00one\ntwo\r\nthree\r\rfour\r\n\r\n\n  \r\nfive\r  \r6%\r\r\n  \r \nseven",
        b"\x07 10%|#   | 1/9\r 20%|##  | 2/9\rerror: x\r\n",
    ]


def options():
    words = [
        ["--nproc-per-node", "2", "--", "true"],
        ["torchrun", "--nnodes=1:4", "--rdzv-backend=c10d", "--rdzv-endpoint=h:29400", "-m", "m"],
        ["--max-restarts", "3", "--grace=5s", "--log-dir", "/l", "--tee=0:3", "-r", "1", "./t"],
        ["--nnodes", "2", "--rdzv-endpoint", "a:1,b", "--snapshot", "s.pt", "./t"],
        ["./t", "\nDDPRUN_GRACE=1", "\nPET_NNODES=1:2", "\nDDPRUN_TOKEN=0"],
        [
            "./t",
            "\nSLURM_JOB_ID=1",
            "\nSLURM_JOB_NODELIST=n[1-3]",
            "\nSLURM_NNODES=3",
            "\nSLURM_STEP_ID=0",
            "\nSLURM_PROCID=1",
            "\nSLURM_STEP_NODELIST=n[1-3]",
        ],
    ]
    return ["\0".join(each).encode() for each in words]


def system_text():
    return [
        b"\x00low 0\nhigh 0\nmax 12\noom 1\noom_kill 3\n",
        b"\x0012:memory:/slurm/uid_0/job_1\n0::/user.slice\n",
        b"\x006,1,2,-;NVRM: Xid (PCI:0000:3b:00): 79, pid=1, GPU has fallen off the bus.\n"
        b"3,8,2,-;Out of memory: Killed process 1 (python3) total-vm:9kB\n",
        b"\x00150000",
        b"\x01JobId=12 JobName=x JobState=COMPLETING Reason=None Requeue=1 Restarts=2\n",
        b"\x011790000000\n",
        b"\x01NONE\n",
        b"\x02hello 1\nstep 10 12.5\nmetric loss 0.25\nsaving 10\nsaved 10\n",
        b'\x03{"message": {"message": "RuntimeError: \\u00e9\\ud83d\\ude00", "extraInfo": {}}}',
        b'\x03{"message": "plain"}',
    ]


def channel():
    opening = b"\xddddprun\x01\x01\x00\x01" + bytes(16) + b"\1" * 32
    answer = b"\xddddprun\x02\x01\x00" + b"\2" * 32 + bytes(32)
    quiet = b"\x0f" * 40
    return [
        b"\x00" + quiet,
        b"\x00" + b"\x0f\xff" * 6 + b"\x00\x01\x20\x07" * 8 + quiet,
        b"\x01\x40" + answer,
        b"\x02\x40" + opening,
        b"\x01\x01\xddddprun\x04\x01\x00\x03",
    ]


def key_value():
    return [b"\x01" + bytes(range(9)) * 9]


def message():
    return [b"\x00\x02" + bytes(16), b"\x01\x81" + bytes(24), b"\x02\x01" + bytes(40)]


TARGETS = {
    "channel": channel,
    "hosts": hosts,
    "job_file": job_file,
    "key_value": key_value,
    "lines": lines,
    "message": message,
    "options": options,
    "store_codec": store_codec,
    "system_text": system_text,
    **worker_seeds.TARGETS,
}


def main(folder):
    for target, make in TARGETS.items():
        made = pathlib.Path(folder) / target
        made.mkdir(parents=True, exist_ok=True)
        for number, data in enumerate(make()):
            (made / f"seed-{number:02}").write_bytes(data)


main(sys.argv[1])

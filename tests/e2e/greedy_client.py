"""A store client that asks for far more than it reads for a while, in PyTorch 1.13's dialect."""

import os
import socket
import struct

VALUE_BYTES = 8 << 20
GETS_COUNT = 60
AGENT_KB_MAX = 150_000  # without the 480 MB of the replies


def word(text):
    return struct.pack("<Q", len(text)) + text


def connect():
    return socket.create_connection((os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])))


def read(client, count):
    left = count
    while left > 0:
        piece = client.recv(min(left, 1 << 20))
        assert piece, "the store hung up"
        left -= len(piece)


def agent_kb_max():
    with open(f"/proc/{os.getppid()}/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM:"))


greedy, modest = connect(), connect()
greedy.sendall(b"\x00" + word(b"big") + word(bytes(VALUE_BYTES)))
greedy.sendall(b"\x03" + word(b"n") + struct.pack("<q", 5))
read(greedy, 8)  # so that the value is there
greedy.sendall((b"\x02" + word(b"big")) * GETS_COUNT)
modest.sendall(b"\x02" + word(b"big"))
read(modest, 8 + VALUE_BYTES)  # served although the other one does not read
for _ in range(GETS_COUNT):
    read(greedy, 8 + VALUE_BYTES)
greedy.sendall(b"\x03" + word(b"n") + struct.pack("<q", 5))  # and goes on as before
read(greedy, 8)
assert agent_kb_max() < AGENT_KB_MAX, f"the agent has used {agent_kb_max()} kB"

"""What a worker can do to its store, and whether another client is answered within a second then.

    store_attacks.py appends|connects|garbage|unfinished|unread|waits|watches

The requests are those of PyTorch 2.2 and later; only old ones have watches.
"""

import os
import socket
import struct
import sys
import time

STORE = (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
ATTACK_S = 4.0
CLIENTS_COUNT = 1_500  # that wait for as many keys each
LARGE = bytes(8 << 20)
# What ddprun may take with a store of 160 MiB, and strings that grow by doubling.
MEMORY_KIB_MAX = 420 << 10
GREETING = b"\x00\xce\xf7\x85\x3c"


def word(text):
    return struct.pack("<Q", len(text)) + text


def set_key(key, value):
    return b"\x01" + word(key) + word(value)


def connect():
    client = socket.create_connection(STORE)
    client.sendall(GREETING)
    return client


def read(client, count):
    while count > 0:
        piece = client.recv(min(count, 1 << 20))
        assert piece, "the store hung up"
        count -= len(piece)


def seconds_of_an_answer():
    started = time.monotonic()
    with connect() as client:
        client.sendall(b"\x04" + word(b"well-behaved") + struct.pack("<q", 1))
        read(client, 8)
    return time.monotonic() - started


def memory_kib_of_ddprun():
    """The most that it has had at any time."""
    with open(f"/proc/{os.getppid()}/status", encoding="ascii") as status:
        parent = dict(line.split(":", 1) for line in status)
    if parent["Name"].strip() != "ddprun":  # a shell is between
        with open(f"/proc/{parent['PPid'].strip()}/status", encoding="ascii") as status:
            parent = dict(line.split(":", 1) for line in status)
    assert parent["Name"].strip() == "ddprun", parent["Name"]
    return int(parent["VmHWM"].split()[0])


def appends():
    """Of one byte each, to a value of 64 MiB."""
    with connect() as client:
        client.sendall(set_key(b"big", bytes(64 << 20)))
        client.sendall((b"\x09" + word(b"big") + word(b"x")) * 100)
        client.sendall(b"\x0d" + struct.pack("<I", 1))  # a ping, which is answered behind them
        read(client, 4)


def connects():
    """To the store and to the rendezvous endpoint, without a word."""
    places = [STORE, ("127.0.0.1", int(os.environ["RDZV_PORT"]))]
    end = time.monotonic() + ATTACK_S
    while time.monotonic() < end:
        for place in places:
            socket.create_connection(place).close()


def garbage():
    """Of other protocols, and keys that look like the end of a line of ours and one more."""
    for _ in range(300):
        with socket.create_connection(STORE) as client:
            client.sendall(b"GET / HTTP/1.1\r\n\r\n")
            assert client.recv(1) == b""
    with connect() as client:
        key = b"k\nddprun 12:00:00.000: forged\x1b[2J"
        client.sendall(set_key(key, b"x") + b"\x04" + word(key) + struct.pack("<q", 1))
        assert client.recv(1) == b""


def unfinished():
    """Requests of 64 MiB, of which the last byte never comes, until the store hangs up."""
    clients = []
    for number in range(6):
        clients.append(connect())
        whole = set_key(b"unfinished %d" % number, bytes(64 << 20))
        try:
            clients[-1].sendall(whole[:-1])
        except ConnectionError:
            pass
    assert memory_kib_of_ddprun() < MEMORY_KIB_MAX, memory_kib_of_ddprun()
    assert seconds_of_an_answer() < 1


def unread():
    """Replies of 240 MiB each to a request of a few bytes, which nobody reads."""
    with connect() as client:
        client.sendall(set_key(b"large", LARGE) + b"\x0d" + struct.pack("<I", 1))
        read(client, 4)
    clients = [connect() for _ in range(12)]
    for client in clients:
        client.sendall(b"\x0a" + struct.pack("<Q", 30) + word(b"large") * 30)
    for client in clients:
        read(client, 8)
    assert memory_kib_of_ddprun() < 100 << 10, memory_kib_of_ddprun()
    assert seconds_of_an_answer() < 1


def watches():
    """Of 40 clients that read nothing, for a large value that changes again and again."""
    clients = [socket.create_connection(STORE) for _ in range(40)]
    for client in clients:
        client.sendall(b"\x07" + word(b"watched"))
        read(client, 1)
    with connect() as writer:
        for _ in range(30):
            writer.sendall(set_key(b"watched", LARGE) + b"\x0d" + struct.pack("<I", 1))
            read(writer, 4)
    assert memory_kib_of_ddprun() < MEMORY_KIB_MAX, memory_kib_of_ddprun()
    assert seconds_of_an_answer() < 1


def waits():
    """For all keys, of which the first comes last."""
    keys = [b"%07d" % number for number in range(CLIENTS_COUNT)]
    wait = b"\x06" + struct.pack("<Q", len(keys)) + b"".join(map(word, keys))
    clients = [connect() for _ in keys]
    for client in clients:
        client.sendall(wait)
    for key in keys[1:] + keys[:1]:
        clients[0].sendall(set_key(key, b""))
    for client in clients:
        read(client, 1)


attacks = {
    "appends": appends,
    "connects": connects,
    "garbage": garbage,
    "unfinished": unfinished,
    "unread": unread,
    "waits": waits,
    "watches": watches,
}
attacks[sys.argv[1]]()
assert seconds_of_an_answer() < 1

"""Two ends of a talk that is never silent on its own.

`listen PORT` and `connect ADDRESS PORT` are a TCP connection. The end that connects sends a byte,
waits for it to come back, and sends the next. Both print how many came, as "heard 10", and "end" or
"reset" when the other end closes or resets the connection.

`ask ADDRESS PORT` is what a PyTorch worker asks a store first. It ends with "served", or with
"closed" if the store closes the connection. With a port to come from, 0 for any, it prints "asked"
meanwhile.

`hold ADDRESS PORT COUNT` makes connections that say nothing, prints "held", and keeps them.

`flood ADDRESS PORT OTHER_PORT SECONDS` prints "flooding", and for so long makes connections to both
ports as fast as it can, each of which it resets without a word. Then it prints how many.

`intrude ADDRESS PORT COUNT` asks a store COUNT times to set a key, and hangs up without a pause.
`reset ADDRESS PORT OWN_PORT` asks it once, from that port, and prints "asked". At SIGUSR1 it resets
the connection.
`keys ADDRESS PORT` prints how many keys the store has.

`hear PORT` and `tell ADDRESS PORT` are datagrams one way: "heard 10" and "told 10". Who tells ends
with "refused" when anybody answers that it is in vain.
"""

import fcntl
import select
import signal
import socket
import struct
import sys
import termios
import time

REST_S = 0.01  # between two bytes
IP_RECVERR, IPV6_RECVERR = 11, 25  # every ICMP message is an error of the next call


def say(*words):
    print(*words, flush=True)


def talk(line, begins):
    line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    heard = 0
    try:
        if begins:
            line.send(b".")
        while line.recv(1):
            heard += 1
            say("heard", heard)
            if begins:
                select.select([], [], [], REST_S)
            line.send(b".")
        say("end")
    except OSError as failure:
        say("reset", failure)


def hear(port):
    line = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    line.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    line.bind(("::", port))
    say("listening")
    heard = 0
    while line.recv(1):
        heard += 1
        say("heard", heard)


def tell(address, port):
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    line = socket.socket(family, socket.SOCK_DGRAM)
    if family == socket.AF_INET:
        line.setsockopt(socket.IPPROTO_IP, IP_RECVERR, 1)
    else:
        line.setsockopt(socket.IPPROTO_IPV6, IPV6_RECVERR, 1)
    line.connect((address, port))
    told = 0
    try:
        while line.send(b"."):
            told += 1
            say("told", told)
            select.select([], [], [], REST_S)
    except OSError as failure:
        say("refused", failure)


def listen(port):
    server = socket.create_server(("::", port), family=socket.AF_INET6, dualstack_ipv6=True)
    say("listening")
    talk(server.accept()[0], begins=False)


def connect(address, port):
    line = socket.create_connection((address, port))
    say("from", line.getsockname()[0])
    talk(line, begins=True)


def connection_from(own_port, address, port):
    return socket.create_connection((address, port), source_address=("", own_port))


def ask(address, port, *own_port):
    line = connection_from(own_port[0] if own_port else 0, address, port)
    try:
        line.sendall(b"\x00\xce\xf7\x85\x3c\x0dping")
        if own_port:
            say("asked")
        say("served" if line.recv(4) else "closed")
    except ConnectionResetError:
        say("closed")


def hold(address, port, count):
    lines = [socket.create_connection((address, port)) for _ in range(count)]
    say("held")
    signal.pause()
    del lines


def flood(address, port, other_port, seconds):
    say("flooding")
    count = 0
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for each in (port, other_port):
            line = socket.create_connection((address, each))
            line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            line.close()
            count += 1
    say(count)


def intrude(address, port, count):
    for number in range(count):
        key = b"intruder %d" % number
        with socket.create_connection((address, port)) as line:
            line.sendall(b"\0" + struct.pack("<Q", len(key)) + key + struct.pack("<Q", 0))
            line.shutdown(socket.SHUT_WR)


def reset(address, port, own_port):
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
    line = connection_from(own_port, address, port)
    key = b"intruder"
    line.sendall(b"\0" + struct.pack("<Q", len(key)) + key + struct.pack("<Q", 0))
    while struct.unpack("<I", fcntl.ioctl(line, termios.TIOCOUTQ, b"\0" * 4))[0] > 0:
        select.select([], [], [], REST_S)  # until the store's kernel has it
    say("asked")
    signal.sigwait([signal.SIGUSR1])
    line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    line.close()


def keys(address, port):
    with socket.create_connection((address, port)) as line:
        line.sendall(b"\6")
        say(struct.unpack("<q", line.recv(8, socket.MSG_WAITALL))[0])


def main(verb, *where):
    verbs = {
        "listen": listen,
        "connect": connect,
        "ask": ask,
        "hold": hold,
        "flood": flood,
        "intrude": intrude,
        "keys": keys,
        "reset": reset,
        "hear": hear,
        "tell": tell,
    }
    verbs[verb](*(int(word) if word.isdigit() else word for word in where))


main(*sys.argv[1:])

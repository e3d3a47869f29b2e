"""A client of a store that other versions of PyTorch use too; tests/peers.sh runs it.

    peers.py PORT calls            every call of this version's store
    peers.py PORT job NAME RANK    one of two ranks of the job NAME: a process group and DDP
    peers.py PORT meet OWN OTHER   exchanges keys with the process whose own name is OTHER
"""
import datetime
import os
import sys

import torch
import torch.distributed as dist

WORLD = 2
LIMIT = datetime.timedelta(seconds=60)
os.environ.update(RANK="0", WORLD_SIZE="1", MASTER_ADDR="127.0.0.1", MASTER_PORT=sys.argv[1])
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "e2e"))
import ddp_gloo  # noqa: E402  it reads these variables


def connect():
    return dist.TCPStore("127.0.0.1", int(sys.argv[1]), None, False, timeout=LIMIT)


class Recorder:
    """A store that remembers which of its functions were called."""

    def __init__(self, store):
        self.store = store
        self.called = set()

    def __getattr__(self, name):
        found = getattr(self.store, name)
        self.called.add(name)
        return found


def calls():
    """On a raw store, so that its keys are counted; those of an earlier version are deleted."""
    store = Recorder(connect())
    for key in "plain bytes large count swap late text m1 m2 cloned".split():
        store.delete_key(key)
    ddp_gloo.basic_operations(store)
    ddp_gloo.newer_operations(store)
    ddp_gloo.waiting_operations(store)
    if hasattr(store.store, "barrier"):
        store.add("barriers", 1)
        store.barrier("alone " + store.get("barriers").decode(), 1, LIMIT)
    store.set_timeout(datetime.timedelta(milliseconds=1100))
    assert ddp_gloo.raises(lambda: store.get("never"))
    public = {name for name in dir(dist.TCPStore) if not name.startswith("_")}
    not_the_servers = {"has_extended_api", "host", "libuvBackend", "port", "timeout"}
    missed = public - not_the_servers - store.called
    assert not missed, "calls that this test does not make: %s" % sorted(missed)
    print(len(store.called), "calls", flush=True)


def job(name, rank):
    ddp_gloo.RANK, ddp_gloo.WORLD = rank, WORLD
    store = dist.PrefixStore(name, connect())
    dist.init_process_group("gloo", store=store, rank=rank, world_size=WORLD, timeout=LIMIT)
    ddp_gloo.collectives()
    dist.monitored_barrier(timeout=LIMIT)
    ddp_gloo.train()
    dist.barrier()
    dist.destroy_process_group()


def meet(own, other):
    """Both versions see one key space, and wait for each other's keys."""
    store = connect()
    together = "/".join(sorted((own, other)))
    for turn in range(50):
        mine, theirs = "%s %s %d" % (together, own, turn), "%s %s %d" % (together, other, turn)
        store.set(mine, "x" * turn)
        store.wait([theirs, mine])
        assert store.get(theirs) == b"x" * turn
        assert store.add(together, 1) in range(2 * turn + 1, 2 * turn + 3)
    assert int(store.get(together)) >= 99
    if own < other:
        assert store.compare_set(together + " swap", "", own).decode() == own
    else:
        store.wait([together + " swap"])
        assert store.get(together + " swap").decode() == other
        assert store.delete_key(mine)


def main():
    print("torch", torch.__version__, flush=True)
    part, words = sys.argv[2], sys.argv[3:]
    if part == "calls":
        calls()
    elif part == "job":
        job(words[0], int(words[1]))
    else:
        meet(*words)
    print("passed", flush=True)


main()

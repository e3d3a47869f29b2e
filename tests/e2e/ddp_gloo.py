"""A plain torchrun script: what it uses of PyTorch is checked against known results.

Parts: train (process group, collectives, DDP), store (every operation of TCPStore that this version
of PyTorch has), restart (train, after rank 1 of the first generation has died in the middle).
"""
import datetime
import os
import sys
import threading

try:
    import torch
    import torch.distributed as dist
except ImportError as error:
    print("skipped: no PyTorch here:", error)
    sys.exit(0)

import agent_store  # beside this file

if not agent_store.is_usable():
    print("skipped: PyTorch was built without libuv")
    sys.exit(0)

RANK = int(os.environ["RANK"])
WORLD = int(os.environ["WORLD_SIZE"])


def init():
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=20))
    assert dist.get_rank() == RANK and dist.get_world_size() == WORLD


def collectives():
    total = torch.tensor([float(RANK + 1)])
    dist.all_reduce(total)
    assert total.item() == WORLD * (WORLD + 1) / 2, total
    parts = [torch.zeros(2) for _ in range(WORLD)]
    dist.all_gather(parts, torch.full((2,), float(RANK)))
    assert [int(part[0]) for part in parts] == list(range(WORLD)), parts
    objects = [None] * WORLD
    dist.all_gather_object(objects, {"rank": RANK})
    assert objects == [{"rank": rank} for rank in range(WORLD)], objects
    group = dist.new_group(list(range(WORLD)))
    dist.barrier(group=group)
    dist.barrier()


def train():
    torch.manual_seed(0)
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 1, bias=False))
    before = model.module.weight.detach().clone()
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    model(torch.full((1, 4), float(RANK + 1))).sum().backward()
    optimizer.step()
    mean = (WORLD + 1) / 2  # of the gradients, which are the inputs
    assert torch.allclose(model.module.weight, before - mean), model.module.weight


def connect():
    return dist.TCPStore(
        os.environ["MASTER_ADDR"],
        int(os.environ["MASTER_PORT"]),
        WORLD,
        False,
        timeout=datetime.timedelta(seconds=20),
    )


def raises(call):
    try:
        call()
    except Exception:  # its class differs from version to version
        return True
    return False


def basic_operations(store):
    store.set("plain", "value")
    assert store.get("plain") == b"value"
    store.set("bytes", b"\x00\xff" * 3)
    assert store.get("bytes") == b"\x00\xff" * 3
    store.set("large", b"x" * 5_000_000)
    assert store.get("large") == b"x" * 5_000_000
    assert store.add("count", 5) == 5 and store.add("count", -2) == 3
    assert store.get("count") == b"3"
    assert store.compare_set("swap", "", "first") == b"first"
    assert store.compare_set("swap", "wrong", "second") == b"first"
    assert store.compare_set("swap", "first", "second") == b"second"
    keys = store.num_keys()
    store.set("one more", "")
    assert store.num_keys() == keys + 1
    assert store.delete_key("one more") and not store.delete_key("one more")
    assert store.num_keys() == keys
    store.wait(["plain", "count"])
    short = datetime.timedelta(milliseconds=1100)
    assert raises(lambda: store.wait(["never"], short))
    done = "set get add compare_set num_keys delete_key wait timeout"
    if hasattr(store, "check"):
        assert store.check(["plain", "count"]) and not store.check(["plain", "never"])
        done += " check"
    return done.split()


def waiting_operations(store):
    """A wait that another connection ends."""
    other = connect()
    timer = threading.Timer(0.1, lambda: other.set("late", "now"))
    timer.start()
    store.wait(["late"])
    assert store.get("late") == b"now"
    timer.join()


def newer_operations(store):
    done = []
    if hasattr(store, "append"):
        store.append("text", "a")
        store.append("text", "bc")
        assert store.get("text") == b"abc"
        done.append("append")
    if hasattr(store, "multi_set"):
        store.multi_set(["m1", "m2"], ["1", "two"])
        assert list(map(bytes, store.multi_get(["m2", "m1"]))) == [b"two", b"1"]
        done += ["multi_set", "multi_get"]
    if hasattr(store, "queue_push"):
        for text in ("a", "b"):
            store.queue_push("queue", text)
        assert store.queue_len("queue") == 2
        assert store.queue_pop("queue") == b"a" and store.queue_pop("queue") == b"b"
        assert store.queue_len("queue") == 0
        assert raises(lambda: store.queue_pop("queue", block=False))
        done += ["queue_push", "queue_len", "queue_pop"]
    if hasattr(store, "list_keys"):
        keys = store.list_keys()
        assert "plain" in keys and "never" not in keys, keys
        done.append("list_keys")
    if hasattr(store, "clone"):
        store.clone().set("cloned", "yes")
        assert store.get("cloned") == b"yes"
        done.append("clone")
    return done


def store_operations():
    shared = connect()
    if RANK == 0:
        store = dist.PrefixStore("rank 0", shared)
        store.set("prefixed", "yes")
        done = basic_operations(shared) + newer_operations(shared)
        waiting_operations(shared)
        shared.set("finished", "0")
        print("operations: " + " ".join(done), flush=True)
    shared.wait(["finished"])
    assert dist.PrefixStore("rank 0", shared).get("prefixed") == b"yes"
    assert shared.add("all", 1) >= 1
    if hasattr(shared, "barrier"):
        shared.barrier("here", WORLD, datetime.timedelta(seconds=20))
        if RANK == 0:
            print("operations: barrier", flush=True)


def main():
    part = sys.argv[1]
    print("torch", torch.__version__, flush=True)
    if part == "store":
        store_operations()
    init()
    collectives()
    if part == "restart" and os.environ["TORCHELASTIC_RESTART_COUNT"] == "0" and RANK == 1:
        os._exit(3)
    train()
    dist.barrier()
    dist.destroy_process_group()
    print("passed", flush=True)


if __name__ == "__main__":
    main()

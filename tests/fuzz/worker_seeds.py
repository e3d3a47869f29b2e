"""First inputs for the targets of the worker runtime, as torch.save() would have made them."""

import collections
import gzip
import io
import pickle
import struct
import sys
import types
import zipfile


def fake_torch():
    """Modules with the names that a pickle of tensors has in it, for a Python without PyTorch."""
    torch, utils = types.ModuleType("torch"), types.ModuleType("torch._utils")
    torch._utils = utils
    for name in ("FloatStorage", "LongStorage", "HalfStorage", "ByteStorage"):
        setattr(torch, name, type(name, (), {"__module__": "torch"}))
    utils._rebuild_tensor_v2 = lambda *args: args
    utils._rebuild_tensor_v2.__module__ = "torch._utils"
    utils._rebuild_tensor_v2.__qualname__ = "_rebuild_tensor_v2"
    sys.modules.update({"torch": torch, "torch._utils": utils})
    return torch


TORCH = fake_torch()


class Storage:
    def __init__(self, key, kind, bytes_each, count):
        self.key, self.kind, self.bytes_each, self.count = key, kind, bytes_each, count


class Tensor:
    """Of `shape`, dense, from the beginning of a storage."""

    def __init__(self, key, shape, kind="Float", bytes_each=4):
        self.shape = shape
        self.strides = tuple(self.size(shape[at + 1 :]) for at in range(len(shape)))
        self.storage = Storage(key, kind, bytes_each, self.size(shape))

    @staticmethod
    def size(shape):
        count = 1
        for each in shape:
            count *= each
        return count

    def __reduce__(self):
        extra = (False, collections.OrderedDict())
        return TORCH._utils._rebuild_tensor_v2, (self.storage, 0, self.shape, self.strides, *extra)


class Pickler(pickle._Pickler):  # Python's own, which takes any persistent id
    def __init__(self, file):
        super().__init__(file, protocol=2)
        self.storages = {}

    def persistent_id(self, obj):
        if not isinstance(obj, Storage):
            return None
        self.storages[obj.key] = bytes(obj.count * obj.bytes_each)
        return ("storage", getattr(TORCH, obj.kind + "Storage"), obj.key, "cpu", obj.count)


def pickled(value):
    """The pickle of `value`, and its storages by their keys."""
    file = io.BytesIO()
    pickler = Pickler(file)
    pickler.dump(value)
    return file.getvalue(), pickler.storages


def archive(value):
    data, storages = pickled(value)
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archived:
        archived.writestr("snapshot/data.pkl", data)
        archived.writestr("snapshot/byteorder", "little")
        for key, content in storages.items():
            archived.writestr(f"snapshot/data/{key}", content)
    return file.getvalue()


MODEL = {"module.weight": Tensor("0", (2, 3)), "module.bias": Tensor("1", (3,))}
GROUP = {"lr": 0.1, "betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0, "params": [0, 1]}
OPTIMIZER = {
    "state": {
        at: {
            "step": Tensor(f"{at}s", ()),
            "exp_avg": Tensor(f"{at}a", shape),
            "exp_avg_sq": Tensor(f"{at}q", shape),
        }
        for at, shape in enumerate([(2, 3), (4,)])
    },
    "param_groups": [{**GROUP, "amsgrad": False, "maximize": False}],
}
FOREIGN = {"MODEL_STATE": collections.OrderedDict(MODEL), "EPOCHS_RUN": 3}
OURS = {
    "MODEL_STATE": {"weight": Tensor("0", (2, 3))},
    "OPTIMIZER_STATE": OPTIMIZER,
    "EPOCH": 3,
    "STEP": 70_000,
    "GENERATION": 2,
    "GRADIENT_ORDER": [0, 1],
    "best": -(1 << 40),
}
VALUES = [FOREIGN, OURS, OPTIMIZER, [None, True, "a", 1 << 20, -1, 0.5, (), (1,), (1, 2, 3, 4)]]
SHARED = {"a": Tensor("0", (4,)), "b": Tensor("0", (2, 2)), "c": Tensor("1", (2,), "Long", 8)}


LBFGS_GROUP = {
    "lr": 0.1,
    "max_iter": 2,
    "max_eval": None,
    "tolerance_grad": 1e-7,
    "tolerance_change": 1e-9,
    "history_size": 3,
    "line_search_fn": None,
    "params": [0, 1],
}
LBFGS_ENTRY = {
    "func_evals": 2,
    "n_iter": 2,
    "t": 0.1,
    "prev_loss": 0.5,
    "H_diag": 1.0,
    "d": Tensor("d", (10,)),
    "prev_flat_grad": Tensor("p", (10,)),
    "old_dirs": [Tensor(f"o{i}", (10,)) for i in range(2)],
    "old_stps": [Tensor(f"s{i}", (10,)) for i in range(2)],
    "ro": [Tensor(f"r{i}", ()) for i in range(2)],
}
ADAGRAD_GROUP = {
    "lr": 0.1,
    "lr_decay": 0,
    "weight_decay": 0,
    "initial_accumulator_value": 0,
    "eps": 1e-10,
    "params": [0, 1],
}


def states():
    """Of optimizers, each with the number that optimizer_state_fuzz.cpp has for its kind."""
    for change in ({}, {"history_size": 1}, {"history_size": 10**14}, {"line_search_fn": "wolfe"}):
        yield 6, {"state": {0: LBFGS_ENTRY}, "param_groups": [{**LBFGS_GROUP, **change}]}
    yield 5, {"state": {}, "param_groups": [ADAGRAD_GROUP]}
    yield 2, OPTIMIZER


def pickles():
    begin = b"\x80\x02("
    cycle = begin + b"]q\0]q\1h\0ah\0h\1at."
    many = begin + b"]q\0" + (b"(" + b"h\0" * 10 + b"tq\0") * 4 + b"t."
    return [*(pickled(value)[0] for value in [*VALUES, SHARED]), cycle, many]


def archives():
    return [archive(value) for value in [*VALUES, SHARED, []]]


def overlapping():
    """An archive whose index says that two records have most of the file each."""
    data = bytearray(archive({"a": Tensor("0", (1,)), "b": Tensor("1", (1,)), "c": "x" * 500}))
    for name in (b"snapshot/data/0", b"snapshot/data/1"):
        entry = data.rindex(name) - 46
        data[entry + 20 : entry + 28] = struct.pack("<II", 700, 700)
    return bytes(data)


def zips():
    made = bytes([1, 0, 0, 2, 4]) + b"data" + bytes([5]) + b"12345" + bytes([1]) + b"x" + bytes(40)
    lies = [bytes([1, lie, zip64]) + made[3:] for lie in range(6) for zip64 in range(2)]
    return [*(b"\x00" + each for each in [*archives(), overlapping()]), *lies]


def idx():
    files = [
        b"\0\0\x08\1" + struct.pack(">I", 3) + b"abc",
        b"\0\0\x08\3" + struct.pack(">III", 2, 2, 2) + b"abcdefgh",
        b"\0\0\x08\2" + struct.pack(">II", 0, 5),
        b"\0\0\x08\1" + struct.pack(">I", 3 << 30) + b"abc",
        b"\0\0\x08\1" + struct.pack(">I", 100_000) + bytes(100_000),
    ]
    plain = [b"\x00" + each for each in files if len(each) < 1000]
    return plain + [b"\x01" + gzip.compress(each, mtime=0) for each in files]


def snapshot():
    whole = [b"\x00" + each for each in archives()]
    chosen = bytes([0, 15, 0, 0, 1, 16, 6, 0, 2, 2, 3, 3, 10, 5, 2, 3, 3, 3, 5, 1, 5, 2])
    return [*whole, *(b"\x01" + each for each in pickles()), b"\x02" + chosen]


def optimizer_state():
    changes = [bytes([kind, 0, 2, at, 2, 7, 3]) for kind in range(8) for at in range(2, 6)]
    right = [bytes([kind, 0, steps]) for kind in range(8) for steps in range(4)]
    return [*right, *changes, *(bytes([kind, 3]) + pickled(value)[0] for kind, value in states())]


TARGETS = {
    "idx": idx,
    "optimizer_state": optimizer_state,
    "pickle": pickles,
    "snapshot": snapshot,
    "zip": zips,
}

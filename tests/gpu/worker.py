"""A worker for tests/gpu.sh: worker.py ROLE [ARGUMENTS]; each function below is a role."""

import os
import subprocess
import sys


def count():
    import torch

    print("devices:", torch.cuda.device_count())


def cores(allowed):
    """Whether this worker has the cores of its GPU's NUMA node, of those in the list `allowed`."""
    gpu = os.environ["LOCAL_RANK"]
    query = ["nvidia-smi", "-i", gpu, "--query-gpu=pci.bus_id", "--format=csv,noheader"]
    address = subprocess.check_output(query, text=True).strip().lower()[-12:]
    path = f"/sys/bus/pci/devices/{address}/numa_node"
    node = int(open(path).read()) if os.path.exists(path) else -1
    own = os.sched_getaffinity(0)
    print(f"worker {gpu}: GPU {address}, NUMA node {node}, cores {sorted(own)}")
    if node >= 0:
        nodes_cores = open(f"/sys/devices/system/node/node{node}/cpulist").read()
        expected = numbers(nodes_cores) & numbers(allowed)
        if own != (expected or own):
            sys.exit(f"not the cores of its node: {nodes_cores}")
    elif not own:
        sys.exit("no core")


def numbers(text):
    """The numbers of a list like 0-3,8."""
    found = set()
    for part in text.strip().split(","):
        first, _, last = part.partition("-")
        found |= set(range(int(first), int(last or first) + 1))
    return found


def device():
    import torch

    if not torch.cuda.is_available():
        return torch.device("cpu")
    return torch.device("cuda", int(os.environ["LOCAL_RANK"]) % torch.cuda.device_count())


def fit(steps="50", backend=""):
    """Steps of PyTorch's DistributedDataParallel."""
    import torch
    import torch.distributed as dist

    here = device()
    if here.type == "cuda":
        torch.cuda.set_device(here)
    dist.init_process_group(backend or ("nccl" if here.type == "cuda" else "gloo"))
    torch.manual_seed(7)
    layers = torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 1)
    net = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(*layers).to(here))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    torch.manual_seed(dist.get_rank())
    inputs = torch.randn(512, 64).to(here)
    for step in range(int(steps)):
        optimizer.zero_grad()
        loss = (net(inputs) - inputs.sum(1, keepdim=True)).square().mean()
        loss.backward()
        optimizer.step()
        if step == 3:
            print("step 3", flush=True)
    loss = loss.detach()
    dist.all_reduce(loss)
    if dist.get_rank() == 0:
        print(f"loss {loss.item() / dist.get_world_size():.6f} on {here.type}")
    dist.destroy_process_group()


def resnet18(type, steps, batch="128", side="224"):
    """resnet18.cpp in Python: the same network, numbers and line."""
    import time

    import torch
    import torch.distributed as dist

    examples = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../examples")
    sys.path.insert(0, os.path.join(examples, "shared"))
    import resnet

    here = device()
    if here.type == "cuda":
        torch.cuda.set_device(here)
    dist.init_process_group("nccl" if here.type == "cuda" else "gloo")
    steps, batch, side = int(steps), int(batch), int(side)
    torch.manual_seed(1)
    net = resnet.ResNet(18, 1000)
    images = torch.randn(batch, 3, side, side).to(here)
    targets = torch.randint(1000, (batch,)).to(here)
    parallel = torch.nn.parallel.DistributedDataParallel(net.to(here))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
    dtype = getattr(torch, type)
    scaler = torch.amp.GradScaler(here.type, enabled=type == "float16")
    for step in range(1, steps + 1):
        with torch.autocast(here.type, dtype, enabled=type != "float32"):
            loss = torch.nn.functional.cross_entropy(parallel(images), targets)
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        if step == 1:
            first_loss = loss.item()
        if step == steps // 2:
            loss.item()  # waits for the device
            half = time.perf_counter()
    last_loss = loss.item()
    seconds = time.perf_counter() - half
    images_count = (steps - steps // 2) * batch * dist.get_world_size()
    if dist.get_rank() == 0:
        print(f"losses {first_loss:.4f} {last_loss:.4f}, {images_count / seconds:.0f} img/s")
    dist.destroy_process_group()


def recorded(role):
    """`role`, with the error file that PyTorch's decorator writes."""
    from torch.distributed.elastic.multiprocessing.errors import record

    record(role)()


def out_of_memory():
    import torch

    recorded(lambda: torch.empty(1 << 46, dtype=torch.uint8, device=device()))


def assertion():
    """An index that is too large, which a kernel finds."""
    import torch

    def fail():
        values = torch.zeros(4, device=device())
        print(values[torch.tensor([9], device=device())].cpu())

    recorded(fail)


def hog(left_gib, ready):
    """Takes all memory of the GPU but `left_gib`, and keeps it until stdin ends."""
    import torch

    free, _ = torch.cuda.mem_get_info()
    held = torch.empty(free - (int(left_gib) << 30), dtype=torch.uint8, device="cuda")
    with open(ready, "w") as file:
        file.write(f"{held.numel()}\n")
    sys.stdin.read()


def write_snapshot(path):
    """A snapshot of examples/toy, after 3 epochs, of tensors on the GPU."""
    import torch

    torch.manual_seed(0)
    net = torch.nn.Linear(20, 1).to("cuda" if torch.cuda.is_available() else "cpu")
    torch.save({"MODEL_STATE": net.state_dict(), "EPOCHS_RUN": 3}, path)


def read_snapshot(path):
    import torch

    snapshot = torch.load(path, map_location="cpu", weights_only=True)
    net = torch.nn.Linear(20, 1)
    net.load_state_dict(snapshot["MODEL_STATE"])
    print(f"epochs: {snapshot['EPOCHS_RUN']}, bias: {net.bias.item()}, keys: {list(snapshot)}")


globals()[sys.argv[1]](*sys.argv[2:])

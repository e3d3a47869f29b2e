"""A fit in two phases, called as courses do it: a new last layer over frozen features, then all
layers, wrapped again. With a sampler, a profiler's schedule and curves for TensorBoard."""

import glob

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.profiler import ProfilerActivity, profile, schedule, tensorboard_trace_handler
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset
from torch.utils.tensorboard import SummaryWriter

from at_end import end_without_teardown


def fit(model, samples, sampler, epochs, curve):
    """The mean loss of the last epoch's last batch, over all ranks."""
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer = torch.optim.SGD(trained, lr=0.1)
    folder = f"logs/rank{dist.get_rank()}"
    with profile(activities=[ProfilerActivity.CPU], schedule=schedule(wait=1, warmup=1, active=2),
                 on_trace_ready=tensorboard_trace_handler(folder)) as profiler:
        for epoch in range(epochs):
            sampler.set_epoch(epoch)
            for batch, targets in samples:
                optimizer.zero_grad()
                loss = torch.nn.functional.mse_loss(model(batch), targets)
                loss.backward()
                optimizer.step()
                profiler.step()
            loss = loss.detach()
            dist.all_reduce(loss)
            curve(epoch, loss.item() / dist.get_world_size())
    return loss.item() / dist.get_world_size()


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(7)
    features = torch.nn.Sequential(torch.nn.Linear(1, 4), torch.nn.Tanh())
    model = torch.nn.Sequential(features, torch.nn.Linear(4, 1))
    inputs = torch.linspace(-1, 1, 64).unsqueeze(1)
    data = TensorDataset(inputs, 3 * inputs + 1)
    sampler = DistributedSampler(data)
    samples = DataLoader(data, batch_size=8, sampler=sampler)
    writer = SummaryWriter(f"logs/rank{rank}")
    losses = []
    for phase in ("frozen", "all"):
        features.requires_grad_(phase == "all")
        losses.append(fit(DistributedDataParallel(model), samples, sampler, 2, lambda epoch, loss:
                          writer.add_scalar(f"loss/{phase}", loss, epoch)))
    writer.close()
    weights = torch.cat([parameter.detach().flatten() for parameter in model.parameters()])
    least = weights.clone()
    dist.all_reduce(least, dist.ReduceOp.MIN)
    equal = torch.tensor(int(torch.equal(weights, least)))
    dist.all_reduce(equal, dist.ReduceOp.MIN)  # a barrier, too: all files are written
    if rank == 0:
        files = [len(glob.glob(f"logs/rank?/{name}*")) for name in ("*.pt.trace.json", "events.")]
        print(f"{dist.get_world_size()} processes, loss {losses[0]:.6f}, then {losses[1]:.6f}, "
              f"{'the same' if equal else 'different'} weights, {files[0]} traces, "
              f"{files[1]} files of curves")
    end_without_teardown()


main()

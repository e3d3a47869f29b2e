"""A fit whose processes find one another by Slurm's variables and a port of the script's own, as
scripts for "srun python" do it: whatever a launcher has said of ranks is written over."""

import os
import sys

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

from at_end import end_without_teardown


def meet(port):
    os.environ["MASTER_ADDR"] = os.environ["SLURM_JOB_NODELIST"].split(",")[0]
    os.environ["MASTER_PORT"] = port
    os.environ["RANK"] = os.environ["SLURM_PROCID"]
    os.environ["LOCAL_RANK"] = os.environ["SLURM_LOCALID"]
    os.environ["WORLD_SIZE"] = os.environ["SLURM_NTASKS"]
    dist.init_process_group("gloo", init_method="env://")


def main(port):
    meet(port)
    torch.manual_seed(1)
    model = DistributedDataParallel(torch.nn.Linear(1, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.02)
    inputs = torch.linspace(-1, 1, 64).unsqueeze(1)
    data = TensorDataset(inputs, 3 * inputs + 1)
    sampler = DistributedSampler(data)
    for epoch in range(3):
        sampler.set_epoch(epoch)
        for batch, targets in DataLoader(data, batch_size=8, sampler=sampler):
            optimizer.zero_grad()
            loss = torch.nn.functional.mse_loss(model(batch), targets)
            loss.backward()
            optimizer.step()
    loss = loss.detach()
    dist.all_reduce(loss)
    if dist.get_rank() == 0:
        print(f"{dist.get_world_size()} processes, loss {loss.item() / dist.get_world_size():.6f}")
    end_without_teardown()


main(sys.argv[1])

"""examples/toy in Python: the same model, samples, batches and lines of output.

Usage: toy.py TOTAL_EPOCHS --batch-size N. It saves nothing, since what bench/restart.sh measures
with it ends before the first snapshot of the other would.
"""

import argparse
import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DistributedSampler

SAMPLES = 2048
FEATURES = 20


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("total_epochs", type=int)
    parser.add_argument("--batch-size", type=int, default=32)
    options = parser.parse_args()
    dist.init_process_group("gloo")
    rank = int(os.environ["RANK"])
    torch.manual_seed(0)
    inputs = torch.rand(SAMPLES, FEATURES)
    targets = torch.rand(SAMPLES, 1)
    model = torch.nn.Linear(FEATURES, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    parallel = DistributedDataParallel(model)
    sampler = DistributedSampler(range(SAMPLES))
    for epoch in range(options.total_epochs):
        sampler.set_epoch(epoch)
        batches = torch.tensor(list(sampler)).split(options.batch_size)
        loss_sum = 0.0
        for batch in batches:
            optimizer.zero_grad()
            output = parallel(inputs[batch])
            loss = torch.nn.functional.mse_loss(output, targets[batch])
            loss.backward()
            optimizer.step()
            loss_sum += loss.item()
        print(
            f"[rank {rank}] Epoch {epoch} | Batchsize: {options.batch_size}"
            f" | Steps: {len(batches)} | Loss: {loss_sum / len(batches)}",
            flush=True,
        )


main()

"""A fit by PyTorch's own DistributedDataParallel, called as its tutorials' scripts are: epochs in
all, and after how many a snapshot is saved, from which a restarted job goes on."""

import os
import sys

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

from at_end import end_without_teardown


def main(epochs, save_every):
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(7)
    model = DistributedDataParallel(torch.nn.Linear(1, 1))
    begin = 0
    if os.path.exists("snapshot.pt"):
        snapshot = torch.load("snapshot.pt", weights_only=True)
        model.module.load_state_dict(snapshot["MODEL_STATE"])
        begin = snapshot["EPOCHS_RUN"]
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    inputs = torch.linspace(-1, 1, 64).unsqueeze(1)
    samples = TensorDataset(inputs, 3 * inputs + 1)
    sampler = DistributedSampler(samples)
    for epoch in range(begin, epochs):
        sampler.set_epoch(epoch)
        for batch, targets in DataLoader(samples, batch_size=8, sampler=sampler):
            optimizer.zero_grad()
            loss = torch.nn.functional.mse_loss(model(batch), targets)
            loss.backward()
            optimizer.step()
        if (epoch + 1) % save_every == 0 and rank == 0:
            state = {"MODEL_STATE": model.module.state_dict(), "EPOCHS_RUN": epoch + 1}
            torch.save(state, "snapshot.new")
            os.rename("snapshot.new", "snapshot.pt")
        fails = rank == 1 and epoch == 2 and os.environ["TORCHELASTIC_RESTART_COUNT"] == "0"
        if fails and "--fail-once" in sys.argv:
            sys.exit(3)
    loss = loss.detach()
    dist.all_reduce(loss)
    if rank == 0:
        print(f"{dist.get_world_size()} processes, loss {loss.item() / dist.get_world_size():.6f}")
    end_without_teardown()


main(int(sys.argv[1]), int(sys.argv[2]))

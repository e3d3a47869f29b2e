"""examples/toy in Python: the same model, samples, batches and lines of output.

It has the shape of multigpu_torchrun.py of CBS-HPC's tutorials, with its defects repaired: every
rank has the same data, from a seed; the loss is the mean squared error, where the cross entropy of
a single class is always zero; rank 0 of the job alone saves, under another name first, with the
optimizer; EPOCHS_RUN counts finished epochs, so that none is trained twice. Unlike the C++ program
it keeps one snapshot, and saves none when it is told to end.

    ddprun --standalone --nproc-per-node 2 examples/toy/toy.py 50 10
"""

import os
import sys

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DistributedSampler

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "shared"))
import peer  # noqa: E402

SAMPLES = 2048
FEATURES = 20
SNAPSHOT = "snapshot.pt"


def save(content, path):
    """Whole or not at all."""
    torch.save(content, path + ".part")
    os.replace(path + ".part", path)


def resume(model, optimizer):
    """The number of epochs that are done."""
    if not os.path.exists(SNAPSHOT):
        return 0
    snapshot = torch.load(SNAPSHOT, map_location="cpu")
    model.load_state_dict(snapshot["MODEL_STATE"])
    optimizer.load_state_dict(snapshot["OPTIMIZER_STATE"])
    epochs = snapshot["EPOCHS_RUN"]
    print(f"[rank {dist.get_rank()}] Resuming training from snapshot at Epoch {epochs}", flush=True)
    return epochs


def parsed():
    options = peer.parser("Fits one linear layer to made-up data.", lr=1e-3)
    options.add_argument("epochs", type=int)
    options.add_argument("save_every", type=int, help="epochs from one snapshot to the next")
    return options.parse_args()


def main():
    options = parsed()
    device = peer.start(options.seed)
    inputs = torch.rand(SAMPLES, FEATURES).to(device)
    targets = torch.rand(SAMPLES, 1).to(device)
    model = torch.nn.Linear(FEATURES, 1).to(device)
    if peer.set_weights(model, options):
        return
    optimizer = torch.optim.SGD(model.parameters(), lr=options.lr)
    report = peer.Report(options, device)
    report.epochs = resume(model, optimizer)
    parallel = DistributedDataParallel(model)
    sampler = DistributedSampler(range(SAMPLES), seed=options.seed)
    for epoch in range(report.epochs, options.epochs):
        sampler.set_epoch(epoch)
        batches = torch.tensor(list(sampler), device=device).split(options.batch_size)
        loss_sum = 0.0
        for batch in report.batches((inputs[batch], targets[batch]) for batch in batches):
            optimizer.zero_grad()
            loss = torch.nn.functional.mse_loss(parallel(batch[0]), batch[1])
            loss.backward()
            optimizer.step()
            report.finish_step(loss)
            loss_sum += loss.item()
        if report.epochs == epoch:
            break  # --steps
        print(
            f"[rank {dist.get_rank()}] Epoch {epoch} | Batchsize: {options.batch_size}"
            f" | Steps: {len(batches)} | Loss: {loss_sum / len(batches)}",
            flush=True,
        )
        is_saved = (epoch + 1) % options.save_every == 0 or epoch + 1 == options.epochs
        if is_saved and dist.get_rank() == 0:
            snapshot = {
                "MODEL_STATE": model.state_dict(),
                "OPTIMIZER_STATE": optimizer.state_dict(),
                "EPOCHS_RUN": epoch + 1,
            }
            save(snapshot, SNAPSHOT)
            print(f"Epoch {epoch} | Training snapshot saved at {SNAPSHOT}", flush=True)
    if dist.get_rank() == 0:
        save(model.state_dict(), "finalmodel.pt")
        print("Final model saved at finalmodel.pt", flush=True)
    report.print()


if __name__ == "__main__":
    main()

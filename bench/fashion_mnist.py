"""examples/fashion_mnist in Python: the same network, samples, batches, dropout, optimizer,
snapshots and lines of output, on GPUs where there are some.

The images are held as one tensor of bytes and batches are cut out of it by index, as the other
does, because a DataLoader that calls Python for each image would lose time that is not DDP's.
"""

import argparse
import gzip
import os
import time

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DistributedSampler

REPORT_EVERY = 50
TEST_BATCH_SIZE = 250


def read_idx(path):
    """The bytes of an IDX file in their shape."""
    with gzip.open(path) as file:
        data = file.read()
    dims = data[3]
    shape = [int.from_bytes(data[4 + 4 * i : 8 + 4 * i], "big") for i in range(dims)]
    return torch.frombuffer(bytearray(data[4 + 4 * dims :]), dtype=torch.uint8).view(shape)


class Dataset:
    def __init__(self, folder, part, device):
        images = read_idx(os.path.join(folder, f"{part}-images-idx3-ubyte.gz"))
        labels = read_idx(os.path.join(folder, f"{part}-labels-idx1-ubyte.gz")).long()
        self.images = images.to(device)
        self.labels = labels.to(device)

    def inputs(self, indices):
        """(batch, 1, 28, 28) float32 with the mean and deviation of the training set taken out."""
        pixels = self.images.index_select(0, indices).unsqueeze(1).float()
        return pixels.div_(255).sub_(0.2860).div_(0.3530)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 32, 3)
        self.conv2 = nn.Conv2d(32, 64, 3)
        self.dropout1 = nn.Dropout(0.25)
        self.dropout2 = nn.Dropout(0.5)
        self.fc1 = nn.Linear(9216, 128)
        self.fc2 = nn.Linear(128, 10)

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = F.relu(self.conv2(x))
        x = self.dropout1(F.max_pool2d(x, 2))
        # fc1(x.flatten(1)), written as in the C++ program, which is faster with Debian's BLAS.
        x = F.conv2d(x, self.fc1.weight.view(128, 64, 12, 12), self.fc1.bias)
        x = F.relu(x.flatten(1))
        return F.log_softmax(self.fc2(self.dropout2(x)), 1)


class Trainer:
    def __init__(self, options, device):
        self.options = options
        self.device = device
        self.rank = dist.get_rank()
        self.world_size = dist.get_world_size()
        self.train_set = Dataset(options.data, "train", device)
        self.train_set.images = self.train_set.images[: options.train_images]
        torch.manual_seed(1)
        self.net = Net().to(device)
        self.optimizer = torch.optim.Adam(self.net.parameters(), options.lr)
        self.parallel = DistributedDataParallel(self.net)
        self.steps = 0

    def say(self, line):
        if self.rank == 0:
            print(line, flush=True)

    def run_epoch(self, epoch):
        sampler = DistributedSampler(range(len(self.train_set.images)))
        sampler.set_epoch(epoch)
        indices = torch.tensor(list(sampler)).to(self.device)
        batches = indices.split(self.options.batch_size)
        self.net.train()
        loss_sum, images, start, since = 0.0, 0, time.perf_counter(), 0
        for number, batch in enumerate(batches, 1):
            loss_sum += self.run_step(batch)
            images += len(batch) * self.world_size
            if number - since == REPORT_EVERY or number == len(batches):
                rate = int(images / (time.perf_counter() - start))
                loss = loss_sum / (number - since)
                self.say(
                    f"epoch {epoch}, batch {number} of {len(batches)}: loss {loss}, {rate} img/s"
                )
                loss_sum, images, start, since = 0.0, 0, time.perf_counter(), number
            if number % self.options.snapshot_every == 0:
                self.save(epoch)
        self.save(epoch + 1)

    def run_step(self, batch):
        torch.manual_seed(self.steps * self.world_size + self.rank)
        self.optimizer.zero_grad()
        output = self.parallel(self.train_set.inputs(batch))
        loss = F.nll_loss(output, self.train_set.labels.index_select(0, batch))
        loss.backward()
        self.optimizer.step()
        self.steps += 1
        return loss.item()

    def save(self, epoch):
        if self.rank != 0:
            return
        path = self.options.snapshot
        state = {
            "MODEL_STATE": self.net.state_dict(),
            "OPTIMIZER_STATE": self.optimizer.state_dict(),
            "EPOCHS_RUN": epoch,
        }
        with open(path + ".tmp", "wb") as file:
            torch.save(state, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(path + ".tmp", path)

    def evaluate(self):
        test = Dataset(self.options.data, "t10k", self.device)
        self.net.eval()
        correct = torch.zeros(1, dtype=torch.long, device=self.device)
        mine = torch.arange(self.rank, len(test.images), self.world_size)
        with torch.no_grad():
            for batch in mine.to(self.device).split(TEST_BATCH_SIZE):
                guess = self.net(test.inputs(batch)).argmax(1)
                correct += guess.eq(test.labels.index_select(0, batch)).sum()
        dist.all_reduce(correct)
        percent = 100 * correct.item() / len(test.images)
        self.say(f"test accuracy: {percent} % of {len(test.images)} images")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--train-images", type=int, default=20000)
    parser.add_argument("--snapshot-every", type=int, default=100)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--data", default="/usr/share/datasets/fashion-mnist")
    parser.add_argument("--snapshot", default="snapshot.pt")
    options = parser.parse_args()
    device = torch.device("cpu")
    if torch.cuda.is_available():
        device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
        torch.cuda.set_device(device)
    dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
    trainer = Trainer(options, device)
    for epoch in range(options.epochs):
        trainer.run_epoch(epoch)
    trainer.evaluate()
    dist.destroy_process_group()


main()

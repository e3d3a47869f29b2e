"""What the examples' peers in Python share, as the C++ programs do it: the options of all jobs, a
start by any launcher or by none, batches, losses, the exact accuracy, the last line, and the same
made-up pictures. It needs PyTorch 1.13 or newer, and nothing else."""

import argparse
import atexit
import os
import time

import torch
import torch.distributed as dist
from torch.nn import functional
from torch.utils.data import DataLoader, DistributedSampler, Subset


def parser(summary, **defaults):
    """The options of JobOptions in examples/shared/command_line.hpp, and two of Python alone:
    --export and --workers. Add a job's own to the result. `defaults`: by name, `lr=0.01`."""
    options = argparse.ArgumentParser(description=summary, allow_abbrev=False)
    options.add_argument("--data", default="", help="the folder of the data")
    options.add_argument("--synthetic", action="store_true", help="trains on made-up data instead")
    options.add_argument("--epochs", type=int, default=1, help="how often each sample is seen")
    options.add_argument("--steps", type=int, default=0, help="ends after this many; 0: no limit")
    options.add_argument("--batch-size", type=int, default=32, help="samples of each rank")
    options.add_argument("--lr", type=float, default=0.01, help="learning rate")
    options.add_argument("--seed", type=int, default=0, help="of weights and of the data's order")
    options.add_argument("--weights", default="", help="a file of weights to begin with")
    options.add_argument("--losses", default="", help="a file for the loss of each step")
    options.add_argument("--export", default="", help="writes the initial weights to it, and ends")
    options.add_argument("--workers", type=int, default=0, help="processes that read the samples")
    options.set_defaults(**defaults)
    return options


def start(seed):
    """Connects this rank to the others, if a launcher has started it, and seeds PyTorch. The result
    is its device."""
    device = torch.device("cpu")
    if torch.cuda.is_available():
        device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", 0)))
        torch.cuda.set_device(device)
    backend = "nccl" if device.type == "cuda" else "gloo"
    if "RANK" in os.environ:
        dist.init_process_group(backend)
    else:
        dist.init_process_group(backend, store=dist.HashStore(), rank=0, world_size=1)
    atexit.register(leave)
    torch.manual_seed(seed)
    return device


def leave():
    """Ends what start() began. PyTorch 1.13 may abort where an exit does it."""
    if dist.is_initialized():
        dist.destroy_process_group()


def say(line):
    """By rank 0 alone."""
    if dist.get_rank() == 0:
        print(line, flush=True)


def set_weights(net, options):
    """Gives `net` those of --weights. True if --export was given instead: its file is written, and
    nothing is left to do."""
    if options.weights:
        net.load_state_dict(torch.load(options.weights, map_location="cpu"))
    if options.export and dist.get_rank() == 0:
        torch.save(net.state_dict(), options.export)
    return bool(options.export)


def training_loader(data, options):
    """This rank's batches. Call its sampler's set_epoch(), or each epoch has the same order."""
    sampler = DistributedSampler(data, seed=options.seed)
    return DataLoader(data, sampler=sampler, **_loading(options))


def _loading(options):
    return {
        "batch_size": options.batch_size,
        "num_workers": options.workers,
        "pin_memory": torch.cuda.is_available(),
    }


def accuracy(net, data, options, device, guess=lambda outputs: outputs.argmax(1)):
    """The share of right guesses on `data`, the same on all ranks: each sample counts once, on one
    rank, and all ranks have rank 0's statistics of batch norms. `guess` makes labels of outputs."""
    for buffer in net.buffers():
        dist.broadcast(buffer, 0)
    mine = Subset(data, range(dist.get_rank(), len(data), dist.get_world_size()))
    counts = torch.zeros(2, dtype=torch.float64, device=device)  # right guesses, samples
    net.eval()
    with torch.no_grad():
        for inputs, targets in DataLoader(mine, **_loading(options)):
            guesses = guess(net(inputs.to(device)))
            counts[0] += guesses.eq(targets.to(device).view_as(guesses)).sum()
            counts[1] += len(targets)
    net.train()
    dist.all_reduce(counts)
    return (counts[0] / counts[1]).item()


class Report:
    """Counts epochs and steps, up to --steps, and writes the file of --losses and the last line.

    report = Report(options, device)
    for epoch in range(options.epochs):
        loader.sampler.set_epoch(epoch)
        for inputs, targets in report.batches(loader):
            ...
            report.finish_step(loss)
    report.print(accuracy(net, test_data, options, device))
    """

    def __init__(self, options, device):
        self.options = options
        self.device = device
        self.epochs = 0
        self.steps = 0
        self.loss = None  # the mean over all ranks in the last epoch
        self.samples = 0
        self.training_time = 0.0
        self.began_at = time.perf_counter()
        self.file = None
        if options.losses and dist.get_rank() == 0:
            self.file = open(options.losses, "w", encoding="ascii")

    def is_over(self):
        """Whether --steps have been made."""
        return self.options.steps > 0 and self.steps >= self.options.steps

    def batches(self, loader):
        """Those of an epoch, or those that --steps leaves of it. Its time is that of training."""
        if self.is_over():
            return
        losses = torch.zeros(2, dtype=torch.float64, device=self.device)  # their sum and number
        self.losses = losses
        part_began_at = time.perf_counter()
        for batch in loader:
            if self.is_over():
                break
            self.samples += len(batch[0]) * dist.get_world_size()
            yield batch
        else:
            self.epochs += 1
        dist.all_reduce(losses)
        self.loss = (losses[0] / losses[1]).item()  # waits for the device
        self.training_time += time.perf_counter() - part_began_at

    def finish_step(self, loss):
        """`loss` is this rank's, the mean of its batch."""
        self.steps += 1
        loss = loss.detach().double().reshape(1)
        self.losses[0] += loss[0]
        self.losses[1] += 1
        if not self.options.losses:
            return
        dist.all_reduce(loss)
        if self.file:
            print(f"{loss.item() / dist.get_world_size():.9g}", file=self.file, flush=True)

    def print(self, accuracy=None):
        """The line of ResultLine in examples/shared/result_line.hpp. `accuracy` is a share."""
        loss = "-" if self.loss is None else f"{self.loss:.4f}"
        percent = "-" if accuracy is None else f"{100 * accuracy:.2f}"
        speed = "-" if self.samples == 0 else f"{self.samples / self.training_time:.1f}"
        seconds = time.perf_counter() - self.began_at
        say(
            f"result: epochs={self.epochs} steps={self.steps} loss={loss} accuracy={percent}"
            f" images_per_s={speed} seconds={seconds:.1f}"
        )


class Curves:
    """TensorBoard's curves in `folder`, by rank 0. There are none if it is empty, or Python has no
    tensorboard, which a line says."""

    def __init__(self, folder):
        self.writer = None
        if not folder:
            return
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError:
            say("there are no curves: Python has no tensorboard")
            return
        if dist.get_rank() == 0:
            self.writer = SummaryWriter(folder)

    def add(self, step, values):
        """A point of each curve, by its name."""
        for name, value in values.items():
            if self.writer:
                self.writer.add_scalar(name, value, step)


class SyntheticImages:
    """The (3, side, side) uint8 pictures and the labels of examples/shared/synthetic_images.hpp,
    bit by bit. `transform`, if given, makes the input of a picture."""

    def __init__(self, images_count, classes_count, side, seed, transform=None):
        self.images_count = images_count
        self.classes_count = classes_count
        self.side = side
        self.seed = seed
        self.transform = transform
        generator = _generator(0, classes_count)
        self.patterns = torch.rand(classes_count, 3, 4, 4, generator=generator) * (255 - 96)

    def __len__(self):
        return self.images_count

    def __getitem__(self, index):
        if not 0 <= index < self.images_count:
            raise IndexError(index)
        label = index % self.classes_count
        side = (self.side, self.side)
        pattern = functional.interpolate(self.patterns[label : label + 1], side)[0]
        noise = torch.rand(3, *side, generator=_generator(self.seed, index))
        picture = (pattern + noise * 96).to(torch.uint8)
        return (self.transform(picture) if self.transform else picture), label


def _generator(seed, number):
    generator = torch.Generator()
    return generator.manual_seed(_draw_seed(seed, number))


def _draw_seed(seed, number):
    """ddprun::worker::draw_seed(): the two words that C++'s std::seed_seq makes of these four."""
    mask = 0xFFFFFFFF
    given = [seed & mask, seed >> 32, number & mask, number >> 32]
    words = [0x8B8B8B8B, 0x8B8B8B8B]
    for k in range(5):
        before = words[k % 2] ^ words[(k + 1) % 2] ^ words[(k - 1) % 2]
        first = 1664525 * (before ^ before >> 27) & mask
        second = first + (4 if k == 0 else k % 2 + given[k - 1]) & mask
        words[(k + 1) % 2] = words[(k + 1) % 2] + first + second & mask
        words[k % 2] = second
    for k in range(5, 7):
        before = words[k % 2] + words[(k + 1) % 2] + words[(k - 1) % 2] & mask
        first = 1566083941 * (before ^ before >> 27) & mask
        second = first - k % 2 & mask
        words[(k + 1) % 2] ^= first ^ second
        words[k % 2] = second
    return words[1] << 32 | words[0]

"""cifar100.cpp in Python, with the same options, batches and lines: as the course's three programs,
with an accuracy, means over all ranks, and no wait for the GPU in each step. It has no snapshots.
PyTorch is enough for made-up pictures and for those of 32 pixels; other sides need Pillow and
NumPy, and --log needs tensorboard."""

import os
import sys
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "shared"))
import peer  # noqa: E402
import resnet  # noqa: E402

PICTURE_BYTES = 3 * 32 * 32


def read_cifar100(path):
    """(N, 3, 32, 32) uint8 pictures and (N,) int64 fine labels."""
    with open(path, "rb") as file:
        records = torch.frombuffer(bytearray(file.read()), dtype=torch.uint8)
    records = records.view(-1, 2 + PICTURE_BYTES)
    return records[:, 2:].reshape(-1, 3, 32, 32), records[:, 1].long()


class Pictures(torch.utils.data.Dataset):
    """Resized by Pillow and normalised, as by torchvision's Resize, ToTensor and Normalize."""

    mean = torch.tensor([0.5071, 0.4865, 0.4409]).view(3, 1, 1)
    deviation = torch.tensor([0.2673, 0.2564, 0.2762]).view(3, 1, 1)

    def __init__(self, pictures, side):
        self.pictures = pictures
        self.side = side

    def __len__(self):
        return len(self.pictures)

    def __getitem__(self, index):
        picture, label = self.pictures[index]
        picture = self.resized(picture).float().div(255)
        return picture.sub(self.mean).div(self.deviation), label

    def resized(self, picture):
        if self.side == picture.shape[1]:
            return picture
        import numpy
        from PIL import Image

        image = Image.fromarray(picture.permute(1, 2, 0).numpy())
        image = image.resize((self.side, self.side), Image.BILINEAR)
        return torch.from_numpy(numpy.array(image)).permute(2, 0, 1)


def open_data(options):
    if options.synthetic:
        sets = ((1000, options.seed), (20, options.seed + 1))
        return [peer.SyntheticImages(count, 100, options.side, seed) for count, seed in sets]
    files = [os.path.join(options.data, name) for name in ("train.bin", "test.bin")]
    return [torch.utils.data.TensorDataset(*read_cifar100(file)) for file in files]


def parallel_of(net, options, device):
    """By --mode: torch's DataParallel needs GPUs."""
    if options.mode != "data-parallel":
        return DistributedDataParallel(net)
    return nn.DataParallel(net, [int(each.split(":")[1]) for each in options.devices.split(",")])


class TimeLines:
    """What rank 0 says every --report-every iterations and at the end of an epoch."""

    def __init__(self, options, device):
        self.every = options.report_every
        self.curves = peer.Curves(options.log)
        self.losses = torch.zeros(1, dtype=torch.float64, device=device)
        self.steps = 0

    def begin_epoch(self):
        self.epoch_began_at = self.part_began_at = time.perf_counter()
        self.losses.zero_()

    def finish_step(self, epoch, iteration, loss):
        self.steps += 1
        self.losses += loss.detach()
        if iteration % self.every != 0:
            return
        dist.all_reduce(self.losses)
        mean = self.losses.item() / dist.get_world_size() / self.every  # waits for the device
        seconds = time.perf_counter() - self.part_began_at
        self.curves.add(self.steps, {"training loss": mean})
        peer.say(
            f"[{epoch + 1}, {iteration}] loss: {mean:.3f}, iteration_time: {seconds:.1f}s,"
            f" time/iter ({self.every}): {seconds / self.every:.4f}"
        )
        self.losses.zero_()
        self.part_began_at = time.perf_counter()

    def finish_epoch(self, epoch):
        peer.say(f"[{epoch + 1}], epoch time: {time.perf_counter() - self.epoch_began_at:.1f}s")


def profile_of(options):
    """A trace of two steps, or nothing."""
    if not options.profile:
        return None
    profiler = torch.profiler
    return profiler.profile(
        schedule=profiler.schedule(wait=1, warmup=1, active=2, repeat=1),
        on_trace_ready=profiler.tensorboard_trace_handler(options.profile),
    )


def train(options, device, net, data):
    parallel = parallel_of(net, options, device)
    optimizer = torch.optim.SGD(net.parameters(), options.lr, momentum=0.9)
    loader = peer.training_loader(data, options)
    report = peer.Report(options, device)
    lines = TimeLines(options, device)
    profile = profile_of(options)
    if profile:
        profile.start()
    for epoch in range(options.epochs):
        loader.sampler.set_epoch(epoch)
        lines.begin_epoch()
        for iteration, (inputs, targets) in enumerate(report.batches(loader), 1):
            outputs = parallel(inputs.to(device, non_blocking=True))
            loss = nn.functional.cross_entropy(outputs, targets.to(device, non_blocking=True))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            report.finish_step(loss)
            lines.finish_step(epoch, iteration, loss)
            if profile:
                profile.step()
        if report.epochs > epoch:
            lines.finish_epoch(epoch)
    if profile:
        profile.stop()
    return report


def main():
    parser = peer.parser("Trains a ResNet on CIFAR-100.", epochs=4, batch_size=128, lr=0.01)
    nets = ("resnet18", "resnet50", "resnet152")
    parser.add_argument("--net", choices=nets, default="resnet152")
    parser.add_argument("--side", type=int, default=224, help="pixels of the resized pictures")
    parser.add_argument("--mode", choices=("", "single", "data-parallel", "ddp"), default="")
    parser.add_argument("--devices", default="", help="of data-parallel: cuda:0,cuda:1")
    parser.add_argument("--report-every", type=int, default=100, help="iterations")
    parser.add_argument("--log", default="", help="a folder for TensorBoard's curve")
    parser.add_argument("--profile", default="", help="a folder for a trace of two steps")
    options = parser.parse_args()
    device = peer.start(options.seed)
    net = resnet.ResNet(int(options.net.removeprefix("resnet")), 100)
    if peer.set_weights(net, options):
        return
    net.to(device)
    training, test = (Pictures(each, options.side) for each in open_data(options))
    report = train(options, device, net, training)
    report.print(peer.accuracy(net, test, options, device))


if __name__ == "__main__":
    main()

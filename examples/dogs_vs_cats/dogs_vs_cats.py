#!/usr/bin/env python3
"""The peer of dogs_vs_cats.cpp: the course's job with the same repairs, but for the snapshots, the
same options and the same lines. Layers that are unfrozen are wrapped anew, since Python's
DistributedDataParallel averages only what had requires_grad when it was made. It needs PyTorch
alone, with --data torchvision too."""

import os
import sys
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "shared"))
import peer  # noqa: E402
from peer_pictures import DEVIATION, MEAN  # noqa: E402

FIRST_TUNED_LAYER = 24


def read_options():
    options = peer.parser(
        "Trains a VGG-16 to tell dogs from cats.", epochs=10, batch_size=25, lr=0.01, seed=42
    )
    options.add_argument("--fine-tuning-epochs", type=int, default=20)
    options.add_argument("--fine-tuning-lr", type=float, default=1e-5)
    options.add_argument("--scaling", choices=("weak", "strong"), default="weak")
    options.add_argument("--no-augmentation", action="store_true")
    options.add_argument("--side", type=int, default=150)
    options.add_argument("--width", type=int, default=64)
    options.add_argument("--images", type=int, default=2000)
    options.add_argument("--log", default="", help="a folder for TensorBoard")
    return options.parse_args()


class Net(nn.Module):
    """From (N, 3, side, side) to (N,): positive for dogs."""

    def __init__(self, side, width):
        super().__init__()
        layers = []
        inputs = 3
        for factor, count in ((1, 2), (2, 2), (4, 3), (8, 3), (8, 3)):
            outputs = factor * width
            for _ in range(count):
                layers += [nn.Conv2d(inputs, outputs, 3, padding=1), nn.ReLU(inplace=True)]
                inputs = outputs
            layers.append(nn.MaxPool2d(2))
        self.features = nn.Sequential(*layers)
        for layer in self.features:
            if isinstance(layer, nn.Conv2d):
                nn.init.kaiming_normal_(layer.weight, mode="fan_out", nonlinearity="relu")
                nn.init.zeros_(layer.bias)
        self.head = nn.Sequential(
            nn.Linear(8 * width * (side // 32) ** 2, 64), nn.ReLU(), nn.Linear(64, 1)
        )

    def forward(self, images):
        return self.head(self.features(images).flatten(1)).squeeze(1)


def load_weights(net, path):
    """From torchvision's VGG-16, whose classifier is left out, or from this job's own network."""
    if path.endswith(".safetensors"):
        from safetensors.torch import load_file

        state = load_file(path)
    else:
        state = torch.load(path, map_location="cpu")
    taken = {name: value for name, value in state.items() if not name.startswith("classifier.")}
    head = {f"head.{name}": value for name, value in net.head.state_dict().items()}
    net.load_state_dict({**head, **taken})


def normalize(picture):
    return (picture.float().div(255) - MEAN) / DEVIATION


def open_pictures(options):
    """The data of the training, of the validation and of the test."""
    if options.synthetic:
        others = (options.images + 3) // 4
        counts = (options.images, others, others)
        return [
            peer.SyntheticImages(count, 2, options.side, options.seed + i, normalize)
            for i, count in enumerate(counts)
        ]
    from torchvision import datasets, transforms

    def pictures(folder, changes=()):
        resize = transforms.Resize((options.side, options.side))
        last = [transforms.ToTensor(), transforms.Normalize(MEAN.flatten(), DEVIATION.flatten())]
        transform = transforms.Compose([resize, *changes, *last])
        return datasets.ImageFolder(os.path.join(options.data, folder), transform)

    changes = [transforms.RandomAffine(0, scale=(0.8, 1.2), shear=0.2)]
    changes.append(transforms.RandomHorizontalFlip())
    has_test = os.path.exists(os.path.join(options.data, "test"))
    return [
        pictures("train", [] if options.no_augmentation else changes),
        pictures("validation"),
        pictures("test" if has_test else "validation"),
    ]


class Job:
    """The data, the network, and what both phases do with them."""

    def __init__(self, options, device):
        self.options = options
        self.device = device
        training, self.validation, self.test = open_pictures(options)
        for name, data in zip(("Train", "Validation", "Test"), (training, *self.others())):
            peer.say(f"{name}: Found {len(data)} images belonging to 2 classes")
        sampler = DistributedSampler(training, seed=options.seed, drop_last=True)
        self.loader = DataLoader(
            training,
            batch_size=options.batch_size,
            sampler=sampler,
            num_workers=options.workers,
            pin_memory=torch.cuda.is_available(),
        )
        self.net = Net(options.side, options.width)
        self.curves = peer.Curves(options.log)

    def others(self):
        return self.validation, self.test

    def train_layers_from(self, first):
        """The network for a phase: wrapped with the layers that it trains, and these."""
        for number, layer in enumerate(self.net.features):
            layer.requires_grad_(number >= first)
        trained = [each for each in self.net.parameters() if each.requires_grad]
        return DistributedDataParallel(self.net), trained

    def train_epoch(self, epoch, parallel, optimizer, report):
        """The accuracy of the training, over all ranks."""
        counts = torch.zeros(2, dtype=torch.float64, device=self.device)
        self.loader.sampler.set_epoch(epoch)
        for images, labels in report.batches(self.loader):
            labels = labels.to(self.device).float()
            outputs = parallel(images.to(self.device))
            loss = functional.binary_cross_entropy_with_logits(outputs, labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            report.finish_step(loss)
            counts[0] += outputs.gt(0).eq(labels.gt(0)).sum()
            counts[1] += len(labels)
        dist.all_reduce(counts)
        return (counts[0] / counts[1]).item()

    def accuracy(self, data):
        def guess(outputs):
            return outputs.gt(0).long()

        return peer.accuracy(self.net, data, self.options, self.device, guess)

    def train_phase(self, epochs, first_layer, make_optimizer, report):
        parallel, trained = self.train_layers_from(first_layer)
        optimizer = make_optimizer(trained)
        tunes = first_layer == FIRST_TUNED_LAYER
        began_at = time.perf_counter()
        for epoch in epochs:
            if report.is_over():
                break
            train_accuracy = self.train_epoch(epoch, parallel, optimizer, report)
            if report.epochs == epoch:
                break  # --steps has cut it off
            accuracy = self.accuracy(self.validation)
            loss = f"train loss: {report.loss:.6f} " if tunes else ""
            peer.say(
                f"Epoch {epoch + 1}: {loss}train accuracy: {train_accuracy:.2%}, "
                f"val accuracy: {accuracy:.2%}"
            )
            values = {
                "train/loss": report.loss,
                "train/accuracy": train_accuracy,
                "validation/accuracy": accuracy,
                "lr": optimizer.param_groups[0]["lr"],
            }
            self.curves.add(report.steps, values)
        if report.epochs < epochs.stop:
            return
        minutes, seconds = divmod(time.perf_counter() - began_at, 60)
        phase = "fine-tuning" if tunes else "training"
        peer.say(f"Total {phase} time: {minutes // 60:.0f}:{minutes % 60:02.0f}:{seconds:09.6f}.")


def main():
    options = read_options()
    device = peer.start(options.seed)
    if options.scaling == "strong":
        ranks = dist.get_world_size()
        if options.batch_size % ranks:
            sys.exit(f"--batch-size {options.batch_size} cannot be divided among {ranks} ranks")
        options.batch_size //= ranks
    job = Job(options, device)
    if options.weights:
        load_weights(job.net, options.weights)
        options.weights = ""
    if not peer.set_weights(job.net, options):
        job.net.to(device)
        train(job, options, device)


def train(job, options, device):
    report = peer.Report(options, device)
    head_end = options.epochs
    end = head_end + options.fine_tuning_epochs
    layers = len(job.net.features)

    def sgd(parameters):
        return torch.optim.SGD(parameters, options.lr)

    def rmsprop(parameters):
        return torch.optim.RMSprop(parameters, options.fine_tuning_lr)

    def test(when):
        accuracy = job.accuracy(job.test)
        peer.say(f"\nTesting (pretrained, {when} fine-tuning): accuracy: {accuracy:.2%}\n")
        return accuracy

    job.train_phase(range(head_end), layers, sgd, report)
    accuracy = test("before")
    if head_end < end and not report.is_over():
        job.train_phase(range(head_end, end), FIRST_TUNED_LAYER, rmsprop, report)
        accuracy = test("after")
    report.print(accuracy)


if __name__ == "__main__":
    main()

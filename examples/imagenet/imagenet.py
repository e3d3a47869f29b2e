#!/usr/bin/env python3
"""The peer of imagenet.cpp in Python: the job of JSC's course, by PyTorch's own loop in the place
of Lightning's. Repaired: the numbers of nodes and GPUs come from the launcher alone; the curve is
the mean over all ranks; the accuracy on val/ is measured, each picture once over all ranks."""

import math
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "shared"))

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import peer
import peer_pictures
from resnet import ResNet


def read_options():
    options = peer.parser("Trains a ResNet-50 on ImageNet.", epochs=10, batch_size=256, lr=0.02)
    peer_pictures.add_options(options, side=256, images=2048)
    options.add_argument("--classes", type=int, default=1000, help="folders in train/")
    options.add_argument("--layers", type=int, choices=[18, 50], default=50)
    options.add_argument("--recipe", choices=["adam", "sgd"], default="adam")
    options.add_argument("--log", default="runs", help="the folder for TensorBoard")
    options.add_argument("--log-every", type=int, default=50, help="steps from point to point")
    options.add_argument("--model", default="imagenet.pt", help="the file for the weights")
    return options.parse_args()


def make_optimizer(net, options):
    if options.recipe == "adam":
        return torch.optim.Adam(net.parameters(), options.lr)
    lr = options.lr * options.batch_size * dist.get_world_size() / 256
    return torch.optim.SGD(net.parameters(), lr, momentum=0.9, weight_decay=1e-4)


def factor(epochs_done, options):
    """Of the learning rate of --recipe sgd: a warm-up, then half a cosine."""
    if options.recipe == "adam":
        return 1
    warmup = min(5, options.epochs / 2)
    if epochs_done < warmup:
        return 0.01 + 0.99 * epochs_done / warmup
    return (1 + math.cos(math.pi * (epochs_done - warmup) / (options.epochs - warmup))) / 2


class Curve:
    """training_loss for TensorBoard, if it is there: means over all ranks and --log-every steps."""

    def __init__(self, options):
        self.every = options.log_every
        self.losses = []
        self.writer = None
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError:
            peer.say("there is no curve: Python has no tensorboard")
            return
        if dist.get_rank() == 0:
            self.writer = SummaryWriter(options.log)

    def add(self, loss, steps):
        self.losses.append(loss.detach())
        if steps % self.every != 0:
            return
        mean = torch.stack(self.losses).mean()
        self.losses = []
        dist.all_reduce(mean)
        if self.writer:
            self.writer.add_scalar("training_loss", mean.item() / dist.get_world_size(), steps)


def main():
    options = read_options()
    device = peer.start(options.seed)
    net = ResNet(options.layers, options.classes)
    if peer.set_weights(net, options):
        return
    training, validation = peer_pictures.open_pictures(options, options.classes, flips=False)
    net = net.to(device)
    parallel = DistributedDataParallel(net)
    optimizer = make_optimizer(net, options)
    lr = optimizer.param_groups[0]["lr"]
    loader = peer.training_loader(training, options)
    curve = Curve(options)
    report = peer.Report(options, device)
    accuracy = None
    for epoch in range(options.epochs):
        if report.is_over():
            break
        loader.sampler.set_epoch(epoch)
        samples = 0  # of this epoch, on all ranks
        for inputs, targets in report.batches(loader):
            rate = lr * factor(epoch + samples / len(training), options)
            optimizer.param_groups[0]["lr"] = rate
            samples += len(inputs) * dist.get_world_size()
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(parallel(inputs.to(device)), targets.to(device))
            loss.backward()
            optimizer.step()
            report.finish_step(loss)
            curve.add(loss, report.steps)
        accuracy = peer.accuracy(net, validation, options, device)
    if dist.get_rank() == 0:
        torch.save(net.state_dict(), options.model)
    report.print(accuracy)


if __name__ == "__main__":
    main()

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

import peer
import peer_pictures
from peer_classifier import Course, train_classifier
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


class Recipe(Course):
    """Sets the learning rate of each step. training_loss has means over --log-every steps of all
    ranks."""

    def __init__(self, optimizer, options):
        self.options = options
        self.group = optimizer.param_groups[0]
        self.lr = self.group["lr"]
        self.curves = peer.Curves(options.log)
        self.losses = []

    def begin_step(self, epochs_done):
        self.group["lr"] = self.lr * factor(epochs_done, self.options)

    def finish_step(self, loss, report):
        self.losses.append(loss.detach())
        if report.steps % self.options.log_every != 0:
            return
        mean = torch.stack(self.losses).mean()
        self.losses = []
        dist.all_reduce(mean)
        self.curves.add(report.steps, {"training_loss": mean.item() / dist.get_world_size()})


def main():
    options = read_options()
    device = peer.start(options.seed)
    net = ResNet(options.layers, options.classes)
    if peer.set_weights(net, options):
        return
    pictures = peer_pictures.open_pictures(options, options.classes, flips=False)
    net = net.to(device)
    optimizer = make_optimizer(net, options)
    course = Recipe(optimizer, options)
    report, accuracy = train_classifier(net, optimizer, pictures, options, device, course)
    report.print(accuracy)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""The peer of hymenoptera.cpp in Python: the job of JSC's course, without Lightning Flash, which is
no longer maintained, as PyTorch's own loop. Repaired: each rank uses the GPU of its local rank,
however many a launcher starts on each node; the launcher says where ranks meet; the accuracy counts
each picture once, over all ranks; rank 0 alone saves the model."""

import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "shared"))

import torch
from torch import nn

import peer
import peer_pictures
from peer_classifier import Course, train_classifier
from resnet import ResNet

CLASSES_COUNT = 2  # ants and bees


def read_options():
    options = peer.parser("Trains a ResNet-18 on ants and bees.", epochs=50, batch_size=1, lr=1e-3)
    peer_pictures.add_options(options, side=196, images=244)
    options.add_argument("--no-augmentation", action="store_true", help="mirrors no picture")
    options.add_argument("--sync-batch-norm", action="store_true", help="needs GPUs")
    options.add_argument("--log", default="", help="a folder for TensorBoard")
    options.add_argument("--model", default="hymenoptera.pt", help="the file for the weights")
    return options.parse_args()


class EpochCurves(Course):
    """The loss and the accuracy of each epoch."""

    def __init__(self, options):
        self.curves = peer.Curves(options.log)
        self.lr = options.lr

    def finish_epoch(self, report, accuracy):
        values = {"train/loss": report.loss, "validation/accuracy": accuracy, "lr": self.lr}
        self.curves.add(report.steps, values)


def main():
    begin = time.perf_counter()
    options = read_options()
    device = peer.start(options.seed)
    net = ResNet(18, CLASSES_COUNT)
    if peer.set_weights(net, options):
        return
    flips = not options.no_augmentation
    pictures = peer_pictures.open_pictures(options, CLASSES_COUNT, flips)
    if options.sync_batch_norm:
        net = nn.SyncBatchNorm.convert_sync_batchnorm(net)
    net = net.to(device)
    optimizer = torch.optim.Adam(net.parameters(), options.lr)
    course = EpochCurves(options)
    report, accuracy = train_classifier(net, optimizer, pictures, options, device, course)
    seconds = int(time.perf_counter() - begin)
    peer.say(
        f"elapsed: {seconds // 3600:02} hours {seconds // 60 % 60:02} min {seconds % 60:02} sec"
    )
    report.print(accuracy)


if __name__ == "__main__":
    main()

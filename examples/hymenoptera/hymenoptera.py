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
from torch.nn.parallel import DistributedDataParallel

import peer
import peer_pictures
from resnet import ResNet

CLASSES_COUNT = 2  # ants and bees


def read_options():
    options = peer.parser("Trains a ResNet-18 on ants and bees.", epochs=50, batch_size=1, lr=1e-3)
    peer_pictures.add_options(options, side=196, images=244)
    options.add_argument("--no-augmentation", action="store_true", help="mirrors no picture")
    options.add_argument("--sync-batch-norm", action="store_true", help="needs GPUs")
    options.add_argument("--model", default="hymenoptera.pt", help="the file for the weights")
    return options.parse_args()


def main():
    begin = time.perf_counter()
    options = read_options()
    device = peer.start(options.seed)
    net = ResNet(18, CLASSES_COUNT)
    if peer.set_weights(net, options):
        return
    training, validation = peer_pictures.open_pictures(
        options, CLASSES_COUNT, flips=not options.no_augmentation
    )
    if options.sync_batch_norm:
        net = nn.SyncBatchNorm.convert_sync_batchnorm(net)
    net = net.to(device)
    parallel = DistributedDataParallel(net)
    optimizer = torch.optim.Adam(net.parameters(), options.lr)
    loader = peer.training_loader(training, options)
    report = peer.Report(options, device)
    accuracy = None
    for epoch in range(options.epochs):
        if report.is_over():
            break
        loader.sampler.set_epoch(epoch)
        for inputs, targets in report.batches(loader):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(parallel(inputs.to(device)), targets.to(device))
            loss.backward()
            optimizer.step()
            report.finish_step(loss)
        accuracy = peer.accuracy(net, validation, options, device)
    if torch.distributed.get_rank() == 0:
        torch.save(net.state_dict(), options.model)
    seconds = int(time.perf_counter() - begin)
    peer.say(
        f"elapsed: {seconds // 3600:02} hours {seconds // 60 % 60:02} min {seconds % 60:02} sec"
    )
    report.print(accuracy)


if __name__ == "__main__":
    main()

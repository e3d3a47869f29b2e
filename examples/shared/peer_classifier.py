"""The training of a classifier with a validation, as examples/shared/classifier.hpp has it."""

import torch
import torch.distributed as dist
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel

import peer


class Course:
    """What a job does beside each step and each epoch; `report` counts those that are done."""

    def begin_step(self, epochs_done):
        """The next step begins after this many epochs, 2.5 in the middle of the third."""

    def finish_step(self, loss, report):
        """`loss` is this rank's."""

    def finish_epoch(self, report, accuracy):
        """`accuracy` is that of the validation, a share."""


def train_classifier(net, optimizer, pictures, options, device, course):
    """The report, and the accuracy of the last validation. `pictures` are those of the training and
    of the validation. Rank 0 saves the weights as --model."""
    training, validation = pictures
    parallel = DistributedDataParallel(net)
    loader = peer.training_loader(training, options)
    report = peer.Report(options, device)
    accuracy = None
    for epoch in range(options.epochs):
        if report.is_over():
            break
        loader.sampler.set_epoch(epoch)
        samples = 0  # of this epoch, on all ranks
        for inputs, targets in report.batches(loader):
            course.begin_step(epoch + samples / len(training))
            samples += len(inputs) * dist.get_world_size()
            optimizer.zero_grad()
            loss = functional.cross_entropy(parallel(inputs.to(device)), targets.to(device))
            loss.backward()
            optimizer.step()
            report.finish_step(loss)
            course.finish_step(loss, report)
        accuracy = peer.accuracy(net, validation, options, device)
        if report.epochs > epoch:
            course.finish_epoch(report, accuracy)
    if dist.get_rank() == 0:
        torch.save(net.state_dict(), options.model)
    return report, accuracy

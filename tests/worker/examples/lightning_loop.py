"""The training of examples/lightning by PyTorch's own loop, for a Python without Lightning."""

import torch
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import Subset

import peer
import resnet

MEAN = torch.tensor([0.5071, 0.4865, 0.4409]).view(3, 1, 1)
DEVIATION = torch.tensor([0.2673, 0.2564, 0.2762]).view(3, 1, 1)
CLASSES = 100


def normalized(picture):
    return (picture.float().div(255) - MEAN) / DEVIATION


def main():
    parser = peer.parser("Without augmentation, by torchvision's first layers.")
    parser.add_argument("--train-images", type=int)
    options = parser.parse_args()
    device = peer.start(options.seed)
    net = resnet.ResNet(18, CLASSES).to(device)
    if peer.set_weights(net, options):
        return
    count = options.train_images
    pictures = peer.SyntheticImages(count, CLASSES, 32, options.seed, normalized)
    loader = peer.training_loader(Subset(pictures, range(count - count // 10)), options)
    parallel = DistributedDataParallel(net)
    optimizer = torch.optim.SGD(net.parameters(), options.lr, momentum=0.9, weight_decay=5e-4)
    report = peer.Report(options, device)
    for epoch in range(options.epochs):
        loader.sampler.set_epoch(epoch)
        for inputs, targets in report.batches(loader):
            optimizer.zero_grad()
            loss = functional.cross_entropy(parallel(inputs.to(device)), targets.to(device))
            loss.backward()
            optimizer.step()
            report.finish_step(loss)

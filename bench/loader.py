"""What loader.cpp does, by torchvision: the rate of processor time, one thread."""
import sys
import time

import torch
from torchvision import datasets, transforms


def read_all(data):
    for i in range(len(data)):
        data[i]


def main():
    torch.set_num_threads(1)
    data = datasets.ImageFolder(sys.argv[1], transforms.Compose([
        transforms.Resize(256),
        transforms.CenterCrop(224),
        transforms.ToTensor(),
        transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]),
    ]))
    read_all(data)  # the files are in memory after this
    start = time.process_time()
    read_all(data)
    print(f"{len(data) / (time.process_time() - start):.0f} img/s")


main()

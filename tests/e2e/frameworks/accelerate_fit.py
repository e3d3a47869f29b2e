"""A script in the manner of Hugging Face's examples without a Trainer: options on the command line,
everything about processes by accelerate. The losses are the same by any launcher."""

import argparse

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch.utils.data import DataLoader, TensorDataset

from at_end import end_without_teardown


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--num_train_epochs", type=int, default=1)
    parser.add_argument("--learning_rate", type=float, default=0.1)
    options = parser.parse_args()
    accelerator = Accelerator(cpu=True)
    set_seed(7)
    inputs = torch.linspace(-1, 1, 64).unsqueeze(1)
    model = torch.nn.Linear(1, 1)
    model, optimizer, samples = accelerator.prepare(
        model, torch.optim.SGD(model.parameters(), lr=options.learning_rate),
        DataLoader(TensorDataset(inputs, 3 * inputs + 1), batch_size=8))
    for _ in range(options.num_train_epochs):
        for batch, targets in samples:
            loss = torch.nn.functional.mse_loss(model(batch), targets)
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
    mean = accelerator.gather(loss.detach().unsqueeze(0)).mean().item()
    accelerator.print(f"{accelerator.num_processes} processes, loss {mean:.6f}")
    accelerator.end_training()
    end_without_teardown()


main()

"""examples/lightning in Python, by Lightning: the same network, data, options and last line.

It has the shape of the job on CRUK CI's page, a Trainer with a checkpoint and an early stop, with
its defects repaired: devices and num_nodes come from the launcher's variables, where the page
repeats the numbers of the batch script; a new start goes on from the last checkpoint; callbacks
look at pictures held out of the training. Lightning would give each rank of a validation equally
many pictures, some of them twice; here each is on one rank, so the accuracy is exact. Its losses
in the validation are means of each rank's mean.

It needs lightning, torchvision and numpy:
    ddprun --standalone --nproc-per-node 2 examples/lightning/lightning.py --data FOLDER
"""

import os
import shutil
import sys
import uuid
from pathlib import Path

# This file has the name of the module that it imports.
sys.path[0] = str(Path(__file__).resolve().parent.parent / "shared")

import lightning
import numpy
import peer
import torch
import torch.distributed as dist
import torchvision
from lightning.pytorch.callbacks import EarlyStopping, ModelCheckpoint
from torch.nn import functional
from torch.utils.data import DataLoader, Dataset, Subset
from torchvision import transforms

CLASSES = 100


class Pictures(Dataset):
    """Those of a file of CIFAR-100's binary version: two labels and 3072 bytes for each."""

    def __init__(self, path, transform):
        records = numpy.fromfile(path, numpy.uint8).reshape(-1, 2 + 3 * 32 * 32)
        self.images = torch.from_numpy(records[:, 2:].reshape(-1, 3, 32, 32).copy())
        self.labels = records[:, 1].astype(int).tolist()
        self.transform = transform

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        return self.transform(self.images[index]), self.labels[index]


class Cifar100(lightning.LightningDataModule):
    """The last tenth of the training pictures is held out: it is the validation's."""

    def __init__(self, options):
        super().__init__()
        self.options = options

    def prepare_data(self):
        """Lightning calls it by local rank 0 of each node."""
        if self.options.synthetic or not self.options.copy_to:
            return
        os.makedirs(self.options.copy_to, exist_ok=True)
        for name in ("train.bin", "test.bin"):
            path = os.path.join(self.options.copy_to, name)
            if not os.path.exists(path):
                part = f"{path}.part.{uuid.uuid4().hex}"  # nodes may share the folder
                shutil.copyfile(os.path.join(self.options.data, name), part)
                os.rename(part, path)

    def setup(self, stage):
        options = self.options
        normalize = transforms.Compose(
            [
                transforms.ConvertImageDtype(torch.float32),
                transforms.Normalize((0.5071, 0.4865, 0.4409), (0.2673, 0.2564, 0.2762)),
            ]
        )
        augment = transforms.Compose(
            [transforms.RandomCrop(32, padding=4), transforms.RandomHorizontalFlip(), normalize]
        )
        training = self.pictures("train.bin", normalize if options.no_augmentation else augment)
        count = min(options.train_images, len(training))
        first_held_out = count - max(count // 10, 1)
        self.training = Subset(training, range(first_held_out))
        self.validation = Subset(
            self.pictures("train.bin", normalize), range(first_held_out, count)
        )
        test = self.pictures("test.bin", normalize)
        self.test = Subset(test, range(min(options.test_images, len(test))))

    def pictures(self, name, transform):
        options = self.options
        if not options.synthetic:
            return Pictures(os.path.join(options.copy_to or options.data, name), transform)
        if name == "train.bin":
            return peer.SyntheticImages(options.train_images, CLASSES, 32, options.seed, transform)
        return peer.SyntheticImages(options.test_images, CLASSES, 32, options.seed + 1, transform)

    def train_dataloader(self):
        return peer.training_loader(self.training, self.options)

    def val_dataloader(self):
        ranks = dist.get_world_size()
        mine = Subset(self.validation, range(dist.get_rank(), len(self.validation), ranks))
        return DataLoader(mine, self.options.batch_size, num_workers=self.options.workers)


class Classifier(lightning.LightningModule):
    def __init__(self, options):
        super().__init__()
        self.lr = options.lr
        self.net = torchvision.models.resnet18(num_classes=CLASSES)
        if not options.large_stem:
            self.net.conv1 = torch.nn.Conv2d(3, 64, 3, 1, 1, bias=False)
            torch.nn.init.kaiming_normal_(self.net.conv1.weight, mode="fan_out")
            self.net.maxpool = torch.nn.Identity()

    def training_step(self, batch, index):
        images, labels = batch
        return functional.cross_entropy(self.net(images), labels)

    def validation_step(self, batch, index):
        images, labels = batch
        outputs = self.net(images)
        metrics = {
            "val_loss": functional.cross_entropy(outputs, labels),
            "val_accuracy": outputs.argmax(1).eq(labels).float().mean(),
        }
        self.log_dict(metrics, sync_dist=True)

    def configure_optimizers(self):
        return torch.optim.SGD(
            self.net.parameters(), lr=self.lr, momentum=0.9, weight_decay=5e-4
        )


class Reporter(lightning.Callback):
    """Tells a Report of each batch, as the loop `for batch in report.batches(loader)` would."""

    def __init__(self, report):
        self.report = report

    def on_train_start(self, trainer, module):
        self.report.epochs = trainer.current_epoch
        self.report.steps = trainer.global_step

    def on_train_epoch_start(self, trainer, module):
        self.batches = self.report.batches(self)

    def __iter__(self):
        while self.batch is not None:
            yield self.batch

    def on_train_batch_start(self, trainer, module, batch, index):
        self.batch = batch
        next(self.batches)

    def on_train_batch_end(self, trainer, module, outputs, batch, index):
        self.report.finish_step(outputs["loss"])
        if trainer.is_last_batch:
            self.batch = None
        if trainer.is_last_batch or self.report.is_over():
            next(self.batches, None)


def parsed():
    options = peer.parser("Trains a ResNet-18 on CIFAR-100.", epochs=30, batch_size=128, lr=0.05)
    options.add_argument("--copy-to", default="", help="a folder on each node's own disk")
    options.add_argument("--log", default="runs", help="the folder for TensorBoard and checkpoints")
    options.add_argument("--patience", type=int, default=3, help="epochs without a better loss")
    options.add_argument("--train-images", type=int, default=50_000, help="uses at most this many")
    options.add_argument("--test-images", type=int, default=10_000, help="uses at most this many")
    options.add_argument("--no-augmentation", action="store_true", help="leaves pictures alone")
    options.add_argument("--large-stem", action="store_true", help="torchvision's first layers")
    return options.parse_args()


def main():
    options = parsed()
    device = peer.start(options.seed)
    local_size = int(os.environ.get("LOCAL_WORLD_SIZE", 1))
    model = Classifier(options)
    if peer.set_weights(model.net, options):
        return
    data = Cifar100(options)
    report = peer.Report(options, device)
    trainer = lightning.Trainer(
        accelerator="auto",
        devices=local_size,
        num_nodes=dist.get_world_size() // local_size,
        strategy="ddp",
        max_epochs=options.epochs,
        max_steps=options.steps or -1,
        default_root_dir=options.log,
        use_distributed_sampler=False,
        num_sanity_val_steps=0,
        enable_progress_bar=False,
        enable_model_summary=False,
        callbacks=[
            ModelCheckpoint(monitor="val_loss", dirpath=options.log, save_last=True),
            EarlyStopping(
                "val_loss",
                patience=options.patience,
                strict=False,  # --steps may end before the first validation
                check_finite=False,
            ),
            Reporter(report),
        ],
    )
    trainer.fit(model, data, ckpt_path="last")
    model.to(device)
    report.print(peer.accuracy(model.net, data.test, options, device))


main()

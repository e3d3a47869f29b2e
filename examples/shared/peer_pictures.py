"""Pictures for a training and its validation, as examples/shared/pictures.hpp has them: of folders,
which needs torchvision, of HDF5 files, which needs h5py and for JPEG files Pillow, or made up."""

import io
import os

import torch
from torch.utils.data import Dataset

import peer

MEAN = torch.tensor([0.485, 0.456, 0.406]).view(3, 1, 1)
DEVIATION = torch.tensor([0.229, 0.224, 0.225]).view(3, 1, 1)


def add_options(options, side, images):
    """Adds those of PictureOptions in examples/shared/pictures.hpp."""
    options.add_argument("--hdf5", action="store_true", help="reads train.h5 and val.h5 in --data")
    options.add_argument("--side", type=int, default=side, help="pixels of each side")
    options.add_argument("--images", type=int, default=images, help="pictures of --synthetic")


def open_pictures(options, classes_count, flips):
    """The set for training, whose pictures are mirrored at random if `flips`, and the other one."""
    return (
        Prepared(_open(options, "train", classes_count), options.side, flips),
        Prepared(_open(options, "val", classes_count), options.side, False),
    )


def _open(options, part, classes_count):
    if options.synthetic:
        is_training = part == "train"
        count = options.images if is_training else (options.images + 3) // 4
        seed = options.seed if is_training else options.seed + 1
        return peer.SyntheticImages(count, classes_count, options.side, seed)
    if options.hdf5:
        return Hdf5Images(os.path.join(options.data, part + ".h5"))
    from torchvision.datasets import ImageFolder  # for the other two nobody needs it

    return ImageFolder(os.path.join(options.data, part))


class Prepared(Dataset):
    """Pictures as the network takes them: a square, float32, normalized as ImageNet's."""

    def __init__(self, data, side, flips):
        self.data, self.side, self.flips = data, side, flips

    def __len__(self):
        return len(self.data)

    def __getitem__(self, index):
        picture, label = self.data[index]
        if not isinstance(picture, torch.Tensor):
            picture = _resized(picture, self.side)
        if self.flips and torch.rand(1) < 0.5:
            picture = picture.flip(2)
        return (picture.float() / 255 - MEAN) / DEVIATION, label


def _resized(image, side):
    """(3, side, side) uint8 of Pillow's picture."""
    import numpy
    from PIL import Image

    image = image.convert("RGB").resize((side, side), Image.BILINEAR)
    return torch.from_numpy(numpy.array(image)).permute(2, 0, 1)


class Hdf5Images(Dataset):
    """Pillow's pictures and labels of a file of examples/folder_to_hdf5.py."""

    def __init__(self, path):
        self.path = path
        self.file = None
        with self._opened() as file:
            self.labels = file["labels"][:].tolist()

    def _opened(self):
        import h5py

        return h5py.File(self.path, "r")

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        from PIL import Image

        if self.file is None:
            self.file = self._opened()  # each process of a DataLoader needs its own
        picture = self.file["images"][index]
        if picture.ndim == 3:
            return Image.fromarray(picture), self.labels[index]
        return Image.open(io.BytesIO(picture.tobytes())), self.labels[index]

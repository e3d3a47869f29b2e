#!/usr/bin/env python3
"""Writes vectors.hpp beside this file: small pictures and what Pillow and torchvision make of them.

Run by hand, by a Python with Pillow and torchvision. The table names their versions.
"""
import base64
import io
import pathlib
import zlib

import PIL
import torch
import torchvision
import torchvision.transforms.functional as F
from PIL import Image
from torchvision import transforms as T


def picture(width, height):
    """What formula_picture() of pictures.hpp makes."""
    values = [(7 * x * x + 13 * y * y + 29 * c + x * y) % 256
              for y in range(height) for x in range(width) for c in range(3)]
    return Image.frombytes("RGB", (width, height), bytes(values))


def soft(width, height):
    """One that JPEG keeps small."""
    values = [(c * 60 + 5 * x + 7 * y) % 256
              for y in range(height) for x in range(width) for c in range(3)]
    return Image.frombytes("RGB", (width, height), bytes(values))


def crc(data):
    return zlib.crc32(bytes(data))


def encoded(image, kind, **options):
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


def progressive(image):
    return encoded(image, "JPEG", quality=85, progressive=True, optimize=True)


def files():
    """Name and bytes of each encoded picture."""
    small = soft(19, 13)
    alpha = small.copy().convert("RGBA")
    alpha.putalpha(Image.linear_gradient("L").resize(small.size))
    jpeg = dict(kind="JPEG", quality=85, optimize=True)
    yield "jpeg 4:2:0", encoded(small, subsampling="4:2:0", **jpeg)
    yield "jpeg 4:2:2", encoded(small, subsampling="4:2:2", **jpeg)
    yield "jpeg 4:4:4", encoded(small, subsampling="4:4:4", **jpeg)
    yield "jpeg progressive", progressive(small)
    yield "jpeg grey", encoded(small.convert("L"), **jpeg)
    yield "jpeg cmyk", encoded(small.convert("CMYK"), **jpeg)
    exif = Image.Exif()
    exif[0x0112] = 6  # turned by 90 degrees
    yield "jpeg exif", encoded(small, exif=exif.tobytes(), **jpeg)
    yield "png rgb", encoded(small, "PNG")
    yield "png alpha", encoded(alpha, "PNG")
    yield "png grey", encoded(small.convert("L"), "PNG")
    yield "png grey alpha", encoded(alpha.convert("LA"), "PNG")
    yield "png 1 bit", encoded(small.convert("1"), "PNG")
    yield "png palette", encoded(small.quantize(8), "PNG")


def transformed():
    """Name and CRC-32 of each changed picture, in the order (H, W, 3)."""
    image = picture(37, 23)
    yield "resize 16", F.resize(image, 16)
    yield "resize 50", F.resize(image, 50)
    yield "resize 9x31", F.resize(image, [9, 31])
    yield "resize 1x1", F.resize(image, [1, 1])
    yield "center 16", F.center_crop(image, 16)
    yield "center 23", F.center_crop(image, 23)
    yield "center 30", F.center_crop(image, 30)
    yield "center 40", F.center_crop(image, 40)
    for degrees in (0, 30, -17.5, 90, 180, 400):
        yield f"rotate {degrees:g}", F.rotate(image, degrees)
    for seed in range(4):
        for name, transform in (("crop", T.RandomCrop(20, padding=3)),
                                ("resized", T.RandomResizedCrop(16)),
                                ("part", T.RandomResizedCrop(16, (0.9, 1), (2.5, 3))),
                                ("flip", T.RandomHorizontalFlip()),
                                ("rotation", T.RandomRotation(25)),
                                ("affine", T.RandomAffine(0, scale=(0.8, 1.2), shear=20))):
            torch.manual_seed(seed)
            yield f"{name} {seed}", transform(image)


def main():
    lines = [
        "// Small pictures, and what is made of them, as written by vectors.py with",
        f"// Pillow {PIL.__version__}, torchvision {torchvision.__version__.split('+')[0]} and "
        f"torch {torch.__version__.split('+')[0]}.",
        "#pragma once", "", "#include <cstdint>", "#include <map>", "#include <string>", "",
        "namespace ddprun::worker::test {", "",
        "struct EncodedPicture {",
        "  const char* name;",
        "  std::uint32_t crc;  ///< CRC-32 of its 13 x 19 x 3 values.",
        "  const char* base64;",
        "};", "",
        "// clang-format off",
        "inline const EncodedPicture encoded_pictures[] = {"]
    for name, data in files():
        image = Image.open(io.BytesIO(data)).convert("RGB")
        assert image.size == (19, 13)
        lines.append(f'    {{"{name}", {crc(image.tobytes())}u,')
        text = base64.b64encode(data).decode()
        lines += [f'     "{text[i:i + 88]}"' for i in range(0, len(text), 88)]
        lines[-1] += "},"
    grey16 = base64.b64encode(encoded(Image.new("I;16", (2, 2), 40000), "PNG")).decode()
    lines += ["};", "", "inline const char* const png_grey_of_16_bits =",
              f'    "{grey16[:88]}"', f'    "{grey16[88:]}";', "",
              "/// CRC-32 of the values (H, W, 3) of a changed picture of 37 x 23 pixels.",
              "inline const std::map<std::string, std::uint32_t> changed_pictures = {"]
    lines += [f'    {{"{name}", {crc(image.tobytes())}u}},' for name, image in transformed()]
    normal = T.Compose([T.ToTensor(), T.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])])
    lines.append(f'    {{"normalize", {crc(normal(picture(37, 23)).numpy().tobytes())}u}},')
    lines += ["};", "// clang-format on", "", "}  // namespace ddprun::worker::test", ""]
    pathlib.Path(__file__).with_name("vectors.hpp").write_text("\n".join(lines))


if __name__ == "__main__":
    main()

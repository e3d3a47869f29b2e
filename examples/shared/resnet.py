"""ResNets with the layers, names and initial weights of torchvision's, for a Python without it: a
state dict of either fits the other, and of ddprun/resnet.hpp."""

from torch import nn

BLOCKS = {
    18: (2, 2, 2, 2),
    34: (3, 4, 6, 3),
    50: (3, 4, 6, 3),
    101: (3, 4, 23, 3),
    152: (3, 8, 36, 3),
}


def conv(inputs, outputs, size, stride=1):
    return nn.Conv2d(inputs, outputs, size, stride, size // 2, bias=False)


class Block(nn.Module):
    """Convolutions, here (outputs, size, stride), whose result is added to their input."""

    def __init__(self, inputs, convolutions):
        super().__init__()
        width, stride = inputs, 1
        for i, (outputs, size, step) in enumerate(convolutions, 1):
            setattr(self, f"conv{i}", conv(width, outputs, size, step))
            setattr(self, f"bn{i}", nn.BatchNorm2d(outputs))
            width, stride = outputs, stride * step
        self.convs_count = len(convolutions)
        self.downsample = None
        if stride != 1 or inputs != width:
            self.downsample = nn.Sequential(conv(inputs, width, 1, stride), nn.BatchNorm2d(width))

    def forward(self, inputs):
        x = inputs
        for i in range(1, self.convs_count + 1):
            x = getattr(self, f"bn{i}")(getattr(self, f"conv{i}")(x))
            x = x.relu_() if i < self.convs_count else x
        return (x + (self.downsample(inputs) if self.downsample else inputs)).relu_()


class ResNet(nn.Module):
    """With `layers_count` layers, 18, 34, 50, 101 or 152; the logits of (N, 3, H, W)."""

    def __init__(self, layers_count, classes_count):
        super().__init__()
        self.conv1 = conv(3, 64, 7, 2)
        self.bn1 = nn.BatchNorm2d(64)
        inputs, width = 64, 64
        for layer, blocks_count in enumerate(BLOCKS[layers_count], 1):
            blocks = []
            for i in range(blocks_count):
                stride = 2 if layer > 1 and i == 0 else 1
                if layers_count < 50:
                    convolutions = (width, 3, stride), (width, 3, 1)
                else:
                    convolutions = (width, 1, 1), (width, 3, stride), (4 * width, 1, 1)
                blocks.append(Block(inputs, convolutions))
                inputs = convolutions[-1][0]
            setattr(self, f"layer{layer}", nn.Sequential(*blocks))
            width *= 2
        self.fc = nn.Linear(inputs, classes_count)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")

    def forward(self, images):
        x = nn.functional.max_pool2d(self.bn1(self.conv1(images)).relu_(), 3, 2, 1)
        for layer in range(1, 5):
            x = getattr(self, f"layer{layer}")(x)
        return self.fc(nn.functional.adaptive_avg_pool2d(x, 1).flatten(1))

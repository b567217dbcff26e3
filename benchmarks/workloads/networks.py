"""Training steps of networks: forward, backward and optimizer step.

A network is a function that takes the `torch` module and returns a model, its input, and its loss function.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .workload import Make, Step, Workload

__all__ = ["WORKLOADS", "Network", "lenet", "linear_rnn", "lstm", "resnet18", "training", "transformer", "two_layer_net"]

Network = Callable[[Any], tuple[Any, Any, Callable[[Any], Any]]]


def two_layer_net(torch: Any) -> tuple[Any, Any, Callable[[Any], Any]]:
    """Layers 1000-100-10, batch 64."""
    nn = torch.nn
    model = nn.Sequential(nn.Linear(1000, 100), nn.ReLU(), nn.Linear(100, 10))
    x, y = torch.randn(64, 1000), torch.randn(64, 10)
    criterion = nn.MSELoss(reduction="sum")
    return model, x, lambda output: criterion(output, y)


def lenet(torch: Any) -> tuple[Any, Any, Callable[[Any], Any]]:
    """LeNet: two convolutions and two linear layers, on 64 digit images."""
    nn = torch.nn

    class LeNet(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv1, self.pool1 = nn.Conv2d(1, 10, 5), nn.MaxPool2d(2, 2)
            self.conv2, self.pool2 = nn.Conv2d(10, 20, 5), nn.MaxPool2d(2, 2)
            self.fc1, self.fc2 = nn.Linear(320, 50), nn.Linear(50, 10)

        def forward(self, x: Any) -> Any:
            x = self.pool1(nn.functional.relu(self.conv1(x)))
            x = self.pool2(nn.functional.relu(self.conv2(x)))
            x = nn.functional.relu(self.fc1(x.view(x.size(0), -1)))
            return nn.functional.relu(self.fc2(x))

    return classifier(torch, LeNet(), torch.randn(64, 1, 28, 28))


def resnet18(torch: Any) -> tuple[Any, Any, Callable[[Any], Any]]:
    """ResNet-18 for CIFAR-10, with a 3x3 stem and no pooling after it, on 16 images."""
    nn = torch.nn

    def conv(inputs: int, outputs: int, size: int, stride: int) -> Any:
        return nn.Conv2d(inputs, outputs, size, stride, padding=size // 2, bias=False)

    class Block(nn.Module):
        def __init__(self, inputs: int, outputs: int, stride: int) -> None:
            super().__init__()
            self.conv1, self.bn1 = conv(inputs, outputs, 3, stride), nn.BatchNorm2d(outputs)
            self.conv2, self.bn2 = conv(outputs, outputs, 3, 1), nn.BatchNorm2d(outputs)
            self.relu = nn.ReLU(inplace=True)
            self.shortcut = nn.Identity()
            if stride != 1 or inputs != outputs:
                self.shortcut = nn.Sequential(conv(inputs, outputs, 1, stride), nn.BatchNorm2d(outputs))

        def forward(self, x: Any) -> Any:
            out = self.relu(self.bn1(self.conv1(x)))
            out = self.bn2(self.conv2(out))
            return self.relu(out + self.shortcut(x))

    widths = [64, 64, 128, 256, 512]
    layers = [conv(3, 64, 3, 1), nn.BatchNorm2d(64), nn.ReLU(inplace=True)]
    for number in range(4):
        inputs, outputs = widths[number : number + 2]
        layers += [Block(inputs, outputs, 1 if number == 0 else 2), Block(outputs, outputs, 1)]
    model = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 10))
    return classifier(torch, model, torch.randn(16, 3, 32, 32))


def classifier(torch: Any, model: Any, x: Any) -> tuple[Any, Any, Callable[[Any], Any]]:
    """Return a model, its input, and a cross-entropy loss with random labels of ten classes."""
    labels, criterion = torch.randint(10, (len(x),)), torch.nn.CrossEntropyLoss()
    return model, x, lambda output: criterion(output, labels)


def lstm(torch: Any) -> tuple[Any, Any, Callable[[Any], Any]]:
    """LSTM with 64 inputs and 128 units, 50 steps, batch 32."""
    nn = torch.nn

    class Outputs(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.lstm = nn.LSTM(64, 128)

        def forward(self, x: Any) -> Any:
            return self.lstm(x)[0]

    model, x, y, criterion = Outputs(), torch.randn(50, 32, 64), torch.randn(50, 32, 128), nn.MSELoss()
    return model, x, lambda output: criterion(output, y)


def transformer(torch: Any) -> tuple[Any, Any, Callable[[Any], Any]]:
    """Transformer encoder with four layers, on 16 sequences of length 64."""
    nn = torch.nn
    layer = nn.TransformerEncoderLayer(128, nhead=8, dim_feedforward=512, batch_first=True)
    model, x, y, criterion = nn.TransformerEncoder(layer, 4), torch.randn(16, 64, 128), torch.randn(16, 64, 128), nn.MSELoss()
    return model, x, lambda output: criterion(output, y)


def linear_rnn(torch: Any) -> tuple[Any, Any, Callable[[Any], Any]]:
    """Recurrent network of two linear layers, 5 steps, batch 10."""
    nn = torch.nn

    class LinearRNN(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.i2h, self.h2o = nn.Linear(50 + 20, 20), nn.Linear(20, 10)

        def forward(self, x: Any) -> Any:
            hidden, outputs = start, []
            for _ in range(5):
                hidden = self.i2h(torch.cat((x, hidden), 1))
                outputs.append(self.h2o(hidden))
            return outputs

    start, x, y, criterion = torch.zeros(10, 20), torch.randn(10, 50), torch.zeros(10, 10), nn.MSELoss()
    return LinearRNN(), x, lambda outputs: sum(criterion(output, y) for output in outputs)


def training(network: Network, optimizer: str, **options: Any) -> Make:
    """Return a function that creates the training step of a network."""

    def make(torch: Any) -> Step:
        torch.manual_seed(0)
        model, x, loss_function = network(torch)
        stepper = getattr(torch.optim, optimizer)(model.parameters(), **options)

        def step() -> Any:
            stepper.zero_grad()
            loss = loss_function(model(x))
            loss.backward()
            stepper.step()
            return loss

        return step

    return make


WORKLOADS = [
    Workload("LeNet, batch 64", training(lenet, "SGD", lr=0.01), 1.0, 0.5, training=True),
    Workload("ResNet-18 for CIFAR, batch 16", training(resnet18, "SGD", lr=0.01), 1.1, 0.75, training=True),
    Workload("LSTM, 50 steps, batch 32", training(lstm, "Adam", lr=1e-3), 1.6, 0.75, training=True),
    Workload("transformer encoder, 16 x 64", training(transformer, "Adam", lr=1e-4), 1.3, 0.9, training=True),
    Workload("RNN of Linears, 5 steps, batch 10", training(linear_rnn, "SGD", lr=0.01), 0.4, 0.4, training=True),
]

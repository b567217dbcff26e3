"""Check that layers, optimizers and the training of a small network give the same results on a backend as on the CPU."""

from __future__ import annotations

from collections.abc import Callable
from operator import methodcaller
from typing import Any

import flambeau as torch

__all__ = ["LAYERS", "OPTIMIZERS", "assert_layer_agrees", "assert_optimizer_agrees", "assert_training_agrees"]

LAYERS: dict[str, tuple[Callable[[Any], Any], tuple[int, ...]]] = {  # layer, and shape of its input
    "Linear": (lambda nn: nn.Linear(6, 4), (3, 6)),
    "Conv1d": (lambda nn: nn.Conv1d(2, 3, 3, padding=1), (2, 2, 7)),
    "Conv2d": (lambda nn: nn.Conv2d(2, 4, 3, stride=2, groups=2), (2, 2, 7, 7)),
    "ConvTranspose2d": (lambda nn: nn.ConvTranspose2d(2, 3, 3, stride=2), (1, 2, 4, 4)),
    "MaxPool2d": (lambda nn: nn.MaxPool2d(2), (2, 3, 6, 6)),
    "AvgPool2d": (lambda nn: nn.AvgPool2d(2), (2, 3, 6, 6)),
    "AdaptiveAvgPool2d": (lambda nn: nn.AdaptiveAvgPool2d(2), (2, 3, 5, 5)),
    "BatchNorm1d": (lambda nn: nn.BatchNorm1d(4), (5, 4)),
    "LayerNorm": (lambda nn: nn.LayerNorm(4), (5, 4)),
    "GroupNorm": (lambda nn: nn.GroupNorm(2, 4), (3, 4, 5)),
    "LSTM": (lambda nn: nn.LSTM(3, 4), (5, 2, 3)),
    "GRU": (lambda nn: nn.GRU(3, 4), (5, 2, 3)),
    "MultiheadAttention": (lambda nn: _SelfAttention(nn), (5, 2, 4)),
    **{name: (methodcaller(name), (3, 4)) for name in ("ReLU", "Tanh", "Sigmoid", "GELU", "ELU", "Softplus")},
    "Softmax": (lambda nn: nn.Softmax(1), (3, 4)),
    "LogSoftmax": (lambda nn: nn.LogSoftmax(1), (3, 4)),
}


def _SelfAttention(nn: Any) -> Any:
    class SelfAttention(nn.Module):  # type: ignore[misc]  # `nn` is Any
        def __init__(self) -> None:
            super().__init__()
            self.attention = nn.MultiheadAttention(4, 2)

        def forward(self, x: Any) -> Any:
            return self.attention(x, x, x)[0]

    return SelfAttention()


def assert_layer_agrees(name: str, device: Any) -> None:
    """Check that the output of a layer, and the gradients of its input and parameters, are the same as on the CPU."""
    from flambeau import nn

    make, shape = LAYERS[name]
    results = []
    for place in ("cpu", device):
        torch.manual_seed(0)
        with torch.device("cpu"):
            module, x = make(nn), torch.randn(*shape)
        module, x = module.to(place), x.to(place).requires_grad_()
        output = module(x)
        output = output[0] if isinstance(output, tuple) else output
        (output * output).sum().backward()
        results.append([output, x.grad, *(parameter.grad for parameter in module.parameters())])
    for expected, actual in zip(*results, strict=True):
        torch.testing.assert_close(actual.cpu(), expected, rtol=1e-3, atol=1e-4)


OPTIMIZERS: dict[str, dict[str, Any]] = {  # class name and description: options
    "SGD": {"weight_decay": 0.1},
    "SGD with momentum": {"momentum": 0.9, "dampening": 0.5, "maximize": True},
    "SGD with Nesterov's": {"momentum": 0.9, "nesterov": True, "weight_decay": 0.1},
    "Adam": {},
    "Adam with decay": {"weight_decay": 0.1, "amsgrad": True},
    "AdamW": {"maximize": True},
    "RMSprop": {"momentum": 0.5},
    "Adagrad": {},
}


def assert_optimizer_agrees(name: str, device: Any) -> None:
    """Check that three steps of an optimizer, one of them without a gradient, change parameters as on the CPU."""
    kind, options = name.split(" ")[0], OPTIMIZERS[name]
    results = []
    for place in ("cpu", device):
        torch.manual_seed(0)
        with torch.device("cpu"):
            starts = [torch.randn(shape) for shape in ((), (3,), (2, 3), (4, 1, 2), (5,))]
        params = [start.to(place).requires_grad_() for start in starts]
        view = params[2][0]
        chosen = getattr(torch.optim, kind)(params, lr=0.1, **options)
        for step in range(3):
            chosen.zero_grad()
            terms = [(param * param * (position + 1)).sum() for position, param in enumerate(params) if position != step]
            sum(terms[1:], terms[0]).backward()
            chosen.step()
        results.append([*params, view])
    for expected, actual in zip(*results, strict=True):
        torch.testing.assert_close(actual.detach().cpu(), expected.detach(), rtol=1e-4, atol=1e-5)


def assert_training_agrees(device: Any, steps: int = 8) -> None:
    """Check that the training of a small convolutional network has the same losses on the device as on the CPU."""
    curves = [_losses(place, steps) for place in ("cpu", device)]
    for expected, actual in zip(*curves, strict=True):
        assert abs(actual - expected) < 1e-3 * max(1.0, abs(expected)), f"losses {curves[1]}, on the CPU {curves[0]}"
    assert curves[1][-1] < curves[1][0], f"the loss did not fall: {curves[1]}"


def _losses(place: Any, steps: int) -> list[float]:
    from flambeau import nn

    torch.manual_seed(0)
    with torch.device("cpu"):
        model = nn.Sequential(
            nn.Conv2d(1, 4, 3, padding=1),
            nn.BatchNorm2d(4),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Flatten(),
            nn.Linear(64, 5),
        )
        images, targets = torch.randn(12, 1, 8, 8), torch.arange(12) % 5
    model, images, targets = model.to(place), images.to(place), targets.to(place)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(images), targets)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses

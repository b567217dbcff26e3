"""Scaling with the width of a network, the batch size and the sequence length."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .inference import inference
from .networks import Network, training
from .workload import Workload

__all__ = ["CURVES", "WORKLOADS"]


def wide_net(width: int) -> Network:
    """Two linear layers with `width` inputs and outputs, batch 64."""

    def make(torch: Any) -> tuple[Any, Any, Callable[[Any], Any]]:
        nn = torch.nn
        model = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width))
        x, y = torch.randn(64, width), torch.randn(64, width)
        return model, x, lambda output: nn.functional.mse_loss(output, y)

    return make


def digits_net(batch: int) -> Network:
    """Layers 784-128-10."""

    def make(torch: Any) -> tuple[Any, Any, Callable[[Any], Any]]:
        nn = torch.nn
        model = nn.Sequential(nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10))
        return model, torch.randn(batch, 784), lambda output: output.sum()

    return make


def encoder_layer(length: int) -> Network:
    """A transformer encoder layer of width 64, on four sequences of the given length."""

    def make(torch: Any) -> tuple[Any, Any, Callable[[Any], Any]]:
        model = torch.nn.TransformerEncoderLayer(64, nhead=4, dim_feedforward=128, dropout=0.0, batch_first=True)
        return model, torch.randn(4, length, 64), lambda output: output.square().mean()

    return make


# The points of each curve: workload by size.
CURVES: dict[str, dict[int, Workload]] = {
    "width of a two-layer net": {
        width: Workload(f"two-layer net of width {width}, SGD step", training(wide_net(width), "SGD", lr=0.01), 1.0, 1.0)
        for width in (16, 64, 256, 1024, 4096)
    },
    "batch, answers of a 784-128-10 net": {
        batch: Workload(f"784-128-10 net, batch {batch}, inference", inference(digits_net(batch)), 1.0, 1.0)
        for batch in (1, 16, 256, 4096)
    },
    "length of sequences, transformer layer": {
        length: Workload(f"transformer layer, length {length}, SGD step", training(encoder_layer(length), "SGD"), 1.5, 1.0)
        for length in (16, 128, 1024, 4096)
    },
}

WORKLOADS = [workload for points in CURVES.values() for workload in points.values()]

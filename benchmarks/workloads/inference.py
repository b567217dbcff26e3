"""Inference of the networks in `networks.py`, in evaluation mode under `no_grad`."""

from __future__ import annotations

from typing import Any

from . import networks
from .workload import Make, Step, Workload

__all__ = ["WORKLOADS", "inference"]


def inference(network: networks.Network) -> Make:
    def make(torch: Any) -> Step:
        torch.manual_seed(0)
        model, x, _ = network(torch)
        model.eval()

        def step() -> Any:
            with torch.no_grad():
                return model(x)

        return step

    return make


WORKLOADS = [
    Workload(f"{name}, inference", inference(network), 1.0, 0.7) for name, network in {
        "two-layer net": networks.two_layer_net, "LeNet": networks.lenet, "ResNet-18": networks.resnet18, "LSTM": networks.lstm,
        "transformer encoder": networks.transformer, "RNN of Linears": networks.linear_rnn,
    }.items()
]  # fmt: skip

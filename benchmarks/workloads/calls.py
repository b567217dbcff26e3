"""Call overhead: operations on small tensors, whose time is dominated by Python."""

from __future__ import annotations

from typing import Any

from .networks import training, two_layer_net
from .workload import Step, Workload

__all__ = ["WORKLOADS"]


def add(torch: Any) -> Step:
    a, b = torch.ones(10), torch.ones(10)
    return lambda: a + b


def add_tracked(torch: Any) -> Step:
    a, b = torch.ones(10, requires_grad=True), torch.ones(10)
    return lambda: a + b


def backward(torch: Any) -> Step:
    a, b = torch.ones(10, requires_grad=True), torch.ones(10)

    def step() -> Any:
        a.grad = None
        ((a + b) * b).sum().backward()
        return a.grad

    return step


WORKLOADS = [
    Workload("a + b, 10 elements", add, 0.6, 0.6),
    Workload("a + b, 10 elements, tracked", add_tracked, 0.8, 0.8),
    Workload("((a + b) * b).sum().backward()", backward, 0.3, 0.3),
    Workload("two-layer net, SGD step", training(two_layer_net, "SGD", lr=1e-4), 0.6, 0.5, training=True),
    Workload("two-layer net, Adam step", training(two_layer_net, "Adam", lr=1e-4), 0.7, 0.5, training=True),
]

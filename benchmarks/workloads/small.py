"""Operations on small tensors that take several NumPy calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .workload import Step, Workload

__all__ = ["WORKLOADS"]


def matrix(operation: Callable[[Any, Any], Any]) -> Callable[[Any], Step]:
    """Return the workload `operation(torch, x)` for a 4 x 5 matrix."""

    def make(torch: Any) -> Step:
        torch.manual_seed(0)
        x = torch.randn(4, 5)
        return lambda: operation(torch, x)

    return make


def with_other(shape: tuple[int, ...], operation: Callable[[Any, Any, Any], Any], *other: int) -> Callable[[Any], Step]:
    """Return the workload `operation(torch, x, y)` for tensors of shapes `shape` and `other`."""

    def make(torch: Any) -> Step:
        torch.manual_seed(0)
        x, y = torch.randn(shape), torch.randn(other)
        return lambda: operation(torch, x, y)

    return make


def indexed(indices: Any, operation: Callable[[Any, Any, Any], Any]) -> Callable[[Any], Step]:
    """Return the workload `operation(torch, x, index)` for a 4 x 5 matrix."""

    def make(torch: Any) -> Step:
        torch.manual_seed(0)
        x, index = torch.randn(4, 5), torch.tensor(indices)
        return lambda: operation(torch, x, index)

    return make


WORKLOADS = [
    Workload(f"small {name}", make, 2, 2)
    for name, make in {
        "linspace": matrix(lambda torch, x: torch.linspace(0, 1, 5)),
        "softmax": matrix(lambda torch, x: x.softmax(1)),
        "cross_entropy": indexed([0, 1, 2, 3], lambda torch, x, labels: torch.nn.functional.cross_entropy(x, labels)),
        "layer_norm": with_other((4, 5), lambda torch, x, w: torch.nn.functional.layer_norm(x, (5,), w, w), 5),
        "var": matrix(lambda torch, x: x.var(1)),
        "gather": indexed([[0, 1], [1, 2], [3, 4], [0, 0]], lambda torch, x, index: x.gather(1, index)),
        "topk": matrix(lambda torch, x: x.topk(2)),
        "index_select": indexed([0, 2], lambda torch, x, index: x.index_select(0, index)),
        "max_pool2d": with_other((1, 3, 8, 8), lambda torch, x, _: torch.nn.functional.max_pool2d(x, 2), 1),
        "conv2d": with_other((1, 3, 8, 8), lambda torch, x, w: torch.nn.functional.conv2d(x, w), 4, 3, 3, 3),
        "cat": with_other((4, 5), lambda torch, x, y: torch.cat([x, y]), 4, 5),
        "randn": matrix(lambda torch, x: torch.randn(4, 5)),
        "rand": matrix(lambda torch, x: torch.rand(4, 5)),
    }.items()
]

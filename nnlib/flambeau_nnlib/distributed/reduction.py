"""Reduce operations of collectives."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import flambeau as torch
from flambeau import Tensor

__all__ = ["ReduceOp", "arrays"]

_no_arrays: set[torch.dtype] = set()  # dtypes that `Tensor.numpy` does not support


def arrays(flat: Tensor) -> Any:
    """Return a NumPy array that shares the tensor's memory, or the tensor itself if NumPy lacks its dtype."""
    if flat.dtype not in _no_arrays:
        try:
            return flat.numpy()
        except TypeError:
            _no_arrays.add(flat.dtype)
    return flat


def _extreme(name: str) -> Callable[[Any, Any], Any]:
    def combine(target: Any, other: Any) -> Any:
        space = torch if isinstance(target, Tensor) else target.__array_namespace__()
        return getattr(space, name)(target, other, out=target)

    return combine


class ReduceOp:
    """A reduce operation of collectives, for example `ReduceOp.SUM`.

    >>> ReduceOp.SUM
    <RedOpType.SUM>
    """

    def __init__(self, name: str, combine: Callable[[Any, Any], Any], factor: Any = None) -> None:
        self.name, self.combine, self.factor = name, combine, factor

    def __repr__(self) -> str:
        return f"<RedOpType.{self.name}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ReduceOp) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)

    def into(self, target: Any, parts: Sequence[Any]) -> None:
        """Reduce `parts` into `target` in rank order, so that all ranks get bitwise equal results.

        `target` may share memory with `parts[0]` only.
        """
        target[...] = parts[0]
        for part in parts[1:]:
            self.combine(target, part)
        self.finish(target, len(parts))

    def finish(self, target: Any, size: int) -> None:
        """Finish a reduction of `size` tensors: divide by `size` for AVG, multiply by the factor for PREMUL_SUM."""
        if self.name == "AVG":
            divide: Callable[[Any, Any], Any] = (
                operator.itruediv if isinstance(target, Tensor) or target.dtype.kind in "fc" else operator.ifloordiv
            )
            divide(target, size)
        if self.factor is not None:
            target *= self.factor

    SUM: ReduceOp
    AVG: ReduceOp
    PRODUCT: ReduceOp
    MIN: ReduceOp
    MAX: ReduceOp
    BAND: ReduceOp
    BOR: ReduceOp
    BXOR: ReduceOp
    PREMUL_SUM: ReduceOp


ReduceOp.RedOpType = ReduceOp  # type: ignore[attr-defined]  # PyTorch's name of the type of `ReduceOp.SUM`
for _name, _combine in {
    "SUM": operator.iadd,
    "AVG": operator.iadd,
    "PRODUCT": operator.imul,
    "MIN": _extreme("minimum"),
    "MAX": _extreme("maximum"),
    "BAND": operator.iand,
    "BOR": operator.ior,
    "BXOR": operator.ixor,
    "PREMUL_SUM": operator.iadd,
}.items():
    setattr(ReduceOp, _name, ReduceOp(_name, _combine))

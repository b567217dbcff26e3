"""Private functions of `torch.autograd.functional`, with which libraries compute Jacobians."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..autograd.functional import standard_basis, tensors_in
from ..engine.tensors.tensor import Tensor

__all__: list[str] = []


def _as_tuple(inp: Any, arg_name: str = "inputs", fn_name: str = "function") -> tuple[bool, tuple[Tensor, ...]]:
    """Return whether `inp` is a tuple, and its tensors as a tuple.  TypeError, with both names, if it has anything else."""
    is_single, tensors = tensors_in(inp, arg_name, fn_name)
    return not is_single, tensors


def _tuple_postprocess(res: Any, to_unpack: bool | tuple[bool, bool]) -> Any:
    """Undo `_as_tuple`: unpack tuples of one element where `to_unpack` is False; a pair of values is for nested tuples."""
    outer, inner = to_unpack if isinstance(to_unpack, tuple) else (to_unpack, True)
    if not inner:
        res = tuple(part[0] for part in res)
    return res if outer else res[0]


def _grad_postprocess(inputs: Any, create_graph: bool) -> Any:
    """Detach the tensors of nested tuples, unless `create_graph` is True."""
    if create_graph:
        return inputs
    return tuple(value.detach() if isinstance(value, Tensor) else _grad_postprocess(value, create_graph) for value in inputs)


def _construct_standard_basis_for(tensors: Sequence[Tensor], tensor_numels: Sequence[int]) -> tuple[Tensor, ...]:
    """Return the standard basis of the space of all elements of the tensors, a matrix `(N, numel)` for each tensor."""
    return tuple(block.reshape(len(block), size) for block, size in zip(standard_basis(tensors), tensor_numels, strict=True))

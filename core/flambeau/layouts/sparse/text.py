"""The printed form of sparse tensors."""

from __future__ import annotations

from typing import Any

import flambeau as torch

from ...engine.tensors.tensor import Tensor, wrap
from ...protocols.printing import add_suffixes, autograd_suffixes, is_default_device, values_str
from ..subclasses.parameter import Parameter
from .tensors import SparseTensor, nnz_of, parts_of

__all__ = ["sparse_str"]

_NAMES = {
    "sparse_coo": ("indices",),
    "sparse_csr": ("crow_indices", "col_indices"),
    "sparse_bsr": ("crow_indices", "col_indices"),
    "sparse_csc": ("ccol_indices", "row_indices"),
    "sparse_bsc": ("ccol_indices", "row_indices"),
}
_INDENT = len("tensor(")


def sparse_str(tensor: SparseTensor) -> str:
    """Return the printed form of a sparse tensor: indices, values, size, nnz, dtype, layout and autograd state."""
    array = tensor._array
    values = wrap(array.values, array.key)
    named = [*zip(_NAMES[array.layout], parts_of(array), strict=True), ("values", values)]
    text = "tensor(" + (",\n" + " " * _INDENT).join(_part(name, part) for name, part in named)
    suffixes = [*_suffixes(tensor), *autograd_suffixes(tensor)]
    text = add_suffixes(text, suffixes, _INDENT, force_newline=array.layout == "sparse_coo")
    return f"Parameter containing:\n{text}" if isinstance(tensor, Parameter) else text


def _part(name: str, part: Tensor) -> str:
    prefix = f"{name}=tensor("
    text = prefix + values_str(part, _INDENT + len(prefix))
    return f"{text}, size={tuple(part.shape)})" if part.numel() == 0 else f"{text})"


def _suffixes(tensor: SparseTensor) -> list[str]:
    found: list[Any] = [] if is_default_device(tensor.device) else [f"device='{tensor.device}'"]
    found += [f"size={tuple(tensor.shape)}", f"nnz={nnz_of(tensor)}"]
    default = torch.get_default_dtype()
    unsaid = (default, torch.int64, torch.bool, torch.complex128 if default == torch.float64 else torch.complex64)
    if tensor.dtype not in unsaid:
        found.append(f"dtype={tensor.dtype}")
    return [*found, f"layout={tensor.layout}"]


SparseTensor.text = sparse_str

"""`torch.view_copy`, `torch.split_copy` and others: contiguous copies of the results of view functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...engine.calls.record import Out
from ...engine.calls.tables import PUBLIC
from ...engine.calls.wrappers import open_to_overrides, with_out
from ...engine.tensors.tensor import Tensor
from ...engine.values.constants import contiguous_format, strided


def _alias(input: Tensor) -> Tensor:
    return input[...]


def _slice(input: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> Tensor:
    if not input.ndim:
        raise IndexError("slice() cannot be applied to a 0-dim tensor.")
    if not -input.ndim <= dim < input.ndim:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-input.ndim}, {input.ndim - 1}], but got {dim})")
    if step <= 0:
        raise RuntimeError("slice step must be positive")
    return input[(slice(None),) * (dim % input.ndim) + (slice(start, end, step),)]


_SCHEMAS = """
    alias(Tensor self)
    as_strided(Tensor self, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None)
    ccol_indices(Tensor self)
    col_indices(Tensor self)
    crow_indices(Tensor self)
    detach(Tensor self)
    diagonal(Tensor self, int offset=0, int dim1=0, int dim2=1)
    expand(Tensor self, SymInt[] size, *, bool implicit=False)
    indices(Tensor self)
    permute(Tensor self, int[] dims)
    row_indices(Tensor self)
    select.int(Tensor self, int dim, SymInt index)
    slice.Tensor(Tensor self, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1)
    split.Tensor(Tensor self, SymInt split_size, int dim=0)
    split_with_sizes(Tensor self, SymInt[] split_sizes, int dim=0)
    squeeze(Tensor self); squeeze.dim(Tensor self, int dim); squeeze.dims(Tensor self, int[] dim)
    t(Tensor self)
    transpose.int(Tensor self, int dim0, int dim1)
    unbind.int(Tensor self, int dim=0)
    unfold(Tensor self, int dimension, int size, int step)
    unsqueeze(Tensor self, int dim)
    values(Tensor self)
    view(Tensor self, SymInt[] size); view.dtype(Tensor self, ScalarType dtype)
    view_as_complex(Tensor self)
    view_as_real(Tensor self)
"""
_OWN_VIEWS: dict[str, Callable[..., Any]] = {"alias": _alias, "slice": _slice}


def _copy_function(name: str, schemas: list[str]) -> Callable[..., Any]:
    """Return the function `<name>_copy`, which copies the tensor, or the tuple of tensors, that the view function returns."""
    view = _OWN_VIEWS.get(name) or PUBLIC.get(name) or getattr(Tensor, name)

    def function(input: Tensor, *args: Any, **kwargs: Any) -> Any:
        result = view(input, *args, **kwargs)
        return tuple(map(_copied, result)) if isinstance(result, tuple) else _copied(result)

    function.__name__ = function.__qualname__ = f"{name}_copy"
    function.__doc__ = f"Return a contiguous copy of the result of `{name}`, or of each tensor in it."
    result = "Tensor[]" if name in ("split", "split_with_sizes", "unbind") else "Tensor"
    own = [f"{schema.replace(name, function.__name__, 1)} -> {result}" for schema in schemas]
    return with_out(Out.OWN_DTYPE, schema=tuple(own))(function)


def _copied(tensor: Tensor) -> Tensor:
    return tensor.clone(memory_format=contiguous_format) if tensor.layout is strided else tensor.clone()


def _copy_functions() -> dict[str, Callable[..., Any]]:
    functions = {}
    for line in _SCHEMAS.strip().splitlines():
        schemas = line.strip().split("; ")
        name = schemas[0].partition("(")[0].partition(".")[0]
        functions[f"{name}_copy"] = _copy_function(name, schemas)
    return functions


_FUNCTIONS = _copy_functions()
__all__ = sorted(_FUNCTIONS)
globals().update(_FUNCTIONS)
open_to_overrides(globals(), __all__, native=__all__, module="flambeau")

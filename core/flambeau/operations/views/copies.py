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


_VIEWS: dict[str, Callable[..., Any]] = {"alias": _alias, "slice": _slice}
_NAMES = """
    as_strided ccol_indices col_indices crow_indices detach diagonal expand indices permute row_indices select split
    split_with_sizes squeeze t transpose unbind unfold unsqueeze values view view_as_complex view_as_real
""".split()  # noqa: SIM905 (shorter than a list)
_VIEWS.update({name: PUBLIC.get(name) or getattr(Tensor, name) for name in _NAMES})


def _copy_function(name: str, view: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function `<name>_copy`, which copies the tensor, or the tuple of tensors, that `view` returns."""

    def function(input: Tensor, *args: Any, **kwargs: Any) -> Any:
        result = view(input, *args, **kwargs)
        return tuple(map(_copied, result)) if isinstance(result, tuple) else _copied(result)

    function.__name__ = function.__qualname__ = f"{name}_copy"
    function.__doc__ = f"Return a contiguous copy of the result of `{name}`, or of each tensor in it."
    return with_out(Out.OWN_DTYPE)(function)


def _copied(tensor: Tensor) -> Tensor:
    return tensor.clone(memory_format=contiguous_format) if tensor.layout is strided else tensor.clone()


__all__ = [f"{name}_copy" for name in _VIEWS]
globals().update({f"{name}_copy": _copy_function(name, view) for name, view in _VIEWS.items()})
open_to_overrides(globals(), __all__, native=__all__, module="flambeau")

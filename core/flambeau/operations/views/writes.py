"""Write through a view as an operation on the base (`view_scatter`), and apply a view to a gradient (`seen_of`)."""

from __future__ import annotations

from math import prod
from typing import Any

from ...engine.calls.facts import Kind
from ...engine.calls.op import op
from ...engine.calls.outputs import overlap_error
from ...engine.calls.tables import OPS
from ...engine.tape.tensor_class import RECORDED
from ..indexing.standard import overwrite
from ..memory import Place, replaced_forward

__all__ = ["put_view", "seen_of", "view_scatter", "written"]


def _put_view(xp: Any, input: Any, value: Any, view: str, params: tuple[Any, ...], number: int | None = None) -> Any:
    if view in _WRITERS:
        return _WRITERS[view](xp, input, value, *params)
    places = xp.reshape(xp.arange(prod(input.shape)), input.shape)
    places_seen = OPS[view].forward(xp, places, *params)
    places_seen = xp.reshape(places_seen if number is None else places_seen[number], (-1,))
    return xp.reshape(overwrite(xp, xp.reshape(input, (-1,)), places_seen, xp.reshape(value, (-1,))), input.shape)


def _put_strided(xp: Any, input: Any, value: Any, size: Any, stride: Any, offset: int, backend: Any, given: Any) -> Any:
    shown = Place(size, stride, offset)
    written = replaced_forward(xp, xp.ones(size, dtype=input.dtype), shown, given, shown) != 0
    return xp.where(written, replaced_forward(xp, value, shown, given, shown), input)


_WRITERS: dict[str, Any] = {  # for each view that does more than select elements: a function that writes through it
    "as_strided": _put_strided,
    "real": lambda xp, input, value: value + xp.imag(input) * 1j if xp.isdtype(input.dtype, "complex floating") else value,
    "imag": lambda xp, input, value: xp.real(input) + value * 1j,
    "conj_view": lambda xp, input, value: xp.conj(value),
    "neg_view": lambda xp, input, value: -value,
    "view_as_real": lambda xp, input, value: value[..., 0] + value[..., 1] * 1j,
    "view_as_complex": lambda xp, input, value: xp.stack([xp.real(value), xp.imag(value)], axis=-1),
    "view_dtype": lambda xp, input, value, dtype, backend: backend.reinterpret(value, backend.dtype_of(input)),
    "add_level": lambda xp, input, value, level, dim, position: OPS["drop_level"].forward(value.xp, value, level, dim, position),
    "drop_level": lambda xp, input, value, level, dim, position: OPS["add_level"].forward(xp, value, level, dim, position),
}
_BATCH_MOVES = frozenset({"add_level", "drop_level"})
_OF_ALL_ELEMENTS = _BATCH_MOVES | {"conj_view", "neg_view"}  # no element of the base remains after a write


def put_view(key: Any, input: Any, value: Any, view: str, params: tuple[Any, ...], number: int | None) -> Any:
    """Apply `view_scatter` to raw arrays; `number` is the index of `value` among several views, such as those of `split`."""
    if view == "expand" and prod(value.shape) != prod(input.shape):
        raise overlap_error()
    if number is None:
        return key["view_scatter"][0](input, value, view, params)
    return _put_view(key.backend.xp, input, value, view, params, number)


view_scatter = op(
    "view_scatter", lambda xp, input, value, /, view, params: _put_view(xp, input, value, view, params),
    kind=Kind.VIEW, public=False,
    method=False, out=False, grad_fn="CopySlices", freed=("params",),
    doc="Return `input` with the elements that the view operation `view` selects replaced by `value`.",
    input=lambda F, g, value_shape, view, params: _remaining(F, g, value_shape, view, params),
    value=lambda F, g, view, params: seen_of(F, g, view, params),
)  # fmt: skip


def _remaining(F: Any, gradient: Any, value_shape: tuple[int, ...], view: str, params: tuple[Any, ...]) -> Any:
    """Return the gradient of the base: zero for the elements that were written through the view."""
    if view in _OF_ALL_ELEMENTS:
        return F.zeros_of(gradient, tuple(gradient.shape))
    return F.view_scatter(gradient, F.zeros_of(gradient, value_shape), view, params)


def written(base: Any, value: Any, view: str, params: tuple[Any, ...]) -> Any:
    """Return the tensor `base` with the elements that the view operation `view` selects replaced by `value`."""
    if view in _BATCH_MOVES:
        return getattr(RECORDED, "drop_level" if view == "add_level" else "add_level")(value, *params)
    return view_scatter(base, value, view, params)


_ON_ANY_MEMORY = {"view": "reshape", "view_as_complex": "complex_of_pairs"}


def seen_of(F: Any, gradient: Any, view: str, params: tuple[Any, ...]) -> Any:
    """Apply a view operation to the gradient or tangent of its base.  Its strides may differ from those of the base."""
    if view != "as_strided":
        name = _ON_ANY_MEMORY.get(view, view)
        is_record = F is RECORDED and view not in _BATCH_MOVES
        return (OPS[name].function if is_record else getattr(F, name))(gradient, *params)
    size, stride, offset, _, source = params
    return F.replaced(gradient, source, Place(size, stride, offset), source)

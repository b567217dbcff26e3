"""Padding: add elements around the edges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..engine.calls.arguments import as_float, as_python
from ..engine.calls.dispatch import require_dtype, require_operands, whole_numbers
from ..engine.calls.facts import Kind, Narrow, Order, declare, register
from ..engine.calls.node_names import merge_nodes
from ..engine.calls.op import op
from ..engine.calls.tables import PUBLIC
from ..engine.tape.node import rename_node
from ..engine.tensors.tensor import Tensor
from ..engine.values.scalars import converted
from .views.views import with_tied_gradient

__all__ = ["constant_pad", "pad"]


def constant_pad_forward(xp: Any, input: Any, /, pad: Sequence[tuple[int, int]], value: Any = 0) -> Any:
    for dim, (before, after) in enumerate(pad):
        for amount, in_front in ((before, True), (after, False)):
            if amount > 0:
                more = xp.full((*input.shape[:dim], amount, *input.shape[dim + 1 :]), value, dtype=input.dtype)
                input = xp.concat([more, input] if in_front else [input, more], axis=dim)
            elif amount < 0:
                part = slice(-amount, None) if in_front else slice(0, input.shape[dim] + amount)
                input = input[(*(slice(None),) * dim, part, ...)]
    is_a_view = all(amount <= 0 for pair in pad for amount in pair)
    return xp.asarray(input, copy=True) if is_a_view else input


def _constant_pad_call(input: Any, pad: Sequence[tuple[int, int]], value: Any) -> tuple[Any, ...]:
    """Return the call of PyTorch's operator, whose pairs start with the last dimension and end with the last padded one."""
    used = [place for place, pair in enumerate(pad) if any(pair)]
    pairs = [*reversed(pad[min(used, default=len(pad)) :])]
    return "constant_pad_nd", input, [amount for pair in pairs for amount in pair], value


_constant_pad = op(
    "constant_pad", constant_pad_forward,
    kind=Kind.MOVEMENT, narrow=Narrow.SIGNED_FLOAT8 | Narrow.COMPLEX32, order=Order.IMAGE,
    public=False, method=False, out=False, grad_fn="ConstantPadNdBackward0", dispatches=_constant_pad_call,
    input=lambda F, g, pad: F.constant_pad(g, tuple((-before, -after) for before, after in pad), 0),
)  # fmt: skip


def constant_pad(input: Tensor, pad: Sequence[int], value: float = 0) -> Tensor:
    """Pad with a constant value.

    Args:
        input: a tensor of any shape.
        pad: pairs (before, after) of numbers of elements to add, starting with the last dimension; negative numbers remove
            elements.
        value: the value of new elements.

    Raises:
        RuntimeError: `pad` has an odd length or too many pairs, or removes more elements than a dimension has.

    >>> torch.constant_pad_nd(torch.tensor([1, 2]), (1, 2))
    tensor([0, 1, 2, 0, 0])
    """
    pad = whole_numbers("pad", pad)
    if len(pad) % 2:
        raise RuntimeError("Length of pad must be even but instead it equals " + str(len(pad)))
    if len(pad) > 2 * input.ndim:
        raise RuntimeError(
            "Length of pad should be no more than twice the number of dimensions of the input. Pad length is "
            f"{len(pad)} while the input has {input.ndim} dimensions."
        )
    pairs = [(0, 0)] * (input.ndim - len(pad) // 2) + [tuple(pad[i : i + 2]) for i in range(len(pad) - 2, -1, -2)]
    for dim, (pair, length) in enumerate(zip(pairs, input.shape, strict=True)):
        if length + sum(pair) < 0:
            raise RuntimeError(
                f"The input size {length}, plus negative padding {pair[0]} and {pair[1]} resulted in a negative "
                f"output size, which is invalid. Check dimension {dim} of your input."
            )
    require_operands("constant_pad_nd", value=value)
    return _constant_pad(input, tuple(pairs), converted(as_python(value), input.dtype))


PUBLIC["constant_pad_nd"] = constant_pad
register("constant_pad_nd", {"kind": Kind.MOVEMENT})


# --- padding by elements of the input -----------------------------------------------------------------------------


Pads = Sequence[tuple[int, int]]  # number of elements to add before and after each dimension


def _source_positions(xp: Any, mode: str, length: int, before: int, after: int) -> Any:
    """Return, for each position along a padded dimension, the position of the input element that is copied there."""
    positions = xp.arange(-before, length + after, dtype=xp.int64)
    if mode == "reflect":
        return length - 1 - xp.abs(length - 1 - xp.abs(positions))
    return positions % length if mode == "circular" else xp.clip(positions, 0, length - 1)


def _edge_pad_forward(xp: Any, input: Any, /, pad: Pads, mode: str) -> Any:
    for dim, (before, after) in enumerate(pad):
        if before or after:
            input = xp.take(input, _source_positions(xp, mode, input.shape[dim], before, after), axis=dim)
    return input


def _edge_pad_backward_forward(xp: Any, input: Any, /, pad: Pads, mode: str) -> Any:
    """Compute the adjoint of padding: add the gradient of each padded element to the element it was copied from."""
    for dim, (before, after) in enumerate(pad):
        if before or after:
            length = input.shape[dim] - before - after
            sources = _source_positions(xp, mode, length, before, after)
            chosen = xp.astype(xp.expand_dims(xp.arange(length, dtype=xp.int64), axis=1) == sources, input.dtype)
            input = xp.moveaxis(xp.tensordot(chosen, input, axes=([1], [dim])), 0, dim)
    return input


_edge_pad = op(
    "edge_pad", _edge_pad_forward,
    kind=Kind.MOVEMENT, narrow=Narrow.NONE, order=Order.IMAGE, public=False, method=False, out=False,
    input=lambda F, g, pad, mode: F.edge_pad_backward(g, pad, mode),
)  # fmt: skip
op(
    "edge_pad_backward", _edge_pad_backward_forward,
    kind=Kind.SCATTER, public=False, method=False, out=False,
    input=lambda F, g, pad, mode: F.edge_pad(g, pad, mode),
)  # fmt: skip


def _check_room(input: Tensor, dim: int, before: int, after: int, mode: str) -> None:
    """Raise RuntimeError if a dimension has too few elements for its padding."""
    length = input.shape[dim]
    if mode == "reflect" and (before >= length or after >= length):
        raise RuntimeError(
            f"Argument #{2 * (input.ndim - dim) + 2}: Padding size should be less than the corresponding input dimension, but "
            f"got: padding ({before}, {after}) at dimension {dim} of input {list(input.shape)}"
        )
    if mode == "circular" and (before > length or after > length):
        raise RuntimeError("Padding value causes wrapping around more than once.")


def _check(input: Tensor, pad: Sequence[int], mode: str) -> None:
    spatial = len(pad) // 2
    if spatial not in (1, 2, 3) or input.ndim not in (spatial + 1, spatial + 2):
        raise NotImplementedError(
            f"Padding size {len(pad)} is not supported for {input.ndim}D input tensor.\n"
            "Supported combinations for non-constant padding:\n  - 2D or 3D input: padding size = 2 (pads last dimension)\n"
            "  - 3D or 4D input: padding size = 4 (pads last 2 dimensions)\n  - 4D or 5D input: padding size = 6 (pads last 3 "
            "dimensions)"
        )
    shape = input.shape[1:] if input.ndim == spatial + 2 else input.shape
    if mode != "circular" and 0 in shape:
        raise RuntimeError(
            f"Expected {spatial + 1}D or {spatial + 2}D (batch mode) tensor with possibly 0 batch size and other "
            f"non-zero dimensions for input, but got: {list(input.shape)}"
        )


@declare(kind=Kind.MOVEMENT)
def pad(input: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Tensor:
    """Add elements around the last dimensions; see `torch.nn.functional.pad`."""
    pad = whole_numbers("pad", pad)
    if not isinstance(mode, str):
        raise TypeError(f"pad(): argument 'mode' (position 3) must be str, not {type(mode).__name__}")
    if mode not in ("constant", "reflect", "replicate", "circular"):
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    if len(pad) % 2:
        raise RuntimeError("Padding length must be divisible by 2")
    if len(pad) > 2 * input.ndim:
        raise RuntimeError(
            "Padding length should be less than or equal to two times the input dimension but got padding length "
            f"{len(pad)} and input of dimension {input.ndim}"
        )
    value = None if value is None else as_float("pad", "value", value)
    if mode == "constant":
        return constant_pad(input, pad, 0.0 if value is None else value)
    if value is not None and value != 0:
        raise RuntimeError(f'Padding mode "{mode}" doesn\'t take in value argument')
    _check(input, pad, mode)
    if mode != "circular":
        require_dtype(f"{'reflection' if mode == 'reflect' else 'replication'}_pad{len(pad) // 2}d", input, "numbers")
    inside = input if mode == "circular" else with_tied_gradient(input)
    padded = _pad_from_input(inside, pad, mode)
    padded = padded.clone() if padded is inside else padded
    if mode == "circular":
        return rename_node(padded, "CopySlices")
    name = "ReflectionPad" if mode == "reflect" else "ReplicationPad"
    return merge_nodes(padded, f"{name}{len(pad) // 2}DBackward0", (input,))


def _pad_from_input(input: Tensor, pad: Sequence[int], mode: str) -> Tensor:
    if min(pad) < 0 and mode != "replicate":
        input = constant_pad(input, [min(amount, 0) for amount in pad])
    pairs = [(0, 0)] * input.ndim
    for position in range(0, len(pad), 2):
        before, after = pad[position : position + 2]
        dim = input.ndim - 1 - position // 2
        if mode == "replicate" and min(before, after) < 0:  # the crop may remove the whole input and leave copies of the edge
            places = PUBLIC["arange"](-before, input.shape[dim] + after, device=input.device)
            input = input.index_select(dim, places.clamp(0, input.shape[dim] - 1))
            continue
        pairs[dim] = max(before, 0), max(after, 0)
        _check_room(input, dim, *pairs[dim], mode)
    padded = _edge_pad(input, tuple(pairs), mode) if any(map(any, pairs)) else input
    return padded.contiguous() if mode == "circular" else padded

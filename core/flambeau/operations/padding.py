"""Padding: more elements around the edges."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..calls.arguments import as_float, as_python
from ..calls.dispatch import require_dtype, require_operands, whole_numbers
from ..calls.node_names import gathered
from ..calls.op import op
from ..calls.tables import PUBLIC
from ..tape.node import shown_as
from ..tensors.tensor import Tensor
from ..values.scalars import converted
from .joining import cat
from .views import with_tied_gradient

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


_constant_pad = op(
    "constant_pad", constant_pad_forward, public=False, method=False, out=False, grad_fn="ConstantPadNdBackward0",
    input=lambda F, g, pad: F.constant_pad(g, tuple((-before, -after) for before, after in pad), 0),
)  # fmt: skip


def constant_pad(input: Tensor, pad: Sequence[int], value: float = 0) -> Tensor:
    """`input` with `value` around it; `pad` lists (before, after) from the last dimension on; negative ones crop."""
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


# --- by elements of the input -------------------------------------------------------------------------------------


def _part(input: Tensor, dim: int, start: int, stop: int) -> Tensor:
    return input[(*(slice(None),) * dim, slice(start, stop))]


def _reflected(input: Tensor, dim: int, before: int, after: int) -> list[Tensor]:
    length = input.shape[dim]
    if before >= length or after >= length:
        raise RuntimeError(
            f"Argument #{2 * (input.ndim - dim) + 2}: Padding size should be less than the corresponding input dimension, but "
            f"got: padding ({before}, {after}) at dimension {dim} of input {list(input.shape)}"
        )
    first = _part(input, dim, 1, before + 1).flip(dim)
    return [first, input, _part(input, dim, length - 1 - after, length - 1).flip(dim)]


def _replicated(input: Tensor, dim: int, before: int, after: int) -> list[Tensor]:
    def repeated(edge: Tensor, times: int) -> Tensor:
        return edge.expand(*edge.shape[:dim], times, *edge.shape[dim + 1 :])

    length = input.shape[dim]
    return [repeated(_part(input, dim, 0, 1), before), input, repeated(_part(input, dim, length - 1, length), after)]


def _wrapped(input: Tensor, dim: int, before: int, after: int) -> list[Tensor]:
    length = input.shape[dim]
    if before > length or after > length:
        raise RuntimeError("Padding value causes wrapping around more than once.")
    return [_part(input, dim, length - before, length), input, _part(input, dim, 0, after)]


_MODES: dict[str, Callable[[Tensor, int, int, int], list[Tensor]]] = {
    "reflect": _reflected,
    "replicate": _replicated,
    "circular": _wrapped,
}


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


def pad(input: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Tensor:
    """More elements around the last dimensions; see `torch.nn.functional.pad`."""
    pad = whole_numbers("pad", pad)
    if not isinstance(mode, str):
        raise TypeError(f"pad(): argument 'mode' (position 3) must be str, not {type(mode).__name__}")
    if mode != "constant" and mode not in _MODES:
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
    padded = _pad_with_own_elements(inside, pad, mode)
    padded = padded.clone() if padded is inside else padded
    if mode == "circular":
        return shown_as(padded, "CopySlices")
    name = "ReflectionPad" if mode == "reflect" else "ReplicationPad"
    return gathered(padded, f"{name}{len(pad) // 2}DBackward0", (input,))


def _pad_with_own_elements(input: Tensor, pad: Sequence[int], mode: str) -> Tensor:
    if min(pad) < 0 and mode != "replicate":
        input = constant_pad(input, [min(amount, 0) for amount in pad])
    for position in range(0, len(pad), 2):
        before, after = pad[position : position + 2]
        dim = input.ndim - 1 - position // 2
        if mode == "replicate" and min(before, after) < 0:  # it may crop all but the edge that is repeated
            places = PUBLIC["arange"](-before, input.shape[dim] + after, device=input.device)
            input = input.index_select(dim, places.clamp(0, input.shape[dim] - 1))
            continue
        before, after = max(before, 0), max(after, 0)
        if before or after:
            parts = _MODES[mode](input, dim, before, after)
            input = cat([part for part in parts if part.shape[dim]], dim)
    return input.contiguous() if mode == "circular" else input

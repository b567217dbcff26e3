"""Convolutions."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from .sample import FLOATS, Sample, bad_functional, real, torch_function

__all__ = ["BAD", "IMAGE", "SAMPLES", "WEIGHT", "Sizes", "padded"]

Sizes = Sequence[int]


def _all(n: int, value: Any) -> tuple[int, ...]:
    return (value,) * n if isinstance(value, int) else tuple(value)


def padded(np: Any, x: Any, padding: Sizes) -> Any:
    return np.pad(x, [(0, 0), (0, 0), *((p, p) for p in padding)])


def convolve(
    np: Any, x: Any, w: Any, b: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
) -> Any:
    """Compute a convolution by its definition, as a sum over the positions in the window."""
    n = x.ndim - 2
    stride, padding, dilation = _all(n, stride), _all(n, padding), _all(n, dilation)
    x = padded(np, x, padding)
    size = [(x.shape[2 + i] - dilation[i] * (w.shape[2 + i] - 1) - 1) // stride[i] + 1 for i in range(n)]
    result = np.zeros((len(x), len(w), *size), np.result_type(x, w))
    ins, outs = w.shape[1], len(w) // groups
    for g, place in itertools.product(range(groups), np.ndindex(*w.shape[2:])):
        slices = tuple(slice(p * d, p * d + (o - 1) * s + 1, s) for p, d, o, s in zip(place, dilation, size, stride, strict=True))
        window = x[(slice(None), slice(g * ins, (g + 1) * ins), *slices)]
        result[:, g * outs : (g + 1) * outs] += np.einsum(
            "nc...,oc->no...", window, w[(slice(g * outs, (g + 1) * outs), slice(None), *place)]
        )
    return result if b is None else result + b.reshape(-1, *(1,) * n)


def transpose(
    np: Any,
    x: Any,
    w: Any,
    b: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Any:
    """Compute a transposed convolution: every input element contributes to a window of the result."""
    n = x.ndim - 2
    stride, padding, dilation, more = _all(n, stride), _all(n, padding), _all(n, dilation), _all(n, output_padding)
    space = x.shape[2:]
    reach = [(space[i] - 1) * stride[i] + dilation[i] * (w.shape[2 + i] - 1) + 1 + more[i] for i in range(n)]
    result = np.zeros((len(x), w.shape[1] * groups, *reach))
    ins, outs = len(w) // groups, w.shape[1]
    for g, place in itertools.product(range(groups), np.ndindex(*w.shape[2:])):
        slices = tuple(
            slice(p * d, p * d + (o - 1) * s + 1, s) for p, d, o, s in zip(place, dilation, space, stride, strict=True)
        )
        share = np.einsum(
            "nc...,co->no...", x[:, g * ins : (g + 1) * ins], w[(slice(g * ins, (g + 1) * ins), slice(None), *place)]
        )
        result[(slice(None), slice(g * outs, (g + 1) * outs), *slices)] += share
    inside = tuple(slice(p, length - p) for p, length in zip(padding, reach, strict=True))
    result = result[(slice(None), slice(None), *inside)]
    return result if b is None else result + b.reshape(-1, *(1,) * n)


def _conv(n: int, x: Sizes, w: Sizes, bias: bool = True, dtypes: Any = FLOATS, atol: float = 1e-3, **options: Any) -> Sample:
    inputs = [real(*x), real(*w), *([real(w[0])] if bias else [])]
    return Sample(
        f"nn.functional.conv{n}d",
        lambda torch, *tensors: getattr(torch.nn.functional, f"conv{n}d")(*tensors, **options),
        inputs,
        lambda np, *tensors: convolve(np, *tensors, **options),
        dtypes,
        atol=atol,
    )


def _transposed(n: int, x: Sizes, w: Sizes, outputs: int, **options: Any) -> Sample:
    return Sample(
        f"nn.functional.conv_transpose{n}d",
        lambda torch, *tensors: getattr(torch.nn.functional, f"conv_transpose{n}d")(*tensors, **options),
        [real(*x), real(*w), real(outputs)],
        lambda np, *tensors: transpose(np, *tensors, **options),
        FLOATS,
        atol=1e-3,
    )


IMAGE, WEIGHT = real(2, 3, 5, 5), real(4, 3, 3, 3)


SAMPLES = [
    _conv(1, (2, 4, 9), (6, 4, 3)),
    _conv(1, (2, 4, 9), (6, 2, 3), stride=2, padding=2, dilation=2, groups=2),
    _conv(2, (2, 3, 3, 4), (4, 3, 2, 3)),
    _conv(2, (2, 3, 3, 4), (4, 3, 1, 1), bias=False),
    _conv(2, (1, 8, 4, 3), (2, 8, 3, 3), padding=1, stride=(2, 1), dtypes=("float64", "float32"), atol=0.0),
    _conv(2, (1, 4, 5, 4), (4, 2, 3, 2), stride=(2, 1), padding=(1, 2), dilation=(1, 2), groups=2),
    _conv(2, (2, 3, 4, 3), (3, 1, 3, 3), padding=1, groups=3),
    _conv(2, (1, 2, 6, 5), (4, 1, 3, 3), stride=2, groups=2, bias=False),
    _conv(2, (0, 3, 5, 6), (4, 3, 2, 3), dtypes=("float64",)),
    _conv(2, (4, 16, 9, 8), (16, 16, 3, 3), padding=1, dtypes=("float32",)),
    _conv(2, (2, 2, 3, 3), (3, 2, 2, 2), dtypes=("complex128",), atol=0.0),
    _conv(2, (2, 2, 3, 3), (2, 1, 2, 2), dtypes=("complex128",), atol=0.0, groups=2),
    _conv(2, (1, 2, 4, 4), (4, 1, 2, 2), dtypes=("complex128",), atol=0.0, groups=2, stride=2),
    _conv(3, (1, 2, 2, 4, 3), (2, 2, 2, 3, 2), stride=(1, 2, 1), padding=1),
    Sample("nn.functional.conv2d", lambda torch, x, w: torch.nn.functional.conv2d(x, w, padding="same"),
           [real(2, 2, 3, 4), real(3, 2, 3, 4)],
           lambda np, x, w: convolve(np, np.pad(x, [(0, 0), (0, 0), (0, 0), (0, 1)]), w, padding=(1, 1)), atol=1e-3),
    Sample("nn.functional.conv2d", lambda torch, x, w: torch.nn.functional.conv2d(x, w, padding="valid"),
           [real(2, 4, 5), real(3, 2, 3, 4)],
           lambda np, x, w: convolve(np, x[None], w)[0], atol=1e-3),
    _transposed(1, (2, 4, 5), (4, 3, 3), 3, stride=2, padding=1, output_padding=1),
    _transposed(2, (2, 4, 2, 3), (4, 2, 2, 3), 2),
    _transposed(2, (1, 4, 2, 3), (4, 2, 3, 2), 4, stride=(2, 3), padding=(1, 1), output_padding=(1, 2), groups=2,
                dilation=(2, 1)),
    _transposed(2, (1, 4, 4, 4), (4, 2, 2, 2), 4, padding=2, output_padding=(1, 0), groups=2, dilation=(2, 3)),
    _transposed(2, (2, 3, 3, 3), (3, 1, 3, 3), 3, padding=1, groups=3),
    _transposed(3, (1, 2, 2, 3, 2), (2, 2, 2, 2, 3), 2, stride=2),
    torch_function("convolution", lambda f, x, w, b: f(x, w, b, [1], [0], [1], False, [0], 1),
        lambda np, x, w, b: np.stack([(x[:, None, :, i : i + 2] * w).sum((2, 3)) + b for i in range(3)], -1), real(2, 3, 4),
        real(5, 3, 2), real(5)),
    torch_function("convolution", lambda f, x, w: f(x, w, None, [2], [0], [1], True, [0], 1),
        lambda np, x, w: np.einsum("nct,cok->notk", x, w).reshape(2, 5, 8), real(2, 3, 4), real(3, 5, 2)),
    torch_function("conv_tbc", lambda f, x, w, b: f(x, w, b, 0), lambda np, x, w, b: x[:-1] @ w[0] + x[1:] @ w[1] + b, real(4, 2,
        3),
        real(2, 3, 5), real(5)),
]  # fmt: skip


BAD = [
    bad_functional("conv2d", lambda F, x, w: F.conv2d(x, w), real(2, 2, 5, 5), WEIGHT),
    bad_functional("conv2d", lambda F, x, w: F.conv2d(x, w), IMAGE, real(4, 3, 6, 3)),
    bad_functional("conv2d", lambda F, x, w: F.conv2d(x, w), real(5, 5), WEIGHT),
    bad_functional("conv2d", lambda F, x, w: F.conv2d(x, w.double()), IMAGE, WEIGHT),
    bad_functional("conv2d", lambda F, x, w, b: F.conv2d(x, w, b), IMAGE, WEIGHT, real(3)),
    bad_functional("conv2d", lambda F, x, w: F.conv2d(x, w, stride=0), IMAGE, WEIGHT),
    bad_functional("conv2d", lambda F, x, w: F.conv2d(x, w, padding=-1), IMAGE, WEIGHT),
    bad_functional("conv2d", lambda F, x, w: F.conv2d(x, w, padding="same", stride=2), IMAGE, WEIGHT),
    bad_functional("conv2d", lambda F, x, w: F.conv2d(x, w, padding="full"), IMAGE, WEIGHT),
    bad_functional("conv2d", lambda F, x, w: F.conv2d(x, w, groups=2), IMAGE, WEIGHT),
    bad_functional("conv2d", lambda F, x, w: F.conv2d(x, w, stride=(1, 2, 3)), IMAGE, WEIGHT),
    bad_functional("conv_transpose2d", lambda F, x, w: F.conv_transpose2d(x, w), IMAGE, WEIGHT),
    bad_functional("conv_transpose2d", lambda F, x, w: F.conv_transpose2d(x, w, output_padding=1), IMAGE, real(3, 4, 3, 3)),
]  # fmt: skip

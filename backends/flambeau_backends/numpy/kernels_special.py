"""Special functions that NumPy provides, conversions between real and complex, and `view_scatter`."""

from __future__ import annotations

from typing import Any

import numpy as np

from flambeau.engine.calls.op import OPS

from .float8 import is_complex32
from .kernels import KERNELS, kernel

KERNELS.update({
    "atan2": np.arctan2, "copysign": np.copysign, "nextafter": np.nextafter,
    "logaddexp2": np.logaddexp2, "gcd": np.gcd, "lcm": np.lcm, "fmax": np.fmax, "fmin": np.fmin,
    "isneginf_real": np.isneginf, "isposinf_real": np.isposinf,
})  # fmt: skip


# --- complex numbers ----------------------------------------------------------------------------------------------


@kernel
def complex(input: Any, imag: Any) -> Any:
    result = np.empty(np.broadcast_shapes(input.shape, imag.shape), np.result_type(input.dtype, np.complex64))
    result.real, result.imag = input, imag
    return result


@kernel
def view_as_real(input: Any) -> Any:
    return input[..., None].view(np.float16 if is_complex32(input.dtype) else input.real.dtype)


@kernel
def real(input: Any) -> Any:
    return view_as_real(input)[..., 0] if is_complex32(input.dtype) else input.real


@kernel
def imag(input: Any) -> Any:
    return view_as_real(input)[..., 1] if is_complex32(input.dtype) else input.imag


@kernel
def view_as_complex(input: Any) -> Any:
    return input.view(np.complex128 if input.dtype == np.float64 else np.complex64)[..., 0]


@kernel
def complex_of_pairs(input: Any) -> Any:
    return complex(input[..., 0], input[..., 1])


KERNELS["pairs_of_complex"] = view_as_real


@kernel
def view_scatter(input: Any, value: Any, view: str, params: tuple[Any, ...]) -> Any:
    if view in ("conj_view", "neg_view"):  # views whose memory stores the values before conjugation or negation
        return OPS[view].forward(np, value)
    if view == "as_strided":  # indexes the original memory, which the copy does not share
        return OPS["view_scatter"].forward(np, input, value, view, params)
    result = np.array(input, order="C")  # contiguous, so that every view, such as a reshape, shares its memory
    shown = KERNELS[view](result, *params) if view in KERNELS else OPS[view].forward(np, result, *params)
    shown[...] = value
    return result


@kernel
def frexp(input: Any) -> Any:
    mantissa, exponent = np.frexp(input)
    return mantissa, exponent.astype(input.dtype)

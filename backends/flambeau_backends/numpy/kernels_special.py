"""Functions of numbers that NumPy has itself: parts of complex numbers, angles, pairs of numbers, integers' divisors."""

from __future__ import annotations

from typing import Any

import numpy as np

from flambeau.calls.op import OPS

from .kernels import KERNELS, kernel

KERNELS.update({
    "atan2": np.arctan2, "hypot": np.hypot, "copysign": np.copysign, "nextafter": np.nextafter,
    "logaddexp2": np.logaddexp2, "gcd": np.gcd, "lcm": np.lcm, "fmax": np.fmax, "fmin": np.fmin,
    "isneginf_real": np.isneginf, "isposinf_real": np.isposinf,
})  # fmt: skip


# --- complex numbers ----------------------------------------------------------------------------------------------


@kernel
def complex(input: Any, imag: Any) -> Any:
    made = np.empty(np.broadcast_shapes(input.shape, imag.shape), np.result_type(input.dtype, np.complex64))
    made.real, made.imag = input, imag
    return made


@kernel
def view_as_real(input: Any) -> Any:
    return input[..., None].view(input.real.dtype)


@kernel
def view_as_complex(input: Any) -> Any:
    return input.view(np.complex128 if input.dtype == np.float64 else np.complex64)[..., 0]


@kernel
def complex_of_pairs(input: Any) -> Any:
    return complex(input[..., 0], input[..., 1])


KERNELS["pairs_of_complex"] = view_as_real


@kernel
def view_scatter(input: Any, value: Any, view: str, params: tuple[Any, ...]) -> Any:
    if view in ("conj_view", "neg_view"):  # the elements shown are not those in memory
        return OPS[view].forward(np, value)
    if view == "as_strided":  # goes by memory that a copy does not have
        return OPS["view_scatter"].forward(np, input, value, view, params)
    made = np.array(input, order="C")  # of which any view can be had
    shown = KERNELS[view](made, *params) if view in KERNELS else OPS[view].forward(np, made, *params)
    shown[...] = value
    return made


@kernel
def frexp(input: Any) -> Any:
    mantissa, exponent = np.frexp(input)
    return mantissa, exponent.astype(input.dtype)

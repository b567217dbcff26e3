"""The inverse error function `erfinv`."""

from __future__ import annotations

from typing import Any

import numpy as np

from flambeau.engine.calls.op import OPS

from .chunks import in_chunks
from .error_state import without_warnings
from .kernels import kernel
from .namespace import namespace
from .polynomials import polynomial

# Fits for float32 of erfinv(x) / x, with relative error 1e-8, by the method of M. Giles ("Approximating the erfinv function", GPU
# Computing Gems 2, 2011): with w = -log(1 - x^2), in powers of w - 2.5 for w < 5, else in powers of sqrt(w) - 3.
_NEAR = (
    -8.81521833e-09,
    2.34762628e-08,
    4.66744023e-07,
    -3.46544472e-06,
    -4.96716128e-06,
    0.000218353885,
    -0.00125273326,
    -0.00417739692,
    0.246640281,
    1.50140936,
)
_FAR = (
    -3.06181319e-05,
    0.000161648432,
    -0.000275257534,
    -0.000122081099,
    0.00147354309,
    -0.00356589483,
    0.00568816711,
    -0.00764301315,
    0.0094452503,
    1.00167525,
    2.8329768,
)
_EDGE = 5.0


def _erfinv(out: Any, x: Any) -> None:
    """Compute erfinv in float64, so that the result is accurate to its dtype's precision."""
    wide = x.astype(np.float64)
    w = 1 - wide * wide
    np.negative(np.log(w, w), w)
    ratio = polynomial(np.empty_like(w), w - 2.5, _NEAR)
    beyond = w >= _EDGE
    if beyond.any():
        roots = np.sqrt(w[beyond])
        far = polynomial(np.empty_like(roots), roots - 3, _FAR)
        far[roots == np.inf] = np.inf
        ratio[beyond] = far
    np.multiply(ratio, wide, out, casting="same_kind")


@kernel
@without_warnings
def erfinv(input: Any) -> Any:
    if input.dtype != np.float32:
        return OPS["erfinv"].forward(namespace, input)
    return in_chunks(_erfinv, input, width=3)

"""The parts of the NumPy backend that kernel packs may use; the rest may change between versions.

- `kernels`, `kernels_conv`, `winograd`: the backend's own kernels, as fallbacks if a pack's kernel is not faster.
- `box_muller`: the functions that compute normal values; replacements must be bitwise equal.
- `rejection`: `draw`, a function that draws gamma, Poisson and binomial values, bitwise equal to those of `SAMPLERS`.
- `halves`: `CONVERSIONS`, whose replacements must be bitwise equal, and `LOOPS`, which is empty without a pack.
- `Generator`: PyTorch's random stream, for kernels that draw random numbers.
- `follow`, `keep_products_serial`: get the number of threads; limit BLAS to one thread if a pack has its own threads.
- `output_size`: the output size of a convolution.
- `without_warnings`: wraps a function to run without warnings about infinities and NaN.
"""

from __future__ import annotations

from . import box_muller, halves, kernels, kernels_conv, rejection, winograd
from .error_state import without_warnings
from .random import Generator
from .threads import follow, keep_products_serial
from .windows import output_size

__all__ = [
    "Generator", "box_muller", "follow", "halves", "keep_products_serial", "kernels", "kernels_conv", "output_size", "quiet",
    "rejection", "winograd", "without_warnings",
]  # fmt: skip

quiet = without_warnings  # deprecated name of `without_warnings`

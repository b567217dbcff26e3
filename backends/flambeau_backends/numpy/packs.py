"""The interface for kernel packs of the NumPy backend; the rest of this package may change from one version to the next.

- `kernels`, `kernels_conv`, `winograd`: the backend's own kernels, to fall back on where a pack's are not faster.
- `box_muller`: the functions of normal values, which a pack may replace where the bits stay the same.
- `halves`: its `CONVERSIONS`, which a pack may replace where the bits stay the same, and its `LOOPS`, empty without one.
- `Generator`: PyTorch's random stream, for kernels that draw.
- `follow`, `keep_products_serial`: be told the number of threads; keep matrix products in one thread beside a pack's threads.
- `output_size`: the number of windows of a convolution along each dimension.
- `quiet`: lets a function compute infinities and NaN without warnings.
"""

from __future__ import annotations

from . import box_muller, halves, kernels, kernels_conv, winograd
from .quiet import quiet
from .random import Generator
from .threads import follow, keep_products_serial
from .windows import output_size

__all__ = [
    "Generator", "box_muller", "follow", "halves", "keep_products_serial", "kernels", "kernels_conv", "output_size", "quiet",
    "winograd",
]  # fmt: skip

"""What kernel packs for the NumPy backend may use of it; the rest of this package may change from one version to the next.

- `kernels`, `kernels_conv`, `winograd`: the backend's own kernels, to fall back on where a pack's does not pay.
- `Generator`: PyTorch's random stream, for kernels that draw.
- `follow`, `keep_products_serial`: how many threads there are to be, and products in one thread beside those of a pack.
- `quiet`: lets a function compute infinities and NaN without a word.
"""

from __future__ import annotations

from . import kernels, kernels_conv, winograd
from .quiet import quiet
from .random import Generator
from .threads import follow, keep_products_serial

__all__ = ["Generator", "follow", "keep_products_serial", "kernels", "kernels_conv", "quiet", "winograd"]

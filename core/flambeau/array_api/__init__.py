"""The array API standard (2025.12) on tensors: the namespace that `x.__array_namespace__()` returns.

The standard and PyTorch agree on most names but differ in details: the standard has `axis` for `dim`, `keepdims` for `keepdim`,
positional-only array arguments, 0-d arrays that take part in dtype promotion, and unsigned results for sums of unsigned integers.
The functions here follow the standard and are implemented with the public PyTorch functions.

>>> x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
>>> xp = x.__array_namespace__()
>>> xp.sum(x, axis=0), xp.isdtype(x.dtype, "real floating")
(tensor([4., 6.]), True)
"""

from __future__ import annotations

import sys
from math import e, inf, nan, pi
from types import ModuleType

from .. import complex64, complex128, float32, float64, int8, int16, int32, int64, uint8, uint16, uint32, uint64
from ..engine.values.dtypes import bool_ as bool
from . import creation as _creation
from . import data_types as _data_types
from . import elementwise as _elementwise
from . import fft, linalg
from . import manipulation as _manipulation
from . import reductions as _reductions
from . import searching as _searching
from .creation import *
from .data_types import *
from .elementwise import *
from .linalg import matmul, matrix_transpose, tensordot, vecdot
from .manipulation import *
from .reductions import *
from .searching import *

__array_api_version__ = "2025.12"
newaxis: None = None

__all__ = [
    "__array_api_version__", "bool", "complex64", "complex128", "e", "fft", "float32", "float64", "inf", "int8", "int16",
    "int32", "int64", "linalg", "matmul", "matrix_transpose", "nan", "newaxis", "pi", "tensordot", "uint8", "uint16", "uint32",
    "uint64", "vecdot",
]  # fmt: skip
for _part in (_creation, _data_types, _elementwise, _manipulation, _reductions, _searching):
    __all__ += _part.__all__


def _select_version(api_version: str | None) -> ModuleType:
    """Return this namespace if it implements `api_version` of the standard; raise ValueError otherwise."""
    if api_version not in (None, "2021.12", "2022.12", "2023.12", "2024.12", __array_api_version__):
        raise ValueError(f"array API version {api_version!r} is not known; the newest is {__array_api_version__!r}")
    return sys.modules[__name__]

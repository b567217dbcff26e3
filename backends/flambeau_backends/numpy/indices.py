"""NumPy's dtype of indices, `intp`: int64, except on 32-bit systems, such as WebAssembly.

PyTorch's indices are int64.  NumPy casts them to intp in subscripts and in `take`, but not in `repeat` and `bincount`, which on
32-bit systems raise TypeError; and its functions that return indices, such as `argsort` and `arange`, return intp.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from flambeau.engine.values import dtypes

__all__ = ["INDEX_DTYPE", "as_intp"]

INDEX_DTYPE = dtypes.int64 if np.dtype(np.intp).itemsize == 8 else dtypes.int32


def as_intp(index: Any) -> Any:
    """Cast indices or counts to intp, if necessary."""
    return index.astype(np.intp, copy=False)

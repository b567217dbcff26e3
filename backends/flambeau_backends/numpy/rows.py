"""Results that lie in memory row by row.

NumPy's results lie in memory as its arguments do.  So do PyTorch's of elementwise operations; most others return rows, and
programs take a `view` of them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from flambeau.calls.op import OPS

from . import kernels_index, kernels_nn, sums  # noqa: F401  (their kernels come first)
from .kernels import KERNELS
from .namespace import namespace

__all__: list[str] = []


def _returning_rows(kernel: Callable[..., Any]) -> Callable[..., Any]:
    def returning(*args: Any, **kwargs: Any) -> Any:
        made = kernel(*args, **kwargs)
        return made if made.flags.c_contiguous else np.ascontiguousarray(made)

    return returning


for _name in ("cumprod", "cumsum", "logcumsumexp", "logsumexp", "masked_fill", "prod", "tril", "triu"):
    KERNELS[_name] = _returning_rows(KERNELS.get(_name) or partial(OPS[_name].forward, namespace))


def _of_images(array: Any) -> bool:
    """Whether the strides are those of a part, at least, of an array in channels-last memory."""
    if array.ndim not in (4, 5):
        return False
    least = 0
    for dim in (1, *range(array.ndim - 1, 1, -1), 0):
        length, step = array.shape[dim], array.strides[dim]
        if not length or step < least or (dim == 0 and least == array.strides[1]):
            return False
        least = step * max(length, 1)
    return True


def _joining(name: str) -> None:
    """Rows again, but channels-last memory where all arguments have it."""
    kernel = KERNELS.get(name) or partial(OPS[name].forward, namespace)

    def join(*args: Any, **options: Any) -> Any:
        made = kernel(*args, **options)
        if made.flags.c_contiguous or all(_of_images(each) for each in args if type(each) is np.ndarray):
            return made
        return np.ascontiguousarray(made)

    KERNELS[name] = join


for _name in ("cat", "roll", "stack"):
    _joining(_name)

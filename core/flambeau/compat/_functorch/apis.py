"""`torch._functorch.apis`: `vmap` in a given number of chunks."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ...transforms.batching.vmap import batch_size, vmap

__all__ = ["chunk_vmap", "vmap"]


def chunk_vmap(
    func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0, randomness: str = "error", chunks: int = 2
) -> Callable[..., Any]:
    """Like `torch.vmap`, but split the batch into `chunks` parts of equal size, except the last, and call `func` for each part.

    >>> from flambeau._functorch.apis import chunk_vmap
    >>> chunk_vmap(torch.sum, chunks=2)(torch.ones(5, 3))
    tensor([3., 3., 3., 3., 3.])
    """

    @functools.wraps(func)
    def batched(*args: Any, **kwargs: Any) -> Any:
        chunk_size = max(1, -(-batch_size(in_dims, args, func) // chunks))
        return vmap(func, in_dims, out_dims, randomness, chunk_size=chunk_size)(*args, **kwargs)

    return batched

"""`gradcheck` for functions of sparse tensors."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .tensors import SparseTensor, detached, like, to_dense, values_of

__all__ = ["as_sparse_gradcheck"]


def as_sparse_gradcheck(gradcheck: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap `gradcheck` (or `gradgradcheck`) for functions of sparse tensors: it checks the gradients of their values.

    Args:
        gradcheck: the function that checks functions of dense tensors.

    >>> check = torch.sparse.as_sparse_gradcheck(torch.autograd.gradcheck)
    >>> x = torch.tensor([[0, 1], [2, 3]], dtype=torch.float64).to_sparse().requires_grad_()
    >>> check(lambda x: x.to_sparse_csr(), x)
    True
    """

    @functools.wraps(gradcheck)
    def checked(func: Callable[..., Any], inputs: Any, **kwargs: Any) -> Any:
        given = tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)
        masked = kwargs.get("masked") is not False
        places = [each._array if isinstance(each, SparseTensor) else None for each in given]
        dense = [_values(each) if isinstance(each, SparseTensor) else each for each in given]

        def on_values(*args: Any) -> Any:
            result = func(*(each if at is None else like(at, each) for each, at in zip(args, places, strict=True)))
            return tuple(map(_strided, result)) if isinstance(result, (tuple, list)) else _strided(result)

        def _strided(result: Any) -> Any:
            return to_dense(result, masked) if isinstance(result, SparseTensor) else result

        return gradcheck(on_values, tuple(dense), **kwargs)

    return checked


def _values(input: SparseTensor) -> Any:
    return values_of(detached(input)).clone().requires_grad_(input.requires_grad)

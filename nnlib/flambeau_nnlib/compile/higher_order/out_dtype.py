"""`out_dtype`: an operator whose result is returned in another dtype."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import flambeau as torch

__all__ = ["out_dtype"]


def out_dtype(op: Callable[..., Any], output_dtype: torch.dtype, *args: Any) -> torch.Tensor:
    """Return `op(*args)` in `output_dtype`. Products of integer matrices are computed in it, so that sums do not overflow.

    Args:
        op: an operator, such as `torch.ops.aten.mm.default`.
        output_dtype: the dtype of the result.
        args: the arguments of the operator.

    >>> from flambeau._higher_order_ops.out_dtype import out_dtype
    >>> x = torch.full((1, 2), 100, dtype=torch.int8)
    >>> out_dtype(torch.ops.aten.mm.default, torch.int32, x, x.t())
    tensor([[20000]], dtype=torch.int32)
    """
    converted = [arg.to(output_dtype) if isinstance(arg, torch.Tensor) else arg for arg in args]
    result: torch.Tensor = op(*converted)
    return result.to(output_dtype)

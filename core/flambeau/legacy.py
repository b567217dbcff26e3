"""Constructors of old."""
from typing import Any
def construct(cls: Any, *args: Any, **kwargs: Any) -> Any:
    from .creation import empty, tensor
    from . import dtypes
    from ._tensor import Tensor
    if len(args)==1 and not isinstance(args[0], int):
        d=args[0]
        made = d.detach() if isinstance(d, Tensor) else tensor(d, dtype=dtypes.get_default_dtype())
    else:
        made = empty(*args) if args else empty(0)
    return made if cls is Tensor else made._as(cls)

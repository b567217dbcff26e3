"""`torch.distributed.autograd`: derivatives through calls in other processes. There are no such calls here (see `rpc`), which
`is_available` says.

>>> from flambeau.distributed import autograd
>>> autograd.is_available()
False
"""

from __future__ import annotations

from typing import NoReturn

__all__ = ["context", "is_available"]


def is_available() -> bool:
    """False, as in a PyTorch that was built without it."""
    return False


class context:
    """The context of a forward and a backward pass over several processes.

    Raises:
        RuntimeError: it is entered.
    """

    def __enter__(self) -> NoReturn:
        raise RuntimeError("torch.distributed.autograd is not available: there are no calls of functions in other processes")

    def __exit__(self, *args: object) -> None:
        pass

"""`torch.distributed.autograd`, derivatives through remote procedure calls, which flambeau does not support (see
`rpc`).

>>> from flambeau.distributed import autograd
>>> autograd.is_available()
False
"""

from __future__ import annotations

from typing import Any, NoReturn

__all__ = ["backward", "context", "get_gradients", "is_available"]

_REFUSAL = "torch.distributed.autograd is not available: remote procedure calls are not supported"


def is_available() -> bool:
    """Return False, as PyTorch does when built without RPC."""
    return False


class context:
    """The context of a forward and a backward pass over several processes.

    Raises:
        RuntimeError: always, on entry.
    """

    def __enter__(self) -> NoReturn:
        raise RuntimeError(_REFUSAL)

    def __exit__(self, *args: object) -> None:
        pass


def backward(context_id: int, roots: Any, retain_graph: bool = False) -> NoReturn:
    """Raise RuntimeError: remote procedure calls are not supported."""
    raise RuntimeError(_REFUSAL)


def get_gradients(context_id: int) -> NoReturn:
    """Raise RuntimeError: remote procedure calls are not supported."""
    raise RuntimeError(_REFUSAL)

"""`Tensor.volatile` of PyTorch 0.2: results computed from a volatile tensor are volatile and do not require gradients."""

from __future__ import annotations

import functools
from typing import Any

from ..engine.tape.grad_mode import no_grad
from ..engine.tensors.tensor import Tensor

__all__ = ["reinforce", "volatile"]


@functools.cache
def _volatile_type() -> type[Tensor]:
    """Create the class of volatile tensors on first use: a subclass of Tensor takes 1 % of the import time."""

    class Volatile(Tensor):
        """A volatile tensor: results of operations that involve it are volatile and do not require grad."""

        __slots__ = ()

        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            with no_grad():
                return super().__torch_function__(func, types, args, kwargs)

    Volatile.__name__ = Volatile.__qualname__ = "Tensor"
    Volatile.__module__ = "flambeau"
    return Volatile


def _is_volatile(self: Tensor) -> bool:
    """Whether results of operations on the tensor do not require gradients, as under `no_grad`."""
    return type(self) is not Tensor and isinstance(self, _volatile_type())


def _set_volatile(self: Tensor, value: bool) -> None:
    if value != _is_volatile(self):
        self.__class__ = _volatile_type() if value else Tensor


volatile = property(_is_volatile, _set_volatile)


def reinforce(self: Tensor, reward: Any) -> None:
    """Raise RuntimeError: PyTorch removed this method.  The message names the replacement, `torch.distributions`.

    Args:
        reward: ignored.
    """
    raise RuntimeError(
        "reinforce() was removed.\nUse torch.distributions instead: sample from a Categorical, and compute the loss as "
        "-log_prob(sample) * reward."
    )

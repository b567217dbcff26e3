"""`torch._tensor`: the Tensor class, and private names of its pickles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..engine.devices.aliases import private_names
from ..engine.tensors.tensor import Tensor

__all__ = ["Tensor"]

__getattr__: Callable[[str], Any] = private_names(__name__)

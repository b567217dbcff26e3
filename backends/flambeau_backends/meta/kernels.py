"""Operations whose forward looks at data, or lays its result out otherwise than the CPU's kernel does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["KERNELS"]

KERNELS: dict[str, Callable[..., Any]] = {}

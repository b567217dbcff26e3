"""`torch._dynamo.compiled_autograd`: compilation of backward passes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["_enable"]


@contextmanager
def _enable(compiler_fn: Callable[..., Any], dynamic: bool = True, ignore_active_disable_ctx: bool = True) -> Iterator[None]:
    """Return a context that has no effect: backward passes in it run eagerly, with the same results."""
    yield

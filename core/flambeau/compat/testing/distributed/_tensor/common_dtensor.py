"""The base class of PyTorch's tests of `DTensor`, which run in several processes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .....engine.devices.aliases import private_names
from ...common_fsdp import FSDPTest

__all__ = ["DTensorTestBase", "with_comms"]

__getattr__: Callable[[str], Any] = private_names(__name__)


class DTensorTestBase(FSDPTest):
    """A test case that is skipped: its tests need several processes with a GPU each."""


def with_comms(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Decorator of a test that PyTorch runs inside a process group; it has no effect, because the test is skipped."""
    return function if function is not None else lambda test: test

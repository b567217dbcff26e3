"""`torch.testing._internal.common_fsdp`: the base class of PyTorch's tests of sharded training on several GPUs."""

from __future__ import annotations

from unittest import SkipTest

from .common_utils import TestCase

__all__ = ["FSDPTest"]


class FSDPTest(TestCase):
    """A test case that is skipped: its tests need several processes with a GPU each."""

    def setUp(self) -> None:
        raise SkipTest("needs several GPUs")

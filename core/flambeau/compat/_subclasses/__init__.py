"""Fake tensors: tensors with a shape, dtype and device, but without data.

>>> from flambeau.compat._subclasses import FakeTensorMode
>>> with FakeTensorMode():
...     torch.ones(2, 3, device="cuda:0") @ torch.ones(3, 4, device="cuda:0")
FakeTensor(..., device='cuda:0', size=(2, 4))
"""

from __future__ import annotations

from .fake_tensor import DynamicOutputShapeException, FakeTensor, FakeTensorMode, UnsupportedFakeTensorException

__all__ = ["DynamicOutputShapeException", "FakeTensor", "FakeTensorMode", "UnsupportedFakeTensorException"]

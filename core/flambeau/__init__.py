"""flambeau: the PyTorch API, in plain Python, on any array library.

>>> import flambeau as torch
>>> x = torch.tensor([1.0, 2.0], requires_grad=True)
>>> (x**2).sum().backward()
>>> x.grad
tensor([2., 4.])
"""

from __future__ import annotations

from . import autograd
from .autograd import forward_ad as _forward_ad
from . import ops as _ops
from . import creation as _creation
from .autograd import enable_grad, inference_mode, is_grad_enabled, is_inference_mode_enabled, no_grad, set_grad_enabled
from .devices import device, get_default_device, set_default_device
from .dtypes import (
    bfloat16, can_cast, cdouble, cfloat, complex64, complex128, double, dtype, finfo, float16, float32, float64,
    get_default_dtype, half, iinfo, int8, int16, int32, int64, long, promote_types, short, uint8, uint16, uint32, uint64,
)
from .dtypes import bool_ as bool
from .dtypes import float_ as float
from .dtypes import int_ as int
from .dispatch import broadcast_shapes
from .op import PUBLIC as _PUBLIC
from .parameter import Parameter as _Parameter
from .printing import set_printoptions
from .size import Size
from ._tensor import Tensor
from .version import __version__

globals().update(_PUBLIC)

"""Observers and fake quantization, for training and preparing models that will be quantized.

Quantized tensors and their kernels are not part of flambeau.
"""

from .fake_quantize import *
from .fake_quantize import __all__ as _of_fake_quantize
from .observer import *
from .observer import __all__ as _of_observer
from .qconfig import *
from .qconfig import __all__ as _of_qconfig
from .stubs import *
from .stubs import __all__ as _of_stubs

__all__ = [*_of_observer, *_of_fake_quantize, *_of_qconfig, *_of_stubs]

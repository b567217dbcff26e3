"""Networks that are to be quantized: what observes their numbers, and what rounds them in training as few integers would.

Tensors of integers with a scale, and the kernels for these, are not part of flambeau.
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

"""Observers and fake quantization, and layers with int8 weights: `quantize_dynamic`.

Quantized tensors are not part of flambeau.
"""

from .fake_quantize import *
from .fake_quantize import __all__ as _fake_quantize_names
from .observer import *
from .observer import __all__ as _observer_names
from .qconfig import *
from .qconfig import __all__ as _qconfig_names
from .quantize import *
from .quantize import __all__ as _quantize_names
from .stubs import *
from .stubs import __all__ as _stubs_names

__all__ = [*_observer_names, *_fake_quantize_names, *_qconfig_names, *_quantize_names, *_stubs_names]

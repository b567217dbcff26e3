"""`torchvision.transforms._functional_tensor`: programs import functions on tensors from this private module."""

from .functional import *  # noqa: F403
from .functional import __all__ as __all__

"""The transforms for whole samples: images together with their boxes and masks.

Boxes and masks are marked by the types of :mod:`flambeau_vision.tv_tensors`.
"""

from __future__ import annotations

from .. import AutoAugmentPolicy, InterpolationMode
from . import functional
from ._containers import *  # noqa: F403
from ._containers import __all__ as _containers
from ._more import *  # noqa: F403
from ._more import __all__ as _more
from ._same import *  # noqa: F403
from ._same import __all__ as _same
from ._samples import Transform

__all__ = ["AutoAugmentPolicy", "InterpolationMode", "Transform", "functional", *_containers, *_more, *_same]

"""Transforms of samples: images together with their boxes, points and masks.

Boxes, points and masks are tensors of the types in `flambeau_vision.tv_tensors`.
"""

from __future__ import annotations

from .. import AutoAugmentPolicy, InterpolationMode
from . import _augment, _batches, _boxes, _containers, _images, _queries, _same, _types, functional
from ._augment import *  # noqa: F403
from ._batches import *  # noqa: F403
from ._boxes import *  # noqa: F403
from ._containers import *  # noqa: F403
from ._images import *  # noqa: F403
from ._queries import *  # noqa: F403
from ._same import *  # noqa: F403
from ._samples import Transform
from ._types import *  # noqa: F403

__all__ = ["AutoAugmentPolicy", "InterpolationMode", "Transform", "functional"]
for _module in (_augment, _batches, _boxes, _containers, _images, _queries, _same, _types):
    __all__ += _module.__all__

"""Models, with published weights: of images here, and for parts of images in :mod:`.segmentation`, :mod:`.detection`."""

from __future__ import annotations

import importlib
from typing import Any

from . import (
    alexnet as _alexnet,
    convnext as _convnext,
)

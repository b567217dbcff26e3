"""Dropout: the draws, the scaling and the product in one loop, with PyTorch's stream of random numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from flambeau_backends.numpy import fill_order  # placeholder

from .choice import FLOAT, KERNELS, process
from .lazy import Lazy

loops = Lazy("loops.random")

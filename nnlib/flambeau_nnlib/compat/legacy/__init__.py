"""Neural networks and optimizers in the style of Lua Torch, for programs written before autograd.

`legacy.nn` has modules with `forward`, `backward` and `updateParameters`. `legacy.optim` has optimizers that are functions.
"""

from __future__ import annotations

from . import nn, optim

__all__ = ["nn", "optim"]

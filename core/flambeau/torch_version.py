"""`TorchVersion`, a version that compares with strings and tuples.  For libraries that look at PyTorch's version."""

from __future__ import annotations

from .version import TorchVersion, __version__

__all__ = ["TorchVersion", "__version__"]

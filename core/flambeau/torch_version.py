"""`torch.torch_version`: `TorchVersion`, a version string that compares with strings and tuples."""

from __future__ import annotations

from .version import TorchVersion, __version__

__all__ = ["TorchVersion", "__version__"]

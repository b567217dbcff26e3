"""`torch.utils.serialization`: the settings of `torch.save` and `torch.load`, in the module `config`."""

from __future__ import annotations

from . import config

__all__ = ["config"]

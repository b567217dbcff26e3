"""The functions of `torch.special` under the names that pickles of PyTorch contain."""

from __future__ import annotations

from .compiled_names import compiled_names

__all__: list[str] = []

__getattr__ = compiled_names("special")

"""Layers with quantized weights."""

from . import dynamic

__all__ = ["dynamic"]

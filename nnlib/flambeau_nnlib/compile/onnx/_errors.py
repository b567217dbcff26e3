"""Exceptions of `torch.onnx`."""

from __future__ import annotations

__all__ = ["OnnxExporterError"]


class OnnxExporterError(RuntimeError):
    """The program cannot be exported to ONNX."""

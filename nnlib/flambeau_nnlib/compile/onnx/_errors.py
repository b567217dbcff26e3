"""What `torch.onnx` raises."""

from __future__ import annotations

__all__ = ["OnnxExporterError"]


class OnnxExporterError(RuntimeError):
    """A program cannot be written as ONNX."""

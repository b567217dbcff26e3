"""The public module of `torch.onnx` exceptions."""

from __future__ import annotations

from ._errors import OnnxExporterError

__all__ = ["OnnxExporterError"]

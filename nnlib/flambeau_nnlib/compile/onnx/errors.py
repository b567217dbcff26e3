"""The public module of `torch.onnx` exceptions."""

from __future__ import annotations

from ._errors import OnnxExporterError, SymbolicValueError

__all__ = ["OnnxExporterError", "SymbolicValueError"]

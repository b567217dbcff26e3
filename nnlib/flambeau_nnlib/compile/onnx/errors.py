"""The exceptions of `torch.onnx`, where PyTorch has them."""

from __future__ import annotations

from ._errors import OnnxExporterError

__all__ = ["OnnxExporterError"]

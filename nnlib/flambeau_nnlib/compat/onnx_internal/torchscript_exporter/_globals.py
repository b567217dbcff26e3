"""Settings of the exporter."""

from __future__ import annotations

from types import SimpleNamespace

__all__ = ["GLOBALS"]

GLOBALS = SimpleNamespace(export_onnx_opset_version=20, operator_export_type=None, in_onnx_export=False, training_mode=None)

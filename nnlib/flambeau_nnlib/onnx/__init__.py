"""`torch.onnx`: models in the format of ONNX."""

from __future__ import annotations

from . import errors
from ._errors import OnnxExporterError
from ._exportable import ExportableModule, InputObserver
from ._program import ONNXProgram, export, is_in_onnx_export

__all__ = ["ExportableModule", "InputObserver", "ONNXProgram", "OnnxExporterError", "errors", "export", "is_in_onnx_export"]

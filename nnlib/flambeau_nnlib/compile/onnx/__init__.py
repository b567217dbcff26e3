"""`torch.onnx`: export models in the ONNX format.

`_program.export` exports a module with `torch.export`, and `_translation` translates the graph operator by operator with
`operators.TABLE`. Invariant: an operator without a translation raises an error that names it.
"""

from __future__ import annotations

from . import errors, symbolic_helper
from ._enums import OperatorExportTypes, TrainingMode
from ._errors import OnnxExporterError
from ._exportable import ExportableModule, InputObserver
from ._program import ONNXProgram, export, is_in_onnx_export
from ._symbolic import register_custom_op_symbolic, unregister_custom_op_symbolic

__all__ = [
    "ExportableModule", "InputObserver", "ONNXProgram", "OnnxExporterError", "OperatorExportTypes", "TrainingMode",
    "errors", "export", "is_in_onnx_export",
    "register_custom_op_symbolic", "symbolic_helper", "unregister_custom_op_symbolic",
]  # fmt: skip

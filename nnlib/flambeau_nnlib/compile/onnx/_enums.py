"""Options of PyTorch's former exporter, which programs name in calls of `torch.onnx.export`."""

from __future__ import annotations

from enum import IntEnum

__all__ = ["OperatorExportTypes", "TrainingMode"]


class TrainingMode(IntEnum):
    """Whether a model is exported in evaluation mode, in its present mode, or in training mode."""

    EVAL = 0
    PRESERVE = 1
    TRAINING = 2


class OperatorExportTypes(IntEnum):
    """Which operators an exported model may contain. Only ONNX operators are supported."""

    ONNX = 0
    ONNX_ATEN = 1
    ONNX_ATEN_FALLBACK = 2
    ONNX_FALLTHROUGH = 3

"""Exceptions of `torch.onnx`."""

from __future__ import annotations

from typing import Any

__all__ = ["OnnxExporterError", "SymbolicValueError"]


class OnnxExporterError(RuntimeError):
    """The program cannot be exported to ONNX."""


class SymbolicValueError(OnnxExporterError):
    """A symbolic function cannot use a value of the graph.

    Args:
        msg: the reason.
        value: the value of the graph.
    """

    def __init__(self, msg: str, value: Any) -> None:
        super().__init__(f"{msg}  [Caused by the value '{value.debugName()}' of the graph]")

"""Types in the annotations of symbolic functions."""

from __future__ import annotations

from flambeau_nnlib.compile.onnx._symbolic import _Graph as GraphContext

__all__ = ["GraphContext"]

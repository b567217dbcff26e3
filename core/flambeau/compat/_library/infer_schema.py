"""`infer_schema`, under the name that torchao imports."""

from __future__ import annotations

from ...library import infer_schema

__all__ = ["infer_schema"]

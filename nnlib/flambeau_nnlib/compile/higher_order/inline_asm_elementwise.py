"""`inline_asm_elementwise`: instructions of GPUs as an operator, which flambeau does not support."""

from __future__ import annotations

from typing import Any, NoReturn

__all__ = ["inline_asm_elementwise"]


def inline_asm_elementwise(*inputs: Any, **options: Any) -> NoReturn:
    """Raise RuntimeError: the instructions could only be compiled by PyTorch's compiler for GPUs."""
    raise RuntimeError("inline_asm_elementwise is not supported: flambeau does not compile GPU instructions")

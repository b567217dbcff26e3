"""Whether Triton's kernels can be compiled for what is there: they cannot, since flambeau's arrays are none of Triton's.

For transformers, torchao, flash-linear-attention, which have another way where they cannot.
"""

from __future__ import annotations

__all__ = ["has_triton", "has_triton_package"]


def has_triton_package() -> bool:
    """False."""
    return False


def has_triton() -> bool:
    """False."""
    return False

"""The rules for `out=`, which differ between PyTorch's operations."""

from __future__ import annotations

from enum import Flag, auto

__all__ = ["Out"]


class Out(Flag):
    """Rules for `out=`, combined by `|`.  Without rules, the result is cast to the dtype of `out` if that dtype can hold it.

    >>> Out.OWN_DTYPE in Out.OWN_DTYPE | Out.UNCHECKED
    True
    """

    OWN_DTYPE = auto()
    """`out` must have the result's dtype."""
    OWN_DTYPES = auto()
    """Each tensor of `out` must have the dtype of its result, for operations with several results."""
    SETS_DTYPE = auto()
    """If no `dtype` is given, the operation computes in the dtype of `out`."""
    CONVERTED = auto()
    """The result is converted to the dtype of `out`, whatever that is."""
    REAL = auto()
    """`out` must not be complex."""
    JOINED = auto()
    """`out` must not share memory with the inputs, and errors have the messages of `torch.cat`."""
    ROW_MAJOR = auto()
    """If `out` is resized, it becomes row-major instead of taking the result's order in memory."""
    RECORDED = auto()
    """Autograd records the copy of the result into `out`, so that inputs may require a gradient."""
    UNTRACKED = auto()
    """Inputs must not require a gradient, even if the operation is not differentiable."""
    UNKNOWN_TO_AUTOGRAD = auto()
    """Inputs and `out` may require a gradient, but `out` gets no history."""
    DISJOINT = auto()
    """`out` must not share memory with the inputs, and must not be an input itself."""
    DISJOINT_BUT_FIRST = auto()
    """`out` must not share memory with the inputs, but may be the first input itself."""
    UNCHECKED = auto()
    """`out` may share memory with the inputs: this is not checked."""

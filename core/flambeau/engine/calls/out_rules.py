"""What PyTorch lets `out=` of an operation be, which differs from one to the next."""

from __future__ import annotations

from enum import Flag, auto

__all__ = ["Out"]


class Out(Flag):
    """The rules for `out=`, combined by `|`; an operation that has none of them casts its result into any `out` that can hold it.

    >>> Out.OWN_DTYPE in Out.OWN_DTYPE | Out.UNCHECKED
    True
    """

    OWN_DTYPE = auto()
    """`out` must be of the result's dtype."""
    OWN_DTYPES = auto()
    """Likewise, where there are several results."""
    SETS_DTYPE = auto()
    """Where no `dtype` is given, the dtype of `out` is the one to compute in."""
    REAL = auto()
    """`out` must not be complex."""
    JOINED = auto()
    """The rules of `cat`: `out` may share no memory with the inputs, and refusals are worded as there."""
    ROW_MAJOR = auto()
    """An `out` that is resized lies in memory by rows, and not in the result's order."""
    RECORDED = auto()
    """The result is copied into `out` by a step that autograd records, so that inputs may require a gradient."""
    UNTRACKED = auto()
    """Inputs must not require a gradient, although the result could have none."""
    UNKNOWN_TO_AUTOGRAD = auto()
    """Nothing is asked about gradients, and none flow."""
    DISJOINT = auto()
    """`out` must not share memory with the inputs, not even all of it."""
    DISJOINT_BUT_FIRST = auto()
    """Likewise, but it may be the first input."""
    UNCHECKED = auto()
    """Nobody looks whether `out` shares memory with the inputs."""

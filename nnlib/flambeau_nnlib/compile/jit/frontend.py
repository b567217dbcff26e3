"""Errors for syntax that `torch.jit.script` does not support."""

from __future__ import annotations

__all__ = ["FrontendError", "NotSupportedError", "UnsupportedNodeError"]


class FrontendError(Exception):
    """Raised for source code that cannot be compiled. The message gives the source line.

    Args:
        msg: the message.
    """

    def __init__(self, msg: str) -> None:
        super().__init__(msg)
        self.msg = msg


class NotSupportedError(FrontendError):
    """Raised for a form of a statement or expression that is not supported, such as `for ... else`."""


class UnsupportedNodeError(NotSupportedError):
    """Raised for a kind of statement or expression that is not supported, such as `lambda`."""

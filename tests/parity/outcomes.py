"""What comes of a call, as far as flambeau and PyTorch have to agree."""

from __future__ import annotations

from flambeau.calls.arguments import NotATensor

__all__ = ["type_of"]


def type_of(error):
    """The type of an exception; TypeError for what is an AttributeError besides."""
    return TypeError if isinstance(error, NotATensor) else type(error)

"""Batching: ``vmap`` as a backend.

``arrays`` gives the array API for arrays with hidden dimensions, ``indexing`` their indexing, ``kinds`` the kinds of tensor that
are made of them and the way in and out, ``rules`` faster kernels for a few operations, and ``vmap`` the transform that users
call.
"""

from __future__ import annotations

from .vmap import vmap

__all__ = ["vmap"]

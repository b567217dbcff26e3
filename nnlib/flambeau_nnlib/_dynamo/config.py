"""Settings of PyTorch's compiler: programs may set them; nothing reads them."""

from __future__ import annotations

__all__ = ["cache_size_limit", "recompile_limit", "suppress_errors", "verbose"]

cache_size_limit = 8
recompile_limit = 8
suppress_errors = False
verbose = False

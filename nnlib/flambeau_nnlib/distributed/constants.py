"""Default timeouts of process groups."""

from __future__ import annotations

from datetime import timedelta

from .store import default_timeout as default_pg_timeout

__all__ = ["default_pg_nccl_timeout", "default_pg_timeout"]

default_pg_nccl_timeout: timedelta | None = None  # None, as in PyTorch when it is built without NCCL

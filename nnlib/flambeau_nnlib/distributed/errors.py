"""Exceptions of `torch.distributed`."""

from __future__ import annotations

__all__ = ["DistBackendError", "DistError", "DistNetworkError", "DistStoreError", "QueueEmptyError"]


class DistError(RuntimeError):
    """Base class of errors in communication between processes."""


class DistBackendError(DistError):
    """A collective failed."""


class DistNetworkError(DistError):
    """A connection failed."""


class DistStoreError(DistError):
    """A store did not answer within the timeout."""


class QueueEmptyError(DistStoreError):
    """A queue of a store is empty."""

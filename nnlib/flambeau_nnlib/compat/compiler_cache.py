"""`torch.compiler._cache`: the caches of PyTorch's compiler, which are always empty."""

from __future__ import annotations

from typing import Any

__all__ = ["CacheArtifactManager"]


class CacheArtifactManager:
    """The artifacts of the caches."""

    @classmethod
    def clear(cls) -> None:
        """Do nothing: there are no artifacts."""

    @classmethod
    def serialize(cls) -> None:
        """Return None: there are no artifacts."""

    @staticmethod
    def populate_caches(artifacts: Any) -> None:
        """Do nothing: there are no caches."""

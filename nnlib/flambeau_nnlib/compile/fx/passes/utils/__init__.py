"""What passes are made of."""

from __future__ import annotations

from .matcher_utils import InternalMatch, SubgraphMatcher

__all__ = ["InternalMatch", "SubgraphMatcher"]

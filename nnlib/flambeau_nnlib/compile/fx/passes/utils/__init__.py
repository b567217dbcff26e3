"""Utilities for graph transformations."""

from __future__ import annotations

from .matcher_utils import InternalMatch, SubgraphMatcher

__all__ = ["InternalMatch", "SubgraphMatcher"]

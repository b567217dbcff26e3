"""The pipe that shuffles, under the name by which accelerate imports it."""

from __future__ import annotations

from .pipes import ShufflerIterDataPipe

__all__ = ["ShufflerIterDataPipe"]

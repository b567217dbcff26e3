"""Launching the processes of a job from Python; see `run` for the command line."""

from __future__ import annotations

from .api import LaunchConfig, elastic_launch

__all__ = ["LaunchConfig", "elastic_launch"]

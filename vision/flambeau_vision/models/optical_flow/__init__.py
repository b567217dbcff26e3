"""Models for optical flow: the movement of each pixel between two images."""

from __future__ import annotations

from .raft import RAFT, Raft_Large_Weights, Raft_Small_Weights, raft_large, raft_small

__all__ = ["RAFT", "Raft_Large_Weights", "Raft_Small_Weights", "raft_large", "raft_small"]

"""Networks that find where each pixel of a picture has moved in the next."""

from __future__ import annotations

from .raft import RAFT, Raft_Large_Weights, Raft_Small_Weights, raft_large, raft_small

__all__ = ["RAFT", "Raft_Large_Weights", "Raft_Small_Weights", "raft_large", "raft_small"]

"""Algorithms on top of collectives: uneven inputs (`join`), communication hooks (`ddp_comm_hooks`)."""

from .join import Join, Joinable, JoinHook

__all__ = ["Join", "JoinHook", "Joinable"]

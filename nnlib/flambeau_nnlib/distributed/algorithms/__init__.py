"""Algorithms on top of collectives: uneven inputs (`join`), communication hooks (`ddp_comm_hooks`)."""

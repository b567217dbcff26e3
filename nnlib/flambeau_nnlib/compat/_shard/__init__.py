"""`torch.distributed._shard`: the sharded tensors that preceded `DTensor`."""

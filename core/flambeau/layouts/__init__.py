"""Tensors that are more than one strided array: sparse tensors, nested tensors, and subclasses of `Tensor`."""

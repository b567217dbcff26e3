"""Subclasses of Tensor: parameters, the legacy tensor types, volatile tensors."""

"""Tensors and the memory that they share."""

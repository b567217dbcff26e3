"""Tensors from shapes, ranges of numbers and data."""

"""Transformations of graphs of ATen operators."""

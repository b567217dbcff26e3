"""Transformations of graphs of ATen operators for all backends."""

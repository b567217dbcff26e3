"""Passes: transformations of graphs, and their order."""

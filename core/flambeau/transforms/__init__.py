"""Transforms of calls: forward mode, batching, lazy views.  They register the hooks of `calls.transform_hooks`."""

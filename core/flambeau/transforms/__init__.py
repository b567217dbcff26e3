"""Transforms of calls: forward mode, batches, conjugate views.  Each tells calls what it does, by `calls.transform_hooks`."""

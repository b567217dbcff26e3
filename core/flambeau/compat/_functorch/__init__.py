"""Where libraries look for the parts of `vmap`: `_functorch.vmap` is `transforms/batching/vmap.py`."""

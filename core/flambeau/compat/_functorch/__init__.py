"""`torch._functorch`, whose submodule `vmap` is implemented by `flambeau.transforms.batching.vmap`."""

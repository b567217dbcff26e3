"""Batching: `vmap` as a backend.

Rules: a batched tensor has the dispatch key of its dtype, device and levels, and its array hides the batch dimensions.  Every
forward function runs on such arrays, so that an operation needs no batching rule.  Batching rules only improve speed, and may
be added or removed.


- `levels`: the running calls of `vmap`;
- `arrays`, `indexing`: the array API, and indexing, for arrays with hidden batch dimensions;
- `keys`: the dispatch keys of batched tensors, and the operations by which tensors enter and leave a batch;
- `random`: random numbers inside `vmap`;
- `functions`: user-defined `Function`s inside the transforms;
- `rules`: faster kernels for a few operations;
- `loops`: calling a function for each member of a batch;
- `vmap`: the transform that users call.
"""

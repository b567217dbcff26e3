"""Batching: `vmap` as a backend.

`levels` knows the calls of `vmap` that are going on.  `arrays` gives the array API for arrays with hidden dimensions,
`indexing` their indexing, `keys` the dispatch keys of the tensors that are made of them and the way in and out, `random` random
numbers for them, `functions` what becomes of a user's `Function`, `rules` faster kernels for a few operations, and
`vmap` the transform that users call.
"""

"""Tensors and their shared memory.

Entry points: `tensor.Tensor`, `tensor.wrap` (wraps an array as a tensor) and `storage.Storage` (the version counter and the
views of one block of memory).  Must stay true: a tensor has an array, a dispatch key and a node of the graph, in slots; neither
`Tensor` nor `Node` has a `__getattr__`, which would slow every access.  The operations, in a higher layer, attach the methods
that compute.
"""

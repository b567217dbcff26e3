"""Tensors and their shared memory.

Entry points: `tensor.Tensor`, `tensor.wrap` (wraps an array as a tensor) and `storage.Storage` (the version counter and the
views of one memory).  Must stay true: a tensor is an array, a dispatch key and a node of the graph, in slots; neither `Tensor`
nor `Node` has a `__getattr__`, which would slow every access.  Methods that compute are attached by the operations, in a higher
layer.
"""

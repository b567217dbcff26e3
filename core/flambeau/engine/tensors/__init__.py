"""Tensors and the memory that they share.

Entry points: `tensor.Tensor`, `tensor.wrap` (a tensor on an array) and `storage.Storage` (a version counter and the views of
one memory).  Must stay true: a tensor is an array, a dispatch key and a place in the graph, in slots; neither `Tensor` nor
`Node` has a `__getattr__`, which would slow every access.  Operations attach methods from above; none is written here.
"""

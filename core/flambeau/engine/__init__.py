"""The base of all operations: values, devices, the tape, tensors and calls.

The five packages form layers, from the bottom: `values` (dtypes, sizes, trees; no arrays), `devices` (backends, plugins, kernel
tables; no tensors), `tape` (the recorded graph and the engine that runs it backwards; no operations), `tensors` (`Tensor` and
`Storage`), `calls` (the operation record and how a call is made; no particular operation).

Must stay true: a package imports only packages before it in this list, and nothing in `engine` imports an operation.  Upper
layers register functions with lower ones at import.
"""

"""Subclasses of `Tensor`: parameters, the legacy tensor types, and wrapper subclasses.

Must stay true: `Parameter` and `Buffer` take the fast path like a plain tensor; wrapper subclasses (`wrappers`) never do, and
`__torch_dispatch__` computes their operations below autograd.
"""

"""Tensors that are more than one strided array: sparse tensors, nested tensors, and subclasses of `Tensor`.

Entry points: `sparse`, `nested` and `subclasses`.  Must stay true: calls on dense tensors get no slower.  The classes of these
tensors are not in `FAST`, so calls reach `__torch_function__` or `dispatch`, which finds an implementation by the operation's
name or facts (`engine.calls.facts`).  Implementations use recorded operations on dense tensors, so that autograd differentiates
them.
"""

"""Tensors that are more than one strided array: sparse tensors, nested tensors, and subclasses of `Tensor`.

Entry points: `sparse`, `nested` and `subclasses`.  Must stay true: dense calls pay nothing for them.  Their classes are not in
`FAST`, so calls reach `__torch_function__` or `dispatch`, which finds an implementation by name or by the facts about an
operation (`engine.calls.facts`).  Implementations are written with recorded operations on dense tensors, so that derivatives
follow.
"""

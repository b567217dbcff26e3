"""`TransformGetItemToIndex`, which lets mask functions index tensors with tensors inside `vmap`."""

from __future__ import annotations

from flambeau.overrides import TorchFunctionMode

__all__ = ["TransformGetItemToIndex"]


class TransformGetItemToIndex(TorchFunctionMode):
    """Context manager in which `x[i]` works with a tensor `i` inside `vmap`. It always does here; transformers imports this
    name.

    >>> from flambeau._dynamo._trace_wrapped_higher_order_op import TransformGetItemToIndex
    >>> mask = torch.tensor([True, False, True])
    >>> with TransformGetItemToIndex():
    ...     torch.vmap(lambda i: mask[i])(torch.tensor([2, 1]))
    tensor([ True, False])
    """

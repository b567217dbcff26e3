"""What makes tensors that are indices stay tensors, for masks that are functions of places."""

from __future__ import annotations

from flambeau.overrides import TorchFunctionMode

__all__ = ["TransformGetItemToIndex"]


class TransformGetItemToIndex(TorchFunctionMode):
    """A context in which `x[i]` with tensors as indices works inside of `vmap`: it always does here.  For transformers.

    >>> from flambeau._dynamo._trace_wrapped_higher_order_op import TransformGetItemToIndex
    >>> mask = torch.tensor([True, False, True])
    >>> with TransformGetItemToIndex():
    ...     torch.vmap(lambda i: mask[i])(torch.tensor([2, 1]))
    tensor([ True, False])
    """

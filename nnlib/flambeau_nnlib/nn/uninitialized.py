"""The parameters and buffers of lazy modules, which have no shape before the first input.  Imported when first used."""

from __future__ import annotations

import flambeau as torch

from .parameter import Parameter, UninitializedTensorMixin

__all__ = ["UninitializedBuffer", "UninitializedParameter"]


class UninitializedParameter(UninitializedTensorMixin, Parameter):  # type: ignore[misc]  # both bases define `__torch_function__`
    """A parameter of a lazy module, whose shape is not known before the first input.

    It can be moved and cast; other operations raise ValueError until `materialize(shape)` makes it an ordinary
    `Parameter`.

    Args:
        requires_grad: whether the parameter is to be trained.
        device, dtype: device and dtype of the tensor once it is materialized; None for the defaults.

    Example:
        >>> weight = torch.nn.UninitializedParameter()
        >>> weight.materialize((2, 3))
        >>> type(weight).__name__, weight.shape
        ('Parameter', torch.Size([2, 3]))
    """

    cls_to_become = Parameter

    def __new__(
        cls, requires_grad: bool = True, device: torch.device | str | None = None, dtype: torch.dtype | None = None
    ) -> UninitializedParameter:
        parameter: UninitializedParameter = super().__new__(cls, torch.empty(0, device=device, dtype=dtype), requires_grad)
        return parameter


class UninitializedBuffer(UninitializedTensorMixin, torch.Tensor):
    """A buffer of a lazy module, whose shape is not known before the first input.

    It can be moved and cast; other operations raise ValueError until `materialize(shape)` makes it an ordinary tensor.

    Args:
        requires_grad: whether gradients are recorded for the buffer.
        device, dtype: device and dtype of the tensor once it is materialized; None for the defaults.
        persistent: whether the buffer is saved in the `state_dict` of its module.

    Example:
        >>> mean = torch.nn.UninitializedBuffer()
        >>> mean.materialize((3,))
        >>> type(mean).__name__, mean.shape
        ('Tensor', torch.Size([3]))
    """

    cls_to_become = torch.Tensor
    persistent: bool
    _is_buffer: bool

    def __new__(
        cls,
        requires_grad: bool = False,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
        persistent: bool = True,
    ) -> UninitializedBuffer:
        buffer: UninitializedBuffer = torch.empty(0, device=device, dtype=dtype).as_subclass(cls)
        buffer.requires_grad_(requires_grad)
        buffer.persistent = persistent
        buffer._is_buffer = True
        return buffer

"""Float32 copies of the weights of linear layers, for inference in float16 and bfloat16 on NumPy alone."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeVar

import flambeau as torch
from flambeau import Tensor

from .. import functional as F
from ..modules.linear import Linear
from ..modules.module import Module

__all__ = ["cache_float32_weights"]

Model = TypeVar("Model", bound=Module)


def cache_float32_weights(model: Model, enabled: bool = True) -> Model:
    """Let the linear layers of a model keep float32 copies of their weights in float16 or bfloat16, for inference.

    Without a kernel pack, a product with such a weight converts it to float32 at each call.  With copies, a call without
    gradients converts only its input and its output.  The results equal those of the layers, up to the order of sums.

    A copy takes 4 bytes per weight, in addition to the 2 bytes of the weight itself: the layers need three times the memory.
    It is made at the first call, is not part of the state dict, and is replaced after the weight has been modified or replaced.
    Only changes in place of `weight.data` are not noticed.

    Args:
        model: a module; its layers whose type is `torch.nn.Linear` are changed in place.
        enabled: False removes the copies.

    Returns:
        the model.

    Example:
        >>> model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.ReLU()).to(torch.bfloat16)
        >>> with torch.inference_mode():
        ...     print(cache_float32_weights(model)(torch.ones(1, 3, dtype=torch.bfloat16)).dtype)
        torch.bfloat16
    """
    for module in model.modules():
        if type(module) is Linear and enabled:
            module.__class__ = _LinearWithCopies
        elif type(module) is _LinearWithCopies and not enabled:
            module.__class__ = Linear  # type: ignore[assignment]  # the class before
            module.__dict__.pop("_copies", None)
    return model


class _Copies(NamedTuple):
    """Float32 copies of a weight and a bias, and the values that were copied."""

    states: list[Any]  # identity, version and address of the parameters when they were copied
    memory: list[Tensor]  # the copied values: while they exist, no other tensor has their address
    weight: Tensor
    bias: Tensor | None


def _state(parameter: Tensor | None) -> Any:
    return None if parameter is None else (id(parameter), parameter._version, parameter.data_ptr())


class _LinearWithCopies(Linear):
    """A `Linear` that computes with float32 copies of its parameters if no gradients are recorded."""

    _copies: _Copies | None = None

    def forward(self, input: Tensor) -> Tensor:
        weight, bias = self.weight, self.bias
        if weight.dtype not in (torch.float16, torch.bfloat16):
            self.__dict__.pop("_copies", None)
            return super().forward(input)
        if input.dtype != weight.dtype or torch.is_grad_enabled() or torch.is_autocast_enabled(input.device.type):
            return super().forward(input)
        copies, states = self._copies, [_state(weight), _state(bias)]
        if copies is None or copies.states != states:
            values = [parameter.detach() for parameter in (weight, bias) if parameter is not None]
            singles = [value.float() for value in values]
            self.__dict__["_copies"] = copies = _Copies(states, values, singles[0], None if bias is None else singles[1])
        return F.linear(input.float(), copies.weight, copies.bias).to(weight.dtype)

    def _get_name(self) -> str:
        return "Linear"

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in super().__getstate__().items() if name != "_copies"}

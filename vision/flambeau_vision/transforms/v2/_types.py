"""Transforms from one type to another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import flambeau as torch

from ..._extras import is_pil_image
from . import functional as F
from ._samples import Transform, map_sample

__all__ = [
    "Identity",
    "Lambda",
    "PILToTensor",
    "ToDtype",
    "ToImage",
    "ToPILImage",
    "ToPureTensor",
    "ToTensor",
]


class Identity(Transform):
    """Everything as it is."""

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return inpt


class Lambda(Transform):
    """Apply a function of one's own to the inputs of the given types (all of them by default)."""

    def __init__(self, lambd: Callable, *types: type) -> None:
        super().__init__()
        self.lambd = lambd
        self.types = types or (object,)

    def forward(self, *inputs: Any) -> Any:
        sample = inputs if len(inputs) > 1 else inputs[0]
        return map_sample(lambda leaf: self.lambd(leaf) if isinstance(leaf, self.types) else leaf, sample)


class PILToTensor(Transform):
    """PIL images as plain tensors, their values unchanged."""

    kinds = ()

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return F.pil_to_tensor(inpt) if is_pil_image(inpt) else inpt


class ToDtype(Transform):
    """Change the dtype, and with `scale` the values of images.

    Args:
        dtype: the dtype of images and plain tensors; or a dict from type to dtype, with `"others"` for the rest and
            None for no change.
        scale: scale floats to 0 to 1, integers to 0 to their largest.
    """

    def __init__(self, dtype: torch.dtype | dict[Any, torch.dtype | None], scale: bool = False) -> None:
        super().__init__()
        self.dtype = dtype
        self.scale = scale

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        if isinstance(self.dtype, dict):
            dtype = self.dtype.get(type(inpt), self.dtype.get("others"))
        else:
            dtype = None if isinstance(inpt, self.kinds) else self.dtype
        return inpt if dtype is None or is_pil_image(inpt) else F.to_dtype(inpt, dtype, self.scale)

    def extra_repr(self) -> str:
        return f"dtype={self.dtype}, scale={self.scale}"


def _is_array(value: Any) -> bool:
    return (
        hasattr(value, "__array_interface__")
        and not isinstance(value, torch.Tensor)
        and not is_pil_image(value)
    )


class ToImage(Transform):
    """PIL images, arrays and plain tensors as `flambeau_vision.tv_tensors.Image`, their values unchanged."""

    kinds = ()

    def forward(self, *inputs: Any) -> Any:
        # Arrays are images here and nowhere else.
        converted = map_sample(lambda leaf: F.to_image(leaf) if _is_array(leaf) else leaf, inputs)
        return super().forward(*converted)

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return F.to_image(inpt)


class ToPILImage(Transform):
    """Image tensors as PIL images, in `mode` where given."""

    kinds = ()

    def __init__(self, mode: str | None = None) -> None:
        super().__init__()
        self.mode = mode

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return inpt if is_pil_image(inpt) else F.to_pil_image(F.to_pure_tensor(inpt), self.mode)

    def extra_repr(self) -> str:
        return "" if self.mode is None else f"mode={self.mode}"


class ToPureTensor(Transform):
    """Tensors with a meaning as plain tensors."""

    def forward(self, *inputs: Any) -> Any:
        sample = inputs if len(inputs) > 1 else inputs[0]
        return map_sample(
            lambda leaf: F.to_pure_tensor(leaf) if isinstance(leaf, torch.Tensor) else leaf, sample
        )


class ToTensor(Transform):
    """PIL images as plain floating tensors with values from 0 to 1, as the first version had it."""

    kinds = ()

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        if not is_pil_image(inpt):
            return inpt
        return F.to_dtype(F.pil_to_tensor(inpt), torch.float32, scale=True)

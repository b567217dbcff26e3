"""How numbers are mapped to few integers: the schemes that observers and fake quantization are told."""

from __future__ import annotations

from typing import Final

__all__ = [
    "per_channel_affine", "per_channel_affine_float_qparams", "per_channel_symmetric", "per_tensor_affine",
    "per_tensor_symmetric", "qscheme",
]  # fmt: skip


class qscheme:
    """A scale and a zero point for a whole tensor, or for each of its channels; the latter 0 in symmetric schemes."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return f"torch.{self._name}"

    def __reduce__(self) -> str:
        return self._name


per_tensor_affine: Final = qscheme("per_tensor_affine")
per_tensor_symmetric: Final = qscheme("per_tensor_symmetric")
per_channel_affine: Final = qscheme("per_channel_affine")
per_channel_symmetric: Final = qscheme("per_channel_symmetric")
per_channel_affine_float_qparams: Final = qscheme("per_channel_affine_float_qparams")

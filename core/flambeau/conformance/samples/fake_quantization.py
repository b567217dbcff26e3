"""Rounding to the numbers that a few integers represent."""

from __future__ import annotations

from typing import Any

from .sample import Sample, fixed

__all__ = ["SAMPLES"]

_ON_BOTH_SIDES = fixed([[-3.1, -0.6, 0.1], [0.6, 2.2, 9.0]])


def _by_channel(torch: Any, x: Any) -> Any:
    scale, zero_point = (torch.full((2,), value, device=x.device) for value in (0.25, 2.0))
    return torch.fake_quantize_per_channel_affine(x, scale, zero_point, 0, -4, 11)


def _fake_quantized(np: Any, x: Any) -> Any:
    return (np.clip(np.rint(x / 0.25) + 2, -4, 11) - 2) * 0.25


SAMPLES = [
    Sample("fake_quantize_per_tensor_affine", lambda torch, x: torch.fake_quantize_per_tensor_affine(x, 0.25, 2, -4, 11),
           [_ON_BOTH_SIDES], _fake_quantized, grad=False),
    Sample("fake_quantize_per_channel_affine", _by_channel, [_ON_BOTH_SIDES], _fake_quantized, grad=False),
]  # fmt: skip

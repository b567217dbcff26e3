"""Fake quantization for training: round values like integers with a scale; gradients pass through (Jacob et al. 2018)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import flambeau as torch
from flambeau import Tensor

from ...nn.modules.module import Module
from .constructor import Constructible
from .observer import (
    PER_CHANNEL,
    PER_TENSOR,
    SYMMETRIC,
    FixedQParamsObserver,
    MovingAverageMinMaxObserver,
    MovingAveragePerChannelMinMaxObserver,
    default_affine_fixed_qparams_observer,
    default_symmetric_fixed_qparams_observer,
    resize_to_saved,
)

__all__ = [
    "FakeQuantize", "FakeQuantizeBase", "FixedQParamsFakeQuantize", "FusedMovingAvgObsFakeQuantize",
    "default_affine_fixed_qparams_fake_quant", "default_dynamic_fake_quant", "default_fake_quant",
    "default_fixed_qparams_range_0to1_fake_quant", "default_fixed_qparams_range_neg1to1_fake_quant",
    "default_fused_act_fake_quant", "default_fused_per_channel_wt_fake_quant", "default_fused_wt_fake_quant",
    "default_per_channel_weight_fake_quant", "default_symmetric_fixed_qparams_fake_quant", "default_weight_fake_quant",
    "disable_fake_quant", "disable_observer", "enable_fake_quant", "enable_observer",
    "fused_per_channel_wt_fake_quant_range_neg_127_to_127", "fused_wt_fake_quant_range_neg_127_to_127",
]  # fmt: skip


class FakeQuantizeBase(Constructible, ABC, Module):
    """Base class of fake quantizations: an observer and a rounding, which can be enabled separately."""

    fake_quant_enabled: Tensor
    observer_enabled: Tensor

    def __init__(self) -> None:
        super().__init__()
        # buffers, so that distributed training synchronizes them across processes
        self.register_buffer("fake_quant_enabled", torch.tensor([1], dtype=torch.uint8))
        self.register_buffer("observer_enabled", torch.tensor([1], dtype=torch.uint8))

    @abstractmethod
    def forward(self, x: Tensor) -> Tensor:
        """Observe and round `x`, if enabled."""

    @abstractmethod
    def calculate_qparams(self, **kwargs: Any) -> Any:
        """Compute the scale and the zero point from the observed tensors."""

    def enable_fake_quant(self, enabled: bool = True) -> None:
        """Enable or disable rounding."""
        self.fake_quant_enabled[0] = int(enabled)

    def disable_fake_quant(self) -> None:
        """Disable rounding: inputs are returned unchanged."""
        self.enable_fake_quant(False)

    def enable_observer(self, enabled: bool = True) -> None:
        """Enable or disable the observer."""
        self.observer_enabled[0] = int(enabled)

    def disable_observer(self) -> None:
        """Disable the observer: the scale no longer changes."""
        self.enable_observer(False)


class FakeQuantize(FakeQuantizeBase):
    """Round values to multiples of a scale that an observer determines.

    Args:
        observer: the constructor of the observer.
        quant_min, quant_max: the minimum and maximum integer.
        is_dynamic: whether the scale is computed separately for each tensor.
        observer_kwargs: further arguments of the observer.

    Example:
        >>> rounding = torch.ao.quantization.FakeQuantize(quant_min=0, quant_max=15)
        >>> rounding(torch.tensor([0.0, 0.52, 1.5]))
        tensor([0.0000, 0.5000, 1.5000])
    """

    scale: Tensor
    zero_point: Tensor

    def __init__(
        self,
        observer: Any = MovingAverageMinMaxObserver,
        quant_min: int | None = None,
        quant_max: int | None = None,
        is_dynamic: bool = False,
        **observer_kwargs: Any,
    ) -> None:
        super().__init__()
        if quant_min is not None and quant_max is not None:
            given = {**getattr(getattr(observer, "p", None), "keywords", {}), **observer_kwargs}
            _check_range(quant_min, quant_max, given.get("dtype", torch.quint8))
            observer_kwargs.update(quant_min=quant_min, quant_max=quant_max)
        observed = self.activation_post_process = observer(**observer_kwargs, is_dynamic=is_dynamic)
        if observed.qscheme not in PER_TENSOR + PER_CHANNEL:
            raise AssertionError(
                "Only per channel and per tensor quantization are supported in fake quantize got qscheme: "
                + str(observed.qscheme)
            )
        self.quant_min, self.quant_max, self.is_dynamic = observed.quant_min, observed.quant_max, observed.is_dynamic
        self.dtype, self.qscheme, self.ch_axis = observed.dtype, observed.qscheme, getattr(observed, "ch_axis", -1)
        self.is_per_channel = self.qscheme in PER_CHANNEL
        floating = self.qscheme is torch.per_channel_affine_float_qparams
        self.register_buffer("scale", torch.tensor([1.0]))
        self.register_buffer("zero_point", torch.tensor([0], dtype=torch.float if floating else torch.int))

    def calculate_qparams(self) -> tuple[Tensor, Tensor]:  # type: ignore[override]
        found: tuple[Tensor, Tensor] = self.activation_post_process.calculate_qparams()
        return found

    def _compute_qparams(self) -> tuple[Tensor, Tensor]:
        """Compute the scale and the zero point for rounding."""
        return self.calculate_qparams()

    def forward(self, x: Tensor) -> Tensor:
        if self.observer_enabled[0] == 1:
            self.activation_post_process(x.detach())
            for buffer, found in zip((self.scale, self.zero_point), self._compute_qparams(), strict=True):
                buffer.resize_(found.shape).copy_(found)
        if self.fake_quant_enabled[0] != 1:
            return x
        integers = self.activation_post_process.quant_min, self.activation_post_process.quant_max
        rounded: Tensor
        if self.is_per_channel:
            rounded = torch.fake_quantize_per_channel_affine(x, self.scale, self.zero_point, self.ch_axis, *integers)
        else:
            rounded = torch.fake_quantize_per_tensor_affine(x, self.scale, self.zero_point, *integers)
        return rounded

    def extra_repr(self) -> str:
        return (
            f"fake_quant_enabled={self.fake_quant_enabled}, observer_enabled={self.observer_enabled}, "
            f"quant_min={self.quant_min}, quant_max={self.quant_max}, "
            f"dtype={self.dtype}, qscheme={self.qscheme}, ch_axis={self.ch_axis}, "
            f"scale={self.scale}, zero_point={self.zero_point}"
        )

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *args: Any) -> None:
        resize_to_saved(self, ("scale", "zero_point"), state_dict, prefix)
        super()._load_from_state_dict(state_dict, prefix, *args)


def _check_range(quant_min: int, quant_max: int, dtype: Any) -> None:
    if quant_min > quant_max:
        raise AssertionError("quant_min must be less than or equal to quant_max")
    if torch.iinfo(dtype).min > quant_min:
        raise AssertionError("quant_min out of bound")
    if torch.iinfo(dtype).max < quant_max:
        raise AssertionError("quant_max out of bound")


class FixedQParamsFakeQuantize(FakeQuantize):
    """Round values to multiples of a fixed scale.

    Args:
        observer: the constructor of a `FixedQParamsObserver`.
    """

    def __init__(self, observer: Any) -> None:
        super().__init__(observer=observer)
        if type(self.activation_post_process) is not FixedQParamsObserver:
            raise AssertionError(f"{type(self).__name__}'s observer must be a FixedQParamsObserver")
        self.scale, self.zero_point = self.activation_post_process.scale, self.activation_post_process.zero_point

    def extra_repr(self) -> str:
        return (
            f"fake_quant_enabled={self.fake_quant_enabled}, observer_enabled={self.observer_enabled}, "
            f"scale={self.scale}, zero_point={self.zero_point}, "
            f"dtype={self.dtype}, quant_min={self.quant_min}, quant_max={self.quant_max}, qscheme={self.qscheme}"
        )


class FusedMovingAvgObsFakeQuantize(FakeQuantize):
    """`FakeQuantize` with a moving-average observer. Scales are computed as in `fused_moving_avg_obs_fake_quant`.

    Args:
        observer: the constructor of a `MovingAverageMinMaxObserver` or `MovingAveragePerChannelMinMaxObserver`.
        quant_min, quant_max: the minimum and maximum integer.
        observer_kwargs: further arguments of the observer.
    """

    def __init__(
        self, observer: Any = MovingAverageMinMaxObserver, quant_min: int = 0, quant_max: int = 255, **observer_kwargs: Any
    ) -> None:
        super().__init__(observer, quant_min, quant_max, **observer_kwargs)
        moving = (MovingAverageMinMaxObserver, MovingAveragePerChannelMinMaxObserver)
        if not isinstance(self.activation_post_process, moving):
            raise AssertionError("Fused observer+fake_quant module only works with MovingAverageMinMaxObserver")
        self.register_buffer("fake_quant_enabled", torch.tensor([1]))
        self.register_buffer("observer_enabled", torch.tensor([1]))
        self.is_symmetric_quant = self.qscheme in SYMMETRIC

    def _compute_qparams(self) -> tuple[Tensor, Tensor]:
        observed = self.activation_post_process
        return _range_to_qparams(observed.min_val, observed.max_val, self.quant_min, self.quant_max, self.is_symmetric_quant)

    def extra_repr(self) -> str:
        return (
            f"fake_quant_enabled={self.fake_quant_enabled}, observer_enabled={self.observer_enabled}, "
            f"scale={self.scale}, zero_point={self.zero_point}, dtype={self.dtype}, "
            f"quant_min={self.quant_min}, quant_max={self.quant_max}, "
            f"qscheme={self.qscheme}, reduce_range={self.activation_post_process.reduce_range}"
        )


_MIN_SCALE = 6.1e-5  # about the smallest normal float16, so that 1 / scale is finite in float16 kernels


def _range_to_qparams(min_val: Tensor, max_val: Tensor, quant_min: int, quant_max: int, symmetric: bool) -> tuple[Tensor, Tensor]:
    """Compute a scale and zero point that cover the range and represent 0 exactly.

    If `symmetric`, only ranges that contain both negative and positive values are treated symmetrically.
    """
    steps, half_steps = quant_max - quant_min, (quant_max - quant_min) // 2
    low, high = min_val.double().reshape(-1), max_val.double().reshape(-1)
    is_symmetric = (low < 0) & (high > 0) if symmetric else torch.zeros_like(low, dtype=torch.bool)
    largest = torch.max(low / -(half_steps + 1), high / half_steps)
    low = torch.where(is_symmetric, largest * -(half_steps + 1), low).float().double().clamp(max=0)
    high = torch.where(is_symmetric, largest * half_steps, high).float().double().clamp(min=0)
    scale = (high - low) / steps
    scale = torch.where(scale.float() == 0, torch.full_like(scale, 0.1), scale)
    widening = scale.clamp(min=_MIN_SCALE) / scale
    scale, low, high = scale * widening, low * widening, high * widening
    from_low, from_high = quant_min - low / scale, quant_max - high / scale
    low_is_nearer = abs(quant_min) - (low / scale).abs() < abs(quant_max) - (high / scale).abs()
    zero_point = torch.where(low_is_nearer, from_low, from_high)
    zero_point = torch.where(is_symmetric, torch.full_like(zero_point, (quant_min + quant_max) / 2), zero_point)
    return scale.float(), zero_point.clamp(quant_min, quant_max).round().to(torch.int)


# --- default fake quantizations -----------------------------------------------------------------------------------

_UINT8_ARGS = {"quant_min": 0, "quant_max": 255, "dtype": torch.quint8}
_INT8_ARGS = {"quant_min": -128, "quant_max": 127, "dtype": torch.qint8}
_SYMMETRIC_INT8_ARGS = {"quant_min": -127, "quant_max": 127, "dtype": torch.qint8, "eps": 2**-12}
_OBSERVER, _PER_CHANNEL_OBSERVER = MovingAverageMinMaxObserver, MovingAveragePerChannelMinMaxObserver
_PER_TENSOR_SYMMETRIC, _PER_CHANNEL_SYMMETRIC = torch.per_tensor_symmetric, torch.per_channel_symmetric

default_fake_quant = FakeQuantize.with_args(observer=_OBSERVER, **_UINT8_ARGS, qscheme=torch.per_tensor_affine, reduce_range=True)
default_weight_fake_quant = FakeQuantize.with_args(
    observer=_OBSERVER, **_INT8_ARGS, qscheme=_PER_TENSOR_SYMMETRIC, reduce_range=False
)
default_dynamic_fake_quant = FakeQuantize.with_args(observer=_OBSERVER, **_UINT8_ARGS, is_dynamic=True, averaging_constant=1)
default_per_channel_weight_fake_quant = FakeQuantize.with_args(
    observer=_PER_CHANNEL_OBSERVER, **_INT8_ARGS, qscheme=_PER_CHANNEL_SYMMETRIC, reduce_range=False, ch_axis=0
)
default_symmetric_fixed_qparams_fake_quant = FixedQParamsFakeQuantize.with_args(observer=default_symmetric_fixed_qparams_observer)
default_affine_fixed_qparams_fake_quant = FixedQParamsFakeQuantize.with_args(observer=default_affine_fixed_qparams_observer)
default_fixed_qparams_range_neg1to1_fake_quant = default_symmetric_fixed_qparams_fake_quant
default_fixed_qparams_range_0to1_fake_quant = default_affine_fixed_qparams_fake_quant
default_fused_act_fake_quant = FusedMovingAvgObsFakeQuantize.with_args(observer=_OBSERVER, **_UINT8_ARGS)
default_fused_wt_fake_quant = FusedMovingAvgObsFakeQuantize.with_args(
    observer=_OBSERVER, **_INT8_ARGS, qscheme=_PER_TENSOR_SYMMETRIC
)
default_fused_per_channel_wt_fake_quant = FusedMovingAvgObsFakeQuantize.with_args(
    observer=_PER_CHANNEL_OBSERVER, **_INT8_ARGS, qscheme=_PER_CHANNEL_SYMMETRIC
)
fused_wt_fake_quant_range_neg_127_to_127 = FusedMovingAvgObsFakeQuantize.with_args(
    observer=_OBSERVER, **_SYMMETRIC_INT8_ARGS, qscheme=_PER_TENSOR_SYMMETRIC
)
fused_per_channel_wt_fake_quant_range_neg_127_to_127 = FusedMovingAvgObsFakeQuantize.with_args(
    observer=_PER_CHANNEL_OBSERVER, **_SYMMETRIC_INT8_ARGS, qscheme=_PER_CHANNEL_SYMMETRIC
)


def disable_fake_quant(mod: Module) -> None:
    """Disable rounding of a fake quantization. Apply to a model with `model.apply(disable_fake_quant)`."""
    if isinstance(mod, FakeQuantizeBase):
        mod.disable_fake_quant()


def enable_fake_quant(mod: Module) -> None:
    """Enable rounding of a fake quantization. Apply to a model with `model.apply(enable_fake_quant)`."""
    if isinstance(mod, FakeQuantizeBase):
        mod.enable_fake_quant()


def disable_observer(mod: Module) -> None:
    """Disable the observer of a fake quantization. Apply to a model with `model.apply(disable_observer)`."""
    if isinstance(mod, FakeQuantizeBase):
        mod.disable_observer()


def enable_observer(mod: Module) -> None:
    """Enable the observer of a fake quantization. Apply to a model with `model.apply(enable_observer)`."""
    if isinstance(mod, FakeQuantizeBase):
        mod.enable_observer()

"""Observers: modules that record the range of tensors and compute the scale and zero point of their quantization."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from typing import Any

import flambeau as torch
from flambeau import Tensor

from ...nn.modules.module import Module
from .constructor import Constructible

__all__ = [
    "FixedQParamsObserver", "MinMaxObserver", "MovingAverageMinMaxObserver", "MovingAveragePerChannelMinMaxObserver",
    "NoopObserver", "ObserverBase", "PerChannelMinMaxObserver", "PlaceholderObserver", "UniformQuantizationObserverBase",
    "default_affine_fixed_qparams_observer", "default_dynamic_quant_observer", "default_fixed_qparams_range_0to1_observer",
    "default_fixed_qparams_range_neg1to1_observer", "default_observer", "default_per_channel_weight_observer",
    "default_placeholder_observer", "default_symmetric_fixed_qparams_observer", "default_weight_observer",
    "per_channel_weight_observer_range_neg_127_to_127", "weight_observer_range_neg_127_to_127",
]  # fmt: skip

PER_TENSOR = (torch.per_tensor_affine, torch.per_tensor_symmetric)
PER_CHANNEL = (torch.per_channel_affine, torch.per_channel_symmetric, torch.per_channel_affine_float_qparams)
SYMMETRIC = (torch.per_tensor_symmetric, torch.per_channel_symmetric)
_EPS = torch.finfo(torch.float32).eps
_NOT_OBSERVED = "must run observer before calling calculate_qparams. Returning default values."

_INT8, _UINT8 = (torch.qint8, torch.int8), (torch.quint8, torch.uint8)
_RANGES = {
    **dict.fromkeys(_INT8, (-128, 127)),
    **dict.fromkeys(_UINT8, (0, 255)),
    **dict.fromkeys((torch.qint32, torch.int32), (-(2**31), 2**31 - 1)),
    torch.int16: (-(2**15), 2**15 - 1),
    torch.uint16: (0, 2**16 - 1),
    **dict.fromkeys((torch.quint4x2, torch.float8_e5m2, torch.float8_e4m3fn), (0, 15)),
}


class ObserverBase(Constructible, ABC, Module):
    """Base class of observers. `forward` records a tensor and returns it; `calculate_qparams` returns scale and zero point."""

    def __init__(self, dtype: Any, is_dynamic: bool = False) -> None:
        super().__init__()
        self.dtype, self.is_dynamic = dtype, is_dynamic

    @abstractmethod
    def forward(self, x: Tensor) -> Tensor:
        """Record `x` and return it."""

    @abstractmethod
    def calculate_qparams(self, **kwargs: Any) -> Any:
        """Compute the scale and the zero point from the recorded tensors."""


def _integer_range(dtype: Any, reduce_range: bool, quant_min: int | None, quant_max: int | None) -> tuple[int, int]:
    """Return the minimum and maximum integer of a quantized dtype. `reduce_range` halves the range."""
    if quant_min is None or quant_max is None:
        low, high = _RANGES[dtype]
        reducible = dtype in _INT8 or dtype in _UINT8
        return (low // 2, high // 2) if reduce_range and reducible else (low, high)
    if not quant_min <= 0 <= quant_max:
        raise AssertionError("Used-specified quantization range must include 0.")
    if quant_min >= quant_max:
        raise AssertionError("qmin must be strictly less than qmax for user-specified quantization range.")
    if dtype in _INT8 and quant_max - quant_min > 255:
        raise AssertionError("quantization range should be positive and not exceed the maximum bit range (=256).")
    return (quant_min // 2, quant_max // 2) if reduce_range else (quant_min, quant_max)


class UniformQuantizationObserverBase(ObserverBase):
    """Base class of observers for integers with uniform steps.

    Args:
        dtype: the quantized dtype, such as `torch.quint8`.
        qscheme: the scheme: per tensor or per channel, and affine or symmetric, such as `torch.per_tensor_affine`.
        reduce_range: whether to use one bit less than the dtype has.
        quant_min, quant_max: the minimum and maximum integer. Default: those of `dtype`.
        factory_kwargs: `device` and `dtype` of the buffers.
        eps: the minimum scale.
        is_dynamic: whether the scale is computed separately for each tensor.
    """

    _version = 3

    eps: Tensor
    min_val: Tensor
    max_val: Tensor

    def __init__(
        self,
        dtype: Any = torch.quint8,
        qscheme: Any = torch.per_tensor_affine,
        reduce_range: bool = False,
        quant_min: int | None = None,
        quant_max: int | None = None,
        factory_kwargs: dict[str, Any] | None = None,
        eps: float = _EPS,
        is_dynamic: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(dtype=dtype, is_dynamic=is_dynamic, **kwargs)
        if reduce_range:
            warnings.warn(
                "Please use quant_min and quant_max to specify the range for observers. "
                "reduce_range will be deprecated in a future release of PyTorch.",
                stacklevel=2,
            )
        if qscheme not in PER_TENSOR + PER_CHANNEL:
            raise AssertionError(
                "Default Observer only works for per_tensor_affine, per_tensor_symmetric, "
                "per_channel_affine, per_channel_symmetric and per_channel_float_qparams quantization scheme"
            )
        if dtype not in _RANGES:
            raise AssertionError(f"Default Observer only works for {tuple(_RANGES)} data type")
        if qscheme in SYMMETRIC and reduce_range and dtype is torch.quint8:
            raise NotImplementedError("Cannot reduce range for symmetric quantization for quint8")
        self.qscheme, self.reduce_range = qscheme, reduce_range
        self.register_buffer("eps", torch.tensor([eps], **(factory_kwargs or {})))
        self.has_customized_qrange = quant_min is not None and quant_max is not None
        self.quant_min, self.quant_max = _integer_range(dtype, reduce_range, quant_min, quant_max)

    def calculate_qparams(self) -> tuple[Tensor, Tensor]:  # type: ignore[override]
        """Compute scale and zero point from the recorded range. Their size is the number of channels, or 1 if per tensor."""
        return self._calculate_qparams(self.min_val, self.max_val)

    def _calculate_qparams(self, min_val: Tensor, max_val: Tensor) -> tuple[Tensor, Tensor]:
        if not min_val.numel() or (min_val.ndim == 0 and min_val > max_val):
            warnings.warn(_NOT_OBSERVED, stacklevel=3)
            return torch.tensor([1.0], device=min_val.device), torch.tensor([0], device=min_val.device)
        if (min_val > max_val).any():
            raise AssertionError(f"min {min_val} should be less than max {max_val}")
        steps = float(self.quant_max - self.quant_min)
        low, high = min_val.clamp(max=0), max_val.clamp(min=0)
        zero_point = torch.zeros(low.shape, dtype=torch.int64, device=low.device)
        if self.qscheme in SYMMETRIC:
            scale = torch.max(torch.max(-low, high) / (steps / 2), self.eps)
            zero_point += self._symmetric_zero_point()
        elif self.qscheme is torch.per_channel_affine_float_qparams:
            scale = (max_val - min_val) / steps
            scale = torch.where(scale > self.eps, scale, torch.ones_like(scale))
            zero_point = -1 * min_val / scale
        else:
            scale = torch.max((high - low) / steps, self.eps)
            zero_point = self.quant_min - torch.round(low / scale).to(torch.int)
            zero_point = torch.clamp(zero_point, self.quant_min, self.quant_max)
        return scale.reshape(-1), zero_point.reshape(-1)

    def _symmetric_zero_point(self) -> int:
        """Return the zero point of a symmetric scheme: the middle of the integer range."""
        if self.dtype in _UINT8:
            return (self.quant_min + self.quant_max) // 2 if self.has_customized_qrange else 128
        return 2**15 if self.dtype is torch.uint16 else 0

    def _store_range(self, min_val: Tensor, max_val: Tensor) -> None:
        self.min_val.resize_(min_val.shape).copy_(min_val)
        self.max_val.resize_(max_val.shape).copy_(max_val)

    def reset_min_max_vals(self) -> None:
        """Forget the recorded range."""
        raise NotImplementedError("Cannot reset min/max values in the given observer.")

    def extra_repr(self) -> str:
        return f"min_val={self.min_val}, max_val={self.max_val}"


# --- observers with one scale per tensor --------------------------------------------------------------------------


class MinMaxObserver(UniformQuantizationObserverBase):
    """Compute the scale from the minimum and maximum of all recorded tensors.

    Example:
        >>> observer = torch.ao.quantization.MinMaxObserver()
        >>> _ = observer(torch.tensor([-1.0, 1.55]))
        >>> observer.calculate_qparams()
        (tensor([0.0100]), tensor([100], dtype=torch.int32))
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.qscheme not in PER_TENSOR:
            raise NotImplementedError(
                f"{type(self).__name__}'s qscheme only support torch.per_tensor_symmetric and torch.per_tensor_affine."
            )
        options = kwargs.get("factory_kwargs") or {}
        self.register_buffer("min_val", torch.tensor(float("inf"), **options))
        self.register_buffer("max_val", torch.tensor(float("-inf"), **options))

    def forward(self, x: Tensor) -> Tensor:
        if x.numel():
            self._store_range(*self._combine(*torch.aminmax(x.detach().to(self.min_val.dtype))))
        return x

    def _combine(self, min_val: Tensor, max_val: Tensor) -> tuple[Tensor, Tensor]:
        return torch.min(min_val, self.min_val), torch.max(max_val, self.max_val)

    def reset_min_max_vals(self) -> None:
        self.min_val.fill_(float("inf"))
        self.max_val.fill_(float("-inf"))


def _moving_average(average: Tensor, value: Tensor, constant: float) -> Tensor:
    return average + constant * (value - average)


class MovingAverageMinMaxObserver(MinMaxObserver):
    """Compute the scale from moving averages of the minimum and maximum of each tensor.

    Args:
        averaging_constant: the weight of a new tensor in the moving average.
        args, kwargs: see `MinMaxObserver`.
    """

    def __init__(self, averaging_constant: float = 0.01, *args: Any, **kwargs: Any) -> None:
        if kwargs.get("is_dynamic") and averaging_constant != 1:
            raise NotImplementedError(
                f"MovingAverageMinMaxObserver doesn't support dynamic quantization for averaging constant of {averaging_constant}"
            )
        super().__init__(*args, **kwargs)
        self.averaging_constant = averaging_constant

    def _combine(self, min_val: Tensor, max_val: Tensor) -> tuple[Tensor, Tensor]:
        if self.min_val > self.max_val:
            return min_val, max_val
        constant = self.averaging_constant
        return _moving_average(self.min_val, min_val, constant), _moving_average(self.max_val, max_val, constant)


# --- observers with one scale per channel -------------------------------------------------------------------------


class PerChannelMinMaxObserver(UniformQuantizationObserverBase):
    """Compute a scale for each channel from the minimum and maximum of all recorded tensors.

    Args:
        ch_axis: the channel dimension.
        dtype, qscheme, kwargs: see `MinMaxObserver`.
    """

    def __init__(
        self, ch_axis: int = 0, dtype: Any = torch.quint8, qscheme: Any = torch.per_channel_affine, *args: Any, **kwargs: Any
    ) -> None:
        if qscheme not in PER_CHANNEL:
            raise NotImplementedError(
                f"{type(self).__name__}'s qscheme only support torch.per_channel_symmetric, torch.per_channel_affine and "
                "torch.per_channel_affine_float_qparams."
            )
        if kwargs.get("is_dynamic"):
            raise NotImplementedError(f"{type(self).__name__} doesn't support dynamic quantization")
        super().__init__(dtype, qscheme, *args, **kwargs)
        self.ch_axis = ch_axis
        options = kwargs.get("factory_kwargs") or {}
        self.register_buffer("min_val", torch.tensor([], **options))
        self.register_buffer("max_val", torch.tensor([], **options))

    def forward(self, x: Tensor) -> Tensor:
        if x.numel():
            channels = x.detach().to(self.min_val.dtype).transpose(0, self.ch_axis).flatten(1)
            extremes = torch.aminmax(channels, dim=1)
            self._store_range(*(self._combine(*extremes) if self.min_val.numel() else extremes))
        return x

    def _combine(self, min_val: Tensor, max_val: Tensor) -> tuple[Tensor, Tensor]:
        return torch.min(min_val, self.min_val), torch.max(max_val, self.max_val)

    def reset_min_max_vals(self) -> None:
        self.min_val, self.max_val = torch.rand(0), torch.rand(0)

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *args: Any) -> None:
        resize_to_saved(self, ("min_val", "max_val"), state_dict, prefix)
        super()._load_from_state_dict(state_dict, prefix, *args)


class MovingAveragePerChannelMinMaxObserver(PerChannelMinMaxObserver):
    """Compute a scale for each channel from moving averages of the minimum and maximum of each tensor.

    Args:
        averaging_constant: the weight of a new tensor in the moving average.
        args, kwargs: see `PerChannelMinMaxObserver`.
    """

    def __init__(self, averaging_constant: float = 0.01, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.averaging_constant = averaging_constant

    def _combine(self, min_val: Tensor, max_val: Tensor) -> tuple[Tensor, Tensor]:
        constant = self.averaging_constant
        return _moving_average(self.min_val, min_val, constant), _moving_average(self.max_val, max_val, constant)


def resize_to_saved(module: Module, names: tuple[str, ...], state_dict: dict[str, Any], prefix: str) -> None:
    """Resize buffers to their sizes in `state_dict`, since they depend on the recorded tensors."""
    for name in names:
        if prefix + name in state_dict:
            getattr(module, name).resize_(state_dict[prefix + name].shape)


# --- observers that record nothing --------------------------------------------------------------------------------


class FixedQParamsObserver(ObserverBase):
    """An observer with a fixed scale and zero point.

    Args:
        scale, zero_point: the values that `calculate_qparams` returns.
        dtype, qscheme, quant_min, quant_max, is_dynamic: see `MinMaxObserver`.
    """

    scale: Tensor
    zero_point: Tensor

    def __init__(
        self,
        scale: float,
        zero_point: int,
        dtype: Any = torch.quint8,
        qscheme: Any = torch.per_tensor_affine,
        quant_min: int = 0,
        quant_max: int = 255,
        is_dynamic: bool = False,
        **kwargs: Any,
    ) -> None:
        if is_dynamic:
            raise NotImplementedError("FixedQParamsObserver doesn't support dynamic quantization")
        super().__init__(dtype=dtype, is_dynamic=is_dynamic, **kwargs)
        self.qscheme, self.quant_min, self.quant_max = qscheme, quant_min, quant_max
        self.register_buffer("scale", torch.tensor([scale], dtype=torch.float))
        self.register_buffer("zero_point", torch.tensor([zero_point], dtype=torch.int))

    def forward(self, x: Tensor) -> Tensor:
        return x

    def calculate_qparams(self) -> tuple[Tensor, Tensor]:  # type: ignore[override]
        return self.scale, self.zero_point


class PlaceholderObserver(ObserverBase):
    """An observer that records nothing. It marks a tensor to be quantized and stores the dtype.

    Args:
        dtype: the dtype of the quantized tensor.
        custom_op_name: the name of the operation that quantizes the tensor.
        compute_dtype: deprecated; any dtype sets `is_dynamic`.
        quant_min, quant_max, qscheme, eps, is_dynamic: see `MinMaxObserver`.
    """

    def __init__(
        self,
        dtype: Any = torch.float32,
        custom_op_name: str = "",
        compute_dtype: Any = None,
        quant_min: int | None = None,
        quant_max: int | None = None,
        qscheme: Any = None,
        eps: float | None = None,
        is_dynamic: bool = False,
    ) -> None:
        super().__init__(dtype=dtype, is_dynamic=is_dynamic)
        self.qscheme = torch.per_tensor_affine if qscheme is None else qscheme
        self.quant_min, self.quant_max, self.eps, self.custom_op = quant_min, quant_max, eps, custom_op_name
        if compute_dtype:
            self.is_dynamic = True
            warnings.warn("Please use `is_dynamic` instead of `compute_dtype`.", stacklevel=2)

    def forward(self, x: Tensor) -> Tensor:
        return x

    def calculate_qparams(self) -> Any:  # type: ignore[override]
        raise RuntimeError("calculate_qparams should not be called for PlaceholderObserver")

    def extra_repr(self) -> str:
        return f"dtype={self.dtype}, is_dynamic={self.is_dynamic}"


class NoopObserver(ObserverBase):
    """An observer that records nothing, for a `dtype` such as float16 that needs no scale."""

    def __init__(self, dtype: Any = torch.float16, custom_op_name: str = "") -> None:
        super().__init__(dtype=dtype, is_dynamic=False)
        self.custom_op = custom_op_name

    def forward(self, x: Tensor) -> Tensor:
        return x

    def calculate_qparams(self) -> Any:  # type: ignore[override]
        raise RuntimeError("calculate_qparams should not be called for NoopObserver")


# --- default observers --------------------------------------------------------------------------------------------

default_observer = MinMaxObserver.with_args(quant_min=0, quant_max=127)
default_placeholder_observer = PlaceholderObserver
default_weight_observer = MinMaxObserver.with_args(dtype=torch.qint8, qscheme=torch.per_tensor_symmetric)
weight_observer_range_neg_127_to_127 = MinMaxObserver.with_args(
    dtype=torch.qint8, qscheme=torch.per_tensor_symmetric, quant_min=-127, quant_max=127, eps=2**-12
)
default_per_channel_weight_observer = PerChannelMinMaxObserver.with_args(dtype=torch.qint8, qscheme=torch.per_channel_symmetric)
per_channel_weight_observer_range_neg_127_to_127 = PerChannelMinMaxObserver.with_args(
    dtype=torch.qint8, qscheme=torch.per_channel_symmetric, quant_min=-127, quant_max=127, eps=2**-12
)
default_dynamic_quant_observer = PlaceholderObserver.with_args(dtype=torch.quint8, quant_min=0, quant_max=255, is_dynamic=True)
default_symmetric_fixed_qparams_observer = FixedQParamsObserver.with_args(
    scale=2.0 / 256.0, zero_point=128, dtype=torch.quint8, quant_min=0, quant_max=255
)
default_affine_fixed_qparams_observer = FixedQParamsObserver.with_args(
    scale=1.0 / 256.0, zero_point=0, dtype=torch.quint8, quant_min=0, quant_max=255
)
default_fixed_qparams_range_neg1to1_observer = default_symmetric_fixed_qparams_observer
default_fixed_qparams_range_0to1_observer = default_affine_fixed_qparams_observer

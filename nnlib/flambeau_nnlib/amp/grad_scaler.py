"""Loss scaling, which keeps small gradients from underflowing in half precision."""

from __future__ import annotations

import enum
import warnings
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import flambeau as torch

__all__ = ["GradScaler", "OptState"]


class OptState(enum.Enum):
    """The stage of an optimizer in the current iteration: nothing done, gradients unscaled, or step taken."""

    READY = 0
    UNSCALED = 1
    STEPPED = 2


class _Progress:
    """The stage of an optimizer since the last `update`, and for each device whether its gradients overflowed."""

    def __init__(self) -> None:
        self.stage = OptState.READY
        self.found_inf: list[torch.Tensor] = []


class GradScaler:
    """Multiply the loss by a scale factor, divide the gradients by it, and adapt the factor.

    If gradients overflow, the optimizer step is skipped and the factor is multiplied by
    `backoff_factor`. After `growth_interval` steps without overflow, it is multiplied by `growth_factor`.
    In each iteration call `scale`, `step` and `update`. See Micikevicius et al., [Mixed Precision
    Training](https://arxiv.org/abs/1710.03740).

    Raises AssertionError if `growth_factor` <= 1 or `backoff_factor` >= 1. With `enabled=False`
    the scaler does nothing.

    Args:
        device: the type of the device of the gradients; on "cuda" without a GPU, the scaler warns and does nothing.
        init_scale: the initial factor.
        growth_factor: the multiplier of the factor after `growth_interval` steps without overflow, above 1.
        backoff_factor: the multiplier of the factor after an overflow, below 1.
        growth_interval: the number of steps between increases.
        enabled: whether the scaler has an effect.

    >>> weight = torch.ones(1, requires_grad=True)
    >>> optimizer = torch.optim.SGD([weight], lr=0.5)
    >>> scaler = GradScaler("cpu")
    >>> scaler.scale(weight.sum()).backward()
    >>> weight.grad
    tensor([65536.])
    >>> scaler.step(optimizer)
    >>> scaler.update()
    >>> weight
    tensor([0.5000], requires_grad=True)
    """

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        if enabled and device == "cuda" and not torch.cuda.is_available():
            warnings.warn("torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling.", stacklevel=2)
            enabled = False
        self._device = device
        self._enabled = enabled
        if not enabled:
            return
        if growth_factor <= 1.0:
            raise AssertionError("The growth factor must be > 1.0.")
        if backoff_factor >= 1.0:
            raise AssertionError("The backoff factor must be < 1.0.")
        self._growth_factor = growth_factor
        self._backoff_factor = backoff_factor
        self._growth_interval = growth_interval
        self._init_scale = init_scale
        self._init_growth_tracker = 0
        # These tensors are created by the first call of `scale`, on the device of its argument.
        self._scale: Any = None
        self._growth_tracker: Any = None
        self._progress: defaultdict[int, _Progress] = defaultdict(_Progress)

    def scale(self, outputs: torch.Tensor | Iterable[torch.Tensor]) -> Any:
        """Multiply `outputs`, a tensor or an iterable of tensors, by the scale factor."""
        if not self._enabled:
            return outputs
        if isinstance(outputs, torch.Tensor):
            if self._scale is None:
                self._make_tensors(outputs.device)
            return outputs * self._scale.to(outputs.device)
        if isinstance(outputs, Iterable):
            scaled = map(self.scale, outputs)
            return type(outputs)(scaled) if isinstance(outputs, list | tuple) else scaled
        raise ValueError("outputs must be a Tensor or an iterable of Tensors")

    def _make_tensors(self, device: torch.device) -> None:
        self._scale = torch.full((), self._init_scale, dtype=torch.float32, device=device)
        self._growth_tracker = torch.full((), self._init_growth_tracker, dtype=torch.int32, device=device)

    def _check_scaled(self, caller: str) -> None:
        for name in ("_scale", "_growth_tracker"):
            if getattr(self, name) is None:
                raise AssertionError(
                    f"Attempted {caller} but {name} is None.  This may indicate your script did not use "
                    "scaler.scale(loss or outputs) earlier in the iteration."
                )

    def unscale_(self, optimizer: Any) -> None:
        """Divide the gradients of `optimizer` by the scale factor before `step`, for example to clip them.

        Raises RuntimeError if called twice per iteration or after `step`, and ValueError for float16 gradients.
        """
        if not self._enabled:
            return
        self._check_scaled("unscale_")
        progress = self._progress[id(optimizer)]
        if progress.stage is OptState.UNSCALED:
            raise RuntimeError("unscale_() has already been called on this optimizer since the last update().")
        if progress.stage is OptState.STEPPED:
            raise RuntimeError("unscale_() is being called after step().")
        inverse = self._scale.double().reciprocal().float()
        progress.found_inf = _unscale(_gradients(optimizer), inverse)
        progress.stage = OptState.UNSCALED

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """Unscale the gradients and call `optimizer.step(*args, **kwargs)`, unless a gradient is infinite or NaN.

        Raises RuntimeError if a closure is given, or if called twice per iteration.
        """
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        self._check_scaled("step")
        progress = self._progress[id(optimizer)]
        if progress.stage is OptState.STEPPED:
            raise RuntimeError("step() has already been called since the last update().")
        if progress.stage is OptState.READY:
            self.unscale_(optimizer)
        if not progress.found_inf:
            raise AssertionError("No inf checks were recorded for this optimizer.")
        overflow = any(found_inf.item() for found_inf in progress.found_inf)
        result = None if overflow else optimizer.step(*args, **kwargs)
        progress.stage = OptState.STEPPED
        return result

    def update(self, new_scale: float | torch.Tensor | None = None) -> None:
        """Adapt the scale factor after an iteration, or set it to a float or one-element tensor."""
        if not self._enabled:
            return
        self._check_scaled("update")
        if new_scale is None:
            self._adapt()
        elif isinstance(new_scale, float):
            self._scale.fill_(new_scale)
        else:
            if new_scale.device.type != self._device or new_scale.numel() != 1 or new_scale.requires_grad:
                raise AssertionError(
                    "new_scale should be a float or a 1-element torch.cuda.FloatTensor or torch.FloatTensor "
                    "with requires_grad=False."
                )
            self._scale.copy_(new_scale)
        self._progress.clear()

    def _adapt(self) -> None:
        checks = [found_inf for progress in self._progress.values() for found_inf in progress.found_inf]
        if not checks:
            raise AssertionError("No inf checks were recorded prior to update.")
        if any(found_inf.item() for found_inf in checks):
            self._scale.mul_(self._backoff_factor)
            self._growth_tracker.zero_()
            return
        self._growth_tracker.add_(1)
        if self._growth_tracker.item() == self._growth_interval:
            grown = self._scale * self._growth_factor
            if torch.isfinite(grown).item():
                self._scale.copy_(grown)
            self._growth_tracker.zero_()

    def get_scale(self) -> float:
        """Return the scale factor, or 1.0 if disabled."""
        if not self._enabled:
            return 1.0
        return self._init_scale if self._scale is None else self._scale.item()

    def get_growth_factor(self) -> float:
        """Return the factor by which the scale grows."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Set the factor by which the scale grows."""
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """Return the factor by which the scale is multiplied after an overflow."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Set the factor by which the scale is multiplied after an overflow."""
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """Return the number of steps without overflow after which the scale grows."""
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Set the number of steps without overflow after which the scale grows."""
        self._growth_interval = new_interval

    def _get_growth_tracker(self) -> int:
        return self._init_growth_tracker if self._growth_tracker is None else int(self._growth_tracker.item())

    def is_enabled(self) -> bool:
        """Whether the scaler is enabled."""
        return self._enabled

    def state_dict(self) -> dict[str, Any]:
        """Return the scale, the growth parameters and the step counter as Python numbers, or an empty dict if disabled."""
        if not self._enabled:
            return {}
        return {
            "scale": self.get_scale(),
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._get_growth_tracker(),
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load the state of a scaler. Raise RuntimeError if `state_dict` is empty, as for a disabled scaler."""
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError(
                "The source state dict is empty, possibly because it was saved from a disabled instance of GradScaler."
            )
        self._growth_factor = state_dict["growth_factor"]
        self._backoff_factor = state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
        self._init_scale = state_dict["scale"]
        self._init_growth_tracker = state_dict["_growth_tracker"]
        if self._scale is not None:
            self._make_tensors(self._scale.device)

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        if self._enabled:
            if self._progress:
                raise AssertionError(
                    "A GradScaler instance may only be pickled at the beginning of an iteration, or at the "
                    "end after scaler.update()."
                )
            state["_init_scale"] = self.get_scale()
            state["_init_growth_tracker"] = self._get_growth_tracker()
            state["_scale"] = state["_growth_tracker"] = None
        return state


def _gradients(optimizer: Any) -> Iterable[torch.Tensor]:
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            if parameter.grad is not None:
                if parameter.grad.dtype == torch.float16:
                    raise ValueError("Attempting to unscale FP16 gradients.")
                yield parameter.grad


def _unscale(gradients: Iterable[torch.Tensor], inverse_scale: torch.Tensor) -> list[torch.Tensor]:
    """Multiply gradients in place. Return one tensor per device: 1.0 if a gradient on it is infinite or NaN, else 0.0."""
    overflow_by_device: dict[torch.device, torch.Tensor] = {}
    with torch.no_grad():
        for gradient in gradients:
            device = gradient.device
            overflow = torch.logical_not(torch.isfinite(gradient).all()).float()
            overflow_by_device[device] = (
                torch.maximum(overflow_by_device[device], overflow) if device in overflow_by_device else overflow
            )
            gradient.mul_(inverse_scale.to(device))
    return list(overflow_by_device.values())

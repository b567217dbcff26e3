"""The base class of optimizers that update each parameter from its own gradient.

Each such optimizer consists of a *rule* and a class.  The rule, `rule(params, grads, states, /, *, lr, ...)`, updates lists
of tensors in place; it is called once for each parameter group, with the options of the group, and can be
called without a class. The class checks the options and creates the state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, ClassVar

import flambeau as torch
from flambeau import Tensor
from flambeau.extension import evaluate, has_step, is_mutable, step_count

from . import check
from .flat import Flattener
from .optimizer import Group, Optimizer, State

Scalar = float | Tensor
"""A number, or a 0-d tensor if autograd or a device graph needs it."""

LEGACY_DEFAULTS = {
    "amsgrad": False,
    "capturable": False,
    "centered": False,
    "decoupled_weight_decay": False,
    "differentiable": False,
    "foreach": None,
    "fused": None,
    "maximize": False,
    "momentum": 0,
    "nesterov": False,
}
"""Options missing in checkpoints of older versions, with the values that these versions used."""


class FirstOrder(Optimizer):
    """An optimizer that applies a rule to every parameter that has a gradient."""

    rule: ClassVar[Callable[..., None]]

    kernel: ClassVar[str] = ""
    """Name of the fused kernel of a step, which backends and kernel packs may provide."""

    flattens: ClassVar[bool] = True
    """Whether to concatenate small parameters, which is faster for elementwise rules with many calls."""

    scalars: ClassVar[tuple[str, ...]] = ("step",)
    """State entries that are 0-d tensors; they were numbers in older versions."""

    captured_names: ClassVar[str] = "params and state_steps"
    """Names, in an error message, of the tensors that `capturable` requires on the device."""

    takes_sparse: ClassVar[bool] = False
    """Whether the rule supports sparse gradients."""

    def init_state(self, param: Tensor, group: Group) -> State:
        """Return the state of a parameter before its first step."""
        return {}

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update the parameters once. A `closure` is called first, with gradients enabled; it computes the loss and the
        gradients.
        """
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        with torch.set_grad_enabled(self.defaults.get("differentiable", False)):
            for i, group in enumerate(self.param_groups):
                params, grads = [], []
                for param in group["params"]:
                    grad = param.grad
                    if grad is not None:
                        params.append(param)
                        grads.append(grad)
                if params:
                    self._update(i, group, params, grads)
                    evaluate(params)
        return loss

    def _update(self, i: int, group: Group, params: list[Tensor], grads: list[Tensor]) -> None:
        has_sparse = any(grad.is_sparse for grad in grads)
        if has_sparse and not self.takes_sparse:
            check.no_sparse(type(self).__name__)
        self._check(params, group)
        states, options = self._states(params, group), _as_numbers(group, params[0])
        launches = params[0].device.type != "cpu" and has_step(self.kernel, params[0])  # fused kernels need no concatenation
        joins = self.flattens and is_mutable(params[0])  # concatenation writes to slices, which copies immutable arrays
        if group.get("differentiable") or group.get("capturable") or launches or has_sparse or not joins:
            self.rule(params, grads, states, **options)
            return
        flatteners = self.__dict__.setdefault("_flatteners", {})
        flattener = flatteners.get(i) or flatteners.setdefault(i, Flattener(self.rule, self.scalars))
        flattener.apply(params, grads, states, options)

    def _check(self, params: list[Tensor], group: Group) -> None:
        """Raise an error for parameters that the options `differentiable`, `fused` or `capturable` do not allow."""
        if group.get("differentiable") and group.get("foreach"):
            raise AssertionError("_foreach ops don't support autograd")
        if group.get("fused"):
            check.fusable(params)
        elif group.get("capturable"):
            check.capturable(params, self.captured_names, xla=not group.get("foreach"))

    def _states(self, params: list[Tensor], group: Group) -> list[State]:
        states = [self.state[param] or self._new_state(param, group) for param in params]
        if group.get("differentiable"):
            if any(state["step"].requires_grad for state in states if "step" in state):
                raise RuntimeError("`requires_grad` is not supported for `step` in differentiable mode")
            for state in states:  # copies: the autograd graph of earlier steps uses the old tensors
                state.update({key: value.clone() for key, value in state.items()})
        return states

    def _new_state(self, param: Tensor, group: Group) -> State:
        state = self.state[param] = self.init_state(param, group)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            for name in LEGACY_DEFAULTS.keys() & self.defaults.keys():
                group.setdefault(name, LEGACY_DEFAULTS[name])
            for param in group["params"]:
                saved = self.state.get(param, {})
                for name in self.scalars:
                    if name in saved and not isinstance(saved[name], Tensor):
                        saved[name] = scalar_state(saved[name], param, group)


def _as_numbers(group: Group, like: Tensor) -> Group:
    """Return the options of a group, with tensors converted to numbers unless autograd or a device graph needs them."""

    def plain(value: Scalar) -> Scalar:
        if not isinstance(value, Tensor):
            return value
        if group.get("differentiable") or group.get("capturable"):
            return value.reshape(()).to(like.real.dtype)
        number: float = value.item()
        return number

    options: Group = {name: plain(group[name]) for name in ("lr", "weight_decay") if isinstance(group.get(name), Tensor)}
    if "betas" in group and any(isinstance(beta, Tensor) for beta in group["betas"]):
        options["betas"] = tuple(map(plain, group["betas"]))
    return {**group, **options} if options else group


def scalar_state(value: float, param: Tensor, group: Group, on_device: bool = False) -> Tensor:
    """Return a 0-d tensor for the state of a parameter: on the CPU, unless kernels on the device read it."""
    on_device = bool(on_device or group.get("capturable") or group.get("fused"))
    double = torch.get_default_dtype() == torch.float64 and not group.get("fused")
    dtype = torch.float64 if double else torch.float32
    return torch.tensor(float(value), dtype=dtype, device=param.device if on_device else "cpu")


# --- helpers of rules ---


def can_fuse(name: str, params: list[Tensor], capturable: bool, options: dict[str, Any]) -> bool:
    """Whether the backend has a fused kernel of the step that supports the options: no tensors, and not `capturable`."""
    return has_step(name, params[0]) and not capturable and not any(isinstance(option, Tensor) for option in options.values())


def descent(
    params: list[Tensor],
    grads: list[Tensor],
    maximize: bool,
    weight_decay: Scalar = 0,
    decoupled_lr: Scalar | None = None,
) -> list[Tensor]:
    """Return the gradients to descend along: negated if `maximize`, with `weight_decay * param` added.

    With `decoupled_lr`, the parameters are multiplied by `1 - decoupled_lr * weight_decay` instead.
    """
    if maximize:
        grads = [-grad for grad in grads]
    if weight_decay == 0:
        return grads
    if decoupled_lr is not None:
        for param in params:
            param.mul_(1 - decoupled_lr * weight_decay)
        return grads
    if isinstance(weight_decay, Tensor):
        return [grad + weight_decay * param.clone() for grad, param in zip(grads, params, strict=True)]
    return [grad.add(param, alpha=weight_decay) for grad, param in zip(grads, params, strict=True)]


def real_views(params: list[Tensor], grads: list[Tensor], states: list[State]) -> Iterable[tuple[Tensor, Tensor, State]]:
    """Return triples of parameter, gradient and state, with complex tensors viewed as real."""
    if not any(param.is_complex() for param in params):
        return zip(params, grads, states, strict=True)
    views = [{key: real_view(value) for key, value in state.items()} for state in states]
    return zip(map(real_view, params), map(real_view, grads), views, strict=True)


def real_view(x: Tensor) -> Tensor:
    """Return a complex tensor as a real view with a last dimension of size 2, any other tensor as it is."""
    return torch.view_as_real(x) if x.is_complex() else x


def count_step(state: State, capturable: bool = False) -> Scalar:
    """Increment the step count and return it as a number; with `capturable` as a tensor, to avoid waiting for the device."""
    step: Tensor = state["step"].add_(1)
    return step if capturable else step_count(step)


def add_(param: Tensor, update: Tensor, scale: Scalar) -> None:
    """`param += scale * update`"""
    if isinstance(scale, Tensor):
        param.addcmul_(update, scale)
    else:
        param.add_(update, alpha=scale)


def addcdiv_(param: Tensor, numerator: Tensor, denominator: Tensor, scale: Scalar) -> None:
    """`param += scale * numerator / denominator`"""
    if isinstance(scale, Tensor):
        param.addcdiv_(numerator * scale, denominator)
    else:
        param.addcdiv_(numerator, denominator, value=scale)

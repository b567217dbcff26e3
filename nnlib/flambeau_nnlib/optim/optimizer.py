"""The base class of all optimizers: parameter groups, state, hooks and checkpoints."""

from __future__ import annotations

import functools
import warnings
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable
from copy import deepcopy
from itertools import chain
from typing import Any

import flambeau as torch
from flambeau import Tensor
from flambeau.extension import private_names
from flambeau.utils.hooks import RemovableHandle

__all__ = [
    "Optimizer",
    "register_optimizer_step_post_hook",
    "register_optimizer_step_pre_hook",
    "required",
]

__getattr__ = private_names(__name__)

Params = Iterable[Tensor] | Iterable[tuple[str, Tensor]] | Iterable[dict[str, Any]]
Group = dict[str, Any]
State = dict[str, Any]
Hook = Callable[..., Any]
Hooks = OrderedDict[int, Hook]


class _RequiredParameter:
    def __repr__(self) -> str:
        return "<required parameter>"


required: Any = _RequiredParameter()
"""Default of options without a default value: every parameter group must set them."""

_global_pre_hooks: Hooks = OrderedDict()
_global_post_hooks: Hooks = OrderedDict()


def _register(hooks: Hooks, hook: Hook, prepend: bool = False) -> RemovableHandle:
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle


def register_optimizer_step_pre_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(optimizer, args, kwargs)` before each step of every optimizer."""
    return _register(_global_pre_hooks, hook)


def register_optimizer_step_post_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(optimizer, args, kwargs)` after each step of every optimizer."""
    return _register(_global_post_hooks, hook)


class Optimizer:
    """Base class of all optimizers.

    A subclass passes the default values of its options to this constructor and defines `step`. `step` updates the
    tensors in `self.param_groups[i]["params"]` and stores the state of parameter `p` in `self.state[p]`.

    Args:
        params: an ordered iterable of tensors, of `(name, tensor)` pairs, or of dicts that define parameter
            groups: a `"params"` entry and options that differ from the defaults.
        defaults: option values of groups that do not set them.

    Raises:
        TypeError: `params` is a tensor, or contains something other than tensors.
        ValueError: `params` is empty, or contains a tensor twice, a non-leaf tensor, or names for only some tensors.

    Example:
        >>> class Halve(torch.optim.Optimizer):
        ...     @torch.no_grad()
        ...     def step(self, closure=None):
        ...         for group in self.param_groups:
        ...             for p in group["params"]:
        ...                 p.mul_(group["by"])
        >>> w = torch.nn.Parameter(torch.ones(2))
        >>> Halve([w], {"by": 0.5}).step(); w.tolist()
        [0.5, 0.5]
    """

    OptimizerPreHook = Callable[["Optimizer", Any, Any], tuple[Any, Any] | None]
    OptimizerPostHook = Callable[["Optimizer", Any, Any], None]

    _optimizer_step_pre_hooks: Hooks
    _optimizer_step_post_hooks: Hooks
    _optimizer_state_dict_pre_hooks: Hooks
    _optimizer_state_dict_post_hooks: Hooks
    _optimizer_load_state_dict_pre_hooks: Hooks
    _optimizer_load_state_dict_post_hooks: Hooks

    def __init__(self, params: Params, defaults: dict[str, Any]) -> None:
        self.defaults = defaults
        self._patch_step_function()
        if isinstance(params, Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, "
                f"but got {torch.typename(params)}"
            )
        self.state: defaultdict[Any, State] = defaultdict(dict)
        self.param_groups: list[Group] = []
        groups: list[Any] = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    def _patch_step_function(self) -> None:
        """Wrap the class's `step` and create the hook tables. Optimizer wrappers call only this method, not `__init__`."""
        cls = type(self)
        if not hasattr(cls.step, "hooked"):
            cls.step = cls.profile_hook_step(cls.step)  # type: ignore[method-assign]
        for event in ("step", "state_dict", "load_state_dict"):
            for when in ("pre", "post"):
                self.__dict__.setdefault(f"_optimizer_{event}_{when}_hooks", OrderedDict())

    def __getstate__(self) -> dict[str, Any]:
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore a result of `__getstate__` or the contents of a checkpoint."""
        self.__dict__.update(state)
        self._patch_step_function()
        self.defaults.setdefault("differentiable", False)

    def __repr__(self) -> str:
        text = f"{type(self).__name__} ("
        for i, group in enumerate(self.param_groups):
            options = (f"    {key}: {group[key]}\n" for key in sorted(group) if key != "params")
            text += f"\nParameter Group {i}\n" + "".join(options)
        return text + ")"

    # Steps

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update the parameters once.

        Args:
            closure: computes the loss and its gradients, and returns the loss. Optional for most optimizers.

        Returns:
            The result of `closure`, or None.
        """
        raise NotImplementedError

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Set the gradients of all parameters to None, or with `set_to_none=False` to zero."""
        for group in self.param_groups:
            for p in group["params"]:
                if set_to_none:
                    p.grad = None
                elif p.grad is not None:
                    if p.grad.grad_fn is not None:
                        p.grad.detach_()
                    else:
                        p.grad.requires_grad_(False)
                    p.grad.zero_()

    @staticmethod
    def profile_hook_step(func: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap a `step` to call the registered hooks. Called for every class when it is first instantiated."""

        @functools.wraps(func)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            self = args[0]
            for hook in chain(_global_pre_hooks.values(), self._optimizer_step_pre_hooks.values()):
                result = hook(self, args, kwargs)
                if result is not None:
                    if not (isinstance(result, tuple) and len(result) == 2):
                        raise RuntimeError(f"{func} must return None or a tuple of (new_args, new_kwargs), but got {result}.")
                    args, kwargs = result
            out = func(*args, **kwargs)
            for hook in chain(self._optimizer_step_post_hooks.values(), _global_post_hooks.values()):
                hook(self, args, kwargs)
            return out

        wrapper.hooked = True  # type: ignore[attr-defined]
        return wrapper

    # Hooks

    def register_step_pre_hook(self, hook: OptimizerPreHook) -> RemovableHandle:
        """Call `hook(optimizer, args, kwargs)` before each step. It may return a new `(args, kwargs)`."""
        return _register(self._optimizer_step_pre_hooks, hook)

    def register_step_post_hook(self, hook: OptimizerPostHook) -> RemovableHandle:
        """Call `hook(optimizer, args, kwargs)` after each step."""
        return _register(self._optimizer_step_post_hooks, hook)

    def register_state_dict_pre_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Call `hook(optimizer)` before each `state_dict`."""
        return _register(self._optimizer_state_dict_pre_hooks, hook, prepend)

    def register_state_dict_post_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Call `hook(optimizer, state_dict)` after each `state_dict`. It may return a replacement."""
        return _register(self._optimizer_state_dict_post_hooks, hook, prepend)

    def register_load_state_dict_pre_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Call `hook(optimizer, state_dict)` before each `load_state_dict`. It may return a replacement."""
        return _register(self._optimizer_load_state_dict_pre_hooks, hook, prepend)

    def register_load_state_dict_post_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Call `hook(optimizer)` after each `load_state_dict`."""
        return _register(self._optimizer_load_state_dict_post_hooks, hook, prepend)

    # Parameter groups

    def add_param_group(self, param_group: Group) -> None:
        """Add a group of parameters, for example of layers that were frozen before.

        Args:
            param_group: `"params"`, a tensor or an ordered iterable of tensors or of `(name, tensor)` pairs, and the
                options that differ from the defaults.
        """
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        _unpack_params(param_group)
        for param in param_group["params"]:
            if not isinstance(param, Tensor):
                raise TypeError(f"optimizer can only optimize Tensors, but one of the params is {torch.typename(param)}")
            if not (self.defaults.get("differentiable") or param.is_leaf or param.retains_grad):
                raise ValueError("can't optimize a non-leaf Tensor")
        for name, default in self.defaults.items():
            if default is required and name not in param_group:
                raise ValueError(f"parameter group didn't specify a value of required optimization parameter {name}")
            param_group.setdefault(name, default)
        self._check_distinct(param_group)
        self.param_groups.append(param_group)

    def _check_distinct(self, new: Group) -> None:
        params = set(new["params"])
        if len(params) != len(new["params"]):
            warnings.warn(
                "optimizer contains a parameter group with duplicate parameters; in future, this will cause "
                "an error; see github.com/pytorch/pytorch/issues/40967 for more information",
                stacklevel=4,
            )
        named = "param_names" in new
        if any(("param_names" in group) != named for group in self.param_groups):
            raise ValueError(
                "all optimizer param groups should be with/without names. cannot add param group "
                f"{'with' if named else 'without'} names to the optimizer"
            )
        if not params.isdisjoint(chain.from_iterable(group["params"] for group in self.param_groups)):
            raise ValueError("some parameters appear in more than one parameter group")

    # Checkpoints

    @staticmethod
    def _group_tensors_by_device_and_dtype(tensorlistlist: Any, with_indices: bool = False) -> dict[Any, Any]:
        """Group the tensors of parallel lists by the device and dtype of the first list's tensors."""
        from flambeau.utils._foreach_utils import (  # type: ignore[import-not-found]  # PyTorch's name
            _group_tensors_by_device_and_dtype,
        )

        groups: dict[Any, Any] = _group_tensors_by_device_and_dtype(tensorlistlist, with_indices)
        return groups

    def state_dict(self) -> dict[str, Any]:
        """Return the optimizer's state and options, for a checkpoint.

        Returns:
            `{"state": ..., "param_groups": ...}`, with parameters replaced by their indices.

        Example:
            >>> w = torch.nn.Parameter(torch.ones(2))
            >>> torch.optim.SGD([w], lr=0.1).state_dict()["param_groups"][0]["params"]
            [0]
        """
        for pre_hook in self._optimizer_state_dict_pre_hooks.values():
            pre_hook(self)
        numbers: dict[Tensor, int] = {}
        start = 0
        param_groups = []
        for group in self.param_groups:
            for i, p in enumerate(group["params"], start):
                numbers.setdefault(p, i)
            start += len(group["params"])
            options = {key: value for key, value in group.items() if key != "params"}
            param_groups.append({**options, "params": [numbers[p] for p in group["params"]]})
        state = {numbers[key] if isinstance(key, Tensor) else key: value for key, value in self.state.items()}
        state_dict: dict[str, Any] = {"state": state, "param_groups": param_groups}
        for post_hook in self._optimizer_state_dict_post_hooks.values():
            result = post_hook(self, state_dict)
            state_dict = state_dict if result is None else result
        return state_dict

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore state and options from a checkpoint, cast to the dtype and device of the parameters.

        Tensors that already have that dtype and device are not copied, so later steps change the checkpoint in place,
        as in PyTorch. Pass a deep copy to use a checkpoint again.

        Args:
            state_dict: a result of `state_dict`, from flambeau or PyTorch.

        Raises:
            ValueError: the number or the sizes of the parameter groups differ from this optimizer's.
        """
        state_dict = state_dict.copy()
        for pre_hook in self._optimizer_load_state_dict_pre_hooks.values():
            result = pre_hook(self, state_dict)
            state_dict = state_dict if result is None else result
        groups, saved_groups = self.param_groups, deepcopy(state_dict["param_groups"])
        if len(groups) != len(saved_groups):
            raise ValueError("loaded state dict has a different number of parameter groups")
        if any(len(group["params"]) != len(saved["params"]) for group, saved in zip(groups, saved_groups, strict=True)):
            raise ValueError("loaded state dict contains a parameter group that doesn't match the size of optimizer's group")
        state: defaultdict[Any, State] = defaultdict(dict)
        unclaimed = dict(state_dict["state"])
        for group, saved in zip(groups, saved_groups, strict=True):
            for p, number in zip(group["params"], saved["params"], strict=True):
                if number in unclaimed:
                    state[p] = _adapt(unclaimed.pop(number), p, saved)
            saved["params"] = group["params"]
            if "param_names" in group:
                saved.setdefault("param_names", group["param_names"])
        state.update(unclaimed)
        self.__setstate__({"state": state, "param_groups": saved_groups})
        for post_hook in self._optimizer_load_state_dict_post_hooks.values():
            post_hook(self)


def _unpack_params(group: Group) -> None:
    """Make `group["params"]` a list of tensors, with their names, if any, in `group["param_names"]`."""
    params = group["params"]
    if isinstance(params, set):
        raise TypeError(
            "optimizer parameters need to be organized in ordered collections, but "
            "the ordering of tensors in sets will change between runs. Please use a list instead."
        )
    params = [params] if isinstance(params, Tensor) else list(params)
    names = [param[0] for param in params if isinstance(param, tuple)]
    group["params"] = [param[1] if isinstance(param, tuple) else param for param in params]
    if names:
        if len(names) != len(params):
            raise ValueError("all optimizer params should be with/without names. Some param names are missing")
        group["param_names"] = names


def _adapt(value: Any, param: Tensor, group: Group, key: str | None = None) -> Any:
    """Cast the tensors of a saved state to the dtype and device of their parameter; do not copy those that already match."""
    if isinstance(value, Tensor):
        if key == "step":  # step counts stay on the CPU, unless the device counts the steps
            counted_on_device = group.get("capturable") or group.get("fused")
            device, dtype = (param.device, torch.float32) if counted_on_device else (value.device, value.dtype)
        else:
            device, dtype = param.device, param.dtype if param.is_floating_point() else value.dtype
        return value.to(device=device, dtype=dtype)
    if isinstance(value, dict):
        return {k: _adapt(v, param, group, k) for k, v in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, (str, bytes)):
        return type(value)(_adapt(v, param, group) for v in value)  # type: ignore[call-arg]
    return value

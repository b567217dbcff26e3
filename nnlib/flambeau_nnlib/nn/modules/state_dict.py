"""Saving a module's parameters and buffers to a flat dictionary, and loading them from one."""

from __future__ import annotations

import warnings
import weakref
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, NamedTuple, TypeVar

import flambeau as torch
from flambeau.__future__ import get_swap_module_params_on_conversion
from flambeau.utils.hooks import RemovableHandle

from ..parameter import Parameter, is_lazy
from .hooks import Hook, add_hook

__all__ = ["Stateful"]

EXTRA_STATE = "_extra_state"


class _IncompatibleKeys(NamedTuple):
    """The result of `load_state_dict`: the missing and the unexpected keys."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return f"_IncompatibleKeys(missing_keys={self.missing_keys!r}, unexpected_keys={self.unexpected_keys!r})"


class Stateful:
    """The part of `Module` that saves and loads its state."""

    T_destination = TypeVar("T_destination", bound=dict[str, Any])
    dump_patches = False
    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, torch.Tensor | None]
    _modules: dict[str, Any]  # values are modules or None; `Any`, because `typing.get_type_hints` cannot resolve `Module` here
    _non_persistent_buffers_set: set[str]
    _state_dict_pre_hooks: OrderedDict[int, Hook]
    _state_dict_hooks: OrderedDict[int, Hook]
    _load_state_dict_pre_hooks: OrderedDict[int, Hook]
    _load_state_dict_post_hooks: OrderedDict[int, Hook]
    _version = 1

    def state_dict(
        self,
        *args: Any,
        destination: dict[str, Any] | None = None,
        prefix: str = "",
        keep_vars: bool = False,
    ) -> dict[str, Any]:
        """Return all parameters and persistent buffers by dotted name; None entries are omitted.

        The tensors share memory with those of the module, and are detached from autograd unless `keep_vars`.

        >>> list(torch.nn.Sequential(torch.nn.Linear(2, 3)).state_dict())
        ['0.weight', '0.bias']
        """
        if args:
            warnings.warn("Positional args are being deprecated, use kwargs instead.", FutureWarning, stacklevel=2)
            positional = dict(zip(("destination", "prefix", "keep_vars"), args, strict=False))
            destination = positional["destination"] if destination is None else destination
            prefix = prefix or positional.get("prefix", "")
            keep_vars = keep_vars or positional.get("keep_vars", False)
        if destination is None:
            destination = with_metadata({}, OrderedDict())
        metadata = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = metadata

        for hook in self._state_dict_pre_hooks.values():
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        for hook in self._state_dict_hooks.values():
            result = hook(self, destination, prefix, metadata)
            if result is None:
                continue
            if getattr(hook, "_from_public_api", False):
                raise RuntimeError("state_dict post-hook must return None")
            destination = result
        return destination

    def _save_to_state_dict(self, destination: dict[str, Any], prefix: str, keep_vars: bool) -> None:
        """Save the state of this module without its submodules to `destination`."""
        for name, tensor in self._own_state().items():
            destination[prefix + name] = tensor if keep_vars else tensor.detach()
        if type(self).get_extra_state is not Stateful.get_extra_state:
            destination[prefix + EXTRA_STATE] = self.get_extra_state()

    def _own_state(self) -> dict[str, torch.Tensor]:
        """Return the parameters and persistent buffers of this module without its submodules; None entries are omitted."""
        state: dict[str, torch.Tensor] = {name: param for name, param in self._parameters.items() if param is not None}
        for name, buffer in self._buffers.items():
            if buffer is not None and name not in self._non_persistent_buffers_set:
                state[name] = buffer
        return state

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False) -> _IncompatibleKeys:
        """Copy the tensors of `state_dict` into the parameters and buffers of the same names.

        With `assign`, the tensors replace the module's tensors instead of being copied. Return the missing and the
        unexpected keys. Raise RuntimeError on a shape mismatch and, if `strict`, on missing or unexpected keys.

        >>> first, second = torch.nn.Linear(2, 3), torch.nn.Linear(2, 3)
        >>> second.load_state_dict(first.state_dict())
        <All keys matched successfully>
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        metadata = getattr(state_dict, "_metadata", None)
        loaded = with_metadata(state_dict, metadata)  # a copy, because modules may rename its keys while loading
        keys = _IncompatibleKeys([], [])
        errors: list[str] = []

        self._load_with_children(loaded, "", metadata, assign, keys, errors)
        if strict:
            if keys.unexpected_keys:
                errors.insert(0, f"Unexpected key(s) in state_dict: {quoted(keys.unexpected_keys)}. ")
            if keys.missing_keys:
                errors.insert(0, f"Missing key(s) in state_dict: {quoted(keys.missing_keys)}. ")
        if errors:
            details = "\n\t".join(errors)
            raise RuntimeError(f"Error(s) in loading state_dict for {type(self).__name__}:\n\t{details}")
        return keys

    def _load_with_children(
        self, state: dict[str, Any], prefix: str, metadata: Any, assign: bool, keys: _IncompatibleKeys, errors: list[str]
    ) -> None:
        """Load the tensors of this module and its submodules, whose names begin with `prefix`; then call the hooks."""
        local_metadata = {} if metadata is None else metadata.get(prefix[:-1], {})
        if assign:
            local_metadata["assign_to_params_buffers"] = True
        self._load_from_state_dict(state, prefix, local_metadata, True, *keys, errors)
        for name, child in self._modules.items():
            if child is not None:
                child_prefix = f"{prefix}{name}."
                child_state = {key: value for key, value in state.items() if key.startswith(child_prefix)}
                child._load_with_children(child_state, child_prefix, metadata, assign, keys, errors)
        for hook in self._load_state_dict_post_hooks.values():
            if hook(self, keys) is not None:
                raise AssertionError(
                    "Hooks registered with ``register_load_state_dict_post_hook`` are not "
                    "expected to return new values, if incompatible_keys need to be modified, "
                    "it should be done inplace."
                )

    def _load_from_state_dict(
        self,
        state_dict: dict[str, Any],
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        """Load the state of this module without its submodules; keys and errors are appended to the given lists."""
        for hook in self._load_state_dict_pre_hooks.values():
            hook(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)

        own_state = self._own_state()
        assign = local_metadata.get("assign_to_params_buffers", False)
        for name, target in own_state.items():
            key = prefix + name
            if key in state_dict:
                error = self._load_tensor(name, key, target, state_dict[key], assign)
                if error:
                    error_msgs.append(error)
            elif strict:
                missing_keys.append(key)

        extra_key = prefix + EXTRA_STATE
        if type(self).set_extra_state is not Stateful.set_extra_state:
            if extra_key in state_dict:
                self.set_extra_state(state_dict[extra_key])
            elif strict:
                missing_keys.append(extra_key)
        elif strict and extra_key in state_dict:
            unexpected_keys.append(extra_key)

        if strict:
            for key in state_dict:
                if key.startswith(prefix) and key != extra_key:
                    name, dot, _ = key[len(prefix) :].partition(".")
                    if name not in (self._modules if dot else own_state):
                        unexpected_keys.append(key)

    def _load_tensor(self, name: str, key: str, target: torch.Tensor, source: Any, assign: bool) -> str | None:
        """Copy or assign `source` to the parameter or buffer `target`; return an error message if that fails, else None."""
        if not torch.overrides.is_tensor_like(source):
            return (
                f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like object '
                f"from checkpoint but received {type(source)}"
            )
        if not is_lazy(target):
            if target.dim() == 0 and source.shape == (1,):  # PyTorch before 0.4 saved scalars as 1-element tensors
                source = source[0]
            if source.shape != target.shape:
                return (
                    f"size mismatch for {key}: copying a param with shape {source.shape} from checkpoint, "
                    f"the shape in current model is {target.shape}."
                )
        if not assign and target.is_meta and not getattr(source, "is_meta", True):
            warnings.warn(
                f"for {key}: copying from a non-meta parameter in the checkpoint to a meta parameter in the current model, which "
                "is a no-op. (Did you mean to pass `assign=True` to assign items in the state dictionary to their "
                "corresponding key in the module instead of copying them in place?)",
                stacklevel=5,
            )
        swap = get_swap_module_params_on_conversion()
        try:
            with torch.no_grad():
                if swap:
                    loaded = target.module_load(source, assign=assign)
                    if loaded is source or loaded is target:
                        raise RuntimeError(
                            "module_load returned one of self or other, please .detach() the result if returning one of "
                            "the inputs in module_load"
                        )
                    if isinstance(target, Parameter):
                        loaded = loaded if isinstance(loaded, Parameter) else Parameter(loaded)
                        loaded.requires_grad_(target.requires_grad)
                    torch.utils.swap_tensors(target, loaded)
                elif not assign:
                    target.copy_(source)
                elif not isinstance(target, Parameter):
                    setattr(self, name, source)
                elif isinstance(source, Parameter):
                    setattr(self, name, source.requires_grad_(target.requires_grad))
                else:
                    setattr(self, name, Parameter(source, requires_grad=target.requires_grad))
        except Exception as error:
            return (
                f'While {"swapping" if swap else "copying"} the parameter named "{key}", '
                f"whose dimensions in the model are {target.size()} and whose dimensions in the checkpoint are {source.size()}, "
                f"an exception occurred : {error.args}."
            )
        return None

    def get_extra_state(self) -> Any:
        """Return extra state for the state dict, of any type; override it together with `set_extra_state`."""
        raise RuntimeError(f"{type(self).__name__} has no extra state: override get_extra_state to add some")

    def set_extra_state(self, state: Any) -> None:
        """Restore the state that `get_extra_state` returned; called by `load_state_dict`."""
        raise RuntimeError(f"{type(self).__name__} has no extra state: override set_extra_state to load some")

    def register_state_dict_pre_hook(self, hook: Hook) -> RemovableHandle:
        """Call `hook(module, prefix, keep_vars)` before the state of this module is saved."""
        return add_hook(self._state_dict_pre_hooks, hook)

    def register_state_dict_post_hook(self, hook: Hook) -> RemovableHandle:
        """Call `hook(module, state_dict, prefix, local_metadata)` after saving; the hook may change `state_dict` in place."""
        marked: Any = hook
        marked._from_public_api = True
        return add_hook(self._state_dict_hooks, hook)

    def _register_state_dict_hook(self, hook: Hook) -> RemovableHandle:
        """Register a hook like `register_state_dict_post_hook`; a hook of the root module may return another dictionary."""
        if getattr(hook, "_from_public_api", False):
            raise RuntimeError(
                "Cannot register the same function as the state dict post hook that was "
                "previously registered via register_state_dict_post_hook"
            )
        return add_hook(self._state_dict_hooks, hook)

    def register_load_state_dict_pre_hook(self, hook: Hook) -> RemovableHandle:
        """Call `hook(module, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)`
        before this module is loaded."""
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def _register_load_state_dict_pre_hook(self, hook: Hook, with_module: bool = False) -> RemovableHandle:
        wrapped: Hook = _WrappedHook(hook, self if with_module else None)
        return add_hook(self._load_state_dict_pre_hooks, wrapped)

    def register_load_state_dict_post_hook(self, hook: Hook) -> RemovableHandle:
        """Call `hook(module, incompatible_keys)` after this module is loaded; the hook may change both lists of keys."""
        return add_hook(self._load_state_dict_post_hooks, hook)


class _WrappedHook:
    """A hook, called with its module as first argument if that is given; its state in files is PyTorch's.

    The module is stored as a weak reference, but copied with the hook.
    """

    __module__ = "flambeau_nnlib.nn.modules.module"  # as in PyTorch, for files

    def __init__(self, hook: Hook, module: Any = None) -> None:
        self.hook, self.with_module = hook, module is not None
        if self.with_module:
            self.module = weakref.ref(module)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.hook(self.module(), *args, **kwargs) if self.with_module else self.hook(*args, **kwargs)

    def __getstate__(self) -> dict[str, Any]:
        state = {"hook": self.hook, "with_module": self.with_module}
        return {**state, "module": self.module()} if self.with_module else state

    def __setstate__(self, state: dict[str, Any] | tuple[Hook, Any]) -> None:
        hook, module = state if isinstance(state, tuple) else (state["hook"], state.get("module"))
        self.__init__(hook, module)  # type: ignore[misc]  # the state has the constructor's arguments


_WithModule = _WrappedHook  # the name in pickles of flambeau 0.1, whose state is a tuple


def with_metadata(state: Mapping[str, Any], metadata: Any) -> OrderedDict[str, Any]:
    """Copy a state dict, and set its attribute `_metadata` (the modules' versions) to `metadata` if that is not None."""
    copied: OrderedDict[str, Any] = OrderedDict(state)
    if metadata is not None:
        vars(copied)["_metadata"] = metadata
    return copied


def quoted(keys: list[str]) -> str:
    return ", ".join(f'"{key}"' for key in keys)

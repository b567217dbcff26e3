"""Wrapping policies, which select the submodules that `FullyShardedDataParallel` shards separately."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from ...nn import Module, ModuleDict, ModuleList, MultiheadAttention

__all__ = [
    "CustomPolicy", "ModuleWrapPolicy", "always_wrap_policy", "enable_wrap", "lambda_auto_wrap_policy",
    "size_based_auto_wrap_policy", "transformer_auto_wrap_policy", "wrap",
]  # fmt: skip


def always_wrap_policy(*args: Any, **kwargs: Any) -> bool:
    """Select every submodule."""
    return True


def lambda_auto_wrap_policy(module: Module, recurse: bool, nonwrapped_numel: int, lambda_fn: Callable[[Module], Any]) -> Any:
    """Select the submodules for which `lambda_fn` returns True."""
    return True if recurse else lambda_fn(module)


def transformer_auto_wrap_policy(
    module: Module, recurse: bool, nonwrapped_numel: int, transformer_layer_cls: Iterable[type[Module]]
) -> bool:
    """Select instances of the given classes, usually transformer blocks."""
    return True if recurse else isinstance(module, tuple(transformer_layer_cls))


def size_based_auto_wrap_policy(
    module: Module,
    recurse: bool,
    nonwrapped_numel: int,
    min_num_params: int = 100_000_000,
    force_leaf_modules: set[type[Module]] | None = None,
    exclude_wrap_modules: set[type[Module]] | None = None,
) -> bool:
    """Select submodules with at least `min_num_params` parameter elements outside of separately wrapped submodules."""
    large = nonwrapped_numel >= min_num_params
    if recurse:
        return large and not isinstance(module, tuple(force_leaf_modules or {MultiheadAttention}))
    return large and not isinstance(module, tuple(exclude_wrap_modules or {ModuleList, ModuleDict}))


def _or_policy(module: Module, recurse: bool, nonwrapped_numel: int, policies: Iterable[Callable[..., Any]]) -> bool:
    """Select the submodules that one of the policies selects."""
    return any(policy(module=module, recurse=recurse, nonwrapped_numel=nonwrapped_numel) for policy in policies)


class ModuleWrapPolicy:
    """Select instances of the given classes.

    Args:
        module_classes: the classes.
    """

    def __init__(self, module_classes: Iterable[type[Module]]) -> None:
        self._module_classes = set(module_classes)

    def __call__(self, module: Module, recurse: bool, *args: Any, **kwargs: Any) -> bool:
        return True if recurse else isinstance(module, tuple(self._module_classes))

    def __repr__(self) -> str:
        return f"{super().__repr__()}({self._module_classes})"


class CustomPolicy:
    """Select submodules by a function that returns True, False, or a dictionary of wrapper options.

    Args:
        lambda_fn: called with each submodule.
    """

    def __init__(self, lambda_fn: Callable[[Module], bool | dict[str, Any]]) -> None:
        self._lambda_fn = lambda_fn

    def options(self, module: Module) -> dict[str, Any] | None:
        """Return the wrapper options of a submodule; None if it is not selected. ValueError for another result of the
        function.
        """
        chosen = self._lambda_fn(module)
        if not isinstance(chosen, (dict, bool)):
            raise ValueError(
                f"The lambda_fn passed to CustomPolicy should return False/True or a kwarg dict, but it returned {chosen}"
            )
        return chosen if isinstance(chosen, dict) else {} if chosen else None


def wrapped_children(
    module: Module, policy: Any, ignored: set[Module], wrap_one: Callable[[Module, dict[str, Any]], Module]
) -> int:
    """Wrap the descendants that a policy selects, inner ones first; return the total number of elements of their parameters."""
    total = 0
    for name, child in list(module.named_children()):
        if child in ignored:
            continue
        size = sum(parameter.numel() for parameter in child.parameters())
        inside = 0
        if isinstance(policy, CustomPolicy) or policy(module=child, recurse=True, nonwrapped_numel=size):
            inside = wrapped_children(child, policy, ignored, wrap_one)
        if isinstance(policy, CustomPolicy):
            options = policy.options(child)
        else:
            options = {} if policy(module=child, recurse=False, nonwrapped_numel=size - inside) else None
        if options is not None and size:
            setattr(module, name, wrap_one(child, options))
            inside = size
        total += inside
    return total


_wrapping: ContextVar[tuple[Any, dict[str, Any]] | None] = ContextVar("fsdp_wrapping", default=None)


@contextmanager
def enable_wrap(*, wrapper_cls: Any, **wrapper_kwargs: Any) -> Iterator[None]:
    """Return a context in which `wrap` wraps modules.

    Args:
        wrapper_cls: class of the wrappers, for example `FullyShardedDataParallel`.
        wrapper_kwargs: options of the wrappers.
    """
    token = _wrapping.set((wrapper_cls, wrapper_kwargs))
    try:
        yield
    finally:
        _wrapping.reset(token)


def wrap(module: Module, **wrap_overrides: Any) -> Module:
    """Wrap a module if called inside an `enable_wrap` context; otherwise return it unchanged.

    `wrap_overrides` are additional options of the wrapper.
    """
    current = _wrapping.get()
    if current is None:
        return module
    wrapper, options = current
    return wrapper(module, **{**options, **wrap_overrides})  # type: ignore[no-any-return]

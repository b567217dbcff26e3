"""Which submodules are sharded by themselves: policies for `FullyShardedDataParallel` and others."""

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
    """Every submodule."""
    return True


def lambda_auto_wrap_policy(module: Module, recurse: bool, nonwrapped_numel: int, lambda_fn: Callable[[Module], Any]) -> Any:
    """Submodules for which a function says so."""
    return True if recurse else lambda_fn(module)


def transformer_auto_wrap_policy(
    module: Module, recurse: bool, nonwrapped_numel: int, transformer_layer_cls: Iterable[type[Module]]
) -> bool:
    """Submodules of some classes: a transformer's blocks."""
    return True if recurse else isinstance(module, tuple(transformer_layer_cls))


def size_based_auto_wrap_policy(
    module: Module,
    recurse: bool,
    nonwrapped_numel: int,
    min_num_params: int = 100_000_000,
    force_leaf_modules: set[type[Module]] | None = None,
    exclude_wrap_modules: set[type[Module]] | None = None,
) -> bool:
    """Submodules with at least `min_num_params` numbers that are not in ones that are sharded by themselves."""
    large = nonwrapped_numel >= min_num_params
    if recurse:
        return large and not isinstance(module, tuple(force_leaf_modules or {MultiheadAttention}))
    return large and not isinstance(module, tuple(exclude_wrap_modules or {ModuleList, ModuleDict}))


class ModuleWrapPolicy:
    """Submodules of some classes.

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
    """Submodules for which a function says so, by True or by a dictionary of their own options.

    Args:
        lambda_fn: called with each submodule.
    """

    def __init__(self, lambda_fn: Callable[[Module], bool | dict[str, Any]]) -> None:
        self._lambda_fn = lambda_fn

    def options(self, module: Module) -> dict[str, Any] | None:
        """The options of a submodule; None if it is not sharded by itself.  ValueError if the function says neither."""
        chosen = self._lambda_fn(module)
        if not isinstance(chosen, (dict, bool)):
            raise ValueError(
                f"The lambda_fn passed to CustomPolicy should return False/True or a kwarg dict, but it returned {chosen}"
            )
        return chosen if isinstance(chosen, dict) else {} if chosen else None


def wrapped_children(
    module: Module, policy: Any, ignored: set[Module], wrap_one: Callable[[Module, dict[str, Any]], Module]
) -> int:
    """Wrap those descendants that a policy chooses, inner ones first; returns how many numbers of parameters they have."""
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
    """A context in which `wrap` wraps modules.

    Args:
        wrapper_cls: by which class, as `FullyShardedDataParallel`.
        wrapper_kwargs: its options.
    """
    token = _wrapping.set((wrapper_cls, wrapper_kwargs))
    try:
        yield
    finally:
        _wrapping.reset(token)


def wrap(module: Module, **wrap_overrides: Any) -> Module:
    """A module, wrapped inside `enable_wrap`; `wrap_overrides` are options besides those given there."""
    current = _wrapping.get()
    if current is None:
        return module
    wrapper, options = current
    return wrapper(module, **{**options, **wrap_overrides})  # type: ignore[no-any-return]  # a module

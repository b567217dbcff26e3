"""`torch.compile` and `torch.compiler`: the names are there, and programs that use them run; nothing is compiled.

What `torch.compile` gives back runs eagerly, and says so once in a warning.

>>> import flambeau as torch
>>> torch.compiler.is_compiling()
False
"""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any

import flambeau as torch
from flambeau.utils import _pytree as pytree

from . import nn

__all__ = [
    "allow_in_graph", "assume_constant_result", "compile", "cudagraph_mark_step_begin", "disable", "get_default_backend",
    "is_compiling", "is_dynamo_compiling", "is_exporting", "keep_portable_guards_unsafe", "keep_tensor_guards_unsafe",
    "list_backends", "load_cache_artifacts", "load_compiled_function", "nested_compile_region", "reset", "save_cache_artifacts",
    "set_default_backend", "set_enable_guard_collectives", "set_stance", "skip_all_guards_unsafe",
    "skip_guard_on_all_nn_modules_unsafe", "skip_guard_on_globals_unsafe", "skip_guard_on_inbuilt_nn_modules_unsafe",
    "substitute_in_graph", "wrap_numpy",
]  # fmt: skip

_MODES = ("default", "lite", "reduce-overhead", "max-autotune-no-cudagraphs", "max-autotune")
_BACKENDS = ("cudagraphs", "inductor", "openxla", "tvm")
_FOR_DEBUGGING = (
    "aot_eager", "aot_eager_decomp_partition", "aot_ts", "eager", "eager_debug", "eager_noexcept", "pre_dispatch_eager",
)  # fmt: skip
_STANCES = ("default", "force_eager", "eager_on_recompile", "fail_on_recompile", "eager_then_compile", "aot_eager_then_compile")
_default_backend: str | Callable[..., Any] = "inductor"
_warned = False


# --- torch.compile ------------------------------------------------------------------------------------------------------


class InvalidBackend(RuntimeError):
    """There is no backend of this name."""


class OptimizedModule(nn.Module):
    """A module that `torch.compile` has given back: it calls the module that it was given, which is its `_orig_mod`.

    Args:
        mod: the module.
        dynamo_ctx: ignored.

    >>> import flambeau as torch
    >>> list(OptimizedModule(torch.nn.Linear(1, 1)).state_dict())
    ['_orig_mod.weight', '_orig_mod.bias']
    """

    def __init__(self, mod: nn.Module, dynamo_ctx: Any = None) -> None:
        super().__init__()
        self._orig_mod = mod
        self.training = mod.training

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._orig_mod(*args, **kwargs)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the module computes."""
        return self._orig_mod(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        if name == "_orig_mod":
            return self._modules["_orig_mod"]
        return getattr(self._orig_mod, name)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *(name for name in dir(self._orig_mod))]


def compile(
    model: Callable[..., Any] | None = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: str | Callable[..., Any] | None = None,
    mode: str | None = None,
    options: dict[str, Any] | None = None,
    name: str | None = None,
    disable: bool = False,
    recompile_limit: int | None = None,
    isolate_recompiles: bool = False,
    shapes_spec: Any = None,
) -> Any:
    """Give back a function or module that computes the same; usable as a decorator, too.

    Nothing is compiled: it runs eagerly, as the one that is given does, and is not faster. The first use says so in a warning.

    Args:
        model: the function or module.
        fullgraph, dynamic, options, name, recompile_limit, isolate_recompiles, shapes_spec: ignored.
        backend: the name of one of PyTorch's backends, or a function; it is not called.
        mode: one of PyTorch's modes.
        disable: give back what is given, without a warning.

    Raises:
        RuntimeError: `mode` is none, is given beside `options`, or the backend has a name that PyTorch has no backend of.

    Warns:
        UserWarning: once: it runs eagerly.

    >>> import warnings
    >>> import flambeau as torch
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     double = torch.compile(lambda x: 2 * x)
    >>> double(torch.ones(1))
    tensor([2.])
    """
    if mode is not None and options is not None:
        raise RuntimeError("Either mode or options can be specified, but both can't be specified at the same time.")
    if mode is not None and mode not in _MODES:
        raise RuntimeError(f"Unrecognized mode={mode}, should be one of: {', '.join(_MODES)}")
    _check_backend(backend)
    if model is None:
        return lambda given: compile(
            given, fullgraph=fullgraph, dynamic=dynamic, backend=backend, mode=mode, options=options, disable=disable
        )
    if not callable(model):
        raise RuntimeError(f"torch.compile: expected a function or a module, got {type(model).__name__}")
    if disable:
        return model
    _warn_once()
    if isinstance(model, nn.Module):
        return model if isinstance(model, OptimizedModule) else OptimizedModule(model)
    if inspect.isclass(model):
        return model

    @functools.wraps(model)
    def run(*args: Any, **kwargs: Any) -> Any:
        return model(*args, **kwargs)

    run._torchdynamo_orig_callable = model  # type: ignore[attr-defined]
    return run


def _check_backend(backend: Any) -> None:
    if isinstance(backend, str) and backend not in (*_BACKENDS, *_FOR_DEBUGGING):
        raise InvalidBackend(f"Invalid backend: {backend!r}, see `torch._dynamo.list_backends()` for available backends.")


def _warn_once() -> None:
    global _warned
    if not _warned:
        _warned = True
        warnings.warn("torch.compile: nothing is compiled, functions and modules run eagerly", stacklevel=3)


# --- questions, and settings that have no effect --------------------------------------------------------------------------


def is_compiling() -> bool:
    """False."""
    return False


def is_dynamo_compiling() -> bool:
    """False."""
    return False


def is_exporting() -> bool:
    """False."""
    return False


def disable(fn: Callable[..., Any] | None = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """A decorator, with or without arguments, for functions that are not to be compiled: gives them back.

    Args:
        fn: the function.
        recursive, reason: ignored.
    """
    return fn if fn is not None else lambda fn: fn


def allow_in_graph(fn: Any) -> Any:
    """Give back a function, or a list of functions.

    Args:
        fn: the function, or the list.
    """
    return fn


def assume_constant_result(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Give back a function.

    Args:
        fn: the function.
    """
    return fn


def substitute_in_graph(
    original_fn: Callable[..., Any], *, can_constant_fold_through: bool = False, skip_signature_check: bool = False
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator that gives back the function: there are no graphs to put it into.

    Args:
        original_fn: the function in whose place it would stand.
        can_constant_fold_through, skip_signature_check: ignored.
    """
    return lambda function: function


def nested_compile_region(
    fn: Callable[..., Any] | None = None, *, options: Any = None, max_reuse_entries: int = 8, reuse_hash_fn: Any = None
) -> Any:
    """A decorator, with or without arguments: gives back the function.

    Args:
        fn: the function.
        options, max_reuse_entries, reuse_hash_fn: ignored.
    """
    return fn if fn is not None else lambda fn: fn


def wrap_numpy(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A function of tensors from a function of NumPy arrays.

    Args:
        fn: the function of arrays.

    >>> import flambeau as torch
    >>> torch.compiler.wrap_numpy(lambda x: x * 2)(torch.ones(1))
    tensor([2.])
    """

    @functools.wraps(fn)
    def on_tensors(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = pytree.tree_map_only(torch.Tensor, lambda each: each.numpy(), (args, kwargs))
        return pytree.tree_map(
            lambda each: torch.as_tensor(each) if hasattr(each, "__array_interface__") else each, fn(*args, **kwargs)
        )

    return on_tensors


def cudagraph_mark_step_begin() -> None:
    """Nothing: there are no recorded CUDA graphs behind the program's back."""


def reset() -> None:
    """Nothing: there is nothing compiled to forget."""


def list_backends(exclude_tags: Sequence[str] | None = ("debug", "experimental")) -> list[str]:
    """The names that `torch.compile(backend=)` takes.

    Args:
        exclude_tags: leave out those for debugging, if that is among these.
    """
    return sorted(_BACKENDS if "debug" in (exclude_tags or ()) else (*_BACKENDS, *_FOR_DEBUGGING))


def get_default_backend() -> str | Callable[..., Any]:
    """The name that `set_default_backend` was last given."""
    return _default_backend


def set_default_backend(backend: str | Callable[..., Any] | None) -> None:
    """Keep a name, for `get_default_backend`.

    Args:
        backend: the name of one of PyTorch's backends, or a function; None for `"inductor"`.

    Raises:
        RuntimeError: PyTorch has no backend of that name.
    """
    global _default_backend
    _check_backend(backend)
    _default_backend = "inductor" if backend is None else backend


class set_stance:
    """Say how compiled code is to behave, as a function, context or decorator; there is none, so it changes nothing.

    Args:
        stance: one of PyTorch's stances.
        skip_guard_eval_unsafe, force_backend: ignored.

    Raises:
        RuntimeError: it is none of them.
    """

    def __init__(
        self,
        stance: str = "default",
        *,
        skip_guard_eval_unsafe: bool = False,
        force_backend: str | Callable[..., Any] | None = None,
    ) -> None:
        if stance not in _STANCES:
            raise RuntimeError(f"invalid torch.compile stance {stance!r}, should be one of: {', '.join(_STANCES)}")
        self.stance = stance

    def __call__(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        return fn

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        pass


def set_enable_guard_collectives(enabled: bool) -> bool:
    """Nothing: nothing is guarded.

    Args:
        enabled: ignored.

    Returns:
        False, which is what was set before.
    """
    return False


def _keep_all(guard_entries: Sequence[Any]) -> list[bool]:
    return [True for _ in guard_entries]


def keep_portable_guards_unsafe(guard_entries: Sequence[Any]) -> list[bool]:
    """True for each: nothing is guarded, so nobody asks.

    Args:
        guard_entries: guards.
    """
    return _keep_all(guard_entries)


def keep_tensor_guards_unsafe(guard_entries: Sequence[Any], keep_parameters: bool = False) -> list[bool]:
    """True for each: nothing is guarded, so nobody asks.

    Args:
        guard_entries: guards.
        keep_parameters: ignored.
    """
    return _keep_all(guard_entries)


def skip_all_guards_unsafe(guard_entries: Sequence[Any]) -> list[bool]:
    """False for each: nothing is guarded.

    Args:
        guard_entries: guards.
    """
    return [False for _ in guard_entries]


def skip_guard_on_all_nn_modules_unsafe(guard_entries: Sequence[Any]) -> list[bool]:
    """True for each: nothing is guarded, so nobody asks.

    Args:
        guard_entries: guards.
    """
    return _keep_all(guard_entries)


def skip_guard_on_globals_unsafe(guard_entries: Sequence[Any]) -> list[bool]:
    """True for each: nothing is guarded, so nobody asks.

    Args:
        guard_entries: guards.
    """
    return _keep_all(guard_entries)


def skip_guard_on_inbuilt_nn_modules_unsafe(guard_entries: Sequence[Any]) -> list[bool]:
    """True for each: nothing is guarded, so nobody asks.

    Args:
        guard_entries: guards.
    """
    return _keep_all(guard_entries)


def save_cache_artifacts() -> None:
    """None: nothing has been compiled."""


def load_cache_artifacts(serialized_artifacts: bytes) -> None:
    """None: what PyTorch has compiled is of no use here.

    Args:
        serialized_artifacts: ignored.
    """


def load_compiled_function(
    file: Any, *, f_globals: dict[str, Any] | None = None, external_data: dict[str, Any] | None = None
) -> Any:
    """Refuse: functions that PyTorch has compiled do not run here.

    Args:
        file, f_globals, external_data: ignored.

    Raises:
        RuntimeError: always.
    """
    raise RuntimeError("load_compiled_function: functions that PyTorch has compiled cannot be run; compile from the source there")

"""`torch.compiler`: what programs ask of the compiler, and tell it.

>>> torch.compiler.is_compiling()
False
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Any

import flambeau as torch
from flambeau.extension.capture import is_recording, refuse
from flambeau.utils import pytree

from ... import nn
from .errors import InvalidBackend

__all__ = [
    "allow_in_graph", "assume_constant_result", "cudagraph_mark_step_begin", "disable", "get_default_backend",
    "is_compiling", "is_dynamo_compiling", "is_exporting", "keep_portable_guards_unsafe", "keep_tensor_guards_unsafe",
    "list_backends", "load_cache_artifacts", "load_compiled_function", "nested_compile_region", "reset", "save_cache_artifacts",
    "set_default_backend", "set_enable_guard_collectives", "set_stance", "skip_all_guards_unsafe",
    "skip_guard_on_all_nn_modules_unsafe", "skip_guard_on_globals_unsafe", "skip_guard_on_inbuilt_nn_modules_unsafe",
    "substitute_in_graph", "wrap_numpy",
]  # fmt: skip

_BACKENDS = ("cudagraphs", "inductor", "openxla", "tvm")
FOR_DEBUGGING = (
    "aot_eager", "aot_eager_decomp_partition", "aot_ts", "eager", "eager_debug", "eager_noexcept", "pre_dispatch_eager",
)  # fmt: skip
_STANCES = ("default", "force_eager", "eager_on_recompile", "fail_on_recompile", "eager_then_compile", "aot_eager_then_compile")
_default_backend: str | Callable[..., Any] = "inductor"
_stance = "default"
_generation = 0  # goes up with each `reset`
_compiling = 0  # functions that are being captured, or verified


# --- for the compiler ------------------------------------------------------------------------------------------------------


def stance() -> str:
    """How compiled functions are to behave, as `set_stance` says."""
    return _stance


def generation() -> int:
    """How often `reset` has been called."""
    return _generation


@contextmanager
def compiling() -> Iterator[None]:
    """Context in which `is_compiling` says True."""
    global _compiling
    _compiling += 1
    try:
        yield
    finally:
        _compiling -= 1


def check_backend(backend: Any) -> None:
    """Raise InvalidBackend for a name that PyTorch has no backend of."""
    if isinstance(backend, str) and backend not in (*_BACKENDS, *FOR_DEBUGGING):
        raise InvalidBackend(f"Invalid backend: {backend!r}, see `torch._dynamo.list_backends()` for available backends.")


# --- for programs ----------------------------------------------------------------------------------------------------------


def is_compiling() -> bool:
    """Whether the code that asks is being compiled: a call of it is captured, or compared with what was captured."""
    return _compiling > 0


def is_dynamo_compiling() -> bool:
    """As `is_compiling`."""
    return _compiling > 0


def is_exporting() -> bool:
    """Whether the code that asks is being exported: never, as `torch.export` runs it as it is."""
    return False


def disable(fn: Callable[..., Any] | None = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """A decorator, with or without arguments, for functions that are not to be compiled: what calls them runs eagerly.

    Args:
        fn: the function, or a module.
        recursive: accepted.
        reason: is part of the message that says why it runs eagerly.
    """
    if fn is None:
        return functools.partial(disable, recursive=recursive, reason=reason)
    if isinstance(fn, nn.Module):
        fn.forward = disable(fn.forward, recursive, reason=reason)  # type: ignore[method-assign]  # for this module alone
        return fn
    if isinstance(fn, type):
        return fn
    called = getattr(fn, "__name__", repr(fn))

    @functools.wraps(fn)
    def run_eagerly(*args: Any, **kwargs: Any) -> Any:
        if is_recording():
            refuse(f"it calls {called}, for which the compiler is disabled" + (f": {reason}" if reason else ""))
        return fn(*args, **kwargs)

    return run_eagerly


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

    >>> torch.compiler.wrap_numpy(lambda x: x * 2)(torch.ones(1))
    tensor([2.])
    """

    @functools.wraps(fn)
    def on_tensors(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = pytree.tree_map_only(torch.Tensor, lambda tensor: tensor.numpy(), (args, kwargs))
        return pytree.tree_map(
            lambda value: torch.as_tensor(value) if hasattr(value, "__array_interface__") else value, fn(*args, **kwargs)
        )

    return on_tensors


def cudagraph_mark_step_begin() -> None:
    """Nothing: there are no recorded CUDA graphs behind the program's back."""


def reset() -> None:
    """Forget all that has been compiled: each compiled function is compiled again when it is next called."""
    global _generation
    _generation += 1


def list_backends(exclude_tags: Sequence[str] | None = ("debug", "experimental")) -> list[str]:
    """The names that `torch.compile(backend=)` takes.

    Args:
        exclude_tags: leave out those for debugging, if that is among these.
    """
    return sorted(_BACKENDS if "debug" in (exclude_tags or ()) else (*_BACKENDS, *FOR_DEBUGGING))


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
    check_backend(backend)
    _default_backend = "inductor" if backend is None else backend


class set_stance:
    """Say how compiled functions are to behave: at once, or, as a context or decorator, within it.

    Args:
        stance: `"default"`; `"force_eager"`: run them eagerly; `"eager_on_recompile"`: replay what has been compiled, run all
            else eagerly; `"fail_on_recompile"`: raise there; `"eager_then_compile"`, `"aot_eager_then_compile"`: run each
            function's first call eagerly.
        skip_guard_eval_unsafe, force_backend: accepted.

    Raises:
        RuntimeError: it is none of them.

    >>> double = torch.compile(lambda x: 2 * x)
    >>> with torch.compiler.set_stance("force_eager"):
    ...     double(torch.ones(1))
    tensor([2.])
    """

    def __init__(
        self,
        stance: str = "default",
        *,
        skip_guard_eval_unsafe: bool = False,
        force_backend: str | Callable[..., Any] | None = None,
    ) -> None:
        global _stance
        if stance not in _STANCES:
            raise RuntimeError(f"invalid torch.compile stance {stance!r}, should be one of: {', '.join(_STANCES)}")
        self.stance, self._previous = stance, _stance
        _stance = stance

    def __call__(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        global _stance
        _stance = self._previous  # it is for the function alone
        stance = self.stance

        @functools.wraps(fn)
        def run(*args: Any, **kwargs: Any) -> Any:
            with set_stance(stance):
                return fn(*args, **kwargs)

        return run

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        global _stance
        _stance = self._previous


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
    """None: what is compiled belongs to live objects, and is not kept between processes."""


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

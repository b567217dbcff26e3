"""`torch.compiler`: settings of the compiler, and queries of its state.

>>> torch.compiler.is_compiling()
False
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
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
_generation = 0  # the number of `reset` calls
_compiling: ContextVar[bool] = ContextVar("compiling", default=False)  # whether this thread captures or verifies a function


# --- internal ---


def stance() -> str:
    """Return the stance set by `set_stance`."""
    return _stance


def generation() -> int:
    """Return the number of `reset` calls."""
    return _generation


@contextmanager
def compiling() -> Iterator[None]:
    """Context manager in which `is_compiling` returns True."""
    token = _compiling.set(True)
    try:
        yield
    finally:
        _compiling.reset(token)


def check_backend(backend: Any) -> None:
    """Raise `InvalidBackend` for a name that is not a backend of PyTorch."""
    if isinstance(backend, str) and backend not in (*_BACKENDS, *FOR_DEBUGGING):
        raise InvalidBackend(f"Invalid backend: {backend!r}, see `torch._dynamo.list_backends()` for available backends.")


# --- public ---


def is_compiling() -> bool:
    """Whether a compiled function is currently being captured, or a call of it is compared with the captured graph."""
    return _compiling.get()


def is_dynamo_compiling() -> bool:
    """Alias of `is_compiling`."""
    return _compiling.get()


def is_exporting() -> bool:
    """Return False: `torch.export` runs code normally, so code never needs to treat it differently."""
    return False


def disable(fn: Callable[..., Any] | None = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """Mark functions that must not be compiled; a decorator with or without arguments. Functions that call them run eagerly.

    Args:
        fn: the function, or a module.
        recursive: ignored.
        reason: the reason, used in the warning that the function runs eagerly.
    """
    if fn is None:
        return functools.partial(disable, recursive=recursive, reason=reason)
    if isinstance(fn, nn.Module):
        fn.forward = disable(fn.forward, recursive, reason=reason)  # type: ignore[method-assign]  # only for this instance
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
    """Return a function, or a list of functions, unchanged.

    Args:
        fn: the function, or the list.
    """
    return fn


def assume_constant_result(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function unchanged.

    Args:
        fn: the function.
    """
    return fn


def substitute_in_graph(
    original_fn: Callable[..., Any], *, can_constant_fold_through: bool = False, skip_signature_check: bool = False
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that returns the function unchanged. The original function needs no substitute, because
    graphs record the kernels that it runs.

    Args:
        original_fn: the function to substitute.
        can_constant_fold_through, skip_signature_check: ignored.
    """
    return lambda function: function


def nested_compile_region(
    fn: Callable[..., Any] | None = None, *, options: Any = None, max_reuse_entries: int = 8, reuse_hash_fn: Any = None
) -> Any:
    """Return the function unchanged; a decorator with or without arguments.

    Args:
        fn: the function.
        options, max_reuse_entries, reuse_hash_fn: ignored.
    """
    return fn if fn is not None else lambda fn: fn


def wrap_numpy(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Convert a function of NumPy arrays to a function of tensors.

    Args:
        fn: the function of NumPy arrays.

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
    """Do nothing: CUDA graphs are recorded only by `torch.compile(mode=...)`."""


def reset() -> None:
    """Discard all compiled code: functions are compiled again when they are next called."""
    global _generation
    _generation += 1


def list_backends(exclude_tags: Sequence[str] | None = ("debug", "experimental")) -> list[str]:
    """Return the names that `torch.compile(backend=)` accepts.

    Args:
        exclude_tags: if it contains `"debug"`, backends for debugging are left out.
    """
    return sorted(_BACKENDS if "debug" in (exclude_tags or ()) else (*_BACKENDS, *FOR_DEBUGGING))


def get_default_backend() -> str | Callable[..., Any]:
    """Return the backend set by `set_default_backend`."""
    return _default_backend


def set_default_backend(backend: str | Callable[..., Any] | None) -> None:
    """Set the backend that `get_default_backend` returns.

    Args:
        backend: the name of a backend of PyTorch, or a function; None for `"inductor"`.

    Raises:
        RuntimeError: the backend does not exist.
    """
    global _default_backend
    check_backend(backend)
    _default_backend = "inductor" if backend is None else backend


class set_stance:
    """Set the behavior of compiled functions, globally, or temporarily as a context manager or decorator.

    Args:
        stance: `"default"`; `"force_eager"`: run all functions eagerly; `"eager_on_recompile"`: replay compiled calls and run
            others eagerly; `"fail_on_recompile"`: raise an error if a function needs recompilation; `"eager_then_compile"`,
            `"aot_eager_then_compile"`: run the first call of each function eagerly.
        skip_guard_eval_unsafe, force_backend: accepted and ignored.

    Raises:
        RuntimeError: the stance is invalid.

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
        _stance = self._previous  # used as a decorator: `stance` applies only during calls of `fn`
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
    """Do nothing: guards are not synchronized between processes.

    Args:
        enabled: ignored.

    Returns:
        False, the previous setting.
    """
    return False


def _keep_all(guard_entries: Sequence[Any]) -> list[bool]:
    return [True for _ in guard_entries]


def keep_portable_guards_unsafe(guard_entries: Sequence[Any]) -> list[bool]:
    """Return True for each entry. Guard filters have no effect here.

    Args:
        guard_entries: guards.
    """
    return _keep_all(guard_entries)


def keep_tensor_guards_unsafe(guard_entries: Sequence[Any], keep_parameters: bool = False) -> list[bool]:
    """Return True for each entry. Guard filters have no effect here.

    Args:
        guard_entries: guards.
        keep_parameters: ignored.
    """
    return _keep_all(guard_entries)


def skip_all_guards_unsafe(guard_entries: Sequence[Any]) -> list[bool]:
    """Return False for each entry. Guard filters have no effect here.

    Args:
        guard_entries: guards.
    """
    return [False for _ in guard_entries]


def skip_guard_on_all_nn_modules_unsafe(guard_entries: Sequence[Any]) -> list[bool]:
    """Return True for each entry. Guard filters have no effect here.

    Args:
        guard_entries: guards.
    """
    return _keep_all(guard_entries)


def skip_guard_on_globals_unsafe(guard_entries: Sequence[Any]) -> list[bool]:
    """Return True for each entry. Guard filters have no effect here.

    Args:
        guard_entries: guards.
    """
    return _keep_all(guard_entries)


def skip_guard_on_inbuilt_nn_modules_unsafe(guard_entries: Sequence[Any]) -> list[bool]:
    """Return True for each entry. Guard filters have no effect here.

    Args:
        guard_entries: guards.
    """
    return _keep_all(guard_entries)


def save_cache_artifacts() -> None:
    """Return None: compiled code refers to live objects and cannot be saved."""


def load_cache_artifacts(serialized_artifacts: bytes) -> None:
    """Return None: artifacts of PyTorch's compiler cannot be used here.

    Args:
        serialized_artifacts: ignored.
    """


def load_compiled_function(
    file: Any, *, f_globals: dict[str, Any] | None = None, external_data: dict[str, Any] | None = None
) -> Any:
    """Raise a RuntimeError: functions compiled by PyTorch cannot run here.

    Args:
        file, f_globals, external_data: ignored.

    Raises:
        RuntimeError: always.
    """
    raise RuntimeError("load_compiled_function: functions compiled by PyTorch cannot run here; use torch.compile instead")

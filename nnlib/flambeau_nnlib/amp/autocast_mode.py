"""Autocast: regions in which each operation runs in a suitable precision."""

from __future__ import annotations

import contextlib
import functools
import inspect
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import flambeau as torch
from flambeau.extension import Autocast, facts_of, is_inplace, names, operation_name

__all__ = [
    "autocast",
    "clear_autocast_cache",
    "custom_bwd",
    "custom_fwd",
    "get_autocast_cpu_dtype",
    "get_autocast_dtype",
    "get_autocast_gpu_dtype",
    "is_autocast_available",
    "is_autocast_cache_enabled",
    "is_autocast_cpu_enabled",
    "is_autocast_enabled",
    "set_autocast_cache_enabled",
    "set_autocast_cpu_dtype",
    "set_autocast_cpu_enabled",
    "set_autocast_dtype",
    "set_autocast_enabled",
    "set_autocast_gpu_dtype",
]

SUPPORTED_DTYPES = (torch.bfloat16, torch.float16)


class _State(threading.local):
    """The autocast settings of the current thread."""

    def __init__(self) -> None:
        self.enabled: dict[str, bool] = {}
        self.dtypes: dict[str, torch.dtype] = {"cpu": torch.bfloat16}
        self.cache_enabled = True
        self.cache: dict[tuple[Any, ...], tuple[torch.Tensor, torch.Tensor]] = {}
        self.depth = 0
        self.mode: _CastingMode | None = None


_state = _State()


def is_autocast_available(device_type: str) -> bool:
    """Whether autocast supports a device type, such as `"cpu"`.

    >>> is_autocast_available("cpu")
    True
    """
    return torch.device(device_type).type != "meta"


def is_autocast_enabled(device_type: str = "cuda") -> bool:
    """Whether autocast is enabled for a device type.

    Args:
        device_type: the type of device, such as "cpu".

    >>> is_autocast_enabled("cpu")
    False
    """
    return _state.enabled.get(device_type, False)


def set_autocast_enabled(device_type: str | bool, enabled: bool | None = None) -> None:
    """Enable or disable autocast for a device type, or for CUDA if given only a bool. Effective inside an `autocast` region.

    Args:
        device_type: the type of device, such as "cpu"; or, as the only argument, whether autocast is enabled for CUDA.
        enabled: whether autocast is enabled.

    Raises:
        TypeError: `enabled` is not a bool.
    """
    name, value = ("cuda", device_type) if enabled is None else (device_type, enabled)
    if not isinstance(value, bool):
        raise TypeError(f"enabled must be a bool (got {type(value).__name__})")
    _state.enabled[str(name)] = value


def get_autocast_dtype(device_type: str) -> torch.dtype:
    """Return the dtype to which autocast casts the inputs of matrix products.

    Args:
        device_type: the type of device, such as "cpu".

    >>> get_autocast_dtype("cpu")
    torch.bfloat16
    """
    return _state.dtypes.get(device_type, torch.float16)


def autocast_dtypes() -> dict[str, torch.dtype]:
    """Return the dtype of each device type for which autocast is enabled."""
    enabled = _state.enabled
    return {name: get_autocast_dtype(name) for name in enabled if enabled[name]} if enabled else {}


def set_autocast_dtype(device_type: str, dtype: torch.dtype) -> None:
    """Set the dtype to which autocast casts the inputs of matrix products.

    Args:
        device_type: the type of device, such as "cpu".
        dtype: the dtype, such as `torch.bfloat16`.

    Raises:
        TypeError: `dtype` is not a dtype.
    """
    if not isinstance(dtype, torch.dtype):
        raise TypeError(f"dtype must be a torch.dtype (got {type(dtype).__name__})")
    _state.dtypes[device_type] = dtype


def is_autocast_cache_enabled() -> bool:
    """Whether casts of parameters are cached, so that repeated use in a region casts once."""
    return _state.cache_enabled


def set_autocast_cache_enabled(enabled: bool) -> None:
    """Enable or disable the cache of cast parameters.

    Args:
        enabled: whether the cache is used.
    """
    _state.cache_enabled = enabled


def clear_autocast_cache() -> None:
    """Clear the cache of cast parameters. Leaving the outermost autocast region also clears it."""
    _state.cache.clear()


def _deprecated(name: str, device_type: str, current: Callable[..., Any], argument: str = "") -> Callable[..., Any]:
    """Return a deprecated function that warns, and calls the function `current` with a fixed device type."""
    replacement = f"torch.{current.__name__}('{device_type}'{', ' * bool(argument)}{argument})"

    def function(*args: Any) -> Any:
        if len(args) != bool(argument):
            raise TypeError(f"torch.{name}() takes {int(bool(argument))} positional arguments but {len(args)} were argument")
        warnings.warn(
            f"torch.{name}({argument}) is deprecated. Please use {replacement} instead.", DeprecationWarning, stacklevel=2
        )
        return current(device_type, *args)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"`{replacement}`.  Deprecated."
    return function


is_autocast_cpu_enabled = _deprecated("is_autocast_cpu_enabled", "cpu", is_autocast_enabled)
set_autocast_cpu_enabled = _deprecated("set_autocast_cpu_enabled", "cpu", set_autocast_enabled, "enabled")
get_autocast_cpu_dtype = _deprecated("get_autocast_cpu_dtype", "cpu", get_autocast_dtype)
set_autocast_cpu_dtype = _deprecated("set_autocast_cpu_dtype", "cpu", set_autocast_dtype, "dtype")
get_autocast_gpu_dtype = _deprecated("get_autocast_gpu_dtype", "cuda", get_autocast_dtype)
set_autocast_gpu_dtype = _deprecated("set_autocast_gpu_dtype", "cuda", set_autocast_dtype, "dtype")


class autocast:
    """A region, used as a context manager or decorator, in which each operation runs in a suitable precision.

    Matrix products and convolutions run in `dtype` (default: bfloat16 on the CPU, else float16).
    Operations that need a wide range, such as losses, run in float32. All others run in the dtype of their inputs. Wrap the
    forward pass and the loss, not the backward pass. See Micikevicius et al.,
    [Mixed Precision Training](https://arxiv.org/abs/1710.03740).

    Raises ValueError if `device_type` is not a string, and RuntimeError if it is unknown.
    If `dtype` is neither bfloat16 nor float16, or the device is unavailable, it warns and has no effect.

    Args:
        device_type: the type of the device whose operations are affected, such as "cpu" or "cuda".
        dtype: the dtype for matrix products and convolutions; None for `get_autocast_dtype(device_type)`.
        enabled: whether the region has an effect.
        cache_enabled: whether casts of parameters are cached; None for the current setting.

    >>> with autocast("cpu"):
    ...     is_autocast_enabled("cpu")
    True
    """

    def __init__(
        self,
        device_type: str,
        dtype: torch.dtype | None = None,
        enabled: bool = True,
        cache_enabled: bool | None = None,
    ) -> None:
        _check_device_type(device_type)
        if not is_autocast_available(device_type):
            raise RuntimeError(f"User specified an unsupported autocast device_type '{device_type}'")
        self.device = device_type
        self.fast_dtype = get_autocast_dtype(device_type) if dtype is None else dtype
        self._enabled = enabled and self._is_possible()
        self._cache_enabled = is_autocast_cache_enabled() if cache_enabled is None else cache_enabled
        self._exits: list[contextlib.ExitStack] = []  # a stack, because a decorated function may be recursive

    def _is_possible(self) -> bool:
        if self.device == "cuda" and not torch.cuda.is_available():
            reason = "CUDA is not available or torch_xla is imported. Disabling autocast."
        elif self.fast_dtype not in SUPPORTED_DTYPES:
            device = self.device.upper()
            reason = (
                f"In {device} autocast, but the target dtype is not supported. Disabling autocast.\n"
                f"{device} Autocast only supports dtypes of {', '.join(map(str, SUPPORTED_DTYPES))} "
                "currently."
            )
        else:
            return True
        warnings.warn(reason, stacklevel=3)
        return False

    def __enter__(self) -> autocast:
        with contextlib.ExitStack() as stack:
            stack.enter_context(_settings(self.device, self._enabled, self.fast_dtype, self._cache_enabled))
            if self._enabled:
                stack.enter_context(_casting())
            self._exits.append(stack.pop_all())
        return self

    def __exit__(self, *exc_info: Any) -> None:
        self._exits.pop().__exit__(*exc_info)

    def __call__(self, func: Callable[..., Any]) -> Callable[..., Any]:
        if not callable(func):
            raise TypeError(
                f"autocast()(func) requires a callable, but got {type(func).__name__}. Did you mean to use "
                "autocast as a context manager? For example:\n    with torch.autocast(device_type=...):\n"
                "        output = model(input)"
            )

        @functools.wraps(func)
        def decorated(*args: Any, **kwargs: Any) -> Any:
            with self:
                return func(*args, **kwargs)

        return decorated


def _check_device_type(device_type: Any) -> None:
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")


@contextlib.contextmanager
def _settings(device_type: str, enabled: bool, dtype: torch.dtype, cache_enabled: bool) -> Iterator[None]:
    before = is_autocast_enabled(device_type), get_autocast_dtype(device_type), _state.cache_enabled
    set_autocast_enabled(device_type, enabled)
    set_autocast_dtype(device_type, dtype)
    _state.cache_enabled = cache_enabled
    _state.depth += 1
    try:
        yield
    finally:
        _state.depth -= 1
        if _state.depth == 0:
            clear_autocast_cache()
        set_autocast_enabled(device_type, before[0])
        set_autocast_dtype(device_type, before[1])
        _state.cache_enabled = before[2]


@contextlib.contextmanager
def _casting() -> Iterator[None]:
    """Activate the mode that casts in this thread, unless it is active. It follows the settings of the innermost region."""
    if _state.mode is not None:
        yield
        return
    _state.mode = _CastingMode()
    try:
        with _state.mode:
            yield
    finally:
        _state.mode = None


@functools.lru_cache(maxsize=1)
def _select_functions(found: frozenset[str]) -> frozenset[str]:
    return frozenset(name for name in found if not is_inplace(name) and not name.startswith("__"))


class _CastingMode(torch.overrides.TorchFunctionMode):
    def __init__(self) -> None:  # intercept methods too: composite functions call them
        self.sees_methods = _select_functions(names(has="autocast"))

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        facts = None if is_inplace(func.__name__) else facts_of(operation_name(func))
        for device_type, enabled in _state.enabled.items():
            policy = facts.autocast_on(device_type) if enabled and facts is not None else None
            if policy is Autocast.WHOLE:
                return func(*args, **kwargs)
            if policy is not None and kwargs.get("out") is None:
                cast = _find_cast(policy, device_type, (args, kwargs))
                return func(*_map_tensors(cast, args), **_map_tensors(cast, kwargs))
        if not (inspect.isfunction(func) or inspect.ismethod(func)):
            return func(*args, **kwargs)
        with self:  # a composite function: cast the operations that it calls
            return torch.overrides.redispatch_function(func, types, args, kwargs)


def _find_cast(policy: Autocast, device_type: str, arguments: Any) -> Callable[[torch.Tensor], torch.Tensor]:
    fast = get_autocast_dtype(device_type)
    if policy is Autocast.UNSAFE:
        raise RuntimeError(
            "torch.nn.functional.binary_cross_entropy and torch.nn.BCELoss are unsafe to autocast.\n"
            "Many models use a sigmoid layer right before the binary cross entropy layer.\n"
            "In this case, combine the two layers using "
            "torch.nn.functional.binary_cross_entropy_with_logits\nor torch.nn.BCEWithLogitsLoss.  "
            "binary_cross_entropy_with_logits and BCEWithLogits are\nsafe to autocast."
        )
    if policy is Autocast.FAST:
        return lambda tensor: _cast_cached(tensor, fast) if _is_eligible(tensor, device_type) else tensor
    target = torch.float32
    if policy is not Autocast.FLOAT32:
        tensors: list[torch.Tensor] = []
        _map_tensors(tensors.append, arguments)
        dtypes = {tensor.dtype for tensor in tensors if _is_eligible(tensor, device_type)}
        target = torch.float32 if torch.float32 in dtypes else fast
    return lambda tensor: tensor.to(target) if _is_eligible(tensor, device_type) else tensor


def _is_eligible(tensor: torch.Tensor, device_type: str) -> bool:
    return tensor.is_floating_point() and tensor.device.type == device_type and tensor.dtype != torch.float64


def _cast_cached(tensor: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    if tensor.dtype != torch.float32 or not (tensor.requires_grad and tensor.is_leaf and _state.cache_enabled):
        return tensor.to(dtype)
    # A cast under `no_grad` has no gradient history and must not be reused with gradients enabled.
    key = id(tensor), dtype, torch.is_grad_enabled()
    if key not in _state.cache:
        _state.cache[key] = tensor, tensor.to(dtype)
    return _state.cache[key][1]


def _map_tensors(function: Callable[[torch.Tensor], Any], value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return function(value)
    if isinstance(value, dict):
        return {key: _map_tensors(function, item) for key, item in value.items()}
    if type(value) in (list, tuple):
        return type(value)(_map_tensors(function, item) for item in value)
    return value


def snapshot() -> Callable[[], contextlib.AbstractContextManager[None]]:
    """Return a function that creates a context with the current autocast settings, for later code such as recomputation."""
    regions = [
        (device_type, get_autocast_dtype(device_type), enabled, _state.cache_enabled)
        for device_type, enabled in _state.enabled.items()
    ]

    @contextlib.contextmanager
    def restore() -> Iterator[None]:
        with contextlib.ExitStack() as stack:
            for region in regions:
                stack.enter_context(autocast(*region))
            yield

    return restore


def custom_fwd(
    fwd: Callable[..., Any] | None = None, *, device_type: str, cast_inputs: torch.dtype | None = None
) -> Callable[..., Any]:
    """Decorate `forward` of a custom `autograd.Function`, together with `custom_bwd`.

    If `cast_inputs` is given, inside an autocast region the floating-point tensor arguments are cast to
    that dtype, and `forward` runs with autocast disabled. Raises ValueError if `device_type` is not a string.
    """
    _check_device_type(device_type)
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def decorated(ctx: Any, *args: Any, **kwargs: Any) -> Any:
        enabled = is_autocast_enabled(device_type)
        ctx._dtype = get_autocast_dtype(device_type)
        ctx._fwd_used_autocast = enabled and cast_inputs is None
        if not enabled or cast_inputs is None:
            return fwd(ctx, *args, **kwargs)
        with autocast(device_type, enabled=False):
            return fwd(ctx, *_cast(args, device_type, cast_inputs), **_cast(kwargs, device_type, cast_inputs))

    return decorated


def custom_bwd(bwd: Callable[..., Any] | None = None, *, device_type: str) -> Callable[..., Any]:
    """Decorate `backward` of a custom `autograd.Function`: run it with the autocast settings of `forward`."""
    _check_device_type(device_type)
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def decorated(ctx: Any, *args: Any, **kwargs: Any) -> Any:
        with autocast(device_type, enabled=ctx._fwd_used_autocast, dtype=ctx._dtype):
            return bwd(ctx, *args, **kwargs)

    return decorated


def _cast(value: Any, device_type: str, dtype: torch.dtype) -> Any:
    if isinstance(value, torch.Tensor):
        return value.to(dtype) if _is_eligible(value, device_type) else value
    if isinstance(value, Mapping):
        return {_cast(key, device_type, dtype): _cast(item, device_type, dtype) for key, item in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, str | bytes) and type(value).__module__ != "numpy":
        items = (_cast(item, device_type, dtype) for item in value)
        return type(value)(items) if isinstance(value, list | tuple) else items
    return value

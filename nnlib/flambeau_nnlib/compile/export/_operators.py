"""Translate public functions and methods to operator calls: `x.float()` becomes `aten.to.dtype(x, torch.float32)`.

A tracer receives functions as the program calls them. A graph holds operators, with arguments in schema order and trailing
defaults dropped. `operator_call` translates most functions. Functions whose operator has a different signature are listed
here.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

import flambeau as torch
from flambeau import Tensor
from flambeau.extension import facts_of
from flambeau.extension.schemas import derive, named_arguments, namespace_of, operator_call, operator_name, ordered, overload

from ..fx._names import public_module

__all__ = ["COMPOSITES", "PROPERTIES", "Call", "aten", "public_path", "to_operator_call"]


class Call(NamedTuple):
    """An operator call: the operator and its arguments."""

    target: Any
    args: list[Any]
    kwargs: dict[str, Any]


# Functions implemented in Python: instead of the function itself, the operators that it calls are recorded.
COMPOSITES = frozenset({"Tensor.module_load"}) | {f"nn.functional.{name}" for name in (
    "affine_grid", "batch_norm", "dropout1d", "embedding", "embedding_bag", "gaussian_nll_loss", "gumbel_softmax",
    "instance_norm",    "multi_head_attention_forward", "multilabel_soft_margin_loss", "normalize", "softmin", "softsign",
    "tanhshrink",
    "triplet_margin_with_distance_loss",
)}  # fmt: skip
_METHODS = {
    "__deepcopy__": "clone",
    "__invert__": "bitwise_not",
    "__iter__": "unbind",
    "absolute": "abs",
    "unfold_windows": "im2col",
}
_COMMUTATIVE = frozenset({"__radd__", "__rmul__", "__rand__", "__ror__", "__rxor__"})
PROPERTIES = {"T": "numpy_T", "mT": "mT", "H": "adjoint", "mH": "adjoint", "real": "real", "imag": "imag", "data": "detach"}


def public_path(func: Any) -> str:
    """Return the path of a function in `torch`, such as `nn.functional.relu` or `Tensor.add_`; for others, the plain name."""
    return _public_path(func.__wrapped__ if type(func).__name__ == "ForOuterModes" else func)


@functools.lru_cache(maxsize=4096)
def _public_path(func: Any) -> str:
    path = torch.overrides.resolve_name(func)
    if path is not None:
        return path.removeprefix("torch.").removesuffix(".__get__")
    owner = getattr(func, "__self__", None)
    if isinstance(owner, property):  # `func` is the setter of a property, such as `Tensor.grad`
        attribute = next((name for name, value in vars(Tensor).items() if getattr(value, "original", value) is owner), "?")
        return f"Tensor.{attribute}.{func.__name__}"
    if public_module(getattr(func, "__module__", None) or "").startswith("torchvision."):
        return f"torchvision.{func.__name__}"
    return getattr(func, "__name__", type(func).__name__)


def to_operator_call(name: str, func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
    """Translate a call of a public function to a call of an operator.

    Args:
        name: the path of the function, from `public_path`.
        func: the function.
        args, kwargs: the arguments.

    Raises:
        RuntimeError: no operator implements the function with these arguments.
    """
    space, _, short = name.rpartition(".")
    if not space and short in _INTERNAL and not hasattr(func, "__body__"):
        return _INTERNAL[short](*args, **kwargs)
    special = _SPECIAL.get(short)
    found = None if special is None else special(space, *args, **kwargs)
    if found is not None:
        return found
    func = _unwrapped(func)
    if space == "torchvision":
        schema = derive(short, func, "torchvision")
        return Call(
            getattr(torch.ops.torchvision, short).default, *ordered(schema, named_arguments(schema, func, args, kwargs) or {})
        )
    if isinstance(getattr(torch, short, None), torch.dtype):  # conversion methods such as `x.float()`
        return aten("to", [args[0], getattr(torch, short)], None, "dtype")
    if short in PROPERTIES and not kwargs and len(args) == 1:
        return aten(PROPERTIES[short], list(args))
    operator, is_swapped = _operator_named(space, short)
    if is_swapped:
        return aten(operator, [args[1], args[0]])
    options = _options(func, args, kwargs)
    if options.get("inplace"):
        operator += "_"
    if options.get("return_indices") and operator.startswith("max_pool"):
        operator += "_with_indices"
    call = operator_call(operator, func, args, _with_reduction(kwargs))
    if call is None:
        raise RuntimeError(f"torch.export: {name} cannot be exported: no operator takes these arguments")
    return Call(_form(operator, call.schema.overload_name), call.args, call.kwargs)


def _operator_named(space: str, short: str) -> tuple[str, bool]:
    """Return the operator of a function or method, and whether its arguments are swapped, as for the reflected `__rpow__`."""
    if space in ("linalg", "fft", "special"):
        return f"{space}_{short}", False
    if short in _METHODS or not short.startswith("__"):
        return _METHODS.get(short) or (operator_name(short) if space == "nn.functional" else short), False
    plain = f"__{short[3:]}" if short[2] in "ir" and hasattr(Tensor, f"__{short[3:]}") else short
    facts = facts_of(plain)
    operator = plain.strip("_") if facts is None else facts.name
    if plain != short and short[2] == "i":
        return f"{operator}_", False
    if plain != short and namespace_of(f"r{operator}") == "aten":
        return f"r{operator}", False
    return operator, plain != short and short not in _COMMUTATIVE


def _unwrapped(func: Any) -> Callable[..., Any]:
    return func.__wrapped__ if type(func).__name__ == "ForOuterModes" else func  # type: ignore[no-any-return]  # a function


def _options(func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    try:
        return inspect.signature(func).bind(*args, **kwargs).arguments
    except (TypeError, ValueError):
        return kwargs


def _with_reduction(kwargs: dict[str, Any]) -> dict[str, Any]:
    """Replace the deprecated `size_average` and `reduce` options of a loss by the equivalent `reduction`."""
    if kwargs.get("size_average") is None and kwargs.get("reduce") is None:
        return kwargs
    averaged, reduced = kwargs.get("size_average") is not False, kwargs.get("reduce") is not False
    rest = {key: value for key, value in kwargs.items() if key not in ("size_average", "reduce")}
    return {**rest, "reduction": ("mean" if averaged else "sum") if reduced else "none"}


def aten(name: str, args: list[Any], kwargs: dict[str, Any] | None = None, overload_name: str | None = None) -> Call:
    """Return the `Call` of an ATen operator. The default overload is the one that accepts these arguments.

    Raises:
        RuntimeError: the operator does not exist.
    """
    kwargs = kwargs or {}
    return Call(_form(name, overload_name or overload(name, args, kwargs)), args, kwargs)


def _form(name: str, overload_name: str) -> Any:
    packet = getattr(getattr(torch.ops, namespace_of(name)), name, None)
    if packet is None:
        raise RuntimeError(f"torch.export: {name} is not an operator and cannot be stored in a graph")
    return getattr(packet, overload_name or "default", packet.default)


# --- functions whose signature differs from their operator's ---


def _to(space: str, self: Tensor, *args: Any, **kwargs: Any) -> Call | None:
    kwargs = {key: value for key, value in kwargs.items() if value not in (None, False)}
    device, dtype = kwargs.pop("device", None), kwargs.pop("dtype", None)
    for value in args:
        if isinstance(value, Tensor):
            return aten("to", [self, value], kwargs, "other")
        if isinstance(value, torch.dtype):
            dtype = value
        elif isinstance(value, (str, torch.device)):
            device = value
    kwargs.pop("memory_format", None)
    if device is not None and torch.device(device).type == self.device.type and dtype is not None:
        device = None
    if device is None:
        return aten("to", [self, self.dtype if dtype is None else dtype], kwargs, "dtype")
    return aten("to", [self, torch.device(device), self.dtype if dtype is None else dtype], kwargs, "device")


def _split(space: str, self: Tensor, *args: Any, dim: int = 0, **kwargs: Any) -> Call:
    sizes = args[0] if args else next(iter(kwargs.values()))
    dim = args[1] if len(args) > 1 else dim
    rest = [] if type(dim) is int and dim == 0 else [dim]
    if isinstance(sizes, (list, tuple)):
        return aten("split_with_sizes", [self, list(sizes), *rest])
    return aten("split", [self, sizes, *rest])


def _interpolate(space: str, *args: Any, **kwargs: Any) -> Call | None:
    if space != "nn.functional":
        return None
    bound = inspect.signature(torch.nn.functional.interpolate).bind(*args, **kwargs)
    bound.apply_defaults()
    given = bound.arguments
    input, mode = given["input"], given["mode"]
    dims = input.dim() - 2
    size, factors = (
        value if value is None else list(value) if isinstance(value, (list, tuple)) else [value] * dims
        for value in (given["size"], given["scale_factor"])
    )
    if given["recompute_scale_factor"] and factors is not None:
        shape = torch.Tensor.size(input)
        size, factors = [int(shape[2 + place] * factor) for place, factor in enumerate(factors)], None
    if factors is not None:
        factors = [float(factor) for factor in factors]
    if mode == "area":
        return aten(f"adaptive_avg_pool{dims}d", [input, size])
    if mode in ("nearest", "nearest-exact"):
        return aten(f"{'_' * (mode != 'nearest')}upsample_{mode.replace('-', '_')}{dims}d", [input, size, factors], None, "vec")
    form = f"{'_' * given['antialias']}upsample_{mode}{'' if mode[-1] == 'd' else dims}{'' if mode[-1] == 'd' else 'd'}"
    return aten(form + "_aa" * given["antialias"], [input, size, bool(given["align_corners"]), factors], None, "vec")


def _softmax(name: str) -> Callable[..., Call | None]:
    def with_dim(space: str, input: Tensor, *args: Any, dim: Any = None, **kwargs: Any) -> Call | None:
        return None if args or dim is not None else aten(name, [input, 0 if input.dim() in (0, 1, 3) else 1])

    return with_dim


def _grid_sample(space: str, *args: Any, **kwargs: Any) -> Call:
    bound = inspect.signature(torch.nn.functional.grid_sample).bind(*args, **kwargs)
    bound.apply_defaults()
    input, grid, mode, padding, corners = list(bound.arguments.values())[:5]
    modes, paddings = ("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection")
    return aten("grid_sampler", [input, grid, modes.index(mode), paddings.index(padding), bool(corners)])


def _tensordot(space: str, a: Tensor, b: Tensor, dims: Any = 2, **kwargs: Any) -> Call:
    if isinstance(dims, (tuple, list)):
        own, others = dims
    else:
        own, others = range(-int(dims), 0), range(int(dims))
    listed = [list(each) if isinstance(each, (tuple, list, range)) else [each] for each in (own, others)]
    return aten("tensordot", [a, b, *listed])


# Internal functions that layers call instead of operators; the order of their parameters differs from the operators.
_INTERNAL: dict[str, Callable[..., Call]] = {
    "linear": lambda bias, input, weight: aten("linear", [input, weight, bias]),
    "attention": lambda query, key, value, scale: aten("scaled_dot_product_attention", [query, key, value], {"scale": scale}),
}


def _unfold(space: str, *args: Any, **kwargs: Any) -> Call | None:
    return None if space else aten("unfold", list(args[:4]))  # the last argument, a backend, is not an operator argument


def _unbound_write(space: str, *args: Any) -> Call:
    raise RuntimeError(
        "torch.export: torch.Tensor.copy_(x, y), fill_ and zero_ cannot be recorded when called on the class; call x.copy_(y)"
    )


def _batch_norm(space: str, *args: Any, **kwargs: Any) -> Call | None:
    return aten("batch_norm", [*args[:8], args[0].is_cuda and torch.backends.cudnn.enabled]) if len(args) in (8, 9) else None


_SPECIAL: dict[str, Callable[..., Call | None]] = {
    "to": _to,
    "byte": lambda space, self, **kwargs: aten("to", [self, torch.uint8], None, "dtype"),
    "char": lambda space, self, **kwargs: aten("to", [self, torch.int8], None, "dtype"),
    "split": _split,
    "interpolate": _interpolate,
    "upsample": _interpolate,
    "upsample_bilinear": functools.partial(_interpolate, mode="bilinear", align_corners=True),
    "upsample_nearest": functools.partial(_interpolate, mode="nearest"),
    "copied": _unbound_write,
    "grid_sample": _grid_sample,
    "tensordot": _tensordot,
    "unfold": _unfold,
    "batch_norm": _batch_norm,
    "softmax": _softmax("softmax"),
    "log_softmax": _softmax("log_softmax"),
}

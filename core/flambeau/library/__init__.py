"""`torch.library`: operators that libraries define.

Entry points: `custom_op`, `Library`, `schema` (signatures in ATen notation) and `ops` (`torch.ops`).  Must stay true: autograd,
modes, tensor subclasses and `vmap` treat such an operator like an operation of flambeau.

>>> @torch.library.custom_op("docs::scale", mutates_args=())
... def scale(x: torch.Tensor, by: float) -> torch.Tensor:
...     return x * by
>>> scale.register_autograd(lambda ctx, grad: (grad * ctx.by, None),
...                         setup_context=lambda ctx, inputs, output: setattr(ctx, "by", inputs[1]))
>>> x = torch.ones(2, requires_grad=True)
>>> torch.ops.docs.scale(x, 3.0).sum().backward()
>>> x.grad
tensor([3., 3.])
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NoReturn

from . import operators as _operator
from .checking import opcheck
from .operators import Operator
from .ops import OpOverload, OpOverloadPacket
from .schema import infer_schema, parse

__all__ = [
    "CustomOpDef", "Library", "custom_op", "define", "fallthrough_kernel", "get_ctx", "get_kernel", "impl", "impl_abstract",
    "infer_schema", "opcheck", "register_autocast", "register_autograd", "register_fake", "register_kernel",
    "register_torch_dispatch", "register_vmap", "triton_op", "wrap_triton",
]  # fmt: skip

fallthrough_kernel: Callable[[], NoReturn] = _operator.fallthrough_kernel
_KEYS = {"default": "CompositeExplicitAutograd", "cpu": "CPU", "cuda": "CUDA", "meta": "Meta", "xpu": "XPU", "mps": "MPS"}


class Library:
    """A namespace in which operators are defined (`DEF`, `FRAGMENT`), or given kernels (`IMPL`).

    Args:
        ns: the namespace, as in `torch.ops.<ns>`.
        kind: `DEF`, `FRAGMENT` or `IMPL`.
        dispatch_key: the default dispatch key of `impl`.

    Raises:
        ValueError: `kind` is unknown, or `DEF` is used for PyTorch's namespace "aten" or "prim".

    >>> library = torch.library.Library("docs2", "DEF")
    >>> library.define("double(Tensor x) -> Tensor")
    'double'
    >>> library.impl("double", lambda x: 2 * x, "CPU")
    >>> torch.ops.docs2.double(torch.ones(2))
    tensor([2., 2.])
    """

    ns: str
    kind: str
    dispatch_key: str

    def __init__(self, ns: str, kind: str, dispatch_key: str = "") -> None:
        if kind not in ("IMPL", "DEF", "FRAGMENT"):
            raise ValueError(f"Unsupported kind: {kind}")
        if kind == "DEF" and ns in ("prim", "aten"):
            raise ValueError(f"{ns} is a reserved namespace. Please try creating a library with another name.")
        self.ns, self.kind, self.dispatch_key = ns, kind, dispatch_key
        self._defined: list[Operator] = []

    def define(self, schema: str, alias_analysis: str = "", *, tags: Any = ()) -> str:
        """Define an operator by its schema, such as `"double(Tensor x) -> Tensor"`.  Return its name.

        Raises:
            RuntimeError: the schema cannot be parsed, or the operator is already defined.
        """
        parsed = parse(schema, self.ns)
        name = parsed.name.partition("::")[2]
        self._defined.append(_operator.define(parsed))
        return f"{name}.{parsed.overload_name}" if parsed.overload_name else name

    def impl(
        self,
        op_name: str | OpOverload,
        fn: Callable[..., Any],
        dispatch_key: str = "",
        *,
        with_keyset: bool = False,
        allow_override: bool = True,
    ) -> None:
        """Register a kernel of an operator.

        Args:
            op_name: the operator, or its name in this namespace.
            fn: the function that computes the operator.
            dispatch_key: the dispatch key: `CPU`, `CUDA`, `Meta`, `Autograd`, `CompositeExplicitAutograd`,
                `CompositeImplicitAutograd` (the default).
            with_keyset: whether `fn` receives the dispatch key as an additional first argument.
            allow_override: whether the kernel may replace an existing one.

        Raises:
            TypeError: `fn` is not callable.
            RuntimeError: the operator already has a kernel for the key.
        """
        if not callable(fn):
            raise TypeError(f"Input function is required to be a callable but found type {type(fn)}")
        name = op_name.name() if isinstance(op_name, OpOverload) else op_name
        qualified = name if "::" in name else f"{self.ns}::{name}"
        key = dispatch_key or self.dispatch_key or "CompositeImplicitAutograd"
        kernel = functools.partial(fn, key) if with_keyset else fn
        _operator.register(qualified, key, kernel, allow_override)

    def _destroy(self) -> None:
        """Remove the operators that this library has defined."""
        for operator in self._defined:
            _operator.remove(operator)
        self._defined.clear()


def define(qualname: str | Library, schema: str, alias_analysis: str = "", *, lib: Library | None = None, tags: Any = ()) -> Any:
    """Define an operator.  With a library in place of the name, return a decorator for its kernel.

    Args:
        qualname: namespace and name, as in `mylib::scale`.
        schema: the arguments and results, as in `(Tensor x, float by) -> Tensor`.
        alias_analysis: ignored.
        lib: the library that owns the operator; by default, a new one.
        tags: ignored.

    >>> library = torch.library.Library("docs3", "DEF")
    >>> @torch.library.define(library, "triple(Tensor x) -> Tensor")
    ... def triple(x):
    ...     return 3 * x
    >>> torch.ops.docs3.triple(torch.ones(2))
    tensor([3., 3.])
    """
    if isinstance(qualname, Library):
        return _registering(qualname, qualname.define(schema), "")
    namespace, name = _operator.split(qualname)
    (lib or Library(namespace, "FRAGMENT")).define(name + schema)
    return None


def _registering(library: Library, name: str | OpOverload, key: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that registers a function as a kernel of an operator in `library`."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        library.impl(name, function, key)
        return function

    return register


def impl(qualname: str | Library, types: Any, func: Callable[..., Any] | str | None = None, *, lib: Library | None = None) -> Any:
    """Register a kernel of an operator for device types; `"default"` means all.  Without `func`, return a decorator.

    The arguments may also be a library, the operator's name in it, and a dispatch key: `impl(library, "triple", "CPU")`.
    """
    if isinstance(qualname, Library):
        return _registering(qualname, types, func or "")  # type: ignore[arg-type]  # a dispatch key
    if func is None:
        return lambda function: (impl(qualname, types, function, lib=lib), function)[1]
    for kind in (types,) if isinstance(types, str) else types:
        _operator.register(qualname, _KEYS.get(kind, kind), func, True)  # type: ignore[arg-type]  # a key only with a Library
    return func


# --- operators from Python functions --------------------------------------------------------------------------------


class CustomOpDef:
    """An operator defined by a Python function.  Call it directly or as `torch.ops.<ns>.<name>`."""

    def __init__(self, operator: Operator, function: Callable[..., Any]) -> None:
        self._operator = operator
        self._init_fn = function
        functools.update_wrapper(self, function)
        self._qualname = operator.schema.name
        self._namespace, self._name = _operator.split(self._qualname)

    @property
    def _opoverload(self) -> OpOverload:
        return self._operator.overload

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return self._operator.overload(*args, **kwargs)

    def register_kernel(self, device_types: str | Sequence[str] | None, fn: Callable[..., Any] | None = None, /) -> Any:
        """Register a separate function for the given device types.  Without `fn`, return a decorator."""
        return register_kernel(self, device_types, fn)

    def register_fake(self, fn: Callable[..., Any], /) -> Callable[..., Any]:
        """Register the function that computes the result's shape and dtype: it is called with `meta` tensors."""
        self._operator.fake = fn
        return fn

    def register_autograd(self, backward: Callable[..., Any], /, *, setup_context: Callable[..., Any] | None = None) -> None:
        """Register the gradient.  `setup_context(ctx, inputs, output)` stores in `ctx` what `backward(ctx, *grads)` needs."""
        self._operator.register_autograd(backward, setup_context)

    def register_vmap(self, func: Callable[..., Any] | None = None) -> Any:
        """Register a rule for `vmap`: `func(info, in_dims, *args)` returns (results, positions of their batch dimensions)."""
        return register_vmap(self, func)

    def register_autocast(self, device_type: str, cast_inputs: Any) -> None:
        """Cast the inputs to `cast_inputs` while autocast is enabled for `device_type`."""
        self._operator.autocast[device_type] = cast_inputs

    def register_torch_dispatch(self, torch_dispatch_class: Any, fn: Callable[..., Any] | None = None, /) -> Any:
        """Register an implementation for arguments of a tensor subclass; without `fn`, return a decorator."""
        return register_torch_dispatch(self, torch_dispatch_class, fn)

    def set_kernel_enabled(self, device_type: str, enabled: bool = True) -> Any:
        """Enable or disable the kernel for a device type inside a `with` block."""
        return self._operator.kernel_enabled(_KEYS.get(device_type, device_type), enabled)

    def __repr__(self) -> str:
        return f"<CustomOpDef({self._qualname})>"


def custom_op(
    name: str,
    fn: Callable[..., Any] | None = None,
    /,
    *,
    mutates_args: str | Iterable[str],
    device_types: str | Sequence[str] | None = None,
    schema: str | None = None,
    tags: Any = None,
) -> Any:
    """Define an operator by a Python function.  Without `fn`, return a decorator.

    Autograd does not differentiate the operations inside the function; `register_autograd` defines the gradient.

    Args:
        name: namespace and name, as in `mylib::scale`.
        fn: the function, with type annotations.
        mutates_args: the names of the arguments that it changes in place, or `"unknown"`.
        device_types: the device types that the function supports; by default, all.
        schema: the arguments and results; by default, inferred from the annotations.
        tags: ignored.

    Raises:
        ValueError: an annotation is missing or not supported by operators, or the name has no namespace.
    """
    if fn is None:
        return lambda function: custom_op(
            name, function, mutates_args=mutates_args, device_types=device_types, schema=schema, tags=tags
        )
    return _define_custom_op(name, fn, mutates_args, schema, "CompositeExplicitAutograd", device_types)


def _define_custom_op(
    name: str, fn: Callable[..., Any], mutates: str | Iterable[str], schema: str | None, key: str, devices: Any = None
) -> CustomOpDef:
    namespace, short = _operator.split(name)
    text = infer_schema(fn, mutates_args=mutates) if schema is None else schema
    operator = _operator.define(parse(short + text, namespace), replace=True)
    operator.is_custom = True
    for each in [key] if devices is None else [devices] if isinstance(devices, str) else devices:
        operator.register(_KEYS.get(each, each), fn, True)
    return CustomOpDef(operator, fn)


def triton_op(
    name: str, fn: Callable[..., Any] | None = None, /, *, mutates_args: str | Iterable[str], schema: str | None = None
) -> Any:
    """Define an operator by a Python function that autograd differentiates.  Without `fn`, return a decorator."""
    if fn is None:
        return lambda function: triton_op(name, function, mutates_args=mutates_args, schema=schema)
    made = _define_custom_op(name, fn, mutates_args, schema, "CompositeImplicitAutograd")
    made._operator.is_custom = False
    return made


def wrap_triton(triton_kernel: Any, /) -> NoReturn:
    """Raise RuntimeError: Triton kernels access PyTorch's memory, and flambeau cannot run them.

    Raises:
        RuntimeError: always.
    """
    raise RuntimeError(f"flambeau cannot run the Triton kernel {triton_kernel!r}: use a Python function instead")


Op = str | OpOverload | CustomOpDef


def _find_operator(op: Any) -> Operator:
    if isinstance(op, CustomOpDef):
        return op._operator
    if isinstance(op, OpOverloadPacket):
        op = op.default
    if isinstance(op, (str, OpOverload)):
        return _operator.find(op if isinstance(op, str) else op.name())
    raise ValueError(f"expected an operator or its name, but got {op!r}")


def register_fake(
    op: Op,
    func: Callable[..., Any] | None = None,
    /,
    *,
    lib: Library | None = None,
    _stacklevel: int = 1,
    allow_override: bool = True,
) -> Any:
    """Register the function that computes the shape and dtype of an operator's result from `meta` tensors.

    Without `func`, return a decorator.
    """
    operator = _find_operator(op)

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        operator.fake = function
        return function

    return register if func is None else register(func)


def impl_abstract(
    qualname: Op, func: Callable[..., Any] | None = None, *, lib: Library | None = None, _stacklevel: int = 1
) -> Any:
    """Earlier name of `register_fake`."""
    return register_fake(qualname, func, lib=lib)


def register_kernel(
    op: Op, device_types: str | Sequence[str] | None, func: Callable[..., Any] | None = None, /, *, lib: Library | None = None
) -> Any:
    """Register a kernel of an operator for device types, or None for all.  Without `func`, return a decorator."""
    operator = _find_operator(op)

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        kinds = [device_types] if isinstance(device_types, str) or device_types is None else device_types
        for kind in kinds:
            operator.register("CompositeExplicitAutograd" if kind is None else _KEYS.get(kind, kind), function, True)
        return function

    return register if func is None else register(func)


def register_autograd(
    op: Op, backward: Callable[..., Any], /, *, setup_context: Callable[..., Any] | None = None, lib: Library | None = None
) -> None:
    """Register the gradient of an operator.

    `setup_context(ctx, inputs, output)` stores in `ctx` what `backward(ctx, *grads)` needs.
    """
    _find_operator(op).register_autograd(backward, setup_context)


def register_vmap(op: Op, func: Callable[..., Any] | None = None, /, *, lib: Library | None = None) -> Any:
    """Register an operator's rule for `vmap`: `func(info, in_dims, *args)`.  Without `func`, return a decorator."""
    operator = _find_operator(op)

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        operator.vmap = function
        return function

    return register if func is None else register(func)


def register_autocast(op: Op, device_type: str, cast_inputs: Any, /, *, lib: Library | None = None) -> None:
    """Cast an operator's inputs to `cast_inputs` while autocast is enabled for `device_type`."""
    _find_operator(op).autocast[device_type] = cast_inputs


def register_torch_dispatch(
    op: Op, torch_dispatch_class: Any, func: Callable[..., Any] | None = None, /, *, lib: Library | None = None
) -> Any:
    """Register an operator's implementation for a tensor subclass: `func(cls, op, types, args, kwargs)`."""
    operator = _find_operator(op)

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        operator.dispatches[torch_dispatch_class] = function
        return function

    return register if func is None else register(func)


def get_ctx() -> Any:
    """Raise RuntimeError: flambeau does not support fake functions whose results have sizes that depend on data.

    Raises:
        RuntimeError: always.
    """
    raise RuntimeError("get_ctx() is not supported: fake functions cannot return sizes that depend on data")


def get_kernel(op: Op, dispatch_key: Any) -> Callable[..., Any]:
    """Return the kernel of an operator for a dispatch key.

    Raises:
        RuntimeError: the operator has no kernel for the key.
    """
    return _find_operator(op).kernel_for(str(dispatch_key).rpartition(".")[2])

"""Operators of `torch.library`.  A call selects a kernel by device, and applies autograd, autocast and `vmap` rules."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import flambeau as torch

from ..autograd.function import Function
from ..engine.calls.overriding import handle_torch_function, should_offer
from ..engine.calls.schema import FunctionSchema
from ..engine.tensors.tensor import wrap
from ..engine.values.trees import flatten, unflatten
from ..transforms.capture.recorder import EFFECT, RecordedArray, Recorder
from .ops import OpOverload, ops

__all__ = ["Operator", "define", "fallthrough_kernel", "find", "register", "remove", "split"]

_COMPOSITE_KEYS = ("CompositeExplicitAutograd", "CompositeExplicitAutogradNonFunctional", "CompositeImplicitAutograd", "")
_KEYS = {"cpu": "CPU", "cuda": "CUDA", "meta": "Meta", "xpu": "XPU", "mps": "MPS"}
_operators: dict[str, Operator] = {}
_waiting: dict[str, list[tuple[str, Callable[..., Any]]]] = {}  # kernels registered before their operator is defined, by name


def fallthrough_kernel() -> NoReturn:
    """Placeholder kernel.  If it is registered for a dispatch key, calls use the kernel of the next key.

    Raises:
        NotImplementedError: always; the placeholder is not meant to be called.
    """
    raise NotImplementedError("fallthrough_kernel() should never be called.")


class Operator:
    """An operator: its schema, its kernels by dispatch key, and its rules for autograd, `vmap` and autocast."""

    def __init__(self, schema: FunctionSchema) -> None:
        self.schema = schema
        self.is_custom = False
        self.kernels: dict[str, Callable[..., Any]] = {}
        self.disabled: set[str] = set()
        self.fake: Callable[..., Any] | None = None
        self._vmap: Callable[..., Any] | None = None
        self.backward: Callable[..., Any] | None = None
        self.setup_context: Callable[..., Any] | None = None
        self.autocast: dict[str, Any] = {}
        self.dispatches: dict[Any, Callable[..., Any]] = {}
        self.overload: OpOverload
        self._function: Any = None

    @property
    def name(self) -> str:
        """The name with namespace and overload, as in "mylib.scale.default"."""
        return str(self.overload)

    def register(self, key: str, kernel: Callable[..., Any], allow_override: bool) -> None:
        """Add a kernel for a dispatch key.  RuntimeError if the key has one and `allow_override` is False."""
        if key in self.kernels and not allow_override:
            raise RuntimeError(f"{self.schema.name} already has a kernel for dispatch key {key}")
        if kernel is fallthrough_kernel:
            self.kernels.pop(key, None)
        else:
            self.kernels[key] = kernel

    def register_autograd(self, backward: Callable[..., Any], setup_context: Callable[..., Any] | None) -> None:
        """Register the gradient.  RuntimeError if the operator changes its arguments in place."""
        if self.schema.is_mutable:
            raise RuntimeError(
                f"Cannot register autograd formula for non-functional operator {self.overload} with schema {self.schema}. "
                "Please create a functional operator and register an autograd formula for that."
            )
        self.backward, self.setup_context, self._function = backward, setup_context, None

    @contextmanager
    def kernel_enabled(self, key: str, enabled: bool) -> Iterator[None]:
        """Enable or disable the kernel of a dispatch key inside a `with` block."""
        before = key in self.disabled
        (self.disabled.discard if enabled else self.disabled.add)(key)
        try:
            yield
        finally:
            (self.disabled.add if before else self.disabled.discard)(key)

    @property
    def vmap(self) -> Callable[..., Any] | None:
        """The function that `register_vmap` registered, or None."""
        return self._vmap

    @vmap.setter
    def vmap(self, rule: Callable[..., Any]) -> None:
        self._vmap, self._function = rule, None

    # --- a call ---

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        given = _tensors([args, kwargs])
        if should_offer(given, name=self.overload.__name__):
            return handle_torch_function(self.overload, given, *args, **kwargs)
        bound = self.schema.bind(args, kwargs)
        tensors = _tensors(bound)
        for cls, function in self.dispatches.items():
            if any(isinstance(tensor, cls) for tensor in tensors):
                return function(cls, self.overload, tuple({type(tensor) for tensor in tensors}), args, kwargs)
        kind = tensors[0].device.type if tensors else "cpu"
        if kind in self.autocast and torch.is_autocast_enabled(kind):
            bound = _cast(bound, self.autocast[kind])
            with torch.autocast(kind, enabled=False):
                return self._apply_autograd(bound, kind)
        return self._apply_autograd(bound, kind)

    def _apply_autograd(self, bound: dict[str, Any], kind: str) -> Any:
        tracked = torch.is_grad_enabled() and any(tensor.requires_grad for tensor in _tensors(bound))
        below = self.kernels.get(f"Autograd{_KEYS.get(kind, '')}") or self.kernels.get("Autograd")
        if below is not None and tracked and self.backward is None:
            return self.run(below, bound)
        if self.vmap is not None or (tracked and (self.is_custom or self.backward is not None)):
            return self._apply(bound)
        return self.compute(bound)

    def compute(self, bound: dict[str, Any]) -> Any:
        """Call the kernel for the device of the arguments, or the fake function for the device `meta`."""
        tensors = _tensors(bound)
        recorded = next((tensor._array for tensor in tensors if type(getattr(tensor, "_array", None)) is RecordedArray), None)
        if recorded is not None and self.is_custom:
            return self._record(recorded._recorder, bound)
        kind = tensors[0].device.type if tensors else "cpu"
        if kind == "meta" and self.fake is not None:
            return self.run(self.fake, bound)
        result = self._run_for_device(_KEYS.get(kind, kind.upper()), bound)
        if self.is_custom:
            self._check_no_alias(result, tensors)
        return result

    def _record(self, recorder: Recorder, bound: dict[str, Any]) -> Any:
        """Compute, and record the call as one step of a compiled program: the calls inside the kernel are not recorded."""
        leaves, spec = flatten(bound)
        keys = [leaf._key if isinstance(leaf, torch.Tensor) else None for leaf in leaves]
        results: list[Any] = []  # the structure, and for each tensor the shape and the dispatch key

        def run(*values: Any) -> Any:
            args = [value if key is None else wrap(value, key) for value, key in zip(values, keys, strict=True)]
            result = self.compute(unflatten(args, spec))
            found, structure = flatten(() if result is None else result)
            shapes = [tuple(tensor.shape) for tensor in found]
            if results and shapes != results[1]:
                raise RuntimeError(f"{self.name} returned shapes {shapes}, but {results[1]} when it was compiled")
            results[:] = structure, shapes, [tensor._key for tensor in found]
            return tuple(tensor._array for tensor in found)

        values = tuple(leaf._array if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves)
        arrays = recorder.call(self.name, run, values, {}, EFFECT, self._written_leaves(bound))
        structure, _, result_keys = results
        if not arrays:
            return None
        return unflatten([wrap(array, key) for array, key in zip(arrays, result_keys, strict=True)], structure)

    def _written_leaves(self, bound: dict[str, Any]) -> list[int]:
        """Return the positions of the tensors that the operator changes among the leaves of its arguments."""
        written = {argument.name for argument in self.schema.arguments if argument.writes}
        counted = ((name in written, len(flatten(value)[0])) for name, value in bound.items())
        flags = [is_written for is_written, count in counted for _ in range(count)]
        return [position for position, is_written in enumerate(flags) if is_written]

    def kernel_for(self, key: str) -> Callable[..., Any]:
        """Return the enabled kernel for a dispatch key, else one for all devices.  NotImplementedError if there is neither."""
        for each in (key, *_COMPOSITE_KEYS):
            if each in self.kernels and each not in self.disabled:
                return self.kernels[each]
        raise NotImplementedError(
            f"Could not run '{self.schema.name}' with arguments from the '{key}' backend. It has kernels for: "
            f"{', '.join(sorted(self.kernels)) or 'none'}."
        )

    def _run_for_device(self, key: str, bound: dict[str, Any]) -> Any:
        """Call the kernel for a dispatch key.  If it needs an extension compiled for PyTorch, call the one for all devices."""
        kernel = self.kernel_for(key)
        try:
            return self.run(kernel, bound)
        except RuntimeError as error:
            from ..utils.cpp_extension import MissingExtension  # imported here: few programs use extensions

            if not isinstance(error, MissingExtension):
                raise
            general = next((self.kernels[each] for each in _COMPOSITE_KEYS if each in self.kernels), kernel)
            if general is kernel:
                raise
            return self.run(general, bound)

    def run(self, kernel: Callable[..., Any], bound: dict[str, Any]) -> Any:
        """Call a kernel with the arguments in `bound`: the keyword-only ones of the schema by keyword, the others by position."""
        by_name = {argument.name for argument in self.schema.arguments if argument.kwarg_only}
        positional = [value for name, value in bound.items() if name not in by_name]
        return kernel(*positional, **{name: value for name, value in bound.items() if name in by_name})

    def _check_no_alias(self, result: Any, tensors: list[Any]) -> None:
        inputs = {id(tensor) for tensor in tensors}
        if any(id(tensor) in inputs for tensor in _tensors(result)):
            raise RuntimeError(
                f"{self.schema.name}: The output of this custom operator (1) must not also be an input to this custom "
                "operator and (2) may not alias any inputs to this custom operator or other returns. Please return a clone of "
                "the offending output tensor(s) (e.g. return x.clone()) or refactor the custom operator to not return them."
            )

    # --- autograd and vmap ---

    def _apply(self, bound: dict[str, Any]) -> Any:
        leaves, spec = flatten(bound)
        structure = _Structure()
        if self._function is None:
            self._function = _make_function(self)
        results = self._function.apply(structure, spec, *leaves)
        results = results if isinstance(results, tuple) else (results,)
        return unflatten(list(results), structure.spec)


class _Structure:
    """Holds the structure of an operator's result, which the autograd function passes to its caller."""

    spec: Any = None


class _Context:
    """The `ctx` passed to `backward` and `setup_context`.

    `needs_input_grad` has one entry per argument of the operator, even if the argument is a list of tensors.
    """

    def __init__(self, ctx: Any) -> None:
        object.__setattr__(self, "_ctx", ctx)

    def __getattr__(self, name: str) -> Any:
        if name == "needs_input_grad":
            return _needed_gradients(self._ctx)
        return getattr(self._ctx, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._ctx, name, value)


def _needed_gradients(ctx: Any) -> tuple[Any, ...]:
    needs = unflatten(list(ctx.needs_input_grad[2:]), ctx.operator_spec)
    return tuple(needs.values())


def _make_function(operator: Operator) -> Any:
    """Create the `torch.autograd.Function` of an operator.  Its inputs are the leaves of the operator's arguments."""

    def forward(structure: _Structure, spec: Any, *leaves: Any) -> Any:
        result = operator.compute(unflatten(list(leaves), spec))
        found, result_spec = flatten(result)
        structure.spec = result_spec
        return tuple(found)

    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        structure, spec, *leaves = inputs
        ctx.operator_spec = spec
        if operator.setup_context is not None:
            bound = unflatten(leaves, spec)
            by_name = {argument.name for argument in operator.schema.arguments if argument.kwarg_only}
            given = tuple(value for name, value in bound.items() if name not in by_name)
            keywords = {"keyword_only_inputs": {name: bound[name] for name in by_name}} if by_name else {}
            operator.setup_context(_Context(ctx), given, unflatten(list(output), structure.spec), **keywords)

    def backward(ctx: Any, *grads: Any) -> Any:
        if operator.backward is None:
            raise RuntimeError(
                f"Trying to backward through {operator.name} but no autograd formula was registered. "
                "Please use register_autograd to add one."
            )
        found = operator.backward(_Context(ctx), *grads)
        found = found if isinstance(found, tuple) else (found,)
        below = ctx.operator_spec.children_specs
        found = [*found, *[None] * (len(below) - len(found))]
        leaves: list[Any] = []
        for grad, spec in zip(found, below, strict=True):
            leaves += [None] * spec.num_leaves if grad is None else spec.flatten_up_to(grad)
        return (None, None, *leaves)

    def vmap(info: Any, in_dims: Any, structure: _Structure, spec: Any, *leaves: Any) -> Any:
        if operator.vmap is None:
            raise RuntimeError(f"{operator.name} has no vmap rule: add one by register_vmap")
        bound, dims = unflatten(list(leaves), spec), unflatten(list(in_dims[2:]), spec)
        result, out_dims = operator.vmap(info, tuple(dims.values()), *bound.values())
        found, result_spec = flatten(result)
        structure.spec = result_spec
        placed = [out_dims] * len(found) if isinstance(out_dims, int) or out_dims is None else flatten(out_dims)[0]
        return tuple(found), tuple(placed)

    members: dict[str, Any] = {
        "forward": staticmethod(forward), "setup_context": staticmethod(setup_context), "backward": staticmethod(backward),
    }  # fmt: skip
    if operator.vmap is not None:
        members["vmap"] = staticmethod(vmap)
    return type(f"GeneratedBackwardFor_{operator.name.replace('.', '_')}", (Function,), members)


def _tensors(tree: Any) -> list[Any]:
    return [leaf for leaf in flatten(tree)[0] if isinstance(leaf, torch.Tensor) or hasattr(type(leaf), "__torch_function__")]


def _cast(bound: dict[str, Any], dtype: Any) -> dict[str, Any]:
    leaves, spec = flatten(bound)
    cast = [leaf.to(dtype) if isinstance(leaf, torch.Tensor) and leaf.is_floating_point() else leaf for leaf in leaves]
    found: dict[str, Any] = unflatten(cast, spec)
    return found


# --- registry ----------------------------------------------------------------------------------------------------


def split(qualname: str) -> tuple[str, str]:
    """Split `namespace::name` into (namespace, name).  ValueError if the namespace is missing."""
    namespace, colons, name = qualname.partition("::")
    if not (namespace and colons and name):
        raise ValueError(f"Expected `{qualname}` to be of the form `namespace::name`")
    return namespace, name


def define(schema: FunctionSchema, replace: bool = False) -> Operator:
    """Create an operator and add it to the registry and to `torch.ops`.

    Raises:
        RuntimeError: the operator is already defined and `replace` is False.
    """
    key = _key(schema)
    if key in _operators and not replace:
        raise RuntimeError(f"Tried to register an operator ({schema}) with the same name and overload name multiple times.")
    operator = _operators[key] = Operator(schema)
    namespace, name = split(schema.name)
    operator.overload = getattr(ops, namespace).packet(name).add(schema.overload_name, operator, schema)
    for dispatch_key, kernel in _waiting.pop(key, ()):
        operator.register(dispatch_key, kernel, True)
    return operator


def register(qualname: str, key: str, kernel: Callable[..., Any], allow_override: bool) -> None:
    """Add a kernel of the operator called `qualname`, which may be defined later.

    Raises:
        RuntimeError: the operator has a kernel for the key and `allow_override` is False, or is an operator of ATen.
    """
    name = qualname.removesuffix(".default")
    if name in _operators or name.startswith(("aten::", "prim::")):  # kernels of ATen operators cannot be replaced
        find(name).register(key, kernel, allow_override)
    else:
        _waiting.setdefault(name, []).append((key, kernel))


def _key(schema: FunctionSchema) -> str:
    return f"{schema.name}.{schema.overload_name}" if schema.overload_name else schema.name


def find(qualname: str) -> Operator:
    """Return the operator called `qualname`.

    Raises:
        RuntimeError: no operator has this name.
    """
    found = _operators.get(qualname.removesuffix(".default"))
    if found is None:
        raise RuntimeError(f"operator {qualname} does not exist: define it first, with `custom_op` or `Library.define`")
    return found


def remove(operator: Operator) -> None:
    """Remove an operator from the registry and from `torch.ops`."""
    _operators.pop(_key(operator.schema), None)
    namespace, name = split(operator.schema.name)
    packet = getattr(ops, namespace).packet(name)
    packet._overloads.pop(operator.schema.overload_name or "default", None)
    if not packet._overloads:
        delattr(getattr(ops, namespace), name)

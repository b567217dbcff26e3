"""`Function`: custom operations with a user-defined backward.

An instance of a Function is the *context* of one call: `forward` stores in it what `backward` needs.  In the current style,
`Foo.apply(x)` creates the context and passes it to static methods as `ctx`.  In the legacy style of PyTorch 0.2, `Foo()(x)`, the
context is `self`.
"""

from __future__ import annotations

import functools
import inspect
import warnings
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from ..engine.calls.overriding import has_torch_function
from ..engine.devices.state import state
from ..engine.tape import engine
from ..engine.tape.grad_mode import grad_flag, is_grad_enabled, no_grad
from ..engine.tape.node import RELEASED, Error, Node, Output, next_seq, remember_trace
from ..engine.tape.saved import SavedTensor, check_saved, unpack_tensor
from ..engine.tape.transforming import in_transform
from ..engine.tape.transforming import open_batches as active
from ..engine.values.handles import RemovableHandle
from ..transforms import forward_ad

if TYPE_CHECKING:
    from ..engine.tensors.tensor import Tensor

__all__ = ["Function", "FunctionCtx", "InplaceFunction", "NestedIOFunction", "once_differentiable"]


class FunctionCtx:
    """The context of one call of a `Function`, in which `forward` stores data for `backward`."""

    clear_saved_tensors_on_access = False  # whether saved tensors are released after `backward` has read them

    needs_input_grad: tuple[bool, ...] = ()
    to_save: tuple[Any, ...] | None = None
    saved_for_forward: tuple[Any, ...] | None = None
    dirty_tensors: tuple[Any, ...] | None = None  # Any, as `typing.get_type_hints` cannot resolve `Tensor` in this module
    non_differentiable: tuple[Any, ...] | None = None
    materialize_grads: bool = True
    _saved: Any = ()
    _in_jvp = False
    _node: Callable[[], Node | None] = staticmethod(lambda: None)
    _backward_cls: type[FunctionNode]

    # --- the context, during forward ---

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Save tensors for `backward`, where `ctx.saved_tensors` returns them."""
        self.to_save = tensors

    def save_for_forward(self, *tensors: Tensor | None) -> None:
        """Save tensors for `jvp`, where `ctx.saved_tensors` returns them."""
        self.saved_for_forward = tensors

    def mark_dirty(self, *args: Tensor) -> None:
        """Declare inputs that were modified in place; they must be returned as outputs."""
        self.dirty_tensors = args

    def mark_non_differentiable(self, *args: Tensor) -> None:
        """Declare outputs that have no gradient."""
        self.non_differentiable = args

    def mark_shared_storage(self, *pairs: Any) -> None:
        """Do nothing; deprecated, because shared storages are tracked automatically."""
        warnings.warn(
            "`mark_shared_storage` is deprecated. Tensors with shared storages are automatically tracked. Note that "
            "calls to `set_()` are not tracked",
            FutureWarning,
            stacklevel=2,
        )

    def set_materialize_grads(self, value: bool) -> None:
        """Set whether `backward` gets zeros (the default) or None for an output that received no gradient."""
        self.materialize_grads = value

    # --- the context, during backward ---

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """The tensors passed to `save_for_backward`.  Raise RuntimeError if they were freed or modified in place."""
        if self._in_jvp:
            return self.saved_for_forward or ()
        node = self._node()
        if node is None:
            return self.to_save or ()
        if self._saved is _ACCESSED:
            raise RuntimeError(
                "saved_tensors can only be accessed once when clear_saved_tensors_on_access=True is set on the "
                "autograd.Function. Either access saved_tensors only once, or set "
                "clear_saved_tensors_on_access=False."
            )
        if self._saved is RELEASED:
            check_saved(RELEASED, node)
        tensors = tuple(unpack_tensor(saved, node) for saved in self._saved)
        self.maybe_clear_saved_tensors()
        return tensors

    @property
    def saved_variables(self) -> tuple[Any, ...]:
        """The earlier name of `saved_tensors`."""
        warnings.warn("'saved_variables' is deprecated; use 'saved_tensors'", DeprecationWarning, stacklevel=2)
        return self.saved_tensors

    @property
    def _raw_saved_tensors(self) -> tuple[SavedTensor, ...]:
        node = self._own_node()
        if self._saved is RELEASED:
            check_saved(RELEASED, node)
        return tuple(SavedTensor(node, self, "_saved", position) for position in range(len(self._saved)))

    def maybe_clear_saved_tensors(self) -> None:
        """Release the saved tensors if `clear_saved_tensors_on_access` is set."""
        if self.clear_saved_tensors_on_access:
            self._saved = _ACCESSED

    @property
    def requires_grad(self) -> bool:
        return any(self.needs_input_grad)

    # --- the context as a node of the graph ---

    def _own_node(self) -> Node:
        node = self._node()
        if node is None:
            raise RuntimeError(f"{type(self).__name__}: this call was not recorded, so it has no place in a graph")
        return node

    def name(self) -> str:
        return self._backward_cls.__name__

    @property
    def next_functions(self) -> tuple[Any, ...]:
        return self._own_node().next_functions

    @property
    def metadata(self) -> dict[str, Any]:
        return self._own_node().metadata

    def register_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        return self._own_node().register_hook(hook)

    def register_prehook(self, hook: Callable[..., Any]) -> RemovableHandle:
        return self._own_node().register_prehook(hook)


class Function(FunctionCtx):
    """Base class of operations whose forward and backward are written by hand.

    Override `forward(ctx, *args)` and `backward(ctx, *grads)` as static methods and call `apply`.  `backward` gets a gradient for
    each output and returns one (or None) for each argument of `forward`.  Alternatively, `forward(*args)` takes no context, and
    `setup_context(ctx, inputs, output)` fills it.  In the legacy style, both are ordinary methods whose `self` is the context,
    and the operation is called as `Foo()(*args)`.

    >>> class Cube(torch.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x**3
    ...     @staticmethod
    ...     def backward(ctx, grad):
    ...         (x,) = ctx.saved_tensors
    ...         return 3 * x**2 * grad
    >>> x = torch.tensor(2.0, requires_grad=True)
    >>> Cube.apply(x).backward(); x.grad
    tensor(12.)
    """

    generate_vmap_rule = False  # whether vmap batches the operations inside forward and backward instead of calling `vmap`
    boxed_grads_call = False  # whether backward takes its gradients as one list, from which it may remove them to free memory
    # Set while a trace records calls: it returns the outputs of `cls.apply(*args, **kwargs)`, or NotImplemented.
    _recorder: ClassVar[Callable[[type[Function], tuple[Any, ...], dict[str, Any]], Any] | None] = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls._backward_cls = type(cls.__name__ + "Backward", (FunctionNode,), {"_forward_cls": cls, "__module__": cls.__module__})

    # --- methods to override ---

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Compute the outputs; the operations inside are not recorded."""
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> Any:
        """Fill the context after `forward`, if `forward` does not take it as an argument."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """Return the gradients of the inputs, given the gradients of the outputs.  `vjp` is an alias."""
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom autograd.Function to use "
            "it with backward mode AD."
        )

    vjp = backward

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Any) -> Any:
        """Return the tangents of the outputs, given the tangents of the inputs, for forward-mode differentiation."""
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use it with forward mode AD."
        )

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], *args: Any) -> Any:
        """Compute forward for batched arguments; returns `(output, out_dims)`.  Not needed if `generate_vmap_rule` is set."""
        raise NotImplementedError(
            "To use autograd.Function with vmap, you must either override the vmap staticmethod or set generate_vmap_rule=True."
        )

    # --- calls ---

    @classmethod
    def has_own(cls, name: str) -> bool:
        """Whether the class overrides the static method `name` of `Function`."""
        return getattr(cls, name) is not getattr(Function, name)

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Call the operation and record it for backward."""
        if Function._recorder is not None:
            outputs = Function._recorder(cls, args, kwargs)
            if outputs is not NotImplemented:
                return outputs
        if kwargs or getattr(cls.forward, "__defaults__", None):
            args, kwargs = _positional_arguments(cls, args, kwargs)
        return _call(object.__new__(cls), args, kwargs)

    def __call__(self, *args: Any) -> Any:
        if isinstance(inspect.getattr_static(self, "forward"), staticmethod):
            raise RuntimeError(f"{type(self).__name__} has a static forward: call {type(self).__name__}.apply(...)")
        context = self
        if "needs_input_grad" in self.__dict__:  # the graph of an earlier call still needs `self` as its context
            context = object.__new__(type(self))
            context.__dict__.update(self.__dict__)
            context.__dict__.pop("_node", None)
        return _call(context, args, {})


def _positional_arguments(
    cls: type[Function], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Convert keyword arguments of `forward` to positional ones if possible: `backward` returns one gradient per positional one.

    Returns the positional and the remaining, keyword-only arguments.  If the class has a `setup_context`, defaults are added
    because `setup_context` receives them among its inputs.
    """
    signature = inspect.signature(cls.forward)
    if cls.setup_context is not Function.setup_context:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        return bound.args, bound.kwargs
    names = [p.name for p in signature.parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD][1:]
    left, ordered = dict(kwargs), list(args)
    for position, name in enumerate(names[len(args) :], len(args)):
        if left.keys().isdisjoint(names):
            break
        if name not in left:
            raise TypeError(f"forward() missing required argument: '{name}' (position {position})")
        ordered.append(left.pop(name))
    return tuple(ordered), left


_ACCESSED = ("accessed",)


class FunctionNode(Node):
    """The autograd node of one call of a Function; its edges belong to the tensor arguments."""

    __slots__ = ("ctx", "from_tensor")
    _forward_cls: type[Function]
    ctx: Function
    from_tensor: tuple[bool, ...]  # which arguments of forward are tensors
    takes_tensors = True
    saves: tuple[str, ...] = ("ctx",)

    @property
    def keeps_none(self) -> bool:  # type: ignore[override]  # a property here
        return not self.ctx.materialize_grads

    def release(self) -> None:
        if self.ctx._saved is not _ACCESSED:
            self.ctx._saved = RELEASED

    def apply(self, F: Any, g: Any, unpack: Any, edges: Any = None) -> tuple[Any, ...]:
        gradients = self._check_gradients(_differentiate(self.ctx, g))
        return tuple(gradient for gradient, is_tensor in zip(gradients, self.from_tensor, strict=True) if is_tensor)

    def _check_gradients(self, returned: Any) -> Sequence[Any]:
        """Check the values returned by `backward`, and return one gradient per argument of `forward`."""
        gradients = returned if isinstance(returned, tuple) else (returned,)
        count, name = len(self.from_tensor), self.name()
        if len(gradients) > count and all(gradient is None for gradient in gradients[count:]):
            gradients = gradients[:count]
        if len(gradients) != count:
            raise RuntimeError(
                f"function {name} returned an incorrect number of gradients (expected {count}, got {len(gradients)})"
            )
        edges = iter(self.edges)
        for position, (gradient, is_tensor) in enumerate(zip(gradients, self.from_tensor, strict=True)):
            edge = next(edges) if is_tensor else None
            if gradient is None:
                continue
            if not is_tensor:
                raise RuntimeError(
                    f"function {name} returned a gradient different than None at position {position + 1}, but the "
                    "corresponding forward input was not a Variable"
                )
            _check_gradient(gradient, edge, name, position)
        return gradients

    def __getattr__(self, name: str) -> Any:
        if name == "ctx":
            raise AttributeError(name)
        return getattr(self.ctx, name)

    def __repr__(self) -> str:
        return f"<torch.autograd.function.{type(self).__name__} object at {hex(id(self))}>"


def _differentiate(ctx: Function, gradients: list[Any]) -> Any:
    cls, name = type(ctx), "backward"
    if cls.vjp is not Function.vjp:
        if cls.backward is not Function.backward:
            raise RuntimeError(
                "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You should only "
                "implement one of them."
            )
        name = "vjp"
    backward = _bound(ctx, name)
    return backward(gradients) if cls.boxed_grads_call else backward(*gradients)


def _bound(ctx: Function, name: str) -> Callable[..., Any]:
    """Bind the context to the user's method `name`, which may be a static or an ordinary method, or any callable."""
    return functools.partial(getattr(type(ctx), name), ctx)


def _check_gradient(gradient: Any, edge: Any, name: str, position: int) -> None:
    from ..engine.tensors.tensor import Tensor

    if not isinstance(gradient, Tensor):
        raise RuntimeError(f"expected Variable or None (got {type(gradient).__name__})")
    if edge is None:
        return
    shape, expected = gradient._array.shape, engine.shape_of(edge)
    if shape != expected and not engine.is_expansion(shape, expected):
        raise RuntimeError(
            f"Function {name} returned an invalid gradient at index {position} - got {list(shape)} but expected "
            f"shape compatible with {list(expected)}"
        )


# --- a call -------------------------------------------------------------------------------------------------------


def _call(ctx: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call the operation; if an argument has a tangent, compute the outputs' tangents by its `jvp`."""
    if any(getattr(arg, "is_nested", False) and arg._requires_grad for arg in args) and is_grad_enabled():
        raise NotImplementedError(
            f"{type(ctx).__name__}: a Function takes the values() of a nested tensor, not the nested tensor"
        )
    if in_transform():
        from ..transforms.batching.functions import check_transformable

        check_transformable(type(ctx))
    level = forward_ad.innermost_level(args) if state.forward_levels else None
    if level is None:
        if active():
            from ..transforms.batching.functions import call_in_batch

            return call_in_batch(type(ctx), args, lambda: _run(ctx, args, kwargs))
        return _run(ctx, args, kwargs)
    return forward_ad.propagate(
        level, args, lambda: _call(ctx, args, kwargs), lambda tangents, result: _output_tangents(ctx, args, tangents, result)
    )


def _output_tangents(ctx: Function, args: tuple[Any, ...], tangents: list[Any], result: Any) -> Sequence[Any]:
    """Compute the tangents of the outputs from the tangents of the arguments, by the user's `jvp`."""
    from ..engine.tensors.tensor import Tensor

    if ctx.materialize_grads:
        tangents = [
            arg.detach().new_zeros(arg.shape)
            if tangent is None and isinstance(arg, Tensor) and arg.is_floating_point()
            else tangent
            for arg, tangent in zip(args, tangents, strict=True)
        ]
    ctx._in_jvp = True
    derived = _bound(ctx, "jvp")(*tangents)
    del ctx._in_jvp
    results, derived = (values if isinstance(values, tuple) else (values,) for values in (result, derived))
    if len(results) != len(derived):
        raise RuntimeError(
            f"Function's jvp returned an invalid number of forward gradients (expected {len(results)} but got {len(derived)})"
        )
    for index, (output, tangent) in enumerate(zip(results, derived, strict=True)):
        if tangent is not None and not isinstance(tangent, Tensor):
            raise RuntimeError(f"expected Variable or None (got {type(tangent).__name__}) for grad output {index}.")
        if isinstance(output, Tensor) and tangent is not None:
            _check_tangent(ctx, output, tangent, args, tangents)
    return [tangent if isinstance(output, Tensor) else None for output, tangent in zip(results, derived, strict=True)]


def _check_tangent(ctx: Function, output: Tensor, tangent: Tensor, args: tuple[Any, ...], tangents: Sequence[Any]) -> None:
    """Raise RuntimeError if an output is a view of an argument, or the modified argument, but its tangent is not."""
    for arg, given in zip(args, tangents, strict=True):
        if given is None or output._storage is None or getattr(arg, "_storage", None) is not output._storage:
            continue
        if _is_among(output, ctx.dirty_tensors or ()):
            if output is arg and tangent is not given:
                raise RuntimeError(
                    "An inplace custom Function is not modifying the forward mode gradients inplace. If the forward is "
                    "modifying an input inplace, then the jvp function must modify the corresponding gradient inplace."
                )
        elif tangent._view is None:
            raise RuntimeError(
                "A custom Function's forward is returning a view (or an input as-is) but the jvp is not returning a view."
            )
        elif tangent._storage is not given._storage:
            raise RuntimeError(
                "A custom Function is returning a view but the jvp is not returning a view of the given grad input."
            )


def _run(ctx: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    from ..engine.tensors.tensor import Tensor

    cls = type(ctx)
    separate = cls.setup_context is not Function.setup_context
    if separate:
        bound = inspect.signature(cls.forward).bind(*args, **kwargs)
        bound.apply_defaults()
        args, kwargs = bound.args, bound.kwargs
    is_tensor = tuple(isinstance(arg, Tensor) for arg in args)
    ctx.needs_input_grad = tuple(flag and arg._requires_grad for arg, flag in zip(args, is_tensor, strict=True))
    tensors = [arg for arg, flag in zip(args, is_tensor, strict=True) if flag]
    node = None
    if grad_flag.get() and any(ctx.needs_input_grad):
        node = _make_node(ctx, tensors, is_tensor)
    with no_grad():
        if separate:
            output = cls.forward(*args, **kwargs)
            cls.setup_context(ctx, args, output)
        else:
            output = _bound(ctx, "forward")(*args, **kwargs)
    results = _attach(ctx, node, tensors, output if isinstance(output, tuple) else (output,))
    if node is not None:
        _save(ctx, node, results)
        for observer in state.node_observers:
            observer(node)
    return tuple(results) if isinstance(output, tuple) else results[0]


def _make_node(ctx: Function, tensors: Sequence[Tensor], is_tensor: tuple[bool, ...]) -> FunctionNode:
    node = object.__new__(ctx._backward_cls)
    node.seq, node.hooks, node.outputs = next_seq(), None, None
    node.edges = tuple((tensor._node or tensor) if tensor._requires_grad else None for tensor in tensors)
    node.ctx, node.from_tensor = ctx, is_tensor
    ctx._node = weakref.ref(node)
    if state.anomaly_mode:
        remember_trace(node)
    return node


def _attach(ctx: Function, node: FunctionNode | None, inputs: Sequence[Tensor], outputs: Sequence[Any]) -> list[Any]:
    """Connect the outputs to `node`, except those without a gradient."""
    from ..engine.tensors.tensor import Tensor

    dirty = ctx.dirty_tensors or ()
    if not all(_is_among(tensor, inputs) for tensor in dirty):
        warnings.warn(
            "ctx.mark_dirty() received a tensor that was not an input. Only input Tensors that have been mutated should be "
            "passed to ctx.mark_dirty().",
            stacklevel=4,
        )
    for tensor in dirty:
        if _is_among(tensor, inputs) and not _is_among(tensor, outputs):
            raise RuntimeError(
                "Some elements marked as dirty during the forward method were not returned as output. The inputs "
                "that are modified inplace must all be outputs of the Function."
            )
    several = sum(isinstance(output, Tensor) for output in outputs) > 1
    if node is not None and several and any(tensor._view is not None for tensor in dirty):
        raise RuntimeError(
            "If your Function modifies inplace an input that is a view of another Tensor, your Function cannot "
            "return more than one Tensor. This is not supported by the current autograd engine. You should either "
            "make sure the input is not a view (using .clone() for example) or make your Function only return one "
            "Tensor (potentially splitting it into two Functions: one doing the inplace that returns a single "
            "Tensor and a second one that does the other operations). You can ask on the forum "
            "https://discuss.pytorch.org/ if you need help to do this change."
        )
    results: list[Any] = []
    metadata: list[Any] = []
    for index, output in enumerate(outputs):
        if not isinstance(output, Tensor):
            results.append(output)
            metadata.append(None)
            continue
        metadata.append((output._key.materialized, output._array.shape))
        modified = _is_among(output, dirty) and _is_among(output, inputs)
        constant = output._key.dtype.category < 2 or _is_among(output, ctx.non_differentiable or ())
        if modified:
            _rebase_modified(output, None if node is None or constant else Output(node, index))
        else:
            output = _connect_output(output, _is_among(output, inputs), node, index, constant)
        results.append(output)
    if node is not None:
        node.outputs = tuple(metadata)
        first: Any = next((entry for entry in metadata if entry is not None), (None, ()))
        node.dispatch_key, node.shape = first[0], first[1]
        if any(isinstance(tensor, Tensor) and tensor._key.wraps for tensor in (*inputs, *outputs)):
            node.on_tensors = state.on_tensors = True
    return results


def _is_among(value: Any, values: Sequence[Any]) -> bool:
    return any(value is candidate for candidate in values)


def _rebase_modified(tensor: Tensor, edge: Output | None) -> None:
    """Make `edge` the new history of an input that was modified in place."""
    from ..engine.calls import inplace

    if edge is not None:
        inplace.check_writable(tensor, used="has been used")
    tensor._bump_version()
    if edge is not None:
        inplace.rebase(tensor, edge)


def _connect_output(tensor: Tensor, is_input: bool, node: FunctionNode | None, index: int, constant: bool) -> Tensor:
    from ..engine.tensors.storage import IN_CUSTOM_FUNCTION
    from ..engine.tensors.tensor import alias

    if is_input:  # return a view, because the input itself must keep its history
        parent = tensor
        if has_torch_function((parent,)):
            with no_grad():
                tensor = parent.view_as(parent)
        else:
            tensor = alias(parent)
            tensor._storage = parent._storage or parent._own_storage()
            tensor._storage.add_view(tensor)
        if grad_flag.get():
            tensor._view = (parent, None, (), IN_CUSTOM_FUNCTION)
    elif tensor._view is not None and node is not None and not constant:
        tensor._view = (tensor._view[0], None, (), IN_CUSTOM_FUNCTION)
    if node is not None and constant:
        tensor._node, tensor._requires_grad = None, False
    elif node is not None:
        tensor._node, tensor._requires_grad = Output(node, index), True
    return tensor


def _save(ctx: Function, node: FunctionNode, results: Sequence[Any]) -> None:
    """Convert the tensors passed to `save_for_backward` to saved tensors of the node."""
    from ..engine.calls.nodes import save, save_output
    from ..engine.tensors.tensor import Tensor

    saved: list[Any] = []
    for index, value in enumerate(ctx.to_save or ()):
        if value is not None and not isinstance(value, Tensor):
            raise TypeError(f"save_for_backward can only save variables, but argument {index} is of type {type(value).__name__}")
        output_index = next((i for i, result in enumerate(results) if result is value), None)
        if value is None:
            saved.append(None)
        elif output_index is not None and isinstance(value._node, Output) and value._node.node is node:
            saved.append(save_output(value, output_index))
        else:
            saved.append(save(value))
    ctx._saved = tuple(saved)
    ctx.to_save = None


# --- differentiating once -----------------------------------------------------------------------------------------


def once_differentiable(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator for a `backward` that cannot be differentiated itself: differentiating twice raises an error."""

    @functools.wraps(function)
    def backward(ctx: Any, *args: Any) -> Any:
        from ..engine.tensors.tensor import Tensor

        with no_grad():
            outputs = function(ctx, *args)
        if not grad_flag.get() or not any(isinstance(arg, Tensor) and arg._requires_grad for arg in args):
            return outputs
        barred = tuple(map(_error_on_backward, outputs if isinstance(outputs, tuple) else (outputs,)))
        return barred if isinstance(outputs, tuple) else barred[0]

    return backward


def _error_on_backward(tensor: Tensor | None) -> Tensor | None:
    """Return a detached tensor whose `grad_fn` raises when it is differentiated."""
    if tensor is None:
        return None
    message = "trying to differentiate twice a function that was marked with @once_differentiable"
    barred = tensor.detach()
    barred._node, barred._requires_grad = Error.before(tensor, message), True
    return barred


# --- legacy styles ------------------------------------------------------------------------------------------------


class InplaceFunction(Function):
    """A legacy Function with an `inplace` flag."""

    def __init__(self, inplace: bool = False) -> None:
        self.inplace = inplace


class NestedIOFunction(Function):
    """A Function in the style of PyTorch 0.2 whose arguments and results are nested lists and tuples of tensors.

    Override `forward_extended(self, *nested)` and `backward_extended(self, *nested_grads)`.
    """

    to_save: tuple[Any, ...]
    dirty_tensors: tuple[Any, ...]
    non_differentiable: tuple[Any, ...]

    def __call__(self, *nested: Any) -> Any:
        self._nested_input = nested
        flat = super().__call__(*_tensors_in(nested))
        return _nested_like(self._nested_output, iter(flat if isinstance(flat, tuple) else (flat,)))

    def forward(self, *args: Any) -> Any:  # type: ignore[override]  # without a context
        result = self.forward_extended(*self._nested_input)
        self._nested_output = result
        del self._nested_input
        return tuple(_tensors_in(result))

    def backward(self, *gradients: Any) -> Any:  # type: ignore[override]  # without a context
        result = self.backward_extended(*_as_tuple(_nested_like(self._nested_output, iter(gradients))))
        return tuple(_tensors_in(result, keep_none=True))

    def save_for_backward(self, *args: Any) -> None:
        self._nested_saved = args
        self.to_save = tuple(_tensors_in(args))

    @property
    def saved_tensors(self) -> Any:
        return _nested_like(self._nested_saved, iter(super().saved_tensors))

    def mark_dirty(self, *args: Any) -> None:
        self.dirty_tensors = tuple(_tensors_in(args))

    def mark_non_differentiable(self, *args: Any) -> None:
        self.non_differentiable = tuple(_tensors_in(args))

    def forward_extended(self, *inputs: Any) -> Any:
        raise NotImplementedError("You must implement forward_extended for a NestedIOFunction.")

    def backward_extended(self, *grad_outputs: Any) -> Any:
        raise NotImplementedError("You must implement backward_extended for a NestedIOFunction.")


def _as_tuple(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


def _tensors_in(value: Any, keep_none: bool = False) -> Iterator[Any]:
    """Iterate over the tensors in nested sequences and dicts, in order."""
    from ..engine.tensors.tensor import Tensor

    if isinstance(value, Tensor) or (value is None and keep_none):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _tensors_in(item, keep_none)
    elif isinstance(value, dict):
        yield from _tensors_in(list(value.values()), keep_none)
    elif value is not None:
        raise ValueError(
            f"Auto nesting doesn't know how to process an input object of type {type(value).__name__}. Accepted "
            "types: Tensors, or lists/tuples of them"
        )


def _nested_like(pattern: Any, flat: Iterator[Any]) -> Any:
    """Return a nested structure like `pattern`, with its tensors replaced by the values of `flat` in order."""
    from ..engine.tensors.tensor import Tensor

    if isinstance(pattern, Tensor):
        return next(flat)
    if isinstance(pattern, (list, tuple)):
        return type(pattern)([_nested_like(item, flat) for item in pattern])
    if isinstance(pattern, dict):
        return {key: _nested_like(item, flat) for key, item in pattern.items()}
    return pattern

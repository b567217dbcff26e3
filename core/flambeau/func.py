"""`torch.func`: function transforms for derivatives, Jacobians and batches, which can be composed freely.

Reverse mode calls the function with new leaf tensors and differentiates its outputs.  Forward mode opens a level of tangents.
`vmap` passes batched tensors, which have a dispatch key for batching.  The three do not depend on each other.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import flambeau as torch

from . import autograd
from .autograd.functional import standard_basis
from .autograd.graph import disable_saved_tensors_hooks
from .engine.tape import engine
from .engine.tape.grad_mode import enable_grad, grad_flag
from .engine.tape.transforming import as_argument, differentiating, note_depth, transforming
from .engine.tensors.tensor import Tensor
from .engine.values.trees import flatten, tree_map, unflatten
from .transforms import forward_ad
from .transforms.batching.keys import drop_level, lift
from .transforms.batching.levels import active, levels_of
from .transforms.batching.vmap import vmap
from .transforms.rearrange import rearrange

__all__ = [
    "debug_unwrap", "functional_call", "functionalize", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp",
    "linearize", "rearrange", "replace_all_batch_norm_modules_", "stack_module_state", "vjp", "vmap",
]  # fmt: skip


# --- fresh leaves -------------------------------------------------------------------------------------------------


def _wrap_tensor_for_grad(tensor: Any, level: int) -> Tensor:
    """Return the tensor whose gradient is computed: a view if `tensor` already requires grad, otherwise a new leaf.

    The name and the unused `level` are those of PyTorch's module `_functorch.eager_transforms`: pypose replaces the function.
    """
    if not isinstance(tensor, Tensor):
        raise ValueError(f"Thing passed to transform API must be Tensor, got {type(tensor)}")
    lifted = lift(tensor, active())  # inside vmap each batch member needs its own gradient, not the sum over the batch
    if lifted._requires_grad:
        return lifted.view_as(lifted)
    return forward_ad.as_leaf(lifted)


def _detached(value: Any) -> Any:
    return forward_ad.detached(value) if isinstance(value, Tensor) else value


_ALWAYS = (True,)
_NO_HOOKS = (
    "torch.func.{grad, vjp, jacrev, hessian} don't yet support saved tensor hooks. Please open an issue with your use case."
)


class _ReverseCall:
    """One call of a function with new leaf tensors as arguments; stores its output and computes gradients for the leaves."""

    def __init__(
        self, func: Callable[..., Any], diff_args: Any, rebuild: Callable[[Any], tuple[Any, ...]], kwargs: dict[str, Any]
    ) -> None:
        outside = grad_flag.get()
        primals, self.spec = flatten(diff_args)
        self.running = [True]
        with enable_grad(), disable_saved_tensors_hooks(_NO_HOOKS):
            self.leaves = [_wrap_tensor_for_grad(primal if outside else _detached(primal), 0) for primal in primals]
            for leaf in self.leaves:
                as_argument(leaf).__dict__["_running"] = self.running
            with transforming(), differentiating():
                self.output = func(*rebuild(unflatten(self.leaves, self.spec)), **kwargs)
        self.running[0] = False  # the leaves now belong to a finished call
        self.outside = outside

    def reaches_outside(self, outputs: Sequence[Tensor]) -> bool:
        """Whether the outputs depend on a tensor that requires grad and is not a leaf of this call."""
        if not self.outside:
            return False
        if any(leaf._node is not None for leaf in self.leaves):
            return True
        roots = [engine.edge_of(output) for output in outputs if output._requires_grad]
        edges = [*roots, *(edge for node in engine.reachable(roots) for edge in node.edges)]
        return any(isinstance(edge, Tensor) and edge.__dict__.get("_running", _ALWAYS)[0] for edge in edges)

    def gradients(self, outputs: Sequence[Tensor], weights: Any, create_graph: bool, retain_graph: bool) -> Any:
        """Return the gradients in the structure of the arguments; zeros for leaves that the outputs do not depend on."""
        pairs = [(output, weight) for output, weight in zip(outputs, weights, strict=True) if output._requires_grad]
        if not pairs:
            return unflatten([_zeros_like(leaf) for leaf in self.leaves], self.spec)
        gradients = autograd.grad(
            [output for output, _ in pairs],
            self.leaves,
            [weight for _, weight in pairs],
            retain_graph=retain_graph,
            create_graph=create_graph,
            allow_unused=True,
        )
        return unflatten(
            [_zeros_like(leaf) if g is None else g for g, leaf in zip(gradients, self.leaves, strict=True)], self.spec
        )


def _zeros_like(tensor: Tensor) -> Any:
    return torch.zeros_like(tensor.detach())


# --- gradients ----------------------------------------------------------------------------------------------------


def grad(func: Callable[..., Any], argnums: int | tuple[int, ...] = 0, has_aux: bool = False) -> Callable[..., Any]:
    """Return a function that computes the gradient of `func` with respect to argument `argnums`.

    Args:
        func: the function to differentiate.
        argnums: the index of a positional argument of `func`; for a tuple of indices, the result is a tuple of gradients.
        has_aux: `func` returns `(output, aux)`, and then the result is `(gradient, aux)`.

    Raises:
        RuntimeError: `func` does not return a 0-d tensor.

    >>> torch.func.grad(torch.func.grad(torch.sin))(torch.tensor(1.0))
    tensor(-0.8415)
    """

    @functools.wraps(func)
    def gradient(*args: Any, **kwargs: Any) -> Any:
        gradients, value = grad_and_value(func, argnums, has_aux)(*args, **kwargs)
        return (gradients, value[1]) if has_aux else gradients

    return gradient


def grad_and_value(func: Callable[..., Any], argnums: int | tuple[int, ...] = 0, has_aux: bool = False) -> Callable[..., Any]:
    """Return a function that computes `(gradient, output)` of `func`; with `has_aux`, `(gradient, (output, aux))`.

    Args:
        func: a function whose output is a 0-d tensor.
        argnums: the number or the numbers of the arguments to differentiate by.
        has_aux: whether `func` returns `(output, aux)`.

    Returns:
        a function of the arguments of `func`.

    Raises:
        RuntimeError: the output is not a 0-d tensor.

    >>> torch.func.grad_and_value(lambda x: x**3)(torch.tensor(2.0))
    (tensor(12.), tensor(8.))
    """

    @functools.wraps(func)
    def gradient_and_value(*args: Any, **kwargs: Any) -> Any:
        chosen = _checked_argnums(argnums, len(args))
        call = _ReverseCall(func, _sliced(args, chosen), lambda new: _replaced(args, new, chosen), kwargs)
        output, aux = _split_aux("grad_and_value(f)(*args)", call.output) if has_aux else (call.output, None)
        if not isinstance(output, Tensor):
            raise RuntimeError(f"grad_and_value(f)(*args): Expected f(*args) to return a Tensor, got {type(output)}")
        if output.ndim:
            raise RuntimeError(
                "grad_and_value(f)(*args): Expected f(*args) to return a scalar Tensor, got tensor with "
                f"{output.ndim} dims. Maybe you wanted to use the vjp or jacrev APIs instead?"
            )
        outside = call.reaches_outside([output])
        gradients = call.gradients([output], [None], create_graph=outside, retain_graph=True)
        if not outside:
            output, aux = _detached(output), tree_map(_detached, aux)
        return gradients, (output, aux) if has_aux else output

    return gradient_and_value


def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """Return `(output, vjp_fn)`; `vjp_fn` maps a cotangent of the output to the gradients of the primals.

    With `has_aux`, `func` returns `(output, aux)` and the result is `(output, vjp_fn, aux)`.

    Args:
        func: the function to differentiate.
        *primals: the arguments of `func`.
        has_aux: whether `func` returns `(output, aux)`.

    Raises:
        RuntimeError: an output is not a floating-point or complex tensor.

    >>> output, vjp_fn = torch.func.vjp(torch.exp, torch.zeros(2))
    >>> vjp_fn(torch.tensor([1.0, 2.0]))
    (tensor([1., 2.]),)
    """
    return _vjp(func, primals, None, has_aux)


def _vjp(func: Callable[..., Any], primals: tuple[Any, ...], argnums: Any, has_aux: bool) -> Any:
    chosen = tuple(range(len(primals))) if argnums is None else argnums
    call = _ReverseCall(func, _sliced(primals, chosen), lambda new: _replaced(primals, new, chosen), {})
    output, aux = _split_aux("vjp(f, *primals)", call.output) if has_aux else (call.output, None)
    outputs, spec = flatten(output)
    _check_outputs("vjp(f, *primals)", outputs)
    for tensor in outputs:
        if not (tensor.is_floating_point() or tensor.is_complex()):
            raise RuntimeError(
                f"vjp(f, ...): All outputs of f must be floating-point or complex Tensors, got Tensor with dtype {tensor.dtype}"
            )
    outside = call.reaches_outside(outputs)

    def vjp_fn(cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None) -> Any:
        weights, structure = flatten(cotangents)
        if structure != spec:
            raise RuntimeError(
                "Expected pytree structure of cotangents to be the same as pytree structure of outputs to the "
                f"function. cotangents: {structure.with_asterisks()}, primal output: {spec.with_asterisks()}"
            )
        if create_graph is None:
            create_graph = grad_flag.get() and (outside or any(weight._requires_grad for weight in weights))
        return call.gradients(outputs, weights, create_graph, retain_graph)

    if not outside:
        output, aux = tree_map(_detached, output), tree_map(_detached, aux)
    return (output, vjp_fn, aux) if has_aux else (output, vjp_fn)


def jvp(func: Callable[..., Any], primals: Any, tangents: Any, *, strict: bool = False, has_aux: bool = False) -> Any:
    """Return `(output, tangent)`: the output of `func` and its derivative along `tangents`, by forward-mode differentiation.

    Args:
        func: the function to differentiate.
        primals: the tuple of arguments of `func`.
        tangents: the directions, in the same structure as `primals`.
        strict: raise if an output does not depend on the primals, instead of returning zeros.
        has_aux: `func` returns `(output, aux)`, and the result is `(output, tangent, aux)`.

    >>> torch.func.jvp(torch.sin, (torch.tensor(0.0),), (torch.tensor(2.0),))
    (tensor(0.), tensor(2.))
    """
    return _jvp(func, primals, tangents, None, strict, has_aux)


_JVP = "jvp(f, primals, tangents)"


def _jvp(func: Callable[..., Any], primals: Any, tangents: Any, argnums: Any, strict: bool, has_aux: bool) -> Any:
    if not isinstance(primals, tuple):
        raise RuntimeError(f"{_JVP}: Expected primals to be a tuple. E.g. it should be valid to call f(*primals).")
    chosen = tuple(range(len(primals))) if argnums is None else argnums
    inputs, spec = flatten(_sliced(primals, chosen))
    directions, structure = flatten(tangents)
    if spec != structure:
        raise RuntimeError(
            f"{_JVP}: Expected primals and tangents to have the same python structure. For example, if primals "
            f"is a tuple of 3 tensors, tangents also must be. Got primals with structure {spec} and tangents with "
            f"structure {structure}"
        )
    for name, values in (("primals", inputs), ("tangents", directions)):
        if not values:
            raise RuntimeError(f"{_JVP}: Expected {name} to contain at least one Tensor.")
        for tensor in values:
            if not isinstance(tensor, Tensor):
                raise RuntimeError(f"{_JVP}: Expected {name} to only contain Tensors, got {type(tensor)}")
        for tensor in values:
            if not (tensor.is_floating_point() or tensor.is_complex()):
                what = name.removesuffix("s")
                raise ValueError(f"Expected {what} to be floating point or complex, but got: {tensor.dtype}")
    level = forward_ad.open_level()
    try:
        duals = [as_argument(primal.view_as(primal)) for primal in inputs]
        for dual, direction in zip(duals, directions, strict=True):
            forward_ad.set_tangent(dual, level, direction)
        with transforming(), differentiating():
            output = func(*_replaced(primals, unflatten(duals, spec), chosen))
        output, aux = _split_aux(_JVP, output) if has_aux else (output, None)
        results, structure = flatten(output)
        _check_outputs(_JVP, results)
        pairs = [_unpacked(result, level, strict) for result in results]
        aux = tree_map(lambda value: forward_ad.primal_of(value, level) if isinstance(value, Tensor) else value, aux)
    finally:
        forward_ad.close_level(level)
    value, tangent = (unflatten(values, structure) for values in zip(*pairs, strict=True))
    return (value, tangent, aux) if has_aux else (value, tangent)


def _unpacked(dual: Tensor, level: Any, strict: bool) -> tuple[Tensor, Tensor]:
    tangent = forward_ad.tangent_of(dual, level)
    if tangent is not None:
        return forward_ad.primal_of(dual, level), tangent
    if strict:
        raise RuntimeError(
            "jvp(f, primals, tangents, strict=True): The output of f is independent of the inputs. This is not "
            "allowed with strict=True."
        )
    return dual, _zeros_like(dual)


def linearize(func: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """Return `(output, jvp_fn)`; `jvp_fn` maps tangents of the primals to the derivative of `func` along them.

    `func` is called only once, for any number of calls of `jvp_fn`.

    Args:
        func: the function to differentiate.
        *primals: the arguments of `func`.

    Raises:
        RuntimeError: tangents have other structures, shapes or dtypes than the primals.

    >>> output, jvp_fn = torch.func.linearize(torch.sin, torch.tensor(0.0))
    >>> jvp_fn(torch.tensor(2.0))
    tensor(2.)
    """
    output, pull = vjp(func, *primals)
    outputs, spec = flatten(output)
    expected, structure = flatten(primals)
    weights = [forward_ad.as_leaf(_zeros_like(output)) for output in outputs]
    with enable_grad():  # `J^T w` is linear in `w`, so its vjp for a tangent `t` is `J t`, the jvp
        pulled, _ = flatten(pull(unflatten(weights, spec), create_graph=True))

    def jvp_fn(*tangents: Any) -> Any:
        directions, tangent_structure = flatten(tangents)
        if tangent_structure != structure:
            raise RuntimeError(f"Expected the tangents {tangent_structure} to have the same argspec as the primals {structure}")
        for index, (tangent, primal) in enumerate(zip(directions, expected, strict=True)):
            for what in ("shape", "device", "dtype"):
                if getattr(tangent, what) != getattr(primal, what):
                    raise RuntimeError(
                        f"tangent:{index} with {what} {getattr(tangent, what)} in flattened pytree doesn't match "
                        f"the {what} {getattr(primal, what)} of the corresponding primal."
                    )
        pairs = [(gradient, direction) for gradient, direction in zip(pulled, directions, strict=True) if gradient._requires_grad]
        pushed = autograd.grad(
            [tensor for tensor, _ in pairs], weights, [tensor for _, tensor in pairs], retain_graph=True, allow_unused=True
        )
        return unflatten([_zeros_like(w) if g is None else g for g, w in zip(pushed, weights, strict=True)], spec)

    return output, jvp_fn


# --- Jacobians ----------------------------------------------------------------------------------------------------


def jacrev(
    func: Callable[..., Any],
    argnums: int | tuple[int, ...] = 0,
    *,
    has_aux: bool = False,
    chunk_size: int | None = None,
    _preallocate_and_copy: bool = False,
) -> Callable[..., Any]:
    """Return a function that computes the Jacobian of `func` with respect to argument `argnums`, by reverse mode.

    An output of shape `S` and an argument of shape `T` give a Jacobian of shape `S + T`.

    Args:
        func: the function to differentiate.
        argnums: the index of a positional argument of `func`; for a tuple of indices, each output has a tuple of Jacobians.
        has_aux: `func` returns `(output, aux)`, and the result is `(jacobian, aux)`.
        chunk_size: the number of Jacobian rows computed in one call; by default all.

    >>> torch.func.jacrev(torch.sin)(torch.zeros(2))
    tensor([[1., 0.],
            [0., 1.]])
    """
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError("jacrev: `chunk_size` should be greater than 0.")

    @functools.wraps(func)
    def jacobian(*args: Any) -> Any:
        _check_real("jacrev", args, "input")
        chosen = _checked_argnums(argnums, len(args))
        output, pull, *aux = _vjp(func, args, _as_tuple(chosen), has_aux)
        _check_real("jacrev", output, "output")
        outputs, spec = flatten(output)
        inputs, structure = flatten(_sliced(args, _as_tuple(chosen)))
        basis = unflatten(standard_basis(outputs), spec)
        rows = vmap(pull, chunk_size=chunk_size)(basis)
        by_input = [_split_rows(block, outputs, input) for block, input in zip(flatten(rows)[0], inputs, strict=True)]
        by_output = [unflatten(parts, structure) for parts in zip(*by_input, strict=True)]
        jacobians = unflatten([parts[0] if isinstance(chosen, int) else parts for parts in by_output], spec)
        return (jacobians, aux[0]) if has_aux else jacobians

    return jacobian


def _split_rows(rows: Any, outputs: Sequence[Tensor], input: Tensor) -> list[Any]:
    """Split the Jacobian rows of all outputs into one Jacobian per output."""
    parts = rows.split([output.numel() for output in outputs])
    return [part.reshape(output.shape + input.shape) for part, output in zip(parts, outputs, strict=True)]


def jacfwd(
    func: Callable[..., Any], argnums: int | tuple[int, ...] = 0, has_aux: bool = False, *, randomness: str = "error"
) -> Callable[..., Any]:
    """Like `jacrev`, but by forward mode, which is faster if there are more outputs than inputs.

    Args:
        func: the function to differentiate.
        argnums: the number or the numbers of the arguments to differentiate by.
        has_aux: whether `func` returns `(output, aux)`; the result is then `(jacobian, aux)`.
        randomness: the handling of random operations, as for `vmap`.

    >>> torch.func.jacfwd(lambda x: x**2)(torch.ones(2))
    tensor([[2., 0.],
            [0., 2.]])
    """

    @functools.wraps(func)
    def jacobian(*args: Any) -> Any:
        _check_real("jacfwd", args, "input")
        chosen = _checked_argnums(argnums, len(args))
        inputs, structure = flatten(_sliced(args, _as_tuple(chosen)))
        auxiliary: list[Any] = []

        def push(directions: Any) -> Any:
            value, tangent, *aux = _jvp(func, args, directions, _as_tuple(chosen), False, has_aux)
            _check_real("jacfwd", value, "output")
            auxiliary[:] = aux
            return tangent

        basis = unflatten(standard_basis(inputs), structure)
        columns = vmap(push, randomness=randomness)(basis)
        flat, spec = flatten(columns)
        blocks = []
        for column in flat:
            parts = column.movedim(0, -1).split([input.numel() for input in inputs], -1)
            shaped = [part.reshape(part.shape[:-1] + input.shape) for part, input in zip(parts, inputs, strict=True)]
            whole = unflatten(shaped, structure)
            blocks.append(whole[0] if isinstance(chosen, int) else whole)
        jacobians = unflatten(blocks, spec)
        return (jacobians, auxiliary[0]) if has_aux else jacobians

    return jacobian


def hessian(func: Callable[..., Any], argnums: int | tuple[int, ...] = 0) -> Callable[..., Any]:
    """Return a function that computes the second derivatives of `func`: `jacfwd(jacrev(func))`.

    Args:
        func: a function whose output is a real tensor.
        argnums: the number or the numbers of the arguments to differentiate by.

    >>> torch.func.hessian(lambda x: (x**3).sum())(torch.ones(2))
    tensor([[6., 0.],
            [0., 6.]])
    """
    return jacfwd(jacrev(func, argnums), argnums)


# --- arguments and results ----------------------------------------------------------------------------------------


def _as_tuple(argnums: int | tuple[int, ...]) -> tuple[int, ...]:
    return (argnums,) if isinstance(argnums, int) else argnums


def _checked_argnums(argnums: Any, count: int) -> Any:
    """Return the argument numbers as non-negative integers, after checking them."""
    if not isinstance(argnums, (int, tuple)):
        raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {type(argnums)}")

    def checked(argnum: Any) -> int:
        if not isinstance(argnum, int):
            raise RuntimeError(f"argnum must be int, got: {type(argnum)}")
        if not -count <= argnum < count:
            raise RuntimeError(f"Got argnum={argnum}, but only {count} positional inputs")
        return argnum % count

    if isinstance(argnums, int):
        return checked(argnums)
    chosen = tuple(map(checked, argnums))
    if not chosen:
        raise RuntimeError("argnums must be non-empty")
    if len(set(chosen)) != len(chosen):
        raise RuntimeError(f"argnums elements must be unique, got {chosen}")
    return chosen


def _sliced(args: tuple[Any, ...], argnums: int | tuple[int, ...]) -> Any:
    return args[argnums] if isinstance(argnums, int) else tuple(args[argnum] for argnum in argnums)


def _replaced(args: tuple[Any, ...], new: Any, argnums: int | tuple[int, ...]) -> tuple[Any, ...]:
    """Return the arguments, with those at `argnums` replaced by `new`, and aliases of the other tensors."""
    by_place = {argnums: new} if isinstance(argnums, int) else dict(zip(argnums, new, strict=True))
    return tuple(by_place[place] if place in by_place else tree_map(_writable, arg) for place, arg in enumerate(args))


def _writable(value: Any) -> Any:
    """Return an alias of an argument that has no gradient or tangent: the alias keeps the history of writes to the argument."""
    if type(value) is not Tensor or value._requires_grad or forward_ad.innermost_level([value]) is not None:
        return value
    alias = value.detach()
    alias.__dict__["_argument"] = True
    note_depth(alias)
    return alias


def _split_aux(what: str, output: Any) -> tuple[Any, Any]:
    if not (isinstance(output, tuple) and len(output) == 2):
        raise RuntimeError(f"{what}: output of function f should be a tuple: (output, aux) if has_aux is True")
    for value in flatten(output[1])[0]:
        if not isinstance(value, Tensor):
            raise RuntimeError(f"Expected tensors, got unsupported type {type(value)}")
    return output


def _check_outputs(what: str, outputs: Sequence[Any]) -> None:
    if not outputs or (len(outputs) == 1 and outputs[0] is None):
        raise RuntimeError(f"{what}: Expected f to be a function that has non-empty output (got output = {list(outputs)})")
    for output in outputs:
        if not isinstance(output, Tensor):
            raise RuntimeError(f"{what}: expected f(*primals) to return only tensors, got unsupported type {type(output)}")


def _check_real(name: str, tree: Any, kind: str) -> None:
    for index, value in enumerate(flatten(tree)[0]):
        if isinstance(value, Tensor) and value.is_complex():
            raise RuntimeError(
                f"{name}: Expected all {kind}s to be real but received complex tensor at flattened {kind} idx: {index}"
            )


# --- modules ------------------------------------------------------------------------------------------------------


def functional_call(
    module: Any,
    parameter_and_buffer_dicts: Any,
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Call a module with the given parameters and buffers instead of those that it holds.

    Args:
        module: the module to call; it is unchanged afterwards.
        parameter_and_buffer_dicts: tensors by name, or a sequence of such dicts.
        args: the positional arguments; a tuple, or a single one.
        kwargs: the keyword arguments.
        tie_weights: whether to replace a tied tensor, which the module holds under several names, under all of them.
        strict: raise unless the names are exactly those of the module's parameters and buffers.

    >>> layer = torch.nn.Linear(2, 1)
    >>> torch.func.functional_call(layer, {"weight": torch.ones(1, 2), "bias": torch.zeros(1)}, torch.ones(2))
    tensor([2.])
    """
    if isinstance(parameter_and_buffer_dicts, (list, tuple)):
        if not all(isinstance(table, dict) for table in parameter_and_buffer_dicts):
            raise ValueError("Expected all elements of parameter_and_buffer_dicts to be dictionaries")
        names = [name for table in parameter_and_buffer_dicts for name in table]
        repeated = sorted({name for name in names if names.count(name) > 1})
        if repeated:
            raise ValueError(f"{repeated} appeared in multiple dictionaries; behavior of functional call is ambiguous")
        replacements = {name: value for table in parameter_and_buffer_dicts for name, value in table.items()}
    elif isinstance(parameter_and_buffer_dicts, dict):
        replacements = parameter_and_buffer_dicts
    else:
        raise ValueError(
            "Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got "
            f"{type(parameter_and_buffer_dicts)}"
        )
    with _ReplacedState(module, replacements, tie_weights, strict):
        return module(*(() if args is None else args if isinstance(args, tuple) else (args,)), **(kwargs or {}))


_ABSENT = object()


class _ReplacedState:
    """Context that replaces parameters and buffers of a module, and restores them at the end."""

    def __init__(self, module: Any, replacements: dict[str, Any], tie_weights: bool, strict: bool) -> None:
        own = {**dict(module.named_parameters(remove_duplicate=False)), **dict(module.named_buffers(remove_duplicate=False))}
        self.module, self.replacements = module, replacements
        self.tensors = _for_all_names(own, replacements) if tie_weights else dict(replacements)
        for value in self.tensors.values():
            if not isinstance(value, Tensor):
                raise TypeError(f"{value} is not an instance of torch.Tensor")
        unlike = {"Unexpected": self.tensors.keys() - own.keys(), "Missing": own.keys() - self.tensors.keys()}
        problems = [f"{what} key(s): {', '.join(map(repr, sorted(names)))}." for what, names in unlike.items() if names]
        if strict and problems:
            raise RuntimeError(f"Error(s) in reparametrizing for {type(module).__name__}:\n\t" + "\n\t".join(problems))

    def __enter__(self) -> None:
        places = {name: self._place(name) for name in self.tensors}
        self.before = {name: (table, last, table.get(last, _ABSENT)) for name, (table, last) in places.items()}
        for name, (table, last) in places.items():
            table[last] = self.tensors[name]

    def _place(self, name: str) -> tuple[dict[str, Any], str]:
        """Return the dict of the submodule that holds the tensor with this dotted name, and the tensor's key in it."""
        path, _, last = name.rpartition(".")
        owner = self.module.get_submodule(path)
        tables = (owner._parameters, owner._buffers, owner.__dict__)
        return next((table for table in tables if last in table), owner.__dict__), last

    def __exit__(self, *exception: object) -> None:
        for name, (table, last, value) in self.before.items():
            if name in self.replacements:
                self.replacements[name] = table[last]  # the forward may have replaced a buffer, such as running statistics
            if value is _ABSENT:
                del table[last]
            else:
                table[last] = value


def _for_all_names(own: dict[str, Any], replacements: dict[str, Any]) -> dict[str, Any]:
    """Extend the replacements to all names of each tied tensor (one that the module has under several names)."""
    by_name, names_of = dict(replacements), dict[int, list[str]]()
    for name, tensor in own.items():
        names_of.setdefault(id(tensor), []).append(name)
    for names in names_of.values():
        chosen = [replacements[name] for name in names if name in replacements]
        if any(value is not chosen[0] for value in chosen):
            raise ValueError(
                f"functional_call got multiple values for keys {sorted(names)}, which are tied. Consider using tie_weights=False"
            )
        if chosen:
            by_name |= dict.fromkeys(names, chosen[0])
    return by_name


def stack_module_state(models: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Stack the parameters and the buffers of several models with the same architecture, for `vmap` over the models.

    Args:
        models: an iterable of modules of one class, all in training mode or all in evaluation mode.

    Returns:
        the stacked parameters and the stacked buffers, by name.

    Raises:
        RuntimeError: there is no model, or the models differ in class, mode or `requires_grad`.

    >>> models = [torch.nn.Linear(2, 3) for _ in range(4)]
    >>> parameters, buffers = torch.func.stack_module_state(models)
    >>> parameters["weight"].shape
    torch.Size([4, 3, 2])
    """
    models = list(models)
    if not models:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if not (all(model.training for model in models) or all(not model.training for model in models)):
        raise RuntimeError("stack_module_state: Expected all models to have the same training/eval mode.")
    if not all(type(model) is type(models[0]) for model in models):
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")
    parameters = _stacked_by_name([dict(model.named_parameters()) for model in models])
    return parameters, _stacked_by_name([dict(model.named_buffers()) for model in models])


def _stacked_by_name(tables: Sequence[dict[str, Tensor]]) -> dict[str, Any]:
    return {name: _stacked(name, [table[name] for table in tables]) for name in tables[0]}


def _stacked(name: str, tensors: Sequence[Tensor]) -> Any:
    flags = {tensor._requires_grad for tensor in tensors}
    if len(flags) > 1:
        raise RuntimeError(f"Expected {name} from each model to have the same .requires_grad")
    return torch.stack([tensor.detach() for tensor in tensors]).requires_grad_(flags.pop())


def replace_all_batch_norm_modules_(root: Any) -> Any:
    """Make all batch norm modules of `root` stop tracking running statistics, which cannot be updated inside `vmap`.

    The modules are changed in-place, and `root` is returned.

    Args:
        root: the module to change, with all modules inside.
    """
    for module in root.modules():
        if isinstance(module, torch.nn.modules.batchnorm._BatchNorm) and module.track_running_stats:
            module.running_mean = module.running_var = module.num_batches_tracked = None
            module.track_running_stats = False
    return root


# --- functionalization and unwrapping -----------------------------------------------------------------------------


def functionalize(func: Callable[..., Any], *, remove: str = "mutations") -> Callable[..., Any]:
    """Wrap `func` so that `make_fx` traces it into a graph without in-place operators; direct calls are unchanged.

    Args:
        func: the function to wrap.
        remove: `"mutations"`, or `"mutations_and_views"`, which also replaces views by copies.

    Raises:
        RuntimeError: `remove` is neither `"mutations"` nor `"mutations_and_views"`.
    """
    if remove not in ("mutations", "mutations_and_views"):
        raise RuntimeError(
            f"functionalize(f, remove='mutations'): received invalid argument for remove={remove}. Valid "
            "options are:\n     remove='mutations': all inplace and out= operators will be removed from the "
            "program, and replaced with their out-of-place equivalents.\n     remove='mutations_and_views': In "
            "addition to the above, all aliasing operators {view} will be replaced with their non-aliasing "
            "counterparts, {view}_copy.\n"
        )

    @functools.wraps(func)
    def called(*args: Any, **kwargs: Any) -> Any:
        return func(*args, **kwargs)

    called.__functionalize__ = remove  # type: ignore[attr-defined]
    return called


def debug_unwrap(tensor: Tensor, *, recurse: bool = True) -> Tensor:
    """Return a tensor of `vmap` with its hidden batch dimensions as leading dimensions.

    Without `recurse`, only the innermost batch dimension is included.

    Args:
        tensor: a tensor inside of a function given to `vmap`.
        recurse: whether to include the dimensions of all nested `vmap` calls.
    """
    levels = levels_of(tensor._key)
    for level in reversed(levels if recurse else levels[-1:]):
        tensor = drop_level(tensor, level, 0)
    return tensor

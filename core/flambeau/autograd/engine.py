"""The engine: runs the recorded graph backwards.

The same derivative rules serve twice.  A plain backward hands them raw arrays and raw kernels; ``create_graph=True`` hands
them Tensors and the recorded operations, so that what comes out can be differentiated again.  Nodes run in
decreasing order of ``seq``; a heap keeps the graph's depth out of Python's stack.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any

from ..devices import Kind
from .modes import _grad
from .node import RELEASED, Node, Output

if TYPE_CHECKING:
    from .._tensor import Tensor

__all__ = ["run", "unpack_array", "unpack_tensor"]

wrap: Callable[[Any, Kind], Tensor]  # set by the module that defines Tensor
anomaly = {"enabled": False, "check_nan": True}


def run(
    roots: Sequence[tuple[Any, Tensor]],
    *,
    retain_graph: bool = False,
    create_graph: bool = False,
    inputs: Sequence[Tensor] | None = None,
    capture: bool = False,
) -> list[Any] | None:
    """Push gradients from ``roots`` (edge, gradient) to the leaves.

    With ``inputs``, only they receive a gradient: returned (as Tensors, or None) with ``capture``, else accumulated in
    ``grad``.
    """
    task = _Task(create_graph)
    if inputs is not None:
        task.only(inputs, [edge for edge, _ in roots])
    previous = _grad.get()
    _grad.set(create_graph)
    try:
        for edge, gradient in roots:
            task.deliver(edge, gradient if create_graph else gradient._array)
        task.drain(retain_graph)
        leaves = task.finish_leaves()
        if capture:
            return [task.captured(each, leaves) for each in inputs or ()]
        targets = task.targets
        while leaves:  # one by one, so that a gradient that nobody else holds can be kept without a copy
            leaf, gradient = leaves.popitem()
            if targets is None or leaf in targets:
                accumulate(leaf, gradient, create_graph)
        for each in inputs or ():
            if each._node is not None and each._node in task.caught:
                accumulate(each, task.caught[each._node], create_graph)
    finally:
        _grad.set(previous)
    return None


class _Task:
    """One backward pass: the gradients that wait for their node, in a heap by ``seq``."""

    def __init__(self, create_graph: bool) -> None:
        self.create_graph = create_graph
        self.heap: list[tuple[int, Node]] = []
        self.pending: dict[Node, Any] = {}  # a gradient, or a list of them for a node with several outputs
        self.leaves: dict[Tensor, Any] = {}
        self.targets: set[Any] | None = None
        self.needed: set[Any] | None = None
        self.caught: dict[Any, Any] = {}

    # --- which part of the graph to run ---

    def only(self, inputs: Sequence[Tensor], roots: Iterable[Any]) -> None:
        """Restrict the pass to the nodes on a path from the roots to ``inputs``."""
        self.targets = {each if each._node is None else each._node for each in inputs}
        self.needed = set()
        target_nodes = {edge.node if type(edge) is Output else edge for edge in self.targets}
        for node in sorted(reachable(roots), key=lambda each: each.seq):
            if node in target_nodes or any(
                edge is not None and (edge in self.targets or _node_of(edge) in self.needed) for edge in node.edges
            ):
                self.needed.add(node)

    # --- the pass ---

    def deliver(self, edge: Any, gradient: Any) -> None:
        """Add ``gradient`` to what waits at ``edge``."""
        if isinstance(edge, Node):
            if self.create_graph or gradient.shape != edge.shape or gradient.dtype is not edge.kind.raw_dtype:
                gradient = fit(gradient, edge.kind, edge.shape, self.create_graph)
            waiting = self.pending.get(edge)
            if waiting is None:
                self.pending[edge] = gradient
                heappush(self.heap, (-edge.seq, edge))
            else:
                self.pending[edge] = waiting + gradient
        elif type(edge) is Output:
            node, index = edge.node, edge.index
            gradient = fit(gradient, edge.kind, edge.shape, self.create_graph)
            waiting = self.pending.get(node)
            if waiting is None:
                assert node.outputs is not None
                waiting = self.pending[node] = [None] * len(node.outputs)
                heappush(self.heap, (-node.seq, node))
            waiting[index] = gradient if waiting[index] is None else waiting[index] + gradient
        else:
            gradient = fit(gradient, edge._kind, edge._array.shape, self.create_graph)
            waiting = self.leaves.get(edge)
            self.leaves[edge] = gradient if waiting is None else waiting + gradient

    def drain(self, retain_graph: bool) -> None:
        """Run nodes until none waits."""
        recorded = _recorded_functions() if self.create_graph else None
        unpack = unpack_tensor if self.create_graph else unpack_array
        restricted = self.targets is not None
        special = restricted or anomaly["enabled"]
        heap, pending, deliver = self.heap, self.pending, self.deliver
        while heap:
            node = heappop(heap)[1]
            gradient = pending.pop(node)
            F = node.kind.F if recorded is None else recorded
            if special or node.hooks is not None or node.outputs is not None:
                gradients = self.run_special(node, F, gradient, unpack)
            else:
                gradients = node.apply(F, gradient, unpack)
            if not retain_graph and node.saves:
                node.release()
            for edge, each in zip(node.edges, gradients):  # noqa: B905 (a rule may leave out trailing Nones)
                if edge is None or each is None or (restricted and not self.is_needed(edge)):
                    continue
                if recorded is None and isinstance(edge, Node):  # as in ``deliver``; this loop is the price of a backward
                    kind = edge.kind
                    if each.shape != edge.shape or each.dtype is not kind.raw_dtype:
                        each = fit(each, kind, edge.shape, False)
                    waiting = pending.get(edge)
                    if waiting is None:
                        heappush(heap, (-edge.seq, edge))
                        pending[edge] = each
                    else:
                        pending[edge] = waiting + each
                else:
                    deliver(edge, each)

    def is_needed(self, edge: Any) -> bool:
        """Whether a restricted pass has to go on along this edge."""
        assert self.targets is not None and self.needed is not None
        return edge in self.targets or _node_of(edge) in self.needed

    def run_special(self, node: Node, F: Any, gradient: Any, unpack: Callable[..., Any]) -> Sequence[Any]:
        """Run a node with several outputs, hooks, or a user's function, or in a restricted or watched pass."""
        if node.outputs is not None:
            gradient = self.fill_missing(node, gradient)
        if node.hooks is not None:
            gradient = self.before(node, gradient)
        if self.targets is not None:
            assert self.needed is not None
            self.catch(node, gradient)
            if node not in self.needed:
                return ()
        if node.takes_tensors or node.hooks is not None or anomaly["enabled"]:
            return self.apply_carefully(node, F, gradient, unpack)
        return node.apply(F, gradient, unpack)

    def fill_missing(self, node: Node, gradients: list[Any]) -> Any:
        """Zeros for the outputs that received no gradient."""
        if getattr(node, "keeps_none", False):
            return gradients
        assert node.outputs is not None
        for index, each in enumerate(gradients):
            if each is None:
                kind, shape = node.outputs[index]
                zeros = kind.backend.xp.zeros(shape, dtype=kind.raw_dtype)
                gradients[index] = as_tensor(zeros, kind) if self.create_graph else zeros
        return gradients

    def catch(self, node: Node, gradient: Any) -> None:
        """Remember the gradient where the caller asked for that of a non-leaf."""
        assert self.targets is not None
        if node.outputs is None:
            if node in self.targets:
                self.caught[node] = gradient
            return
        for each in self.targets:
            if type(each) is Output and each.node is node:
                self.caught[each] = gradient[each.index]

    def captured(self, tensor: Tensor, leaves: dict[Tensor, Any]) -> Tensor | None:
        """The gradient that reached one of the inputs, as a Tensor."""
        gradient = leaves.get(tensor) if tensor._node is None else self.caught.get(tensor._node)
        if gradient is None or self.create_graph:
            return gradient
        return as_tensor(gradient, tensor._kind)

    # --- hooks, custom functions, anomaly mode ---

    def before(self, node: Node, gradient: Any) -> Any:
        """Tensor hooks, retained gradients and pre-hooks, which see and return Tensors."""
        hooks = node.hooks
        assert hooks is not None
        gradients = self.wrapped(node, gradient)
        for index, table in hooks.tensor.items():
            if gradients[index] is not None:
                gradients[index] = call_hooks(table.values(), gradients[index])
        for index, reference in hooks.retain.items():
            tensor = reference()
            if tensor is not None and gradients[index] is not None:
                accumulate(tensor, gradients[index] if self.create_graph else gradients[index]._array, self.create_graph)
        for hook in list(hooks.pre.values()):
            replaced = hook(tuple(gradients))
            if replaced is not None:
                gradients = list(replaced)
        return self.unwrapped(node, gradients)

    def apply_carefully(self, node: Node, F: Any, gradient: Any, unpack: Callable[..., Any]) -> Sequence[Any]:
        """``apply``, for a node that works on Tensors, has hooks, or is watched by anomaly mode."""
        try:
            if node.takes_tensors:
                given = self.wrapped(node, gradient)
                made: Sequence[Any] = node.apply(F, given, unpack_tensor)
            else:
                made = [None if each is None else self.wrap_one(each, node.kind) for each in
                        node.apply(F, gradient, unpack)]  # fmt: skip
        except Exception:
            if anomaly["enabled"]:
                warnings.warn(f"Error detected in {node.name()}. {_forward_trace(node)}", stacklevel=2)
            raise
        if anomaly["enabled"] and anomaly["check_nan"]:
            _check_nan(node, made)
        if node.hooks is not None:
            for hook in list(node.hooks.post.values()):
                replaced = hook(tuple(made), tuple(self.wrapped(node, gradient)))
                if replaced is not None:
                    made = tuple(replaced) if isinstance(replaced, (tuple, list)) else (replaced,)
        return made if self.create_graph else [None if each is None else each._array for each in made]

    def wrap_one(self, gradient: Any, kind: Kind) -> Tensor:
        return gradient if self.create_graph else as_tensor(gradient, kind)  # type: ignore[no-any-return]

    def wrapped(self, node: Node, gradient: Any) -> list[Any]:
        """The node's gradients as a list of Tensors."""
        if node.outputs is None:
            return [self.wrap_one(gradient, node.kind)]
        return [
            None if each is None else self.wrap_one(each, kind)
            for each, (kind, _) in zip(gradient, node.outputs, strict=True)
        ]

    def unwrapped(self, node: Node, gradients: list[Any]) -> Any:
        if not self.create_graph:
            gradients = [None if each is None else each._array for each in gradients]
        return gradients if node.outputs is not None else gradients[0]

    def finish_leaves(self) -> dict[Tensor, Any]:
        """Run the hooks of the leaves on their complete gradients."""
        for leaf, gradient in self.leaves.items():
            if not leaf._has_hooks:
                continue
            table = leaf.__dict__.get("_hooks")
            if table:
                replaced = call_hooks(table.values(), self.wrap_one(gradient, leaf._kind))
                self.leaves[leaf] = replaced if self.create_graph else replaced._array
            accumulator = leaf.__dict__.get("_accumulator")
            if accumulator is not None and accumulator.hooks is not None:
                self.leaves[leaf] = self.before(accumulator, self.leaves[leaf])
        return self.leaves


def call_hooks(hooks: Iterable[Callable[..., Any]], gradient: Tensor) -> Tensor:
    """Let each hook look at the gradient and replace it."""
    for hook in list(hooks):
        replaced = hook(gradient)
        if replaced is not None:
            if replaced._array.shape != gradient._array.shape:
                raise RuntimeError(f"hook '{getattr(hook, '__name__', hook)}' has changed the size of value")
            gradient = replaced
    return gradient


def accumulate(leaf: Tensor, gradient: Any, create_graph: bool) -> None:
    """Add to ``leaf.grad``: in place, or recorded where the graph is kept differentiable."""
    grad, kind = leaf._grad, leaf._kind
    if create_graph:
        leaf._grad = gradient if grad is None else grad + gradient
    elif grad is None:
        backend = kind.backend
        if type(gradient) is not kind.array_type:
            gradient = backend.wrap(gradient)
        leaf._grad = wrap(gradient if backend.is_own(gradient) else backend.copy(gradient), kind)
    elif grad._requires_grad:
        leaf._grad = as_tensor(grad._array + gradient, kind)
    else:
        grad._array += gradient
        grad._bump_version()
    if leaf._has_hooks:
        _after_accumulation(leaf)


def _after_accumulation(leaf: Tensor) -> None:
    for hook in list((leaf.__dict__.get("_post_accumulate_hooks") or {}).values()):
        hook(leaf)
    accumulator = leaf.__dict__.get("_accumulator")
    if accumulator is not None and accumulator.hooks is not None:
        for hook in list(accumulator.hooks.post.values()):
            hook((), (leaf._grad,))


def as_tensor(array: Any, kind: Kind) -> Tensor:
    """A raw gradient as a Tensor."""
    return wrap(array if type(array) is kind.array_type else kind.backend.wrap(array), kind)


# --- shapes and kinds --------------------------------------------------------------------------------------------


def fit(gradient: Any, kind: Kind, shape: tuple[int, ...], tensors: bool) -> Any:
    """Bring a gradient to the shape and kind of the tensor it is for: sum what was broadcast, cast what was promoted."""
    if tensors:
        if gradient._array.shape != shape:
            gradient = _sum_to(gradient, gradient._array.shape, shape, _recorded_functions())
        if gradient._kind is not kind:
            if kind.dtype.category < gradient._kind.dtype.category == 3:
                gradient = gradient.real
            gradient = gradient.to(kind.device, kind.dtype)
        return gradient
    if gradient.shape != shape:
        gradient = _sum_to(gradient, gradient.shape, shape, kind.F)
    if gradient.dtype is not kind.raw_dtype and gradient.dtype != kind.raw_dtype:
        backend = kind.backend
        if backend.dtype_of(gradient).is_complex and not kind.dtype.is_complex:
            gradient = backend.xp.real(gradient)
        gradient = backend.astype(gradient, kind.raw_dtype)
    return gradient


def _sum_to(gradient: Any, given: tuple[int, ...], shape: tuple[int, ...], F: Any) -> Any:
    """Sum over the dimensions that broadcasting added or stretched."""
    extra = len(given) - len(shape)
    dims = tuple(range(extra)) + tuple(
        i for i in range(extra, len(given)) if shape[i - extra] == 1 and given[i] != 1
    )
    summed = F.sum(gradient, dims, True) if dims else gradient
    return F.reshape(summed, shape) if extra else summed


def sum_to_size(tensor: Any, shape: tuple[int, ...]) -> Any:
    """Sum a Tensor to ``shape``, which must be broadcastable to its own."""
    return _sum_to(tensor, tuple(tensor.shape), shape, _recorded_functions())


def _recorded_functions() -> Any:
    from ..op import RECORDED

    return RECORDED


# --- saved tensors -----------------------------------------------------------------------------------------------


def check_saved(saved: Any, node: Node) -> None:
    """Refuse a tensor that was freed, or modified since it was saved."""
    if saved is RELEASED:
        raise RuntimeError(
            "Trying to backward through the graph a second time (or directly access saved tensors after they have "
            "already been freed). Saved intermediate values of the graph are freed when you call .backward() or "
            "autograd.grad(). Specify retain_graph=True if you need to backward through the graph a second time or if "
            "you need to access saved tensors after calling backward."
        )
    holder, array, version = saved
    storage = holder._storage
    now = 0 if storage is None else storage.version
    if now != version:
        is_output = holder.__dict__.get("_output_of") is not None
        what = f", which is output {holder.__dict__['_output_of'][1]} of {node.name()}," if is_output else (
            f", which is output 0 of {holder._node.name()}," if isinstance(holder._node, Node) else "")  # fmt: skip
        hint = ("the backtrace further above shows the operation that failed to compute its gradient. The variable in "
                "question was changed in there or anywhere later. Good luck!" if anomaly["enabled"] else
                "enable anomaly detection to find the operation that failed to compute its gradient, with "
                "torch.autograd.set_detect_anomaly(True).")  # fmt: skip
        raise RuntimeError(
            "one of the variables needed for gradient computation has been modified by an inplace operation: "
            f"[{holder.type()} {list(array.shape)}]{what} is at version {now}; expected version {version} instead. "
            f"Hint: {hint}"
        )


def unpack_array(saved: Any, node: Node) -> Any:
    """The raw array of a saved tensor."""
    if saved is None:
        return None
    if len(saved) != 3:
        return unpack_special(saved, node)._array
    holder, array, version = saved
    storage = holder._storage
    if (storage is not None and storage.version != version) or (storage is None and version):
        check_saved(saved, node)
    return array


def unpack_tensor(saved: Any, node: Node) -> Any:
    """A saved tensor as a Tensor, with the history it had."""
    if saved is None:
        return None
    if len(saved) != 3:
        return unpack_special(saved, node)
    check_saved(saved, node)
    holder, array, _ = saved
    output = holder.__dict__.get("_output_of")
    if holder._array is array and output is None:
        return holder
    tensor = as_tensor(array, holder._kind)
    tensor._storage = holder._storage
    if output is not None:
        tensor._node = node if node.outputs is None else Output(node, output[1])
        tensor._requires_grad = True
    else:
        tensor._node, tensor._requires_grad = holder._node, holder._requires_grad
    return tensor


def unpack_special(saved: Any, node: Node) -> Any:
    """A saved value that is released, or packed by a saved-tensors hook."""
    if saved is RELEASED:
        check_saved(saved, node)
    return saved[0].unpack(node)


# --- the graph ---------------------------------------------------------------------------------------------------


def _node_of(edge: Any) -> Any:
    return edge.node if type(edge) is Output else edge


def reachable(roots: Iterable[Any]) -> set[Node]:
    """All nodes that can be reached from the edges ``roots``."""
    found: set[Node] = set()
    stack = [_node_of(edge) for edge in roots if edge is not None]
    while stack:
        node = stack.pop()
        if isinstance(node, Node) and node not in found:
            found.add(node)
            stack.extend(_node_of(edge) for edge in node.edges if edge is not None)
    return found


def _forward_trace(node: Node) -> str:
    if node.trace is None:
        return ("No forward pass information available. Enable detect anomaly during forward pass for more "
                "information.")  # fmt: skip
    return "Traceback of forward call that caused the error:\n" + "".join(node.trace)


def _check_nan(node: Node, gradients: Sequence[Any]) -> None:
    for index, each in enumerate(gradients):
        if each is not None and each.dtype.category >= 2 and bool(each.isnan().any()):
            warnings.warn(f"Error detected in {node.name()}. {_forward_trace(node)}", stacklevel=2)
            raise RuntimeError(f"Function '{node.name()}' returned nan values in its {index}th output.")

"""The engine: runs the recorded graph backwards.

A plain backward calls derivative rules with raw arrays and raw kernels.  With `create_graph=True`, the same rules are called
with Tensors and recorded operations, so that their results can be differentiated again.  Nodes run in decreasing order
of `seq`, from a heap rather than by recursion, so that Python's stack does not limit the depth of the graph.
"""

from __future__ import annotations

import operator
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from contextvars import copy_context
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any

from ...backend import is_mutable
from ..devices.devices import DispatchKey
from ..devices.sparse_arrays import SparseArray
from ..devices.state import state
from ..values.forking import new_lock
from .anomaly import check_nan, warn_of
from .grad_mode import grad_flag
from .hook_calls import after_accumulation, call_node_hooks, call_tensor_hooks
from .node import AccumulateGrad, Node, Output, current_task, running
from .saved import unpack_array, unpack_tensor
from .tensor_class import RECORDED, tensor_class

if TYPE_CHECKING:
    from ..tensors.tensor import Tensor

__all__ = ["current_task", "queue_callback", "run", "run_scalar", "unpack_array", "unpack_tensor"]

_DEPTH = 30  # passes inside one another that a thread runs: each takes about 15 of the 1000 frames that Python allows


def run(
    roots: Sequence[tuple[Any, Tensor]],
    *,
    retain_graph: bool = False,
    create_graph: bool = False,
    inputs: Sequence[Any] | None = None,
    capture: bool = False,
) -> list[Any] | None:
    """Run a backward pass from `roots`, pairs `(edge, gradient)`, to the leaves.

    With `inputs` (Tensors or GradientEdges), only the gradients of these are computed.  With `capture`, the gradients are
    returned (as Tensors, or None); otherwise they are accumulated in `grad`.
    """
    if _is_deeply_nested():
        gradients: list[Any] | None = _run_in_thread(
            lambda: run(roots, retain_graph=retain_graph, create_graph=create_graph, inputs=inputs, capture=capture)
        )
        return gradients
    tensors = create_graph or state.forward_levels > 0
    if state.on_tensors and any(node.on_tensors for node in reachable([edge for edge, _ in roots])):
        tensors = True
    for _, gradient in roots:
        if type(gradient._key) is not DispatchKey:  # a tensor batched by `vmap`
            tensors = True
    task = (GuardedTask if state.guarded_devices else Task)(tensors, create_graph, retain_graph)
    if inputs is not None or state.leaf_hooks:
        task.survey([edge for edge, _ in roots], inputs, capture)
        for target in () if capture else inputs or ():
            if not isinstance(target, tuple):  # a GradientEdge has no `grad`
                target.retain_grad()
    previous = grad_flag.get()
    grad_flag.set(create_graph)
    token = current_task.set(task)
    try:
        for edge, gradient in roots:
            task.deliver(edge, gradient if tensors else gradient._array)
        if tensors or task.surveyed or state.anomaly_mode or state.guarded_devices:
            task.drain_with_checks()
        else:
            task.drain()
        if capture:
            gradients = task.captured_gradients(inputs or ())
            task.run_callbacks()
            return gradients
        task.finish()
        return None
    finally:
        current_task.reset(token)
        grad_flag.set(previous)


def run_scalar(output: Tensor, retain_graph: bool) -> None:
    """Run the backward pass of a usual training step: from one output with one element to all leaves, on raw arrays."""
    if state.leaf_hooks or state.anomaly_mode or state.forward_levels or state.guarded_devices or state.on_tensors:
        run([(output._node, one(output._key))], retain_graph=retain_graph)
        return
    if _is_deeply_nested():
        _run_in_thread(lambda: run_scalar(output, retain_graph))
        return
    task = Task(False, False, retain_graph)
    task.alone = True
    task.drain(output._node, one(output._key)._array)
    task.finish()


def _is_deeply_nested() -> bool:
    """Whether the running pass is nested so deeply in this thread that another pass may exhaust Python's stack."""
    task = current_task.get()
    if task is None or task.depth < _DEPTH:
        return False
    from ..values.systems import WEBASSEMBLY

    return not WEBASSEMBLY  # which has no threads


def _run_in_thread(run_pass: Callable[[], Any]) -> Any:
    """Run a backward pass in a new thread, whose stack is empty, with a copy of this thread's context variables."""
    outcome: list[Any] = []

    def target() -> None:
        current_task.set(None)
        try:
            outcome.extend((run_pass(), None))
        except BaseException as error:
            outcome.extend((None, error))

    thread = threading.Thread(target=copy_context().run, args=(target,))
    thread.start()
    thread.join()
    result, error = outcome
    if error is not None:
        raise error
    return result


def queue_callback(callback: Callable[[], Any]) -> None:
    """Call `callback` at the end of the running backward pass.  RuntimeError if no pass is running."""
    task = current_task.get()
    if task is None:
        raise RuntimeError("Final callbacks can only be installed during backward pass.")
    task.callbacks = (*task.callbacks, callback)


def one(key: DispatchKey) -> Tensor:
    """Return a 0-d tensor with value 1 and this dispatch key, cached in the key's constants."""
    tensor: Tensor | None = key.constants.get(1)
    if tensor is None:
        tensor = key.constants[1] = tensor_class.wrap(key.backend.asarray(1, key.raw_dtype, index=key.device.index or 0), key)
    return tensor


class Task:
    """The state of one backward pass: gradients that wait for their nodes, and the nodes to run, in a heap ordered by `seq`."""

    surveyed: bool
    capture: bool

    alone = False  # whether `run_scalar` runs this pass: grad mode is then turned off only around user code

    # Set by `survey`:
    surveyed = False
    capture = False  # whether gradients are returned rather than accumulated
    reached: set[Any]  # the nodes and leaves for which this pass computes a gradient
    edges_left: dict[Any, int]  # for each leaf, the number of edges that may still deliver a gradient
    targets: set[Any] | None = None  # the edges whose gradients are requested; None for all leaves
    needed: set[Node] | None = None  # the nodes to run; None for all
    caught: dict[Any, Any]  # the gradients of those `inputs` that are not leaves, by edge
    callbacks: Sequence[Callable[[], Any]] = ()  # called after all gradients have been accumulated

    def __init__(self, tensors: bool, create_graph: bool, retain_graph: bool) -> None:
        self.tensors = tensors  # whether rules take Tensors instead of arrays
        self.create_graph = create_graph
        self.retain_graph = retain_graph
        outer = current_task.get()
        self.depth: int = 0 if outer is None else outer.depth + 1  # the number of passes of this thread around this one
        self.heap: list[tuple[float, Node]] = []
        self.pending: dict[Node, Any] = {}  # for each waiting node: a gradient, or a list with one for each of several outputs
        self.leaves: dict[Tensor, Any] = {}

    def with_modes(self, function: Callable[..., Any], *args: Any) -> Any:
        """Call a function that may run user code, with grad mode off and with `current_task` set to this pass."""
        previous, token = grad_flag.get(), current_task.set(self)
        grad_flag.set(False)
        try:
            return function(*args)
        finally:
            current_task.reset(token)
            grad_flag.set(previous)

    # --- which part of the graph to run ---

    def survey(self, roots: Sequence[Any], inputs: Sequence[Any] | None, capture: bool) -> None:
        """Find the nodes on a path to `inputs` (None: all nodes), and count the edges into each leaf."""
        self.surveyed, self.capture, self.edges_left, self.caught = True, capture, {}, {}
        nodes = sorted(reachable(roots), key=lambda node: node.seq)
        if inputs is not None:
            targets, needed = {edge_of(tensor) for tensor in inputs}, set[Node]()
            for node in nodes:
                if any(edge in targets or node_of(edge) in needed for edge in node.edges if edge is not None):
                    needed.add(node)
            if not capture:  # also run the nodes of non-leaf inputs, which retain the gradient
                needed.update(node for node in map(node_of, targets) if isinstance(node, Node))
            nodes = [node for node in nodes if node in needed]
            self.targets, self.needed = targets, needed
        for node in nodes:
            for edge in node.edges:
                if edge is not None and not isinstance(edge, (Node, Output)):
                    self.edges_left[edge] = self.edges_left.get(edge, 0) + 1
        leaves = self.edges_left if self.targets is None else self.edges_left.keys() & self.targets
        self.reached = {*nodes, *leaves}

    def will_reach(self, tensor: Tensor) -> bool:
        """Whether this pass computes a gradient for the tensor.  Call `survey` first."""
        return node_of(edge_of(tensor)) in self.reached

    # --- the pass ---

    def deliver(self, edge: Any, gradient: Any) -> None:
        """Add `gradient` to the gradient that waits at `edge`, even if the array library raises floating-point errors."""
        try:
            self.add(edge, gradient)
        except key_of_edge(edge).backend.arithmetic_errors:  # nothing has been added yet
            with key_of_edge(edge).backend.ignoring_arithmetic_errors():
                self.add(edge, gradient)

    def add(self, edge: Any, gradient: Any) -> None:
        if isinstance(edge, Node):
            gradient = fit(gradient, edge.dispatch_key, edge.shape, self.tensors, edge.takes_tensors)
            waiting = self.pending.get(edge)
            if waiting is None:
                self.pending[edge] = gradient
                heappush(self.heap, (-edge.seq, edge))
            else:
                self.pending[edge] = waiting + gradient
        elif type(edge) is Output:
            node, index = edge.node, edge.index
            gradient = fit(gradient, edge.dispatch_key, edge.shape, self.tensors, node.takes_tensors)
            waiting = self.pending.get(node)
            if waiting is None:
                assert node.outputs is not None
                waiting = self.pending[node] = [None] * len(node.outputs)
                heappush(self.heap, (-node.seq, node))
            waiting[index] = gradient if waiting[index] is None else waiting[index] + gradient
        else:
            gradient = fit(gradient, edge._key, edge._array.shape, self.tensors)
            waiting = self.leaves.get(edge)
            self.leaves[edge] = gradient if waiting is None else waiting + gradient

    def drain(self, node: Any = None, gradient: Any = None) -> None:
        """Run nodes on raw arrays, starting with `node`, until no node waits.  This is the hot loop of a backward pass."""
        heap, pending, leaves, deliver, release = self.heap, self.pending, self.leaves, self.deliver, not self.retain_graph
        while node is not None or heap:
            if node is None:
                node = heappop(heap)[1]
                gradient = pending.pop(node)
            if node.hooks is None and node.outputs is None and not node.takes_tensors:
                try:
                    gradients = node.apply(node.dispatch_key.F, gradient, unpack_array)
                except node.dispatch_key.backend.arithmetic_errors:
                    gradients = self.apply_on_arrays(node, gradient)
            elif self.alone and (node.hooks is not None or node.takes_tensors):
                gradients = self.with_modes(self.step, node, gradient)
            else:
                gradients = self.step(node, gradient)
            if release and node.saves:
                node.release()
            edges, node = node.edges, None
            for edge, grad in zip(edges, gradients):  # noqa: B905 (a rule may leave out trailing Nones)
                if edge is None or grad is None:
                    continue
                try:
                    if isinstance(edge, Node):
                        key = edge.dispatch_key
                        if grad.shape != edge.shape or grad.dtype is not key.raw_dtype:
                            grad = fit(grad, key, edge.shape, False, edge.takes_tensors)
                        if node is None and not heap:  # if no other node waits, run this one next, without the heap
                            node, gradient = edge, grad
                            continue
                        if edge in pending:
                            pending[edge] = pending[edge] + grad
                            continue
                        pending[edge] = grad
                        heappush(heap, (-edge.seq, edge))
                    elif type(edge) is Output:
                        deliver(edge, grad)
                    else:
                        key = edge._key
                        if grad.shape != edge._array.shape or grad.dtype is not key.raw_dtype:
                            grad = fit(grad, key, edge._array.shape, False)
                        leaves[edge] = leaves[edge] + grad if edge in leaves else grad
                        continue
                except key_of_edge(edge).backend.arithmetic_errors:  # raised by `fit` or by the addition
                    deliver(edge, grad)
                if node is not None:  # the node chosen to run next must now wait with the others
                    deliver(node, gradient)
                    node = None

    def drain_with_checks(self) -> None:
        """Like `drain`, for the general case: on Tensors, for given inputs, with leaf hooks, anomaly mode or several devices."""
        while self.heap:
            node = heappop(self.heap)[1]
            gradients = self.step(node, self.pending.pop(node))
            if self.needed is not None and node not in self.needed:
                continue
            if not self.retain_graph and node.saves:
                node.release()
            for edge, grad in zip(node.edges, gradients):  # noqa: B905
                if edge is not None and grad is not None and self.is_needed(edge):
                    self.deliver(edge, grad)
            if self.surveyed and not self.capture:
                self.count_down(node)

    def is_needed(self, edge: Any) -> bool:
        """Whether the gradient for this edge is requested, or needed to compute a requested one."""
        return self.needed is None or edge in self.targets or node_of(edge) in self.needed  # type: ignore[operator]  # a set where there are targets

    def count_down(self, node: Node) -> None:
        """Update `edges_left` after `node` has run; if a leaf with hooks now has its complete gradient, finish such leaves."""
        left, ready = self.edges_left, False
        for edge in node.edges:
            if edge in left:
                left[edge] -= 1
                ready = ready or (not left[edge] and edge._has_hooks and edge in self.leaves)
        if ready:
            complete = sorted((leaf for leaf in self.leaves if left.get(leaf) == 0), key=lambda leaf: leaf._has_hooks)
            self.finish_leaves({leaf: self.leaves.pop(leaf) for leaf in reversed(complete)})

    # --- at the end ---

    def finish(self) -> None:
        """Add the gradients of the leaves to their `grad`."""
        self.finish_leaves(self.leaves)
        if self.callbacks:
            self.run_callbacks()

    def finish_leaves(self, leaves: dict[Tensor, Any]) -> None:
        """Add the gradient of each leaf to its `grad`, and remove the leaf from the dictionary; start with the last leaf."""
        while leaves:
            remaining = self.finish_plain_leaves(leaves)
            if remaining is None:
                return
            leaf, gradient = remaining
            if self.alone and leaf._has_hooks:
                self.with_modes(self.finish_leaf, leaf, gradient)
            else:
                self.finish_leaf(leaf, gradient)

    def finish_plain_leaves(self, leaves: dict[Tensor, Any]) -> tuple[Tensor, Any] | None:
        """Do the same as `finish_leaves` until a leaf has hooks or needs more work; return it and its gradient, if any."""
        targets = self.targets
        with _adding:
            while leaves:  # removed one by one, so that a gradient without other references needs no copy
                leaf, gradient = leaves.popitem()
                grad = leaf._grad
                if leaf._has_hooks or targets is not None or self.tensors or (grad is not None and grad._requires_grad):
                    return leaf, gradient
                if grad is not None:
                    if type(grad._array) is SparseArray or type(gradient) is SparseArray:
                        _add_sparse(leaf, grad, gradient)
                    else:
                        _add_in_place(grad, gradient)
                    continue
                key = leaf._key
                if type(gradient) is not key.array_type:
                    if type(gradient) is SparseArray:
                        leaf._grad = _copy_to_tensor(gradient, key)
                        continue
                    gradient = key.backend.wrap(gradient)
                gradient = gradient if key.backend.is_own(gradient) else key.backend.copy(gradient)
                if is_mutable(key.backend):
                    gradient = key.backend.in_order_of(gradient, leaf._array)
                leaf._grad = tensor_class.wrap(gradient, key)
        return None

    def run_callbacks(self) -> None:
        """Call the queued callbacks, including those that a callback queues."""
        while self.callbacks:
            callbacks, self.callbacks = self.callbacks, ()
            token = current_task.set(self)
            try:
                for callback in callbacks:
                    callback()
            finally:
                current_task.reset(token)

    def finish_leaf(self, leaf: Tensor, gradient: Any) -> None:
        if leaf._has_hooks:
            gradient = self.call_leaf_hooks(leaf, gradient)
            accumulator = leaf.__dict__.get("_accumulator")
            if accumulator is not None and accumulator.hooks is not None:
                gradient = self.call_pre_hooks(accumulator, gradient)
        if gradient is not None and (self.targets is None or leaf in self.targets):
            accumulate(leaf, gradient, self.create_graph)

    def captured_gradients(self, inputs: Sequence[Any]) -> list[Any]:
        """Return the gradients of `inputs` that this pass has computed, as Tensors; None for the others."""
        gradients = self.leaves
        for leaf in gradients:
            if leaf._has_hooks:
                gradients[leaf] = self.call_leaf_hooks(leaf, gradients[leaf])
        gradients |= self.caught
        self.caught = {}
        if self.tensors:
            return [gradients.get(edge_of(tensor)) for tensor in inputs]
        by_edge = {}
        while gradients:
            edge, gradient = gradients.popitem()
            key = key_of_edge(edge)
            if type(gradient) is not key.array_type:
                if type(gradient) is SparseArray:
                    by_edge[edge] = as_tensor(gradient, key)
                    continue
                gradient = key.backend.wrap(gradient)
            by_edge[edge] = tensor_class.wrap(gradient if key.backend.is_own(gradient) else key.backend.copy(gradient), key)
        return [by_edge.get(edge_of(tensor)) for tensor in inputs]

    # --- nodes with several outputs or hooks, custom functions, anomaly mode ---

    def step(self, node: Node, gradient: Any) -> Sequence[Any]:
        """Run one node with its hooks, and store the gradient of its output if that was requested."""
        needed = self.needed is None or node in self.needed
        if self.capture and needed:
            self.catch(node, gradient)
        if node.hooks is not None:
            gradient = self.call_output_hooks(node, node.hooks, gradient)
        if not needed:  # the node is only a requested input: do not run its backward
            self.catch(node, gradient)
            return ()
        if node.hooks is not None and node.hooks.pre:
            gradient = self.call_pre_hooks(node, gradient)
            if gradient is None:
                return ()
        grad_outputs = tuple(self.wrapped(node, gradient)) if node.hooks is not None and node.hooks.post else ()
        if node.outputs is not None:
            gradient = self.fill_missing(node, gradient)
        edges = None if self.needed is None else tuple([edge if self.is_needed(edge) else None for edge in node.edges])
        if node.takes_tensors or node.hooks is not None or state.anomaly_mode:
            return self.apply_with_checks(node, gradient, edges, grad_outputs)
        if self.tensors:
            return node.apply(RECORDED, gradient, unpack_tensor, edges)
        return self.apply_on_arrays(node, gradient, edges)

    def apply_on_arrays(self, node: Node, gradient: Any, edges: Any = None) -> Sequence[Any]:
        """Apply the derivative rules of a node to raw arrays."""
        return node.dispatch_key.backend.compute(node.apply, node.dispatch_key.F, gradient, unpack_array, edges)  # type: ignore[no-any-return]  # it returns Any

    def fill_missing(self, node: Node, gradients: list[Any]) -> list[Any]:
        """Replace missing gradients of outputs by zeros, unless the node accepts None."""
        assert node.outputs is not None
        if node.keeps_none:
            return gradients
        for index, grad in enumerate(gradients):
            if grad is None and node.outputs[index] is not None:
                key, shape = node.outputs[index]
                key = key.scalar_key
                zeros = key.F.expand(key.backend.xp.zeros((), dtype=key.raw_dtype), shape)  # one element in memory
                gradients[index] = tensor_class.wrap(zeros, key) if self.tensors else zeros
        return gradients

    def catch(self, node: Node, gradient: Any) -> None:
        """Store the gradient if it belongs to a requested input."""
        assert self.targets is not None
        if node.outputs is None:
            if node in self.targets:
                self.caught[node] = gradient
            return
        for index, grad in enumerate(gradient):
            edge = Output(node, index)
            if grad is not None and edge in self.targets:
                self.caught[edge] = grad

    def call_output_hooks(self, node: Node, hooks: Any, gradient: Any) -> Any:
        """Call the hooks of the node's output tensors, and accumulate the `grad` of those that retain it."""
        gradients = self.wrapped(node, gradient)
        for index, table in hooks.tensor.items():
            gradients[index] = call_tensor_hooks(table.values(), gradients[index])
        for index, reference in hooks.retain.items():
            tensor = reference()
            if tensor is not None and gradients[index] is not None:
                accumulate(tensor, gradients[index] if self.create_graph else gradients[index]._array, self.create_graph)
        return self.unwrapped(node, gradients)

    def call_pre_hooks(self, node: Node, gradient: Any) -> Any:
        """Call the pre-hooks of the node, and return the gradient that they return."""
        assert node.hooks is not None
        gradients = self.wrapped(node, gradient)
        return self.unwrapped(node, list(call_node_hooks(node.hooks.pre, gradients)))

    def call_leaf_hooks(self, leaf: Tensor, gradient: Any) -> Any:
        """Call the hooks of a leaf with its complete gradient."""
        table = leaf.__dict__.get("_hooks")
        if not table:
            return gradient
        result = call_tensor_hooks(table.values(), gradient if self.tensors else _copy_to_tensor(gradient, leaf._key))
        return result if self.tensors else raw(result)

    def apply_with_checks(self, node: Node, gradient: Any, edges: Any, grad_outputs: tuple[Any, ...]) -> Sequence[Any]:
        """Apply a node that takes Tensors or has hooks, or any node in anomaly mode; `grad_outputs` is passed to post-hooks."""
        token = running.set(node)
        try:
            if node.takes_tensors:
                grad_inputs: Sequence[Any] = node.apply(RECORDED, self.wrapped(node, gradient), unpack_tensor, edges)
            elif self.tensors:
                grad_inputs = node.apply(RECORDED, gradient, unpack_tensor, edges)
            else:
                with node.dispatch_key.backend.ignoring_arithmetic_errors():
                    arrays = self.apply_on_arrays(node, gradient, edges)
                grad_inputs = [None if grad is None else as_tensor(grad, node.dispatch_key) for grad in arrays]
        except Exception:
            if state.anomaly_mode:
                warn_of(node)
            raise
        finally:
            running.reset(token)
        if state.anomaly_mode and state.checks_nan:
            check_nan(node, grad_inputs)
        if node.hooks is not None and node.hooks.post:
            grad_inputs = call_node_hooks(node.hooks.post, _fit_all(grad_inputs, node.edges), grad_outputs)
        return grad_inputs if self.tensors else [None if grad is None else raw(grad) for grad in grad_inputs]

    def wrapped(self, node: Node, gradient: Any) -> list[Any]:
        """Return the gradients of the node's outputs as a list of Tensors, which a hook may modify."""
        if self.tensors:
            return list(gradient) if node.outputs is not None else [gradient]
        if node.outputs is None:
            return [_copy_to_tensor(gradient, node.dispatch_key)]
        return [
            None if grad is None else _copy_to_tensor(grad, output[0])
            for grad, output in zip(gradient, node.outputs, strict=True)
        ]

    def unwrapped(self, node: Node, gradients: list[Any]) -> Any:
        """Reverse `wrapped`: return a list for a node with several outputs, else one gradient."""
        if not self.tensors:
            gradients = [None if grad is None else raw(grad) for grad in gradients]
        return gradients if node.outputs is not None else gradients[0]


def _call_node(node: Node, *grad_outputs: Any) -> Any:
    """Run the backward of one node alone, for `grad_fn(*grad_outputs)`.

    Raises:
        TypeError: the number of gradients differs from the number of outputs.
    """
    expected = 1 if node.outputs is None else len(node.outputs)
    if len(grad_outputs) != expected:
        raise TypeError(f"expected {expected} arguments, got {len(grad_outputs)} instead")
    wants_list = node.takes_tensors or node.outputs is not None
    gradients = tuple(node.apply(RECORDED, list(grad_outputs) if wants_list else grad_outputs[0], unpack_tensor))
    return gradients[0] if len(gradients) == 1 else gradients


Node.__call__ = _call_node  # type: ignore[method-assign]  # `node` cannot import `saved`


class GuardedTask(Task):
    """A backward pass that makes the device of each gradient the current device while it processes the gradient."""

    def deliver(self, edge: Any, gradient: Any) -> None:
        with on_device_of(key_of_edge(edge)):
            super().deliver(edge, gradient)

    def step(self, node: Node, gradient: Any) -> Sequence[Any]:
        with on_device_of(node.dispatch_key):
            return super().step(node, gradient)

    def finish_leaf(self, leaf: Tensor, gradient: Any) -> None:
        with on_device_of(leaf._key):
            super().finish_leaf(leaf, gradient)


def on_device_of(key: DispatchKey) -> AbstractContextManager[Any]:
    return key.backend.guard(key.device.index or 0)


# --- hooks and leaves ---------------------------------------------------------------------------------------------


def accumulate(leaf: Tensor, gradient: Any, create_graph: bool) -> None:
    """Add `gradient` to `leaf.grad`: in-place, or with `create_graph` by an addition that autograd records."""
    grad, key = leaf._grad, leaf._key
    if leaf._has_hooks and (dtype := leaf.__dict__.get("_grad_dtype")) is not None:
        key = key.to(dtype)
        gradient = fit(gradient, key, leaf._array.shape, hasattr(gradient, "_key"))
    if key.wraps or (hasattr(gradient, "_key") and gradient._key.wraps):
        leaf._grad = gradient if grad is None else grad + gradient
    elif create_graph:
        is_sparse = grad is not None and type(grad._array) is SparseArray  # add(sparse, dense) is not defined
        leaf._grad = gradient.clone() if grad is None else gradient + grad if is_sparse else grad + gradient
    else:
        if hasattr(gradient, "_key"):  # a Tensor: the pass runs on Tensors, although without `create_graph`
            gradient = raw(gradient)
        with _adding:
            _accumulate_array(leaf, gradient, key)
    if leaf._has_hooks:
        after_accumulation(leaf)


_adding = new_lock()  # while a gradient is added to `grad`: other threads may add to the same one


def _accumulate_array(leaf: Tensor, gradient: Any, key: DispatchKey) -> None:
    """Add a raw gradient to `leaf.grad`, whose dispatch key is `key`."""
    grad = leaf._grad
    if (
        type(gradient) is SparseArray
        or type(leaf._array) is SparseArray
        or (grad is not None and type(grad._array) is SparseArray)
    ):
        if grad is None:
            leaf._grad = _copy_to_tensor(gradient, key)
        else:
            _add_sparse(leaf, grad, gradient)
    elif grad is None:
        result = _copy_to_tensor(gradient, key)
        if is_mutable(key.backend):
            result = tensor_class.wrap(key.backend.in_order_of(result._array, leaf._array), key)
        leaf._grad = result
    elif grad._requires_grad:
        leaf._grad = as_tensor(key.backend.compute(operator.add, grad._array, gradient), key)
    else:
        _add_in_place(grad, gradient)


def _add_in_place(grad: Tensor, gradient: Any) -> None:
    """Add `gradient` to `grad` in-place: other tensors may share the memory of `grad`."""
    if is_mutable(grad._key.backend):
        grad._key.backend.add_to(grad._array, gradient)
    else:
        (grad._storage or grad._own_storage()).replace(grad, grad._array + gradient)
    grad._bump_version()


def _add_sparse(leaf: Tensor, grad: Tensor, gradient: Any) -> None:
    """Add `gradient` to `leaf.grad` if one of them is sparse: in-place, unless only `leaf.grad` is sparse."""
    added = as_tensor(gradient, grad._key)
    if type(grad._array) is SparseArray and type(gradient) is not SparseArray:
        leaf._grad = added + grad
    else:
        grad.add_(added)


def as_tensor(array: Any, key: DispatchKey) -> Tensor:
    """Wrap a raw gradient, dense or sparse, as a Tensor."""
    if type(array) is SparseArray:
        return SparseArray.tensor_of(array)  # type: ignore[no-any-return]  # `SparseArray` cannot import Tensor
    return tensor_class.wrap(array if type(array) is key.array_type else key.backend.wrap(array), key)


def raw(gradient: Tensor) -> Any:
    """Return the raw array of a gradient; a lazy conjugate view is materialized first."""
    return gradient._key.materialize(gradient)._array


def _copy_to_tensor(array: Any, key: DispatchKey) -> Tensor:
    """Copy a raw gradient to a new Tensor."""
    if type(array) is SparseArray:
        return SparseArray.tensor_of(SparseArray.copy_of(array))  # type: ignore[no-any-return]  # it cannot import Tensor
    return tensor_class.wrap(key.backend.copy(array if type(array) is key.array_type else key.backend.wrap(array)), key)


# --- shapes and dispatch keys ---------------------------------------------------------------------------------------------


def fit(gradient: Any, key: DispatchKey, shape: tuple[int, ...], tensors: bool, sparse: bool = True) -> Any:
    """Convert a gradient to the shape and dispatch key of its tensor: sum over broadcast dimensions, undo promotion.

    A sparse gradient becomes dense unless `sparse` is True, which it is for leaves and for nodes that take Tensors.
    """
    if tensors:
        if type(gradient._array) is SparseArray and not sparse:
            gradient = gradient.to_dense()
        if gradient._array.shape != shape:
            gradient = _sum_to(gradient, gradient._array.shape, shape, RECORDED)
        from_key = gradient._key
        if from_key is not key and (from_key.dtype is not key.dtype or from_key.device != key.device):
            if key.dtype.category < from_key.dtype.category == 3:
                gradient = gradient.real
            gradient = gradient.to(key.device, key.dtype)
        return gradient
    if type(gradient) is SparseArray:
        if sparse and gradient.shape == shape:
            return gradient if gradient.key is key else SparseArray.cast_to(gradient, key)
        gradient = SparseArray.dense(gradient)
    if gradient.shape != shape:
        gradient = _sum_to(gradient, gradient.shape, shape, key.F)
    if gradient.dtype is not key.raw_dtype and gradient.dtype != key.raw_dtype:
        backend = key.backend
        if backend.dtype_of(gradient).is_complex and not key.dtype.is_complex:
            gradient = backend.xp.real(gradient)
        gradient = backend.astype(gradient, key.raw_dtype)
    return gradient


def _fit_all(gradients: Sequence[Any], edges: Sequence[Any]) -> tuple[Any, ...]:
    """Return the gradients, one for each edge, converted to the shapes and dispatch keys of the edges."""
    padded = (*gradients, *[None] * (len(edges) - len(gradients)))
    return tuple(
        None if edge is None or grad is None else fit(grad, key_of_edge(edge), shape_of(edge), True)
        for grad, edge in zip(padded, edges, strict=False)
    )


def _sum_to(gradient: Any, from_shape: tuple[int, ...], shape: tuple[int, ...], F: Any) -> Any:
    """Sum a gradient to `shape`, over the dimensions that broadcasting from `shape` added or expanded."""
    extra = len(from_shape) - len(shape)
    if extra and from_shape[extra:] == shape:
        return F.sum(gradient, tuple(range(extra)))
    dims = tuple(range(extra)) + tuple(i for i in range(extra, len(from_shape)) if shape[i - extra] == 1 and from_shape[i] != 1)
    summed = F.sum(gradient, dims, True) if dims else gradient
    return F.reshape(summed, shape) if extra else summed


def is_expansion(expanded: Sequence[int], shape: Sequence[int]) -> bool:
    """Whether `shape` can be broadcast to `expanded`, so that a gradient of shape `expanded` can be summed to `shape`."""
    extra = len(expanded) - len(shape)
    return extra >= 0 and all(n in (1, m) for n, m in zip(shape, expanded[extra:], strict=True))


def sum_to_size(tensor: Any, shape: tuple[int, ...]) -> Any:
    """Sum a Tensor to `shape`, which must broadcast to the shape of the Tensor."""
    return _sum_to(tensor, tuple(tensor.shape), shape, RECORDED)


# --- the graph ---------------------------------------------------------------------------------------------------


def edge_of(target: Any) -> Any:
    """Return the edge to which the gradient of a Tensor (or GradientEdge) is delivered: a node, an Output, or the leaf itself."""
    if not isinstance(target, tuple):
        return target._node or (target._values if target.is_nested else target)
    node, index = target[:2]
    if isinstance(node, AccumulateGrad):
        return node.variable
    return node if node.outputs is None else Output(node, index)


def shape_of(edge: Any) -> tuple[int, ...]:
    """The shape of the gradients that are delivered along an edge."""
    return edge.shape if isinstance(edge, (Node, Output)) else edge._array.shape


def key_of_edge(edge: Any) -> DispatchKey:
    """The dispatch key of the gradients that are delivered along an edge."""
    return edge.dispatch_key if isinstance(edge, (Node, Output)) else edge._key


def node_of(edge: Any) -> Any:
    return edge.node if type(edge) is Output else edge


def reachable(roots: Iterable[Any]) -> set[Node]:
    """Return all nodes that can be reached from the edges `roots`."""
    nodes: set[Node] = set()
    stack = [node_of(edge) for edge in roots if edge is not None]
    while stack:
        node = stack.pop()
        if isinstance(node, Node) and node not in nodes:
            nodes.add(node)
            stack.extend(node_of(edge) for edge in node.edges if edge is not None)
    return nodes

"""The tracer of `torch.export`: a `TorchFunctionMode` that records each public call of a run in a graph.

Tensors keep their values while the program runs, so control flow, classes and containers work as usual. The node of a tensor
is found by the tensor's identity. Dynamic sizes are symbolic numbers. An earlier run on inputs of other sizes, the *probe*,
shows which sizes of results are dynamic (see `SizeGuards`).
"""

from __future__ import annotations

import inspect
import linecache
import operator
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import flambeau as torch
from flambeau import SymBool, SymFloat, SymInt, Tensor, nn
from flambeau.extension import Kind, facts_of, names
from flambeau.overrides import TorchFunctionMode
from flambeau.utils import pytree

from ..fx._names import READS_VALUES, public_module
from ..fx.graph import Graph
from ..fx.graph_module import GraphModule
from ..fx.node import Node, has_side_effects
from ..higher_order import cond, while_loop
from ._errors import GuardOnDataDependentSymNode, UserError
from ._operators import COMPOSITES, PROPERTIES, Call, aten, public_path, to_operator_call
from ._sizes import Known, SizeExpression, SizeGuards, concrete, infer_dynamic_sizes, is_symbolic
from ._wrappers import compute_by_class, has_wrapper

__all__ = ["Recording", "TensorSpec", "user_frames"]

_OURS = tuple(
    str(Path(module.__file__ or "").parent) + os.sep for module in (torch, sys.modules[__package__.partition(".")[0]])
)  # the folders with flambeau's source files


class TensorSpec:
    """The metadata of a tensor in an exported program: shape, dtype, device.

    Args:
        shape: the sizes; symbolic numbers for dynamic ones.
        dtype, device, requires_grad: as for a tensor.
    """

    def __init__(self, shape: tuple[Any, ...], dtype: torch.dtype, device: torch.device, requires_grad: bool = False) -> None:
        self.shape: Any = torch.Size(shape)  # a `Size` that may contain symbolic numbers
        self.dtype, self.device, self.requires_grad = dtype, device, requires_grad
        self.ndim = len(self.shape)
        self.is_number = False  # whether the value is known to be a scalar

    def dim(self) -> int:
        """Return the number of dimensions."""
        return self.ndim

    def size(self, dim: int | None = None) -> Any:
        """Return the sizes, or the size of one dimension."""
        return self.shape if dim is None else self.shape[dim]

    def numel(self) -> Any:
        """Return the number of elements."""
        return self.shape.numel()

    def __repr__(self) -> str:
        return f"TensorSpec(shape={list(self.shape)}, dtype={self.dtype})"


_CONVERT = frozenset("numpy __array__ __dlpack__ __array_wrap__ __reduce_ex__".split())  # noqa: SIM905
_DATA_DEPENDENT = names(dynamic_shape=True) | {"nms", "nonzero_numpy"}  # their result shapes depend on values


class Recording(TorchFunctionMode):
    """Record a run in a graph.

    Args:
        graph: the graph.
        module: the module that runs. Its tensor attributes that are not parameters or buffers become constants.
        sizes: the dynamic sizes, see `SizeGuards`.
        probe: the recording of an earlier run on inputs of other sizes.
        outer: the recording of the enclosing graph, if this graph is a branch of `cond` or `while_loop`.
    """

    records_members = True  # `vmap` calls its function for each member of the batch

    def __init__(
        self, graph: Graph, module: nn.Module, sizes: SizeGuards, probe: Recording | None, outer: Recording | None = None
    ) -> None:
        self.graph, self.module, self.sizes, self.probe, self.outer = graph, module, sizes, probe, outer
        self.nodes: dict[int, Node] = {}
        self.saved: dict[int, Node] = {}  # by `id` of the array: nodes of the tensors that derivative rules may use
        self.specs: dict[int, TensorSpec] = {}
        self.kept_alive: list[Any] = []  # keeps tensors alive, so that no `id` is reused
        self.constants: dict[str, Tensor] = {} if outer is None else outer.constants
        self.constant_nodes: dict[str, Node] = {}
        self.literals: set[int] = set()  # `id`s of tensors made from Python numbers; the program may read their values
        self.size_nodes: dict[tuple[Node, int], Node] = {}
        self.module_stack: list[tuple[str, type]] = [] if outer is None else outer.module_stack
        self.paths = {id(submodule): path for path, submodule in module.named_modules(remove_duplicate=False)}
        self.steps: list[tuple[str, list[tuple[int, ...]]]] = []  # the recorded operators, each with the shapes of its results
        self.lifted: list[Any] = []  # values of the enclosing graph that a branch uses
        self.submodules: dict[str, nn.Module] = {}
        self.lifted_numbers: list[tuple[Any, Node]] = []
        self.computed_by_class: Any = None  # the function that a class of wrapper subclasses computes now
        self.follows_grad_mode = torch.is_grad_enabled()
        self.without_grad: dict[int, Tensor] = {}  # by `id`: results computed under `no_grad` from tensors that require gradients

    # --- nodes of tensors ---

    def set_node(self, tensor: Tensor, node: Node, spec: TensorSpec | None = None) -> None:
        """Store that `node` computes a tensor."""
        self.nodes[id(tensor)] = node
        self.kept_alive.append(tensor)
        spec = spec or TensorSpec(tuple(tensor.shape), tensor.dtype, tensor.device, tensor._requires_grad)
        self.specs[id(tensor)] = spec
        node.meta["val"] = spec

    def node_of(self, value: Any) -> Any:
        """Replace tensors and symbolic numbers in an argument, also inside containers, by their nodes."""
        if isinstance(value, Tensor):
            node = self.nodes.get(id(value)) or self.saved.get(id(value._array))
            if id(value) in self.without_grad and torch.is_grad_enabled():
                del self.without_grad[id(value)]
                node = self._create(torch.ops.aten.detach.default, (node,), {})
                self.set_node(value, node, self.specs[id(value)])
            return self._external_node(value) if node is None else node
        if is_symbolic(value):
            return self.number(value)
        if isinstance(value, (tuple, list)):
            items = [self.node_of(item) for item in value]
            if isinstance(value, (torch.Size, list)):
                return items
            return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
        if isinstance(value, dict):
            return {key: self.node_of(item) for key, item in value.items()}
        if isinstance(value, slice):
            return slice(self.node_of(value.start), self.node_of(value.stop), self.node_of(value.step))
        return value

    def _external_node(self, tensor: Tensor) -> Node:
        """Return a node for a tensor that the run did not compute: an outer graph's value, a module attribute or a constant.

        Raises:
            RuntimeError: the tensor is batched by `vmap`, whose operators would become constants of the graph.
        """
        if torch._C._functorch.is_batchedtensor(tensor):
            raise RuntimeError("vmap cannot be traced into a graph of operators: call the function on the whole batch instead")
        if self.outer is not None:
            self.outer.node_of(tensor)
            return self._lift(tensor)
        name = self._attribute(tensor) or f"lifted_tensor_{sum(name.startswith('lifted_tensor_') for name in self.constants)}"
        self.constants[name] = tensor
        node = self._placeholder("c_" + name.replace(".", "_"), self._first_of_inputs())
        self.constant_nodes[name] = node
        self.set_node(tensor, node)
        return node

    def _lift(self, value: Any) -> Node:
        """Add a placeholder to a branch for a value of the enclosing graph."""
        first = next((node for node in self.graph.nodes if node.op != "placeholder"), None)
        node = self._placeholder(f"lifted_{len(self.lifted)}", first)
        self.lifted.append(value)
        if isinstance(value, Tensor):
            assert self.outer is not None
            self.set_node(value, node, self.outer.specs.get(id(value)))
        return node

    def _placeholder(self, name: str, following: Node | None) -> Node:
        """Add a placeholder before the node `following`; if that is None, at the end of the graph."""
        if following is None:
            return self.graph.placeholder(name)
        with self.graph.inserting_before(following):
            return self.graph.placeholder(name)

    def _first_of_inputs(self) -> Node | None:
        return next((node for node in self.graph.nodes if node.meta.get("is_user_input") or node.op != "placeholder"), None)

    def _attribute(self, tensor: Tensor) -> str | None:
        for path, submodule in self.module.named_modules():
            for name, value in vars(submodule).items():
                if value is tensor:
                    return f"{path}.{name}" if path else name
        return None

    # --- symbolic numbers ---

    def number(self, value: Any) -> Node:
        """Return the node of a symbolic number; it is added to the graph at its first use."""
        origin: SizeExpression = value.origin
        if origin.recording is not self:
            found = next((node for number, node in self.lifted_numbers if number is value), None)
            if found is not None:
                return found
            if self.outer is None:
                raise RuntimeError(
                    "torch.export: the program uses a symbolic size of another trace; pass sizes as inputs instead"
                )
            self.outer.number(value)
            node = self._lift(value)
            self.lifted_numbers.append((value, node))
            return node
        if origin.node is None:
            assert origin.make is not None
            origin.node = origin.make()
            origin.node.meta["val"] = value
        added: Node = origin.node
        return added

    def computed(self, function: Callable[..., Any], args: tuple[Any, ...], value: Any) -> Any:
        """Return the symbolic result of a function of symbolic numbers, as `flambeau.engine.values.symbols` requires."""

        def make() -> Node:
            return self._create(function, tuple(self.node_of(arg) for arg in args), {})

        form = self.sizes.combine(function, args)
        if not form.is_variable:
            return value  # the result is a constant, such as n - n
        form.recording, form.make = self, make
        kind = SymBool if isinstance(value, bool) else SymInt if isinstance(value, int) else SymFloat
        return kind(self, value, form)

    def decided(self, number: Any) -> Any:
        """Return the value of a symbolic number and record a guard, as `flambeau.engine.values.symbols` requires."""
        form: SizeExpression = number.origin
        if form.is_data_dependent:
            raise GuardOnDataDependentSymNode(
                f"Could not guard on data-dependent expression {form.text} (unhinted: {form.text}): the program needs a value "
                f"that is unknown before the call.\n\nThe following call raised this error:\n{_where()}"
            )
        if not self.sizes.decide(number, _where()):
            node = self.number(number if isinstance(number, SymBool) else number == number.value)
            message = f"Runtime assertion failed for expression {form.text}"
            if isinstance(number, SymBool) and not number.value:
                node = self._create(operator.not_, (node,), {})
            elif not isinstance(number, SymBool):
                node = self._create(operator.eq, (self.number(number), number.value), {})
            self._create(torch.ops.aten._assert_scalar.default, (node, message), {})
        return number.value

    def _item(self, tensor: Tensor) -> Any:
        """Return the element of a tensor as a symbolic number, or as a plain number if the tensor is a literal."""
        value = Tensor.item(tensor)
        if id(tensor) in self.literals:
            return value
        node = self._create(torch.ops.aten.item.default, (self.node_of(tensor),), {})
        form = SizeExpression.data_dependent(str(node))
        form.recording, form.node = self, node
        kind = SymBool if isinstance(value, bool) else SymInt if isinstance(value, int) else SymFloat
        number = kind(self, value, form)
        node.meta["val"] = number
        return number

    def _sizes(self, tensor: Tensor) -> Any:
        """Return the shape of a tensor, with symbolic numbers for dynamic sizes."""
        spec = self.specs.get(id(tensor))
        if spec is None and self.outer is not None:
            spec = self.outer.specs.get(id(tensor))
        return tensor.shape if spec is None else spec.shape

    def tensor_spec(self, tensor: Tensor, known: list[Known]) -> TensorSpec:
        """Return the metadata of a tensor with the given dynamic sizes."""
        shape: list[Any] = list(tensor.shape)
        for dim, form in known:
            form.recording, form.make = self, lambda dim=dim: self._size_node(tensor, dim)
            shape[dim] = SymInt(self, shape[dim], form)
        return TensorSpec(tuple(shape), tensor.dtype, tensor.device, tensor._requires_grad)

    def _size_node(self, tensor: Tensor, dim: int) -> Node:
        source = self.node_of(tensor)
        if (source, dim) not in self.size_nodes:
            self.size_nodes[source, dim] = self._create(torch.ops.aten.sym_size.int, (source, dim), {})
        return self.size_nodes[source, dim]

    # --- calls ---

    def __torch_function__(self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if isinstance(func, torch._ops.OpOverload):
            return self.emit(Call(func, list(args), kwargs))
        if func in (cond, while_loop):
            return trace_control_flow(self, func, *args)
        if func is torch.autograd.grad:
            return self._trace_gradients(*args, **kwargs)
        if has_wrapper(args, kwargs):
            return compute_by_class(self, func, types, args, kwargs)
        name = public_path(func)
        short = name.rpartition(".")[2]
        own = getattr(self, f"_trace_{short.strip('_')}", None) if short in _OWN else None
        if own is not None:
            return own(*args, **kwargs)
        if name == "nn.functional.kl_div":
            return self._kl_div(func, *args, **kwargs)
        is_attribute = getattr(func, "__name__", "") == "__get__" and short not in PROPERTIES
        if is_attribute or short == "requires_grad_" or name in _WRITTEN_ATTRIBUTES:
            return func(*args, **kwargs)
        if short in READS_VALUES:
            return self._read_values(func, short, args, kwargs)
        if short in _CONVERT:
            return self._convert_to_array(func, short, args, kwargs)
        out = kwargs.get("out") if kwargs else None
        if isinstance(out, Tensor):
            with self:
                result = func(*args, **{key: value for key, value in kwargs.items() if key != "out"})
            sizes = result.shape  # outside of `with self`, sizes are plain numbers
            is_resized = out.shape != sizes
            if is_resized and id(out) not in self.nodes:  # a constant, which has the new size when the graph runs
                out, is_resized = out.resize_(sizes), False
            with self:
                return (out.resize_(sizes) if is_resized else out).copy_(result)
        if name in COMPOSITES or _is_of_python(name, func):
            with self:
                return inspect.unwrap(func)(*args, **kwargs)
        is_sized = any(is_symbolic(leaf) for leaf in pytree.tree_leaves((args, kwargs)))
        if not is_sized and _may_be_query(name):
            result = func(*args, **kwargs)
            if not any(isinstance(leaf, Tensor) for leaf in pytree.tree_leaves(result)):
                return result
        if not any(isinstance(leaf, Tensor) or is_symbolic(leaf) for leaf in pytree.tree_leaves((args, kwargs))):
            return self._create_tensor(name, func, args, kwargs)
        return self._emit_function(name, func, args, kwargs)

    def _emit_function(self, name: str, func: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        call = to_operator_call(name, func, args, kwargs)
        if self.saved and getattr(call.target, "namespace", "") == "flambeau":  # a rule's operation, whose sizes must be tuples
            call = Call(call.target, [tuple(value) if isinstance(value, list) else value for value in call.args], call.kwargs)
        return self.emit(call)

    def _trace_gradients(self, *args: Any, **kwargs: Any) -> Any:
        """Compute gradients, and record the operators of the derivative rules.

        The rules receive saved results as new tensors, which have the arrays of the recorded ones.
        """
        self.saved = {id(tensor._array): self.nodes[id(tensor)] for tensor in self.kept_alive}
        with self:
            return torch.overrides.redispatch_function(torch.autograd.grad, (), args, {**kwargs, "create_graph": True})

    def _create_tensor(self, name: str, func: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Run a call without tensor arguments; record it only if it creates tensors."""
        result = func(*args, **kwargs)
        if name in ("fft.fftfreq", "fft.rfftfreq"):  # not an operator: the result is recorded as a constant
            return result
        if any(isinstance(leaf, Tensor) for leaf in pytree.tree_leaves(result)):
            return self.emit(to_operator_call(name, func, args, kwargs))
        return result

    def _read_values(self, func: Callable[..., Any], name: str, args: Any, kwargs: Any) -> Any:
        """Return what a function that reads the values of tensors, such as `bool()`, returns while a program is traced."""
        if all(id(arg) in self.literals for arg in args if isinstance(arg, Tensor)):
            return func(*args, **kwargs)
        if name in ("__index__", "__int__", "__float__", "__bool__"):
            number = self._item(args[0])
            return self.decided(number) if is_symbolic(number) else number
        raise GuardOnDataDependentSymNode(
            f"Could not guard on data-dependent expression: {name.strip('_')}() reads tensor values, which are unknown "
            f"before the call.\n\nThe following call raised this error:\n{_where()}"
        )

    def _convert_to_array(self, func: Callable[..., Any], name: str, args: Any, kwargs: Any) -> Any:
        raise RuntimeError(
            f".{name}() is not supported during export, because operations on the array are not recorded\n{_where()}"
        )

    def emit(self, call: Call) -> Any:
        """Run an operator and add it to the graph, unless it has neither tensors as results nor side effects."""
        args, kwargs = with_concrete_numbers((tuple(call.args), call.kwargs))
        if torch.autograd.forward_ad._current_level >= 0:
            raise RuntimeError("jvp cannot be traced into a graph of operators; vjp and grad can")
        result = call.target(*args, **kwargs)
        leaves = [leaf for leaf in pytree.tree_leaves(result) if isinstance(leaf, Tensor)]
        if not leaves:
            if has_side_effects(call.target):
                self._create(call.target, self.node_of(tuple(call.args)), self.node_of(call.kwargs))
            return result
        self.steps.append((str(call.target), [tuple(leaf.shape) for leaf in leaves]))
        used = [leaf for leaf in pytree.tree_leaves((call.args, call.kwargs)) if isinstance(leaf, Tensor)]
        node = self._create(call.target, self.node_of(tuple(call.args)), self.node_of(call.kwargs))
        if self.follows_grad_mode and not torch.is_grad_enabled():
            self._note_without_grad(leaves, used)
        shapes = self._shapes_of_probe(leaves)
        specs = [self._spec_after(call, used, leaf, shape) for leaf, shape in zip(leaves, shapes, strict=True)]
        if isinstance(result, Tensor):
            if used and result is not used[0]:
                node.meta["is_view"] = _shares_memory(result, used[0])
            self.set_node(result, node, specs[0])
            return result
        node.meta["val"] = tuple(specs)
        place = 0
        for number, item in enumerate(result):
            if isinstance(item, Tensor):
                self.set_node(item, self._create(operator.getitem, (node, number), {}), specs[place])
                place += 1
        return result

    def _note_without_grad(self, results: list[Tensor], used: list[Tensor]) -> None:
        """Record results computed under `no_grad`. Graphs have no `no_grad`, so a later use with gradients adds a `detach`."""
        if any(leaf.requires_grad or id(leaf) in self.without_grad for leaf in used):
            self.without_grad.update({id(leaf): leaf for leaf in results if not leaf.requires_grad and leaf.is_floating_point()})

    def _shapes_of_probe(self, leaves: list[Tensor]) -> list[tuple[int, ...] | None]:
        """Return the shapes that the results of this step had in the probe run; without a probe run, None for each result."""
        if self.probe is None:
            return [None] * len(leaves)
        place = len(self.steps) - 1
        name, shapes = self.probe.steps[place] if place < len(self.probe.steps) else ("nothing", [])
        own = self.steps[place][1]
        if name != self.steps[place][0] or [len(shape) for shape in shapes] != [len(shape) for shape in own]:
            raise UserError(
                f"Constraints violated! The program runs {self.steps[place][0]} for the examples, "
                f"but {name} for inputs of other sizes: its control flow depends on sizes marked as dynamic.\n\n"
                f"The runs diverge here:\n{_where()}"
            )
        return list(shapes)

    def _spec_after(self, call: Call, used: list[Tensor], tensor: Tensor, other: tuple[int, ...] | None) -> TensorSpec:
        name = getattr(call.target, "overloadpacket", call.target).__name__
        masks = [each for each in pytree.tree_leaves(call.args[1:]) if isinstance(each, Tensor) and each.dtype is torch.bool]
        depends = name in _DATA_DEPENDENT and str(call.target) != "aten.repeat_interleave.self_int"
        depends = depends or (name == "index" and bool(masks)) or (name == "where" and len(call.args) == 1)
        inputs = [self._sizes(each) for each in used]
        return self.tensor_spec(
            tensor, infer_dynamic_sizes(self.sizes, inputs, tuple(tensor.shape), other, depends, str(call.target))
        )

    def _create(self, target: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Node:
        packet = getattr(target, "overloadpacket", None)
        name = "sym_size_int" if target is torch.ops.aten.sym_size.int else getattr(packet, "__name__", None)
        node = self.graph.create_node("call_function", target, args, kwargs, name=name)
        node.meta["stack_trace"] = "".join(_formatted(frame, line) for frame, line in user_frames())
        node.meta["nn_module_stack"] = {
            f"{number}": (path, f"{cls.__module__}.{cls.__qualname__}") for number, (path, cls) in enumerate(self.module_stack)
        }
        if (tracing := torch._C._get_tracing_state()) is not None:
            node.meta["scopes"] = tuple(tracing.scopes)
        if isinstance(target, torch._ops.OpOverload):
            node.meta["torch_fn"] = (f"{node.name}_1", f"OpOverload.{target}")
        return node

    # --- calls that expand to several operators, or to none ---

    def _trace_shape(self, tensor: Tensor) -> Any:
        return self._sizes(tensor)

    def _trace_size(self, tensor: Tensor, dim: int | None = None) -> Any:
        sizes = self._sizes(tensor)
        return sizes if dim is None else sizes[dim]

    def _trace_numel(self, tensor: Tensor) -> Any:
        return self._sizes(tensor).numel()

    _trace_nelement = _trace_numel

    def _trace_len(self, tensor: Tensor) -> Any:
        if tensor.dim() == 0:
            raise TypeError("len() of a 0-d tensor")
        return concrete_int(self._sizes(tensor)[0])

    def _trace_item(self, tensor: Tensor) -> Any:
        return self._item(tensor)

    def _trace_tolist(self, tensor: Tensor) -> Any:
        if tensor.dim() == 0:
            return self._item(tensor)
        return [self._trace_tolist(self.emit(aten("select", [tensor, 0, place]))) for place in range(int(self._sizes(tensor)[0]))]

    def _trace_iter(self, tensor: Tensor) -> Any:
        int(self._sizes(tensor)[0]) if tensor.dim() else None
        return iter(self.emit(aten("unbind", [tensor])))

    def _trace_tensor(self, data: Any, **kwargs: Any) -> Tensor:
        if any(is_symbolic(leaf) for leaf in pytree.tree_leaves(data, is_leaf=is_symbolic)):
            return self._tensor_of_numbers(data, kwargs)
        tensor = torch.tensor(data, **kwargs)
        self.literals.add(id(tensor))
        self.kept_alive.append(tensor)
        copied: Tensor = self.emit(aten("lift_fresh_copy", [tensor]))
        self.literals.add(id(copied))
        if kwargs.get("requires_grad"):
            copied.requires_grad_()
        return copied

    def _tensor_of_numbers(self, data: Any, kwargs: dict[str, Any]) -> Tensor:
        if isinstance(data, (list, tuple)):
            stacked: Tensor = self.emit(aten("stack", [[self._tensor_of_numbers(item, kwargs) for item in data]]))
            return stacked
        options = {key: value for key, value in kwargs.items() if key in ("dtype", "device") and value is not None}
        options.setdefault(
            "dtype", {SymInt: torch.int64, SymBool: torch.bool}.get(type(data), torch.tensor(concrete(data)).dtype)
        )
        tensor: Tensor = self.emit(aten("scalar_tensor", [data], options))
        return tensor

    def _trace_as_tensor(self, data: Any, dtype: Any = None, device: Any = None) -> Any:
        if not isinstance(data, Tensor):
            return self._trace_tensor(data, dtype=dtype, device=device)
        return self.emit(to_operator_call("Tensor.to", Tensor.to, (data,), {"dtype": dtype, "device": device}))

    _trace_asarray = _trace_as_tensor

    def _trace_getitem(self, tensor: Tensor, index: Any) -> Any:
        return self.emit_steps(_indexing_operators(tensor, index))

    def emit_steps(self, steps: Any) -> Any:
        """Run the operator calls that a generator yields, and send it their results."""
        result = None
        try:
            call = next(steps)
            while True:
                result = self.emit(call)
                call = steps.send(result)
        except StopIteration as end:
            return end.value

    def _trace_setitem(self, tensor: Tensor, index: Any, value: Any) -> None:
        part, places = self.emit_steps(_indexing_views(tensor, index))
        if places:
            values = value if isinstance(value, Tensor) else self._trace_tensor(value, dtype=tensor.dtype)
            self.emit(aten("index_put_", [part, places, values], None, "default"))
        elif isinstance(value, Tensor):
            self.emit(aten("copy_", [part, value]))
        else:
            self.emit(aten("fill_", [part, self._trace_tensor(value, dtype=tensor.dtype)]))

    def _trace_type(self, tensor: Tensor, dtype: Any = None, *args: Any, **kwargs: Any) -> Any:
        if dtype is None:
            return Tensor.type(tensor)
        wanted = Tensor.type(Tensor.new_empty(tensor, 0), dtype).dtype
        return self.emit(aten("to", [tensor, wanted], None, "dtype"))

    def _kl_div(self, func: Any, *args: Any, **kwargs: Any) -> Any:
        given = inspect.signature(func).bind(*args, **kwargs).arguments
        if given.get("reduction") != "batchmean":
            return self.emit(to_operator_call("nn.functional.kl_div", func, args, kwargs))
        total = self.emit(to_operator_call("nn.functional.kl_div", func, (), {**given, "reduction": "sum"}))
        return self.emit(aten("div", [total, self._sizes(given["input"])[0]]))

    def _trace_rtruediv(self, tensor: Tensor, other: Any) -> Any:
        return self.emit(aten("mul", [self.emit(aten("reciprocal", [tensor])), other]))

    def _trace_contiguous(self, tensor: Tensor, memory_format: Any = torch.contiguous_format) -> Any:
        return self.emit(aten("contiguous", [tensor]))

    def _trace_mT(self, tensor: Tensor) -> Any:
        return self.emit(aten("transpose", [tensor, -2, -1]))

    def _trace_set_grad_enabled(self, *args: Any) -> Any:
        return torch.set_grad_enabled(*args)


_OWN = frozenset(
    [
        "shape",
        "size",
        "numel",
        "nelement",
        "__len__",
        "item",
        "tolist",
        "__iter__",
        "tensor",
        "as_tensor",
        "asarray",
        "__getitem__",
        "__setitem__",
        "__rtruediv__",
        "type",
        "contiguous",
        "mT",
    ]
)
_WRITTEN_ATTRIBUTES = frozenset({"Tensor.requires_grad.__set__", "Tensor.grad.__set__", "Tensor.volatile.__set__"})


def _may_be_query(name: str) -> bool:
    """Whether calls of a function may read tensor metadata without being recorded: it is a query, or an unknown operator."""
    short = name.rpartition(".")[2]
    facts = facts_of(short)
    return not short.endswith("_") and (facts is None or facts.kind is Kind.QUERY) and not name.startswith("torchvision.")


def concrete_int(size: Any) -> int:
    """Return a size as a plain integer, as `len` requires."""
    return int(size)


def _is_of_python(name: str, func: Callable[..., Any]) -> bool:
    """Whether a function is a Python function of `torch.nn` or `torch.optim`, without a corresponding operator."""
    if "." in name:
        return False
    module = public_module(getattr(func, "__module__", None) or "")
    return module.startswith(("torch.nn", "torch.optim")) and not hasattr(torch, name)


def _shares_memory(result: Tensor, source: Tensor) -> bool:
    """Whether a result may be a view of a tensor."""
    return result._base is not None and result._base is (source if source._base is None else source._base)


def with_concrete_numbers(value: Any) -> Any:
    """Replace symbolic numbers in arguments by the values that they have for the example inputs."""
    if isinstance(value, (torch.Size, list)):
        return [with_concrete_numbers(item) for item in value]
    if isinstance(value, tuple):
        items = [with_concrete_numbers(item) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    if isinstance(value, dict):
        return {key: with_concrete_numbers(item) for key, item in value.items()}
    return concrete(value)


def _as_index(each: Any) -> Tensor:
    return torch.tensor(each) if isinstance(each, list) else each


def _indexing_operators(tensor: Tensor, index: Any) -> Any:
    """Translate indexing to operators: those of `_indexing_views`, then `index` for tensors."""
    part, places = yield from _indexing_views(tensor, index)
    if places:
        part = yield aten("index", [part, places])
    return part


def _indexing_views(tensor: Tensor, index: Any) -> Any:
    """Translate numbers to `select`, slices to `slice`, and None to `unsqueeze`.

    Return the resulting view, and the list of the tensors that index it, which has None for dimensions without an index.
    """
    indices = list(index) if isinstance(index, tuple) else [index]
    taken = sum(
        each.dim()
        if isinstance(each, Tensor) and each.dtype in (torch.bool, torch.uint8)
        else each is not None and each is not ...
        for each in indices
    )
    place = next((i for i, each in enumerate(indices) if each is ...), None)
    missing = [slice(None)] * (tensor.dim() - taken)
    indices = [*indices, *missing] if place is None else [*indices[:place], *missing, *indices[place + 1 :]]
    result, dim, places = tensor, 0, {}
    for each in indices:
        if each is None:
            result = yield aten("unsqueeze", [result, dim])
            dim += 1
        elif isinstance(each, slice):
            if each != slice(None):
                limits = [
                    each.start,
                    sys.maxsize if each.stop is None else each.stop,
                    *([] if each.step is None else [each.step]),
                ]
                limits[0] = 0 if limits[0] is None else limits[0]
                result = yield aten("slice", [result, dim, *limits])
            dim += 1
        elif isinstance(each, (Tensor, list)):
            given = _as_index(each)
            places[dim] = given
            dim += given.dim() if given.dtype is torch.bool else 1
        elif isinstance(each, (bool,)):
            raise RuntimeError(f"torch.export: the index {index} is not supported\n{_where()}")
        else:
            result = yield aten("select", [result, dim, each])
    listed: list[Any] = []
    for at in sorted(places):
        listed += [None] * (at - len(listed))
        listed.append(places[at])
    if result is tensor and not listed:
        result = yield aten("alias", [tensor])
    return result, listed


# --- control flow -------------------------------------------------------------------------------------------------


def trace_control_flow(recording: Recording, func: Any, *args: Any) -> Any:
    """Add `cond` or `while_loop` to the graph, with the branches as submodules. Both branches run once on the examples."""
    if func is cond:
        pred, first, second, operands = args
        if not isinstance(pred, Tensor) and not is_symbolic(pred):
            with recording:
                return (first if pred else second)(*operands)
        names, inputs = ("true_graph", "false_graph"), operands
    else:
        first, second, carried, additional = args
        names, inputs = ("while_loop_cond_graph", "while_loop_body_graph"), (*carried, *additional)
    leaves = pytree.tree_leaves(inputs)
    branches = [_branch(recording, function, inputs) for function in (first, second)]
    _align([branch for branch, _, _ in branches])
    number = sum(name.startswith(names[0]) for name in recording.submodules)
    nodes = []
    for (branch, _, _), name in zip(branches, names, strict=True):
        recording.submodules[f"{name}_{number}"] = GraphModule(dict(branch.submodules), branch.graph)
        nodes.append(recording.graph.create_node("get_attr", f"{name}_{number}"))
    lifted = [recording.node_of(value) for branch, _, _ in branches for value in branch.lifted]
    if func is cond:
        (_, taken, spec), (_, other, other_spec) = branches if concrete_bool(pred) else branches[::-1]
        if spec != other_spec or any(_kind(a) != _kind(b) for a, b in zip(taken, other, strict=True)):
            raise RuntimeError(
                f"Expected true_fn and false_fn to return values of the same kinds, but got {taken} and {other}\n{_where()}"
            )
        target_args = (recording.node_of(pred), *nodes, (*map(recording.node_of, leaves), *lifted))
        results = taken
    else:
        results, spec = list(while_loop(first, second, carried, additional)), branches[1][2]
        own = len(pytree.tree_leaves(carried))
        operands_of_graph = [recording.node_of(leaf) for leaf in leaves]
        target_args = (*nodes, tuple(operands_of_graph[:own]), (*operands_of_graph[own:], *lifted))
    node = recording._create(getattr(torch.ops.higher_order, func.__name__), target_args, {})
    for place, result in enumerate(results):
        if isinstance(result, Tensor):
            result = results[place] = result.view_as(result) if id(result) in recording.nodes else result
            used = [recording._sizes(leaf) for leaf in leaves if isinstance(leaf, Tensor)]
            same = next((shape for shape in used if tuple(map(concrete, shape)) == tuple(result.shape)), ())
            known = [(dim, copy_expression(size.origin)) for dim, size in enumerate(same) if is_symbolic(size)]
            recording.set_node(
                result, recording._create(operator.getitem, (node, place), {}), recording.tensor_spec(result, known)
            )
    return pytree.tree_unflatten(results, spec)


def concrete_bool(pred: Any) -> bool:
    """Return the truth value that a condition has for the example inputs."""
    return bool(concrete(pred))


def copy_expression(form: SizeExpression) -> SizeExpression:
    """Copy the expression of a size, so that the size of another tensor can use it."""
    return SizeExpression(form.text, form.linear, form.is_data_dependent)


def _kind(value: Any) -> Any:
    return (tuple(value.shape), value.dtype) if isinstance(value, Tensor) else type(value)


def _branch(recording: Recording, function: Any, inputs: Any) -> tuple[Recording, list[Any], Any]:
    """Trace a function as a separate graph. Return its recording, its output leaves and their structure."""
    branch = Recording(Graph(), recording.module, recording.sizes, None, recording)
    leaves, structure = pytree.tree_flatten(inputs)
    copies = []
    for place, leaf in enumerate(leaves):
        node = branch.graph.placeholder(f"arg{place}_1")
        copied = leaf.view_as(leaf) if isinstance(leaf, Tensor) else leaf
        if isinstance(leaf, Tensor):
            known = [(dim, copy_expression(size.origin)) for dim, size in enumerate(recording._sizes(leaf)) if is_symbolic(size)]
            branch.set_node(copied, node, branch.tensor_spec(copied, known))
        copies.append(copied)
    with branch:
        result = function(*pytree.tree_unflatten(copies, structure))
    results, spec = pytree.tree_flatten(result)
    branch.graph.output(tuple(branch.node_of(value) for value in results))
    return branch, results, spec


def _align(branches: list[Recording]) -> None:
    """Give both branches the same lifted placeholders in the same order, as `cond` requires."""
    first, second = branches
    for branch, others, before in ((first, second.lifted, False), (second, first.lifted, True)):
        own = [node for node in branch.graph.nodes if node.op == "placeholder" and str(node.target).startswith("lifted_")]
        inputs = [node for node in branch.graph.nodes if node.op == "placeholder"]
        place = own[0] if before and own else next(node for node in branch.graph.nodes if node.op != "placeholder")
        assert inputs or place
        for number in range(len(others)):
            with branch.graph.inserting_before(place):
                branch.graph.placeholder(f"unused_{number}")


# --- source locations ---


def user_frames() -> list[tuple[FrameType, int]]:
    """Return the stack frames below the call of `export`, outermost first. Frames inside functions of layers are left out."""
    frames: list[tuple[FrameType, int]] = []
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        if frame.f_code.co_name == "run_program" and file.endswith("_export.py"):
            break
        inside = file.startswith(_OURS) or file.startswith("<flambeau.")
        if not inside or ("modules" in file and frame.f_code.co_name == "forward"):
            frames.append((frame, frame.f_lineno))
        frame = frame.f_back
    return frames[::-1]


def _formatted(frame: FrameType, line: int) -> str:
    code = frame.f_code
    source = linecache.getline(code.co_filename, line).strip()
    return f'  File "{code.co_filename}", line {line}, in {code.co_name}\n' + (f"    {source}\n" if source else "")


def _where() -> str:
    frames = [pair for pair in user_frames() if not pair[0].f_code.co_filename.startswith(_OURS)] or user_frames()
    return _formatted(*frames[-1]) if frames else ""

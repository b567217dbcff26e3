"""`torch.utils.flop_counter`: count floating-point operations (FLOPs)."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, Final

import flambeau as torch

from ..engine.calls.facts import Kind, names
from ..engine.calls.tables import OPS
from ..library.ops import OpOverload, OpOverloadPacket, ops
from ..overrides import TorchFunctionMode, redispatch_function
from .module_tracker import ModuleTracker
from .pytree import tree_map

__all__ = ["FlopCounterMode", "register_flop_formula"]

aten = ops.aten

# --- formulas, by operator ----------------------------------------------------------------------------------------

flop_registry: dict[Any, Any] = {}


def shape_wrapper(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a FLOP formula that takes shapes so that it takes tensors; `out_shape` is the shape of the result."""

    @wraps(function)
    def formula(*args: Any, out_val: Any = None, **kwargs: Any) -> Any:
        args, kwargs, shape = tree_map(_shape_of, (args, kwargs, out_val))
        return function(*args, out_shape=shape, **kwargs)

    return formula


def _shape_of(value: Any) -> Any:
    return value.shape if isinstance(value, torch.Tensor) else value


def register_flop_formula(targets: Any, get_raw: bool = False) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that registers a function as the FLOP formula of an operator.

    Args:
        targets: an operator such as `torch.ops.aten.mm`, or a list of operators.
        get_raw: whether the formula is called with the tensors, rather than with their shapes and `out_shape`.

    Raises:
        ValueError: a target is not an operator.
        RuntimeError: a target already has a formula.
    """

    def register(formula: Callable[..., Any]) -> Callable[..., Any]:
        counted = formula if get_raw else shape_wrapper(formula)
        for target in targets if isinstance(targets, (list, tuple)) else [targets]:
            if not hasattr(target, "overloads"):
                raise ValueError(f"register_flop_formula(targets): expected each target to be an OpOverloadPacket, got {target}")
            if target in flop_registry:
                raise RuntimeError(f"duplicate registrations for {target}")
            flop_registry[target] = counted
        return formula

    return register


@register_flop_formula([aten.mm, aten.bmm])
def mm_flop(a_shape: Any, b_shape: Any, *args: Any, out_shape: Any = None, **kwargs: Any) -> Any:
    """Count `2 * n * k * m` FLOPs for shapes `(n, k)` and `(k, m)`, times the batch size."""
    return 2 * math.prod(a_shape) * b_shape[-1]


@register_flop_formula([aten.addmm, aten.baddbmm])
def addmm_flop(self_shape: Any, a_shape: Any, b_shape: Any, out_shape: Any = None, **kwargs: Any) -> Any:
    """Count the FLOPs of the product; like PyTorch, ignore those of adding `self`."""
    return mm_flop(a_shape, b_shape)


def conv_flop_count(x_shape: Sequence[int], w_shape: Sequence[int], out_shape: Sequence[int], transposed: bool = False) -> int:
    """Count two FLOPs, a multiplication and an addition, for each weight at each position of the window."""
    return 2 * x_shape[0] * math.prod((x_shape if transposed else out_shape)[2:]) * math.prod(w_shape)


@register_flop_formula(aten.convolution)
def conv_flop(
    x_shape: Any, w_shape: Any, bias: Any, stride: Any, padding: Any, dilation: Any, transposed: bool, *args: Any,
    out_shape: Any = None, **kwargs: Any,
) -> int:  # fmt: skip
    """Count the FLOPs of a convolution by `conv_flop_count`, given the arguments of the operator."""
    return conv_flop_count(x_shape, w_shape, out_shape, transposed)


# Not registered: flambeau has no operator `convolution_backward`.
def conv_backward_flop(
    grad_out_shape: Any, x_shape: Any, w_shape: Any, transposed: bool, wanted: Sequence[bool]
) -> int:  # fmt: skip
    """Count the FLOPs of the gradients of the input and of the weight; `wanted` is a bool for each."""
    count = 0
    if wanted[0]:
        count += conv_flop_count(grad_out_shape, w_shape, x_shape, not transposed)
    if wanted[1]:
        x, g = _swapped(x_shape), _swapped(grad_out_shape)
        count += conv_flop_count(g, x, w_shape) if transposed else conv_flop_count(x, g, w_shape)
    return count


def _swapped(shape: Sequence[int]) -> tuple[int, ...]:
    """Swap batch and channels.  The weight's gradient is a convolution of arguments that are swapped in this way."""
    return (shape[1], shape[0], *shape[2:])


# --- the mode -----------------------------------------------------------------------------------------------------

_PRODUCT_OPERATORS = set(flop_registry)  # operators that `_Call` counts, including their backward passes
_RECURRENT = names(kind=Kind.RECURRENT) & OPS.keys()


class FlopCounterMode(TorchFunctionMode):
    """A context that counts the FLOPs of matrix products and convolutions, by module and operator.

    Backward passes inside the context are included.  So are operations that consist of matrix products: recurrent layers,
    products with vectors, and attention, which PyTorch's counter omits on the CPU.

    Args:
        mods: no effect: modules are detected automatically.
        depth: the number of levels of modules in the table; None for all.
        display: whether to print the table at the end.
        custom_mapping: {operator: formula}, which override the registered formulas.

    >>> from flambeau.utils.flop_counter import FlopCounterMode
    >>> counter = FlopCounterMode(display=False)
    >>> with counter:
    ...     y = torch.nn.Linear(3, 4)(torch.ones(2, 3))
    >>> counter.get_total_flops(), counter.get_flop_counts()["Linear"]
    (48, {<OpOverloadPacket(op='aten.addmm')>: 48})
    """

    depth: int | None
    display: bool

    sees_methods: bool = False

    def __init__(self, mods: Any = None, depth: int | None = 2, display: bool = True, custom_mapping: Any = None) -> None:
        self.depth, self.display = depth, display
        mapping = {
            operator: formula if getattr(formula, "_get_raw", False) else shape_wrapper(formula)
            for operator, formula in (custom_mapping or {}).items()
        }
        self.flop_registry: Final = {**flop_registry, **mapping}
        self.flop_counts: defaultdict[str, defaultdict[Any, int]] = defaultdict(lambda: defaultdict(int))
        self.mod_tracker: Final = ModuleTracker()
        self._is_open = False

    def __enter__(self) -> FlopCounterMode:
        if not self._is_open:  # the mode is already open when it is entered again after a nested call
            self.flop_counts.clear()
            self.mod_tracker.__enter__()
            self._is_open = True
            super().__enter__()
        return self

    def __exit__(self, *exception: Any) -> None:
        super().__exit__(*exception)
        self.mod_tracker.__exit__(*exception)
        self._is_open = False
        if self.display:
            print(self.get_table(self.depth))

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        name = getattr(func, "__name__", "")
        if name in ("__get__", "__set__"):
            return func(*args, **kwargs)
        packet = func.overloadpacket if isinstance(func, OpOverload) else getattr(aten, name, None)
        if packet in self.flop_registry and packet not in _PRODUCT_OPERATORS:
            result = func(*args, **kwargs)
            self._add(packet, self.flop_registry[packet](*args, **kwargs, out_val=result), self._parents())
            return result
        call = _countable_call(func, name, args, kwargs)
        if call is not None:
            result = func(*args, **kwargs)
            self._count_call(call, result)
            return result
        TorchFunctionMode.__enter__(self)
        try:
            return redispatch_function(func, types, args, kwargs)
        finally:
            TorchFunctionMode.__exit__(self)

    def _parents(self) -> set[str]:
        return set(self.mod_tracker.parents)

    def _add(self, packet: Any, count: int, parents: set[str]) -> None:
        for parent in parents:
            self.flop_counts[parent][packet] += count

    def _count_call(self, call: _Call, result: Any) -> None:
        """Count the FLOPs of a call now, and those of its backward pass when it runs."""
        parents, outcome = self._parents(), result[0] if isinstance(result, (tuple, list)) else result
        formula = self.flop_registry.get(call.packet)
        count = call.count(outcome) if formula is None or call.args is None else formula(*call.args, out_val=call.output(outcome))
        self._add(call.packet, count, parents)
        node = getattr(outcome, "grad_fn", None)
        if node is None or not any(call.wanted):
            return

        def before(gradients: Any) -> None:
            # With `create_graph`, the backward pass calls operations, which are counted as such: do not count them twice.
            if self._is_open and not torch.is_grad_enabled():
                self._add(call.backward_packet, call.count_backward(outcome_shape, count), parents)

        outcome_shape = call.output(outcome)
        node.register_prehook(before)

    def get_total_flops(self) -> int:
        """Return the total number of FLOPs."""
        return sum(self.flop_counts["Global"].values())

    def get_flop_counts(self) -> dict[str, dict[Any, int]]:
        """Return {module name: {operator: FLOPs}}; the module "Global" includes all calls."""
        return {module: dict(counts) for module, counts in self.flop_counts.items()}

    def get_table(self, depth: int | None = None) -> str:
        """Return the counts as a text table with `depth` levels of modules."""
        depth = next(limit for limit in (depth, self.depth, 999999) if limit is not None)
        total = self.get_total_flops()
        rows: list[list[str]] = []
        covered = False
        for module in sorted(self.flop_counts):
            if module != "Global" and module.count(".") < depth:
                rows += self._rows(module, module.count("."), total)
                covered = covered or sum(self.flop_counts[module].values()) >= total
        if not covered:
            rows = [*self._rows("Global", 0, total), *([f" {row[0]}", *row[1:]] for row in rows)]
        return _table(["Module", "FLOP", "% Total"], rows)

    def _rows(self, module: str, indent: int, total: int) -> list[list[str]]:
        counts = self.flop_counts[module]
        entries = [(module, sum(counts.values())), *((f" - {packet}", count) for packet, count in counts.items())]
        share = [f"{count / total:.2%}" if total else "0%" for _, count in entries]
        return [[" " * indent + name, _in_units(count, total), part] for (name, count), part in zip(entries, share, strict=True)]


class _Call:
    """A matrix product or convolution to count: its operator, the arguments of the FLOP formula, and the wanted gradients."""

    def __init__(
        self, packet: Any, args: Any, wanted: Sequence[bool], *, transposed: bool | None = None, batched: bool = True
    ) -> None:
        self.packet, self.args, self.wanted, self.transposed, self.batched = packet, args, wanted, transposed, batched
        if transposed is not None:
            self.backward_packet = _CONVOLUTION_BACKWARD
        else:
            self.backward_packet = aten.bmm if packet in (aten.bmm, aten.baddbmm) else aten.mm

    def output(self, outcome: Any) -> Any:
        """Return the shape of the result with a batch dimension."""
        return tuple(outcome.shape) if self.batched else (1, *outcome.shape)

    def count(self, outcome: Any) -> int:
        """Count the operations of a call without a custom formula."""
        raise NotImplementedError

    def count_backward(self, outcome_shape: Any, count: int) -> int:
        """Count the FLOPs of the wanted gradients, from the `count` of the forward pass."""
        if self.transposed is None:  # each gradient is a matrix product of the same size as the forward product
            return count * sum(self.wanted)
        x_shape, w_shape = self.args[:2]
        return conv_backward_flop(outcome_shape, x_shape, w_shape, self.transposed, self.wanted)


class _Steps(_Call):
    """The products of the weight and the state in a recurrent layer, one for each time step."""

    def __init__(self, gates: Any, state: Any, wanted: Sequence[bool]) -> None:
        super().__init__(aten.addmm, None, wanted)
        self.steps: int = gates.shape[0]
        self.each: int = 2 * math.prod(gates.shape[1:]) * state.shape[-1]

    def count(self, outcome: Any) -> int:
        return self.steps * self.each

    def count_backward(self, outcome_shape: Any, count: int) -> int:
        of_states = self.steps - (not self.wanted[0])  # the first state may need no gradient
        return self.each * (of_states + self.steps * self.wanted[1])


class _Attention(_Call):
    """The two matrix products of attention: queries with keys, and attention weights with values."""

    def __init__(self, query: Any, key: Any, value: Any) -> None:
        super().__init__(aten.bmm, None, _needs(query, key, value))
        pairs = math.prod(query.shape[:-1]) * key.shape[-2]
        self.scores: int = 2 * pairs * query.shape[-1]
        self.means: int = 2 * pairs * value.shape[-1]

    def count(self, outcome: Any) -> int:
        return self.scores + self.means

    def count_backward(self, outcome_shape: Any, count: int) -> int:
        query, key, value = self.wanted
        products_of_means, products_of_scores = (query or key) + value, query + key
        return products_of_means * self.means + products_of_scores * self.scores


_CONVOLUTION_BACKWARD = OpOverloadPacket("aten", "convolution_backward")  # a name for the table; it cannot be called


def _countable_call(func: Any, name: str, args: Any, kwargs: Any) -> _Call | None:
    """Return the product or convolution that a call computes, or None for other functions, which may call some."""
    if name in ("mm", "bmm"):
        a, b = (args[0], args[1]) if len(args) > 1 else (args[0] if args else kwargs["input"], kwargs["mat2"])
        return _Call(aten.mm if a.ndim == 2 else aten.bmm, (a.shape, b.shape), _needs(a, b))
    if name == "linear":
        return _linear(func, args, kwargs)
    if name == "addmm" and func is OPS["addmm"].function:
        return _Call(aten.addmm, tuple(x.shape for x in args[:3]), _needs(*args[1:3]))
    if name == "attention":
        return _Attention(*args[:3])
    if name in _RECURRENT:
        return _Steps(args[0], args[1], _needs(args[1], args[3 if name == "lstm_layer" else 2]))
    if name == "convolution_transposed" or (name == "convolution" and not any(type(arg) is bool for arg in args)):
        return _convolution(args, name != "convolution")  # `torch.convolution` has a bool argument, and calls one of the two
    return None


def _needs(*tensors: Any) -> list[bool]:
    return [tensor.requires_grad for tensor in tensors]


def _linear(func: Any, args: Any, kwargs: Any) -> _Call:
    if func is OPS["linear"].function:  # the operation `linear` takes (bias, input, weight), unlike `F.linear`
        bias, input, weight = args
    else:
        given = dict(zip(("input", "weight", "bias"), args, strict=False)) | kwargs
        input, weight, bias = given["input"], given["weight"], given.get("bias")
    rows = math.prod(input.shape[:-1]), input.shape[-1]
    columns = weight.shape[::-1] if weight.ndim == 2 else (weight.shape[0], 1)
    if bias is None:
        return _Call(aten.mm, (rows, columns), _needs(input, weight))
    return _Call(aten.addmm, (bias.shape, rows, columns), _needs(input, weight))


def _convolution(args: Any, transposed: bool) -> _Call:
    input, weight = args[:2]
    batched = input.ndim == weight.ndim
    shape = input.shape if batched else (1, *input.shape)
    wanted = _needs(input, weight)
    return _Call(
        aten.convolution, (tuple(shape), tuple(weight.shape), None, None, None, None, transposed), wanted,
        transposed=transposed, batched=batched,
    )  # fmt: skip


# --- the table ----------------------------------------------------------------------------------------------------

_UNITS = ["", "K", "M", "B", "T"]


def _in_units(count: int, total: int) -> str:
    """Format a count in the unit (K, M, B, T) that suits the total."""
    power = max(0, min(len(_UNITS) - 1, (len(str(total)) - 2) // 3))
    return f"{count / 1000**power:.3f}{_UNITS[power]}" if power else str(count)


def _table(header: list[str], rows: list[list[str]]) -> str:
    widths = [max(len(title) + 2, *(len(row[column]) for row in rows)) for column, title in enumerate(header)]
    lines = [header, ["-" * width for width in widths], *rows]
    return "\n".join("  ".join(_align(line, widths)) for line in lines)


def _align(line: list[str], widths: list[int]) -> list[str]:
    """Align the first cell to the left and the others to the right."""
    first, *rest = zip(line, widths, strict=True)
    return [first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in rest)]

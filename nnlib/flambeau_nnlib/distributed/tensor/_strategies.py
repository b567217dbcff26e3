"""Strategies: the placements with which an operation can be computed locally, for one mesh dimension at a time.

A rule receives a `Call` and returns `Strategy`s: placements of the tensor arguments and of the results with which no
communication is needed. Replicating everything is always possible. The dispatcher selects the strategy with the
cheapest redistribution.

`rule_of` returns the rule registered for an operation, or the one for its kind and linearity, which are facts of the
operation. An operation without a rule is computed on replicated tensors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from flambeau.extension import Facts, Kind, Linearity, facts_of
from flambeau.extension.schemas import schemas

from ._dtensor_spec import DTensorSpec
from .placement_types import Partial, Placement, Replicate, Shard, _NormPartial

__all__ = ["Call", "Strategy", "rule", "rule_of"]

R = Replicate()
P = Partial()


class Strategy(NamedTuple):
    """Placements of arguments and results with which an operation needs no communication."""

    inputs: tuple[Placement, ...]
    output: Placement
    """Placement of all results."""


@dataclass
class Call:
    """A call of an operation: the argument of the rules that choose placements."""

    name: str
    tensors: list[DTensorSpec]
    args: tuple[Any, ...]  # with a `DTensorSpec` in place of each tensor
    kwargs: dict[str, Any]
    shapes: list[tuple[int, ...]]  # global shapes of the results
    strides: list[tuple[int, ...]]  # global strides of the results
    count: Callable[[int], int]  # dimension of the first tensor -> number of shards, if this mesh dimension shards it

    def argument(self, name: str, default: Any = None) -> Any:
        """Return the argument with this name in the operation's schema, or its default value."""
        if name in self.kwargs:
            return self.kwargs[name]
        for schema in schemas(self.name):
            positional = [each for each in schema.arguments if not each.kwarg_only]
            place = next((i for i, each in enumerate(positional) if each.name == name), None)
            if place is not None and len(self.args) <= len(positional):
                return self.args[place] if place < len(self.args) else positional[place].default_value
        return default

    def takes(self, name: str) -> bool:
        """Whether the operation has an argument of that name."""
        return any(argument.name == name for schema in schemas(self.name) for argument in schema.arguments)

    def dims(self, value: Any, ndim: int | None = None) -> tuple[int, ...]:
        """Convert a `dim` argument (an integer, several, or None for all) to nonnegative dimensions."""
        ndim = len(self.tensors[0].shape) if ndim is None else ndim
        if value is None or value in ((), []):
            return tuple(range(ndim))
        return tuple(dim % max(ndim, 1) for dim in (value if isinstance(value, (tuple, list)) else (value,)))

    def even(self, dim: int) -> bool:
        """Whether a dimension of the first tensor can be sharded into equal parts."""
        return int(self.tensors[0].shape[dim]) % self.count(dim) == 0


Rule = Callable[[Call], list[Strategy]]
_rules: dict[str, Rule] = {}


def rule_of(name: str) -> Rule | None:
    """Return the rule registered for an operation, or the rule for its kind; None if neither exists."""
    facts = facts_of(name)
    return _rules.get(name) or (_rule_of_kind(facts) if facts is not None else None)


def _rule_of_kind(facts: Facts) -> Rule | None:
    if facts.kind is Kind.POINTWISE:
        return {Linearity.FIRST: quotients, Linearity.EACH: products, Linearity.JOINT: sums}.get(facts.linearity, pointwise)
    return _RULES_BY_KIND.get(facts.kind)


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Register a rule for operations."""

    def register(function: Rule) -> Rule:
        _rules.update(dict.fromkeys(names, function))
        return function

    return register


# --- elementwise operations ---------------------------------------------------------------------------------------------


def pointwise(call: Call) -> list[Strategy]:
    """Rule for elementwise operations: any dimension of the result may be sharded, with the corresponding dimensions of
    the arguments.
    """
    ndim = len(call.shapes[0])
    return [_aligned(call, dim, ndim) for dim in range(ndim)]


def _aligned(call: Call, dim: int, ndim: int) -> Strategy:
    inputs: list[Placement] = []
    for spec in call.tensors:
        own = dim - (ndim - len(spec.shape))
        inputs.append(Shard(own) if own >= 0 and spec.shape[own] == call.shapes[0][dim] else R)
    return Strategy(tuple(inputs), Shard(dim))


rule("zero", "ones_of", "soft_margin")(pointwise)


@rule("alias", "_to_copy", "copy", "with_tied_gradient")
def conversions(call: Call) -> list[Strategy]:
    """Rule for conversions of dtype, memory format or device."""
    if tuple(call.shapes[0]) != tuple(call.tensors[0].shape):
        return []
    return [*pointwise(call), *same_partial(call)]


def same_partial(call: Call) -> list[Strategy]:
    """Rule for operations that only move elements: `Partial` placements are kept."""
    return [Strategy((placement,) * len(call.tensors), placement) for placement in partials(call)]


def partials(call: Call) -> list[Placement]:
    found = {placement for spec in call.tensors for placement in spec.placements if type(placement) is Partial}
    return [P, *(placement for placement in found if placement != P)]


@rule("tied")
def sums(call: Call) -> list[Strategy]:
    """Rule for sums: `Partial` arguments give a `Partial` result."""
    if len(call.tensors) == len(call.args) == 1:
        return [*pointwise(call), *same_partial(call)]
    options = pointwise(call)
    if len(call.tensors) == len([value for value in call.args if value is not None]):  # no argument is a Python number
        options.append(Strategy((P,) * len(call.tensors), P))
        options.append(Strategy((Partial("avg"),) * len(call.tensors), Partial("avg")))
    return options


def products(call: Call) -> list[Strategy]:
    """Rule for products: a `Partial` and a replicated factor give a `Partial` result."""
    options = pointwise(call)
    for partial in (P, Partial("avg")):
        if len(call.tensors) == 1:
            options.append(Strategy((partial,), partial))
        else:
            options += [Strategy((partial, R), partial), Strategy((R, partial), partial)]
    return options


def quotients(call: Call) -> list[Strategy]:
    options = pointwise(call)
    if isinstance(call.args[0], DTensorSpec) and not call.kwargs.get("rounding_mode"):
        rest = (R,) * (len(call.tensors) - 1)
        options += [Strategy((partial, *rest), partial) for partial in (P, Partial("avg"))]
    return options


# --- reductions ------------------------------------------------------------------------------------------------------


def _position_after(dim: int, reduced: Sequence[int], keepdim: bool) -> int:
    """Return the index of a dimension after the dimensions `reduced` have been reduced."""
    return dim if keepdim else dim - sum(other < dim for other in reduced)


def reduction(call: Call, dims: Any, keepdim: bool, partial: Placement | None, even: bool = False) -> list[Strategy]:
    """Return strategies of a reduction: dimensions that are kept may be sharded. If `partial` is a placement that combines
    partial results, reduced dimensions may be sharded also.
    """
    reduced, options = call.dims(dims), []
    for dim, length in enumerate(call.tensors[0].shape):
        parts = call.count(dim)
        if dim not in reduced:
            options.append(Strategy((Shard(dim),), Shard(_position_after(dim, reduced, keepdim))))
        elif partial is not None and (call.even(dim) if even else length and -(-length // parts) * (parts - 1) < length):
            options.append(Strategy((Shard(dim),), partial))
    return options


_COMBINED = {"sum": "sum", "mean": "avg", "prod": "product", "amax": "max", "amin": "min", "nansum": "sum"}


def reductions(call: Call) -> list[Strategy]:
    """Rule for reductions: sharding a reduced dimension gives a `Partial` result if partial results can be combined."""
    op = _COMBINED.get(call.name)
    if len(call.tensors) != 1 or not (call.takes("dim") and call.takes("keepdim")):
        return []
    keepdim = bool(call.argument("keepdim", False))
    options = reduction(call, call.argument("dim"), keepdim, Partial(op) if op else None, op == "avg")
    if op in ("sum", "avg"):
        options += [Strategy((partial,), partial) for partial in (P, Partial("avg"))]
    return options


@rule("vector_norm")
def norms(call: Call) -> list[Strategy]:
    p = float(call.argument("p", 2))
    return reduction(call, call.argument("dim"), bool(call.argument("keepdim", False)), _NormPartial("sum", p))


def along_dimensions(call: Call) -> list[Strategy]:
    """Rule for operations along dimensions: all other dimensions may be sharded."""
    name = "dims" if call.takes("dims") else "dim"
    rank = len(call.tensors[0].shape)
    if len(call.tensors) != 1 or not call.takes(name) or any(len(shape) != rank for shape in call.shapes):
        return []
    used = call.dims(call.argument(name))
    return [Strategy((Shard(dim),), Shard(dim)) for dim in range(rank) if dim not in used]


@rule("tril", "triu")
def triangles(call: Call) -> list[Strategy]:
    return [*_batch_dims(len(call.tensors[0].shape) - 2, 1), Strategy((P,), P)]


def _batch_dims(count: int, tensors: int) -> list[Strategy]:
    return [Strategy((Shard(dim),) * tensors, Shard(dim)) for dim in range(count)]


# --- products of matrices ---------------------------------------------------------------------------------------------


@rule("mm", "bmm", "matmul")
def matrix_products(call: Call) -> list[Strategy]:
    a, b = (len(spec.shape) for spec in call.tensors)
    out = len(call.shapes[0])
    if a < 2 or b < 2:
        return [Strategy((P, R), P), Strategy((R, P), P)]
    options = [
        Strategy((Shard(a - 2), R), Shard(out - 2)),
        Strategy((R, Shard(b - 1)), Shard(out - 1)),
        Strategy((Shard(a - 1), Shard(b - 2)), P),
        Strategy((P, R), P),
        Strategy((R, P), P),
    ]
    return options + [_aligned(call, dim, out) for dim in range(out - 2)]


@rule("addmm", "linear")
def affine_maps(call: Call) -> list[Strategy]:
    """Rule for `linear(bias, input, weight)` and `addmm(bias, input, matrix)`, where the weight is the transposed matrix."""
    biased = isinstance(call.args[0], DTensorSpec)
    input = call.tensors[-2]
    last, inner, outer = len(input.shape) - 1, *((1, 0) if call.name == "linear" else (0, 1))
    bias = call.tensors[0] if biased else None

    def strategy(bias_dim: Placement, first: Placement, second: Placement, output: Placement) -> Strategy:
        return Strategy((bias_dim, first, second) if biased else (first, second), output)

    wide = bias is not None and len(bias.shape) > 1  # a bias of `addmm`: a matrix or a single row
    options = [
        strategy(Shard(dim) if bias is not None and wide and bias.shape[dim] > 1 else R, Shard(dim), R, Shard(dim))
        for dim in range(last)
    ]
    columns: Placement = R
    if bias is not None and bias.shape and bias.shape[-1] > 1:
        columns = Shard(len(bias.shape) - 1)
    return [
        *options,
        strategy(columns, R, Shard(outer), Shard(last)),
        strategy(P, Shard(last), Shard(inner), P),
        strategy(P, P, R, P),
    ]


@rule("fused_attention", "attention")
def attention(call: Call) -> list[Strategy]:
    rank = len(call.tensors[0].shape)
    alike = [spec for spec in call.tensors if len(spec.shape) == rank]
    options = []
    for dim in range(rank - 2):
        if all(spec.shape[dim] == alike[0].shape[dim] for spec in alike[:3]):
            placed = tuple(
                Shard(dim) if len(spec.shape) == rank and spec.shape[dim] == alike[0].shape[dim] else R for spec in call.tensors
            )
            options.append(Strategy(placed, Shard(dim)))
    return options


# --- layers ------------------------------------------------------------------------------------------------------------


@rule("layer_norm")
def normalizations(call: Call) -> list[Strategy]:
    """Rule for layer normalization: dimensions that are not normalized over may be sharded."""
    rank = len(call.tensors[0].shape)
    used = call.dims(call.args[5], rank)
    rest = (R,) * (len(call.tensors) - 1)
    return [Strategy((Shard(dim), *rest), Shard(dim)) for dim in range(rank) if dim not in used]


@rule("embedding")
def embeddings(call: Call) -> list[Strategy]:
    rank = len(call.tensors[1].shape)
    options = [Strategy((R, Shard(dim)), Shard(dim)) for dim in range(rank)]
    return [*options, Strategy((Shard(1), R), Shard(rank)), Strategy((Shard(0), R), P), Strategy((P, R), P)]


@rule("sum_rows")
def embedding_gradients(call: Call) -> list[Strategy]:
    rank = len(call.tensors[1].shape)
    options = [Strategy((Shard(dim), Shard(dim)), P) for dim in range(rank)]
    return [*options, Strategy((Shard(rank), R), Shard(1)), Strategy((P, R), P)]


def _reduction(call: Call) -> str:
    """Return the reduction of a loss: its first string argument, or the number that its operator takes."""
    number = call.argument("reduction", 1)
    words = (value for value in (*call.args, *call.kwargs.values()) if isinstance(value, str))
    return next(words, ("none", "mean", "sum")[number] if isinstance(number, int) else "mean")


@rule("mse_loss", "smooth_l1_loss", "huber_loss")
def losses(call: Call) -> list[Strategy]:
    reduction = _reduction(call)
    rank = len(call.tensors[0].shape)
    if reduction == "none":
        return pointwise(call)
    op = "avg" if reduction == "mean" else "sum"
    return [Strategy((Shard(dim), Shard(dim)), Partial(op)) for dim in range(rank) if reduction == "sum" or call.even(dim)]


@rule("nll_loss")
def likelihoods(call: Call) -> list[Strategy]:
    """Rule for `nll_loss`: classes may be sharded. Examples may be sharded unless the reduction is "mean", which would
    have to divide by the number of examples in all processes.
    """
    if len(call.tensors[0].shape) < 2:
        return []
    rest = (R,) * (len(call.tensors) - 2)
    options = [Strategy((Shard(1), R, *rest), P)]
    if _reduction(call) != "mean":
        options.append(Strategy((Shard(0), Shard(0), *rest), Shard(0) if call.shapes[0] else P))
    return options


@rule("convolution", "convolution_transposed")
def convolutions(call: Call) -> list[Strategy]:
    """Rule for convolutions: the batch dimension may be sharded."""
    return [Strategy((Shard(0), *(R,) * (len(call.tensors) - 1)), Shard(0))]


@rule("convolution_weight")
def convolution_gradients(call: Call) -> list[Strategy]:
    return [Strategy((Shard(0), Shard(0)), P)]


@rule("max_pool_indices", *(name.format(dims) for dims in "123" for name in ("max_pool{}d", "avg_pool{}d_windows")))
def poolings(call: Call) -> list[Strategy]:
    """Rule for pooling: the batch and channel dimensions may be sharded."""
    return [Strategy((Shard(dim),), Shard(dim)) for dim in (0, 1)]


def views(call: Call) -> list[Strategy]:
    """Rule for views: dimensions may be sharded if the result has one of the same length and stride; `Partial` is kept."""
    old, new = call.tensors[0], call.shapes[0]
    if len(call.tensors) != 1 or call.takes("stride") or any(shape != new for shape in call.shapes):
        return []
    if tuple(new) == tuple(old.shape) and tuple(call.strides[0]) == tuple(old.stride):
        places = {dim: dim for dim in range(len(new))}
    else:
        before, after = (list(zip(*each, strict=True)) for each in ((old.shape, old.stride), (new, call.strides[0])))
        alone = [each for each in before if before.count(each) == after.count(each) == 1 and each[0] > 1]
        places = {before.index(each): after.index(each) for each in alone}
    cut = call.argument("dimension")  # the dimension that `unfold` splits into windows
    return moved(call, {dim: place for dim, place in places.items() if cut is None or dim != cut % len(old.shape)})


def moved(call: Call, places: dict[int, int]) -> list[Strategy]:
    """Return strategies that shard dimension `dim` of the argument and `places[dim]` of the result, for each key `dim`, and
    strategies that keep `Partial` placements.
    """
    return [*(Strategy((Shard(old),), Shard(new)) for old, new in places.items()), *same_partial(call)]


_RULES_BY_KIND: dict[Kind, Rule] = {
    Kind.CONVERSION: conversions,
    Kind.LIKE: pointwise,
    Kind.MOVEMENT: along_dimensions,
    Kind.NORMALIZATION: along_dimensions,
    Kind.REDUCTION: reductions,
    Kind.SCAN: along_dimensions,
    Kind.SORTING: along_dimensions,
    Kind.VIEW: views,
}

"""Which placements an operation can be computed with, one dimension of the mesh at a time.

A rule gets a `Call` and returns `Strategy`s: the placements of its tensors, in the order of its arguments, and those of its
results, for which each process can compute by itself. That all hold everything is always one more. The dispatcher takes the
cheapest to come to. An operation without a rule is computed from whole tensors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ._dtensor_spec import DTensorSpec
from .placement_types import Partial, Placement, Replicate, Shard, _NormPartial

__all__ = ["RULES", "Call", "Strategy", "rule"]

R = Replicate()
P = Partial()


class Strategy(NamedTuple):
    """Placements for which each process can compute its part by itself."""

    inputs: tuple[Placement, ...]
    output: Placement
    """That of all results."""


@dataclass
class Call:
    """A call of an operation, as far as rules see it."""

    name: str
    tensors: list[DTensorSpec]
    args: tuple[Any, ...]  # tensors among them are `DTensorSpec`s
    kwargs: dict[str, Any]
    shapes: list[tuple[int, ...]]  # of the results
    count: Callable[[int], int]  # into how many parts one more split of a dimension of the first tensor leads to, in all

    def option(self, position: int, name: str, default: Any = None) -> Any:
        """An argument by position or by name."""
        return self.args[position] if len(self.args) > position else self.kwargs.get(name, default)

    def dims(self, value: Any, ndim: int | None = None) -> tuple[int, ...]:
        """Dimensions that are given as one, several or none (all of them), counted from 0."""
        ndim = len(self.tensors[0].shape) if ndim is None else ndim
        if value is None or value == ():
            return tuple(range(ndim))
        return tuple(dim % max(ndim, 1) for dim in (value if isinstance(value, (tuple, list)) else (value,)))

    def even(self, dim: int) -> bool:
        """Whether all parts of a dimension of the first tensor are equally long."""
        return int(self.tensors[0].shape[dim]) % self.count(dim) == 0


Rule = Callable[[Call], list[Strategy]]
RULES: dict[str, Rule] = {}


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Register a rule for operations."""

    def register(function: Rule) -> Rule:
        RULES.update(dict.fromkeys(names, function))
        return function

    return register


# --- element by element ---------------------------------------------------------------------------------------------

_LINEAR = (
    "neg", "clone", "copy", "detach", "alias", "_to_copy", "to_key", "contiguous", "real", "imag",
    "conj", "conj_view", "copied", "with_tied_gradient",
)  # fmt: skip
_LINEAR_IN_ALL = ("add", "sub", "tied")  # sums of parts are parts of the sum
_LINEAR_IN_EACH = ("mul",)  # parts of one times the whole of the other
_POINTWISE = (
    "abs", "sign", "sgn", "erf", "erfc", "sqrt", "rsqrt", "square", "reciprocal", "exp", "exp2", "expm1", "log", "log2",
    "log10", "log1p", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh",
    "floor", "ceil", "trunc", "frac", "round", "sigmoid", "relu", "isnan", "isinf", "isfinite", "signbit", "leaky_relu",
    "leaky_relu_backward", "prelu_kernel", "rrelu_with_noise", "elu", "hardtanh", "hardsigmoid", "hardswish",
    "threshold", "hard_shrink", "hardshrink", "softshrink", "silu", "mish", "softplus", "log_sigmoid", "gelu",
    "gelu_tanh", "eq", "ne", "lt", "le", "gt", "ge", "maximum", "minimum", "masked", "where", "clamp", "clamp_between",
    "clamp_min", "clamp_max", "logical_and", "logical_or", "logical_xor", "logical_not", "bitwise_and", "bitwise_or",
    "bitwise_xor", "bitwise_left_shift", "bitwise_right_shift", "bitwise_not", "floor_divide", "trunc_divide",
    "remainder", "fmod", "pow", "lerp", "lerp_scalar", "i0", "angle", "complex", "atan2", "hypot", "sinc", "copysign",
    "nextafter", "heaviside", "fmax", "fmin", "gcd", "lcm", "logaddexp", "logaddexp2", "xlogy", "logit", "lgamma",
    "digamma", "erfinv", "masked_fill", "addcmul", "addcdiv", "soft_margin_slope", "soft_margin", "bce_slope",
    "special_i0e", "special_i1", "special_i1e", "special_ndtr", "special_log_ndtr", "special_ndtri", "special_erfcx",
    "special_xlog1py", "polygamma_of", "igamma", "igammac", "special_zeta", "nan_to_num", "nan_to_num_of",
)  # fmt: skip
_LIKE = ("zeros_like", "ones_like", "full_like", "empty_like", "ones_of", "fill", "zero")  # for which only the shape counts


def pointwise(call: Call) -> list[Strategy]:
    """Any dimension of the result may be split, with it those of the arguments that it comes from."""
    ndim = len(call.shapes[0])
    return [_aligned(call, dim, ndim) for dim in range(ndim)]


def _aligned(call: Call, dim: int, ndim: int) -> Strategy:
    inputs: list[Placement] = []
    for spec in call.tensors:
        own = dim - (ndim - len(spec.shape))
        inputs.append(Shard(own) if own >= 0 and spec.shape[own] == call.shapes[0][dim] else R)
    return Strategy(tuple(inputs), Shard(dim))


rule(*_POINTWISE, *_LIKE)(pointwise)


@rule(*_LINEAR)
def linear_in_one(call: Call) -> list[Strategy]:
    return [*pointwise(call), *same_partial(call)]


def same_partial(call: Call) -> list[Strategy]:
    """Parts of a sum remain such; so do those of an extreme, for what only moves elements."""
    return [Strategy((placement,) * len(call.tensors), placement) for placement in partials(call)]


def partials(call: Call) -> list[Placement]:
    found = {placement for spec in call.tensors for placement in spec.placements if type(placement) is Partial}
    return [P, *(placement for placement in found if placement != P)]


@rule(*_LINEAR_IN_ALL)
def sums(call: Call) -> list[Strategy]:
    options = pointwise(call)
    if len(call.tensors) == len([value for value in call.args if value is not None]):  # a number would be added in each process
        options.append(Strategy((P,) * len(call.tensors), P))
        options.append(Strategy((Partial("avg"),) * len(call.tensors), Partial("avg")))
    return options


@rule(*_LINEAR_IN_EACH)
def products(call: Call) -> list[Strategy]:
    options = pointwise(call)
    for partial in (P, Partial("avg")):
        if len(call.tensors) == 1:
            options.append(Strategy((partial,), partial))
        else:
            options += [Strategy((partial, R), partial), Strategy((R, partial), partial)]
    return options


@rule("div")
def quotients(call: Call) -> list[Strategy]:
    options = pointwise(call)
    if isinstance(call.args[0], DTensorSpec) and not call.kwargs.get("rounding_mode"):
        rest = (R,) * (len(call.tensors) - 1)
        options += [Strategy((partial, *rest), partial) for partial in (P, Partial("avg"))]
    return options


# --- reductions ------------------------------------------------------------------------------------------------------


def _kept(dim: int, reduced: Sequence[int], keepdim: bool) -> int:
    """Where a dimension is once others have been reduced."""
    return dim if keepdim else dim - sum(other < dim for other in reduced)


def reduction(call: Call, dims: Any, keepdim: bool, partial: Placement | None, even: bool = False) -> list[Strategy]:
    """Dimensions that stay may be split; those that are reduced, too, where there is something to reduce parts with."""
    reduced, options = call.dims(dims), []
    for dim, length in enumerate(call.tensors[0].shape):
        parts = call.count(dim)
        if dim not in reduced:
            options.append(Strategy((Shard(dim),), Shard(_kept(dim, reduced, keepdim))))
        elif partial is not None and (call.even(dim) if even else length and -(-length // parts) * (parts - 1) < length):
            options.append(Strategy((Shard(dim),), partial))
    return options


_REDUCTIONS = {"sum": "sum", "mean": "avg", "prod": "product", "amax": "max", "amin": "min", "nansum": "sum"}


@rule(*_REDUCTIONS)
def reductions(call: Call) -> list[Strategy]:
    op = _REDUCTIONS[call.name]
    options = reduction(call, call.option(1, "dim"), bool(call.option(2, "keepdim", False)), Partial(op), op == "avg")
    if op in ("sum", "avg"):
        options += [Strategy((partial,), partial) for partial in (P, Partial("avg"))]
    return options


@rule("var", "std", "all", "any", "argmax", "argmin", "logsumexp")
def whole_reductions(call: Call) -> list[Strategy]:
    at = 3 if call.name in ("var", "std") else 2
    return reduction(call, call.option(1, "dim"), bool(call.option(at, "keepdim", False)), None)


@rule("max", "min", "median", "nanmedian", "mode", "kthvalue")
def extremes(call: Call) -> list[Strategy]:
    at = 2 if call.name == "kthvalue" else 1
    return reduction(call, call.option(at, "dim"), bool(call.option(at + 1, "keepdim", False)), None)


@rule("vector_norm")
def norms(call: Call) -> list[Strategy]:
    p = float(call.option(1, "p", 2))
    return reduction(call, call.option(2, "dim"), bool(call.option(3, "keepdim", False)), _NormPartial("sum", p))


@rule("softmax", "log_softmax", "cumsum", "cumprod", "logcumsumexp", "sort", "flip", "roll", "cummax", "cummin")
def along_dimensions(call: Call) -> list[Strategy]:
    at, name = (2, "dims") if call.name == "roll" else (1, "dims" if call.name == "flip" else "dim")
    used = call.dims(call.option(at, name, -1))
    return [Strategy((Shard(dim),), Shard(dim)) for dim in range(len(call.tensors[0].shape)) if dim not in used]


@rule("topk")
def largest(call: Call) -> list[Strategy]:
    used = call.dims(call.option(2, "dim", -1))
    return [Strategy((Shard(dim),), Shard(dim)) for dim in range(len(call.tensors[0].shape)) if dim not in used]


@rule("tril", "triu")
def of_matrices(call: Call) -> list[Strategy]:
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
    """`linear(bias, input, weight)`, where the weight is the matrix transposed, and `addmm(bias, input, matrix)`."""
    biased = isinstance(call.args[0], DTensorSpec)
    input = call.tensors[-2]
    last, inner, outer = len(input.shape) - 1, *((1, 0) if call.name == "linear" else (0, 1))
    bias = call.tensors[0] if biased else None

    def strategy(bias_dim: Placement, first: Placement, second: Placement, output: Placement) -> Strategy:
        return Strategy((bias_dim, first, second) if biased else (first, second), output)

    wide = bias is not None and len(bias.shape) > 1  # of addmm: a matrix, or one row of it
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
    """Examples may be split where each is normalized by itself."""
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


@rule("mse_loss", "smooth_l1_loss", "huber_loss")
def losses(call: Call) -> list[Strategy]:
    reduction = call.option(2, "reduction", "mean")
    rank = len(call.tensors[0].shape)
    if reduction == "none":
        return pointwise(call)
    op = "avg" if reduction == "mean" else "sum"
    return [Strategy((Shard(dim), Shard(dim)), Partial(op)) for dim in range(rank) if reduction == "sum" or call.even(dim)]


@rule("nll_loss")
def likelihoods(call: Call) -> list[Strategy]:
    """Examples may be split, unless the mean is asked for, which counts those of all processes; and so may classes."""
    if len(call.tensors[0].shape) < 2:
        return []
    rest = (R,) * (len(call.tensors) - 2)
    options = [Strategy((Shard(1), R, *rest), P)]
    if call.option(3, "reduction", "mean") != "mean":
        options.append(Strategy((Shard(0), Shard(0), *rest), Shard(0) if call.shapes[0] else P))
    return options


@rule("convolution", "convolution_transposed")
def convolutions(call: Call) -> list[Strategy]:
    """Examples may be split."""
    return [Strategy((Shard(0), *(R,) * (len(call.tensors) - 1)), Shard(0))]


@rule("convolution_weight")
def convolution_gradients(call: Call) -> list[Strategy]:
    return [Strategy((Shard(0), Shard(0)), P)]


@rule(
    "max_pool1d", "max_pool2d", "max_pool3d", "max_pool_indices", "avg_pool1d_windows", "avg_pool2d_windows", "avg_pool3d_windows"
)
def poolings(call: Call) -> list[Strategy]:
    """Examples and channels may be split."""
    return [Strategy((Shard(dim),), Shard(dim)) for dim in (0, 1)]

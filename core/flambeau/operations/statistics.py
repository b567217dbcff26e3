"""Statistics: quantiles, covariances, histograms, counts, and sums that skip NaN."""

from __future__ import annotations

import math
from typing import Any

from ..engine.calls.arguments import Number, as_python
from ..engine.calls.dispatch import require_data, require_dtype
from ..engine.calls.facts import Autocast, Kind
from ..engine.calls.named_results import make
from ..engine.calls.op import composite, op
from ..engine.calls.record import Out
from ..engine.calls.transform_hooks import one_by_one
from ..engine.tensors.tensor import Tensor
from ..engine.values import dtypes
from ..engine.values.scalars import converted, too_large
from .blocks import unravel_index
from .indexing.subscripts import sum_at
from .joining import cat, stack
from .reductions import aminmax_, axis_of, refuse_empty, spread
from .views.views import wrap_dim

_Histogram, _HistogramDD = (make(name, ("hist", "bin_edges")) for name in ("histogram", "histogramdd"))


# --- skipping NaN -------------------------------------------------------------------------------------------------


_nansum = op(
    "nansum", lambda xp, input, /, dim=None, keepdim=False, *, dtype=None:
        xp.sum(xp.where(input != input, xp.zeros_like(input), input), axis=axis_of(dim, input), keepdims=keepdim),
    kind=Kind.REDUCTION,
    promote="sum", public=False, method=False,
    input=lambda F, g, input, input_shape, dim, keepdim: F.masked(spread(F, g, input_shape, dim, keepdim), input == input),
    schema="nansum(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
)  # fmt: skip


@composite(out=Out.SETS_DTYPE | Out.UNCHECKED)
def nansum(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: dtypes.dtype | None = None) -> Tensor:
    """Return the sum of the elements that are not NaN.

    Args:
        dim: the dimensions to reduce, an int or a tuple; None for all.
        keepdim: whether the reduced dimensions are kept with length 1.
        dtype: the dtype of the result; None for that of `input`, or for int64 if it is an integer or bool dtype.

    Raises:
        RuntimeError: the dtype is complex.

    >>> torch.nansum(torch.tensor([1.0, torch.nan, 2.0]))
    tensor(3.)
    """
    if input.dtype.category == dtypes.COMPLEX:
        raise RuntimeError("nansum on CPU does not support complex inputs")
    if input.dtype.category != dtypes.FLOATING:
        return input.sum(dim, keepdim, dtype=dtype)
    return _nansum(input, dim, keepdim, dtype=dtype)


@composite(
    out=Out.UNCHECKED,
    kind=Kind.REDUCTION,
    schema="nanmean(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
)
def nanmean(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: dtypes.dtype | None = None) -> Tensor:
    """Return the mean of the elements that are not NaN.

    Args:
        dim: the dimensions to reduce, an int or a tuple; None for all.
        keepdim: whether the reduced dimensions are kept with length 1.
        dtype: the dtype in which elements are summed; None for that of `input`.

    Raises:
        RuntimeError: the dtype is complex, integer or bool.

    >>> torch.nanmean(torch.tensor([1.0, torch.nan, 2.0]))
    tensor(1.5000)
    """
    if input.dtype.category < dtypes.FLOATING:
        raise RuntimeError(f"nanmean(): expected input to have floating point or complex dtype but got {input.dtype.legacy_name}")
    count = (~input.isnan()).sum(dim, keepdim)
    return nansum(input, dim, keepdim, dtype=dtype) / count


def _nan_to_num_forward(xp: Any, input: Any, /, nan: float, posinf: float, neginf: float) -> Any:
    infinities = xp.where(input == math.inf, posinf, xp.where(input == -math.inf, neginf, input))
    return xp.where(input != input, nan, infinities)


_nan_to_num = op(
    "nan_to_num_of", _nan_to_num_forward,
    kind=Kind.POINTWISE, dtypes="inexact", public=False, method=False, grad_fn="NanToNumBackward0",
    operator="nan_to_num",
    input=lambda F, g, input: F.masked(g, F.abs(input) < math.inf),
)  # fmt: skip


@composite(
    inplace=True,
    out=Out.OWN_DTYPE,
    kind=Kind.POINTWISE,
    keeps_zero=True,
    schema="nan_to_num(Tensor self, float? nan=None, float? posinf=None, float? neginf=None) -> Tensor",
)
def nan_to_num(input: Tensor, nan: float | None = 0.0, posinf: float | None = None, neginf: float | None = None) -> Tensor:
    """Replace NaN, inf and -inf by the given numbers: by default, by 0, the largest and the smallest number of the dtype.

    Args:
        nan: the replacement of NaN; None for 0.
        posinf: the replacement of inf; None for the largest number of the dtype.
        neginf: the replacement of -inf; None for the smallest number of the dtype.

    >>> torch.nan_to_num(torch.tensor([torch.nan, torch.inf, 1.0]), posinf=9.0)
    tensor([0., 9., 1.])
    """
    if input.dtype.category < dtypes.FLOATING:
        return input.clone()
    limits = dtypes.finfo(input.dtype)
    numbers = [default if given is None else given for given, default in ((nan, 0.0), (posinf, limits.max), (neginf, limits.min))]
    # a value too large for the dtype becomes infinite
    return _nan_to_num(input, *(math.copysign(math.inf, value) if too_large(value, input.dtype) else value for value in numbers))


# --- extremes, counts ---------------------------------------------------------------------------------------------


@composite(out=Out.OWN_DTYPE, kind=Kind.REDUCTION)
def aminmax(input: Tensor, *, dim: int | None = None, keepdim: bool = False) -> Any:
    """Return the smallest and the largest of all elements, or of each slice over `dim`.

    Args:
        input: a tensor of a real dtype.
        dim: the dimension to reduce; None for all.
        keepdim: whether reduced dimensions are kept with size 1.
        out: tensors that the results are written to.

    Raises:
        IndexError: the reduced dimension is empty.

    >>> torch.aminmax(torch.tensor([1, -3, 5]))
    torch.return_types.aminmax(
    min=tensor(-3),
    max=tensor(5))
    """
    if input.is_complex() and dim is not None and not input.ndim:
        raise RuntimeError(f"aminmax not implemented for {input.dtype.legacy_name}")
    require_dtype("aminmax_cpu", input, "real")
    if dim is not None:
        dim = wrap_dim(dim, input.ndim)
    dims: Any = () if dim is None or not input.ndim else dim
    refuse_empty("aminmax", input, dims)
    return aminmax_(input, dims, keepdim)


@composite(
    kind=Kind.REDUCTION,
    single_operator=True,
    schema=("count_nonzero(Tensor self, int? dim=None) -> Tensor", "count_nonzero.dim_IntList(Tensor self, int[] dim) -> Tensor"),
)
def count_nonzero(input: Tensor, dim: Any = None) -> Tensor:
    """Return the number of nonzero elements.

    Args:
        input: a tensor of any shape.
        dim: the dimension or dimensions in which elements are counted; None for all.

    >>> torch.count_nonzero(torch.tensor([[0, 1], [2, 3]]), dim=0)
    tensor([1, 2])
    """
    return (input != 0).sum(dim)


@composite(kind=Kind.INDEXING, dynamic_shape=True)
def argwhere(input: Tensor) -> Tensor:
    """Return the indices of the nonzero elements, one per row."""
    indices: Tensor = input.nonzero()
    return indices


@composite(out=Out.OWN_DTYPE, kind=Kind.INDEXING)
def nonzero_static(input: Tensor, *, size: int, fill_value: int = -1) -> Tensor:
    """Return the first `size` rows of `nonzero`, padded with `fill_value`.

    Args:
        size: the number of rows of the result.
        fill_value: the indices in the rows that remain free.

    >>> torch.nonzero_static(torch.tensor([0, 5, 7]), size=3)
    tensor([[ 1],
            [ 2],
            [-1]])
    """
    from .creation.ranges import arange

    holds = (input != 0).reshape(-1)
    first = holds.logical_not().int().argsort(stable=True)[:size]
    output = input.new_full((size, input.ndim), fill_value, dtype=dtypes.int64)
    indices = stack(unravel_index(first, input.shape), -1) if input.ndim and input.numel() else output[: len(first)]
    within = arange(len(first), device=input.device) < holds.sum()
    return cat([indices.where(within.unsqueeze(-1), output[: len(first)]), output[len(first) :]])


_counts = op(
    "bincount",
    lambda xp, input, /, size: sum_at(xp, xp.ones_like(input), input, size),
    kind=Kind.REDUCTION,
    public=False,
    method=False,
    out=False,
)


@composite(kind=Kind.REDUCTION, dynamic_shape=True)
def bincount(input: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Tensor:
    """Count how often each non-negative integer occurs, or sum the weights of its occurrences.

    Args:
        input: a vector of non-negative integers.
        weights: a vector of the same length; its elements are summed instead of counted.  It gets no gradient.
        minlength: the smallest length of the result, which otherwise is the largest element plus 1.

    Raises:
        RuntimeError: `input` is not a vector or has a negative element, or the lengths differ.

    >>> torch.bincount(torch.tensor([1, 1, 3]))
    tensor([0, 2, 0, 1])
    """
    if input.dtype.category != dtypes.INTEGER:
        raise NotImplementedError(f"\"bincount_cpu\" not implemented for '{input.dtype.legacy_name}'")
    require_data("bincount", input)
    low, high = input._key.backend.extremes(input._array) if input.numel() else (0, -1)
    if input.ndim != 1 or low < 0:
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    if minlength < 0:
        raise RuntimeError("minlength should be >= 0")
    if not input.numel():
        return input.new_zeros(minlength, dtype=dtypes.int64)
    if weights is not None and weights.shape != input.shape:
        raise RuntimeError("weights should be 1-d and have the same length as input")
    size = max(minlength, int(high) + 1)
    if weights is None:
        return _counts(input.long(), size)
    weights = weights.detach() if weights.dtype is dtypes.float32 else weights.detach().double()
    return weights.new_zeros(size).index_add(0, input.long(), weights)


# --- histograms ---------------------------------------------------------------------------------------------------


@composite(out=Out.OWN_DTYPE | Out.UNCHECKED, kind=Kind.REDUCTION)
@one_by_one
def histc(input: Tensor, bins: int = 100, min: float = 0, max: float = 0) -> Tensor:
    """Count the elements in each of `bins` equal parts of `[min, max]`, or of the data's range if both are equal.

    Args:
        input: a floating-point tensor; elements outside of the range are not counted.
        bins: the number of bins.
        min, max: the bounds of the range. If they are equal, it is that of the elements; if these are also equal, it extends
            from 1 below to 1 above.
        out: a tensor that the result is written to.

    Raises:
        RuntimeError: the range is not finite, `min` exceeds `max`, or `bins` is not positive.

    >>> torch.histc(torch.tensor([1.0, 2.0, 1.0]), bins=4, min=0, max=3)
    tensor([0., 2., 1., 0.])
    """
    min, max = (converted(float(bound), input.dtype) for bound in (min, max))
    require_dtype("histogram_cpu", input, "floating")
    if not input._key.backend.has_data:
        return input.new_empty(bins)
    flat = input.detach().reshape(-1)
    of_data = min == max and flat.numel() > 0
    if of_data:
        min, max = float(flat.min()), float(flat.max())
    if not (math.isfinite(min) and math.isfinite(max)):
        raise RuntimeError(f"torch.histc: range of [{min:g}, {max:g}] is not finite")
    if bins <= 0:
        raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {bins} for dimension 0")
    if min == max:
        min, max = min - 1, max + 1
    if min > max:
        raise RuntimeError("torch.histc: max must be larger than min")
    inside = flat if of_data and math.isfinite(max - min) else flat[(flat >= min) & (flat <= max)]
    place = ((inside - min) / (max - min) * bins).floor().clamp(0, bins - 1).long()
    return bincount(place, minlength=bins).to(input.dtype)


@composite(out=Out.OWN_DTYPE, kind=Kind.REDUCTION)
@one_by_one
def histogram(
    input: Tensor, bins: int | Tensor = 100, *, range: Any = None, weight: Tensor | None = None, density: bool = False
) -> Any:
    """Return the counts in bins and the edges of the bins.

    Args:
        input: a tensor of dtype float32 or float64.
        bins: the number of bins, or a vector of their edges.
        range: the first and last edge if `bins` is a number; None for the smallest and largest element.
        weight: a tensor with the shape of `input`; its elements are summed instead of counted.
        density: whether the counts are divided by their sum and by the widths of the bins, so that they integrate to 1.
        out: tensors that the results are written to.

    >>> torch.histogram(torch.tensor([1.0, 2.0, 1.0]), bins=2, range=(0.0, 3.0))
    torch.return_types.histogram(
    hist=tensor([2., 1.]),
    bin_edges=tensor([0.0000, 1.5000, 3.0000]))
    """
    if weight is not None and weight.shape != input.shape:
        raise _wrong_weight((*input.shape, 1), weight)
    counts, edges = _histogram_dd(input.reshape(-1, 1), [bins], range, weight, density)
    return _Histogram((counts, edges[0]))


@composite(method=False, kind=Kind.REDUCTION)
@one_by_one
def histogramdd(input: Tensor, bins: Any, range: Any = None, weight: Tensor | None = None, density: bool = False) -> Any:
    """Return a histogram of points, and the edges of the bins in each dimension.

    Args:
        input: a tensor `(*, D)` of points, of dtype float32 or float64.
        bins: the number of bins in all dimensions, or for each dimension a number of bins or a vector of edges.
        range: the first and last edge of each dimension, `2 * D` numbers; None for the smallest and largest coordinates.
        weight: a tensor with the shape `input.shape[:-1]`; its elements are summed instead of counted.
        density: whether the counts are divided by their sum and by the volumes of the bins, so that they integrate to 1.

    >>> torch.histogramdd(torch.tensor([[0.0, 1.0], [1.0, 0.0], [1.0, 2.0]]), bins=2).hist
    tensor([[0., 1.],
            [1., 1.]])
    """
    if input.ndim < 2:
        raise RuntimeError("torch.histogramdd: input tensor should have at least 2 dimensions")
    axes = input.shape[-1]
    bins = [bins] * axes if type(bins) is int else bins
    if not isinstance(bins, (tuple, list)) or not all(isinstance(b, (int, Tensor)) for b in bins):
        raise TypeError("histogramdd(): argument 'bins' must be int, tuple of ints or tuple of Tensors")
    bins = [as_python(b) if isinstance(b, Tensor) and not b.ndim else b for b in bins]
    if len(bins) != axes:
        raise RuntimeError("histogramdd: The size of bins must be equal to the innermost dimension of the input.")
    if weight is not None and weight.shape != input.shape[:-1]:
        raise _wrong_weight(input.shape, weight)
    counts, edges = _histogram_dd(input.flatten(0, -2), bins, range, weight, density)
    return _HistogramDD((counts, tuple(edges)))


def _wrong_weight(shape: Any, weight: Tensor) -> RuntimeError:
    return RuntimeError(
        "torch.histogramdd: if weight tensor is provided it should have the same shape as the input tensor "
        f"excluding its innermost dimension, but got input with shape {list(shape)} and weight with shape "
        f"{list(weight.shape)}"
    )


def _histogram_dd(points: Tensor, bins: Any, range: Any, weight: Tensor | None, density: bool) -> tuple[Tensor, Any]:
    from .creation.ranges import linspace

    if points.dtype not in (dtypes.float32, dtypes.float64):
        raise NotImplementedError(f"\"histogramdd\" not implemented for '{points.dtype.legacy_name}'")
    if range is not None and len(range) != 2 * len(bins):
        raise RuntimeError(
            f"torch.histogramdd: for a {len(bins)}-dimensional histogram range should have {2 * len(bins)} "
            f"elements, but got {len(range)}"
        )
    if not bins:  # PyTorch counts no points in a space without dimensions
        counts = points.new_zeros(())
        return counts / counts if density else counts, []
    edges, places, inside = [], [], None
    for axis, spec in enumerate(bins):
        column = points[:, axis].contiguous()
        if isinstance(spec, Tensor):
            if spec.dtype is not points.dtype:
                raise RuntimeError(
                    "torch.histogramdd: input tensor and bins tensors should have the same dtype, but got input with dtype "
                    f"{dtypes.c_name(points.dtype)} and bins for dimension {axis} with dtype {dtypes.c_name(spec.dtype)}"
                )
            if spec.ndim != 1:
                raise RuntimeError(
                    f"torch.histogramdd: bins tensor should have one dimension, but got {spec.ndim} dimensions in the bins "
                    f"tensor for dimension {axis}"
                )
            edge = spec
        else:
            low, high = (
                range[2 * axis : 2 * axis + 2]
                if range is not None
                else (float(column.min()), float(column.max()))
                if len(column)
                else (0.0, 1.0)
            )
            if not (math.isfinite(low) and math.isfinite(high)):
                raise RuntimeError(f"torch.histogramdd: dimension {axis}'s range [{low:g}, {high:g}] is not finite")
            if low > high:
                raise RuntimeError(
                    f"torch.histogramdd: min should not exceed max, but got min {low:g} max {high:g} for dimension {axis}"
                )
            low, high = (low - 0.5, high + 0.5) if low == high else (low, high)
            if spec <= 0:
                raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {spec} for dimension {axis}")
            edge = linspace(low, high, spec + 1, dtype=points.dtype, device=points.device)
        from .sorting import searchsorted

        place = searchsorted(edge, column, right=True) - 1
        place = place - (column == edge[-1]).long()
        ok = (place >= 0) & (place < len(edge) - 1)
        inside = ok if inside is None else inside & ok
        edges.append(edge)
        places.append(place)
    shape = [len(edge) - 1 for edge in edges]
    flat = points.new_zeros(len(points), dtype=dtypes.int64)
    for place, size in zip(places, shape, strict=True):
        flat = flat * size + place
    weights = points.new_ones(len(points)) if weight is None else weight.reshape(-1)
    counts = points.new_zeros(math.prod(shape)).index_add(0, flat[inside], weights[inside]).reshape(shape)
    if density:
        volume = counts.new_ones(())
        for axis, edge in enumerate(edges):
            volume = volume.unsqueeze(-1) * edge.diff().reshape((1,) * axis + (-1,)) if axis else edge.diff()
        counts = counts / counts.sum() / volume
    return counts, edges


# --- quantiles ----------------------------------------------------------------------------------------------------

_INTERPOLATIONS = ("linear", "lower", "higher", "midpoint", "nearest")


def _quantile(name: str, input: Tensor, q: Any, dim: int | None, keepdim: bool, interpolation: str, skip_nan: bool) -> Tensor:
    from .creation.from_data import as_tensor

    if input.dtype not in (dtypes.float32, dtypes.float64):
        raise RuntimeError(f"{name}() input tensor must be either float or double dtype")
    if interpolation not in _INTERPOLATIONS:
        raise RuntimeError(
            f"{name}() interpolation must be one of linear, lower, higher, midpoint or nearest, but got {interpolation}"
        )
    quantiles = q if isinstance(q, Tensor) else as_tensor(float(q), dtype=input.dtype, device=input.device)
    if quantiles.ndim > 1:
        raise RuntimeError(f"{name}() q must be a scalar or 1D tensor")
    if quantiles.dtype is not input.dtype:
        raise RuntimeError(f"{name}() q tensor must be same dtype as the input tensor")
    low, high = quantiles._key.backend.extremes(quantiles._array) if quantiles.numel() else (0, 1)
    if quantiles._key.backend.has_data and not (low >= 0 and high <= 1):
        raise RuntimeError(f"{name}() q values must be in the range [0, 1]")
    if not input.numel():
        raise RuntimeError("quantile() input tensor must be non-empty")
    if dim is not None:
        dim = wrap_dim(dim, input.ndim)
    rows = input.reshape(-1) if dim is None or not input.ndim else input.movedim(dim, -1)
    ordered = rows.sort(-1)[0]
    missing = rows.detach().isnan().sum(-1, keepdim=True)
    last = (rows.shape[-1] - 1 - (missing if skip_nan else missing * 0)).clamp(min=0)
    rank = quantiles.reshape(-1) * last
    if not skip_nan:
        rank = last.to(rank.dtype).where(missing > 0, rank)  # NaN is sorted last
    result = _at_ranks(ordered, rank, interpolation)
    if dim is None and keepdim:
        result = result.reshape(-1, *((1,) * input.ndim))
    else:
        result = result.movedim(-1, 0)
        if keepdim and dim is not None and input.ndim:
            result = result.unsqueeze(wrap_dim(dim, input.ndim) + 1)
    return result if quantiles.ndim else result.squeeze(0)


def _at_ranks(ordered: Tensor, rank: Tensor, interpolation: str) -> Tensor:
    if interpolation == "nearest":
        return ordered.gather(-1, rank.round().long())
    low, high = rank.floor(), rank.ceil()
    below, above = ordered.gather(-1, low.long()), ordered.gather(-1, high.long())
    if interpolation in ("lower", "higher"):
        return below if interpolation == "lower" else above
    return below.lerp(above, rank - low if interpolation == "linear" else (rank - low) * 0 + 0.5)


@composite(
    out=Out.OWN_DTYPE | Out.ROW_MAJOR | Out.RECORDED | Out.UNCHECKED, kind=Kind.REDUCTION, autocast={"cpu": Autocast.FLOAT32}
)
def quantile(
    input: Tensor, q: Tensor | Number, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear"
) -> Tensor:
    """Return the `q`-quantiles of all elements, or over `dim`.

    For a vector `q`, the result has an additional first dimension, with one quantile for each element of `q`.

    Args:
        q: one or several probabilities in [0, 1], a number or a tensor with the dtype of `input`.
        dim: the dimension to reduce; None for all, as one vector.
        keepdim: whether the reduced dimensions are kept with length 1.
        interpolation: the value between two elements `a < b`: "linear", "lower" (`a`), "higher" (`b`), "midpoint" (`(a + b) / 2`)
            or "nearest".

    >>> torch.quantile(torch.tensor([0.0, 1.0, 2.0, 3.0]), torch.tensor([0.25, 0.5]))
    tensor([0.7500, 1.5000])
    """
    return _quantile("quantile", input, q, dim, keepdim, interpolation, skip_nan=False)


@composite(
    out=Out.OWN_DTYPE | Out.ROW_MAJOR | Out.RECORDED | Out.UNCHECKED, kind=Kind.REDUCTION, autocast={"cpu": Autocast.FLOAT32}
)
def nanquantile(
    input: Tensor, q: Tensor | Number, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear"
) -> Tensor:
    """Return the `q`-quantiles of the elements that are not NaN.

    Args:
        q: one or several probabilities in [0, 1], a number or a tensor with the dtype of `input`.
        dim: the dimension to reduce; None for all, as one vector.
        keepdim: whether the reduced dimensions are kept with length 1.
        interpolation: "linear", "lower", "higher", "midpoint" or "nearest", as for `quantile`.

    >>> torch.nanquantile(torch.tensor([0.0, torch.nan, 1.0]), 0.5)
    tensor(0.5000)
    """
    return _quantile("nanquantile", input, q, dim, keepdim, interpolation, skip_nan=True)


# --- covariance ---------------------------------------------------------------------------------------------------


@composite(kind=Kind.REDUCTION)
def cov(input: Tensor, *, correction: int = 1, fweights: Tensor | None = None, aweights: Tensor | None = None) -> Tensor:
    """Return the covariance matrix of variables (rows) from observations (columns).

    Args:
        input: a matrix, a vector of observations of one variable, or a 0-d tensor.
        correction: the number of degrees of freedom subtracted from the number of observations: 1 for the unbiased estimate.
        fweights: an integer vector with the number of times that each observation occurred.
        aweights: a floating-point vector with the weights of the observations.

    Raises:
        RuntimeError: `input` has more than two dimensions or dtype bool, or the weights have another length or dtype or are
            negative.

    >>> torch.cov(torch.tensor([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]]))
    tensor([[ 1., -1.],
            [-1.,  1.]])
    """
    if input.ndim > 2:
        raise RuntimeError(f"cov(): expected input to have two or fewer dimensions but got an input with {input.ndim} dimensions")
    if input.dtype is dtypes.bool_:
        raise RuntimeError("cov(): bool dtype is not supported for input")
    if aweights is not None and aweights.dtype.category != dtypes.FLOATING:
        raise RuntimeError(
            f"cov(): expected aweights to have floating point dtype but got aweights with {aweights.dtype.legacy_name} dtype"
        )
    for name, weight in (("fweights", fweights), ("aweights", aweights)):
        if weight is not None and weight.ndim > 1:
            raise RuntimeError(
                f"cov(): expected {name} to have one or fewer dimensions but got {name} with {weight.ndim} dimensions"
            )
    if fweights is not None and fweights.dtype.category != dtypes.INTEGER:
        raise RuntimeError(
            f"cov(): expected fweights to have integral dtype but got fweights with {fweights.dtype.legacy_name} dtype"
        )
    x = input.reshape(1, -1) if input.ndim < 2 else input
    for name, weight in (("fweights", fweights), ("aweights", aweights)):
        if weight is not None and weight.numel() != x.shape[1]:
            raise RuntimeError(
                f"cov(): expected {name} to have the same numel as there are observations in the input but got "
                f"{weight.numel()} != {x.shape[1]}"
            )
        if weight is not None and weight.numel() and weight._key.backend.extremes(weight._array)[0] < 0:
            raise RuntimeError(f"cov(): {name} cannot be negative")
    if x.dtype.category < dtypes.FLOATING:
        x = x.to(dtypes.get_default_dtype())
    weights = fweights if aweights is None else aweights if fweights is None else fweights * aweights
    count: Any = x.shape[1]
    if weights is None:
        mean, total = x.mean(1, keepdim=True), count
        divisor = count - correction
    else:
        total = weights.sum()
        mean = (x * weights).sum(1, keepdim=True) / total
        divisor = total - correction * ((weights * aweights).sum() / total if aweights is not None else 1)
    centred = x - mean
    product = (centred if weights is None else centred * weights) @ centred.t().conj()
    result = product / (divisor.clamp(min=0) if isinstance(divisor, Tensor) else max(divisor, 0))
    return result.squeeze()


@composite(kind=Kind.REDUCTION)
def corrcoef(input: Tensor) -> Tensor:
    """Return the correlation matrix of variables (rows) from observations (columns)."""
    c = cov(input)
    if not c.ndim:
        return c / c
    deviation = c.diagonal().real.sqrt() if c.is_complex() else c.diagonal().sqrt()
    return (c / deviation.unsqueeze(1) / deviation).clamp(-1, 1) if not c.is_complex() else c / deviation.unsqueeze(1) / deviation

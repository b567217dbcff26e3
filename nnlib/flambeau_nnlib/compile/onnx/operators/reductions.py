"""ONNX translations of reductions, sorting and matrix products."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import flambeau as torch

from ...export._tracing import TensorSpec
from .._builder import Builder, Value
from ._table import translates
from .shapes import transpose

_CPU = torch.device("cpu")


def _axes(b: Builder, dims: Any) -> Value | None:
    if dims is None or (isinstance(dims, (list, tuple)) and not dims):
        return None
    return b.ints([dims] if isinstance(dims, int) else list(dims))


def reduce(b: Builder, kind: str, x: Value, dims: Any, keepdim: bool, like: Any = None) -> Value:
    """Add an ONNX reduction node."""
    return b.op(kind, x, _axes(b, dims), keepdims=int(bool(keepdim)), like=like)


@translates("sum", "mean", "prod", "amax", "amin", "logsumexp")
def reduction(b: Builder, x: Value, dims: Any = None, keepdim: bool = False, **kwargs: Any) -> Value:
    """Translate `sum`, `mean`, `prod`, `amax`, `amin` and `logsumexp`."""
    assert b.node is not None
    kinds = {"sum": "Sum", "mean": "Mean", "prod": "Prod", "amax": "Max", "amin": "Min", "logsumexp": "LogSumExp"}
    return reduce(b, "Reduce" + kinds[str(b.node.target).split(".")[1]], b.cast(x, b.result_dtype), dims, keepdim)


@translates("max", "min")
def max_or_min(b: Builder, x: Value, dim: Any = None, keepdim: bool = False) -> Any:
    """Translate `max` and `min`, of two tensors, of all elements, or along a dimension with indices."""
    assert b.node is not None
    name = "Max" if "max" in str(b.node.target) else "Min"
    if isinstance(dim, Value):
        return b.op(name, b.cast(x, b.result_dtype), b.cast(dim, b.result_dtype))
    values = reduce(b, f"Reduce{name}", x, dim, keepdim)
    if dim is None:
        return values
    return values, _places(b, name, x, dim, keepdim)


def _places(b: Builder, name: str, x: Value, dim: int, keepdim: bool) -> Value:
    spec = TensorSpec((1,) * (x.rank if keepdim else x.rank - 1), torch.int64, _CPU)
    return b.op(f"Arg{name}", x, axis=dim, keepdims=int(keepdim), like=spec)


@translates("argmax", "argmin")
def argmax(b: Builder, x: Value, dim: int | None = None, keepdim: bool = False) -> Value:
    """Translate `argmax` and `argmin`."""
    assert b.node is not None
    name = "Max" if "argmax" in str(b.node.target) else "Min"
    if dim is None:
        flat = b.op("Reshape", x, b.ints([-1]), like=TensorSpec((1,), x.dtype, _CPU))
        return _places(b, name, flat, 0, False)
    return b.op(f"Arg{name}", x, axis=dim, keepdims=int(keepdim))


@translates("any", "all")
def any_or_all(b: Builder, x: Value, dims: Any = None, keepdim: bool = False) -> Value:
    """Translate `any` and `all`."""
    assert b.node is not None
    kind = "ReduceMax" if "any" in str(b.node.target) else "ReduceMin"
    x = b.cast(b.cast(x, torch.bool), torch.int32)
    return b.cast(reduce(b, kind, x, dims, keepdim, like=TensorSpec((), torch.int32, _CPU)), torch.bool)


@translates("var", "std")
def var_or_std(
    b: Builder, x: Value, dims: Any = None, unbiased: Any = True, keepdim: bool = False, *, correction: Any = None
) -> Value:
    """Translate variance and standard deviation."""
    assert b.node is not None
    if isinstance(dims, bool):
        dims, unbiased = None, dims
    correction = int(bool(unbiased)) if correction is None else correction
    dims = list(range(x.rank)) if dims is None else [dims] if isinstance(dims, int) else list(dims)
    centered = b.op("Sub", x, reduce(b, "ReduceMean", x, dims, True, like=x), like=x)
    total = reduce(b, "ReduceSum", b.op("Mul", centered, centered, like=x), dims, keepdim)
    count: Any = None
    for dim in dims:
        size = b.cast(b.cast(b.size(x, dim), torch.int64), x.dtype)
        count = size if count is None else b.op("Mul", count, size, like=size)
    variance = b.op("Div", total, b.op("Sub", count, b.constant(correction, x.dtype), like=count))
    return b.op("Sqrt", variance) if "std" in str(b.node.target) else variance


@translates("norm", "linalg_vector_norm", "linalg_norm")
def norm(b: Builder, x: Value, p: Any = 2, dims: Any = None, keepdim: bool = False, **kwargs: Any) -> Value:
    """Translate vector norms."""
    dims, keepdim = kwargs.get("dim", dims), kwargs.get("keepdim", keepdim)
    p = 2 if p is None or p == "fro" else kwargs.get("p", p)
    if p in (1, 2):
        return reduce(b, f"ReduceL{int(p)}", x, dims, keepdim)
    magnitude = b.op("Abs", x, like=x)
    if p in (float("inf"), float("-inf")):
        return reduce(b, "ReduceMax" if p > 0 else "ReduceMin", magnitude, dims, keepdim)
    total = reduce(b, "ReduceSum", b.op("Pow", magnitude, b.constant(p, x.dtype), like=x), dims, keepdim)
    return b.op("Pow", total, b.constant(1 / p, x.dtype))


@translates("cumsum")
def cumsum(b: Builder, x: Value, dim: int, **kwargs: Any) -> Value:
    """Translate cumulative sums."""
    return b.op("CumSum", b.cast(x, b.result_dtype), b.constant(dim))


@translates("topk")
def topk(b: Builder, x: Value, k: Any, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    """Translate `topk`."""
    return b.op_with_outputs("TopK", x, b.ints([k]), outputs=2, axis=dim, largest=int(largest), sorted=1)


@translates("sort", "argsort")
def sort(b: Builder, x: Value, dim: int = -1, descending: bool = False, **kwargs: Any) -> Any:
    """Translate `sort` and `argsort`."""
    assert b.node is not None
    if "stable" in str(b.node.target) and isinstance(dim, bool):
        dim = -1
    found = b.op_with_outputs("TopK", x, b.ints([b.size(x, dim)]), outputs=2, axis=dim, largest=int(descending), sorted=1)
    return found[1] if "argsort" in str(b.node.target) else found


# --- products ---


@translates("matmul", "mm", "bmm", "mv", "dot", "inner_vectors")
def matmul(b: Builder, x: Value, y: Value) -> Value:
    """Translate matrix products."""
    return b.op("MatMul", x, y)


@translates("linear")
def linear(b: Builder, x: Value, weight: Value, bias: Value | None = None) -> Value:
    """Translate `x @ weight.T + bias`."""
    if x.rank == 2 and bias is not None:
        return b.op("Gemm", x, weight, bias, transB=1)
    if weight.array is not None:
        spec = TensorSpec(tuple(weight.shape)[::-1], weight.dtype, _CPU)
        transposed = b.initializers.get(f"{weight.name}.T") or b.weight(f"{weight.name}.T", weight.array.T, spec)
    else:
        transposed = transpose(b, weight, 0, -1, like=weight)
    product = b.op("MatMul", x, transposed)
    return product if bias is None else b.op("Add", product, bias)


@translates("addmm", "baddbmm", "addmv", "addbmm")
def addmm(b: Builder, x: Value, left: Value, right: Value, *, beta: Any = 1, alpha: Any = 1) -> Value:
    """Translate `beta * x + alpha * (left @ right)`."""
    product = b.op("MatMul", left, right)
    if alpha != 1:
        product = b.op("Mul", product, b.constant(alpha, b.result_dtype))
    if beta != 1:
        x = b.op("Mul", x, b.constant(beta, b.result_dtype))
    return b.op("Add", x, product)


@translates("outer")
def outer(b: Builder, x: Value, y: Value) -> Value:
    """Translate the outer product."""
    return b.op("Mul", b.op("Unsqueeze", x, b.ints([1])), y)


@translates("einsum")
def einsum(b: Builder, equation: str, operands: Sequence[Value]) -> Value:
    """Translate `einsum`."""
    return b.op("Einsum", *operands, equation=equation.replace(" ", ""))

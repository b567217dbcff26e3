"""Products of vectors, matrices and batches of them."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

from ..engine.calls.arguments import Number
from ..engine.calls.dispatch import require_factor, result_dtype
from ..engine.calls.facts import Autocast, Kind, Linearity, Narrow
from ..engine.calls.inplace import assign, check_writable, snapshot
from ..engine.calls.op import composite, op
from ..engine.calls.overriding import DIRECT, may_override, offer_operand
from ..engine.calls.record import Out
from ..engine.calls.wrappers import checked
from ..engine.devices.warning import warn_of_old
from ..engine.tape.node import rename_node
from ..engine.tape.tensor_class import RECORDED
from ..engine.tensors.tensor import Tensor, attach
from ..engine.values import dtypes
from ..engine.values.scalars import converted
from .joining import cat, stack
from .views.views import reshaped_copy

# The operations that `_product` defines multiply single matrices, and batches of equal size: public functions broadcast first.


def _product(name: str) -> Callable[..., Tensor]:
    return op(
        name,
        lambda xp, input, mat2: xp.matmul(input, mat2),
        narrow=Narrow.SIGNED_FLOAT8 if name == "mm" else Narrow.NONE,
        promote="product",
        dtypes="numbers",
        public=False,
        method=False,
        own_arguments=True,
        input=lambda F, g, mat2: F.mm(g, F.mH_(mat2)),
        mat2=lambda F, g, input: F.mm(F.mH_(input), g),
    )


unchecked_mm, unchecked_bmm = _product("mm"), _product("bmm")


def _mH_forward(xp: Any, input: Any) -> Any:
    transposed = xp.matrix_transpose(input)
    return xp.conj(transposed) if xp.isdtype(input.dtype, "complex floating") else transposed


op(
    "mH_", _mH_forward,
    kind=Kind.VIEW, public=False, method=False, out=False, operator="adjoint",
    input=lambda F, g: F.mH_(g),
)  # fmt: skip

_addmm = op(
    "addmm", lambda xp, bias, input, mat2: xp.matmul(input, mat2) + bias,
    kind=Kind.PRODUCT, narrow=Narrow.SIGNED_FLOAT8, autocast=Autocast.FAST, promote="product", dtypes="numbers",
    public=False, method=False,
    bias=lambda F, g: g,
    input=lambda F, g, mat2: F.mm(g, F.mH_(mat2)),
    mat2=lambda F, g, input: F.mm(F.mH_(input), g),
)  # fmt: skip


@composite(
    out=Out.OWN_DTYPE | Out.UNCHECKED,
    kind=Kind.PRODUCT,
    linearity=Linearity.EACH,
    narrow=Narrow.SIGNED_FLOAT8,
    autocast=Autocast.FAST,
)
def mm(input: Tensor, mat2: Tensor) -> Tensor:
    """Multiply two matrices, `(n, m) @ (m, p) -> (n, p)`.

    Args:
        mat2: a matrix `(m, p)`.

    Raises:
        RuntimeError: an argument is not a matrix, or the inner sizes differ.

    >>> torch.mm(torch.ones(2, 3), torch.ones(3, 1))
    tensor([[3.],
            [3.]])
    """
    if input.ndim != 2:
        raise RuntimeError("self must be a matrix")
    if mat2.ndim != 2:
        raise RuntimeError("mat2 must be a matrix")
    _check_inner(input, mat2)
    return unchecked_mm(input, mat2)


def _check_inner(input: Tensor, other: Tensor) -> None:
    a, b = input._array.shape, other._array.shape
    if a[-1] != b[-2]:
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({a[-2]}x{a[-1]} and {b[-2]}x{b[-1]})")


@composite(out=Out.OWN_DTYPE | Out.UNCHECKED, kind=Kind.PRODUCT, linearity=Linearity.EACH, autocast=Autocast.FAST)
def bmm(input: Tensor, mat2: Tensor) -> Tensor:
    """Multiply two batches of matrices, `(b, n, m) @ (b, m, p) -> (b, n, p)`.

    Args:
        input: a tensor `(b, n, m)`.
        mat2: a tensor `(b, m, p)`; batches are not broadcast, unlike in `matmul`.
        out: a tensor that the result is written to.

    Raises:
        RuntimeError: the shapes do not fit.

    >>> torch.bmm(torch.ones(10, 3, 4), torch.ones(10, 4, 5)).shape
    torch.Size([10, 3, 5])
    """
    for name, batch in (("batch1", input), ("batch2", mat2)):
        if batch.ndim != 3:
            raise RuntimeError(f"{name} must be a 3D tensor")
    a, b = input._array.shape, mat2._array.shape
    if a[0] != b[0] or a[2] != b[1]:
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: [{a[0]}, {a[2]}] but got: [{b[0]}, {b[1]}]."
        )
    return unchecked_bmm(input, mat2)


@composite(
    out=Out.OWN_DTYPE | Out.UNCHECKED,
    grad_fn="MvBackward0",
    kind=Kind.PRODUCT,
    linearity=Linearity.EACH,
    autocast={"cpu": Autocast.WHOLE, "cuda": Autocast.FAST},
)
def mv(input: Tensor, vec: Tensor) -> Tensor:
    """Multiply a matrix and a vector, `(n, m) @ (m,) -> (n,)`.

    Args:
        vec: a vector `(m,)`.

    Raises:
        RuntimeError: `input` is not a matrix, `vec` is not a vector, or their sizes do not match.

    >>> torch.mv(torch.ones(2, 3), torch.ones(3))
    tensor([3., 3.])
    """
    if input.ndim != 2 or vec.ndim != 1:
        raise RuntimeError(f"vector + matrix @ vector expected, got 1, {input.ndim}, {vec.ndim}")
    if input._array.shape[1] != vec._array.shape[0]:
        n, m = input._array.shape
        raise RuntimeError(f"size mismatch, got input ({n}), mat ({n}x{m}), vec ({vec._array.shape[0]})")
    return unchecked_mm(input, vec.unsqueeze(1)).squeeze(1)


@composite(
    out=Out.OWN_DTYPE | Out.UNCHECKED,
    grad_fn="DotBackward0",
    kind=Kind.PRODUCT,
    linearity=Linearity.EACH,
    autocast={"cpu": Autocast.WHOLE, "cuda": Autocast.WIDEST},
)
def dot(input: Tensor, tensor: Tensor) -> Tensor:
    """Return the inner product of two vectors of the same length, without conjugation.

    Args:
        input: a vector.
        tensor: a vector with the length and dtype of `input`.
        out: a tensor that the result is written to.

    Raises:
        RuntimeError: the arguments are not vectors of one length and one dtype.

    >>> torch.dot(torch.tensor([2, 3]), torch.tensor([2, 1]))
    tensor(7)
    """
    if input.ndim != 1 or tensor.ndim != 1:
        raise RuntimeError(f"1D tensors expected, but got {input.ndim}D and {tensor.ndim}D tensors")
    if input.dtype is not tensor.dtype:
        raise RuntimeError(
            f"dot : expected both vectors to have same dtype, but found {input.dtype.legacy_name} and {tensor.dtype.legacy_name}"
        )
    if input.shape != tensor.shape:
        raise RuntimeError(
            f"inconsistent tensor size, expected tensor [{len(input)}] and src [{len(tensor)}] to have the same "
            f"number of elements, but got {len(input)} and {len(tensor)} elements respectively"
        )
    return unchecked_mm(input.unsqueeze(0), tensor.unsqueeze(1)).reshape(())


@composite(
    out=Out.OWN_DTYPE | Out.UNCHECKED,
    grad_fn="VdotBackward0",
    kind=Kind.PRODUCT,
    linearity=Linearity.EACH,
    autocast={"cpu": Autocast.WHOLE, "cuda": Autocast.WIDEST},
)
def vdot(input: Tensor, other: Tensor) -> Tensor:
    """Return the inner product of two vectors, with the first conjugated.

    Args:
        other: a vector with the length and the dtype of `input`.

    Raises:
        RuntimeError: an argument is not a vector, or the lengths or dtypes differ.

    >>> torch.vdot(torch.tensor([1j, 2]), torch.tensor([1j, 1]))
    tensor(3.+0.j)
    """
    return dot(input.conj(), other)


@composite(out=True, aliases=("ger",), kind=Kind.PRODUCT, linearity=Linearity.EACH)
def outer(input: Tensor, vec2: Tensor) -> Tensor:
    """Return the outer product of two vectors, `(n,), (m,) -> (n, m)`.

    Args:
        input: a vector `(n,)`.
        vec2: a vector `(m,)`.
        out: a tensor that the result is written to.

    Raises:
        RuntimeError: an argument is not a vector.

    >>> torch.outer(torch.tensor([1, 2]), torch.tensor([1, 10, 100]))
    tensor([[  1,  10, 100],
            [  2,  20, 200]])
    """
    if input.ndim != 1 or vec2.ndim != 1:
        wrong = input if input.ndim != 1 else vec2
        raise RuntimeError(f"outer: Expected 1-D argument {'self' if input.ndim != 1 else 'vec2'}, but got {wrong.ndim}-D")
    return input.unsqueeze(1) * vec2


@composite(
    out=Out.OWN_DTYPE | Out.UNCHECKED,
    kind=Kind.PRODUCT,
    linearity=Linearity.EACH,
    autocast=Autocast.FAST,
    operators=("__matmul__", "__rmatmul__"),
)
def matmul(input: Tensor, other: Tensor) -> Tensor:
    """Return the product of vectors, matrices or batches of matrices, depending on the numbers of dimensions.

    Args:
        other: a vector, a matrix `(m, p)`, or matrices `(*, m, p)`. Batch dimensions are broadcast.

    Raises:
        RuntimeError: the inner sizes differ, or an argument is a 0-d tensor.

    >>> torch.matmul(torch.ones(3, 4, 5), torch.ones(5, 2)).shape
    torch.Size([3, 4, 2])
    """
    n, m = input._array.ndim, other._array.ndim
    if n == 2 and m == 2:
        if input._array.shape[1] != other._array.shape[0]:
            _check_inner(input, other)
        return unchecked_mm(input, other)
    if n == 0 or m == 0:
        raise RuntimeError(f"both arguments to matmul need to be at least 1D, but they are {n}D and {m}D")
    if n == 1 and m == 1:
        return dot(input, other)
    if n == 1:
        product = matmul(input.unsqueeze(0), other).squeeze(-2)
        return rename_node(product, "SqueezeBackward4" if m == 2 else "UnsafeViewBackward0")
    if m == 1:
        return mv(input, other) if n == 2 else rename_node(matmul(input, other.unsqueeze(1)).squeeze(-1), "UnsafeViewBackward0")
    _check_inner(input, other)
    if m == 2:  # one large product is faster than a batch of small ones
        shape = input._array.shape
        product = unchecked_mm(input.reshape(prod(shape[:-1]), shape[-1]), other)
        return reshaped_copy(product, (*shape[:-1], other._array.shape[1]))  # no copy is made, as the product is contiguous
    return _batched(input, other)


def _batched(input: Tensor, other: Tensor) -> Tensor:
    from ..engine.calls.dispatch import common_shape

    batch = common_shape(input._array.shape[:-2], other._array.shape[:-2])
    if input._array.shape[:-2] != batch:
        input = input.expand(*batch, *input._array.shape[-2:])
    if other._array.shape[:-2] != batch:
        other = other.expand(*batch, *other._array.shape[-2:])
    return rename_node(unchecked_bmm(input, other), "UnsafeViewBackward0")


_without_out: Any = matmul.__wrapped__  # type: ignore[attr-defined]  # the operator has no `out=`


def __matmul__(self: Tensor, other: Any) -> Tensor:
    if isinstance(other, Tensor) and (type(other) in DIRECT or not may_override((other,))):
        return _without_out(self, other)  # type: ignore[no-any-return]  # an override may return anything
    return offer_operand("__matmul__", self, other)  # type: ignore[no-any-return]  # an override may return anything


def __rmatmul__(self: Tensor, other: Any) -> Tensor:
    if isinstance(self, Tensor) and isinstance(other, Tensor):
        return matmul(other, self)
    return offer_operand("__rmatmul__", self, other)  # type: ignore[no-any-return]  # an override may return anything


__matmul__.__name__ = "matmul"  # the name of the function that `__torch_function__` receives
attach(__matmul__=__matmul__, __rmatmul__=__rmatmul__)


# --- multiply and add ---------------------------------------------------------------------------------------------


def _from_legacy_arguments(name: str, arguments: tuple[Any, ...], alpha: Any) -> tuple[Any, Any, Any, Any, Any]:
    """Convert legacy arguments `(beta, input, alpha, a, b)` or `(beta, input, a, b)` to `(input, a, b, beta, alpha)`."""
    if len(arguments) > 5:
        raise TypeError(f"{name}() takes 3 positional arguments but {len(arguments)} were given")
    warn_of_old(name, f"{'mat, vec' if name == 'addmv' else 'first, second'}, *, beta=1, alpha=1")
    (beta, input), (*scale, first, second) = (
        reversed(arguments[:2]) if isinstance(arguments[0], Tensor) else arguments[:2],
        arguments[2:],
    )
    return input, first, second, beta, scale[0] if scale else alpha


def check_expands(input: Tensor, shape: tuple[int, ...]) -> None:
    """Raise an error unless the tensor can be expanded to `shape`, the shape of the product that it is added to."""
    input_shape = input._array.shape
    if input_shape != shape and (
        len(input_shape) > len(shape)
        or any(n not in (1, size) for n, size in zip(reversed(input_shape), reversed(shape), strict=False))
    ):
        raise RuntimeError(
            f"The expanded size of the tensor {list(shape)} must match the existing size {list(input_shape)} at "
            "non-singleton dimensions."
        )


def _add_product(input: Tensor, multiply: Callable[..., Tensor], first: Tensor, second: Tensor, beta: Any, alpha: Any) -> Tensor:
    if input.dtype in dtypes.HALF and input.dtype is first.dtype is second.dtype:  # round only the final result
        return _add_product(input.float(), multiply, first.float(), second.float(), beta, alpha).to(input.dtype)
    product = multiply(first, second)
    if multiply is not outer and input.dtype is not product.dtype:
        raise RuntimeError(
            f"self and mat2 must have the same dtype, but got {input.dtype.legacy_name} and {product.dtype.legacy_name}"
        )
    common = dtypes.promote_types(input.dtype, product.dtype)
    beta, alpha = converted(beta, common), converted(alpha, common)
    check_expands(input, product._array.shape)
    scaled = product if alpha == 1 else product * alpha
    if beta == 0:  # with `beta` 0, NaN in the input is ignored
        return scaled
    return (input if beta == 1 else input * beta) + scaled


@composite(
    inplace=True, out=Out.OWN_DTYPE | Out.UNCHECKED, grad_fn="AddmmBackward0", single_operator=True, may_share=("mat1", "mat2")
)
def addmm(input: Tensor, mat1: Tensor, mat2: Tensor, *legacy: Any, beta: Number = 1, alpha: Number = 1) -> Tensor:
    """Return `beta * input + alpha * mat1 @ mat2`.

    Args:
        input: a tensor that can be expanded to `(n, p)`.
        mat1: a matrix `(n, m)`.
        mat2: a matrix `(m, p)`.
        *legacy: used by the deprecated call `addmm(beta, input, alpha, mat1, mat2)`.
        beta: the factor of `input`; with 0, NaN in `input` is ignored.
        alpha: the factor of the product.
        out: a tensor that the result is written to.

    Raises:
        RuntimeError: the shapes do not fit, or the dtypes differ.

    >>> torch.addmm(torch.ones(2), torch.eye(2), torch.eye(2), alpha=3)
    tensor([[4., 1.],
            [1., 4.]])
    """
    if legacy:
        input, mat1, mat2, beta, alpha = _from_legacy_arguments("addmm", (input, mat1, mat2, *legacy), alpha)
    if beta == 1 and alpha == 1 and mat1.ndim == 2 and mat2.ndim == 2 and input.ndim <= 2:
        _check_inner(mat1, mat2)
        check_expands(input, (mat1._array.shape[0], mat2._array.shape[1]))
        return _addmm(input, mat1, mat2)
    return _add_product(input, mm, mat1, mat2, beta, alpha)


@composite(
    inplace=True,
    out=Out.OWN_DTYPE,
    grad_fn="AddmvBackward0",
    single_operator=True,
    kind=Kind.PRODUCT,
    may_share=("mat", "vec"),
    autocast={"cpu": Autocast.WHOLE, "cuda": Autocast.FAST},
)
def addmv(input: Tensor, mat: Tensor, vec: Tensor, *legacy: Any, beta: Number = 1, alpha: Number = 1) -> Tensor:
    """Return `beta * input + alpha * mat @ vec`.

    Args:
        input: a tensor that can be expanded to `(n,)`.
        mat: a matrix `(n, m)`.
        vec: a vector `(m,)`.
        *legacy: used by the deprecated call `addmv(beta, input, alpha, mat, vec)`.
        beta: the factor of `input`; with 0, NaN in `input` is ignored.
        alpha: the factor of the product.
        out: a tensor that the result is written to.

    Raises:
        RuntimeError: the shapes do not fit, or the dtypes differ.

    >>> torch.addmv(torch.ones(2), torch.eye(2), torch.tensor([1.0, 2.0]), alpha=3)
    tensor([4., 7.])
    """
    if legacy:
        input, mat, vec, beta, alpha = _from_legacy_arguments("addmv", (input, mat, vec, *legacy), alpha)
    return _add_product(input, mv, mat, vec, beta, alpha)


@composite(
    inplace=True,
    out=True,
    grad_fn="AddrBackward0",
    single_operator=True,
    kind=Kind.PRODUCT,
    autocast={"cpu": Autocast.WHOLE, "cuda": Autocast.FAST},
)
def addr(input: Tensor, vec1: Tensor, vec2: Tensor, *legacy: Any, beta: Number = 1, alpha: Number = 1) -> Tensor:
    """Return `beta * input + alpha * outer(vec1, vec2)`.

    Args:
        input: a tensor that can be expanded to `(n, m)`.
        vec1: a vector `(n,)`.
        vec2: a vector `(m,)`.
        *legacy: used by the deprecated call `addr(beta, input, alpha, vec1, vec2)`.
        beta: the factor of `input`; with 0, NaN in `input` is ignored.
        alpha: the factor of the outer product.
        out: a tensor that the result is written to.

    Raises:
        RuntimeError: the shapes do not fit.

    >>> torch.addr(torch.zeros(2, 2), torch.tensor([1.0, 2.0]), torch.tensor([1.0, 10.0]))
    tensor([[ 1., 10.],
            [ 2., 20.]])
    """
    if legacy:
        input, vec1, vec2, beta, alpha = _from_legacy_arguments("addr", (input, vec1, vec2, *legacy), alpha)
    common = result_dtype((input, vec1, vec2))
    require_factor("beta", beta, common)
    require_factor("alpha", alpha, common)
    return _add_product(input.to(common), outer, vec1.to(common), vec2.to(common), beta, alpha)


@composite(
    inplace=True, out=Out.OWN_DTYPE, grad_fn="BaddbmmBackward0", single_operator=True, kind=Kind.PRODUCT, autocast=Autocast.FAST,
    may_share=("batch1", "batch2"),
)  # fmt: skip
def baddbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *legacy: Any, beta: Number = 1, alpha: Number = 1) -> Tensor:
    """Return `beta * input + alpha * batch1 @ batch2`, batch by batch.

    Args:
        input: a tensor that can be expanded to `(b, n, p)`.
        batch1: a batch of matrices `(b, n, m)`.
        batch2: a batch of matrices `(b, m, p)`.
        *legacy: used by the deprecated call `baddbmm(beta, input, alpha, batch1, batch2)`.
        beta: the factor of `input`; with 0, NaN in `input` is ignored.
        alpha: the factor of the product.
        out: a tensor that the result is written to.

    Raises:
        RuntimeError: the shapes do not fit, or the dtypes differ.

    >>> torch.baddbmm(torch.ones(1), torch.ones(2, 1, 3), torch.ones(2, 3, 1)).shape
    torch.Size([2, 1, 1])
    """
    if legacy:
        input, batch1, batch2, beta, alpha = _from_legacy_arguments("baddbmm", (input, batch1, batch2, *legacy), alpha)
    return _add_product(input, bmm, batch1, batch2, beta, alpha)


@composite(out=Out.OWN_DTYPE, grad_fn="AddbmmBackward0", single_operator=True, kind=Kind.PRODUCT, autocast=Autocast.FAST)
def addbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *legacy: Any, beta: Number = 1, alpha: Number = 1) -> Tensor:
    """Return `beta * input + alpha * (batch1 @ batch2).sum(0)`.

    Args:
        input: a tensor that can be expanded to `(n, p)`.
        batch1: a batch of matrices `(b, n, m)`.
        batch2: a batch of matrices `(b, m, p)`.
        *legacy: used by the deprecated call `addbmm(beta, input, alpha, batch1, batch2)`.
        beta: the factor of `input`; with 0, NaN in `input` is ignored.
        alpha: the factor of the product.
        out: a tensor that the result is written to.

    Raises:
        RuntimeError: the shapes do not fit, or the dtypes differ.

    >>> torch.addbmm(torch.zeros(1, 1), torch.ones(3, 1, 2), torch.ones(3, 2, 1))
    tensor([[6.]])
    """
    if legacy:
        input, batch1, batch2, beta, alpha = _from_legacy_arguments("addbmm", (input, batch1, batch2, *legacy), alpha)
    return _add_product(input, lambda a, b: bmm(a, b).sum(0, dtype=a.dtype), batch1, batch2, beta, alpha)


@composite(method=False, kind=Kind.PRODUCT)
def _scaled_mm(
    input: Tensor,
    mat2: Tensor,
    scale_a: Tensor,
    scale_b: Tensor,
    bias: Tensor | None = None,
    scale_result: Tensor | None = None,
    out_dtype: Any = None,
    use_fast_accum: bool = False,
) -> Tensor:
    """Return `(scale_a * input) @ (scale_b * mat2) + bias` for 8-bit floating-point matrices, computed in float32.

    Args:
        input, mat2: matrices of an 8-bit floating-point dtype.
        scale_a, scale_b: float32 tensors with one element, or one for each row of `input` and each column of `mat2`.
        bias: a vector with one element for each column of the result.
        scale_result, use_fast_accum: ignored.
        out_dtype: the dtype of the result, by default that of `input`.

    Raises:
        RuntimeError: the shapes of the matrices do not fit.
        ValueError: the matrices or the scales have other dtypes or shapes.

    Example:
        >>> x = torch.eye(2).to(torch.float8_e4m3fn)
        >>> torch._scaled_mm(x, x.t(), torch.tensor(2.0), torch.tensor(3.0), out_dtype=torch.float32)
        tensor([[6., 0.],
                [0., 6.]])
    """
    for name, matrix in (("mat1", input), ("mat2", mat2)):
        if matrix.ndim != 2:
            raise RuntimeError(f"{name} must be a matrix")
    if input.shape[1] != mat2.shape[0]:
        shapes = " and ".join("x".join(map(str, matrix.shape)) for matrix in (input, mat2))
        raise RuntimeError(f"mat_a and mat_b shapes cannot be multiplied ({shapes})")
    by_rows = scale_a.shape == (input.shape[0], 1) and scale_b.shape == (1, mat2.shape[1])
    of_float8 = input.dtype in dtypes.FLOAT8 and mat2.dtype in dtypes.FLOAT8
    if not of_float8 or not (by_rows or scale_a.numel() == scale_b.numel() == 1):
        raise ValueError(
            "Invalid scaling configuration.\n- For TensorWise scaling, a and b should be float8, scales should be float and "
            "singletons.\n- For RowWise scaling, a and b should be float8, scales should be float, of shapes "
            f"({input.shape[0]}, 1) and (1, {mat2.shape[1]}).\nGot a.dtype()={input.dtype}, "
            f"scale_a.size()={list(scale_a.shape)}, b.dtype()={mat2.dtype}, scale_b.size()={list(scale_b.shape)}"
        )
    result = mm(input.float() * scale_a, mat2.float() * scale_b)
    return (result if bias is None else result + bias.float()).to(out_dtype or input.dtype)


def _addbmm_(self: Tensor, batch1: Any, batch2: Any, *legacy: Any, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """In-place form of `addbmm`; `self` is resized if its shape is not that of the result.

    Args:
        batch1: a batch of matrices `(b, n, m)`.
        batch2: a batch of matrices `(b, m, p)`.
        *legacy: used by the deprecated call `addbmm_(beta, alpha, batch1, batch2)`.
        beta: the factor of `self`.
        alpha: the factor of the sum of the products.
    """
    check_writable(self)
    result = addbmm(snapshot(self), batch1, batch2, *legacy, beta=beta, alpha=alpha)
    return assign(self if result._array.shape == self._array.shape else self.resize_(result.shape), result)


_addbmm_.__name__ = "addbmm_"
attach(addbmm_=checked(_addbmm_))

# --- grouped products ---------------------------------------------------------------------------------------------


@composite(method=False, grad_fn="GroupedMmBackward0", kind=Kind.PRODUCT)
def _grouped_mm(
    input: Tensor,
    mat2: Tensor,
    offs: Tensor | None = None,
    bias: Tensor | None = None,
    out_dtype: dtypes.dtype | None = None,
) -> Tensor:
    """Multiply groups of rows or columns; `offs` contains the end of each group.  See `torch.nn.functional.grouped_mm`."""
    for name, matrix in (("mat_a", input), ("mat_b", mat2)):
        if matrix.dtype not in (dtypes.float32, *dtypes.HALF):
            raise RuntimeError(f"Expected {name} to be Float32, BFloat16 or Float16 matrix, got {matrix.dtype.legacy_name}")
        if matrix.ndim not in (2, 3):
            raise RuntimeError(f"{name} has to be 2 or 3d")
    if input.dtype is not mat2.dtype:
        raise RuntimeError(f"expected m1 and m2 to have the same dtype, but got: {input.dtype.name} != {mat2.dtype.name}")
    if input.shape[-1] != mat2.shape[-2]:
        raise RuntimeError("contraction dimension of mat_a and mat_b must match")
    if (offs is None) != (input.ndim == mat2.ndim == 3):
        raise RuntimeError("Have to provide offsets if there is a 2d matrix, or no offset if both matrices are 3d")
    if bias is not None:
        raise RuntimeError("Bias not supported yet")
    if out_dtype is not None and out_dtype is not input.dtype:
        raise RuntimeError("Grouped gemm output dtype must match `mat_a` dtype")
    if offs is None:
        if input.shape[0] != mat2.shape[0]:
            raise RuntimeError("batched dimension has to match")
        return unchecked_bmm(input, mat2)
    return _multiply_groups(input, mat2, offs)


def _multiply_groups(input: Tensor, mat2: Tensor, offs: Tensor) -> Tensor:
    """Multiply group by group; at least one operand is 2-d.  Rows or columns of the result after the last group are zeros."""
    if offs.ndim != 1:
        raise RuntimeError("offs has to be 1D")
    if offs.dtype is not dtypes.int32:
        raise RuntimeError("Offsets have to be int32")
    if any(matrix.ndim == 3 and matrix.shape[0] != offs.shape[0] for matrix in (input, mat2)):
        raise RuntimeError("matrix batch sizes have to match")
    length = input.shape[0] if mat2.ndim == 3 else mat2.shape[1] if input.ndim == 3 else input.shape[1]
    ends = [int(end) for end in offs.tolist()]
    sizes = [end - begin for begin, end in zip([0, *ends], [*ends, length], strict=True)]
    if any(size < 0 for size in sizes):
        raise RuntimeError(f"grouped_mm: the offsets {ends} do not divide a dimension of {length} elements")
    if mat2.ndim == 3:
        *groups, rest = input.split(sizes)
        products = [unchecked_mm(group, matrix) for group, matrix in zip(groups, mat2.unbind(), strict=True)]
        return cat([*products, rest.new_zeros(rest.shape[0], mat2.shape[2])])
    if input.ndim == 3:
        *groups, rest = mat2.split(sizes, 1)
        products = [unchecked_mm(matrix, group) for matrix, group in zip(input.unbind(), groups, strict=True)]
        return cat([*products, rest.new_zeros(input.shape[1], rest.shape[1])], 1)
    pairs = zip(input.split(sizes, 1)[:-1], mat2.split(sizes)[:-1], strict=True)
    return stack([unchecked_mm(left, right) for left, right in pairs])


RECORDED.mm = unchecked_mm  # in derivative rules, `F.mm` also multiplies batches

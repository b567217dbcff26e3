"""Written by `python -m flambeau.cli.stubs`."""
# ruff: noqa: E501

from builtins import bool as _bool
from builtins import complex as _complex
from builtins import float as _float
from builtins import int as _int
from collections.abc import Sequence
from typing import Any, overload

from . import return_types
from .engine.devices.devices import device as _device
from .engine.tensors.tensor import Tensor
from .engine.values.constants import layout as _layout
from .engine.values.constants import memory_format as _memory_format
from .engine.values.dtypes import dtype as _dtype
from .random import Generator
from .storage import TypedStorage

__all__ = [  # noqa: RUF022
    "_grouped_mm", "_sample_dirichlet", "_scaled_mm", "_standard_gamma", "abs", "abs_", "absolute", "acos", "acos_",
    "acosh", "acosh_", "adaptive_avg_pool1d", "adaptive_max_pool1d", "add", "addbmm", "addcdiv", "addcmul", "addmm",
    "addmv", "addmv_", "addr", "adjoint", "all", "allclose", "alpha_dropout", "alpha_dropout_", "amax", "amin",
    "aminmax", "angle", "any", "arange", "arccos", "arccos_", "arccosh", "arccosh_", "arcsin", "arcsin_", "arcsinh",
    "arcsinh_", "arctan", "arctan2", "arctan_", "arctanh", "arctanh_", "argmax", "argmin", "argsort", "argwhere",
    "as_strided", "as_strided_", "as_strided_scatter", "as_tensor", "asarray", "asin", "asin_", "asinh", "asinh_",
    "atan", "atan2", "atan_", "atanh", "atanh_", "atleast_1d", "atleast_2d", "atleast_3d", "avg_pool1d", "baddbmm",
    "bartlett_window", "batch_norm", "bernoulli", "bilinear", "binary_cross_entropy_with_logits", "bincount",
    "binomial", "bitwise_and", "bitwise_left_shift", "bitwise_not", "bitwise_or", "bitwise_right_shift", "bitwise_xor",
    "blackman_window", "block_diag", "bmm", "broadcast_tensors", "broadcast_to", "btrifact", "btrisolve", "bucketize",
    "cartesian_prod", "cat", "cdist", "ceil", "ceil_", "celu", "celu_", "chain_matmul", "channel_shuffle", "cholesky",
    "cholesky_inverse", "cholesky_solve", "chunk", "clamp", "clamp_", "clamp_max", "clamp_max_", "clamp_min",
    "clamp_min_", "clip", "clip_", "clone", "column_stack", "combinations", "complex", "concat", "concatenate", "conj",
    "conj_physical", "conj_physical_", "constant_pad_nd", "conv1d", "conv2d", "conv3d", "conv_tbc", "conv_transpose1d",
    "conv_transpose2d", "conv_transpose3d", "convolution", "copysign", "corrcoef", "cos", "cos_", "cosh", "cosh_",
    "cosine_similarity", "count_nonzero", "cov", "cross", "ctc_loss", "cummax", "cummin", "cumprod", "cumsum",
    "cumulative_trapezoid", "deg2rad", "deg2rad_", "det", "detach", "detach_", "diag", "diag_embed", "diagflat",
    "diagonal", "diagonal_scatter", "diff", "digamma", "dist", "div", "divide", "dot", "dropout", "dropout_", "dsplit",
    "dstack", "eig", "einsum", "embedding", "embedding_bag", "embedding_renorm_", "empty", "empty_like",
    "empty_permuted", "empty_strided", "eq", "equal", "erf", "erf_", "erfc", "erfc_", "erfinv", "exp", "exp2", "exp2_",
    "exp_", "expand_as", "expm1", "expm1_", "eye", "fake_quantize_per_channel_affine",
    "fake_quantize_per_tensor_affine", "feature_alpha_dropout", "feature_alpha_dropout_", "feature_dropout",
    "feature_dropout_", "fill", "fill_", "fix", "fix_", "flatten", "flip", "fliplr", "flipud", "float_power", "floor",
    "floor_", "floor_divide", "fmax", "fmin", "fmod", "frac", "frac_", "frexp", "frobenius_norm", "from_dlpack",
    "from_file", "from_numpy", "frombuffer", "full", "full_like", "gather", "gcd", "gcd_", "ge", "gels", "geqrf", "ger",
    "get_device", "gradient", "greater", "greater_equal", "group_norm", "gt", "hamming_window", "hann_window",
    "hardshrink", "hash_tensor", "heaviside", "histc", "histogram", "histogramdd", "hsplit", "hstack", "hypot", "i0",
    "i0_", "igamma", "igammac", "imag", "index_add", "index_copy", "index_fill", "index_put", "index_put_",
    "index_reduce", "index_select", "inner", "instance_norm", "inverse", "is_complex", "is_conj", "is_distributed",
    "is_floating_point", "is_inference", "is_neg", "is_nonzero", "is_same_size", "is_signed", "isclose", "isfinite",
    "isin", "isinf", "isnan", "isneginf", "isposinf", "isreal", "istft", "kaiser_window", "kron", "kthvalue",
    "layer_norm", "lcm", "lcm_", "ldexp", "ldexp_", "le", "lerp", "less", "less_equal", "lgamma", "linspace", "lobpcg",
    "log", "log10", "log10_", "log1p", "log1p_", "log2", "log2_", "log_", "log_softmax", "logaddexp", "logaddexp2",
    "logcumsumexp", "logdet", "logical_and", "logical_not", "logical_or", "logical_xor", "logit", "logit_", "logspace",
    "logsumexp", "lstsq", "lt", "lu", "lu_solve", "lu_unpack", "masked_fill", "masked_scatter", "masked_select",
    "matmul", "matrix_exp", "matrix_power", "matrix_rank", "max", "max_pool1d", "max_pool1d_with_indices", "max_pool2d",
    "max_pool3d", "maximum", "mean", "median", "meshgrid", "min", "minimum", "mm", "mode", "moveaxis", "movedim",
    "msort", "mul", "multinomial", "multiply", "mv", "mvlgamma", "nan_to_num", "nan_to_num_", "nanmean", "nanmedian",
    "nanquantile", "nansum", "narrow", "narrow_copy", "ne", "neg", "neg_", "negative", "negative_", "nextafter",
    "nonzero", "nonzero_static", "norm", "norm_except_dim", "normal", "not_equal", "nuclear_norm", "numel", "ones",
    "ones_like", "orgqr", "ormqr", "outer", "pairwise_distance", "pca_lowrank", "pdist", "permute", "pinverse",
    "pixel_shuffle", "pixel_unshuffle", "poisson", "polar", "polygamma", "positive", "pow", "prelu", "prod", "put",
    "qr", "quantile", "rad2deg", "rad2deg_", "rand", "rand_like", "randint", "randint_like", "randn", "randn_like",
    "randperm", "range", "ravel", "real", "reciprocal", "reciprocal_", "relu", "relu_", "remainder", "renorm",
    "repeat_interleave", "reshape", "reshape_as", "resize_as_", "resolve_conj", "resolve_neg", "result_type",
    "rms_norm", "roll", "rot90", "round", "round_", "row_stack", "rrelu", "rrelu_", "rsqrt", "rsqrt_", "rsub",
    "scalar_tensor", "scatter", "scatter_add", "scatter_reduce", "searchsorted", "segment_reduce", "select",
    "select_scatter", "selu", "selu_", "sgn", "sigmoid", "sigmoid_", "sign", "signbit", "sin", "sin_", "sinc", "sinc_",
    "sinh", "sinh_", "slice_inverse", "slice_scatter", "slogdet", "softmax", "solve", "sort", "split",
    "split_with_sizes", "sqrt", "sqrt_", "square", "square_", "squeeze", "stack", "std", "std_mean", "stft", "sub",
    "subtract", "sum", "sum_to_size", "svd", "svd_lowrank", "swapaxes", "swapdims", "symeig", "t", "take",
    "take_along_dim", "tan", "tan_", "tanh", "tanh_", "tensor", "tensor_split", "tensordot", "threshold", "threshold_",
    "tile", "topk", "trace", "transpose", "trapezoid", "trapz", "triangular_solve", "tril", "tril_indices", "triu",
    "triu_indices", "true_divide", "trunc", "trunc_", "unbind", "unflatten", "unique", "unique_consecutive",
    "unravel_index", "unsafe_chunk", "unsafe_split", "unsafe_split_with_sizes", "unsqueeze", "vander", "var",
    "var_mean", "vdot", "view_as", "view_as_complex", "view_as_real", "vsplit", "vstack", "where", "xlogy", "xlogy_",
    "zero_", "zeros", "zeros_like", "BFloat16Tensor", "BoolTensor", "ByteTensor", "CharTensor", "ComplexDoubleTensor",
    "ComplexFloatTensor", "DoubleTensor", "FloatTensor", "HalfTensor", "IntTensor", "LongTensor", "ShortTensor",
    "BFloat16Storage", "BoolStorage", "ByteStorage", "CharStorage", "ComplexDoubleStorage", "ComplexFloatStorage",
    "DoubleStorage", "FloatStorage", "HalfStorage", "IntStorage", "LongStorage", "ShortStorage", "UInt16Storage",
    "UInt32Storage", "UInt64Storage",
]  # fmt: skip

def _grouped_mm(input: Tensor, mat2: Tensor, offs: Tensor | None = ..., bias: Tensor | None = ..., out_dtype: _dtype | None = ...) -> Tensor:
    """Multiply groups of rows or columns; `offs` contains the end of each group.  See `torch.nn.functional.grouped_mm`."""
def _sample_dirichlet(input: Tensor, generator: Generator | None = ...) -> Tensor:
    """Draw vectors from the Dirichlet distributions with the concentrations `input`."""
def _scaled_mm(input: Tensor, mat2: Tensor, scale_a: Tensor, scale_b: Tensor, bias: Tensor | None = ..., scale_result: Tensor | None = ..., out_dtype: Any = ..., use_fast_accum: _bool = ...) -> Tensor:
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
def _standard_gamma(input: Tensor, generator: Generator | None = ...) -> Tensor:
    """Draw numbers from the gamma distributions with the shape parameters `input` and rate 1."""
def abs(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the absolute value, which is the modulus of a complex number."""
def abs_(input: Tensor) -> Tensor:
    """In-place form of `abs`."""
def absolute(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the absolute value, which is the modulus of a complex number."""
def acos(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the inverse cosine, in radians."""
def acos_(input: Tensor) -> Tensor:
    """In-place form of `acos`."""
def acosh(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the inverse hyperbolic cosine."""
def acosh_(input: Tensor) -> Tensor:
    """In-place form of `acosh`."""
def adaptive_avg_pool1d(input: Tensor, output_size: _int | Sequence[_int]) -> Tensor:
    """Return the means of `output_size` windows of nearly equal length over a sequence; see `nn.AdaptiveAvgPool1d`.

    Args:
        input: a tensor `(N, C, L)` or `(C, L)`.
        output_size: the number of windows.

    Shape:
        The result is `(N, C, output_size)` or `(C, output_size)`.

    Example:
        >>> torch.adaptive_avg_pool1d(torch.tensor([[1.0, 2.0, 3.0, 4.0]]), 2)
        tensor([[1.5000, 3.5000]])
    """
def adaptive_max_pool1d(input: Tensor, output_size: _int | Sequence[_int]) -> tuple[Tensor, Tensor]:
    """Return the maximum of each of `output_size` windows of a sequence, and its index.

    Args:
        input: a tensor `(N, C, L)` or `(C, L)`.
        output_size: the number of windows.

    >>> torch.adaptive_max_pool1d(torch.tensor([[1.0, 3.0, 2.0, 4.0]]), 2)
    (tensor([[3., 4.]]), tensor([[1, 3]]))
    """
def add(input: Tensor, other: Tensor | _int | _float | _complex, alpha: Tensor | _int | _float | _complex = ..., *, out: Tensor | None = ...) -> Tensor:
    """`input + alpha * other`, element by element, broadcast.

    Args:
        input: a tensor, or a number if `other` is a tensor.
        other: a tensor that can be broadcast with `input`, or a number.
        alpha: the factor of `other`; an integer if the result is an integer tensor.
        out: a tensor that the result is written to.

    >>> torch.add(torch.ones(2), torch.ones(2), alpha=10)
    tensor([11., 11.])
    """
def addbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Tensor | _int | _float | _complex = ..., alpha: Tensor | _int | _float | _complex = ..., out: Tensor | None = ...) -> Tensor:
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
def addcdiv(input: Tensor, tensor1: Tensor, tensor2: Tensor | _int | _float | _complex = ..., *args: Any, value: Tensor | _int | _float | _complex = ..., out: Tensor | None = ...) -> Tensor:
    """`input + value * tensor1 / tensor2`.

    Args:
        input: a tensor of any shape.
        tensor1, tensor2: tensors that can be broadcast with `input`; at least one has a floating-point or complex dtype.
        value: the factor of the quotient.
        *args: used by the deprecated call `addcdiv(input, value, tensor1, tensor2)`.
        out: a tensor that the result is written to.

    Raises:
        RuntimeError: `tensor1` and `tensor2` have integer or bool dtypes.

    >>> torch.addcdiv(torch.zeros(2), torch.tensor([1.0, 3.0]), torch.tensor([2.0, 2.0]), value=10)
    tensor([ 5., 15.])
    """
def addcmul(input: Tensor, tensor1: Tensor, tensor2: Tensor | _int | _float | _complex = ..., *args: Any, value: Tensor | _int | _float | _complex = ..., out: Tensor | None = ...) -> Tensor:
    """`input + value * tensor1 * tensor2`.

    Args:
        input: a tensor of any shape.
        tensor1, tensor2: tensors that can be broadcast with `input`.
        value: the factor of the product; converted to an integer if all three tensors have integer dtypes.
        *args: used by the deprecated call `addcmul(input, value, tensor1, tensor2)`.
        out: a tensor that the result is written to.

    >>> torch.addcmul(torch.ones(2), torch.ones(2), torch.ones(2), value=0.5)
    tensor([1.5000, 1.5000])
    """
def addmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Tensor | _int | _float | _complex = ..., alpha: Tensor | _int | _float | _complex = ..., out: Tensor | None = ...) -> Tensor:
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
def addmv(input: Tensor, mat: Tensor, vec: Tensor, *, beta: Tensor | _int | _float | _complex = ..., alpha: Tensor | _int | _float | _complex = ..., out: Tensor | None = ...) -> Tensor:
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
def addmv_(input: Tensor, mat: Tensor, vec: Tensor, *, beta: _int | _float | _complex = ..., alpha: _int | _float | _complex = ...) -> Tensor:
    """In-place form of `addmv`.

    Args:
        mat: a matrix `(n, m)`.
        vec: a vector `(m,)`.
        *legacy: used by the deprecated call `addmv(beta, input, alpha, mat, vec)`.
        beta: the factor of `input`; with 0, NaN in `input` is ignored.
        alpha: the factor of the product.
    """
def addr(input: Tensor, vec1: Tensor, vec2: Tensor, *, beta: Tensor | _int | _float | _complex = ..., alpha: Tensor | _int | _float | _complex = ..., out: Tensor | None = ...) -> Tensor:
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
def adjoint(input: Tensor) -> Tensor:
    """Return the conjugate transpose of matrices."""
def all(input: Tensor, dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Whether every element is nonzero, in the whole tensor or in each slice over `dim`.

    Args:
        input: a tensor of any shape.
        dim: the dimension or dimensions to reduce; None for all.
        keepdim: whether reduced dimensions are kept with size 1.
        out: a tensor that the result is written to.

    >>> torch.all(torch.tensor([[True, False], [True, True]]), 1)
    tensor([False,  True])
    """
def allclose(input: Tensor, other: Tensor, rtol: _float = ..., atol: _float = ..., equal_nan: _bool = ...) -> _bool:
    """Whether all elements are close, as in `isclose`.

    Args:
        input, other: tensors of the same dtype whose shapes can be broadcast.
        rtol: the relative tolerance, multiplied by `|other|`.
        atol: the absolute tolerance.
        equal_nan: whether two NaN are close.

    Raises:
        RuntimeError: the dtypes differ, or a tolerance is negative.

    >>> torch.allclose(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 2.0 + 1e-7]))
    True
    """
def alpha_dropout(input: Tensor, p: _float, train: _bool) -> Tensor:
    """Apply dropout that sets elements to SELU's lower limit, and rescales to preserve mean 0 and variance 1.

    Args:
        input: a tensor of any shape.
        p: the probability of an element to be replaced.
        train: whether dropout is active; otherwise, `input` is returned.

    Raises:
        RuntimeError: `p` is not in [0, 1].

    >>> torch.alpha_dropout(torch.ones(3), 0.5, train=False)
    tensor([1., 1., 1.])
    """
def alpha_dropout_(input: Tensor, p: _float, train: _bool) -> Tensor:
    """In-place form of `alpha_dropout`.

    Args:
        p: the probability of an element to be replaced.
        train: whether dropout is active; otherwise, `input` is returned.
    """
def amax(input: Tensor, dim: _int | Sequence[_int] = ..., keepdim: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return the largest of all elements, or over the dimensions `dim`; equal elements share the gradient.

    Args:
        input: a tensor of a real dtype.
        dim: the dimension or dimensions to reduce; () for all.
        keepdim: whether reduced dimensions are kept with size 1.
        out: a tensor that the result is written to.

    Raises:
        IndexError: a reduced dimension is empty.

    >>> torch.amax(torch.tensor([[1, 5], [3, 2]]), 1)
    tensor([5, 3])
    """
def amin(input: Tensor, dim: _int | Sequence[_int] = ..., keepdim: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return the smallest of all elements, or over the dimensions `dim`; equal elements share the gradient.

    Args:
        input: a tensor of a real dtype.
        dim: the dimension or dimensions to reduce; () for all.
        keepdim: whether reduced dimensions are kept with size 1.
        out: a tensor that the result is written to.

    Raises:
        IndexError: a reduced dimension is empty.

    >>> torch.amin(torch.tensor([[1, 5], [3, 2]]), 1)
    tensor([1, 2])
    """
def aminmax(input: Tensor, *, dim: _int | None = ..., keepdim: _bool = ..., out: Sequence[Tensor] | None = ...) -> return_types.aminmax:
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
def angle(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the argument of each number in radians; for a real number it is 0, or pi if negative.

    >>> torch.angle(torch.tensor([1j, -1.0, 1 + 1j]))
    tensor([1.5708, 3.1416, 0.7854])
    """
def any(input: Tensor, dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Whether an element is nonzero, in the whole tensor or in each slice over `dim`.

    Args:
        input: a tensor of any shape.
        dim: the dimension or dimensions to reduce; None for all.
        keepdim: whether reduced dimensions are kept with size 1.
        out: a tensor that the result is written to.

    >>> torch.any(torch.tensor([[True, False], [True, True]]), 1)
    tensor([True, True])
    """
def arange(start: Tensor | _int | _float | _complex | None = ..., end: Tensor | _int | _float | _complex | None = ..., step: Tensor | _int | _float | _complex = ..., *, out: Tensor | None = ..., dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., requires_grad: _bool | None = ..., pin_memory: _bool | None = ...) -> Tensor:
    """Return the numbers from `start` (or 0) up to but not including `end`, by `step`; integers if all three are integers.

    Args:
        start: the first number. A single argument is `end`, and `start` is 0.
        end: the bound, which is not part of the result.
        step: the difference of successive numbers, not 0.
        out: a tensor that the result is written to.
        dtype: the dtype of the result; None for int64 if all three numbers are integers, else for the default dtype.
        device: the device of the result; None for the default device.
        layout: the layout of the result; None for `torch.strided`.
        requires_grad: whether autograd records operations on the result.
        pin_memory: whether the result is in page-locked memory, from which copies to a GPU are faster.

    Raises:
        RuntimeError: `step` is 0 or has the wrong sign.

    >>> torch.arange(3), torch.arange(0, 1, 0.5)
    (tensor([0, 1, 2]), tensor([0.0000, 0.5000]))
    """
def arccos(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the inverse cosine, in radians."""
def arccos_(input: Tensor) -> Tensor:
    """In-place form of `acos`."""
def arccosh(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the inverse hyperbolic cosine."""
def arccosh_(input: Tensor) -> Tensor:
    """In-place form of `acosh`."""
def arcsin(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the inverse sine, in radians."""
def arcsin_(input: Tensor) -> Tensor:
    """In-place form of `asin`."""
def arcsinh(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the inverse hyperbolic sine."""
def arcsinh_(input: Tensor) -> Tensor:
    """In-place form of `asinh`."""
def arctan(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the inverse tangent, in radians."""
def arctan2(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the angle, in radians, of the point `(x, y) = (other, input)`, in the correct quadrant.

    Args:
        input: a tensor of a real dtype.
        other: a tensor that can be broadcast with `input`.
        out: a tensor that the result is written to.

    >>> torch.atan2(torch.tensor([1.0, -1.0]), torch.tensor([1.0, -1.0]))
    tensor([ 0.7854, -2.3562])
    """
def arctan_(input: Tensor) -> Tensor:
    """In-place form of `atan`."""
def arctanh(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the inverse hyperbolic tangent."""
def arctanh_(input: Tensor) -> Tensor:
    """In-place form of `atanh`."""
def argmax(input: Tensor, dim: _int | None = ..., keepdim: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return the index of the maximum in the flattened tensor, or of each slice over `dim`.

    Args:
        input: a tensor of an integer or floating-point dtype.
        dim: the dimension to reduce; None for all.
        keepdim: whether reduced dimensions are kept with size 1.
        out: a tensor that the result is written to.

    Raises:
        IndexError: the reduced dimension is empty.

    >>> torch.argmax(torch.tensor([[1, 5], [3, 2]]), 1)
    tensor([1, 0])
    """
def argmin(input: Tensor, dim: _int | None = ..., keepdim: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return the index of the minimum in the flattened tensor, or of each slice over `dim`.

    Args:
        input: a tensor of an integer or floating-point dtype.
        dim: the dimension to reduce; None for all.
        keepdim: whether reduced dimensions are kept with size 1.
        out: a tensor that the result is written to.

    Raises:
        IndexError: the reduced dimension is empty.

    >>> torch.argmin(torch.tensor([[1, 5], [3, 2]]), 1)
    tensor([0, 1])
    """
def argsort(input: Tensor, dim: _int = ..., descending: _bool = ..., stable: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return the indices that sort the elements along `dim`.

    Args:
        input: a tensor of a real dtype.
        dim: the dimension to sort.
        descending: whether the largest elements come first.
        stable: whether equal elements keep their order; they always do.
        out: a tensor that the result is written to.

    >>> torch.argsort(torch.tensor([3, 1, 2]))
    tensor([1, 2, 0])
    """
def argwhere(input: Tensor) -> Tensor:
    """Return the indices of the nonzero elements, one per row."""
def as_strided(input: Tensor, size: Sequence[_int], stride: Sequence[_int], storage_offset: _int | None = ...) -> Tensor:
    """Return a view of the tensor's storage with any size, strides and offset (in elements).

    Args:
        input: a tensor of any shape.
        size: the sizes of the view.
        stride: the distances in the storage between neighbouring elements of each dimension, not negative.
        storage_offset: the index in the storage of the first element; None for that of `input`.

    Raises:
        RuntimeError: sizes and strides differ in number, or the view exceeds the storage.

    >>> torch.as_strided(torch.arange(5), (2, 2), (1, 2))
    tensor([[0, 2],
            [1, 3]])
    """
def as_strided_(input: Tensor, size: _int | Sequence[_int], stride: Sequence[_int], storage_offset: _int | None = ...) -> Tensor:
    """In-place form of `as_strided`: the tensor itself becomes the view.

    Args:
        size: the sizes of the view.
        stride: the distances in the storage between neighbouring elements of each dimension, not negative.
        storage_offset: the index in the storage of the first element; None for that of `input`.
    """
def as_strided_scatter(input: Tensor, src: Tensor, size: Sequence[_int], stride: Sequence[_int], storage_offset: _int | None = ...) -> Tensor:
    """Return a copy of `input` with `src` in place of `input.as_strided(size, stride, storage_offset)`.

    Args:
        input: a tensor of any shape.
        src: a tensor of the shape `size`.
        size: the sizes of the view.
        stride: its strides, in elements.
        storage_offset: the index in the storage of its first element; None for that of `input`.

    Raises:
        RuntimeError: `src` has another shape, or the view exceeds the storage.

    >>> torch.as_strided_scatter(torch.zeros(2, 2), torch.ones(2), (2,), (3,))
    tensor([[1., 0.],
            [0., 1.]])
    """
def as_tensor(data: Any, *, dtype: _dtype | None = ..., device: _device | str | _int | None = ...) -> Tensor:
    """Convert `data` to a tensor, without a copy if dtype and device allow; a tensor keeps its autograd history.

    Args:
        data: a tensor, an array, a number or nested sequences of numbers.
        dtype: the dtype of the result; None for the dtype of `data`.
        device: the device of the result; None for that of a tensor, else for the default device.

    >>> torch.as_tensor([1, 2])
    tensor([1, 2])
    """
def asarray(obj: Any, *, dtype: _dtype | None = ..., device: _device | str | _int | None = ..., copy: _bool | None = ..., requires_grad: _bool | None = ...) -> Tensor:
    """Convert `obj` to a tensor that shares its memory if possible (`copy=None`), never (True), or always (False).

    Memory can be shared with tensors, arrays, storages, and objects with DLPack or the buffer protocol.  The bytes of a buffer
    are read as elements of `dtype`.  A tensor keeps its autograd history, unless `requires_grad` is False.

    Args:
        obj: a tensor, an array, a storage, a scalar, nested sequences, or an object with DLPack or the buffer protocol.
        dtype: the dtype of the result; None for that of `obj`, and for the default dtype if `obj` is a buffer.
        device: the device of the result; None for that of `obj`.
        copy: whether to copy: True for always, False for never, None if necessary.
        requires_grad: whether the result requires a gradient.

    Raises:
        ValueError: `copy=False`, and `obj` has no memory to share, or does not have the requested dtype and device.
        RuntimeError: `copy=False` for another library's scalar; `requires_grad` for a dtype that cannot require gradients.

    >>> torch.asarray(bytearray(b"abcd"), dtype=torch.int16).shape
    torch.Size([2])
    """
def asin(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the inverse sine, in radians."""
def asin_(input: Tensor) -> Tensor:
    """In-place form of `asin`."""
def asinh(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the inverse hyperbolic sine."""
def asinh_(input: Tensor) -> Tensor:
    """In-place form of `asinh`."""
def atan(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the inverse tangent, in radians."""
def atan2(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the angle, in radians, of the point `(x, y) = (other, input)`, in the correct quadrant.

    Args:
        input: a tensor of a real dtype.
        other: a tensor that can be broadcast with `input`.
        out: a tensor that the result is written to.

    >>> torch.atan2(torch.tensor([1.0, -1.0]), torch.tensor([1.0, -1.0]))
    tensor([ 0.7854, -2.3562])
    """
def atan_(input: Tensor) -> Tensor:
    """In-place form of `atan`."""
def atanh(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the inverse hyperbolic tangent."""
def atanh_(input: Tensor) -> Tensor:
    """In-place form of `atanh`."""
def atleast_1d(*tensors: Tensor | Sequence[Tensor]) -> Any:
    """Return the tensor, or each of several tensors, with at least 1 dimension.

    Args:
        *tensors: the tensors, as arguments or as one sequence. For more than one, the result is a tuple.

    >>> torch.atleast_1d(torch.tensor(1.0)).shape
    torch.Size([1])
    """
def atleast_2d(*tensors: Tensor | Sequence[Tensor]) -> Any:
    """Return the tensor, or each of several tensors, with at least 2 dimensions.

    Args:
        *tensors: the tensors, as arguments or as one sequence. For more than one, the result is a tuple.

    >>> torch.atleast_2d(torch.tensor(1.0)).shape
    torch.Size([1, 1])
    """
def atleast_3d(*tensors: Tensor | Sequence[Tensor]) -> Any:
    """Return the tensor, or each of several tensors, with at least 3 dimensions.

    Args:
        *tensors: the tensors, as arguments or as one sequence. For more than one, the result is a tuple.

    >>> torch.atleast_3d(torch.tensor(1.0)).shape
    torch.Size([1, 1, 1])
    """
def avg_pool1d(input: Tensor, kernel_size: _int | Sequence[_int], stride: _int | Sequence[_int] | None = ..., padding: _int | Sequence[_int] = ..., ceil_mode: _bool = ..., count_include_pad: _bool = ...) -> Tensor:
    """Return the mean of each window of a sequence; see `nn.AvgPool1d` for the sizes of the result.

    Args:
        input: a tensor `(N, C, L)` or `(C, L)`.
        kernel_size: the length of a window.
        stride: the distance between windows; None for `kernel_size`.
        padding: the number of zeros added on each side, at most half of the window.
        ceil_mode: whether sizes are rounded up, so that the last window may exceed the padded input.
        count_include_pad: whether the zeros of the padding count as elements of a window.

    Raises:
        RuntimeError: the input has another number of dimensions, the padding is too large, or no window fits.

    Example:
        >>> torch.avg_pool1d(torch.tensor([[1.0, 2.0, 3.0, 4.0]]), 2)
        tensor([[1.5000, 3.5000]])
    """
def baddbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Tensor | _int | _float | _complex = ..., alpha: Tensor | _int | _float | _complex = ..., out: Tensor | None = ...) -> Tensor:
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
def bartlett_window(window_length: _int, periodic: _bool = ..., *, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool | None = ...) -> Tensor:
    """Return the Bartlett window, a triangle: `1 - abs(2 n / N - 1)`.

    Args:
        window_length: the number of elements.
        periodic: whether the window is one period, `N = window_length`, for spectral analysis; otherwise, it is symmetric,
            `N = window_length - 1`, for the design of filters.
        dtype: the dtype of the result; None for the default dtype.
        device: the device of the result; None for the default device.
        layout: the layout of the result; None for `torch.strided`.
        requires_grad: whether autograd records operations on the result.
        pin_memory: whether the result is in page-locked memory, from which copies to a GPU are faster.

    Raises:
        RuntimeError: the length is negative, or the dtype is not floating-point.

    >>> torch.bartlett_window(4)
    tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """
def batch_norm(input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None, running_var: Tensor | None, training: _bool, momentum: _float, eps: _float, cudnn_enabled: _bool = ...) -> Tensor:
    """Normalize each channel (dimension 1) over all other dimensions (Ioffe & Szegedy 2015, "Batch normalization").

    In training, the mean and variance of the batch are used, and the running statistics, if given, are updated:
    `running * (1 - momentum) + batch * momentum`.  Otherwise, the running statistics are used.

    Args:
        input: a tensor `(N, C, *)`.
        weight, bias: vectors of length `C` that scale and shift the normalized channels; None for 1 and 0.
        running_mean, running_var: vectors of length `C`, updated in place in training; None for no running statistics.
        training: whether to use the statistics of the batch.
        momentum: the weight of the batch in the update of the running statistics.
        eps: a number added to the variance.
        cudnn_enabled: ignored.

    Raises:
        RuntimeError: the lengths do not fit, or `training` is False without running statistics.

    >>> torch.batch_norm(torch.tensor([[1.0], [3.0]]), None, None, None, None, True, 0.1, 1e-5, True)
    tensor([[-1.0000],
            [ 1.0000]])
    """
def bernoulli(input: Tensor, p: _float | Tensor | None = ..., *, generator: Generator | None = ..., out: Tensor | None = ...) -> Tensor:
    """Draw 0 or 1 for each element; the probability of 1 is the element, or `p` if given.

    Args:
        input: a tensor of probabilities; with `p`, only its shape and dtype are used.
        p: the probability for all elements: a number, or a tensor that can be broadcast to the shape of `input`.
        generator: the random number generator; None for the default one of the device.
        out: a tensor that the result is written to.

    Raises:
        RuntimeError: a probability is not in [0, 1].

    >>> torch.bernoulli(torch.tensor([0.0, 1.0]))
    tensor([0., 1.])
    """
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = ...) -> Tensor:
    """Compute the bilinear map `out[..., k] = input1 @ weight[k] @ input2 + bias[k]`; see `nn.Bilinear`.

    Args:
        input1: a tensor `(*, m)`.
        input2: a tensor `(*, n)`, with the same leading dimensions.
        weight: a tensor `(k, m, n)`.
        bias: a tensor `(k,)`; None for no bias.

    Shape:
        The result is `(*, k)`.

    Raises:
        RuntimeError: the sizes do not fit, or the dtypes differ.

    Example:
        >>> torch.bilinear(torch.ones(1, 2), torch.ones(1, 3), torch.ones(4, 2, 3))
        tensor([[6., 6., 6., 6.]])
    """
def binary_cross_entropy_with_logits(input: Tensor, target: Tensor, weight: Tensor | None = ..., pos_weight: Tensor | None = ..., reduction: _int = ...) -> Tensor:
    """Compute the binary cross entropy of `sigmoid(input)` and `target`.

    Args:
        input: a floating-point tensor of logits.
        target: a tensor of probabilities with the shape of `input`.
        weight: a factor for each loss, a tensor that can be broadcast to the shape of `input`; None for 1.
        pos_weight: a factor for the loss of positive targets, a tensor that can be broadcast to the shape of `input`; None for 1.
        reduction: 0 for none, 1 for the mean, 2 for the sum.

    >>> torch.binary_cross_entropy_with_logits(torch.zeros(2), torch.tensor([0.0, 1.0]), reduction=1)
    tensor(0.6931)
    """
def bincount(input: Tensor, weights: Tensor | None = ..., minlength: _int = ...) -> Tensor:
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
def binomial(count: Tensor, prob: Tensor, generator: Generator | None = ...) -> Tensor:
    """Draw numbers of successes in `count` trials, each with the probability `prob`.

    Args:
        count: a floating-point tensor of numbers of trials.
        prob: a tensor of probabilities with the dtype of `count` that can be broadcast to its shape.
        generator: the random number generator; None for the default one of the device.

    >>> torch.binomial(torch.tensor([10.0, 10.0]), torch.tensor([0.0, 1.0]))
    tensor([ 0., 10.])
    """
def bitwise_and(input: Tensor | _int | _float | _complex, other: _int | _float | _complex | Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the bits that are set in both operands.

    Args:
        input: a tensor of an integer dtype or bool, or a number.
        other: a tensor that can be broadcast with `input`, or a number; one of both is a tensor.
        out: a tensor that the result is written to.

    >>> torch.bitwise_and(torch.tensor([7]), 2)
    tensor([2])
    """
def bitwise_left_shift(input: Tensor | _int | _float | _complex, other: _int | _float | _complex | Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return `input << other`, element by element.

    Args:
        input: an integer tensor, or a number.
        other: a tensor that can be broadcast with `input`, or a number; one of both is a tensor.
        out: a tensor that the result is written to.

    >>> torch.bitwise_left_shift(torch.tensor([7]), 2)
    tensor([28])
    """
def bitwise_not(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Invert every bit; for bool, the logical not."""
def bitwise_or(input: Tensor | _int | _float | _complex, other: _int | _float | _complex | Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the bits that are set in either operand.

    Args:
        input: a tensor of an integer dtype or bool, or a number.
        other: a tensor that can be broadcast with `input`, or a number; one of both is a tensor.
        out: a tensor that the result is written to.

    >>> torch.bitwise_or(torch.tensor([7]), 2)
    tensor([7])
    """
def bitwise_right_shift(input: Tensor | _int | _float | _complex, other: _int | _float | _complex | Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return `input >> other`, element by element.

    Args:
        input: an integer tensor, or a number.
        other: a tensor that can be broadcast with `input`, or a number; one of both is a tensor.
        out: a tensor that the result is written to.

    >>> torch.bitwise_right_shift(torch.tensor([7]), 2)
    tensor([1])
    """
def bitwise_xor(input: Tensor | _int | _float | _complex, other: _int | _float | _complex | Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the bits that are set in exactly one operand.

    Args:
        input: a tensor of an integer dtype or bool, or a number.
        other: a tensor that can be broadcast with `input`, or a number; one of both is a tensor.
        out: a tensor that the result is written to.

    >>> torch.bitwise_xor(torch.tensor([7]), 2)
    tensor([5])
    """
def blackman_window(window_length: _int, periodic: _bool = ..., *, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool | None = ...) -> Tensor:
    """Return the Blackman window: `0.42 - 0.5 cos(2 pi n / N) + 0.08 cos(4 pi n / N)`.

    Args:
        window_length: the number of elements.
        periodic: whether the window is one period, `N = window_length`, for spectral analysis; otherwise, it is symmetric,
            `N = window_length - 1`, for the design of filters.
        dtype: the dtype of the result; None for the default dtype.
        device: the device of the result; None for the default device.
        layout: the layout of the result; None for `torch.strided`.
        requires_grad: whether autograd records operations on the result.
        pin_memory: whether the result is in page-locked memory, from which copies to a GPU are faster.

    Raises:
        RuntimeError: the length is negative, or the dtype is not floating-point.

    >>> torch.blackman_window(5, periodic=False)[1:4]
    tensor([0.3400, 1.0000, 0.3400])
    """
def block_diag(*tensors: Tensor) -> Tensor:
    """Return one matrix with the given matrices along its diagonal, 0 elsewhere.

    Args:
        *tensors: tensors with at most two dimensions. Vectors are rows, and 0-d tensors are matrices with one element.

    Raises:
        RuntimeError: a tensor has more than two dimensions.

    >>> torch.block_diag(torch.tensor([[1, 2]]), torch.tensor(3))
    tensor([[1, 2, 0],
            [0, 0, 3]])
    """
def bmm(input: Tensor, mat2: Tensor, *, out: Tensor | None = ...) -> Tensor:
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
def broadcast_tensors(*tensors: Tensor) -> tuple[Tensor, ...]:
    """Expand the tensors to their common shape.

    Args:
        *tensors: tensors whose shapes can be broadcast.

    Raises:
        RuntimeError: the shapes do not fit.

    >>> [x.shape for x in torch.broadcast_tensors(torch.ones(2, 1), torch.ones(3))]
    [torch.Size([2, 3]), torch.Size([2, 3])]
    """
def broadcast_to(input: Tensor, size: Sequence[_int]) -> Tensor:
    """Return a view broadcast to the shape `size`.

    Args:
        input: a tensor of any shape.
        size: the shape of the result; dimensions of size 1 are repeated, and new dimensions are added in front.

    Raises:
        RuntimeError: the shape does not fit.

    >>> torch.broadcast_to(torch.tensor([1, 2]), (2, 2))
    tensor([[1, 2],
            [1, 2]])
    """
def btrifact(A: Tensor, info: Any = ..., pivot: _bool = ...) -> tuple[Tensor, Tensor]:
    """Return the LU factorization of a batch of matrices as `(LU, pivots)`; a legacy name of `linalg.lu_factor`.

    Args:
        A: the matrices `(*, n, n)`.
        info: an integer tensor that is overwritten with 0 for each matrix whose factorization succeeded.
        pivot: whether rows are exchanged.

    >>> LU, pivots = torch.btrifact(torch.tensor([[[2.0, 1.0], [4.0, 4.0]]]))
    >>> LU
    tensor([[[ 4.0000,  4.0000],
             [ 0.5000, -1.0000]]])
    """
def btrisolve(b: Tensor, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:
    """Solve `A x = b` for a batch of vectors, given the result of `btrifact(A)`; a legacy name of `linalg.lu_solve`.

    Args:
        b: the right-hand sides `(*, n)`.
        LU_data, LU_pivots: the results of `btrifact(A)`.

    >>> A = torch.tensor([[[2.0, 0.0], [0.0, 4.0]]])
    >>> torch.btrisolve(torch.tensor([[2.0, 4.0]]), *torch.btrifact(A))
    tensor([[1., 1.]])
    """
def bucketize(input: _int | _float | _complex | Tensor, boundaries: Tensor, *, out_int32: _bool = ..., right: _bool = ..., out: Tensor | None = ...) -> Tensor:
    """Return for each element the index `i` such that `boundaries[i - 1] < element <= boundaries[i]`.

    Args:
        input: a tensor, or a number.
        boundaries: a vector in ascending order.
        out_int32: whether the result is int32 instead of int64.
        right: whether buckets contain their left boundary instead of the right one: `boundaries[i - 1] <= element <
            boundaries[i]`.
        out: a tensor that the result is written to.

    Raises:
        RuntimeError: `boundaries` is not a vector.

    >>> torch.bucketize(torch.tensor([1, 3, 6]), torch.tensor([1, 3, 5]))
    tensor([0, 1, 3])
    """
def cartesian_prod(*tensors: Tensor) -> Tensor:
    """Return all combinations of one element from each vector, one per row.

    Args:
        *tensors: vectors.

    Raises:
        RuntimeError: an argument is not a vector.

    >>> torch.cartesian_prod(torch.tensor([1, 2]), torch.tensor([4, 5]))
    tensor([[1, 4],
            [1, 5],
            [2, 4],
            [2, 5]])
    """
def cat(tensors: Sequence[Tensor], dim: _int = ..., *, out: Tensor | None = ...) -> Tensor:
    """Join tensors along an existing dimension; their dtypes are promoted.

    Args:
        tensors: a nonempty sequence of tensors with at least one dimension. Empty vectors are ignored.
        dim: the dimension to join.
        out: a tensor that the result is written to.

    Raises:
        RuntimeError: sizes differ in a dimension other than `dim`.

    >>> torch.cat([torch.zeros(1, 2), torch.ones(1, 2)])
    tensor([[0., 0.],
            [1., 1.]])
    """
def cdist(x1: Tensor, x2: Tensor, p: _float = ..., compute_mode: str = ...) -> Tensor:
    """Return the p-norm distances between all rows of `x1` and all rows of `x2`.

    The result has the shape `(*, n, m)`.  For `p=2` and more than 25 points, one matrix product is used, which is faster and
    less exact; `compute_mode` overrides this choice.

    Args:
        x1: a floating-point tensor `(*, n, d)`.
        x2: a tensor `(*, m, d)` with the dtype of `x1`.
        p: the order of the norm, not negative.
        compute_mode: "use_mm_for_euclid_dist_if_necessary", "use_mm_for_euclid_dist" to always use a matrix product for `p=2`, or
            "donot_use_mm_for_euclid_dist".

    Raises:
        RuntimeError: the last sizes differ, or `p` is negative.

    >>> torch.cdist(torch.tensor([[0.0, 0]]), torch.tensor([[3.0, 4], [0, 0]]))
    tensor([[5., 0.]])
    """
def ceil(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the smallest integer not below `x`."""
def ceil_(input: Tensor) -> Tensor:
    """In-place form of `ceil`."""
def celu(input: Tensor, alpha: _float = ...) -> Tensor:
    """`x` where it is positive, `alpha * (exp(x / alpha) - 1)` elsewhere: an ELU with a continuous derivative.

    Barron, *Continuously differentiable exponential linear units*, 2017.

    Args:
        input: a tensor of any shape.
        alpha: the result tends to `-alpha` as `x` tends to minus infinity; not 0.

    Example:
        >>> torch.celu(torch.tensor([-1.0, 2.0]))
        tensor([-0.6321,  2.0000])
    """
def celu_(input: Tensor, alpha: _float = ...) -> Tensor:
    """In-place form of `celu`: the result overwrites `input`, which is returned.

    Args:
        input: a tensor of any shape.
        alpha: the result tends to `-alpha` as `x` tends to minus infinity; not 0.

    Example:
        >>> x = torch.tensor([-1.0, 2.0])
        >>> torch.nn.functional.celu_(x) is x
        True
    """
def chain_matmul(*matrices: Tensor, out: Tensor | None = ...) -> Tensor:
    """Multiply matrices in the order with the fewest multiplications; see `torch.linalg.multi_dot`.

    Args:
        *matrices: the matrices, as arguments or as one sequence.
        out: a tensor that the result is written to.

    Raises:
        RuntimeError: an argument is not a matrix, or the shapes do not fit.

    >>> torch.chain_matmul(torch.ones(2, 3), torch.ones(3, 4), torch.ones(4, 1)).shape
    torch.Size([2, 1])
    """
def channel_shuffle(input: Tensor, groups: _int) -> Tensor:
    """Reorder the channels so that they are taken from each of `groups` groups in turn; see `nn.ChannelShuffle`.

    Zhang et al., *ShuffleNet*, 2018.

    Args:
        input: a tensor `(N, C, *)`.
        groups: a number that divides `C`.

    Shape:
        The result is `(N, C, *)`.

    Raises:
        RuntimeError: `groups` does not divide the number of channels.

    Example:
        >>> torch.channel_shuffle(torch.arange(4.0).reshape(1, 4, 1), 2).flatten()
        tensor([0., 2., 1., 3.])
    """
def cholesky(input: Tensor, upper: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return the Cholesky factor of positive-definite matrices; see `torch.linalg.cholesky`.

    Args:
        input: symmetric or Hermitian positive-definite matrices `(*, n, n)`; one triangle is read.
        upper: whether to return the upper triangular factor instead of the lower one.
        out: a tensor that the result is written to.

    Raises:
        torch.linalg.LinAlgError: a matrix is not positive-definite.

    >>> torch.cholesky(torch.tensor([[4.0, 2.0], [2.0, 5.0]]))
    tensor([[2., 0.],
            [1., 2.]])
    """
def cholesky_inverse(input: Tensor, upper: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return the inverse of the matrix `A`, given its Cholesky factor.

    Args:
        input: the triangular factors `(*, n, n)`.
        upper: whether `input` is an upper triangular factor `U`, with `A = U^H U`, or a lower one `L`, with `A = L L^H`.
        out: a tensor that the result is written to.

    >>> torch.cholesky_inverse(torch.tensor([[2.0, 0.0], [1.0, 2.0]]))
    tensor([[ 0.3125, -0.1250],
            [-0.1250,  0.2500]])
    """
def cholesky_solve(input: Tensor, input2: Tensor, upper: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Solve `A X = input`, where `input2` is the Cholesky factor of `A`.

    Args:
        input: the right-hand sides `(*, n, k)`.
        input2: the triangular factors `(*, n, n)`.
        upper: whether `input2` is an upper triangular factor `U`, with `A = U^H U`, or a lower one `L`, with `A = L L^H`.
        out: a tensor that the result is written to.

    Raises:
        RuntimeError: the shapes do not fit, or the dtypes differ.

    >>> torch.cholesky_solve(torch.tensor([[4.0], [5.0]]), torch.tensor([[2.0, 0.0], [0.0, 1.0]]))
    tensor([[1.],
            [5.]])
    """
def chunk(input: Tensor, chunks: _int, dim: _int = ...) -> tuple[Tensor, ...]:
    """Split `dim` into at most `chunks` consecutive views, of equal size except the last.

    Args:
        input: a tensor of at least one dimension.
        chunks: the largest number of parts, at least 1.
        dim: the dimension to split.

    Raises:
        RuntimeError: `input` is 0-d, or `chunks` is not positive.

    >>> torch.chunk(torch.arange(5), 3)
    (tensor([0, 1]), tensor([2, 3]), tensor([4]))
    """
def clamp(input: Tensor, min: _int | _float | _complex | Tensor | None = ..., max: _int | _float | _complex | Tensor | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Limit every element to `[min, max]`; either bound may be a number, a tensor or None.

    Args:
        input: a tensor of an integer or floating-point dtype.
        min, max: the bounds: numbers, or tensors that can be broadcast with `input`; None for no bound. At least one is given.
            Where `min` exceeds `max`, the result is `max`.
        out: a tensor that the result is written to.

    >>> torch.tensor([-1.0, 0.5, 2.0]).clamp(0, 1)
    tensor([0.0000, 0.5000, 1.0000])
    """
def clamp_(input: Tensor, min: _int | _float | _complex | Tensor | None = ..., max: _int | _float | _complex | Tensor | None = ...) -> Tensor:
    """In-place form of `clamp`.

    Args:
        min, max: the bounds: numbers, or tensors that can be broadcast with `input`; None for no bound. At least one is given.
            Where `min` exceeds `max`, the result is `max`.
    """
def clamp_max(input: Tensor, max: _int | _float | _complex | Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Lower every element to at most `max`.

    Args:
        input: a tensor of an integer or floating-point dtype.
        max: the bound: a number, or a tensor that can be broadcast with `input`.
        out: a tensor that the result is written to.

    >>> torch.clamp_max(torch.tensor([-1.0, 0.5, 2.0]), 1)
    tensor([-1.0000,  0.5000,  1.0000])
    """
def clamp_max_(input: Tensor, max: _int | _float | _complex | Tensor) -> Tensor:
    """In-place form of `clamp_max`.

    Args:
        max: the bound: a number, or a tensor that can be broadcast with `input`.
    """
def clamp_min(input: Tensor, min: _int | _float | _complex | Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Raise every element to at least `min`.

    Args:
        input: a tensor of an integer or floating-point dtype.
        min: the bound: a number, or a tensor that can be broadcast with `input`.
        out: a tensor that the result is written to.

    >>> torch.clamp_min(torch.tensor([-1.0, 0.5, 2.0]), 0)
    tensor([0.0000, 0.5000, 2.0000])
    """
def clamp_min_(input: Tensor, min: _int | _float | _complex | Tensor) -> Tensor:
    """In-place form of `clamp_min`.

    Args:
        min: the bound: a number, or a tensor that can be broadcast with `input`.
    """
def clip(input: Tensor, min: _int | _float | _complex | Tensor | None = ..., max: _int | _float | _complex | Tensor | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Limit every element to `[min, max]`; either bound may be a number, a tensor or None.

    Args:
        input: a tensor of an integer or floating-point dtype.
        min, max: the bounds: numbers, or tensors that can be broadcast with `input`; None for no bound. At least one is given.
            Where `min` exceeds `max`, the result is `max`.
        out: a tensor that the result is written to.

    >>> torch.tensor([-1.0, 0.5, 2.0]).clamp(0, 1)
    tensor([0.0000, 0.5000, 1.0000])
    """
def clip_(input: Tensor, min: _int | _float | _complex | Tensor | None = ..., max: _int | _float | _complex | Tensor | None = ...) -> Tensor:
    """In-place form of `clamp`.

    Args:
        min, max: the bounds: numbers, or tensors that can be broadcast with `input`; None for no bound. At least one is given.
            Where `min` exceeds `max`, the result is `max`.
    """
def clone(input: Tensor, *, memory_format: _memory_format | None = ...) -> Tensor:
    """Return a copy; gradients flow through it.

    Args:
        input: a tensor of any shape.
        memory_format: the order of the dimensions in the memory of the copy; None or `torch.preserve_format` for that of `input`.

    >>> x = torch.ones(2)
    >>> y = x.clone().mul_(2)
    >>> x
    tensor([1., 1.])
    """
def column_stack(tensors: Sequence[Tensor], *, out: Tensor | None = ...) -> Tensor:
    """Concatenate tensors along dimension 1; vectors are columns.

    Args:
        tensors: a nonempty sequence of tensors with the same number of rows.
        out: a tensor that the result is written to.

    >>> torch.column_stack([torch.tensor([1, 2]), torch.tensor([3, 4])])
    tensor([[1, 3],
            [2, 4]])
    """
def combinations(input: Tensor, r: _int = ..., with_replacement: _bool = ...) -> Tensor:
    """Return all combinations of `r` elements of a vector, one per row, in lexicographic order of position.

    Args:
        input: a vector.
        r: the number of elements in each combination.
        with_replacement: whether an element may occur several times in a combination.

    Raises:
        RuntimeError: `input` is not a vector, or `r` is negative.

    >>> torch.combinations(torch.tensor([1, 2, 3]))
    tensor([[1, 2],
            [1, 3],
            [2, 3]])
    """
def complex(real: Tensor, imag: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return `real + 1j * imag`; for float16 the result is complex64, as not every library has complex32.

    Args:
        real: the real parts, a floating-point tensor.
        imag: the imaginary parts, a tensor of the same dtype that can be broadcast with `real`.
        out: a tensor that the result is written to.

    Raises:
        RuntimeError: the dtypes differ or are not floating-point.

    >>> torch.complex(torch.tensor([1.0]), torch.tensor([2.0]))
    tensor([1.+2.j])
    """
def concat(tensors: Sequence[Tensor], dim: _int = ..., *, out: Tensor | None = ...) -> Tensor:
    """Join tensors along an existing dimension; their dtypes are promoted.

    Args:
        tensors: a nonempty sequence of tensors with at least one dimension. Empty vectors are ignored.
        dim: the dimension to join.
        out: a tensor that the result is written to.

    Raises:
        RuntimeError: sizes differ in a dimension other than `dim`.

    >>> torch.cat([torch.zeros(1, 2), torch.ones(1, 2)])
    tensor([[0., 0.],
            [1., 1.]])
    """
def concatenate(tensors: Sequence[Tensor], dim: _int = ..., *, out: Tensor | None = ...) -> Tensor:
    """Join tensors along an existing dimension; their dtypes are promoted.

    Args:
        tensors: a nonempty sequence of tensors with at least one dimension. Empty vectors are ignored.
        dim: the dimension to join.
        out: a tensor that the result is written to.

    Raises:
        RuntimeError: sizes differ in a dimension other than `dim`.

    >>> torch.cat([torch.zeros(1, 2), torch.ones(1, 2)])
    tensor([[0., 0.],
            [1., 1.]])
    """
def conj(input: Tensor) -> Tensor:
    """Return the complex conjugate as a lazy view that shares memory with the tensor, or a real tensor itself.

    The elements are conjugated when they are used; see `resolve_conj`.

    >>> x = torch.tensor([1 + 2j])
    >>> x.conj().mul_(1j), x, x.conj().is_conj()
    (tensor([2.+1.j]), tensor([2.-1.j]), True)
    """
def conj_physical(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return a conjugated copy if `input` is complex; otherwise return `input` itself."""
def conj_physical_(input: Tensor) -> Tensor:
    """In-place form of `conj_physical`."""
def constant_pad_nd(input: Tensor, pad: Sequence[_int], value: _float = ...) -> Tensor:
    """Pad with a constant value.

    Args:
        input: a tensor of any shape.
        pad: pairs (before, after) of numbers of elements to add, starting with the last dimension; negative numbers remove
            elements.
        value: the value of new elements.

    Raises:
        RuntimeError: `pad` has an odd length or too many pairs, or removes more elements than a dimension has.

    >>> torch.constant_pad_nd(torch.tensor([1, 2]), (1, 2))
    tensor([0, 1, 2, 0, 0])
    """
def conv1d(input: Tensor, weight: Tensor, bias: Tensor | None = ..., stride: _int | Sequence[_int] = ..., padding: _int | Sequence[_int] | str = ..., dilation: _int | Sequence[_int] = ..., groups: _int = ...) -> Tensor:
    """Convolve sequences; see `nn.Conv1d` for the sizes of the result.

    Args:
        input: a tensor `(N, C, L)` or `(C, L)`.
        weight: a tensor `(C_out, C / groups, K)`.
        bias: a tensor `(C_out,)`; None for no bias.
        stride: the distance between neighbouring windows.
        padding: the number of zeros added on each side; or "valid" for none, or "same" to preserve the size of the input.
        dilation: the distance between the elements of a window.
        groups: the number of separate convolutions that the channels are split into.

    Raises:
        RuntimeError: the sizes do not fit, or the dtypes differ.

    Example:
        >>> torch.conv1d(torch.arange(4.0).reshape(1, 1, 4), torch.ones(1, 1, 2))
        tensor([[[1., 3., 5.]]])
    """
def conv2d(input: Tensor, weight: Tensor, bias: Tensor | None = ..., stride: _int | Sequence[_int] = ..., padding: _int | Sequence[_int] | str = ..., dilation: _int | Sequence[_int] = ..., groups: _int = ...) -> Tensor:
    """Convolve images; see `nn.Conv2d` for the sizes of the result.

    Args:
        input: a tensor `(N, C, H, W)` or `(C, H, W)`.
        weight: a tensor `(C_out, C / groups, KH, KW)`.
        bias: a tensor `(C_out,)`; None for no bias.
        stride: the distance between neighbouring windows, one number or one for each dimension.
        padding: the number of zeros added on each side, one number or one for each dimension; or "valid" for none, or "same" to
            preserve the size of the input.
        dilation: the distance between the elements of a window, one number or one for each dimension.
        groups: the number of separate convolutions that the channels are split into.

    Raises:
        RuntimeError: the sizes do not fit, or the dtypes differ.

    Example:
        >>> torch.conv2d(torch.ones(1, 1, 3, 3), torch.ones(1, 1, 2, 2)).shape
        torch.Size([1, 1, 2, 2])
    """
def conv3d(input: Tensor, weight: Tensor, bias: Tensor | None = ..., stride: _int | Sequence[_int] = ..., padding: _int | Sequence[_int] | str = ..., dilation: _int | Sequence[_int] = ..., groups: _int = ...) -> Tensor:
    """Convolve volumes; see `nn.Conv3d` for the sizes of the result.

    Args:
        input: a tensor `(N, C, D, H, W)` or `(C, D, H, W)`.
        weight: a tensor `(C_out, C / groups, KD, KH, KW)`.
        bias: a tensor `(C_out,)`; None for no bias.
        stride: the distance between neighbouring windows, one number or one for each dimension.
        padding: the number of zeros added on each side, one number or one for each dimension; or "valid" for none, or "same" to
            preserve the size of the input.
        dilation: the distance between the elements of a window, one number or one for each dimension.
        groups: the number of separate convolutions that the channels are split into.

    Raises:
        RuntimeError: the sizes do not fit, or the dtypes differ.

    Example:
        >>> torch.conv3d(torch.ones(1, 1, 3, 3, 3), torch.ones(1, 1, 2, 2, 2)).shape
        torch.Size([1, 1, 2, 2, 2])
    """
def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: _int = ...) -> Tensor:
    """Convolve over time, the first dimension of `input`, with `pad` zeros at both ends.

    The result has the shape `(T + 2 * pad - K + 1, N, C_out)`.

    Args:
        input: a tensor `(T, N, C)`.
        weight: the kernels, a tensor `(K, C, C_out)`.
        bias: a vector `(C_out,)`.
        pad: the number of zeros added at each end.

    Raises:
        RuntimeError: the shapes do not fit.

    >>> torch.conv_tbc(torch.ones(3, 1, 1), torch.ones(2, 1, 1), torch.zeros(1)).flatten()
    tensor([2., 2.])
    """
def conv_transpose1d(input: Tensor, weight: Tensor, bias: Tensor | None = ..., stride: _int | Sequence[_int] = ..., padding: _int | Sequence[_int] = ..., output_padding: _int | Sequence[_int] = ..., groups: _int = ..., dilation: _int | Sequence[_int] = ...) -> Tensor:
    """Compute a transposed convolution over sequences; see `nn.ConvTranspose1d` for the sizes of the result.

    Args:
        input: a tensor `(N, C, L)` or `(C, L)`.
        weight: a tensor `(C, C_out / groups, K)`.
        bias: a tensor `(C_out,)`; None for no bias.
        stride: the distance in the result between the windows of neighbouring input elements.
        padding: the number of elements removed from each side of the result.
        output_padding: the number of elements added at the end of each dimension; it is below the stride or the dilation.
        groups: the number of separate convolutions that the channels are split into.
        dilation: the distance between the elements of a window.

    Raises:
        RuntimeError: the sizes do not fit, or the dtypes differ.

    Example:
        >>> torch.conv_transpose1d(torch.ones(1, 1, 2), torch.ones(1, 1, 2), stride=2)
        tensor([[[1., 1., 1., 1.]]])
    """
def conv_transpose2d(input: Tensor, weight: Tensor, bias: Tensor | None = ..., stride: _int | Sequence[_int] = ..., padding: _int | Sequence[_int] = ..., output_padding: _int | Sequence[_int] = ..., groups: _int = ..., dilation: _int | Sequence[_int] = ...) -> Tensor:
    """Compute a transposed convolution over images; see `nn.ConvTranspose2d` for the sizes of the result.

    It computes the gradient of a convolution with respect to its input.  With a stride, a convolution maps inputs of several
    sizes to the same output size: `output_padding` chooses among them.

    Args:
        input: a tensor `(N, C, H, W)` or `(C, H, W)`.
        weight: a tensor `(C, C_out / groups, KH, KW)`.
        bias: a tensor `(C_out,)`; None for no bias.
        stride: the distance in the result between the windows of neighbouring input elements, one number or one for each
            dimension.
        padding: the number of elements removed from each side of the result, one number or one for each dimension.
        output_padding: the number of elements added at the end of each dimension; it is below the stride or the dilation.
        groups: the number of separate convolutions that the channels are split into.
        dilation: the distance between the elements of a window, one number or one for each dimension.

    Raises:
        RuntimeError: the sizes do not fit, or the dtypes differ.

    Example:
        >>> torch.conv_transpose2d(torch.ones(1, 1, 2, 2), torch.ones(1, 1, 2, 2), stride=2).shape
        torch.Size([1, 1, 4, 4])
    """
def conv_transpose3d(input: Tensor, weight: Tensor, bias: Tensor | None = ..., stride: _int | Sequence[_int] = ..., padding: _int | Sequence[_int] = ..., output_padding: _int | Sequence[_int] = ..., groups: _int = ..., dilation: _int | Sequence[_int] = ...) -> Tensor:
    """Compute a transposed convolution over volumes; see `nn.ConvTranspose3d` for the sizes of the result.

    Args:
        input: a tensor `(N, C, D, H, W)` or `(C, D, H, W)`.
        weight: a tensor `(C, C_out / groups, KD, KH, KW)`.
        bias: a tensor `(C_out,)`; None for no bias.
        stride: the distance in the result between the windows of neighbouring input elements, one number or one for each
            dimension.
        padding: the number of elements removed from each side of the result, one number or one for each dimension.
        output_padding: the number of elements added at the end of each dimension; it is below the stride or the dilation.
        groups: the number of separate convolutions that the channels are split into.
        dilation: the distance between the elements of a window, one number or one for each dimension.

    Raises:
        RuntimeError: the sizes do not fit, or the dtypes differ.

    Example:
        >>> torch.conv_transpose3d(torch.ones(1, 1, 2, 2, 2), torch.ones(1, 1, 2, 2, 2), stride=2).shape
        torch.Size([1, 1, 4, 4, 4])
    """
def convolution(input: Tensor, weight: Tensor, bias: Tensor | None, stride: Sequence[_int], padding: Sequence[_int], dilation: Sequence[_int], transposed: _bool, output_padding: Sequence[_int], groups: _int) -> Tensor:
    """Convolve over `weight.ndim - 2` spatial dimensions, or compute the transpose; the input has a batch dimension.

    Shapes: input `(N, C, *)`, weight `(C_out, C / groups, *)`, or `(C, C_out / groups, *)` if `transposed`.

    Args:
        input: a tensor `(N, C, *)`.
        weight: the kernels.
        bias: a vector with a number for each output channel; None for no bias.
        stride, padding, dilation: the step, the number of zeros added on both sides, and the distance between kernel elements,
            for each spatial dimension.
        transposed: whether to compute the transpose of a convolution.
        output_padding: the number of elements added to one end of each spatial dimension of a transposed convolution's result.
        groups: the number of groups of channels that are convolved separately.

    >>> torch.convolution(torch.ones(1, 1, 3), torch.ones(1, 1, 2), None, (1,), (0,), (1,), False, (0,), 1)
    tensor([[[2., 2.]]])
    """
def copysign(input: Tensor, other: _int | _float | _complex | Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the absolute value of `input` with the sign of `other`, where -0.0 counts as negative.

    Args:
        input: a tensor of a real dtype.
        other: a tensor that can be broadcast with `input`, or a number.
        out: a tensor that the result is written to.

    >>> torch.copysign(torch.tensor([1.0, -2.0]), torch.tensor([-0.0, 3.0]))
    tensor([-1.,  2.])
    """
def corrcoef(input: Tensor) -> Tensor:
    """Return the correlation matrix of variables (rows) from observations (columns)."""
def cos(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the cosine of an angle in radians."""
def cos_(input: Tensor) -> Tensor:
    """In-place form of `cos`."""
def cosh(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the hyperbolic cosine."""
def cosh_(input: Tensor) -> Tensor:
    """In-place form of `cosh`."""
def cosine_similarity(x1: Tensor, x2: Tensor, dim: _int = ..., eps: _float = ...) -> Tensor:
    """Return the cosine of the angle between vectors along `dim`; see `nn.CosineSimilarity`.

    Args:
        x1: a tensor with the first vectors.
        x2: a tensor with the second vectors, which can be broadcast with `x1`.
        dim: the dimension of the vectors.
        eps: the lower bound of the vectors' lengths, which avoids division by 0.

    Raises:
        RuntimeError: the common dtype is not floating-point.

    Example:
        >>> torch.cosine_similarity(torch.tensor([[1.0, 0.0]]), torch.tensor([[1.0, 1.0]]))
        tensor([0.7071])
    """
def count_nonzero(input: Tensor, dim: _int | Sequence[_int] | None = ...) -> Tensor:
    """Return the number of nonzero elements.

    Args:
        input: a tensor of any shape.
        dim: the dimension or dimensions in which elements are counted; None for all.

    >>> torch.count_nonzero(torch.tensor([[0, 1], [2, 3]]), dim=0)
    tensor([1, 2])
    """
def cov(input: Tensor, *, correction: _int = ..., fweights: Tensor | None = ..., aweights: Tensor | None = ...) -> Tensor:
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
def cross(input: Tensor, other: Tensor, dim: _int | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return the cross products of the vectors along `dim`, by default the first dimension of `input` that has size 3.

    Args:
        input: a tensor of vectors.
        other: a tensor that can be broadcast with `input`.
        dim: the dimension of the vectors, which has size 3. The default None is deprecated.
        out: a tensor that the result is written to.

    Raises:
        RuntimeError: `input` has no dimension of size 3, or the sizes along `dim` are not 3.

    >>> torch.cross(torch.tensor([1.0, 0, 0]), torch.tensor([0.0, 1, 0]), dim=0)
    tensor([0., 0., 1.])
    """
def ctc_loss(log_probs: Tensor, targets: Tensor, input_lengths: Sequence[_int] | Tensor, target_lengths: Sequence[_int] | Tensor, blank: _int = ..., reduction: _int = ..., zero_infinity: _bool = ...) -> Tensor:
    """Compute the negative log-likelihood of label sequences; see `torch.nn.functional.ctc_loss`.

    Args:
        log_probs: log-probabilities `(T, N, C)` or `(T, C)`.
        targets: labels `(N, S)`, or all concatenated in one vector.
        input_lengths: the lengths of the inputs, at most `T`: a tensor `(N,)` or a sequence.
        target_lengths: the lengths of the targets: a tensor `(N,)` or a sequence.
        blank: the label for blank.
        reduction: 0 for none; 1 for the mean, after each loss has been divided by the length of the target; 2 for the sum.
        zero_infinity: whether infinite losses, and their gradients, are replaced by 0.

    >>> log_probs = torch.tensor([0.5, 0.5]).log().expand(2, 1, 2)
    >>> torch.ctc_loss(log_probs, torch.tensor([[1]]), (2,), (1,))
    tensor([0.2877])
    """
def cummax(input: Tensor, dim: _int, *, out: Sequence[Tensor] | None = ...) -> return_types.cummax:
    """Return the cumulative maximum along `dim`, and its last index.

    Args:
        input: a tensor of a real dtype.
        dim: the dimension along which to accumulate.
        out: tensors that the results are written to.

    >>> torch.cummax(torch.tensor([2, 3, 1]), 0).values
    tensor([2, 3, 3])
    """
def cummin(input: Tensor, dim: _int, *, out: Sequence[Tensor] | None = ...) -> return_types.cummin:
    """Return the cumulative minimum along `dim`, and its last index.

    Args:
        input: a tensor of a real dtype.
        dim: the dimension along which to accumulate.
        out: tensors that the results are written to.

    >>> torch.cummin(torch.tensor([2, 3, 1]), 0).values
    tensor([2, 2, 1])
    """
def cumprod(input: Tensor, dim: _int, *, dtype: _dtype | None = ..., out: Tensor | None = ...) -> Tensor:
    """Return the cumulative product along `dim`.

    Args:
        input: a tensor of any shape.
        dim: the dimension along which to accumulate.
        dtype: the dtype of the result, to which `input` is converted first; None for the dtype of `input`, or for int64 if that
            is an integer dtype or bool.
        out: a tensor that the result is written to.

    >>> torch.cumprod(torch.tensor([1, 2, 3]), 0)
    tensor([1, 2, 6])
    """
def cumsum(input: Tensor, dim: _int, *, dtype: _dtype | None = ..., out: Tensor | None = ...) -> Tensor:
    """Return the cumulative sum along `dim`.

    Args:
        input: a tensor of any shape.
        dim: the dimension along which to accumulate.
        dtype: the dtype of the result, to which `input` is converted first; None for the dtype of `input`, or for int64 if that
            is an integer dtype or bool.
        out: a tensor that the result is written to.

    >>> torch.cumsum(torch.tensor([1, 2, 3]), 0)
    tensor([1, 3, 6])
    """
def cumulative_trapezoid(y: Tensor, x: Tensor | None = ..., *, dx: Tensor | _int | _float | _complex = ..., dim: _int = ...) -> Tensor:
    """Return the cumulative integral of `y` along `dim` by the trapezoidal rule.

    Args:
        y: the values of the integrand; bool is not supported.
        x: the points, a vector or a tensor that can be broadcast with `y`; None for points `dx` apart.
        dx: the distance between points, if `x` is not given.
        dim: the dimension along which to integrate.

    >>> torch.cumulative_trapezoid(torch.tensor([1.0, 3.0, 5.0]))
    tensor([2., 6.])
    """
def deg2rad(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Convert degrees to radians."""
def deg2rad_(input: Tensor) -> Tensor:
    """In-place form of `deg2rad`."""
def det(input: Tensor) -> Tensor:
    """Return the determinants of square matrices; see `torch.linalg.det`."""
def detach(input: Tensor) -> Tensor:
    """Return a tensor with the same memory and version counter but no history."""
def detach_(input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """Remove the history of this tensor, in-place."""
def diag(input: Tensor, diagonal: _int = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return the matrix whose diagonal is the given vector, or the diagonal of the given matrix.

    Args:
        input: a vector or a matrix.
        diagonal: the diagonal: 0 for the main one, positive above it, negative below.
        out: a tensor that the result is written to.

    Raises:
        RuntimeError: `input` has another number of dimensions.

    >>> torch.diag(torch.tensor([1, 2])), torch.diag(torch.tensor([[1, 2], [3, 4]]))
    (tensor([[1, 0],
            [0, 2]]), tensor([1, 4]))
    """
def diag_embed(input: Tensor, offset: _int = ..., dim1: _int = ..., dim2: _int = ...) -> Tensor:
    """Return matrices, in dimensions `dim1` and `dim2`, whose diagonal is the last dimension of `input`.

    Args:
        input: a tensor of at least one dimension.
        offset: the diagonal to fill: 0 for the main one, positive above it, negative below.
        dim1, dim2: the dimensions of the matrices in the result.

    Raises:
        RuntimeError: `dim1` and `dim2` are the same dimension.

    >>> torch.diag_embed(torch.tensor([1, 2]))
    tensor([[1, 0],
            [0, 2]])
    """
def diagflat(input: Tensor, offset: _int = ...) -> Tensor:
    """Return a matrix whose diagonal holds all elements of `input`.

    Args:
        input: a tensor of any shape.
        offset: the diagonal to fill: 0 for the main one, positive above it, negative below.

    >>> torch.diagflat(torch.tensor([1, 2]), 1)
    tensor([[0, 1, 0],
            [0, 0, 2],
            [0, 0, 0]])
    """
def diagonal(input: Tensor, offset: _int = ..., dim1: _int = ..., dim2: _int = ...) -> Tensor:
    """Return a view of the diagonal of dimensions `dim1` and `dim2`; it is the last dimension of the view.

    Args:
        input: a tensor of at least two dimensions.
        offset: the diagonal: 0 for the main one, positive above it, negative below.
        dim1, dim2: the dimensions of the matrices.

    Raises:
        RuntimeError: `dim1` and `dim2` are the same dimension.

    >>> torch.diagonal(torch.tensor([[1, 2], [3, 4]]))
    tensor([1, 4])
    """
def diagonal_scatter(input: Tensor, src: Tensor, offset: _int = ..., dim1: _int = ..., dim2: _int = ...) -> Tensor:
    """Return a copy of `input` with `src` in place of its diagonal.

    Args:
        input: a tensor of at least two dimensions.
        src: a tensor with the shape of the diagonal.
        offset: the diagonal: 0 for the main one, positive above it, negative below.
        dim1, dim2: the dimensions of the matrices.

    Raises:
        RuntimeError: `src` has another shape.

    >>> torch.diagonal_scatter(torch.zeros(2, 2), torch.tensor([1.0, 2.0]))
    tensor([[1., 0.],
            [0., 2.]])
    """
def diff(input: Tensor, n: _int = ..., dim: _int = ..., prepend: Tensor | None = ..., append: Tensor | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return the `n`-th differences of neighbouring elements along `dim`.

    Args:
        input: a tensor of at least one dimension.
        n: the number of times that differences are taken.
        dim: the dimension along which elements are subtracted.
        prepend, append: tensors that are concatenated with `input` along `dim` beforehand, with the same number of dimensions.
        out: a tensor that the result is written to.

    Raises:
        RuntimeError: `input` is 0-d, or `n` is negative.

    >>> torch.diff(torch.tensor([1, 4, 9])), torch.diff(torch.tensor([1, 4, 9]), n=2)
    (tensor([3, 5]), tensor([2]))
    """
def digamma(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the derivative of `lgamma`.

    >>> torch.digamma(torch.tensor([1.0, 0.5]))
    tensor([-0.5772, -1.9635])
    """
def dist(input: Tensor, other: Tensor, p: _float = ...) -> Tensor:
    """Return the p-norm of `input - other`.

    Args:
        input: a floating-point or complex tensor.
        other: a tensor that can be broadcast with `input`.
        p: the order of the norm.

    >>> torch.dist(torch.tensor([1.0, 2.0]), torch.tensor([4.0, 6.0]))
    tensor(5.)
    """
def div(input: Tensor, other: Tensor | _int | _float | _complex, *, rounding_mode: str | None = ..., out: Tensor | None = ...) -> Tensor:
    """Return `input / other`: unrounded by default, rounded towards zero with `"trunc"`, down with `"floor"`.

    Args:
        input: a tensor, or a number if `other` is a tensor.
        other: a tensor that can be broadcast with `input`, or a number.
        rounding_mode: "trunc", "floor", or None for no rounding. A quotient of integers that is not rounded has the default
            dtype.
        out: a tensor that the result is written to.

    Raises:
        RuntimeError: another rounding mode.

    >>> torch.div(torch.tensor([-7, 7]), 2, rounding_mode="trunc")
    tensor([-3,  3])
    """
def divide(input: Tensor, other: Tensor | _int | _float | _complex, *, rounding_mode: str | None = ..., out: Tensor | None = ...) -> Tensor:
    """Return `input / other`: unrounded by default, rounded towards zero with `"trunc"`, down with `"floor"`.

    Args:
        input: a tensor, or a number if `other` is a tensor.
        other: a tensor that can be broadcast with `input`, or a number.
        rounding_mode: "trunc", "floor", or None for no rounding. A quotient of integers that is not rounded has the default
            dtype.
        out: a tensor that the result is written to.

    Raises:
        RuntimeError: another rounding mode.

    >>> torch.div(torch.tensor([-7, 7]), 2, rounding_mode="trunc")
    tensor([-3,  3])
    """
def dot(input: Tensor, tensor: Tensor, *, out: Tensor | None = ...) -> Tensor:
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
def dropout(input: Tensor, p: _float, train: _bool) -> Tensor:
    """While training, zero each element with probability `p` and scale the others by `1 / (1 - p)`.

    Args:
        input: a tensor of any shape.
        p: the probability of an element to be zeroed.
        train: whether dropout is active; otherwise, `input` is returned.

    Raises:
        RuntimeError: `p` is not in [0, 1].

    >>> torch.dropout(torch.ones(3), 0.5, train=False)
    tensor([1., 1., 1.])
    """
def dropout_(input: Tensor, p: _float, train: _bool) -> Tensor:
    """In-place form of `dropout`.

    Args:
        p: the probability of an element to be zeroed.
        train: whether dropout is active; otherwise, `input` is returned.
    """
def dsplit(input: Tensor, *args: Any, indices: Sequence[_int] | None = ..., sections: _int | None = ...) -> tuple[Tensor, ...]:
    """Split along dimension 2 into views; see `tensor_split`.

    Args:
        indices: the indices of the first slice of each part but the first.
        sections: the number of parts, all of the same length.

    Raises:
        RuntimeError: the length is not divisible by the number of parts, or the tensor has too few dimensions.

    >>> torch.dsplit(torch.ones(2, 2, 2), 2)[0].shape
    torch.Size([2, 2, 1])
    """
def dstack(tensors: Sequence[Tensor], *, out: Tensor | None = ...) -> Tensor:
    """Concatenate tensors along dimension 2, after they have been extended to 3 dimensions; see `atleast_3d`.

    Args:
        tensors: a nonempty sequence of tensors whose shapes match except in dimension 2.
        out: a tensor that the result is written to.

    >>> torch.dstack([torch.tensor([1, 2]), torch.tensor([3, 4])])
    tensor([[[1, 3],
             [2, 4]]])
    """
def eig(input: Tensor, *args: Any, **kwargs: Any) -> Sequence[Tensor]:
    """Raise a RuntimeError that names the replacement of the removed function `eig`."""
def einsum(equation: str, *operands: Tensor | Sequence[Tensor] | Sequence[_int]) -> Tensor:
    """Compute an Einstein summation: `equation` labels dimensions by letters; labels missing in the result are summed over.

    Operands are separate arguments or one list.  Without an equation, each operand is followed by a list of label numbers (or
    `...`), and the last argument is an optional list for the result.  More than two operands are multiplied from left to right,
    or in the order found by `opt_einsum` if that package is installed.

    Args:
        equation: the labels of the dimensions of each operand, separated by commas, and after `->` those of the result, by
            default the labels that occur once in alphabetical order; `...` is any number of dimensions. The first operand if
            there is no equation.
        *operands: the tensors.

    Raises:
        RuntimeError: the equation is malformed, or does not fit the operands.

    >>> torch.einsum("ij,jk->ik", torch.eye(2), torch.tensor([[1.0, 2], [3, 4]]))
    tensor([[1., 2.],
            [3., 4.]])
    """
def embedding(weight: Tensor, indices: Tensor, padding_idx: _int = ..., scale_grad_by_freq: _bool = ..., sparse: _bool = ...) -> Tensor:
    """Return the rows of `weight` at `indices`, of shape `(*indices.shape, weight.shape[1])`.

    Args:
        weight: a table `(rows, columns)`.
        indices: a tensor of dtype int64 or int32.
        padding_idx: the row that receives no gradient; -1 for none.
        scale_grad_by_freq: whether the gradient of each row is divided by the number of its occurrences in `indices`.
        sparse: whether the gradient of `weight` is a sparse tensor of the rows that were looked up.

    Raises:
        IndexError: an index is outside the table.

    >>> torch.embedding(torch.tensor([[1, 2], [3, 4]]), torch.tensor([1, 0]))
    tensor([[3, 4],
            [1, 2]])
    """
def embedding_bag(weight: Tensor, indices: Tensor, offsets: Tensor, scale_grad_by_freq: _bool = ..., mode: _int = ..., sparse: _bool = ..., per_sample_weights: Tensor | None = ..., include_last_offset: _bool = ..., padding_idx: _int | None = ...) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return the sum (mode 0), mean (1) or maximum (2) of the rows of each bag; bag `i` starts at `offsets[i]`.

    Also return three tensors that PyTorch's backward uses: the bag of each index, the size of each bag, and the indices of the
    maxima.  Sums need none of them: they are empty or zeros.  For means, the third repeats the sizes.

    Args:
        weight: a floating-point table `(rows, columns)`.
        indices: an integer vector, the indices of all bags.
        offsets: an integer vector, the position in `indices` at which each bag begins.
        scale_grad_by_freq: whether the gradient of each row is divided by the number of its occurrences in `indices`.
        mode: 0 for the sum, 1 for the mean, 2 for the maximum.
        sparse: ignored: the gradient of `weight` is dense.
        per_sample_weights: the factors of the rows, a vector with the length of `indices` and the dtype of `weight`; for sums
            only.
        include_last_offset: whether the last element of `offsets` is the end of the last bag.
        padding_idx: the row that is left out of the bags and receives no gradient; None for none.

    >>> torch.embedding_bag(torch.tensor([[1.0], [2.0], [4.0]]), torch.tensor([0, 1, 2]), torch.tensor([0, 2]))[0]
    tensor([[3.],
            [4.]])
    """
def embedding_renorm_(weight: Tensor, indices: Tensor, max_norm: _float, norm_type: _float) -> Tensor:
    """Scale the rows at `indices` in place so that no norm exceeds `max_norm`.

    Args:
        weight: a table `(rows, columns)`, which is changed and returned.
        indices: a tensor of dtype int64 or int32.
        max_norm: the largest norm.
        norm_type: the order of the norm.

    >>> torch.embedding_renorm_(torch.tensor([[3.0, 4.0], [6.0, 8.0]]), torch.tensor([0]), 1.0, 2.0)
    tensor([[0.6000, 0.8000],
            [6.0000, 8.0000]])
    """
def empty(*size: _int | Sequence[_int], out: Tensor | None = ..., dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., requires_grad: _bool | None = ..., pin_memory: _bool | None = ..., memory_format: _memory_format | None = ...) -> Tensor:
    """Return an uninitialised tensor.

    Args:
        *size: the shape: integers, or one sequence of them.
        out: a tensor that the result is written to.
        dtype: the dtype of the result; None for the default dtype.
        device: the device of the result; None for the default device.
        layout: the layout of the result; None for `torch.strided`.
        requires_grad: whether autograd records operations on the result.
        pin_memory: whether the result is in page-locked memory, from which copies to a GPU are faster.
        memory_format: the order of the dimensions in memory; None for row-major.
    """
def empty_like(input: Tensor, *, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., requires_grad: _bool | None = ..., memory_format: _memory_format | None = ..., pin_memory: _bool | None = ...) -> Tensor:
    """Return an uninitialised tensor with the shape, dtype, device and memory order of `input`.

    Args:
        dtype, device: the dtype and device of the result; None to use those of `input`.
        memory_format: the order of the dimensions in memory; None or `torch.preserve_format` to keep the order of `input`.
        layout: the layout of the result; None for `torch.strided`.
        requires_grad: whether autograd records operations on the result.
        pin_memory: whether the result is in page-locked memory, from which copies to a GPU are faster.
    """
def empty_permuted(size: Sequence[_int], physical_layout: Sequence[_int], *, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., requires_grad: _bool | None = ..., pin_memory: _bool | None = ...) -> Tensor:
    """Return an uninitialised tensor whose dimensions are stored in memory in the order `physical_layout`.

    Args:
        size: the sizes.
        physical_layout: the dimensions in the order in which they are stored, from the outermost to the innermost.
        dtype: the dtype of the result; None for the default dtype.
        device: the device of the result; None for the default device.
        layout: the layout of the result; None for `torch.strided`.
        requires_grad: whether autograd records operations on the result.
        pin_memory: whether the result is in page-locked memory, from which copies to a GPU are faster.

    Raises:
        RuntimeError: `physical_layout` is not a permutation of the dimensions.

    >>> torch.empty_permuted((2, 3, 4), (2, 0, 1)).stride()
    (3, 1, 6)
    """
def empty_strided(size: Sequence[_int], stride: Sequence[_int], *, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., requires_grad: _bool | None = ..., pin_memory: _bool | None = ...) -> Tensor:
    """Return an uninitialised tensor with the given size and strides.

    Args:
        size: the sizes.
        stride: the distances in memory between neighbouring elements of each dimension.
        dtype: the dtype of the result; None for the default dtype.
        device: the device of the result; None for the default device.
        layout: the layout of the result; None for `torch.strided`.
        requires_grad: whether autograd records operations on the result.
        pin_memory: whether the result is in page-locked memory, from which copies to a GPU are faster.

    Raises:
        RuntimeError: the numbers of sizes and strides differ.

    >>> torch.empty_strided((2, 3), (1, 2)).stride()
    (1, 2)
    """
def eq(input: Tensor, other: _int | _float | _complex | Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return `input == other`, element by element, as a bool tensor.

    Args:
        input: a tensor.
        other: a tensor that can be broadcast with `input`, or a number.
        out: a tensor that the result is written to.

    >>> torch.eq(torch.tensor([1, 2, 3]), 2)
    tensor([False,  True, False])
    """
def equal(input: Tensor, other: Tensor) -> _bool:
    """Whether two tensors have the same shape and elements.

    Args:
        input, other: the tensors; their dtypes may differ.

    >>> torch.equal(torch.tensor([1, 2]), torch.tensor([1, 2])), torch.equal(torch.ones(2), torch.ones(1, 2))
    (True, False)
    """
def erf(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the error function, `2 / sqrt(pi)` times the integral of `exp(-t**2)` from 0 to `x`.

    >>> torch.erf(torch.tensor([0.0, 1.0]))
    tensor([0.0000, 0.8427])
    """
def erf_(input: Tensor) -> Tensor:
    """In-place form of `erf`."""
def erfc(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return `1 - erf(x)`, accurate also where it is small."""
def erfc_(input: Tensor) -> Tensor:
    """In-place form of `erfc`."""
def erfinv(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the inverse of `erf` on [-1, 1], NaN elsewhere.

    >>> torch.erfinv(torch.tensor([0.0, 0.5, -1.0]))
    tensor([0.0000, 0.4769,   -inf])
    """
def exp(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return `e ** x`."""
def exp2(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return `2 ** x`."""
def exp2_(input: Tensor) -> Tensor:
    """In-place form of `exp2`."""
def exp_(input: Tensor) -> Tensor:
    """In-place form of `exp`."""
def expand_as(input: Tensor, other: Tensor) -> Tensor:
    """Return `input.expand(other.size())`.

    Args:
        input: a tensor of any shape.
        other: a tensor to whose shape `input` can be broadcast.

    Raises:
        RuntimeError: the shapes do not fit.

    >>> torch.tensor([1, 2]).expand_as(torch.ones(2, 2))
    tensor([[1, 2],
            [1, 2]])
    """
def expm1(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return `exp(x) - 1`, accurate near 0."""
def expm1_(input: Tensor) -> Tensor:
    """In-place form of `expm1`."""
def eye(n: _int, m: _int | None = ..., *, out: Tensor | None = ..., dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., requires_grad: _bool | None = ..., pin_memory: _bool | None = ...) -> Tensor:
    """Return an `(n, m)` matrix with ones on the diagonal and zeros elsewhere.

    Args:
        n: the number of rows.
        m: the number of columns; None for `n`.
        out: a tensor that the result is written to.
        dtype: the dtype of the result; None for the default dtype.
        device: the device of the result; None for the default device.
        layout: the layout of the result; None for `torch.strided`.
        requires_grad: whether autograd records operations on the result.
        pin_memory: whether the result is in page-locked memory, from which copies to a GPU are faster.

    Raises:
        RuntimeError: a size is negative.

    >>> torch.eye(2, 3)
    tensor([[1., 0., 0.],
            [0., 1., 0.]])
    """
def fake_quantize_per_channel_affine(input: Tensor, scale: Tensor, zero_point: Tensor, axis: _int, quant_min: _int, quant_max: _int) -> Tensor:
    """`fake_quantize_per_tensor_affine` with a scale and a zero point for each slice of dimension `axis`.

    Args:
        input: floating-point numbers of any shape.
        scale, zero_point: vectors of length `input.shape[axis]`; scale float32 or bfloat16, zero_point int32, float32 or float16.
        axis: the channel dimension, not negative.
        quant_min, quant_max: the least and the greatest of the integers.

    Raises:
        RuntimeError: the shapes or dtypes are wrong, or an int32 zero point is out of range.

    >>> x, zero = torch.tensor([[0.13, 9.0], [0.13, 9.0]]), torch.zeros(2, dtype=torch.int32)
    >>> torch.fake_quantize_per_channel_affine(x, torch.tensor([0.1, 1.0]), zero, 0, 0, 15)
    tensor([[0.1000, 1.5000],
            [0.0000, 9.0000]])
    """
def fake_quantize_per_tensor_affine(input: Tensor, scale: _float | Tensor, zero_point: _int | Tensor, quant_min: _int, quant_max: _int) -> Tensor:
    """`(clamp(round(input / scale) + zero_point, quant_min, quant_max) - zero_point) * scale`.

    The gradient passes unchanged where the rounded number was within the range, and is 0 elsewhere.

    Args:
        input: floating-point numbers of any shape.
        scale, zero_point: two numbers, or two tensors of one element each.
        quant_min, quant_max: the least and the greatest of the integers.

    Raises:
        RuntimeError: `quant_min` is above `quant_max`, or a `zero_point` given as a number is not between them.

    >>> torch.fake_quantize_per_tensor_affine(torch.tensor([-1.0, 0.13, 9.0]), 0.1, 0, 0, 15)
    tensor([0.0000, 0.1000, 1.5000])
    """
def feature_alpha_dropout(input: Tensor, p: _float, train: _bool) -> Tensor:
    """Apply `alpha_dropout` to whole channels.

    Args:
        input: a tensor `(N, C, *)`.
        p: the probability of a channel to be replaced.
        train: whether dropout is active; otherwise, `input` is returned.

    Raises:
        RuntimeError: `p` is not in [0, 1].

    >>> torch.feature_alpha_dropout(torch.ones(1, 1, 2), 0.5, train=False)
    tensor([[[1., 1.]]])
    """
def feature_alpha_dropout_(input: Tensor, p: _float, train: _bool) -> Tensor:
    """In-place form of `feature_alpha_dropout`.

    Args:
        p: the probability of a channel to be replaced.
        train: whether dropout is active; otherwise, `input` is returned.
    """
def feature_dropout(input: Tensor, p: _float, train: _bool) -> Tensor:
    """Apply dropout to whole channels: zero each with probability `p`, and scale the others by `1 / (1 - p)`.

    Args:
        input: a tensor `(N, C, *)`.
        p: the probability of a channel to be zeroed.
        train: whether dropout is active; otherwise, `input` is returned.

    Raises:
        RuntimeError: `p` is not in [0, 1].

    >>> torch.feature_dropout(torch.ones(1, 1, 2), 0.5, train=False)
    tensor([[[1., 1.]]])
    """
def feature_dropout_(input: Tensor, p: _float, train: _bool) -> Tensor:
    """In-place form of `feature_dropout`.

    Args:
        p: the probability of a channel to be zeroed.
        train: whether dropout is active; otherwise, `input` is returned.
    """
def fill(input: Tensor, value: _int | _float | _complex | Tensor) -> Tensor:
    """Return a copy of `input` with every element set to `value`.

    Args:
        input: the tensor to copy.
        value: a number or a 0-d tensor.

    >>> torch.fill(torch.zeros(2), 3)
    tensor([3., 3.])
    """
def fill_(input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """Set every element to `value`, a number or a 0-d tensor.

    Args:
        value: the number.
    """
def fix(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the integer part, rounded towards 0."""
def fix_(input: Tensor) -> Tensor:
    """In-place form of `trunc`."""
def flatten(input: Tensor, start_dim: _int = ..., end_dim: _int = ...) -> Tensor:
    """Merge dimensions `start_dim` to `end_dim` into one; the result is a view if possible.

    Args:
        input: a tensor of any shape.
        start_dim: the first dimension to merge.
        end_dim: the last dimension to merge.

    Raises:
        RuntimeError: `start_dim` comes after `end_dim`.

    >>> torch.zeros(2, 3, 4).flatten(1).shape
    torch.Size([2, 12])
    """
def flip(input: Tensor, dims: Sequence[_int]) -> Tensor:
    """Return a copy with the elements in reverse order along `dims`.

    Args:
        input: a tensor of any shape.
        dims: the dimension or dimensions to reverse.

    Raises:
        RuntimeError: a dimension occurs twice.

    >>> torch.flip(torch.tensor([[1, 2], [3, 4]]), (1,))
    tensor([[2, 1],
            [4, 3]])
    """
def fliplr(input: Tensor) -> Tensor:
    """Reverse the order of the columns (dimension 1)."""
def flipud(input: Tensor) -> Tensor:
    """Reverse the order of the rows (dimension 0)."""
def float_power(input: Tensor | _int | _float | _complex, exponent: Tensor | _int | _float | _complex, *, out: Tensor | None = ...) -> Tensor:
    """`input` to the power of `exponent`, in float64 or complex128.

    Args:
        input: a tensor or a number; at least one of `input` and `exponent` is a tensor.
        exponent: a tensor that can be broadcast with `input`, or a number.
        out: a tensor that the result is written to.

    >>> torch.float_power(torch.tensor([2, 3]), 2)
    tensor([4., 9.], dtype=torch.float64)
    """
def floor(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the largest integer not above `x`."""
def floor_(input: Tensor) -> Tensor:
    """In-place form of `floor`."""
def floor_divide(input: Tensor, other: _int | _float | _complex | Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return `input / other`, rounded towards minus infinity.

    Args:
        input: a tensor of an integer or floating-point dtype.
        other: a tensor that can be broadcast with `input`, or a number.
        out: a tensor that the result is written to.

    >>> torch.floor_divide(torch.tensor([-7, 7]), 2)
    tensor([-4,  3])
    """
def fmax(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the larger of `input` and `other`, element by element; where one is NaN, the other one.

    Args:
        input: a tensor of a real dtype.
        other: a tensor that can be broadcast with `input`.
        out: a tensor that the result is written to.

    >>> torch.fmax(torch.tensor([1.0, torch.nan]), torch.tensor([3.0, 2.0]))
    tensor([3., 2.])
    """
def fmin(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the smaller of `input` and `other`, element by element; where one is NaN, the other one.

    Args:
        input: a tensor of a real dtype.
        other: a tensor that can be broadcast with `input`.
        out: a tensor that the result is written to.

    >>> torch.fmin(torch.tensor([1.0, torch.nan]), torch.tensor([3.0, 2.0]))
    tensor([1., 2.])
    """
def fmod(input: Tensor, other: _int | _float | _complex | Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the remainder of division rounded towards zero: it has the sign of `input`.

    Args:
        input: a tensor of an integer or floating-point dtype.
        other: a tensor that can be broadcast with `input`, or a number.
        out: a tensor that the result is written to.

    >>> torch.fmod(torch.tensor([-3.0, 3.0]), 2)
    tensor([-1.,  1.])
    """
def frac(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the fractional part, with the sign of `x`."""
def frac_(input: Tensor) -> Tensor:
    """In-place form of `frac`."""
def frexp(input: Tensor, *, out: Sequence[Tensor] | None = ...) -> return_types.frexp:
    """Return a mantissa with magnitude in [0.5, 1) and an int32 exponent, such that `mantissa * 2**exponent == input`.

    >>> mantissa, exponent = torch.frexp(torch.tensor([6.0]))
    >>> mantissa, exponent
    (tensor([0.7500]), tensor([3], dtype=torch.int32))
    """
def frobenius_norm(input: Tensor, dim: _int | Sequence[_int], keepdim: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return the 2-norm over the one or two dimensions `dim`, or over all dimensions if `dim` is empty.

    Args:
        input: a floating-point or complex tensor.
        dim: one or two dimensions; () for all.
        keepdim: whether reduced dimensions are kept with size 1.
        out: a tensor that the result is written to.

    Raises:
        RuntimeError: `dim` has more than two dimensions.

    >>> torch.frobenius_norm(torch.tensor([[3.0, 0.0], [0.0, 4.0]]), (0, 1))
    tensor(5.)
    """
def from_dlpack(ext_tensor: Any, *, device: _device | str | _int | None = ..., copy: _bool | None = ...) -> Tensor:
    """Return a tensor that shares the memory of another library's array, or of a DLPack capsule.

    Args:
        ext_tensor: a tensor, an array with `__dlpack__`, or a DLPack capsule, which can be used once.
        device: the device of the result; None for that of the array.
        copy: whether to copy: True for always, False for never, None if the device differs.

    Raises:
        BufferError: the memory cannot be exported.
        RuntimeError: the argument is neither an array nor a capsule, or the capsule has been consumed.
        ValueError: `copy=False`, and the memory is on another device.

    >>> import numpy as np
    >>> torch.from_dlpack(np.arange(3))
    tensor([0, 1, 2])
    """
def from_file(filename: str, shared: _bool | None = ..., size: _int = ..., *, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool = ..., requires_grad: _bool = ...) -> Tensor:
    """Return a tensor of `size` elements of a memory-mapped file.

    With `shared`, writes to the tensor change the file, and a missing file is created.

    Args:
        filename: the path of the file.
        shared: whether writes to the tensor change the file; a missing file is then created.
        size: the number of elements.
        dtype: the dtype of the elements; None for the default dtype.
        layout, device, pin_memory: ignored: the tensor is on the CPU.
        requires_grad: whether autograd records operations on the result.

    Raises:
        RuntimeError: the file cannot be opened, or is too small.
    """
def from_numpy(ndarray: Any) -> Tensor:
    """Return a CPU tensor that shares the memory of a NumPy array.

    Args:
        ndarray: the array.

    Raises:
        TypeError: the argument is not a NumPy array, or its dtype is not supported.
        ValueError: the strides or the byte order are not supported.

    >>> import numpy as np
    >>> a = np.zeros(2); t = torch.from_numpy(a); a[0] = 1
    >>> t
    tensor([1., 0.], dtype=torch.float64)
    """
def frombuffer(buffer: Any, *, dtype: _dtype, count: _int = ..., offset: _int = ..., requires_grad: _bool = ...) -> Tensor:
    """Return a one-dimensional tensor that shares the memory of an object with the buffer protocol.

    Args:
        buffer: the object.
        dtype: the dtype of its elements.
        count: the number of elements; by default all.
        offset: the number of bytes to skip before the first element.
        requires_grad: whether the tensor requires a gradient.

    Raises:
        ValueError: the object is not a buffer, it is empty or too short, or its size is not a multiple of the element size.
        RuntimeError: the buffer is not contiguous.

    >>> torch.frombuffer(bytearray([1, 0, 2, 0]), dtype=torch.int16)
    tensor([1, 2], dtype=torch.int16)
    """
def full(size: Sequence[_int], fill_value: Tensor | _int | _float | _complex, *, out: Tensor | None = ..., dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., requires_grad: _bool | None = ..., pin_memory: _bool | None = ...) -> Tensor:
    """Return a tensor filled with `fill_value`; by default, its dtype follows that of the value.

    Args:
        size: the shape, a sequence of integers.
        fill_value: the value of all elements.
        out: a tensor that the result is written to.
        dtype: the dtype of the result; None for int64, bool, the default dtype or the complex one, depending on the value.
        device: the device of the result; None for the default device.
        layout: the layout of the result; None for `torch.strided`.
        requires_grad: whether autograd records operations on the result.
        pin_memory: whether the result is in page-locked memory, from which copies to a GPU are faster.

    >>> torch.full((2,), 7), torch.full((), 1.5)
    (tensor([7, 7]), tensor(1.5000))
    """
def full_like(input: Tensor, fill_value: Tensor | _int | _float | _complex, *, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., requires_grad: _bool | None = ..., memory_format: _memory_format | None = ..., pin_memory: _bool | None = ...) -> Tensor:
    """Return a tensor filled with `fill_value`, with the shape, dtype, device and memory order of `input`.

    Args:
        input: a tensor of any shape.
        fill_value: the value of all elements.
        dtype, device: the dtype and device of the result; None to use those of `input`.
        memory_format: the order of the dimensions in memory; None or `torch.preserve_format` to keep the order of `input`.
        layout: the layout of the result; None for `torch.strided`.
        requires_grad: whether autograd records operations on the result.
        pin_memory: whether the result is in page-locked memory, from which copies to a GPU are faster.

    >>> torch.full_like(torch.zeros(2), 7)
    tensor([7., 7.])
    """
def gather(input: Tensor, dim: _int, index: Tensor, *, sparse_grad: _bool = ..., out: Tensor | None = ...) -> Tensor:
    """Gather elements along `dim`: `out[i][j] = input[index[i][j]][j]` for `dim=0`.

    Args:
        input: a tensor of any shape.
        dim: the dimension along which to index.
        index: an integer tensor with as many dimensions as `input`; the result has its shape.
        sparse_grad: whether the gradient of `input` is a sparse tensor.
        out: a tensor that the result is written to.

    Raises:
        RuntimeError: an index is out of bounds, or `index` is larger than `input` in a dimension other than `dim`.

    >>> torch.gather(torch.tensor([[1, 2], [3, 4]]), 1, torch.tensor([[0], [1]]))
    tensor([[1],
            [4]])
    """
def gcd(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the greatest common divisor of integers; it is 0 for 0 and 0.

    Args:
        input: an integer tensor.
        other: an integer tensor that can be broadcast with `input`.
        out: a tensor that the result is written to.

    >>> torch.gcd(torch.tensor([12, 7]), torch.tensor([18, 21]))
    tensor([6, 7])
    """
def gcd_(input: Tensor, other: Tensor) -> Tensor:
    """In-place form of `gcd`.

    Args:
        other: an integer tensor that can be broadcast with `input`.
    """
def ge(input: Tensor, other: _int | _float | _complex | Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return `input >= other`, element by element, as a bool tensor.

    Args:
        input: a tensor of a real dtype.
        other: a tensor that can be broadcast with `input`, or a number.
        out: a tensor that the result is written to.

    >>> torch.ge(torch.tensor([1, 2, 3]), 2)
    tensor([False,  True,  True])
    """
def gels(input: Tensor, A: Tensor, *, out: Sequence[Tensor] | None = ...) -> tuple[Tensor, Tensor]:
    """Return the least-squares solution of `A X = input` for `A` of full rank, and the QR factorization of `A`.

    This is a legacy function, replaced by `linalg.lstsq`.  For `A` of shape `(m, n)`, the solution has `max(m, n)` rows, as in
    LAPACK.  The squares of the rows after the first `n` add up to the squared norms of the residuals.

    Args:
        input: the right-hand sides `(m, k)`.
        A: a matrix `(m, n)` of full rank.
        out: tensors that the results are written to.

    >>> torch.gels(torch.tensor([[2.0], [4.0]]), torch.tensor([[1.0, 0.0], [0.0, 2.0]]))[0]
    tensor([[2.],
            [2.]])
    """
def geqrf(input: Tensor, *, out: Tensor | None = ...) -> Any:
    """Compute a QR factorization in LAPACK's format: R, with the Householder vectors below its diagonal, and the factors tau.

    `torch.linalg.householder_product` computes Q from them.
    """
def ger(input: Tensor, vec2: Tensor, *, out: Tensor | None = ...) -> Tensor:
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
def get_device(input: Tensor) -> _int:
    """The device's index; -1 on the CPU."""
def gradient(input: Tensor, *, spacing: Any = ..., dim: _int | Sequence[_int] | None = ..., edge_order: _int = ...) -> tuple[Tensor, ...]:
    """Return the derivative along each dimension in `dim`, by central differences and, at the edges, by one-sided ones.

    Args:
        input: a tensor of values of a function on a grid; uint8 is not supported.
        spacing: the distance between points; or a list with, for each dimension, a distance or a vector of coordinates.
        dim: the dimension or dimensions; None for all.
        edge_order: the order of accuracy of the one-sided differences: 1 or 2.

    Raises:
        RuntimeError: a dimension has fewer than `edge_order + 1` elements, or `spacing` has another length than `dim`.

    >>> torch.gradient(torch.tensor([1.0, 4.0, 9.0]))
    (tensor([3., 4., 5.]),)
    """
def greater(input: Tensor, other: _int | _float | _complex | Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return `input > other`, element by element, as a bool tensor.

    Args:
        input: a tensor of a real dtype.
        other: a tensor that can be broadcast with `input`, or a number.
        out: a tensor that the result is written to.

    >>> torch.gt(torch.tensor([1, 2, 3]), 2)
    tensor([False, False,  True])
    """
def greater_equal(input: Tensor, other: _int | _float | _complex | Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return `input >= other`, element by element, as a bool tensor.

    Args:
        input: a tensor of a real dtype.
        other: a tensor that can be broadcast with `input`, or a number.
        out: a tensor that the result is written to.

    >>> torch.ge(torch.tensor([1, 2, 3]), 2)
    tensor([False,  True,  True])
    """
def group_norm(input: Tensor, num_groups: _int, weight: Tensor | None = ..., bias: Tensor | None = ..., eps: _float = ..., cudnn_enabled: _bool = ...) -> Tensor:
    """Normalize groups of channels of each sample (Wu & He 2018, "Group normalization").

    Args:
        input: a tensor `(N, C, *)`.
        num_groups: the number of groups, which must divide `C`.
        weight, bias: vectors of length `C` that scale and shift the normalized channels; None for 1 and 0.
        eps: a number added to the variance.
        cudnn_enabled: ignored.

    Raises:
        RuntimeError: `C` is not divisible by the number of groups.

    >>> torch.group_norm(torch.tensor([[1.0, 3.0, 4.0, 8.0]]), 2)
    tensor([[-1.0000,  1.0000, -1.0000,  1.0000]])
    """
def gt(input: Tensor, other: _int | _float | _complex | Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return `input > other`, element by element, as a bool tensor.

    Args:
        input: a tensor of a real dtype.
        other: a tensor that can be broadcast with `input`, or a number.
        out: a tensor that the result is written to.

    >>> torch.gt(torch.tensor([1, 2, 3]), 2)
    tensor([False, False,  True])
    """
def hamming_window(window_length: _int, periodic: _bool = ..., alpha: _float = ..., beta: _float = ..., *, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool | None = ...) -> Tensor:
    """Return the Hamming window: `alpha - beta cos(2 pi n / N)`.

    Args:
        window_length: the number of elements.
        periodic: whether the window is one period, `N = window_length`, for spectral analysis; otherwise, it is symmetric,
            `N = window_length - 1`, for the design of filters.
        alpha: the constant in the formula.
        beta: the factor of the cosine.
        dtype: the dtype of the result; None for the default dtype.
        device: the device of the result; None for the default device.
        layout: the layout of the result; None for `torch.strided`.
        requires_grad: whether autograd records operations on the result.
        pin_memory: whether the result is in page-locked memory, from which copies to a GPU are faster.

    Raises:
        RuntimeError: the length is negative, or the dtype is not floating-point.

    >>> torch.hamming_window(4)
    tensor([0.0800, 0.5400, 1.0000, 0.5400])
    """
def hann_window(window_length: _int, periodic: _bool = ..., *, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool | None = ...) -> Tensor:
    """Return the Hann window: `(1 - cos(2 pi n / N)) / 2`.

    Args:
        window_length: the number of elements.
        periodic: whether the window is one period, `N = window_length`, for spectral analysis; otherwise, it is symmetric,
            `N = window_length - 1`, for the design of filters.
        dtype: the dtype of the result; None for the default dtype.
        device: the device of the result; None for the default device.
        layout: the layout of the result; None for `torch.strided`.
        requires_grad: whether autograd records operations on the result.
        pin_memory: whether the result is in page-locked memory, from which copies to a GPU are faster.

    Raises:
        RuntimeError: the length is negative, or the dtype is not floating-point.

    >>> torch.hann_window(4)
    tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """
def hardshrink(input: Tensor, lambd: _float = ..., *, out: Tensor | None = ...) -> Tensor:
    """Keep the elements farther than `lambd` from 0, and set the others to 0; see `nn.Hardshrink`.

    Args:
        input: a tensor of any shape.
        lambd: the bound; an element at that distance from 0 becomes 0.
        out: a tensor that the result is written to.

    Example:
        >>> F.hardshrink(torch.tensor([-1.0, 0.3, 2.0]))
        tensor([-1.,  0.,  2.])
    """
def hash_tensor(input: Tensor, dim: _int | Sequence[_int] | None = ..., *, keepdim: _bool = ..., mode: _int = ..., out: Tensor | None = ...) -> Tensor:
    """Return a uint64 hash of all elements, or over `dim`: the exclusive or of their bits as 64-bit numbers.

    Args:
        input: a tensor of a real dtype.
        dim: the dimension or dimensions to reduce; () or None for all.
        keepdim: whether reduced dimensions are kept with size 1.
        mode: the kind of hash, of which there is one: 0.
        out: a tensor that the result is written to.

    Raises:
        RuntimeError: the tensor is empty, or the mode is unknown.

    >>> torch.hash_tensor(torch.tensor([[1, 2], [3, 4]]), 1)
    tensor([3, 7], dtype=torch.uint64)
    """
def heaviside(input: Tensor, values: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return 0 for negative elements, 1 for positive ones, and `values` where the element is 0.

    Args:
        input: a tensor of a real dtype.
        values: a tensor with the dtype of `input`, which can be broadcast with it.
        out: a tensor that the result is written to.

    Raises:
        RuntimeError: the dtypes differ or are complex.

    >>> torch.heaviside(torch.tensor([-1.5, 0.0, 2.0]), torch.tensor([0.5]))
    tensor([0.0000, 0.5000, 1.0000])
    """
def histc(input: Tensor, bins: _int = ..., min: _float = ..., max: _float = ..., *, out: Tensor | None = ...) -> Tensor:
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
def histogram(input: Tensor, bins: _int | Tensor = ..., *, range: Any = ..., weight: Tensor | None = ..., density: _bool = ..., out: Tensor | None = ...) -> return_types.histogram:
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
def histogramdd(input: Tensor, bins: Any, range: Any = ..., weight: Tensor | None = ..., density: _bool = ...) -> return_types.histogramdd:
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
def hsplit(input: Tensor, *args: Any, indices: Sequence[_int] | None = ..., sections: _int | None = ...) -> tuple[Tensor, ...]:
    """Split along dimension 1, or dimension 0 of a vector; see `tensor_split`.

    Args:
        input: a tensor of at least one dimension.
        *args: the number of parts, which must divide the size, or the indices at which the parts after the first begin.
        indices: keyword for the indices.
        sections: keyword for the number of parts.

    Raises:
        RuntimeError: the tensor is 0-d, or the size is not divisible by the number of parts.

    >>> torch.hsplit(torch.arange(4).reshape(2, 2), 2)
    (tensor([[0],
            [2]]), tensor([[1],
            [3]]))
    """
def hstack(tensors: Sequence[Tensor], *, out: Tensor | None = ...) -> Tensor:
    """Concatenate tensors along dimension 1, or along dimension 0 if they are vectors.

    Args:
        tensors: a nonempty sequence of tensors whose shapes match except in the joined dimension; 0-d tensors are treated as
            vectors.
        out: a tensor that the result is written to.

    >>> torch.hstack([torch.tensor([1, 2]), torch.tensor([3])])
    tensor([1, 2, 3])
    """
def hypot(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return `sqrt(input**2 + other**2)` without overflow of the squares.

    Args:
        input: a floating-point tensor.
        other: a tensor that can be broadcast with `input`.
        out: a tensor that the result is written to.

    >>> torch.hypot(torch.tensor([3.0]), torch.tensor([4.0]))
    tensor([5.])
    """
def i0(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the modified Bessel function of the first kind, of order 0.

    >>> torch.i0(torch.tensor([0.0, 1.0]))
    tensor([1.0000, 1.2661])
    """
def i0_(input: Tensor) -> Tensor:
    """In-place form of `i0`."""
def igamma(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the probability that a gamma variable of shape `input` is below `other` (regularised lower incomplete gamma).

    Args:
        input: the shape parameters, a floating-point tensor; their gradient is not implemented.
        other: the upper limits of the integral, a tensor that can be broadcast with `input`.
        out: a tensor that the result is written to.

    >>> torch.igamma(torch.tensor([1.0]), torch.tensor([1.0]))
    tensor([0.6321])
    """
def igammac(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the regularised upper incomplete gamma function: `1 - igamma`, accurate also where it is small.

    Args:
        input: the shape parameters, a floating-point tensor; their gradient is not implemented.
        other: the lower limits of the integral, a tensor that can be broadcast with `input`.
        out: a tensor that the result is written to.

    >>> torch.igammac(torch.tensor([1.0]), torch.tensor([1.0]))
    tensor([0.3679])
    """
def imag(input: Tensor) -> Tensor:
    """Return the imaginary parts as a view.  Raises RuntimeError for a real tensor."""
def index_add(input: Tensor, dim: _int, index: Tensor, source: Tensor, *, alpha: Tensor | _int | _float | _complex = ..., out: Tensor | None = ...) -> Tensor:
    """Return `input` with the slices of `source`, times `alpha`, added at the positions `index` of `dim`.

    Args:
        input: a tensor of any shape.
        dim: the dimension of the slices.
        index: an integer vector of positions; slices for repeated positions are summed.
        source: a tensor with the dtype of `input`, and its shape except in `dim`, where it has the length of `index`.
        alpha: the factor of `source`.
        out: a tensor that the result is written to.

    Raises:
        IndexError, RuntimeError: a position is out of range.

    >>> torch.index_add(torch.zeros(3), 0, torch.tensor([0, 2, 0]), torch.tensor([1.0, 2.0, 3.0]))
    tensor([4., 0., 2.])
    """
def index_copy(input: Tensor, dim: _int, index: Tensor, source: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return a copy of `input` with its slices at the positions `index` of `dim` replaced by those of `source`.

    Args:
        input: a tensor of any shape.
        dim: the dimension of the slices.
        index: an integer vector of positions, without repetitions.
        source: a tensor with the dtype of `input`, and its shape except in `dim`, where it has the length of `index`.
        out: a tensor that the result is written to.

    Raises:
        IndexError: a position is out of range.

    >>> torch.index_copy(torch.zeros(3), 0, torch.tensor([2, 0]), torch.tensor([1.0, 2.0]))
    tensor([2., 0., 1.])
    """
def index_fill(input: Tensor, dim: _int, index: Tensor, value: _int | _float | _complex | Tensor) -> Tensor:
    """Return a copy of `input` with its slices at the positions `index` of `dim` filled with `value`.

    Args:
        input: a tensor of any shape.
        dim: the dimension of the slices.
        index: an int64 vector of positions.
        value: a number or a 0-d tensor.

    Raises:
        IndexError: a position is out of range, or `index` has another dtype.

    >>> torch.index_fill(torch.zeros(3), 0, torch.tensor([0, 2]), 1)
    tensor([1., 0., 1.])
    """
def index_put(input: Tensor, indices: Any, values: Tensor, accumulate: _bool = ...) -> Tensor:
    """Return a copy of `input` with `values` at `input[indices]`; with `accumulate`, they are added.

    Args:
        input: a tensor of any shape.
        indices: a tuple of integer or bool tensors, one for each of the first dimensions; None for a whole dimension.
        values: a tensor with the dtype of `input` that can be broadcast to the shape of `input[indices]`.
        accumulate: whether to add the values to the elements, also several times if indices are repeated.

    Raises:
        IndexError: an index is out of range.

    >>> torch.index_put(torch.zeros(3), (torch.tensor([0, 0]),), torch.tensor([1.0, 2.0]), accumulate=True)
    tensor([3., 0., 0.])
    """
def index_put_(input: Tensor, indices: Any, values: Tensor, accumulate: _bool = ...) -> Tensor:
    """In-place form of `index_put`.

    Args:
        indices: a tuple of integer or bool tensors, one for each of the first dimensions; None for a whole dimension.
        values: a tensor with the dtype of `input` that can be broadcast to the shape of `input[indices]`.
        accumulate: whether to add the values to the elements, also several times if indices are repeated.
    """
def index_reduce(input: Tensor, dim: _int, index: Tensor, source: Tensor, reduce: str, *, include_self: _bool = ..., out: Tensor | None = ...) -> Tensor:
    """Return `input` with the slices at the positions `index` of `dim` reduced with the slices of `source`.

    Args:
        input: a tensor of any shape.
        dim: the dimension of the slices.
        index: an integer vector of positions.
        source: a tensor with the dtype of `input`, and its shape except in `dim`, where it has the length of `index`.
        reduce: the reduction: "prod", "mean", "amax" or "amin".
        include_self: whether the slices of `input` are part of the reduction; otherwise, they are replaced.
        out: a tensor that the result is written to.

    Raises:
        IndexError: a position is out of range.
        RuntimeError: another reduction, or shapes that do not fit.

    >>> torch.index_reduce(torch.ones(2), 0, torch.tensor([0, 0]), torch.tensor([2.0, 5.0]), "prod")
    tensor([10.,  1.])
    """
def index_select(input: Tensor, dim: _int, index: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return a copy of the slices of `dim` at the positions in `index`, a vector.

    Args:
        input: a tensor of any shape.
        dim: the dimension to select from.
        index: a vector of dtype int64 or int32.
        out: a tensor that the result is written to.

    Raises:
        IndexError: a position is out of range, or `index` has more than one dimension.

    >>> torch.index_select(torch.tensor([[1, 2], [3, 4]]), 1, torch.tensor([1, 1]))
    tensor([[2, 2],
            [4, 4]])
    """
def inner(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the sums of products over the last dimensions of both; if either is a 0-d tensor, return `input * other`.

    Args:
        input: a tensor `(*, n)`, or a 0-d tensor.
        other: a tensor `(*, n)`, or a 0-d tensor; the other dimensions of both are independent.
        out: a tensor that the result is written to.

    Raises:
        RuntimeError: the last sizes differ.

    >>> torch.inner(torch.tensor([1, 2, 3]), torch.tensor([0, 2, 1]))
    tensor(7)
    """
def instance_norm(input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None, running_var: Tensor | None, use_input_stats: _bool, momentum: _float, eps: _float, cudnn_enabled: _bool = ...) -> Tensor:
    """Normalize each channel of each sample separately (Ulyanov et al. 2016, "Instance normalization").

    Args:
        input: a tensor `(N, C, *)`.
        weight, bias: vectors of length `C` that scale and shift the normalized channels; None for 1 and 0.
        running_mean, running_var: vectors of length `C`, updated in place with the means over the batch; None for no running
            statistics.
        use_input_stats: whether to use the statistics of each sample instead of the running ones.
        momentum: the weight of the new statistics in the update of the running ones.
        eps: a number added to the variance.
        cudnn_enabled: ignored.

    >>> torch.instance_norm(torch.tensor([[[1.0, 3.0]]]), None, None, None, None, True, 0.1, 1e-5, True)
    tensor([[[-1.0000,  1.0000]]])
    """
def inverse(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the inverses of square matrices; see `torch.linalg.inv`."""
def is_complex(input: Tensor) -> _bool:
    """Whether the dtype is complex."""
def is_conj(input: Tensor) -> _bool:
    """Whether the tensor is a lazily conjugated view of its memory."""
def is_distributed(input: Tensor, *args: Any, **kwargs: Any) -> _bool:
    """Return False, as PyTorch always does; this is a legacy method."""
def is_floating_point(input: Tensor) -> _bool:
    """Whether the dtype is floating-point."""
def is_inference(input: Tensor) -> _bool:
    """Whether the tensor was created in inference mode."""
def is_neg(input: Tensor) -> _bool:
    """Whether the tensor is a lazily negated view of its memory."""
def is_nonzero(input: Tensor) -> _bool:
    """Whether the only element is not 0.  Raises RuntimeError unless the tensor has exactly one element."""
def is_same_size(input: Tensor, *args: Any, **kwargs: Any) -> _bool:
    """Whether both tensors have the same shape.

    Args:
        other: the other tensor.
    """
def is_signed(input: Tensor) -> _bool:
    """Whether the dtype can hold negative numbers."""
def isclose(input: Tensor, other: Tensor, rtol: _float = ..., atol: _float = ..., equal_nan: _bool = ...) -> Tensor:
    """True where `|input - other| <= atol + rtol * |other|`, element by element.

    Args:
        input, other: tensors of the same dtype whose shapes can be broadcast.
        rtol: the relative tolerance, multiplied by `|other|`.
        atol: the absolute tolerance.
        equal_nan: whether two NaN are close.

    Raises:
        RuntimeError: the dtypes differ, or a tolerance is negative.

    >>> torch.isclose(torch.tensor([1.0, torch.nan]), torch.tensor([1.0 + 1e-7, torch.nan]))
    tensor([ True, False])
    """
def isfinite(input: Tensor) -> Tensor:
    """True where the element is finite."""
def isin(elements: Tensor | None = ..., test_elements: Tensor | None = ..., *, element: _int | _float | _complex | None = ..., test_element: _int | _float | _complex | None = ..., assume_unique: _bool = ..., invert: _bool = ..., out: Tensor | None = ...) -> Tensor:
    """Return a mask: for each element, whether it is in `test_elements`.

    Args:
        elements: a tensor or a number.
        test_elements: a tensor or a number; one of both is a tensor.
        element, test_element: keywords for numbers, instead of `elements` and `test_elements`.
        assume_unique: whether both tensors have no repeated elements; it has no effect.
        invert: whether to return the inverse mask.
        out: a tensor that the result is written to.

    Raises:
        RuntimeError: the dtype is bool or complex.

    >>> torch.isin(torch.tensor([1, 2, 3]), torch.tensor([2, 4]))
    tensor([False,  True, False])
    """
def isinf(input: Tensor) -> Tensor:
    """True where the element is infinite."""
def isnan(input: Tensor) -> Tensor:
    """True where the element is NaN."""
def isneginf(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """True where the element is minus infinity."""
def isposinf(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """True where the element is plus infinity."""
def isreal(input: Tensor) -> Tensor:
    """True where the imaginary part is 0, which is everywhere for a real tensor."""
def istft(input: Tensor, n_fft: _int, hop_length: _int | None = ..., win_length: _int | None = ..., window: Tensor | None = ..., center: _bool = ..., normalized: _bool = ..., onesided: _bool | None = ..., length: _int | None = ..., return_complex: _bool = ...) -> Tensor:
    """Reconstruct a signal from its short-time spectra, the inverse of `stft`, by overlap-add (Griffin and Lim, 1984).

    Args:
        input: a complex tensor `(*, frequencies, frames)` with at most one batch dimension, as `stft` returns it.
        n_fft: the size of the Fourier transforms.
        hop_length: the distance between frames; None for `n_fft // 4`.
        win_length: the size of the window; None for `n_fft`. A shorter window is padded with zeros on both sides.
        window: the window that `stft` used, of size `win_length`; None for a rectangular window.
        center: whether `stft` padded the signal, so that frame `t` is centred at `t * hop_length`.
        normalized: whether `stft` divided by `sqrt(n_fft)`.
        onesided: whether the spectra have only the non-negative frequencies; None for True unless there are `n_fft`.
        length: the length of the signal, which is trimmed or padded with zeros; None for the length that the frames cover.
        return_complex: whether the signal is complex; `onesided` is then False.

    Raises:
        RuntimeError: the sum of the squared windows is 0 at some position.

    >>> x = torch.arange(8.0)
    >>> torch.istft(torch.stft(x, 4, return_complex=True), 4).allclose(x, atol=1e-5)
    True
    """
def kaiser_window(window_length: _int, periodic: _bool = ..., beta: _float = ..., *, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool | None = ...) -> Tensor:
    """Return the Kaiser window: `I0(beta sqrt(1 - (2 n / N - 1)**2)) / I0(beta)`, with the modified Bessel function `I0`.

    Args:
        window_length: the number of elements.
        periodic: whether the window is one period, `N = window_length`, for spectral analysis; otherwise, it is symmetric,
            `N = window_length - 1`, for the design of filters.
        beta: the shape; a larger number gives lower sidelobes and a wider main lobe.
        dtype: the dtype of the result; None for the default dtype.
        device: the device of the result; None for the default device.
        layout: the layout of the result; None for `torch.strided`.
        requires_grad: whether autograd records operations on the result.
        pin_memory: whether the result is in page-locked memory, from which copies to a GPU are faster.

    Raises:
        RuntimeError: the length is negative, or the dtype is not floating-point.

    >>> torch.kaiser_window(5, periodic=False, beta=1.0)
    tensor([0.7898, 0.9450, 1.0000, 0.9450, 0.7898])
    """
def kron(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the Kronecker product: blocks `input[i, j] * other`.

    Args:
        input: a tensor of any shape.
        other: a tensor; dimensions of size 1 are added in front of the one with fewer dimensions.
        out: a tensor that the result is written to.

    >>> torch.kron(torch.tensor([1, 10]), torch.tensor([1, 2]))
    tensor([ 1,  2, 10, 20])
    """
def kthvalue(input: Tensor, k: _int, dim: _int = ..., keepdim: _bool = ..., *, out: Sequence[Tensor] | None = ...) -> return_types.kthvalue:
    """Return the `k`-th smallest element (counted from 1) along `dim`, and its index.

    Args:
        input: a tensor of an integer or floating-point dtype.
        k: the position in ascending order, from 1 to the size of `dim`.
        dim: the dimension to reduce.
        keepdim: whether the reduced dimension is kept with size 1.
        out: tensors that the results are written to.

    Raises:
        RuntimeError: `k` is out of range.

    >>> torch.kthvalue(torch.tensor([3, 1, 2]), 2)
    torch.return_types.kthvalue(
    values=tensor(2),
    indices=tensor(2))
    """
def layer_norm(input: Tensor, normalized_shape: Sequence[_int], weight: Tensor | None = ..., bias: Tensor | None = ..., eps: _float = ..., cudnn_enable: _bool = ...) -> Tensor:
    """Normalize over the last dimensions, which have the shape `normalized_shape` (Ba et al. 2016, "Layer normalization").

    Args:
        input: a tensor `(*, *normalized_shape)`.
        normalized_shape: the sizes of the last dimensions.
        weight, bias: tensors of the shape `normalized_shape` that scale and shift the result; None for 1 and 0.
        eps: a number added to the variance.
        cudnn_enable: ignored.

    Raises:
        RuntimeError: the shapes do not fit.

    >>> torch.layer_norm(torch.tensor([[1.0, 3.0]]), [2])
    tensor([[-1.0000,  1.0000]])
    """
def lcm(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the least common multiple of integers; it is 0 if either is 0.

    Args:
        input: an integer tensor.
        other: an integer tensor that can be broadcast with `input`.
        out: a tensor that the result is written to.

    >>> torch.lcm(torch.tensor([4, 7]), torch.tensor([6, 0]))
    tensor([12,  0])
    """
def lcm_(input: Tensor, other: Tensor) -> Tensor:
    """In-place form of `lcm`.

    Args:
        other: an integer tensor that can be broadcast with `input`.
    """
def ldexp(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return `input * 2**other`.

    Args:
        input: a tensor of any shape.
        other: a tensor of exponents that can be broadcast with `input`.
        out: a tensor that the result is written to.

    >>> torch.ldexp(torch.tensor([1.0, 3.0]), torch.tensor([2, -1]))
    tensor([4.0000, 1.5000])
    """
def ldexp_(input: Tensor, other: Tensor) -> Tensor:
    """In-place form of `ldexp`.

    Args:
        other: a tensor of exponents that can be broadcast with `input`.
    """
def le(input: Tensor, other: _int | _float | _complex | Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return `input <= other`, element by element, as a bool tensor.

    Args:
        input: a tensor of a real dtype.
        other: a tensor that can be broadcast with `input`, or a number.
        out: a tensor that the result is written to.

    >>> torch.le(torch.tensor([1, 2, 3]), 2)
    tensor([ True,  True, False])
    """
def lerp(input: Tensor, end: Tensor, weight: _int | _float | _complex | Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Linear interpolation: `input + weight * (end - input)`, exact at both ends.

    Args:
        input: the tensor of start values, of a floating-point or complex dtype.
        end: a tensor of end values with the dtype of `input`, which can be broadcast with it.
        weight: the position between start (0) and end (1): a number, or a tensor that can be broadcast with `input`.
        out: a tensor that the result is written to.

    Raises:
        RuntimeError: the dtypes of `input`, `end` and a tensor `weight` differ.

    >>> torch.lerp(torch.tensor([0.0, 10.0]), torch.tensor([10.0, 20.0]), 0.25)
    tensor([ 2.5000, 12.5000])
    """
def less(input: Tensor, other: _int | _float | _complex | Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return `input < other`, element by element, as a bool tensor.

    Args:
        input: a tensor of a real dtype.
        other: a tensor that can be broadcast with `input`, or a number.
        out: a tensor that the result is written to.

    >>> torch.lt(torch.tensor([1, 2, 3]), 2)
    tensor([ True, False, False])
    """
def less_equal(input: Tensor, other: _int | _float | _complex | Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return `input <= other`, element by element, as a bool tensor.

    Args:
        input: a tensor of a real dtype.
        other: a tensor that can be broadcast with `input`, or a number.
        out: a tensor that the result is written to.

    >>> torch.le(torch.tensor([1, 2, 3]), 2)
    tensor([ True,  True, False])
    """
def lgamma(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the logarithm of the absolute value of the gamma function.

    >>> torch.lgamma(torch.tensor([0.5, 1.0, 5.0]))
    tensor([0.5724, 0.0000, 3.1781])
    """
def linspace(start: Tensor | _int | _float | _complex, end: Tensor | _int | _float | _complex, steps: _int = ..., *, out: Tensor | None = ..., dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., requires_grad: _bool | None = ..., pin_memory: _bool | None = ...) -> Tensor:
    """Return `steps` numbers from `start` to `end`, both included, evenly spaced.

    Args:
        start, end: the first and the last number: numbers or 0-d tensors.
        steps: the number of elements.
        out: a tensor that the result is written to.
        dtype: the dtype of the result; None for the default dtype, or for the complex one if a bound is complex.
        device: the device of the result; None for the default device.
        layout: the layout of the result; None for `torch.strided`.
        requires_grad: whether autograd records operations on the result.
        pin_memory: whether the result is in page-locked memory, from which copies to a GPU are faster.

    Raises:
        RuntimeError: `steps` is negative.

    >>> torch.linspace(0, 1, 5)
    tensor([0.0000, 0.2500, 0.5000, 0.7500, 1.0000])
    """
def lobpcg(A: Tensor, k: _int | None = ..., B: Tensor | None = ..., X: Tensor | None = ..., n: _int | None = ..., iK: Tensor | None = ..., niter: _int | None = ..., tol: _float | None = ..., largest: _bool | None = ..., method: str | None = ..., tracker: Any = ..., ortho_iparams: Any = ..., ortho_fparams: Any = ..., ortho_bparams: Any = ...) -> tuple[Tensor, Tensor]:
    """Return the `k` largest (or smallest) eigenvalues of `A x = lambda B x` for symmetric `A` and positive-definite `B`.

    Unlike PyTorch's iteration, this computes all eigenvalues by `torch.linalg.eigh`.

    Args:
        A: symmetric or Hermitian matrices `(*, n, n)`.
        k: the number of eigenvalues; None for the number of columns of `X`, or for 1 without `X`.
        B: positive-definite matrices `(*, n, n)`; None for the identity.
        X: a tensor whose last size is the default of `k`; its elements are ignored.
        n: the number of columns of PyTorch's initial guess; `A` must have at least `3 * n` rows (`3 * k` for None).
        iK, niter, tol, method, tracker, ortho_iparams, ortho_fparams, ortho_bparams: ignored.
        largest: whether to return the largest eigenvalues (also for None) or the smallest.

    Raises:
        ValueError: `A` has too few rows.

    >>> torch.lobpcg(torch.diag(torch.tensor([1.0, 5.0, 3.0])))[0]
    tensor([5.])
    """
def log(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the natural logarithm."""
def log10(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the logarithm to base 10."""
def log10_(input: Tensor) -> Tensor:
    """In-place form of `log10`."""
def log1p(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return `log(1 + x)`, accurate near 0."""
def log1p_(input: Tensor) -> Tensor:
    """In-place form of `log1p`."""
def log2(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the logarithm to base 2."""
def log2_(input: Tensor) -> Tensor:
    """In-place form of `log2`."""
def log_(input: Tensor) -> Tensor:
    """In-place form of `log`."""
def log_softmax(input: Tensor, dim: _int, dtype: _dtype | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return the logarithm of the softmax along `dim`, computed without overflow.

    Args:
        input: a floating-point tensor, or a tensor of any dtype if `dtype` is given.
        dim: the dimension along which the exponentials sum to 1.
        dtype: the dtype of the result, to which `input` is converted first; None for the dtype of `input`.
        out: a tensor that the result is written to.

    >>> torch.log_softmax(torch.tensor([0.0, 0.0]), 0)
    tensor([-0.6931, -0.6931])
    """
def logaddexp(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return `log(exp(input) + exp(other))` without overflow of the exponentials.

    Args:
        input: a floating-point or complex tensor.
        other: a tensor that can be broadcast with `input`.
        out: a tensor that the result is written to.

    >>> torch.logaddexp(torch.tensor([0.0, 1000.0]), torch.tensor([0.0, 0.0]))
    tensor([6.9315e-01, 1.0000e+03])
    """
def logaddexp2(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return `log2(2**input + 2**other)` without overflow of the powers.

    Args:
        input: a floating-point tensor.
        other: a tensor that can be broadcast with `input`.
        out: a tensor that the result is written to.

    >>> torch.logaddexp2(torch.tensor([0.0, 2000.0]), torch.tensor([0.0, 0.0]))
    tensor([1.0000e+00, 2.0000e+03])
    """
def logcumsumexp(input: Tensor, dim: _int, *, out: Tensor | None = ...) -> Tensor:
    """Return the cumulative `log(sum(exp(input)))` along `dim`.

    Args:
        input: a floating-point or complex tensor.
        dim: the dimension along which to accumulate.
        out: a tensor that the result is written to.

    >>> torch.logcumsumexp(torch.zeros(3), 0)
    tensor([0.0000, 0.6931, 1.0986])
    """
def logdet(input: Tensor) -> Tensor:
    """Return the logarithms of determinants: NaN for a negative determinant, `-inf` for 0."""
def logical_and(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the logical and of both operands; a nonzero element is true.

    Args:
        input: a tensor of any shape.
        other: a tensor that can be broadcast with `input`.
        out: a tensor that the result is written to.

    >>> torch.logical_and(torch.tensor([1, 1]), torch.tensor([0, 1]))
    tensor([False,  True])
    """
def logical_not(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return True where the element is 0."""
def logical_or(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the logical or of both operands; a nonzero element is true.

    Args:
        input: a tensor of any shape.
        other: a tensor that can be broadcast with `input`.
        out: a tensor that the result is written to.

    >>> torch.logical_or(torch.tensor([1, 1]), torch.tensor([0, 1]))
    tensor([True, True])
    """
def logical_xor(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the logical xor of both operands; a nonzero element is true.

    Args:
        input: a tensor of any shape.
        other: a tensor that can be broadcast with `input`.
        out: a tensor that the result is written to.

    >>> torch.logical_xor(torch.tensor([1, 1]), torch.tensor([0, 1]))
    tensor([ True, False])
    """
def logit(input: Tensor, eps: _float | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return `log(x / (1 - x))`, the inverse of sigmoid; with `eps`, `x` is clamped to `[eps, 1 - eps]`.

    Args:
        input: a tensor of a real dtype.
        eps: the distance of the bounds from 0 and 1; None for no bounds, so that the result is NaN outside of [0, 1].
        out: a tensor that the result is written to.

    >>> torch.logit(torch.tensor([0.5, 0.9]))
    tensor([0.0000, 2.1972])
    """
def logit_(input: Tensor, eps: _float | None = ...) -> Tensor:
    """In-place form of `logit`.

    Args:
        eps: the distance of the bounds from 0 and 1; None for no bounds, so that the result is NaN outside of [0, 1].
    """
def logspace(start: Tensor | _int | _float | _complex, end: Tensor | _int | _float | _complex, steps: _int = ..., base: _float = ..., *, out: Tensor | None = ..., dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., requires_grad: _bool | None = ..., pin_memory: _bool | None = ...) -> Tensor:
    """Return `base ** exponent` for the exponents `linspace(start, end, steps)`.

    Args:
        start, end: the first and the last exponent: numbers or 0-d tensors.
        steps: the number of elements.
        base: the base of the powers.
        out: a tensor that the result is written to.
        dtype: the dtype of the result; None for the default dtype, or for the complex one if a bound is complex.
        device: the device of the result; None for the default device.
        layout: the layout of the result; None for `torch.strided`.
        requires_grad: whether autograd records operations on the result.
        pin_memory: whether the result is in page-locked memory, from which copies to a GPU are faster.

    Raises:
        RuntimeError: `steps` is negative.

    >>> torch.logspace(0, 3, 4)
    tensor([   1.,   10.,  100., 1000.])
    """
def logsumexp(input: Tensor, dim: _int | Sequence[_int], keepdim: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return `log(sum(exp(input)))` over `dim` without overflow.

    Args:
        input: a tensor of any shape; an integer tensor is converted to the default dtype.
        dim: the dimension or dimensions to reduce.
        keepdim: whether reduced dimensions are kept with size 1.
        out: a tensor that the result is written to.

    >>> torch.logsumexp(torch.tensor([1000.0, 1000.0]), 0)
    tensor(1000.6932)
    """
def lstsq(input: Tensor, *args: Any, **kwargs: Any) -> Sequence[Tensor]:
    """Raise a RuntimeError that names the replacement of the removed function `lstsq`."""
def lt(input: Tensor, other: _int | _float | _complex | Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return `input < other`, element by element, as a bool tensor.

    Args:
        input: a tensor of a real dtype.
        other: a tensor that can be broadcast with `input`, or a number.
        out: a tensor that the result is written to.

    >>> torch.lt(torch.tensor([1, 2, 3]), 2)
    tensor([ True, False, False])
    """
def lu(A: Tensor, pivot: _bool = ..., get_infos: _bool = ..., out: Tensor | None = ...) -> Any:
    """Return `(LU, pivots)` of `torch.linalg.lu_factor`; with `get_infos`, a named tuple that also contains `info`.

    Args:
        A: the matrices `(*, m, n)`.
        pivot: whether rows are exchanged; without, the factorization can fail and is less accurate.
        get_infos: whether to return `info` as well: an integer for each matrix, 0 if its factorization succeeded.
        out: tensors that the results are written to.

    >>> LU, pivots = torch.lu(torch.tensor([[1.0, 2.0], [2.0, 2.0]]))
    >>> LU
    tensor([[2.0000, 2.0000],
            [0.5000, 1.0000]])
    """
def lu_solve(input: Tensor, LU_data: Tensor, LU_pivots: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Solve `A X = input`, given the LU factorization of `A`.

    Args:
        input: the right-hand sides `(*, n, k)`.
        LU_data, LU_pivots: the results of `torch.linalg.lu_factor(A)`.
        out: a tensor that the result is written to.

    >>> LU, pivots = torch.linalg.lu_factor(torch.tensor([[2.0, 0.0], [0.0, 4.0]]))
    >>> torch.lu_solve(torch.tensor([[2.0], [4.0]]), LU, pivots)
    tensor([[1.],
            [1.]])
    """
def lu_unpack(LU_data: Tensor, LU_pivots: Tensor, unpack_data: _bool = ..., unpack_pivots: _bool = ..., *, out: Tensor | None = ...) -> return_types.lu_unpack:
    """Return `P`, `L` and `U` from the compact result of `torch.linalg.lu_factor`.

    `P` is empty without `unpack_pivots`, `L` and `U` are empty without `unpack_data`.

    Args:
        LU_data, LU_pivots: the results of `torch.linalg.lu_factor(A)`, where `A = P L U`.
        unpack_data: whether to compute `L` and `U`.
        unpack_pivots: whether to compute the permutation matrices `P`.
        out: tensors that the results are written to.

    Raises:
        RuntimeError: `LU_pivots` is not int32 or has an element that is not the number of a row.

    >>> P, L, U = torch.lu_unpack(*torch.linalg.lu_factor(torch.tensor([[1.0, 2.0], [2.0, 2.0]])))
    >>> P @ L @ U
    tensor([[1., 2.],
            [2., 2.]])
    """
def masked_fill(input: Tensor, mask: Tensor, value: _int | _float | _complex | Tensor) -> Tensor:
    """Return a copy of `input` with `value` (a number or 0-d tensor) where `mask` is True.

    Args:
        mask: a bool tensor that can be broadcast to the shape of `input`.
        value: the number.

    >>> torch.masked_fill(torch.tensor([1, 2]), torch.tensor([True, False]), 0)
    tensor([0, 2])
    """
def masked_scatter(input: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """Return `input` with its elements where `mask` is True replaced by those of `source`, in order.

    Args:
        mask: a bool tensor that can be broadcast with `input`.
        source: a tensor with the dtype of `input`, and at least as many elements as `mask` has True ones.

    Raises:
        RuntimeError: the dtypes do not match, or `source` has too few elements.

    >>> torch.masked_scatter(torch.zeros(3), torch.tensor([True, False, True]), torch.tensor([1.0, 2.0]))
    tensor([1., 0., 2.])
    """
def masked_select(input: Tensor, mask: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return a vector of the elements where `mask` is True.

    Args:
        mask: a bool tensor that can be broadcast with `input`.

    >>> torch.masked_select(torch.tensor([1, 2]), torch.tensor([True, False]))
    tensor([1])
    """
def matmul(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the product of vectors, matrices or batches of matrices, depending on the numbers of dimensions.

    Args:
        other: a vector, a matrix `(m, p)`, or matrices `(*, m, p)`. Batch dimensions are broadcast.

    Raises:
        RuntimeError: the inner sizes differ, or an argument is a 0-d tensor.

    >>> torch.matmul(torch.ones(3, 4, 5), torch.ones(5, 2)).shape
    torch.Size([3, 4, 2])
    """
def matrix_exp(input: Tensor) -> Tensor:
    """Compute the exponential of square matrices; see `torch.linalg.matrix_exp`."""
def matrix_power(input: Tensor, n: _int, *, out: Tensor | None = ...) -> Tensor:
    """Return the `n`-th power of square matrices; see `torch.linalg.matrix_power`.

    Args:
        n: the exponent; if negative, the power of the inverses is returned.
    """
def matrix_rank(input: Tensor, *args: Any, **kwargs: Any) -> Sequence[Tensor]:
    """Raise a RuntimeError that names the replacement of the removed function `matrix_rank`."""
@overload
def max(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the maximum of all elements, of each slice over `dim` with its index, or of two tensors.

    The forms are `max(input)`, `max(input, dim, keepdim)`, which returns `(values, indices)`, and `max(input, other)`.

    Args:
        dim: the dimension to reduce.
        keepdim: whether the reduced dimension is kept with length 1.
        other: a tensor that can be broadcast with `input`, to compare element by element; see `torch.maximum`.

    Raises:
        RuntimeError: `input` is empty and no `dim` is given.
        IndexError: the length of `dim` is 0.

    >>> torch.max(torch.tensor([[1, 4], [3, 2]]), 1).values
    tensor([4, 3])
    """
@overload
def max(input: Tensor, dim: _int, keepdim: _bool = ..., *, out: Sequence[Tensor] | None = ...) -> return_types.max: ...
@overload
def max(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor: ...
def max_pool1d(input: Tensor, kernel_size: _int | Sequence[_int], stride: _int | Sequence[_int] | None = ..., padding: _int | Sequence[_int] = ..., dilation: _int | Sequence[_int] = ..., ceil_mode: _bool = ...) -> Tensor:
    """Return the maximum of each window of `(N, C, L)` or `(C, L)`; see `torch.nn.functional.max_pool2d`.

    Args:
        kernel_size: the size of a window: one number, or one for each dimension.
        stride: the distance between windows; None or () for `kernel_size`.
        padding: the number of places added on each side, at most half of the window; they are never the maximum.
        dilation: the distance between the elements of a window.
        ceil_mode: whether sizes are rounded up, so that the last window may exceed the padded input.

    >>> torch.max_pool1d(torch.tensor([[1.0, 3.0, 2.0, 0.0]]), 2)
    tensor([[3., 2.]])
    """
def max_pool1d_with_indices(input: Tensor, kernel_size: _int | Sequence[_int], stride: _int | Sequence[_int] | None = ..., padding: _int | Sequence[_int] = ..., dilation: _int | Sequence[_int] = ..., ceil_mode: _bool = ...) -> tuple[Tensor, Tensor]:
    """Return the maximum of each window of `(N, C, L)` or `(C, L)`, and its index.

    Args:
        kernel_size: the size of a window: one number, or one for each dimension.
        stride: the distance between windows; None or () for `kernel_size`.
        padding: the number of places added on each side, at most half of the window; they are never the maximum.
        dilation: the distance between the elements of a window.
        ceil_mode: whether sizes are rounded up, so that the last window may exceed the padded input.

    >>> torch.max_pool1d_with_indices(torch.tensor([[1.0, 3.0, 2.0, 0.0]]), 2)
    (tensor([[3., 2.]]), tensor([[1, 2]]))
    """
def max_pool2d(input: Tensor, kernel_size: _int | Sequence[_int], stride: _int | Sequence[_int] | None = ..., padding: _int | Sequence[_int] = ..., dilation: _int | Sequence[_int] = ..., ceil_mode: _bool = ...) -> Tensor:
    """Return the maximum of each window of `(N, C, H, W)` or `(C, H, W)`; see `torch.nn.functional.max_pool2d`.

    Args:
        kernel_size: the size of a window: one number, or one for each dimension.
        stride: the distance between windows; None or () for `kernel_size`.
        padding: the number of places added on each side, at most half of the window; they are never the maximum.
        dilation: the distance between the elements of a window.
        ceil_mode: whether sizes are rounded up, so that the last window may exceed the padded input.

    >>> torch.max_pool2d(torch.tensor([[[1.0, 2.0], [3.0, 4.0]]]), 2)
    tensor([[[4.]]])
    """
def max_pool3d(input: Tensor, kernel_size: _int | Sequence[_int], stride: _int | Sequence[_int] | None = ..., padding: _int | Sequence[_int] = ..., dilation: _int | Sequence[_int] = ..., ceil_mode: _bool = ...) -> Tensor:
    """Return the maximum of each window of `(N, C, D, H, W)` or `(C, D, H, W)`; see `torch.nn.functional.max_pool2d`.

    Args:
        kernel_size: the size of a window: one number, or one for each dimension.
        stride: the distance between windows; None or () for `kernel_size`.
        padding: the number of places added on each side, at most half of the window; they are never the maximum.
        dilation: the distance between the elements of a window.
        ceil_mode: whether sizes are rounded up, so that the last window may exceed the padded input.

    >>> torch.max_pool3d(torch.ones(1, 2, 2, 2), 2)
    tensor([[[[1.]]]])
    """
def maximum(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the larger of `input` and `other`, element by element; NaN where either is NaN.

    Args:
        other: a tensor that can be broadcast with `input`.

    >>> torch.maximum(torch.tensor([1, 5]), torch.tensor([3, 2]))
    tensor([3, 5])
    """
def mean(input: Tensor, dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ..., *, dtype: _dtype | None = ..., out: Tensor | None = ...) -> Tensor:
    """Return the mean of all elements, or over the dimensions `dim`.

    Args:
        dim: the dimensions to reduce, an int or a tuple; None for all.
        keepdim: whether the reduced dimensions are kept with length 1.
        dtype: the dtype of the result, to which `input` is converted before the summation; None for that of `input`.

    Raises:
        RuntimeError: the dtype is neither floating point nor complex.

    >>> torch.tensor([[1.0, 2.0], [3.0, 4.0]]).mean(0)
    tensor([2., 3.])
    """
@overload
def median(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the median of all elements, or of each slice over `dim` with its index.

    For an even number of elements, it is the lower of the two middle ones.  NaN is larger than any number.

    Args:
        dim: the dimension to reduce; None for all elements, without an index.
        keepdim: whether the reduced dimension is kept with length 1.

    >>> torch.tensor([3.0, 1.0, 2.0, 4.0]).median()
    tensor(2.)
    """
@overload
def median(input: Tensor, dim: _int, keepdim: _bool = ..., *, out: Sequence[Tensor] | None = ...) -> return_types.median: ...
def meshgrid(*tensors: Tensor | Sequence[Tensor], indexing: str | None = ...) -> tuple[Tensor, ...]:
    """Return the coordinates of a grid: each vector expanded along the dimensions of all others.

    With `indexing="ij"`, dimension `i` of the grid belongs to vector `i`; with "xy", the first two dimensions are swapped.

    Args:
        *tensors: vectors or 0-d tensors, as arguments or in one sequence.
        indexing: "ij" if dimension `i` of the results belongs to vector `i`, "xy" if the first two dimensions are swapped; None
            for "ij".

    >>> torch.meshgrid(torch.tensor([1, 2]), torch.tensor([3, 4, 5]), indexing="ij")[0].shape
    torch.Size([2, 3])
    """
@overload
def min(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the minimum of all elements, of each slice over `dim` with its index, or of two tensors.

    The forms are `min(input)`, `min(input, dim, keepdim)`, which returns `(values, indices)`, and `min(input, other)`.

    Args:
        dim: the dimension to reduce.
        keepdim: whether the reduced dimension is kept with length 1.
        other: a tensor that can be broadcast with `input`, to compare element by element; see `torch.minimum`.

    Raises:
        RuntimeError: `input` is empty and no `dim` is given.
        IndexError: the length of `dim` is 0.

    >>> torch.min(torch.tensor([[1, 4], [3, 2]]), 1).values
    tensor([1, 2])
    """
@overload
def min(input: Tensor, dim: _int, keepdim: _bool = ..., *, out: Sequence[Tensor] | None = ...) -> return_types.min: ...
@overload
def min(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor: ...
def minimum(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the smaller of `input` and `other`, element by element; NaN where either is NaN.

    Args:
        other: a tensor that can be broadcast with `input`.

    >>> torch.minimum(torch.tensor([1, 5]), torch.tensor([3, 2]))
    tensor([1, 2])
    """
def mm(input: Tensor, mat2: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Multiply two matrices, `(n, m) @ (m, p) -> (n, p)`.

    Args:
        mat2: a matrix `(m, p)`.

    Raises:
        RuntimeError: an argument is not a matrix, or the inner sizes differ.

    >>> torch.mm(torch.ones(2, 3), torch.ones(3, 1))
    tensor([[3.],
            [3.]])
    """
def mode(input: Tensor, dim: _int = ..., keepdim: _bool = ..., *, out: Sequence[Tensor] | None = ...) -> return_types.mode:
    """Return the most frequent element along `dim` (of several, the smallest) and its last index.  NaN equals no other NaN.

    Args:
        dim: the dimension to reduce.
        keepdim: whether the reduced dimension is kept with length 1.

    >>> torch.tensor([2, 1, 2]).mode().values
    tensor(2)
    """
def moveaxis(input: Tensor, source: _int | Sequence[_int], destination: _int | Sequence[_int]) -> Tensor:
    """Return a view with dimensions `source` moved to `destination`; the others keep their order.

    Args:
        source: one dimension or several, which are moved.
        destination: their positions in the result.

    Raises:
        RuntimeError: the numbers of dimensions differ, or a dimension is repeated.

    >>> torch.movedim(torch.zeros(2, 3, 4), 0, 2).shape
    torch.Size([3, 4, 2])
    """
def movedim(input: Tensor, source: _int | Sequence[_int], destination: _int | Sequence[_int]) -> Tensor:
    """Return a view with dimensions `source` moved to `destination`; the others keep their order.

    Args:
        source: one dimension or several, which are moved.
        destination: their positions in the result.

    Raises:
        RuntimeError: the numbers of dimensions differ, or a dimension is repeated.

    >>> torch.movedim(torch.zeros(2, 3, 4), 0, 2).shape
    torch.Size([3, 4, 2])
    """
def msort(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Sort the elements along the first dimension."""
def mul(input: Tensor, other: Tensor | _int | _float | _complex, *, out: Tensor | None = ...) -> Tensor:
    """Return the product `input * other`, element by element, broadcast.

    Args:
        other: a tensor that can be broadcast with `input`, or a number.

    >>> torch.mul(torch.tensor([1, 2]), 2.5)
    tensor([2.5000, 5.0000])
    """
def multinomial(input: Tensor, num_samples: _int, replacement: _bool = ..., *, generator: Generator | None = ..., out: Tensor | None = ...) -> Tensor:
    """Draw indices with probabilities proportional to each row of `input`, by default without replacement.

    Args:
        num_samples: the number of indices for each row.
        replacement: whether an index may be drawn several times.
        generator: the random number generator; None for the default generator of the device.

    Raises:
        RuntimeError: a weight is negative, infinite or NaN, or too few weights are nonzero.

    >>> torch.multinomial(torch.tensor([0.0, 1.0]), 3, replacement=True)
    tensor([1, 1, 1])
    """
def multiply(input: Tensor, other: Tensor | _int | _float | _complex, *, out: Tensor | None = ...) -> Tensor:
    """Return the product `input * other`, element by element, broadcast.

    Args:
        other: a tensor that can be broadcast with `input`, or a number.

    >>> torch.mul(torch.tensor([1, 2]), 2.5)
    tensor([2.5000, 5.0000])
    """
def mv(input: Tensor, vec: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Multiply a matrix and a vector, `(n, m) @ (m,) -> (n,)`.

    Args:
        vec: a vector `(m,)`.

    Raises:
        RuntimeError: `input` is not a matrix, `vec` is not a vector, or their sizes do not match.

    >>> torch.mv(torch.ones(2, 3), torch.ones(3))
    tensor([3., 3.])
    """
def mvlgamma(input: Tensor, p: _int, *, out: Tensor | None = ...) -> Tensor:
    """Return the logarithm of the multivariate gamma function of dimension `p`.

    Args:
        input: a real tensor whose elements are above `(p - 1) / 2`.
        p: the dimension, at least 1.

    >>> torch.mvlgamma(torch.tensor([2.0]), 2)
    tensor([0.4516])
    """
def nan_to_num(input: Tensor, nan: _float | None = ..., posinf: _float | None = ..., neginf: _float | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Replace NaN, inf and -inf by the given numbers: by default, by 0, the largest and the smallest number of the dtype.

    Args:
        nan: the replacement of NaN; None for 0.
        posinf: the replacement of inf; None for the largest number of the dtype.
        neginf: the replacement of -inf; None for the smallest number of the dtype.

    >>> torch.nan_to_num(torch.tensor([torch.nan, torch.inf, 1.0]), posinf=9.0)
    tensor([0., 9., 1.])
    """
def nan_to_num_(input: Tensor, nan: _float | None = ..., posinf: _float | None = ..., neginf: _float | None = ...) -> Tensor:
    """In-place form of `nan_to_num`.

    Args:
        nan: the replacement of NaN; None for 0.
        posinf: the replacement of inf; None for the largest number of the dtype.
        neginf: the replacement of -inf; None for the smallest number of the dtype.
    """
def nanmean(input: Tensor, dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ..., *, dtype: _dtype | None = ..., out: Tensor | None = ...) -> Tensor:
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
@overload
def nanmedian(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the median of the elements that are not NaN.

    Args:
        dim: the dimension to reduce; None for all elements, without an index.
        keepdim: whether the reduced dimension is kept with length 1.

    >>> torch.tensor([3.0, torch.nan, 1.0]).nanmedian()
    tensor(1.)
    """
@overload
def nanmedian(input: Tensor, dim: _int, keepdim: _bool = ..., *, out: Sequence[Tensor] | None = ...) -> return_types.nanmedian: ...
def nanquantile(input: Tensor, q: Tensor | _int | _float | _complex, dim: _int | None = ..., keepdim: _bool = ..., *, interpolation: str = ..., out: Tensor | None = ...) -> Tensor:
    """Return the `q`-quantiles of the elements that are not NaN.

    Args:
        q: one or several probabilities in [0, 1], a number or a tensor with the dtype of `input`.
        dim: the dimension to reduce; None for all, as one vector.
        keepdim: whether the reduced dimensions are kept with length 1.
        interpolation: "linear", "lower", "higher", "midpoint" or "nearest", as for `quantile`.

    >>> torch.nanquantile(torch.tensor([0.0, torch.nan, 1.0]), 0.5)
    tensor(0.5000)
    """
def nansum(input: Tensor, dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ..., *, dtype: _dtype | None = ..., out: Tensor | None = ...) -> Tensor:
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
def narrow(input: Tensor, dim: _int, start: _int | Tensor, length: _int) -> Tensor:
    """Return a view of `length` slices of dimension `dim`, starting at `start`.

    Args:
        dim: the dimension to narrow.
        start: the index of the first slice, an int or a 0-d integer tensor; negative from the end.
        length: the number of slices.

    Raises:
        RuntimeError: the slices exceed the dimension.

    >>> torch.narrow(torch.arange(5), 0, 1, 2)
    tensor([1, 2])
    """
def narrow_copy(input: Tensor, dim: _int, start: _int, length: _int, *, out: Tensor | None = ...) -> Tensor:
    """Return a copy of `length` slices of dimension `dim`, starting at `start`; see `narrow`.

    Args:
        dim: the dimension to narrow.
        start: the index of the first slice; negative from the end.
        length: the number of slices.
    """
def ne(input: Tensor, other: _int | _float | _complex | Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return `input != other`, element by element, as a bool tensor.

    Args:
        input: a tensor.
        other: a tensor that can be broadcast with `input`, or a number.
        out: a tensor that the result is written to.

    >>> torch.ne(torch.tensor([1, 2, 3]), 2)
    tensor([ True, False,  True])
    """
def neg(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return `-x` for each element."""
def neg_(input: Tensor) -> Tensor:
    """In-place form of `neg`."""
def negative(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return `-x` for each element."""
def negative_(input: Tensor) -> Tensor:
    """In-place form of `neg`."""
def nextafter(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the next representable number from `input` towards `other`.

    Args:
        other: a floating-point tensor that can be broadcast with `input`.

    >>> torch.nextafter(torch.tensor([1.0]), torch.tensor([2.0])) > 1
    tensor([True])
    """
def nonzero(input: Tensor, *, as_tuple: _bool = ..., out: Tensor | None = ...) -> Any:
    """Return the indices of the nonzero elements, one per row; with `as_tuple`, one index tensor per dimension.

    Args:
        as_tuple: whether to return one index tensor per dimension.

    >>> torch.nonzero(torch.tensor([0, 5, 7]))
    tensor([[1],
            [2]])
    """
def nonzero_static(input: Tensor, *, size: _int, fill_value: _int = ..., out: Tensor | None = ...) -> Tensor:
    """Return the first `size` rows of `nonzero`, padded with `fill_value`.

    Args:
        size: the number of rows of the result.
        fill_value: the indices in the rows that remain free.

    >>> torch.nonzero_static(torch.tensor([0, 5, 7]), size=3)
    tensor([[ 1],
            [ 2],
            [-1]])
    """
def norm(input: Tensor, p: Tensor | _int | _float | _complex | str | None = ..., dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ..., dtype: _dtype | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return the vector norm over `dim`, or of all elements; "fro" is the 2-norm, "nuc" the sum of singular values.

    Args:
        p: the order, a number; "fro" or None for 2; "nuc" for matrices.
        dim: one dimension or several; None for all.
        keepdim: whether the reduced dimensions are kept with length 1.
        dtype: the dtype to convert `input` to before the computation; None for no conversion.

    Raises:
        RuntimeError: the dtype is neither floating-point nor complex.

    >>> torch.norm(torch.tensor([3.0, 4.0]))
    tensor(5.)
    """
def norm_except_dim(v: Tensor, pow: _int = ..., dim: _int = ...) -> Tensor:
    """Return the norm of order `pow` of each slice `v.select(dim, i)`; the other dimensions have size 1 in the result.

    For `dim=-1`, return the norm of all elements.

    Args:
        v: a floating-point or complex tensor.
        pow: the order of the norm.
        dim: the dimension that is not reduced, or -1.

    >>> torch.norm_except_dim(torch.tensor([[3.0, 4.0], [6.0, 8.0]]))
    tensor([[ 5.],
            [10.]])
    """
def normal(mean: Tensor | _int | _float | _complex = ..., std: Tensor | _int | _float | _complex = ..., size: Sequence[_int] | None = ..., *, generator: Generator | None = ..., out: Tensor | None = ..., dtype: _dtype | None = ..., device: _device | str | _int | None = ..., requires_grad: _bool | None = ..., layout: _layout | None = ..., pin_memory: _bool | None = ...) -> Tensor:
    """Draw normal numbers with a mean and a standard deviation given as numbers (with `size`) or as tensors.

    Args:
        mean: the mean: a number, or a tensor of one mean for each element.
        std: the standard deviation: a number, or a tensor that can be broadcast with `mean`.
        size: the shape of the result, if `mean` and `std` are numbers.
        generator: the random number generator; None for the default generator of the device.
        out: a tensor that the result is written to.
        dtype: the dtype of the result, if `mean` and `std` are numbers; None for the default dtype.
        device: the device of the result; None for the default device.
        layout: the layout of the result; None for `torch.strided`.
        requires_grad: whether autograd records operations on the result.
        pin_memory: whether the result is in page-locked memory, from which copies to a GPU are faster.

    Raises:
        RuntimeError: a standard deviation is negative.

    >>> torch.normal(torch.zeros(2, 3), 1.0).shape
    torch.Size([2, 3])
    """
def not_equal(input: Tensor, other: _int | _float | _complex | Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return `input != other`, element by element, as a bool tensor.

    Args:
        input: a tensor.
        other: a tensor that can be broadcast with `input`, or a number.
        out: a tensor that the result is written to.

    >>> torch.ne(torch.tensor([1, 2, 3]), 2)
    tensor([ True, False,  True])
    """
def nuclear_norm(input: Tensor, *args: Any, out: Tensor | None = ..., **kwargs: Any) -> Tensor:
    """Return the sum of the singular values of the matrices in the last two dimensions, or in `dim`.

    Args:
        input: the matrices.
        args, kwargs: `keepdim`, or `dim` and `keepdim`.
        out: a tensor that the result is written to.

    >>> torch.nuclear_norm(torch.diag(torch.tensor([1.0, 2.0])))
    tensor(3.)
    """
def numel(input: Tensor) -> _int:
    """Return the number of elements.

    >>> torch.numel(torch.ones(2, 3))
    6
    """
def ones(*size: _int | Sequence[_int], out: Tensor | None = ..., dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., requires_grad: _bool | None = ..., pin_memory: _bool | None = ..., memory_format: _memory_format | None = ...) -> Tensor:
    """Return a tensor of ones.

    Args:
        *size: the shape: integers, or one sequence of them.
        out: a tensor that the result is written to.
        dtype: the dtype of the result; None for the default dtype.
        device: the device of the result; None for the default device.
        layout: the layout of the result; None for `torch.strided`.
        requires_grad: whether autograd records operations on the result.
        pin_memory: whether the result is in page-locked memory, from which copies to a GPU are faster.
        memory_format: the order of the dimensions in memory; None for row-major.

    >>> torch.ones((2,), dtype=torch.int64)
    tensor([1, 1])
    """
def ones_like(input: Tensor, *, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., requires_grad: _bool | None = ..., memory_format: _memory_format | None = ..., pin_memory: _bool | None = ...) -> Tensor:
    """Return ones with the shape, dtype, device and memory order of `input`.

    Args:
        dtype, device: the dtype and device of the result; None to use those of `input`.
        memory_format: the order of the dimensions in memory; None or `torch.preserve_format` to keep the order of `input`.
        layout: the layout of the result; None for `torch.strided`.
        requires_grad: whether autograd records operations on the result.
        pin_memory: whether the result is in page-locked memory, from which copies to a GPU are faster.
    """
def orgqr(input: Tensor, input2: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the first columns of a product of Householder reflections; see `torch.linalg.householder_product`.

    Args:
        input: the Householder vectors that `torch.geqrf` returns.
        input2: the factors `tau` that it returns.
    """
def ormqr(input: Tensor, input2: Tensor, input3: Tensor, left: _bool = ..., transpose: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Multiply `input3` by the matrix Q that `torch.geqrf` returns as `input` and `input2`.

    The result is `Q input3` if `left`, else `input3 Q`; with `transpose`, Q is replaced by `Q^H`.

    Args:
        input, input2: the Householder vectors and the factors `tau`.
        input3: a matrix.
        left: whether Q is the left factor.
        transpose: whether to multiply by `Q^H`.

    Raises:
        RuntimeError: the shapes or dtypes do not match.
    """
def outer(input: Tensor, vec2: Tensor, *, out: Tensor | None = ...) -> Tensor:
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
def pairwise_distance(x1: Tensor, x2: Tensor, p: _float = ..., eps: _float = ..., keepdim: _bool = ...) -> Tensor:
    """Return the p-norm of `x1 - x2 + eps` over the last dimension; see `nn.PairwiseDistance`.

    Args:
        x1: a tensor `(*, D)`.
        x2: a tensor that can be broadcast with `x1`.
        p: the order of the norm.
        eps: added to each difference, so that the norm has a derivative where the vectors are equal.
        keepdim: whether the last dimension is kept with length 1.

    Example:
        >>> torch.pairwise_distance(torch.tensor([[0.0, 0.0]]), torch.tensor([[3.0, 4.0]]))
        tensor([5.0000])
    """
def pca_lowrank(A: Tensor, q: _int | None = ..., center: _bool = ..., niter: _int = ...) -> tuple[Tensor, Tensor, Tensor]:
    """Approximate the first `q` principal components of the rows of `A`, as `(U, S, V)`; `center` subtracts column means.

    Args:
        A: matrices `(*, m, n)` of `m` observations.
        q: the number of components; None for `min(6, m, n)`.
        center: whether to subtract the mean of each column.
        niter: the number of power iterations, which increase the accuracy.

    Raises:
        ValueError: `q` is above `min(m, n)` or negative, or `niter` is negative.
    """
def pdist(input: Tensor, p: _float = ...) -> Tensor:
    """Return the p-norm distances of all pairs of rows `i < j` of a matrix, ordered by `i`, then `j`.

    Args:
        input: a tensor `(N, D)`.
        p: the order of the norm, not negative.

    Shape:
        The result is `(N * (N - 1) / 2,)`.

    Raises:
        RuntimeError: the input is not a floating-point matrix, or `p` is negative.

    Example:
        >>> torch.pdist(torch.tensor([[0.0, 0.0], [3.0, 4.0], [0.0, 1.0]]))
        tensor([5.0000, 1.0000, 4.2426])
    """
def permute(input: Tensor, dims: Sequence[_int]) -> Tensor:
    """Return a view with the dimensions in the order `dims`.

    Args:
        dims: all dimensions of `input`, in the order of the result.

    Raises:
        RuntimeError: `dims` is not a permutation of the dimensions.

    >>> torch.permute(torch.zeros(2, 3, 4), (2, 0, 1)).shape
    torch.Size([4, 2, 3])
    """
def pinverse(input: Tensor, rcond: _float = ...) -> Tensor:
    """Return the pseudo-inverse: `torch.linalg.pinv` with `rcond` 1e-15.

    Args:
        rcond: singular values up to `rcond` times the largest count as zero.
    """
def pixel_shuffle(input: Tensor, upscale_factor: _int) -> Tensor:
    """Turn every `r * r` channels into one channel with `r` times the height and width; see `nn.PixelShuffle`.

    Shi et al., *Real-time single image and video super-resolution using an efficient sub-pixel convolutional network*, 2016.

    Args:
        input: a tensor `(*, C * r * r, H, W)`.
        upscale_factor: the factor `r`.

    Shape:
        The result is `(*, C, H * r, W * r)`.

    Raises:
        RuntimeError: the square of `upscale_factor` does not divide the number of channels.

    Example:
        >>> torch.pixel_shuffle(torch.arange(4.0).reshape(4, 1, 1), 2)
        tensor([[[0., 1.],
                 [2., 3.]]])
    """
def pixel_unshuffle(input: Tensor, downscale_factor: _int) -> Tensor:
    """Turn blocks of `r * r` pixels into channels, the inverse of `pixel_shuffle`; see `nn.PixelUnshuffle`.

    Args:
        input: a tensor `(*, C, H * r, W * r)`.
        downscale_factor: the factor `r`.

    Shape:
        The result is `(*, C * r * r, H, W)`.

    Raises:
        RuntimeError: `downscale_factor` does not divide height and width.

    Example:
        >>> torch.pixel_unshuffle(torch.arange(4.0).reshape(1, 2, 2), 2).shape
        torch.Size([4, 1, 1])
    """
def poisson(input: Tensor, generator: Generator | None = ...) -> Tensor:
    """Draw numbers from the Poisson distributions with the rates `input`.

    Args:
        generator: the random number generator; None for the default generator of the device.

    Raises:
        RuntimeError: a rate is negative.

    >>> torch.poisson(torch.tensor([0.0, 0.0]))
    tensor([0., 0.])
    """
def polar(abs: Tensor, angle: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """`abs * exp(1j * angle)`.

    Args:
        abs: the absolute values, a floating-point tensor.
        angle: the angles in radians, with the dtype of `abs`.

    >>> torch.polar(torch.tensor([2.0]), torch.tensor([0.0]))
    tensor([2.+0.j])
    """
def polygamma(n: _int, input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the `n`-th derivative of `digamma`.

    Args:
        n: the order of the derivative, not negative.
        input: a real tensor.

    >>> torch.polygamma(1, torch.tensor([1.0]))
    tensor([1.6449])
    """
def positive(input: Tensor) -> Tensor:
    """Return the tensor itself.  Raises RuntimeError for a bool tensor."""
def pow(input: Tensor | _int | _float | _complex, exponent: Tensor | _int | _float | _complex, *, out: Tensor | None = ...) -> Tensor:
    """`input` to the power of `exponent`; either may be a Python number.

    Args:
        exponent: a tensor that can be broadcast with `input`, or a number.

    Raises:
        RuntimeError: an integer tensor to a negative integer power.

    >>> torch.tensor([1.0, 2.0]) ** 2
    tensor([1., 4.])
    """
def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """`x` where it is positive, `weight * x` elsewhere: a leaky ReLU whose slope is learned; see `nn.PReLU`.

    He et al., *Delving deep into rectifiers*, 2015.

    Args:
        input: a tensor of any shape; dimension 1, if any, is the channel dimension.
        weight: the slopes: one element for all channels, or one for each channel.

    Raises:
        RuntimeError: the dtypes differ, or `weight` has neither 1 element nor one for each channel.

    Example:
        >>> F.prelu(torch.tensor([[-1.0, -1.0, 2.0]]), torch.tensor([0.1, 0.2, 0.3]))
        tensor([[-0.1000, -0.2000,  2.0000]])
    """
def prod(input: Tensor, dim: _int | None = ..., keepdim: _bool = ..., *, dtype: _dtype | None = ..., out: Tensor | None = ...) -> Tensor:
    """Return the product of all elements, or over one dimension; integers are multiplied in int64.

    Args:
        dim: the dimension to reduce; None for all.
        keepdim: whether the reduced dimensions are kept with length 1.
        dtype: the dtype of the result, to which `input` is converted before the multiplication; None for that of `input`, or for
            int64 if it is an integer or bool dtype.

    >>> torch.tensor([[1, 2], [3, 4]]).prod(1)
    tensor([ 2, 12])
    """
def put(input: Tensor, index: Tensor, source: Tensor, accumulate: _bool = ...) -> Tensor:
    """Return a copy of `input` with `source` at the positions `index` of the flattened tensor.

    Args:
        index: an int64 tensor.
        source: the elements to write; as many as `index` has, and of the dtype of `input`.
        accumulate: whether the elements are added to those of `input`, not replaced.

    Raises:
        IndexError: the numbers of elements differ, or an index is out of range.

    >>> torch.put(torch.tensor([1, 2, 3]), torch.tensor([0]), torch.tensor([9]))
    tensor([9, 2, 3])
    """
def qr(input: Tensor, some: _bool = ..., *, out: Tensor | None = ...) -> return_types.qr:
    """Return the QR factorization, reduced if `some`, else complete; see `torch.linalg.qr`.

    Args:
        some: whether `Q` has only `min(m, n)` columns.
    """
def quantile(input: Tensor, q: Tensor | _int | _float | _complex, dim: _int | None = ..., keepdim: _bool = ..., *, interpolation: str = ..., out: Tensor | None = ...) -> Tensor:
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
def rad2deg(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Convert radians to degrees."""
def rad2deg_(input: Tensor) -> Tensor:
    """In-place form of `rad2deg`."""
def rand(*size: _int | Sequence[_int], generator: Generator | None = ..., out: Tensor | None = ..., dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., requires_grad: _bool | None = ..., pin_memory: _bool | None = ...) -> Tensor:
    """Return random numbers from the uniform distribution on [0, 1).

    Args:
        generator: the random number generator; None for the default generator of the device.
        *size: the shape: integers, or one sequence of them.
        out: a tensor that the result is written to.
        dtype: the dtype of the result; None for the default dtype.
        device: the device of the result; None for the default device.
        layout: the layout of the result; None for `torch.strided`.
        requires_grad: whether autograd records operations on the result.
        pin_memory: whether the result is in page-locked memory, from which copies to a GPU are faster.

    >>> _ = torch.manual_seed(0); torch.rand(2)
    tensor([0.4963, 0.7682])
    """
def rand_like(input: Tensor, *, generator: Generator | None = ..., dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., requires_grad: _bool | None = ..., memory_format: _memory_format | None = ..., pin_memory: _bool | None = ...) -> Tensor:
    """Call `torch.rand` with the shape, dtype, device and memory order of `input`.

    Args:
        generator: the random number generator; None for the default generator of the device.
        dtype, device: the dtype and device of the result; None to use those of `input`.
        memory_format: the order of the dimensions in memory; None or `torch.preserve_format` to keep the order of `input`.
        layout: the layout of the result; None for `torch.strided`.
        requires_grad: whether autograd records operations on the result.
        pin_memory: whether the result is in page-locked memory, from which copies to a GPU are faster.
    """
def randint(low: _int | None = ..., high: _int | Sequence[_int] | None = ..., size: Sequence[_int] | None = ..., *, generator: Generator | None = ..., out: Tensor | None = ..., dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., requires_grad: _bool | None = ..., pin_memory: _bool | None = ...) -> Tensor:
    """Draw integers uniformly from `[low, high)`, by default from 0: `randint(high, size)` or `randint(low, high, size)`.

    Args:
        low: the smallest integer; None for 0.
        high: the bound above the largest integer.
        size: the shape of the result.
        generator: the random number generator; None for the default generator of the device.
        out: a tensor that the result is written to.
        dtype: the dtype of the result; None for int64.
        device: the device of the result; None for the default device.
        layout: the layout of the result; None for `torch.strided`.
        requires_grad: whether autograd records operations on the result.
        pin_memory: whether the result is in page-locked memory, from which copies to a GPU are faster.

    Raises:
        RuntimeError: `low` is not below `high`, or the dtype cannot represent both.

    >>> _ = torch.manual_seed(0); torch.randint(10, (3,))
    tensor([4, 9, 3])
    """
def randint_like(input: Tensor, low: _int | Tensor | None = ..., high: _int | None = ..., *, generator: Generator | None = ..., dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., requires_grad: _bool | None = ..., memory_format: _memory_format | None = ..., pin_memory: _bool | None = ...) -> Tensor:
    """Call `torch.randint` with the shape, dtype, device and memory order of `input`.

    Args:
        low: the smallest integer; None for 0. A single argument is `high`.
        high: the bound above the largest integer.
        generator: the random number generator; None for the default generator of the device.
        dtype, device: the dtype and device of the result; None to use those of `input`.
        memory_format: the order of the dimensions in memory; None or `torch.preserve_format` to keep the order of `input`.
        layout: the layout of the result; None for `torch.strided`.
        requires_grad: whether autograd records operations on the result.
        pin_memory: whether the result is in page-locked memory, from which copies to a GPU are faster.

    Raises:
        RuntimeError: `low` is not below `high`, or the dtype cannot represent both.

    >>> torch.randint_like(torch.ones(2, 3), 10).shape
    torch.Size([2, 3])
    """
def randn(*size: _int | Sequence[_int], generator: Generator | None = ..., out: Tensor | None = ..., dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., requires_grad: _bool | None = ..., pin_memory: _bool | None = ...) -> Tensor:
    """Return random numbers from the normal distribution with mean 0 and variance 1.

    Args:
        generator: the random number generator; None for the default generator of the device.
        *size: the shape: integers, or one sequence of them.
        out: a tensor that the result is written to.
        dtype: the dtype of the result; None for the default dtype.
        device: the device of the result; None for the default device.
        layout: the layout of the result; None for `torch.strided`.
        requires_grad: whether autograd records operations on the result.
        pin_memory: whether the result is in page-locked memory, from which copies to a GPU are faster.

    >>> torch.randn(2, 3).shape
    torch.Size([2, 3])
    """
def randn_like(input: Tensor, *, generator: Generator | None = ..., dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., requires_grad: _bool | None = ..., memory_format: _memory_format | None = ..., pin_memory: _bool | None = ...) -> Tensor:
    """Call `torch.randn` with the shape, dtype, device and memory order of `input`.

    Args:
        generator: the random number generator; None for the default generator of the device.
        dtype, device: the dtype and device of the result; None to use those of `input`.
        memory_format: the order of the dimensions in memory; None or `torch.preserve_format` to keep the order of `input`.
        layout: the layout of the result; None for `torch.strided`.
        requires_grad: whether autograd records operations on the result.
        pin_memory: whether the result is in page-locked memory, from which copies to a GPU are faster.
    """
def randperm(n: _int, *, generator: Generator | None = ..., out: Tensor | None = ..., dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., requires_grad: _bool | None = ..., pin_memory: _bool | None = ...) -> Tensor:
    """Return the integers from 0 to `n - 1` in random order (Fisher-Yates shuffle).

    Args:
        n: the number of integers.
        generator: the random number generator; None for the default generator of the device.
        out: a tensor that the result is written to.
        dtype: the dtype of the result; None for int64.
        device: the device of the result; None for the default device.
        layout: the layout of the result; None for `torch.strided`.
        requires_grad: whether autograd records operations on the result.
        pin_memory: whether the result is in page-locked memory, from which copies to a GPU are faster.

    Raises:
        RuntimeError: `n` is negative, or too large for the dtype.

    >>> torch.randperm(4).sort().values
    tensor([0, 1, 2, 3])
    """
def range(start: Tensor | _int | _float | _complex, end: Tensor | _int | _float | _complex | None = ..., step: Tensor | _int | _float | _complex = ..., *, out: Tensor | None = ..., dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., requires_grad: _bool | None = ...) -> Tensor:
    """Return the numbers from `start` to `end`, both included.  Deprecated in favour of `arange`.

    Args:
        start: the first number. A single argument is `end`, and `start` is 0.
        end: the bound.
        step: the difference of successive numbers.
        dtype: the dtype of the result; None for the default dtype.
        device: the device of the result; None for the default device.
        layout: the layout of the result; None for `torch.strided`.
        requires_grad: whether autograd records operations on the result.
        pin_memory: whether the result is in page-locked memory, from which copies to a GPU are faster.

    Raises:
        RuntimeError: `step` is 0, or has the wrong sign.
    """
def ravel(input: Tensor) -> Tensor:
    """Return all elements as a contiguous vector."""
def real(input: Tensor) -> Tensor:
    """Return a view of the real parts; a real tensor is returned itself.

    >>> torch.real(torch.tensor([1 + 2j, 3j]))
    tensor([1., 0.])
    """
def reciprocal(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return `1 / x`."""
def reciprocal_(input: Tensor) -> Tensor:
    """In-place form of `reciprocal`."""
def relu(input: Tensor) -> Tensor:
    """Return the element where it is positive, else 0: the rectified linear unit.

    Args:
        input: a tensor of any shape.

    Example:
        >>> torch.relu(torch.tensor([-1.0, 2.0]))
        tensor([0., 2.])
    """
def relu_(input: Tensor) -> Tensor:
    """In-place form of `relu`: the result overwrites `input`, which is returned.

    Args:
        input: a tensor of any shape.

    Example:
        >>> x = torch.tensor([-1.0, 2.0])
        >>> torch.nn.functional.relu_(x) is x
        True
    """
def remainder(input: Tensor | _int | _float | _complex, other: _int | _float | _complex | Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the remainder of floor division: it has the sign of `other`.

    Args:
        other: a tensor that can be broadcast with `input`, or a number.
    """
def renorm(input: Tensor, p: _float, dim: _int, maxnorm: _float, *, out: Tensor | None = ...) -> Tensor:
    """Scale down the slices `input.select(dim, i)` whose p-norm exceeds `maxnorm`, to the norm `maxnorm`.

    Args:
        p: the order of the norm, positive.
        dim: the dimension of the slices.
        maxnorm: the upper bound of the norm.

    Raises:
        RuntimeError: `p` is not positive, `maxnorm` is negative, or `input` has fewer than two dimensions.

    >>> torch.renorm(torch.tensor([[3.0, 4.0], [0.0, 1.0]]), 2, 0, 1.0)
    tensor([[0.6000, 0.8000],
            [0.0000, 1.0000]])
    """
def repeat_interleave(input: Tensor | None = ..., repeats: Tensor | _int | None = ..., dim: _int | None = ..., *, output_size: _int | None = ...) -> Tensor:
    """Repeat each slice of `dim` (by default, each element of the flattened input) `repeats` times.

    `repeats` is one number, or one for each slice or element.

    Args:
        repeats: the number of repetitions, an int or an integer tensor. A single argument is `repeats`, and the result contains
            each index `i` `repeats[i]` times.
        dim: the dimension whose slices are repeated; None to flatten `input`.
        output_size: the length of the result along `dim`, if known; on a GPU, this avoids a synchronisation.

    >>> torch.repeat_interleave(torch.tensor([1, 2]), torch.tensor([1, 2]))
    tensor([1, 2, 2])
    """
def reshape(input: Tensor, shape: Sequence[_int]) -> Tensor:
    """Return the same elements in another shape, as a view if possible, else a copy.

    Args:
        shape: the sizes of the result; one may be -1, and is then inferred.

    Raises:
        RuntimeError: the numbers of elements differ.

    >>> torch.arange(4).reshape(2, -1)
    tensor([[0, 1],
            [2, 3]])
    """
def reshape_as(input: Tensor, other: Tensor) -> Tensor:
    """Return `input.reshape(other.size())`.

    Args:
        other: a tensor with the number of elements of `input`.
    """
def resize_as_(input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """Change the shape in place to that of `the_template`; see `resize_`.

    The memory format `torch.preserve_format` is that of `the_template`.

    Args:
        the_template: the tensor whose shape is used.
        memory_format: as for `resize_`.
    """
def resolve_conj(input: Tensor) -> Tensor:
    """Return a copy with the conjugation applied if `input` is a lazily conjugated view; otherwise return `input` itself."""
def resolve_neg(input: Tensor) -> Tensor:
    """Return a copy with the negation applied if `input` is a lazily negated view; otherwise return `input` itself."""
def result_type(tensor: Tensor | _int | _float | _complex | None = ..., other: Tensor | _int | _float | _complex | None = ..., *, scalar: Tensor | _int | _float | _complex | None = ..., scalar1: Tensor | _int | _float | _complex | None = ..., scalar2: Tensor | _int | _float | _complex | None = ...) -> _dtype:
    """Return the dtype of an operation on two tensors or Python numbers; the keyword names are those of PyTorch's overloads.

    Args:
        tensor, other: tensors or numbers.
        scalar, scalar1, scalar2: other names of the arguments for numbers.

    >>> torch.result_type(torch.tensor([1, 2]), 1.0)
    torch.float32
    """
def rms_norm(input: Tensor, normalized_shape: Sequence[_int], weight: Tensor | None = ..., eps: _float | None = ...) -> Tensor:
    """Divide by the root of the mean square over the last dimensions (Zhang & Sennrich 2019, "Root mean square layer norm").

    Args:
        normalized_shape: the shape of the last dimensions, which are normalised together.
        weight: a tensor of that shape that scales the result; None for 1.
        eps: a number added to the mean square; None for the machine epsilon.

    Raises:
        RuntimeError: the shapes do not match.

    >>> torch.rms_norm(torch.tensor([3.0, 4.0]), (2,))
    tensor([0.8485, 1.1314])
    """
def roll(input: Tensor, shifts: _int | Sequence[_int], dims: _int | Sequence[_int] | None = ...) -> Tensor:
    """Shift the elements by `shifts` along `dims`, wrapping around; without `dims`, the tensor is flattened for the shift.

    Args:
        shifts: the number of places, or one for each of `dims`.
        dims: one or several dimensions; () or None to flatten.

    Raises:
        RuntimeError: the numbers of `shifts` and `dims` differ.

    >>> torch.roll(torch.tensor([1, 2, 3]), 1)
    tensor([3, 1, 2])
    """
def rot90(input: Tensor, k: _int = ..., dims: Sequence[_int] = ...) -> Tensor:
    """Rotate by `k` quarter turns from the first towards the second of `dims`.

    Args:
        k: the number of quarter turns; negative for the other direction.
        dims: the two dimensions of the plane.

    Raises:
        RuntimeError: `dims` has not two different dimensions, or `input` has fewer than two.

    >>> torch.rot90(torch.tensor([[1, 2], [3, 4]]))
    tensor([[2, 4],
            [1, 3]])
    """
def round(input: Tensor, *, decimals: _int = ..., out: Tensor | None = ...) -> Tensor:
    """Round to the nearest integer, or to `decimals` decimals; ties go to the even number.

    Args:
        decimals: the number of decimals to keep; if negative, digits to the left of the point are rounded.

    Raises:
        NotImplementedError: `decimals` is not 0 and the dtype is not floating-point.

    >>> torch.tensor([0.5, 1.5, 2.345]).round(), torch.tensor([2.345]).round(decimals=1)
    (tensor([0., 2., 2.]), tensor([2.3000]))
    """
def round_(input: Tensor) -> Tensor:
    """In-place form of `round`.

    Args:
        decimals: the number of decimals to keep; if negative, digits to the left of the point are rounded.
    """
def row_stack(tensors: Sequence[Tensor], *, out: Tensor | None = ...) -> Tensor:
    """Concatenate tensors along dimension 0; vectors are rows.

    Args:
        tensors: tensors whose sizes match in all dimensions except the first.

    >>> torch.vstack([torch.tensor([1, 2]), torch.tensor([[3, 4]])])
    tensor([[1, 2],
            [3, 4]])
    """
def rrelu(input: Tensor, lower: _float = ..., upper: _float = ..., training: _bool = ..., generator: Generator | None = ...) -> Tensor:
    """Apply a leaky ReLU; while training, the slope of each element is drawn from U(lower, upper).

    Xu et al., *Empirical evaluation of rectified activations in convolutional network*, 2015.

    Args:
        input: a tensor of any shape.
        lower: the least slope.
        upper: the greatest slope.
        training: whether slopes are drawn; else all are the mean, `(lower + upper) / 2`.
        generator: the random number generator; None for the default generator of the device.

    Raises:
        RuntimeError: `lower` is above `upper`.

    Example:
        >>> torch.rrelu(torch.tensor([-1.0, 2.0]), 0.1, 0.3)
        tensor([-0.2000,  2.0000])
    """
def rrelu_(input: Tensor, lower: _float = ..., upper: _float = ..., training: _bool = ..., generator: Generator | None = ...) -> Tensor:
    """In-place form of `rrelu`: the result overwrites `input`, which is returned.

    Args:
        input: a tensor of any shape.
        lower: the least slope.
        upper: the greatest slope.
        training: whether slopes are drawn; else all are the mean, `(lower + upper) / 2`.
        generator: the random number generator; None for the default generator of the device.

    Example:
        >>> x = torch.tensor([-1.0, 2.0])
        >>> torch.nn.functional.rrelu_(x) is x
        True
    """
def rsqrt(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return `1 / sqrt(x)`."""
def rsqrt_(input: Tensor) -> Tensor:
    """In-place form of `rsqrt`."""
def rsub(input: Tensor, other: _int | _float | _complex | Tensor, *, alpha: Tensor | _int | _float | _complex = ...) -> Tensor:
    """`other - alpha * input`.

    Args:
        other: a tensor that can be broadcast with `input`, or a number.
        alpha: the factor of `input`; an integer if the result is an integer tensor.

    Raises:
        RuntimeError: an operand is bool.

    >>> torch.rsub(torch.tensor([1.0, 2.0]), 10)
    tensor([9., 8.])
    """
def scalar_tensor(s: Tensor | _int | _float | _complex, *, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., requires_grad: _bool | None = ..., pin_memory: _bool | None = ...) -> Tensor:
    """Return a 0-d tensor of a number, by default in the default dtype.

    Args:
        s: the number.
        dtype: the dtype of the result; None for the default dtype.
        device: the device of the result; None for the default device.
        layout: the layout of the result; None for `torch.strided`.
        requires_grad: whether autograd records operations on the result.
        pin_memory: whether the result is in page-locked memory, from which copies to a GPU are faster.

    >>> torch.scalar_tensor(3)
    tensor(3.)
    """
def scatter(input: Tensor, dim: _int, index: Tensor, src: Tensor | _int | _float | _complex | None = ..., *, value: _int | _float | _complex | None = ..., reduce: str | None = ..., out: Tensor | None = ...) -> Tensor:
    """Return `input` with `src[i][j]` (or a number) at `[index[i][j]][j]` for `dim=0`, and likewise for other dimensions.

    `reduce` ("add" or "multiply") combines each written value with the element of `input` instead of replacing the element.

    Args:
        dim: the dimension along which `index` refers to elements.
        index: an integer tensor with the number of dimensions of `input`; no size is larger than that of `src`.
        src: the elements to write, with the dtype of `input`, or one number.
        value: another name of `src`, for a number.
        reduce: "add" or "multiply"; None to replace elements.

    Raises:
        RuntimeError: the shapes or dtypes do not match, or an index is out of range.

    >>> torch.zeros(2, 3).scatter(1, torch.tensor([[0], [2]]), 1.0)
    tensor([[1., 0., 0.],
            [0., 0., 1.]])
    """
def scatter_add(input: Tensor, dim: _int, index: Tensor, src: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return `input` with `src[i][j]` added at `[index[i][j]][j]` for `dim=0`, and likewise for other dimensions.

    Args:
        dim: the dimension along which `index` refers to elements.
        index: an integer tensor with the number of dimensions of `input`; no size is larger than that of `src`.
        src: the elements to add, with the dtype of `input`.

    Raises:
        RuntimeError: the shapes or dtypes do not match, or an index is out of range.

    >>> torch.zeros(3).scatter_add(0, torch.tensor([0, 0, 2]), torch.ones(3))
    tensor([2., 0., 1.])
    """
def scatter_reduce(input: Tensor, dim: _int, index: Tensor, src: Tensor, reduce: str, *, include_self: _bool = ..., out: Tensor | None = ...) -> Tensor:
    """Scatter `src`, and combine all elements for one position by "sum", "prod", "mean", "amax" or "amin".

    Without `include_self`, the elements of `input` at the written positions are left out.

    Args:
        dim: the dimension along which `index` refers to elements.
        index: an integer tensor with the number of dimensions of `input`; no size is larger than that of `src`.
        src: the elements to combine, with the dtype of `input`.
        reduce: "sum", "prod", "mean", "amax" or "amin".
        include_self: whether the elements of `input` take part.

    Raises:
        RuntimeError: the shapes or dtypes do not match, or an index is out of range.

    >>> torch.zeros(2).scatter_reduce(0, torch.tensor([0, 0, 1]), torch.tensor([1.0, 3.0, 2.0]), "amax")
    tensor([3., 2.])
    """
def searchsorted(sorted_sequence: Tensor, input: Tensor, *, out_int32: _bool = ..., right: _bool = ..., side: str | None = ..., sorter: Tensor | None = ..., out: Tensor | None = ...) -> Tensor:
    """Return, for each element of `input`, the index at which to insert it into a sorted row of `sorted_sequence`.

    It is the index before equal elements or, with `right`, the index after them.

    Args:
        sorted_sequence: rows `(*, n)` in ascending order; a vector is used for all of `input`.
        input: a number, or a tensor whose dimensions except the last are those of `sorted_sequence`.
        out_int32: whether the result is int32; otherwise int64.
        right: whether to return the index after equal elements.
        side: "left" or "right", another form of `right`.
        sorter: the indices that sort `sorted_sequence`, if it is not sorted.

    Raises:
        RuntimeError: the shapes do not match, or `side` contradicts `right`.

    >>> torch.searchsorted(torch.tensor([1, 3, 5]), torch.tensor([3, 4]))
    tensor([1, 2])
    """
def segment_reduce(data: Tensor, reduce: str, *, lengths: Tensor | None = ..., indices: Tensor | None = ..., offsets: Tensor | None = ..., axis: _int = ..., unsafe: _bool = ..., initial: Any = ...) -> Tensor:
    """Reduce each segment of a dimension by "sum", "mean", "max", "min" or "prod"; `lengths` or `offsets` give the segments.

    Args:
        data: a floating-point tensor.
        reduce: the reduction; "amax" and "amin" are other names of "max" and "min".  Elements that equal the
            maximum or minimum share its gradient.
        lengths: the number of elements of each segment, an integer tensor of shape `(*data.shape[:axis], segments)`.
        indices: not supported, as in PyTorch.
        offsets: instead of lengths, the start of each segment, followed by the end of the last segment.
        axis: the dimension to segment, which is the last dimension of `lengths`.
        unsafe: whether `lengths` may cover only a part of the dimension.
        initial: the initial value of each reduction; by default, empty segments give 0 (sum), NaN (mean), -inf (max), inf (min)
            and 1 (prod).

    Shape:
        - Output: `(*data.shape[:axis], segments, *data.shape[axis + 1:])`.

    Raises:
        RuntimeError: neither lengths nor offsets are given, or they do not fit the data.
        NotImplementedError: the data are not floating-point.

    Example:
        >>> torch.segment_reduce(torch.tensor([1.0, 2.0, 4.0]), "sum", lengths=torch.tensor([2, 1]))
        tensor([3., 4.])
    """
def select(input: Tensor, dim: _int, index: _int) -> Tensor:
    """Return a view of the slice at `index` of dimension `dim`, without that dimension.

    Args:
        dim: the dimension to remove.
        index: the position, from `-size` to `size - 1`.

    Raises:
        IndexError: the index is out of range.

    >>> torch.select(torch.tensor([[1, 2], [3, 4]]), 0, 1)
    tensor([3, 4])
    """
def select_scatter(input: Tensor, src: Tensor, dim: _int, index: _int) -> Tensor:
    """Return a copy of `input` with `src` in place of `input.select(dim, index)`.

    Args:
        src: the elements to write, in the shape of the slice.
        dim: the dimension of the slice.
        index: the position of the slice.

    Raises:
        RuntimeError: `src` has another shape.

    >>> torch.select_scatter(torch.zeros(2, 2), torch.ones(2), 0, 1)
    tensor([[0., 0.],
            [1., 1.]])
    """
def selu(input: Tensor) -> Tensor:
    """Apply ELU with fixed constants, scaled so that mean 0 and variance 1 are preserved from layer to layer.

    Klambauer et al., *Self-normalizing neural networks*, 2017.

    Args:
        input: a tensor of any shape.

    Example:
        >>> torch.selu(torch.tensor([-1.0, 2.0]))
        tensor([-1.1113,  2.1014])
    """
def selu_(input: Tensor) -> Tensor:
    """In-place form of `selu`: the result overwrites `input`, which is returned.

    Args:
        input: a tensor of any shape.

    Example:
        >>> x = torch.tensor([-1.0, 2.0])
        >>> torch.nn.functional.selu_(x) is x
        True
    """
def sgn(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return `x / |x|`, or 0 for 0; for real numbers, the sign."""
def sigmoid(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """`1 / (1 + exp(-x))`."""
def sigmoid_(input: Tensor) -> Tensor:
    """In-place form of `sigmoid`."""
def sign(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return -1, 0 or 1 for negative, zero and positive elements."""
def signbit(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """True where the sign bit is set."""
def sin(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the sine of an angle in radians."""
def sin_(input: Tensor) -> Tensor:
    """In-place form of `sin`."""
def sinc(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return `sin(pi x) / (pi x)`, which is 1 at 0."""
def sinc_(input: Tensor) -> Tensor:
    """In-place form of `sinc`."""
def sinh(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the hyperbolic sine."""
def sinh_(input: Tensor) -> Tensor:
    """In-place form of `sinh`."""
def slice_inverse(input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """Return the tensor that `self` is a slice of, as a view of the same storage with the layout of `src`.

    Args:
        src: the tensor with the shape, strides and offset of the result.
        dim, start, end, step: without effect, because `src` determines the result.
    """
def slice_scatter(input: Tensor, src: Tensor, dim: _int = ..., start: _int | None = ..., end: _int | None = ..., step: _int = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return a copy of `input` with `src` in place of `input[start:end:step]` along `dim`.

    Args:
        src: the elements to write, in the shape of the slice.
        dim: the dimension of the slice.
        start, end: the bounds of the slice; None for the first and the last element.
        step: the distance between elements of the slice, positive.

    Raises:
        RuntimeError: `src` has another shape.

    >>> torch.slice_scatter(torch.zeros(4), torch.ones(2), start=1, end=3)
    tensor([0., 1., 1., 0.])
    """
def slogdet(input: Tensor, *, out: Tensor | None = ...) -> return_types.slogdet:
    """Return the signs of determinants and the logarithms of their absolute values; see `torch.linalg.slogdet`."""
def softmax(input: Tensor, dim: _int, dtype: _dtype | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return `exp(input)`, divided by its sum along `dim`.

    Args:
        dim: the dimension along which the elements sum to 1.
        dtype: the dtype to convert `input` to before the computation; None for no conversion.

    >>> torch.softmax(torch.tensor([0.0, 0.0]), 0)
    tensor([0.5000, 0.5000])
    """
def solve(input: Tensor, *args: Any, **kwargs: Any) -> Sequence[Tensor]:
    """Raise a RuntimeError that names the replacement of the removed function `solve`."""
def sort(input: Tensor, dim: _int = ..., descending: _bool = ..., stable: _bool | None = ..., *, out: Sequence[Tensor] | None = ...) -> return_types.sort:
    """Sort the elements along `dim`; return them and their original indices.

    Args:
        dim: the dimension to sort along.
        descending: whether the largest element comes first.
        stable: whether equal elements keep their order; they always do.

    >>> torch.tensor([3, 1, 2]).sort().indices
    tensor([1, 2, 0])
    """
def split(tensor: Tensor, split_size_or_sections: _int | Sequence[_int] | None = ..., dim: _int = ..., *, split_size: _int | Sequence[_int] | None = ...) -> tuple[Tensor, ...]:
    """Split `dim` into consecutive views: of one size (the last may be smaller), or of the sizes in a list.

    Args:
        tensor: the tensor to split.
        split_size_or_sections: the length of each part, or a list of lengths.
        dim: the dimension to split.
        split_size: another name of `split_size_or_sections`.

    Raises:
        RuntimeError: the lengths in the list do not add up to the size of `dim`.

    >>> torch.split(torch.arange(5), 2)
    (tensor([0, 1]), tensor([2, 3]), tensor([4]))
    """
def split_with_sizes(input: Tensor, split_sizes: Sequence[_int], dim: _int = ...) -> tuple[Tensor, ...]:
    """Split `dim` into consecutive views of the sizes in a list.

    Args:
        split_sizes: the lengths of the parts, whose sum is the size of `dim`.
        dim: the dimension to split.
    """
def sqrt(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the square root."""
def sqrt_(input: Tensor) -> Tensor:
    """In-place form of `sqrt`."""
def square(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the square."""
def square_(input: Tensor) -> Tensor:
    """In-place form of `square`."""
def squeeze(input: Tensor, dim: _int | Sequence[_int] | None = ..., *, axis: _int | Sequence[_int] | None = ...) -> Tensor:
    """Return a view without the dimensions of size 1, or only without those in `dim` (an int or a tuple).

    Args:
        dim: one dimension or several; None for all. Dimensions of another size are kept.
        axis: another name of `dim`.

    >>> torch.zeros(1, 2, 1).squeeze().shape, torch.zeros(1, 2, 1).squeeze(0).shape
    (torch.Size([2]), torch.Size([2, 1]))
    """
def stack(tensors: Sequence[Tensor], dim: _int = ..., *, out: Tensor | None = ...) -> Tensor:
    """Join tensors of the same shape along a new dimension.

    Args:
        tensors: tensors of the same shape.
        dim: the index of the new dimension.

    Raises:
        RuntimeError: `tensors` is empty, or the shapes differ.

    >>> torch.stack([torch.zeros(2), torch.ones(2)], dim=1)
    tensor([[0., 1.],
            [0., 1.]])
    """
def std(input: Tensor, dim: _int | Sequence[_int] | _bool | None = ..., unbiased: _bool = ..., keepdim: _bool = ..., *, correction: Tensor | _int | _float | _complex | None = ..., out: Tensor | None = ...) -> Tensor:
    """Return the standard deviation of all elements, or over `dim`; the divisor of the variance is `n - correction`.

    Args:
        dim: the dimensions to reduce, an int or a tuple; None for all.
        unbiased: whether the divisor of the variance is `n - 1`, not `n`; without effect if `correction` is given.
        keepdim: whether the reduced dimensions are kept with length 1.
        correction: the number subtracted from the number of elements `n`; None for 1 if `unbiased`, else 0.

    Raises:
        RuntimeError: the dtype is neither floating-point nor complex.

    >>> torch.tensor([1.0, 2.0, 3.0]).std()
    tensor(1.)
    """
def std_mean(input: Tensor, dim: _int | Sequence[_int] | _bool | None = ..., unbiased: _bool = ..., keepdim: _bool = ..., *, correction: Tensor | _int | _float | _complex | None = ...) -> tuple[Tensor, Tensor]:
    """Return the standard deviation and the mean, of all elements or over `dim`.

    Args:
        dim: the dimensions to reduce, an int or a tuple; None for all.
        unbiased: whether the divisor of the variance is `n - 1`, not `n`; without effect if `correction` is given.
        keepdim: whether the reduced dimensions are kept with length 1.
        correction: the number subtracted from the number of elements `n`; None for 1 if `unbiased`, else 0.

    Raises:
        RuntimeError: the dtype is neither floating-point nor complex.

    >>> torch.std_mean(torch.tensor([1.0, 2.0, 3.0]))
    (tensor(1.), tensor(2.))
    """
def stft(input: Tensor, n_fft: _int, hop_length: _int | None = ..., win_length: _int | None = ..., window: Tensor | None = ..., center: _bool = ..., pad_mode: str = ..., normalized: _bool = ..., onesided: _bool | None = ..., return_complex: _bool | None = ..., align_to_window: _bool | None = ...) -> Tensor:
    """Compute the short-time Fourier transform: the spectra of windowed frames of a signal, `hop_length` apart.

    Args:
        input: `(*, length)`, at most one batch dimension.
        n_fft: the length of a frame.
        hop_length: the distance between frames; None for `n_fft // 4`.
        win_length: the length of the window, which is padded with zeros to `n_fft`; None for `n_fft`.
        window: a tensor of that length; None for ones, with a warning.
        center: whether to pad the signal so that frame `t` is centred at `t * hop_length`.
        pad_mode: the kind of padding, as for `torch.nn.functional.pad`.
        normalized: whether to divide by `sqrt(n_fft)`.
        onesided: whether to return only the non-negative frequencies; the default for real signals.
        return_complex: whether to return a complex tensor `(*, frequencies, frames)`, or real and imaginary parts in a last
            dimension.
        align_to_window: whether frame `t` begins at `t * hop_length` with the window, not with its zeros; None for False.

    Raises:
        RuntimeError: a length is out of range, `return_complex` is missing for a real signal, or `align_to_window` is given
            with `center`.

    >>> torch.stft(torch.ones(16), n_fft=4, return_complex=True).shape
    torch.Size([3, 17])
    """
def sub(input: Tensor, other: Tensor | _int | _float | _complex, alpha: Tensor | _int | _float | _complex = ..., *, out: Tensor | None = ...) -> Tensor:
    """`input - alpha * other`, element by element, broadcast.

    Args:
        other: a tensor that can be broadcast with `input`, or a number.
        alpha: the factor of `other`; an integer if the result is an integer tensor.

    Raises:
        RuntimeError: an operand is bool.

    >>> torch.sub(torch.tensor([3.0, 4.0]), torch.ones(2), alpha=2)
    tensor([1., 2.])
    """
def subtract(input: Tensor, other: Tensor | _int | _float | _complex, alpha: Tensor | _int | _float | _complex = ..., *, out: Tensor | None = ...) -> Tensor:
    """`input - alpha * other`, element by element, broadcast.

    Args:
        other: a tensor that can be broadcast with `input`, or a number.
        alpha: the factor of `other`; an integer if the result is an integer tensor.

    Raises:
        RuntimeError: an operand is bool.

    >>> torch.sub(torch.tensor([3.0, 4.0]), torch.ones(2), alpha=2)
    tensor([1., 2.])
    """
def sum(input: Tensor, dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ..., *, dtype: _dtype | None = ..., out: Tensor | None = ...) -> Tensor:
    """Return the sum of all elements, or over the dimensions `dim`; integers are summed in int64.

    Args:
        dim: the dimensions to reduce, an int or a tuple; None for all.
        keepdim: whether the reduced dimensions are kept with length 1.
        dtype: the dtype of the result, to which `input` is converted before the summation; None for that of `input`, or for int64
            if it is an integer or bool dtype.

    >>> torch.tensor([[1, 2], [3, 4]]).sum(0, keepdim=True)
    tensor([[4, 6]])
    """
def sum_to_size(input: Tensor, size: _int | Sequence[_int], *rest: _int) -> Tensor:
    """Sum over dimensions so that the result has the shape `size`, which must be broadcastable to the tensor's shape.

    Args:
        size: the shape: integers, or one sequence of them.

    >>> torch.ones(2, 3).sum_to_size(1, 3)
    tensor([[2., 2., 2.]])
    """
def svd(input: Tensor, some: _bool = ..., compute_uv: _bool = ..., *, out: Tensor | None = ...) -> return_types.svd:
    """Return `(U, S, V)`, the factors of `input = U diag(S) V^H`; without `compute_uv`, U and V are zeros.

    Args:
        some: whether `U` and `V` have only `min(m, n)` columns.
        compute_uv: whether to compute `U` and `V`.
    """
def svd_lowrank(A: Tensor, q: _int | None = ..., niter: _int | None = ..., M: Tensor | None = ...) -> tuple[Tensor, Tensor, Tensor]:
    """Approximate the `q` largest singular values of `A`, or of `A - M` if `M` is given, and their vectors, as `(U, S, V)`.

    The algorithm is randomized.

    Args:
        A: matrices `(*, m, n)`.
        q: the number of singular values; None for 6.
        niter: the number of power iterations, which increase the accuracy; None for 2.
        M: a tensor that can be broadcast to the shape of `A`.
    """
def swapaxes(input: Tensor, axis0: _int, axis1: _int) -> Tensor:
    """Return a view with two dimensions swapped; another name of `transpose`.

    Args:
        axis0, axis1: the dimensions to swap.
    """
def swapdims(input: Tensor, dim0: _int, dim1: _int) -> Tensor:
    """Return a view with two dimensions swapped.

    Args:
        dim0, dim1: the dimensions to swap.

    >>> torch.transpose(torch.zeros(2, 3), 0, 1).shape
    torch.Size([3, 2])
    """
def symeig(input: Tensor, eigenvectors: _bool = ..., upper: _bool = ..., *, out: Sequence[Tensor] | None = ...) -> tuple[Tensor, Tensor]:
    """Return the eigenvalues of symmetric matrices, ascending, and eigenvectors (or zeros); a legacy name of `linalg.eigh`.

    Args:
        eigenvectors: whether to compute the eigenvectors.
        upper: whether to read the upper triangle; otherwise the lower one.
    """
def t(input: Tensor) -> Tensor:
    """Return a view of the transpose of a matrix; vectors and 0-d tensors are unchanged."""
def take(input: Tensor, index: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the elements at the positions `index` of the flattened tensor.

    Args:
        index: an int64 tensor, whose shape is that of the result.

    Raises:
        IndexError: an index is out of range.

    >>> torch.take(torch.tensor([[1, 2], [3, 4]]), torch.tensor([0, 3]))
    tensor([1, 4])
    """
def take_along_dim(input: Tensor, indices: Tensor, dim: _int | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return the elements at `indices` along `dim`; the other dimensions broadcast.  If `dim` is None, the input is flattened.

    Args:
        indices: an int64 tensor.
        dim: the dimension to select from; None to flatten.

    >>> x = torch.tensor([[1, 3, 2]])
    >>> torch.take_along_dim(x, x.argmax(1, keepdim=True), 1)
    tensor([[3]])
    """
def tan(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the tangent of an angle in radians."""
def tan_(input: Tensor) -> Tensor:
    """In-place form of `tan`."""
def tanh(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the hyperbolic tangent."""
def tanh_(input: Tensor) -> Tensor:
    """In-place form of `tanh`."""
def tensor(data: Any, *, dtype: _dtype | None = ..., device: _device | str | _int | None = ..., requires_grad: _bool = ..., pin_memory: _bool = ...) -> Tensor:
    """Return a tensor with a copy of `data`: a number, nested sequences, an array, or a tensor.

    Args:
        data: the numbers; the nested sequences of one depth must have equal lengths.
        dtype: the dtype of the result; None for the dtype of `data`. Python floats then have the default dtype, and integers
            int64.
        device: the device of the result; None for the device of `data`, or for the default device.
        requires_grad: whether autograd records operations on the result.
        pin_memory: whether the result is in page-locked memory, from which copies to a GPU are faster.

    Raises:
        ValueError: the nested sequences have unequal lengths.
        TypeError: an element is not a number.

    >>> torch.tensor([[1, 2], [3, 4]]), torch.tensor(1.5)
    (tensor([[1, 2],
            [3, 4]]), tensor(1.5000))
    """
def tensor_split(input: Tensor, indices_or_sections: Any = ..., dim: _int = ..., *, indices: Sequence[_int] | None = ..., sections: _int | None = ..., tensor_indices_or_sections: Tensor | None = ...) -> tuple[Tensor, ...]:
    """Split `dim` into views: into N parts of nearly equal size, or at the given indices.

    Args:
        indices_or_sections: the number of parts, or the indices of the first slice of each part but the first.
        dim: the dimension to split.
        indices, sections, tensor_indices_or_sections: other names of `indices_or_sections`.

    Raises:
        RuntimeError: the number of parts is below 1.

    >>> torch.tensor_split(torch.arange(5), 2), torch.tensor_split(torch.arange(5), [1, 3])
    ((tensor([0, 1, 2]), tensor([3, 4])), (tensor([0]), tensor([1, 2]), tensor([3, 4])))
    """
def tensordot(a: Tensor, b: Tensor, dims: _int | Tensor | Sequence[Sequence[_int]] = ..., *, out: Tensor | None = ...) -> Tensor:
    """Multiply `a` and `b`, and sum over pairs of dimensions.

    `dims` is a number `n`, which pairs the last `n` dimensions of `a` with the first `n` of `b`, or a pair of lists: the
    dimensions of `a` and those of `b`.

    Args:
        a, b: the tensors.
        dims: the number, or the pair of lists.

    Raises:
        RuntimeError: the sizes of paired dimensions differ.

    >>> torch.tensordot(torch.ones(2, 3, 4), torch.ones(4, 3, 5), dims=([1, 2], [1, 0])).shape
    torch.Size([2, 5])
    """
def threshold(input: Tensor, threshold: _float, value: _float, *, out: Tensor | None = ...) -> Tensor:
    """Keep the elements above `threshold`, and replace the others by `value`.

    Args:
        input: a tensor of any shape.
        threshold: the bound; an element equal to it is replaced.
        value: the replacement of the other elements.
        out: a tensor that the result is written to.

    Example:
        >>> torch.threshold(torch.tensor([0.0, 0.5]), 0.1, 20.0)
        tensor([20.0000,  0.5000])
    """
def threshold_(input: Tensor, threshold: _float, value: _float) -> Tensor:
    """In-place form of `threshold`: the result overwrites `input`, which is returned.

    Args:
        input: a tensor of any shape.
        threshold: the bound; an element equal to it is replaced.
        value: the replacement of the other elements.

    Example:
        >>> x = torch.tensor([-1.0, 2.0])
        >>> torch.nn.functional.threshold_(x, 0.1, 20.0) is x
        True
    """
def tile(input: Tensor, dims: Sequence[_int]) -> Tensor:
    """Repeat the tensor `dims[i]` times along each dimension; a shorter `dims` applies to the last dimensions.

    Args:
        dims: the numbers of repetitions.

    >>> torch.tile(torch.tensor([1, 2]), (2,))
    tensor([1, 2, 1, 2])
    """
def topk(input: Tensor, k: _int, dim: _int = ..., largest: _bool = ..., sorted: _bool = ..., *, out: Sequence[Tensor] | None = ...) -> return_types.topk:
    """Return the `k` largest (or smallest) elements along `dim`, in order, and their indices.

    Args:
        k: the number of elements.
        dim: the dimension to search.
        largest: whether to return the largest elements; otherwise the smallest.
        sorted: whether the elements are returned in order; they always are.

    Raises:
        RuntimeError: `k` is negative or larger than the dimension.

    >>> torch.tensor([1, 4, 2]).topk(2).values
    tensor([4, 2])
    """
def trace(input: Tensor) -> Tensor:
    """Return the sum of the diagonal of a matrix."""
def transpose(input: Tensor, dim0: _int, dim1: _int) -> Tensor:
    """Return a view with two dimensions swapped.

    Args:
        dim0, dim1: the dimensions to swap.

    >>> torch.transpose(torch.zeros(2, 3), 0, 1).shape
    torch.Size([3, 2])
    """
def trapezoid(y: Tensor, x: Tensor | None = ..., *, dx: Tensor | _int | _float | _complex = ..., dim: _int = ...) -> Tensor:
    """Integrate `y` over `dim` by the trapezoidal rule; the points are at `x`, or `dx` apart.

    Args:
        y: the values, a tensor.
        x: the points, a vector or a tensor that can be broadcast with `y`; None for equal distances.
        dx: the distance between points, used without `x`.
        dim: the dimension to integrate over.

    >>> torch.trapezoid(torch.tensor([1.0, 2.0, 3.0]), dx=2)
    tensor(8.)
    """
def trapz(y: Tensor, x: Tensor | None = ..., *, dx: Tensor | _int | _float | _complex = ..., dim: _int = ...) -> Tensor:
    """Integrate `y` over `dim` by the trapezoidal rule; the points are at `x`, or `dx` apart.

    Args:
        y: the values, a tensor.
        x: the points, a vector or a tensor that can be broadcast with `y`; None for equal distances.
        dx: the distance between points, used without `x`.
        dim: the dimension to integrate over.

    >>> torch.trapezoid(torch.tensor([1.0, 2.0, 3.0]), dx=2)
    tensor(8.)
    """
def triangular_solve(input: Tensor, A: Tensor, upper: _bool = ..., transpose: _bool = ..., unitriangular: _bool = ..., *, out: Tensor | None = ...) -> return_types.triangular_solve:
    """Return the solution of `A X = input` (`A^T X = input` if `transpose`) for triangular `A`, and a copy of `A`.

    Args:
        input: the right-hand side `(*, n, k)`.
        A: triangular matrices `(*, n, n)`.
        upper: whether to read the upper triangle of `A`; otherwise the lower one.
        transpose: whether to solve `A^T X = input`.
        unitriangular: whether the diagonal is assumed to be 1, and not read.
    """
def tril(input: Tensor, diagonal: _int = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return the lower triangle of matrices, the rest 0.

    Args:
        diagonal: the last diagonal of the triangle: 0 for the main one, positive above it, negative below.

    >>> torch.tril(torch.ones(2, 2))
    tensor([[1., 0.],
            [1., 1.]])
    """
def tril_indices(row: _int, col: _int, offset: _int = ..., *, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., requires_grad: _bool = ..., pin_memory: _bool = ...) -> Tensor:
    """Return the row and column indices on and below a diagonal of a `row` by `col` matrix, shape `(2, n)`.

    Args:
        row: the number of rows.
        col: the number of columns.
        offset: the diagonal: 0 for the main one, positive above it, negative below.
        dtype: int64 or int32; None for int64.
        device: the device of the result; None for the default device.
        layout: the layout of the result; None for `torch.strided`.
        requires_grad: whether autograd records operations on the result.
        pin_memory: whether the result is in page-locked memory, from which copies to a GPU are faster.

    >>> torch.tril_indices(2, 2)
    tensor([[0, 1, 1],
            [0, 0, 1]])
    """
def triu(input: Tensor, diagonal: _int = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return the upper triangle of matrices, the rest 0.

    Args:
        diagonal: the last diagonal of the triangle: 0 for the main one, positive above it, negative below.

    >>> torch.triu(torch.ones(2, 2))
    tensor([[1., 1.],
            [0., 1.]])
    """
def triu_indices(row: _int, col: _int, offset: _int = ..., *, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., requires_grad: _bool = ..., pin_memory: _bool = ...) -> Tensor:
    """Return the row and column indices on and above a diagonal of a `row` by `col` matrix, shape `(2, n)`.

    Args:
        row: the number of rows.
        col: the number of columns.
        offset: the diagonal: 0 for the main one, positive above it, negative below.
        dtype: int64 or int32; None for int64.
        device: the device of the result; None for the default device.
        layout: the layout of the result; None for `torch.strided`.
        requires_grad: whether autograd records operations on the result.
        pin_memory: whether the result is in page-locked memory, from which copies to a GPU are faster.

    >>> torch.triu_indices(2, 2)
    tensor([[0, 0, 1],
            [0, 1, 1]])
    """
def true_divide(input: Tensor, other: _int | _float | _complex | Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the unrounded quotient `input / other`.

    Args:
        other: a tensor that can be broadcast with `input`, or a number.

    >>> torch.true_divide(torch.tensor([1, 2]), 2)
    tensor([0.5000, 1.0000])
    """
def trunc(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the integer part, rounded towards 0."""
def trunc_(input: Tensor) -> Tensor:
    """In-place form of `trunc`."""
def unbind(input: Tensor, dim: _int = ...) -> tuple[Tensor, ...]:
    """Return views of all slices along `dim`, without that dimension.

    Args:
        dim: the dimension to remove.

    >>> torch.unbind(torch.tensor([[1, 2], [3, 4]]))
    (tensor([1, 2]), tensor([3, 4]))
    """
def unflatten(input: Tensor, dim: _int, sizes: Sequence[_int]) -> Tensor:
    """Split dimension `dim` into `sizes`; one size may be -1.

    Args:
        dim: the dimension to split.
        sizes: the new sizes, whose product is the size of `dim`.

    Raises:
        RuntimeError: the product of `sizes` is another number.

    >>> torch.zeros(2, 6).unflatten(1, (3, -1)).shape
    torch.Size([2, 3, 2])
    """
def unique(input: Tensor, sorted: _bool = ..., return_inverse: _bool = ..., return_counts: _bool = ..., dim: _int | None = ...) -> Any:
    """Return the sorted unique elements (or slices of `dim`) and, if requested, each element's index among them and the counts.

    Args:
        sorted: whether the result is sorted; it always is.
        return_inverse: whether to return each element's index in the result.
        return_counts: whether to return the number of occurrences of each element.
        dim: the dimension whose slices are compared; None to compare elements of the flattened tensor.

    >>> torch.tensor([3, 1, 3]).unique(return_counts=True)
    (tensor([1, 3]), tensor([1, 2]))
    """
def unique_consecutive(input: Tensor, return_inverse: _bool = ..., return_counts: _bool = ..., dim: _int | None = ...) -> Any:
    """Return the elements (or slices of `dim`) without consecutive repetitions.

    Args:
        return_inverse: whether to return each element's index in the result.
        return_counts: whether to return the length of each run of equal elements.
        dim: the dimension whose slices are compared; None to compare elements of the flattened tensor.

    >>> torch.unique_consecutive(torch.tensor([1, 1, 2, 1]))
    tensor([1, 2, 1])
    """
def unravel_index(indices: Tensor, shape: _int | Sequence[_int]) -> tuple[Tensor, ...]:
    """Convert indices into a flattened tensor of `shape` to one index tensor per dimension.

    Args:
        indices: an integer tensor.
        shape: the shape of the tensor that `indices` refer to.

    Raises:
        ValueError: a size is negative.
        TypeError: `indices` has another dtype.

    >>> torch.unravel_index(torch.tensor([1, 5]), (2, 3))
    (tensor([0, 1]), tensor([1, 2]))
    """
def unsafe_chunk(input: Tensor, chunks: _int, dim: _int = ...) -> tuple[Tensor, ...]:
    """Split `dim` as `chunk` does, but autograd does not treat the parts as views: see `unsafe_split`.

    Args:
        chunks: the largest number of parts.
        dim: the dimension to split.

    >>> torch.unsafe_chunk(torch.arange(4), 2)
    (tensor([0, 1]), tensor([2, 3]))
    """
def unsafe_split(input: Tensor, split_size: _int | Sequence[_int], dim: _int = ...) -> tuple[Tensor, ...]:
    """Split `dim` as `split` does, but autograd does not treat the parts as views.

    A write to a part does not change the history of `input` and of the other parts, although it changes their memory.

    Args:
        split_size: the length of each part, or a list of lengths.
        dim: the dimension to split.

    >>> torch.unsafe_split(torch.arange(3), 2)
    (tensor([0, 1]), tensor([2]))
    """
def unsafe_split_with_sizes(input: Tensor, split_sizes: Sequence[_int], dim: _int = ...) -> tuple[Tensor, ...]:
    """Split `dim` as `split_with_sizes` does, but autograd does not treat the parts as views: see `unsafe_split`.

    Args:
        split_sizes: the lengths of the parts, whose sum is the length of `dim`.
        dim: the dimension to split.

    >>> torch.unsafe_split_with_sizes(torch.arange(3), [1, 2])
    (tensor([0]), tensor([1, 2]))
    """
def unsqueeze(input: Tensor, dim: _int | None = ..., *, axis: _int | None = ...) -> Tensor:
    """Return a view with a new dimension of size 1 at `dim`.

    Args:
        dim: the index of the new dimension in the result.
        axis: another name of `dim`.

    >>> torch.zeros(2).unsqueeze(1).shape
    torch.Size([2, 1])
    """
def vander(x: Tensor, N: _int | None = ..., increasing: _bool = ...) -> Tensor:
    """Return the Vandermonde matrix: row `i` holds the powers of `x[i]`.

    Args:
        x: a vector.
        N: the number of columns; None for the length of `x`.
        increasing: whether the powers go from 0 to `N - 1`; otherwise from `N - 1` to 0.

    >>> torch.vander(torch.tensor([2, 3]), increasing=True)
    tensor([[1, 2],
            [1, 3]])
    """
def var(input: Tensor, dim: _int | Sequence[_int] | _bool | None = ..., unbiased: _bool = ..., keepdim: _bool = ..., *, correction: Tensor | _int | _float | _complex | None = ..., out: Tensor | None = ...) -> Tensor:
    """Return the variance of all elements, or over `dim`: the sum of squared differences from the mean, divided by
    `n - correction`.

    Args:
        dim: the dimensions to reduce, an int or a tuple; None for all.
        unbiased: whether the divisor of the variance is `n - 1`, not `n`; without effect if `correction` is given.
        keepdim: whether the reduced dimensions are kept with length 1.
        correction: the number subtracted from the number of elements `n`; None for 1 if `unbiased`, else 0.

    Raises:
        RuntimeError: the dtype is neither floating-point nor complex.

    >>> torch.tensor([1.0, 2.0, 3.0]).var()
    tensor(1.)
    """
def var_mean(input: Tensor, dim: _int | Sequence[_int] | _bool | None = ..., unbiased: _bool = ..., keepdim: _bool = ..., *, correction: Tensor | _int | _float | _complex | None = ...) -> tuple[Tensor, Tensor]:
    """Return the variance and the mean, of all elements or over `dim`.

    Args:
        dim: the dimensions to reduce, an int or a tuple; None for all.
        unbiased: whether the divisor of the variance is `n - 1`, not `n`; without effect if `correction` is given.
        keepdim: whether the reduced dimensions are kept with length 1.
        correction: the number subtracted from the number of elements `n`; None for 1 if `unbiased`, else 0.

    Raises:
        RuntimeError: the dtype is neither floating-point nor complex.

    >>> torch.var_mean(torch.tensor([1.0, 2.0, 3.0]))
    (tensor(1.), tensor(2.))
    """
def vdot(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the inner product of two vectors, with the first conjugated.

    Args:
        other: a vector with the length and the dtype of `input`.

    Raises:
        RuntimeError: an argument is not a vector, or the lengths or dtypes differ.

    >>> torch.vdot(torch.tensor([1j, 2]), torch.tensor([1j, 1]))
    tensor(3.+0.j)
    """
def view_as(input: Tensor, other: Tensor) -> Tensor:
    """Return `input.view(other.size())`.

    Args:
        other: a tensor with the number of elements of `input`.
    """
def view_as_complex(input: Tensor) -> Tensor:
    """View the memory as complex numbers; the last dimension, of length 2, holds their real and imaginary parts.

    Raises:
        RuntimeError: the dtype is not floating-point, the last dimension does not have length 2 and
            stride 1, or another stride is odd.
    """
def view_as_real(input: Tensor) -> Tensor:
    """View the memory as real numbers; a new last dimension of length 2 holds the real and imaginary parts.

    >>> torch.view_as_real(torch.tensor([1 + 2j]))
    tensor([[1., 2.]])
    """
def vsplit(input: Tensor, *args: Any, indices: Sequence[_int] | None = ..., sections: _int | None = ...) -> tuple[Tensor, ...]:
    """Split along dimension 0 into views; see `tensor_split`.

    Args:
        indices: the indices of the first slice of each part but the first.
        sections: the number of parts, all of the same length.

    Raises:
        RuntimeError: the length is not divisible by the number of parts, or the tensor has too few dimensions.

    >>> torch.vsplit(torch.ones(2, 2, 2), 2)[0].shape
    torch.Size([1, 2, 2])
    """
def vstack(tensors: Sequence[Tensor], *, out: Tensor | None = ...) -> Tensor:
    """Concatenate tensors along dimension 0; vectors are rows.

    Args:
        tensors: tensors whose sizes match in all dimensions except the first.

    >>> torch.vstack([torch.tensor([1, 2]), torch.tensor([[3, 4]])])
    tensor([[1, 2],
            [3, 4]])
    """
@overload
def where(condition: Tensor, input: _int | _float | _complex, other: _int | _float | _complex, *, out: Tensor | None = ...) -> Tensor:
    """Select `input` where `condition` holds, else `other`; with the condition alone, return its nonzero indices.

    Args:
        condition: a bool tensor.
        input, other: tensors that can be broadcast with `condition`, or numbers; None for both to return indices.

    Raises:
        RuntimeError: `condition` has another dtype.

    >>> torch.where(torch.tensor([True, False]), 1.0, 0.0)
    tensor([1., 0.])
    """
@overload
def where(condition: Tensor, input: Tensor, other: _int | _float | _complex, *, out: Tensor | None = ...) -> Tensor: ...
@overload
def where(condition: Tensor, input: _int | _float | _complex, other: Tensor, *, out: Tensor | None = ...) -> Tensor: ...
@overload
def where(condition: Tensor, input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor: ...
@overload
def where(condition: Tensor, *, out: Tensor | None = ...) -> tuple[Tensor, ...]: ...
def xlogy(input: Tensor | _int | _float | _complex, other: Tensor | _int | _float | _complex, *, out: Tensor | None = ...) -> Tensor:
    """Return `input * log(other)`; it is 0 where `input` is 0, unless `other` is NaN.

    Args:
        input: the factors, a tensor or a number.
        other: the numbers whose logarithms are taken, a tensor or a number.

    >>> torch.xlogy(torch.tensor([0.0, 1.0]), torch.tensor([0.0, 1.0]))
    tensor([0., 0.])
    """
def xlogy_(input: Tensor, other: Tensor | _int | _float | _complex) -> Tensor:
    """In-place form of `xlogy`.

    Args:
        other: the numbers whose logarithms are taken, a tensor or a number.
    """
def zero_(input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """Set every element to 0."""
def zeros(*size: _int | Sequence[_int], out: Tensor | None = ..., dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., requires_grad: _bool | None = ..., pin_memory: _bool | None = ..., memory_format: _memory_format | None = ...) -> Tensor:
    """Return a tensor of zeros.

    Args:
        *size: the shape: integers, or one sequence of them.
        out: a tensor that the result is written to.
        dtype: the dtype of the result; None for the default dtype.
        device: the device of the result; None for the default device.
        layout: the layout of the result; None for `torch.strided`.
        requires_grad: whether autograd records operations on the result.
        pin_memory: whether the result is in page-locked memory, from which copies to a GPU are faster.
        memory_format: the order of the dimensions in memory; None for row-major.

    >>> torch.zeros(2, 3)
    tensor([[0., 0., 0.],
            [0., 0., 0.]])
    """
def zeros_like(input: Tensor, *, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., requires_grad: _bool | None = ..., memory_format: _memory_format | None = ..., pin_memory: _bool | None = ...) -> Tensor:
    """Return zeros with the shape, dtype, device and memory order of `input`.

    Args:
        dtype, device: the dtype and device of the result; None to use those of `input`.
        memory_format: the order of the dimensions in memory; None or `torch.preserve_format` to keep the order of `input`.
        layout: the layout of the result; None for `torch.strided`.
        requires_grad: whether autograd records operations on the result.
        pin_memory: whether the result is in page-locked memory, from which copies to a GPU are faster.
    """
class BFloat16Tensor(Tensor): ...
class BoolTensor(Tensor): ...
class ByteTensor(Tensor): ...
class CharTensor(Tensor): ...
class ComplexDoubleTensor(Tensor): ...
class ComplexFloatTensor(Tensor): ...
class DoubleTensor(Tensor): ...
class FloatTensor(Tensor): ...
class HalfTensor(Tensor): ...
class IntTensor(Tensor): ...
class LongTensor(Tensor): ...
class ShortTensor(Tensor): ...
class BFloat16Storage(TypedStorage): ...
class BoolStorage(TypedStorage): ...
class ByteStorage(TypedStorage): ...
class CharStorage(TypedStorage): ...
class ComplexDoubleStorage(TypedStorage): ...
class ComplexFloatStorage(TypedStorage): ...
class DoubleStorage(TypedStorage): ...
class FloatStorage(TypedStorage): ...
class HalfStorage(TypedStorage): ...
class IntStorage(TypedStorage): ...
class LongStorage(TypedStorage): ...
class ShortStorage(TypedStorage): ...
class UInt16Storage(TypedStorage): ...
class UInt32Storage(TypedStorage): ...
class UInt64Storage(TypedStorage): ...

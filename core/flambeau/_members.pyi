"""Written by `python -m flambeau.launching.stubs`."""
# ruff: noqa: E501

from builtins import bool as _bool
from builtins import float as _float
from builtins import int as _int
from collections.abc import Sequence
from typing import Any

from ._tensor import Tensor
from .random import Generator
from .storage import TypedStorage, UntypedStorage
from .values.dtypes import dtype as _dtype

class Members:
    @property
    def H(self) -> Tensor: ...
    @property
    def T(self) -> Tensor: ...
    def __abs__(self) -> Tensor: ...
    def __add__(self, other: Any) -> Tensor: ...
    def __and__(self, other: Any) -> Tensor: ...
    def __array_namespace__(self, *, api_version: str | None = ...) -> Any: ...
    def __array_wrap__(self, array: Any, context: Any = ..., return_scalar: _bool = ...) -> Tensor: ...
    @property
    def __cuda_array_interface__(self) -> Any: ...
    def __deepcopy__(self, memo: Any) -> Any: ...
    def __delitem__(self, index: Any) -> None: ...  # operations/indexing.py
    def __div__(self, other: Any) -> Tensor: ...
    def __dlpack_device__(self) -> tuple[_int, _int]: ...
    def __eq__(self, other: Any) -> Tensor: ...  # type: ignore[override]
    def __floordiv__(self, other: Any) -> Tensor: ...
    def __format__(self, spec: str) -> str: ...
    def __ge__(self, other: Any) -> Tensor: ...
    def __getitem__(self, index: Any) -> Tensor: ...  # operations/indexing.py
    def __getstate__(self) -> Any: ...
    def __gt__(self, other: Any) -> Tensor: ...
    def __iadd__(self, other: Any) -> Tensor: ...  # operations/arithmetic.py
    def __iand__(self, other: Any) -> Tensor: ...  # operations/comparison.py
    def __idiv__(self, other: Any) -> Tensor: ...  # operations/arithmetic.py
    def __ifloordiv__(self, other: Any) -> Tensor: ...  # operations/arithmetic.py
    def __ilshift__(self, other: Any) -> Tensor: ...  # operations/comparison.py
    def __imod__(self, other: Any) -> Tensor: ...  # operations/arithmetic.py
    def __imul__(self, other: Any) -> Tensor: ...  # operations/arithmetic.py
    @classmethod
    def __init_subclass__(cls, **kwargs: Any) -> None: ...
    def __invert__(self) -> Tensor: ...  # operations/comparison.py
    def __ior__(self, other: Any) -> Tensor: ...  # operations/comparison.py
    def __ipow__(self, exponent: Any) -> Tensor: ...  # operations/arithmetic.py
    def __irshift__(self, other: Any) -> Tensor: ...  # operations/comparison.py
    def __isub__(self, other: Any) -> Tensor: ...  # operations/arithmetic.py
    def __itruediv__(self, other: Any) -> Tensor: ...  # operations/arithmetic.py
    def __ixor__(self, other: Any) -> Tensor: ...  # operations/comparison.py
    def __le__(self, other: Any) -> Tensor: ...
    def __lshift__(self, other: Any) -> Tensor: ...
    def __lt__(self, other: Any) -> Tensor: ...
    def __matmul__(self, other: Any) -> Tensor: ...  # operations/matrix.py
    def __mod__(self, other: Any) -> Tensor: ...
    def __mul__(self, other: Any) -> Tensor: ...
    def __ne__(self, other: Any) -> Tensor: ...  # type: ignore[override]
    def __neg__(self) -> Tensor: ...
    @staticmethod
    def __new__(cls: Any, *args: Any, device: Any = ..., requires_grad: _bool = ..., **unknown: Any) -> Any: ...
    def __or__(self, other: Any) -> Tensor: ...
    def __pos__(self) -> Tensor: ...  # operations/pointwise.py
    def __pow__(self, exponent: Any) -> Tensor: ...  # operations/arithmetic.py
    def __radd__(self, other: Any) -> Tensor: ...
    def __rand__(self, other: Any) -> Tensor: ...
    def __rdiv__(self, other: Any) -> Tensor: ...  # operations/arithmetic.py
    def __reduce_ex__(self, protocol: Any) -> Any: ...
    def __repr__(self, *, tensor_contents: Any = ...) -> str: ...
    def __rfloordiv__(self, other: Any) -> Tensor: ...
    def __rlshift__(self, other: Any) -> Tensor: ...
    def __rmatmul__(self, other: Any) -> Tensor: ...  # operations/matrix.py
    def __rmod__(self, other: Any) -> Tensor: ...
    def __rmul__(self, other: Any) -> Tensor: ...
    def __ror__(self, other: Any) -> Tensor: ...
    def __rpow__(self, other: Any) -> Tensor: ...  # operations/arithmetic.py
    def __rrshift__(self, other: Any) -> Tensor: ...
    def __rshift__(self, other: Any) -> Tensor: ...
    def __rsub__(self, other: Any) -> Tensor: ...
    def __rtruediv__(self, other: Any) -> Tensor: ...  # operations/arithmetic.py
    def __rxor__(self, other: Any) -> Tensor: ...
    def __setitem__(self, index: Any, value: Any) -> None: ...  # operations/indexing.py
    def __sub__(self, other: Any) -> Tensor: ...
    @staticmethod
    def __torch_dispatch__(func: Any, types: Any, args: Any = ..., kwargs: Any = ...) -> Any: ...
    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = ..., kwargs: Any = ...) -> Any: ...
    def __truediv__(self, other: Any) -> Tensor: ...
    def __xor__(self, other: Any) -> Tensor: ...
    def _assign(self, result: Tensor, name: str = ...) -> Tensor: ...
    def _coalesced_(self, coalesced: _bool) -> Tensor: ...  # operations/sparse_methods.py
    def _indices(self) -> Tensor: ...  # operations/sparse_methods.py
    @staticmethod
    def _make_wrapper_subclass(cls: Any, size: Sequence[_int], strides: Sequence[_int] | None = ..., storage_offset: _int | None = ..., memory_format: Any = ..., dtype: Any = ..., layout: Any = ..., device: Any = ..., pin_memory: _bool = ..., requires_grad: _bool = ..., dispatch_sizes_strides_policy: Any = ..., dispatch_device: _bool = ..., dispatch_layout: _bool = ..., **_: Any) -> Any: ...
    def _overwrite(self, value: Tensor) -> Tensor: ...  # operations/sampling.py
    def _typed_storage(self) -> TypedStorage: ...  # operations/memory.py
    def _values(self) -> Tensor: ...  # operations/sparse_methods.py
    def abs(self, *, out: Any = ...) -> Tensor: ...  # operations/pointwise.py
    def abs_(self) -> Tensor: ...  # operations/pointwise.py
    def absolute(self, *, out: Any = ...) -> Tensor: ...  # operations/pointwise.py
    def absolute_(self) -> Tensor: ...  # operations/pointwise.py
    def acos(self, *, out: Any = ...) -> Tensor: ...  # operations/pointwise.py
    def acos_(self) -> Tensor: ...  # operations/pointwise.py
    def acosh(self, *, out: Any = ...) -> Tensor: ...  # operations/pointwise.py
    def acosh_(self) -> Tensor: ...  # operations/pointwise.py
    def add(self, other: Any, alpha: Any = ..., *, out: Any = ...) -> Tensor: ...  # operations/arithmetic.py
    def add_(self, other: Any, alpha: Any = ...) -> Tensor: ...  # operations/arithmetic.py
    def addbmm(self, batch1: Tensor, batch2: Tensor, *legacy: Any, beta: Any = ..., alpha: Any = ..., out: Any = ...) -> Tensor: ...  # operations/matrix.py
    def addbmm_(self, batch1: Any, batch2: Any, *legacy: Any, beta: Any = ..., alpha: Any = ...) -> Tensor: ...  # operations/matrix.py
    def addcdiv(self, tensor1: Any, tensor2: Any = ..., *args: Any, value: Any = ..., out: Any = ...) -> Tensor: ...  # operations/arithmetic.py
    def addcdiv_(self, tensor1: Any, tensor2: Any = ..., *args: Any, value: Any = ...) -> Tensor: ...  # operations/arithmetic.py
    def addcmul(self, tensor1: Any, tensor2: Any = ..., *args: Any, value: Any = ..., out: Any = ...) -> Tensor: ...  # operations/arithmetic.py
    def addcmul_(self, tensor1: Any, tensor2: Any = ..., *args: Any, value: Any = ...) -> Tensor: ...  # operations/arithmetic.py
    def addmm(self, mat1: Tensor, mat2: Tensor, *legacy: Any, beta: Any = ..., alpha: Any = ..., out: Any = ...) -> Tensor: ...  # operations/matrix.py
    def addmm_(self, mat1: Tensor, mat2: Tensor, *legacy: Any, beta: Any = ..., alpha: Any = ...) -> Tensor: ...  # operations/matrix.py
    def addmv(self, mat: Tensor, vec: Tensor, *legacy: Any, beta: Any = ..., alpha: Any = ..., out: Any = ...) -> Tensor: ...  # operations/matrix.py
    def addmv_(self, mat: Tensor, vec: Tensor, *legacy: Any, beta: Any = ..., alpha: Any = ...) -> Tensor: ...  # operations/matrix.py
    def addr(self, vec1: Tensor, vec2: Tensor, *legacy: Any, beta: Any = ..., alpha: Any = ..., out: Any = ...) -> Tensor: ...  # operations/matrix.py
    def addr_(self, vec1: Tensor, vec2: Tensor, *legacy: Any, beta: Any = ..., alpha: Any = ...) -> Tensor: ...  # operations/matrix.py
    def adjoint(self) -> Tensor: ...  # operations/views.py
    def all(self, dim: Any = ..., keepdim: Any = ..., *, out: Any = ...) -> Tensor: ...  # operations/reductions.py
    def allclose(self, other: Tensor, rtol: _float = ..., atol: _float = ..., equal_nan: _bool = ...) -> _bool: ...  # operations/comparison.py
    def amax(self, dim: Any = ..., keepdim: _bool = ..., *, out: Any = ...) -> Tensor: ...  # operations/reductions.py
    def amin(self, dim: Any = ..., keepdim: _bool = ..., *, out: Any = ...) -> Tensor: ...  # operations/reductions.py
    def aminmax(self, *, dim: _int | None = ..., keepdim: _bool = ..., out: Any = ...) -> Any: ...  # operations/statistics.py
    def angle(self, *, out: Any = ...) -> Tensor: ...  # operations/complex.py
    def any(self, dim: Any = ..., keepdim: Any = ..., *, out: Any = ...) -> Tensor: ...  # operations/reductions.py
    def apply_(self, *args: Any) -> Tensor: ...
    def arccos(self, *, out: Any = ...) -> Tensor: ...  # operations/pointwise.py
    def arccos_(self) -> Tensor: ...  # operations/pointwise.py
    def arccosh(self, *, out: Any = ...) -> Tensor: ...  # operations/pointwise.py
    def arccosh_(self) -> Tensor: ...  # operations/pointwise.py
    def arcsin(self, *, out: Any = ...) -> Tensor: ...  # operations/pointwise.py
    def arcsin_(self) -> Tensor: ...  # operations/pointwise.py
    def arcsinh(self, *, out: Any = ...) -> Tensor: ...  # operations/pointwise.py
    def arcsinh_(self) -> Tensor: ...  # operations/pointwise.py
    def arctan(self, *, out: Any = ...) -> Tensor: ...  # operations/pointwise.py
    def arctan2(self, other: Any, *, out: Any = ...) -> Tensor: ...  # operations/elementary.py
    def arctan2_(self, other: Any) -> Tensor: ...  # operations/elementary.py
    def arctan_(self) -> Tensor: ...  # operations/pointwise.py
    def arctanh(self, *, out: Any = ...) -> Tensor: ...  # operations/pointwise.py
    def arctanh_(self) -> Tensor: ...  # operations/pointwise.py
    def argmax(self, dim: _int | None = ..., keepdim: _bool = ..., *, out: Any = ...) -> Tensor: ...  # operations/reductions.py
    def argmin(self, dim: _int | None = ..., keepdim: _bool = ..., *, out: Any = ...) -> Tensor: ...  # operations/reductions.py
    def argsort(self, dim: _int = ..., descending: _bool = ..., stable: _bool = ..., *, out: Any = ...) -> Tensor: ...  # operations/sorting.py
    def argwhere(self) -> Tensor: ...  # operations/statistics.py
    def as_strided(self, size: Sequence[_int], stride: Sequence[_int], storage_offset: _int | None = ...) -> Tensor: ...  # operations/memory.py
    def as_strided_(self, size: Sequence[_int], stride: Sequence[_int], storage_offset: _int | None = ...) -> Tensor: ...  # operations/memory.py
    def as_strided_scatter(self, src: Tensor, size: Sequence[_int], stride: Sequence[_int], storage_offset: _int | None = ...) -> Tensor: ...  # operations/scatter.py
    def asin(self, *, out: Any = ...) -> Tensor: ...  # operations/pointwise.py
    def asin_(self) -> Tensor: ...  # operations/pointwise.py
    def asinh(self, *, out: Any = ...) -> Tensor: ...  # operations/pointwise.py
    def asinh_(self) -> Tensor: ...  # operations/pointwise.py
    def atan(self, *, out: Any = ...) -> Tensor: ...  # operations/pointwise.py
    def atan2(self, other: Any, *, out: Any = ...) -> Tensor: ...  # operations/elementary.py
    def atan2_(self, other: Any) -> Tensor: ...  # operations/elementary.py
    def atan_(self) -> Tensor: ...  # operations/pointwise.py
    def atanh(self, *, out: Any = ...) -> Tensor: ...  # operations/pointwise.py
    def atanh_(self) -> Tensor: ...  # operations/pointwise.py
    def backward(self, gradient: Tensor | None = ..., retain_graph: _bool | None = ..., create_graph: _bool = ..., inputs: Any = ..., retain_variables: _bool | None = ...) -> None: ...
    def baddbmm(self, batch1: Tensor, batch2: Tensor, *legacy: Any, beta: Any = ..., alpha: Any = ..., out: Any = ...) -> Tensor: ...  # operations/matrix.py
    def baddbmm_(self, batch1: Tensor, batch2: Tensor, *legacy: Any, beta: Any = ..., alpha: Any = ...) -> Tensor: ...  # operations/matrix.py
    def bernoulli(self, p: Any = ..., *, generator: Generator | None = ..., out: Any = ...) -> Tensor: ...  # operations/sampling.py
    def bernoulli_(self, p: Any = ..., *, generator: Generator | None = ...) -> Tensor: ...  # operations/sampling.py
    def bfloat16(self, memory_format: Any = ...) -> Tensor: ...
    def bincount(self, weights: Tensor | None = ..., minlength: _int = ...) -> Tensor: ...  # operations/statistics.py
    def bitwise_and(self, other: Any, *, out: Any = ...) -> Tensor: ...  # operations/comparison.py
    def bitwise_and_(self, other: Any) -> Tensor: ...  # operations/comparison.py
    def bitwise_left_shift(self, other: Any, *, out: Any = ...) -> Tensor: ...  # operations/comparison.py
    def bitwise_left_shift_(self, other: Any) -> Tensor: ...  # operations/comparison.py
    def bitwise_not(self, *, out: Any = ...) -> Tensor: ...  # operations/comparison.py
    def bitwise_not_(self) -> Tensor: ...  # operations/comparison.py
    def bitwise_or(self, other: Any, *, out: Any = ...) -> Tensor: ...  # operations/comparison.py
    def bitwise_or_(self, other: Any) -> Tensor: ...  # operations/comparison.py
    def bitwise_right_shift(self, other: Any, *, out: Any = ...) -> Tensor: ...  # operations/comparison.py
    def bitwise_right_shift_(self, other: Any) -> Tensor: ...  # operations/comparison.py
    def bitwise_xor(self, other: Any, *, out: Any = ...) -> Tensor: ...  # operations/comparison.py
    def bitwise_xor_(self, other: Any) -> Tensor: ...  # operations/comparison.py
    def bmm(self, mat2: Tensor, *, out: Any = ...) -> Tensor: ...  # operations/matrix.py
    def bool(self, memory_format: Any = ...) -> Tensor: ...
    def broadcast_to(self, size: Any, *rest: Any) -> Tensor: ...  # operations/views.py
    def btrifact(self, info: Any = ..., pivot: _bool = ...) -> tuple[Tensor, Tensor]: ...  # operations/linear_algebra.py
    def btrisolve(self, LU_data: Tensor, LU_pivots: Tensor) -> Tensor: ...  # operations/linear_algebra.py
    def byte(self, memory_format: Any = ...) -> Tensor: ...
    def cauchy_(self, median: _float = ..., sigma: _float = ..., *, generator: Generator | None = ...) -> Tensor: ...
    def ccol_indices(self) -> Tensor: ...  # operations/sparse_methods.py
    def cdouble(self, memory_format: Any = ...) -> Tensor: ...
    def ceil(self, *, out: Any = ...) -> Tensor: ...  # operations/pointwise.py
    def ceil_(self) -> Tensor: ...  # operations/pointwise.py
    def cfloat(self, memory_format: Any = ...) -> Tensor: ...
    def char(self, memory_format: Any = ...) -> Tensor: ...
    def cholesky(self, upper: _bool = ..., *, out: Any = ...) -> Tensor: ...  # operations/linear_algebra.py
    def cholesky_inverse(self, upper: _bool = ..., *, out: Any = ...) -> Tensor: ...  # operations/linear_algebra.py
    def cholesky_solve(self, input2: Tensor, upper: _bool = ..., *, out: Any = ...) -> Tensor: ...  # operations/linear_algebra.py
    def chunk(self, chunks: _int, dim: _int = ...) -> tuple[Tensor, ...]: ...  # operations/views.py
    def clamp(self, min: Any = ..., max: Any = ..., *, out: Any = ...) -> Tensor: ...  # operations/comparison.py
    def clamp_(self, min: Any = ..., max: Any = ...) -> Tensor: ...  # operations/comparison.py
    def clamp_max(self, max: Any, *, out: Any = ...) -> Tensor: ...  # operations/comparison.py
    def clamp_max_(self, max: Any) -> Tensor: ...  # operations/comparison.py
    def clamp_min(self, min: Any, *, out: Any = ...) -> Tensor: ...  # operations/comparison.py
    def clamp_min_(self, min: Any) -> Tensor: ...  # operations/comparison.py
    def clip(self, min: Any = ..., max: Any = ..., *, out: Any = ...) -> Tensor: ...  # operations/comparison.py
    def clip_(self, min: Any = ..., max: Any = ...) -> Tensor: ...  # operations/comparison.py
    def clone(self, *, memory_format: Any = ...) -> Tensor: ...
    def coalesce(self) -> Tensor: ...  # operations/sparse_methods.py
    def col_indices(self) -> Tensor: ...  # operations/sparse_methods.py
    def conj(self) -> Tensor: ...
    def conj_physical(self, *, out: Any = ...) -> Tensor: ...  # operations/pointwise.py
    def conj_physical_(self) -> Tensor: ...  # operations/pointwise.py
    def contiguous(self, *, memory_format: Any = ...) -> Tensor: ...  # operations/conversion.py
    def copy_(self, other: Any, non_blocking: _bool = ...) -> Tensor: ...  # operations/conversion.py
    def copysign(self, other: Any, *, out: Any = ...) -> Tensor: ...  # operations/elementary.py
    def copysign_(self, other: Any) -> Tensor: ...  # operations/elementary.py
    def corrcoef(self) -> Tensor: ...  # operations/statistics.py
    def cos(self, *, out: Any = ...) -> Tensor: ...  # operations/pointwise.py
    def cos_(self) -> Tensor: ...  # operations/pointwise.py
    def cosh(self, *, out: Any = ...) -> Tensor: ...  # operations/pointwise.py
    def cosh_(self) -> Tensor: ...  # operations/pointwise.py
    def count_nonzero(self, dim: Any = ...) -> Tensor: ...  # operations/statistics.py
    def cov(self, *, correction: _int = ..., fweights: Tensor | None = ..., aweights: Tensor | None = ...) -> Tensor: ...  # operations/statistics.py
    def cpu(self, *, memory_format: Any = ...) -> Tensor: ...  # operations/conversion.py
    def cross(self, other: Tensor, dim: _int | None = ..., *, out: Any = ...) -> Tensor: ...  # operations/linear_algebra.py
    def crow_indices(self) -> Tensor: ...  # operations/sparse_methods.py
    def cuda(self, device: Any = ..., non_blocking: _bool = ..., memory_format: Any = ..., **legacy: Any) -> Tensor: ...  # operations/conversion.py
    def cummax(self, dim: _int, *, out: Any = ...) -> Any: ...  # operations/sorting.py
    def cummin(self, dim: _int, *, out: Any = ...) -> Any: ...  # operations/sorting.py
    def cumprod(self, dim: _int, *, dtype: _dtype | None = ..., out: Any = ...) -> Tensor: ...  # operations/reductions.py
    def cumprod_(self, dim: _int, *, dtype: _dtype | None = ...) -> Tensor: ...  # operations/reductions.py
    def cumsum(self, dim: _int, *, dtype: _dtype | None = ..., out: Any = ...) -> Tensor: ...  # operations/reductions.py
    def cumsum_(self, dim: _int, *, dtype: _dtype | None = ...) -> Tensor: ...  # operations/reductions.py
    def deg2rad(self, *, out: Any = ...) -> Tensor: ...  # operations/elementary.py
    def deg2rad_(self) -> Tensor: ...  # operations/elementary.py
    def dense_dim(self) -> _int: ...  # operations/sparse_methods.py
    def det(self) -> Tensor: ...  # operations/linear_algebra.py
    def diag(self, diagonal: _int = ..., *, out: Any = ...) -> Tensor: ...  # operations/blocks.py
    def diag_embed(self, offset: _int = ..., dim1: _int = ..., dim2: _int = ...) -> Tensor: ...  # operations/blocks.py
    def diagflat(self, offset: _int = ...) -> Tensor: ...  # operations/blocks.py
    def diagonal(self, offset: _int = ..., dim1: _int = ..., dim2: _int = ...) -> Tensor: ...  # operations/views.py
    def diagonal_scatter(self, src: Tensor, offset: _int = ..., dim1: _int = ..., dim2: _int = ...) -> Tensor: ...  # operations/scatter.py
    def diff(self, n: _int = ..., dim: _int = ..., prepend: Tensor | None = ..., append: Tensor | None = ..., *, out: Any = ...) -> Tensor: ...  # operations/statistics.py
    def digamma(self, *, out: Any = ...) -> Tensor: ...  # operations/gamma.py
    def digamma_(self) -> Tensor: ...  # operations/gamma.py
    def dim_order(self, *, ambiguity_check: Any = ...) -> tuple[_int, ...]: ...  # operations/miscellaneous.py
    def dist(self, other: Tensor, p: _float = ...) -> Tensor: ...  # operations/statistics.py
    def div(self, other: Any, *, rounding_mode: str | None = ..., out: Any = ...) -> Tensor: ...  # operations/arithmetic.py
    def div_(self, other: Any, *, rounding_mode: str | None = ...) -> Tensor: ...  # operations/arithmetic.py
    def divide(self, other: Any, *, rounding_mode: str | None = ..., out: Any = ...) -> Tensor: ...  # operations/arithmetic.py
    def divide_(self, other: Any, *, rounding_mode: str | None = ...) -> Tensor: ...  # operations/arithmetic.py
    def dot(self, tensor: Tensor, *, out: Any = ...) -> Tensor: ...  # operations/matrix.py
    def double(self, memory_format: Any = ...) -> Tensor: ...
    def dsplit(self, *args: Any, indices: Any = ..., sections: Any = ...) -> Any: ...
    def eig(self, *args: Any, **kwargs: Any) -> Sequence[Tensor]: ...
    def eq(self, other: Any, *, out: Any = ...) -> Tensor: ...  # operations/comparison.py
    def eq_(self, other: Any) -> Tensor: ...  # operations/comparison.py
    def equal(self, other: Tensor) -> _bool: ...  # operations/comparison.py
    def erf(self, *, out: Any = ...) -> Tensor: ...  # operations/error_function.py
    def erf_(self) -> Tensor: ...  # operations/error_function.py
    def erfc(self, *, out: Any = ...) -> Tensor: ...  # operations/error_function.py
    def erfc_(self) -> Tensor: ...  # operations/error_function.py
    def erfinv(self, *, out: Any = ...) -> Tensor: ...  # operations/normal_distribution.py
    def erfinv_(self) -> Tensor: ...  # operations/normal_distribution.py
    def exp(self, *, out: Any = ...) -> Tensor: ...  # operations/pointwise.py
    def exp2(self, *, out: Any = ...) -> Tensor: ...  # operations/pointwise.py
    def exp2_(self) -> Tensor: ...  # operations/pointwise.py
    def exp_(self) -> Tensor: ...  # operations/pointwise.py
    def expand(self, size: Any, *rest: Any, implicit: _bool = ...) -> Tensor: ...  # operations/views.py
    def expand_as(self, other: Tensor) -> Tensor: ...  # operations/views.py
    def expm1(self, *, out: Any = ...) -> Tensor: ...  # operations/pointwise.py
    def expm1_(self) -> Tensor: ...  # operations/pointwise.py
    def exponential_(self, lambd: _float = ..., *, generator: Generator | None = ...) -> Tensor: ...
    def fill_(self, value: Any) -> Tensor: ...  # operations/sampling.py
    def fill_diagonal_(self, fill_value: Any, wrap: _bool = ...) -> Tensor: ...  # operations/blocks.py
    def fix(self, *, out: Any = ...) -> Tensor: ...  # operations/pointwise.py
    def fix_(self) -> Tensor: ...  # operations/pointwise.py
    def flatten(self, start_dim: _int = ..., end_dim: _int = ...) -> Tensor: ...  # operations/views.py
    def flip(self, dims: Any, *rest: Any) -> Tensor: ...  # operations/joining.py
    def fliplr(self) -> Tensor: ...  # operations/blocks.py
    def flipud(self) -> Tensor: ...  # operations/blocks.py
    def float(self, memory_format: Any = ...) -> Tensor: ...
    def float_power(self, exponent: Any, *, out: Any = ...) -> Tensor: ...  # operations/arithmetic.py
    def float_power_(self, exponent: Any) -> Tensor: ...  # operations/arithmetic.py
    def floor(self, *, out: Any = ...) -> Tensor: ...  # operations/pointwise.py
    def floor_(self) -> Tensor: ...  # operations/pointwise.py
    def floor_divide(self, other: Any, *, out: Any = ...) -> Tensor: ...  # operations/arithmetic.py
    def floor_divide_(self, other: Any) -> Tensor: ...  # operations/arithmetic.py
    def fmax(self, other: Any, *, out: Any = ...) -> Tensor: ...  # operations/elementary.py
    def fmin(self, other: Any, *, out: Any = ...) -> Tensor: ...  # operations/elementary.py
    def fmod(self, other: Any, *, out: Any = ...) -> Tensor: ...  # operations/arithmetic.py
    def fmod_(self, other: Any) -> Tensor: ...  # operations/arithmetic.py
    def frac(self, *, out: Any = ...) -> Tensor: ...  # operations/pointwise.py
    def frac_(self) -> Tensor: ...  # operations/pointwise.py
    def frexp(self, *, out: Any = ...) -> Any: ...  # operations/elementary.py
    def gather(self, dim: _int, index: Tensor, *, sparse_grad: _bool = ..., out: Any = ...) -> Tensor: ...  # operations/indexing.py
    def gcd(self, other: Any, *, out: Any = ...) -> Tensor: ...  # operations/elementary.py
    def gcd_(self, other: Any) -> Tensor: ...  # operations/elementary.py
    def ge(self, other: Any, *, out: Any = ...) -> Tensor: ...  # operations/comparison.py
    def ge_(self, other: Any) -> Tensor: ...  # operations/comparison.py
    def gels(self, A: Tensor, *, out: Any = ...) -> tuple[Tensor, Tensor]: ...  # operations/linear_algebra.py
    def geometric_(self, p: _float, *, generator: Generator | None = ...) -> Tensor: ...
    def geqrf(self, *, out: Any = ...) -> Any: ...  # operations/linear_algebra.py
    def ger(self, vec2: Tensor, *, out: Any = ...) -> Tensor: ...  # operations/matrix.py
    def greater(self, other: Any, *, out: Any = ...) -> Tensor: ...  # operations/comparison.py
    def greater_(self, other: Any) -> Tensor: ...  # operations/comparison.py
    def greater_equal(self, other: Any, *, out: Any = ...) -> Tensor: ...  # operations/comparison.py
    def greater_equal_(self, other: Any) -> Tensor: ...  # operations/comparison.py
    def gt(self, other: Any, *, out: Any = ...) -> Tensor: ...  # operations/comparison.py
    def gt_(self, other: Any) -> Tensor: ...  # operations/comparison.py
    def half(self, memory_format: Any = ...) -> Tensor: ...
    def hardshrink(self, lambd: _float = ..., *, out: Any = ...) -> Tensor: ...  # operations/activation.py
    def hash_tensor(self, dim: Any = ..., *, keepdim: _bool = ..., mode: _int = ..., out: Any = ...) -> Tensor: ...  # operations/miscellaneous.py
    def heaviside(self, values: Tensor, *, out: Any = ...) -> Tensor: ...  # operations/elementary.py
    def heaviside_(self, values: Tensor) -> Tensor: ...  # operations/elementary.py
    def histc(self, bins: _int = ..., min: _float = ..., max: _float = ..., *, out: Any = ...) -> Tensor: ...  # operations/statistics.py
    def histogram(self, bins: _int | Tensor = ..., *, range: Any = ..., weight: Tensor | None = ..., density: _bool = ..., out: Any = ...) -> Any: ...  # operations/statistics.py
    def hsplit(self, *args: Any, indices: Any = ..., sections: Any = ...) -> Any: ...  # operations/blocks.py
    def hypot(self, other: Any, *, out: Any = ...) -> Tensor: ...  # operations/elementary.py
    def hypot_(self, other: Any) -> Tensor: ...  # operations/elementary.py
    def i0(self, *, out: Any = ...) -> Tensor: ...  # operations/bessel.py
    def i0_(self) -> Tensor: ...  # operations/bessel.py
    def igamma(self, other: Any, *, out: Any = ...) -> Tensor: ...  # operations/gamma.py
    def igamma_(self, other: Any) -> Tensor: ...  # operations/gamma.py
    def igammac(self, other: Any, *, out: Any = ...) -> Tensor: ...  # operations/gamma.py
    def igammac_(self, other: Any) -> Tensor: ...  # operations/gamma.py
    @property
    def imag(self) -> Tensor: ...
    @imag.setter
    def imag(self, value: Any) -> None: ...
    def index(self, positions: Any, dims: Any) -> Tensor: ...  # operations/indexing.py
    def index_add(self, dim: _int, index: Tensor, source: Tensor, *, alpha: Any = ..., out: Any = ...) -> Tensor: ...  # operations/scatter.py
    def index_add_(self, dim: _int, index: Tensor, source: Tensor, *, alpha: Any = ...) -> Tensor: ...  # operations/scatter.py
    def index_copy(self, dim: _int, index: Tensor, source: Tensor, *, out: Any = ...) -> Tensor: ...  # operations/scatter.py
    def index_copy_(self, dim: _int, index: Tensor, source: Tensor) -> Tensor: ...  # operations/scatter.py
    def index_fill(self, dim: _int, index: Tensor, value: Any) -> Tensor: ...  # operations/scatter.py
    def index_fill_(self, dim: _int, index: Tensor, value: Any) -> Tensor: ...  # operations/scatter.py
    def index_put(self, indices: Any, values: Tensor, accumulate: _bool = ...) -> Tensor: ...  # operations/scatter.py
    def index_put_(self, indices: Any, values: Tensor, accumulate: _bool = ...) -> Tensor: ...  # operations/scatter.py
    def index_reduce(self, dim: _int, index: Tensor, source: Tensor, reduce: str, *, include_self: _bool = ..., out: Any = ...) -> Tensor: ...  # operations/scatter.py
    def index_reduce_(self, dim: _int, index: Tensor, source: Tensor, reduce: str, *, include_self: _bool = ...) -> Tensor: ...  # operations/scatter.py
    def index_select(self, dim: _int, index: Tensor, *, out: Any = ...) -> Tensor: ...  # operations/indexing.py
    def indices(self) -> Tensor: ...  # operations/sparse_methods.py
    def inner(self, other: Tensor, *, out: Any = ...) -> Tensor: ...  # operations/linear_algebra.py
    def int(self, memory_format: Any = ...) -> Tensor: ...
    def inverse(self, *, out: Any = ...) -> Tensor: ...  # operations/linear_algebra.py
    def is_coalesced(self) -> _bool: ...  # operations/sparse_methods.py
    def is_conj(self) -> _bool: ...  # operations/pointwise.py
    def is_contiguous(self, *, memory_format: Any = ...) -> _bool: ...  # operations/conversion.py
    is_maia: Any
    is_mkldnn: Any
    is_mps: Any
    is_mtia: Any
    def is_neg(self) -> _bool: ...  # operations/pointwise.py
    is_nested: Any
    def is_nonzero(self) -> _bool: ...  # operations/complex.py
    def is_pinned(self, device: Any = ...) -> _bool: ...  # operations/memory.py
    is_quantized: Any
    def is_same_size(self, other: Tensor) -> _bool: ...  # operations/memory.py
    def is_set_to(self, tensor: Tensor) -> _bool: ...  # operations/memory.py
    def is_shared(self) -> _bool: ...  # operations/memory.py
    is_sparse_csr: Any
    is_vulkan: Any
    is_xla: Any
    is_xpu: Any
    def isclose(self, other: Tensor, rtol: _float = ..., atol: _float = ..., equal_nan: _bool = ...) -> Tensor: ...  # operations/comparison.py
    def isfinite(self) -> Tensor: ...  # operations/pointwise.py
    def isinf(self) -> Tensor: ...  # operations/pointwise.py
    def isnan(self) -> Tensor: ...  # operations/pointwise.py
    def isneginf(self, *, out: Any = ...) -> Tensor: ...  # operations/elementary.py
    def isposinf(self, *, out: Any = ...) -> Tensor: ...  # operations/elementary.py
    def isreal(self) -> Tensor: ...  # operations/complex.py
    def istft(self, n_fft: _int, hop_length: _int | None = ..., win_length: _int | None = ..., window: Tensor | None = ..., center: _bool = ..., normalized: _bool = ..., onesided: _bool | None = ..., length: _int | None = ..., return_complex: _bool = ...) -> Tensor: ...  # operations/fourier.py
    def kron(self, other: Tensor, *, out: Any = ...) -> Tensor: ...  # operations/linear_algebra.py
    def kthvalue(self, k: _int, dim: _int = ..., keepdim: _bool = ..., *, out: Any = ...) -> Any: ...  # operations/sorting.py
    layout: Any
    def lcm(self, other: Any, *, out: Any = ...) -> Tensor: ...  # operations/elementary.py
    def lcm_(self, other: Any) -> Tensor: ...  # operations/elementary.py
    def ldexp(self, other: Tensor, *, out: Any = ...) -> Tensor: ...  # operations/elementary.py
    def ldexp_(self, other: Tensor) -> Tensor: ...  # operations/elementary.py
    def le(self, other: Any, *, out: Any = ...) -> Tensor: ...  # operations/comparison.py
    def le_(self, other: Any) -> Tensor: ...  # operations/comparison.py
    def lerp(self, end: Tensor, weight: Any, *, out: Any = ...) -> Tensor: ...  # operations/arithmetic.py
    def lerp_(self, end: Tensor, weight: Any) -> Tensor: ...  # operations/arithmetic.py
    def less(self, other: Any, *, out: Any = ...) -> Tensor: ...  # operations/comparison.py
    def less_(self, other: Any) -> Tensor: ...  # operations/comparison.py
    def less_equal(self, other: Any, *, out: Any = ...) -> Tensor: ...  # operations/comparison.py
    def less_equal_(self, other: Any) -> Tensor: ...  # operations/comparison.py
    def lgamma(self, *, out: Any = ...) -> Tensor: ...  # operations/gamma.py
    def lgamma_(self) -> Tensor: ...  # operations/gamma.py
    def log(self, *, out: Any = ...) -> Tensor: ...  # operations/pointwise.py
    def log10(self, *, out: Any = ...) -> Tensor: ...  # operations/pointwise.py
    def log10_(self) -> Tensor: ...  # operations/pointwise.py
    def log1p(self, *, out: Any = ...) -> Tensor: ...  # operations/pointwise.py
    def log1p_(self) -> Tensor: ...  # operations/pointwise.py
    def log2(self, *, out: Any = ...) -> Tensor: ...  # operations/pointwise.py
    def log2_(self) -> Tensor: ...  # operations/pointwise.py
    def log_(self) -> Tensor: ...  # operations/pointwise.py
    def log_normal_(self, mean: _float = ..., std: _float = ..., *, generator: Generator | None = ...) -> Tensor: ...
    def log_softmax(self, dim: _int, dtype: _dtype | None = ..., *, out: Any = ...) -> Tensor: ...  # operations/softmax.py
    def logaddexp(self, other: Any, *, out: Any = ...) -> Tensor: ...  # operations/elementary.py
    def logaddexp2(self, other: Any, *, out: Any = ...) -> Tensor: ...  # operations/elementary.py
    def logcumsumexp(self, dim: _int, *, out: Any = ...) -> Tensor: ...  # operations/statistics.py
    def logdet(self) -> Tensor: ...  # operations/linear_algebra.py
    def logical_and(self, other: Any, *, out: Any = ...) -> Tensor: ...  # operations/comparison.py
    def logical_and_(self, other: Any) -> Tensor: ...  # operations/comparison.py
    def logical_not(self, *, out: Any = ...) -> Tensor: ...  # operations/comparison.py
    def logical_not_(self) -> Tensor: ...  # operations/comparison.py
    def logical_or(self, other: Any, *, out: Any = ...) -> Tensor: ...  # operations/comparison.py
    def logical_or_(self, other: Any) -> Tensor: ...  # operations/comparison.py
    def logical_xor(self, other: Any, *, out: Any = ...) -> Tensor: ...  # operations/comparison.py
    def logical_xor_(self, other: Any) -> Tensor: ...  # operations/comparison.py
    def logit(self, eps: Any = ..., *, out: Any = ...) -> Tensor: ...  # operations/elementary.py
    def logit_(self, eps: Any = ...) -> Tensor: ...  # operations/elementary.py
    def logsumexp(self, dim: Any, keepdim: _bool = ..., *, out: Any = ...) -> Tensor: ...  # operations/reductions.py
    def long(self, memory_format: Any = ...) -> Tensor: ...
    def lstsq(self, *args: Any, **kwargs: Any) -> Sequence[Tensor]: ...
    def lt(self, other: Any, *, out: Any = ...) -> Tensor: ...  # operations/comparison.py
    def lt_(self, other: Any) -> Tensor: ...  # operations/comparison.py
    def lu(self, pivot: _bool = ..., get_infos: Any = ..., out: Any = ...) -> Any: ...  # operations/linear_algebra.py
    def lu_solve(self, LU_data: Tensor, LU_pivots: Tensor, *, out: Any = ...) -> Tensor: ...  # operations/linear_algebra.py
    @property
    def mH(self) -> Tensor: ...
    @property
    def mT(self) -> Tensor: ...
    def map2_(self, *args: Any) -> Tensor: ...
    def map_(self, *args: Any) -> Tensor: ...
    def masked_fill(self, mask: Tensor, value: Any) -> Tensor: ...  # operations/indexing.py
    def masked_fill_(self, mask: Tensor, value: Any) -> Tensor: ...  # operations/indexing.py
    def masked_scatter(self, mask: Tensor, source: Tensor) -> Tensor: ...  # operations/scatter.py
    def masked_scatter_(self, mask: Tensor, source: Tensor) -> Tensor: ...  # operations/scatter.py
    def masked_select(self, mask: Tensor, *, out: Any = ...) -> Tensor: ...  # operations/indexing.py
    def matmul(self, other: Tensor, *, out: Any = ...) -> Tensor: ...  # operations/matrix.py
    def matrix_exp(self) -> Tensor: ...  # operations/linear_algebra.py
    def matrix_power(self, n: _int, *, out: Any = ...) -> Tensor: ...  # operations/linear_algebra.py
    def matrix_rank(self, *args: Any, **kwargs: Any) -> Sequence[Tensor]: ...
    def max(self, *args: Any, dim: Any = ..., keepdim: _bool = ..., other: Any = ..., out: Any = ...) -> Any: ...  # operations/reductions.py
    def maximum(self, other: Any, *, out: Any = ...) -> Tensor: ...  # operations/comparison.py
    def mean(self, dim: Any = ..., keepdim: _bool = ..., *, dtype: _dtype | None = ..., out: Any = ...) -> Tensor: ...  # operations/reductions.py
    def median(self, dim: _int | None = ..., keepdim: _bool = ..., *, out: Any = ...) -> Any: ...  # operations/sorting.py
    def min(self, *args: Any, dim: Any = ..., keepdim: _bool = ..., other: Any = ..., out: Any = ...) -> Any: ...  # operations/reductions.py
    def minimum(self, other: Any, *, out: Any = ...) -> Tensor: ...  # operations/comparison.py
    def mm(self, mat2: Tensor, *, out: Any = ...) -> Tensor: ...  # operations/matrix.py
    def mode(self, dim: _int = ..., keepdim: _bool = ..., *, out: Any = ...) -> Any: ...  # operations/sorting.py
    def module_load(self, other: Tensor, assign: _bool = ...) -> Tensor: ...  # operations/miscellaneous.py
    def moveaxis(self, source: Any, destination: Any) -> Tensor: ...  # operations/views.py
    def movedim(self, source: Any, destination: Any) -> Tensor: ...  # operations/views.py
    def msort(self, *, out: Any = ...) -> Tensor: ...  # operations/sorting.py
    def mul(self, other: Any, *, out: Any = ...) -> Tensor: ...  # operations/arithmetic.py
    def mul_(self, other: Any) -> Tensor: ...  # operations/arithmetic.py
    def multinomial(self, num_samples: _int, replacement: _bool = ..., *, generator: Generator | None = ..., out: Any = ...) -> Tensor: ...  # operations/sampling.py
    def multiply(self, other: Any, *, out: Any = ...) -> Tensor: ...  # operations/arithmetic.py
    def multiply_(self, other: Any) -> Tensor: ...  # operations/arithmetic.py
    def mv(self, vec: Tensor, *, out: Any = ...) -> Tensor: ...  # operations/matrix.py
    def mvlgamma(self, p: _int, *, out: Any = ...) -> Tensor: ...  # operations/gamma.py
    def mvlgamma_(self, p: _int) -> Tensor: ...  # operations/gamma.py
    def nan_to_num(self, nan: _float | None = ..., posinf: _float | None = ..., neginf: _float | None = ..., *, out: Any = ...) -> Tensor: ...  # operations/statistics.py
    def nan_to_num_(self, nan: _float | None = ..., posinf: _float | None = ..., neginf: _float | None = ...) -> Tensor: ...  # operations/statistics.py
    def nanmean(self, dim: Any = ..., keepdim: _bool = ..., *, dtype: _dtype | None = ..., out: Any = ...) -> Tensor: ...  # operations/statistics.py
    def nanmedian(self, dim: _int | None = ..., keepdim: _bool = ..., *, out: Any = ...) -> Any: ...  # operations/sorting.py
    def nanquantile(self, q: Any, dim: _int | None = ..., keepdim: _bool = ..., *, interpolation: str = ..., out: Any = ...) -> Tensor: ...  # operations/statistics.py
    def nansum(self, dim: Any = ..., keepdim: _bool = ..., *, dtype: _dtype | None = ..., out: Any = ...) -> Tensor: ...  # operations/statistics.py
    def narrow(self, dim: _int, start: _int | Tensor, length: _int) -> Tensor: ...  # operations/views.py
    def narrow_copy(self, dim: _int, start: _int, length: _int, *, out: Any = ...) -> Tensor: ...  # operations/views.py
    def ne(self, other: Any, *, out: Any = ...) -> Tensor: ...  # operations/comparison.py
    def ne_(self, other: Any) -> Tensor: ...  # operations/comparison.py
    def neg(self, *, out: Any = ...) -> Tensor: ...  # operations/pointwise.py
    def neg_(self) -> Tensor: ...  # operations/pointwise.py
    def negative(self, *, out: Any = ...) -> Tensor: ...  # operations/pointwise.py
    def negative_(self) -> Tensor: ...  # operations/pointwise.py
    def new(self, *args: Any, **options: Any) -> Tensor: ...
    def new_empty(self, size: Any, *rest: Any, dtype: _dtype | None = ..., layout: Any = ..., device: Any = ..., requires_grad: _bool | None = ..., pin_memory: _bool | None = ...) -> Tensor: ...
    def new_empty_strided(self, size: Sequence[_int], stride: Sequence[_int], *, dtype: _dtype | None = ..., layout: Any = ..., device: Any = ..., requires_grad: _bool | None = ..., pin_memory: _bool | None = ...) -> Tensor: ...  # operations/creation.py
    def new_full(self, size: Sequence[_int], fill_value: Any, *, dtype: _dtype | None = ..., layout: Any = ..., device: Any = ..., requires_grad: _bool | None = ..., pin_memory: _bool | None = ...) -> Tensor: ...  # operations/creation.py
    def new_ones(self, size: Any, *rest: Any, dtype: _dtype | None = ..., layout: Any = ..., device: Any = ..., requires_grad: _bool | None = ..., pin_memory: _bool | None = ...) -> Tensor: ...
    def new_tensor(self, data: Any, *, dtype: _dtype | None = ..., device: Any = ..., requires_grad: _bool = ...) -> Tensor: ...  # operations/creation.py
    def new_zeros(self, size: Any, *rest: Any, dtype: _dtype | None = ..., layout: Any = ..., device: Any = ..., requires_grad: _bool | None = ..., pin_memory: _bool | None = ...) -> Tensor: ...
    def nextafter(self, other: Any, *, out: Any = ...) -> Tensor: ...  # operations/elementary.py
    def nextafter_(self, other: Any) -> Tensor: ...  # operations/elementary.py
    def nonzero(self, *, as_tuple: _bool = ..., out: Any = ...) -> Any: ...  # operations/indexing.py
    def nonzero_static(self, *, size: _int, fill_value: _int = ..., out: Any = ...) -> Tensor: ...  # operations/statistics.py
    def norm(self, p: Any = ..., dim: Any = ..., keepdim: _bool = ..., dtype: _dtype | None = ..., *, out: Any = ...) -> Tensor: ...  # operations/statistics.py
    def normal_(self, mean: _float = ..., std: _float = ..., *, generator: Generator | None = ...) -> Tensor: ...  # operations/sampling.py
    def not_equal(self, other: Any, *, out: Any = ...) -> Tensor: ...  # operations/comparison.py
    def not_equal_(self, other: Any) -> Tensor: ...  # operations/comparison.py
    def orgqr(self, input2: Tensor, *, out: Any = ...) -> Tensor: ...  # operations/linear_algebra.py
    def ormqr(self, input2: Tensor, input3: Tensor, left: _bool = ..., transpose: _bool = ..., *, out: Any = ...) -> Tensor: ...  # operations/linear_algebra.py
    def outer(self, vec2: Tensor, *, out: Any = ...) -> Tensor: ...  # operations/matrix.py
    def permute(self, dims: Any, *rest: Any) -> Tensor: ...  # operations/views.py
    def pin_memory(self, device: Any = ...) -> Tensor: ...  # operations/memory.py
    def pinverse(self, rcond: _float = ...) -> Tensor: ...  # operations/linear_algebra.py
    def poisson(self, generator: Generator | None = ...) -> Tensor: ...  # operations/sampling.py
    def polygamma(self, n: _int) -> Tensor: ...  # operations/gamma.py
    def polygamma_(self, n: _int) -> Tensor: ...  # operations/gamma.py
    def positive(self) -> Tensor: ...  # operations/pointwise.py
    def pow(self, exponent: Any, *, out: Any = ...) -> Tensor: ...  # operations/arithmetic.py
    def pow_(self, exponent: Any) -> Tensor: ...  # operations/arithmetic.py
    def prelu(self, weight: Tensor) -> Tensor: ...  # operations/activation.py
    def prod(self, dim: _int | None = ..., keepdim: _bool = ..., *, dtype: _dtype | None = ..., out: Any = ...) -> Tensor: ...  # operations/reductions.py
    def put(self, index: Tensor, source: Tensor, accumulate: _bool = ...) -> Tensor: ...  # operations/scatter.py
    def put_(self, index: Tensor, source: Tensor, accumulate: _bool = ...) -> Tensor: ...  # operations/scatter.py
    def qr(self, some: _bool = ..., *, out: Any = ...) -> Any: ...  # operations/linear_algebra.py
    def quantile(self, q: Any, dim: _int | None = ..., keepdim: _bool = ..., *, interpolation: str = ..., out: Any = ...) -> Tensor: ...  # operations/statistics.py
    def rad2deg(self, *, out: Any = ...) -> Tensor: ...  # operations/elementary.py
    def rad2deg_(self) -> Tensor: ...  # operations/elementary.py
    def random_(self, low: Any = ..., high: Any = ..., *, to: Any = ..., generator: Generator | None = ..., **named: Any) -> Tensor: ...
    def ravel(self) -> Tensor: ...  # operations/views.py
    @property
    def real(self) -> Tensor: ...
    @real.setter
    def real(self, value: Any) -> None: ...
    def reciprocal(self, *, out: Any = ...) -> Tensor: ...  # operations/pointwise.py
    def reciprocal_(self) -> Tensor: ...  # operations/pointwise.py
    def record_stream(self, s: Any) -> None: ...  # operations/memory.py
    def reinforce(self, reward: Any) -> None: ...  # operations/miscellaneous.py
    def relu(self) -> Tensor: ...  # operations/activation.py
    def relu_(self) -> Tensor: ...  # operations/activation.py
    def remainder(self, other: Any, *, out: Any = ...) -> Tensor: ...  # operations/arithmetic.py
    def remainder_(self, other: Any) -> Tensor: ...  # operations/arithmetic.py
    def renorm(self, p: _float, dim: _int, maxnorm: _float, *, out: Any = ...) -> Tensor: ...  # operations/statistics.py
    def renorm_(self, p: _float, dim: _int, maxnorm: _float) -> Tensor: ...  # operations/statistics.py
    def repeat(self, repeats: Any, *rest: Any) -> Tensor: ...  # operations/joining.py
    def repeat_interleave(self, repeats: Any = ..., dim: _int | None = ..., *, output_size: _int | None = ...) -> Tensor: ...  # operations/joining.py
    def reshape(self, shape: Any, *rest: Any) -> Tensor: ...  # operations/views.py
    def reshape_as(self, other: Tensor) -> Tensor: ...  # operations/views.py
    def resize(self, *sizes: Any) -> Tensor: ...  # operations/inplace_views.py
    def resize_(self, size: Any, *rest: Any, memory_format: Any = ...) -> Tensor: ...  # operations/inplace_views.py
    def resize_as(self, tensor: Tensor) -> Tensor: ...  # operations/inplace_views.py
    def resize_as_(self, the_template: Tensor, *, memory_format: Any = ...) -> Tensor: ...  # operations/inplace_views.py
    def resize_as_sparse_(self, other: Tensor) -> Tensor: ...  # operations/sparse_methods.py
    def resolve_conj(self) -> Tensor: ...  # operations/pointwise.py
    def resolve_neg(self) -> Tensor: ...  # operations/pointwise.py
    def roll(self, shifts: Any, dims: Any = ...) -> Tensor: ...  # operations/joining.py
    def rot90(self, k: _int = ..., dims: Sequence[_int] = ...) -> Tensor: ...  # operations/blocks.py
    def round(self, *, decimals: _int = ..., out: Any = ...) -> Tensor: ...  # operations/pointwise.py
    def round_(self, *, decimals: _int = ...) -> Tensor: ...  # operations/pointwise.py
    def row_indices(self) -> Tensor: ...  # operations/sparse_methods.py
    def rsqrt(self, *, out: Any = ...) -> Tensor: ...  # operations/pointwise.py
    def rsqrt_(self) -> Tensor: ...  # operations/pointwise.py
    def scatter(self, dim: _int, index: Tensor, src: Any = ..., *, value: Any = ..., reduce: str | None = ..., out: Any = ...) -> Tensor: ...  # operations/scatter.py
    def scatter_(self, dim: _int, index: Tensor, src: Any = ..., *, value: Any = ..., reduce: str | None = ...) -> Tensor: ...  # operations/scatter.py
    def scatter_add(self, dim: _int, index: Tensor, src: Tensor, *, out: Any = ...) -> Tensor: ...  # operations/indexing.py
    def scatter_add_(self, dim: _int, index: Tensor, src: Tensor) -> Tensor: ...  # operations/indexing.py
    def scatter_reduce(self, dim: _int, index: Tensor, src: Tensor, reduce: str, *, include_self: _bool = ..., out: Any = ...) -> Tensor: ...  # operations/scatter.py
    def scatter_reduce_(self, dim: _int, index: Tensor, src: Tensor, reduce: str, *, include_self: _bool = ...) -> Tensor: ...  # operations/scatter.py
    def select(self, dim: _int, index: _int) -> Tensor: ...  # operations/views.py
    def select_scatter(self, src: Tensor, dim: _int, index: _int) -> Tensor: ...  # operations/scatter.py
    def set_(self, source: Any = ..., storage_offset: _int | None = ..., size: Any = ..., stride: Any = ...) -> Tensor: ...  # operations/inplace_views.py
    def sgn(self, *, out: Any = ...) -> Tensor: ...  # operations/pointwise.py
    def sgn_(self) -> Tensor: ...  # operations/pointwise.py
    def share_memory_(self) -> Tensor: ...  # operations/relocation.py
    def short(self, memory_format: Any = ...) -> Tensor: ...
    def sigmoid(self, *, out: Any = ...) -> Tensor: ...  # operations/pointwise.py
    def sigmoid_(self) -> Tensor: ...  # operations/pointwise.py
    def sign(self, *, out: Any = ...) -> Tensor: ...  # operations/pointwise.py
    def sign_(self) -> Tensor: ...  # operations/pointwise.py
    def signbit(self, *, out: Any = ...) -> Tensor: ...  # operations/pointwise.py
    def sin(self, *, out: Any = ...) -> Tensor: ...  # operations/pointwise.py
    def sin_(self) -> Tensor: ...  # operations/pointwise.py
    def sinc(self, *, out: Any = ...) -> Tensor: ...  # operations/elementary.py
    def sinc_(self) -> Tensor: ...  # operations/elementary.py
    def sinh(self, *, out: Any = ...) -> Tensor: ...  # operations/pointwise.py
    def sinh_(self) -> Tensor: ...  # operations/pointwise.py
    def slice_scatter(self, src: Tensor, dim: _int = ..., start: _int | None = ..., end: _int | None = ..., step: _int = ..., *, out: Any = ...) -> Tensor: ...  # operations/scatter.py
    def slogdet(self, *, out: Any = ...) -> Any: ...  # operations/linear_algebra.py
    def smm(self, mat: Tensor) -> Tensor: ...  # operations/sparse_methods.py
    def softmax(self, dim: _int, dtype: _dtype | None = ..., *, out: Any = ...) -> Tensor: ...  # operations/softmax.py
    def solve(self, *args: Any, **kwargs: Any) -> Sequence[Tensor]: ...
    def sort(self, dim: _int = ..., descending: _bool = ..., stable: _bool | None = ..., *, out: Any = ...) -> Any: ...  # operations/sorting.py
    def sparse_dim(self) -> _int: ...  # operations/sparse_methods.py
    def sparse_mask(self, mask: Tensor) -> Tensor: ...  # operations/sparse_methods.py
    def sparse_resize_(self, size: Sequence[_int], sparse_dim: _int, dense_dim: _int) -> Tensor: ...  # operations/sparse_methods.py
    def sparse_resize_and_clear_(self, size: Sequence[_int], sparse_dim: _int, dense_dim: _int) -> Tensor: ...  # operations/sparse_methods.py
    def split(self, split_size_or_sections: Any = ..., dim: _int = ..., *, split_size: Any = ...) -> tuple[Tensor, ...]: ...  # operations/views.py
    def split_with_sizes(self, split_sizes: Sequence[_int], dim: _int = ...) -> tuple[Tensor, ...]: ...  # operations/views.py
    def sqrt(self, *, out: Any = ...) -> Tensor: ...  # operations/pointwise.py
    def sqrt_(self) -> Tensor: ...  # operations/pointwise.py
    def square(self, *, out: Any = ...) -> Tensor: ...  # operations/pointwise.py
    def square_(self) -> Tensor: ...  # operations/pointwise.py
    def squeeze(self, dim: Any = ..., *, axis: Any = ...) -> Tensor: ...  # operations/views.py
    def squeeze_(self, dim: Any = ..., *, axis: Any = ...) -> Tensor: ...  # operations/views.py
    def sspaddmm(self, mat1: Tensor, mat2: Tensor, *, beta: Any = ..., alpha: Any = ...) -> Tensor: ...  # operations/sparse_methods.py
    def std(self, dim: Any = ..., unbiased: _bool = ..., keepdim: _bool = ..., *, correction: Any = ..., out: Any = ...) -> Tensor: ...  # operations/reductions.py
    def stft(self, n_fft: _int, hop_length: _int | None = ..., win_length: _int | None = ..., window: Tensor | None = ..., center: Any = ..., pad_mode: str = ..., normalized: _bool = ..., onesided: _bool | None = ..., return_complex: _bool | None = ..., align_to_window: _bool | None = ...) -> Tensor: ...  # operations/fourier.py
    def storage(self) -> TypedStorage: ...  # operations/memory.py
    def storage_type(self) -> Any: ...  # operations/memory.py
    def sub(self, other: Any, alpha: Any = ..., *, out: Any = ...) -> Tensor: ...  # operations/arithmetic.py
    def sub_(self, other: Any, alpha: Any = ...) -> Tensor: ...  # operations/arithmetic.py
    def subtract(self, other: Any, alpha: Any = ..., *, out: Any = ...) -> Tensor: ...  # operations/arithmetic.py
    def subtract_(self, other: Any, alpha: Any = ...) -> Tensor: ...  # operations/arithmetic.py
    def sum(self, dim: Any = ..., keepdim: Any = ..., *, dtype: Any = ..., out: Any = ...) -> Tensor: ...  # operations/reductions.py
    def sum_to_size(self, size: Any, *rest: Any) -> Tensor: ...  # operations/views.py
    def svd(self, some: _bool = ..., compute_uv: _bool = ..., *, out: Any = ...) -> Any: ...  # operations/linear_algebra.py
    def swapaxes(self, axis0: _int, axis1: _int) -> Tensor: ...  # operations/views.py
    def swapaxes_(self, axis0: _int, axis1: _int) -> Tensor: ...  # operations/views.py
    def swapdims(self, dim0: _int, dim1: _int) -> Tensor: ...  # operations/views.py
    def swapdims_(self, dim0: _int, dim1: _int) -> Tensor: ...  # operations/views.py
    def symeig(self, eigenvectors: _bool = ..., upper: _bool = ..., *, out: Any = ...) -> tuple[Tensor, Tensor]: ...  # operations/linear_algebra.py
    def t(self) -> Tensor: ...  # operations/views.py
    def t_(self) -> Tensor: ...  # operations/views.py
    def take(self, index: Tensor, *, out: Any = ...) -> Tensor: ...  # operations/scatter.py
    def take_along_dim(self, indices: Tensor, dim: _int | None = ..., *, out: Any = ...) -> Tensor: ...  # operations/scatter.py
    def tan(self, *, out: Any = ...) -> Tensor: ...  # operations/pointwise.py
    def tan_(self) -> Tensor: ...  # operations/pointwise.py
    def tanh(self, *, out: Any = ...) -> Tensor: ...  # operations/pointwise.py
    def tanh_(self) -> Tensor: ...  # operations/pointwise.py
    def tensor_split(self, indices_or_sections: Any = ..., dim: _int = ..., *, indices: Any = ..., sections: Any = ..., tensor_indices_or_sections: Tensor | None = ...) -> Any: ...  # operations/blocks.py
    def tile(self, dims: Any, *rest: Any) -> Tensor: ...  # operations/joining.py
    def to(self, *args: Any, dtype: Any = ..., device: Any = ..., other: Any = ..., non_blocking: _bool = ..., copy: _bool = ..., memory_format: Any = ...) -> Tensor: ...  # operations/conversion.py
    def to_dense(self, dtype: Any = ..., *, masked_grad: _bool | None = ...) -> Tensor: ...  # operations/conversion.py
    def to_sparse(self, sparse_dim: _int | None = ..., *, layout: Any = ..., blocksize: Any = ..., dense_dim: _int | None = ...) -> Tensor: ...  # operations/sparse_methods.py
    def to_sparse_bsc(self, blocksize: Sequence[_int], dense_dim: _int | None = ...) -> Tensor: ...  # operations/sparse_methods.py
    def to_sparse_bsr(self, blocksize: Sequence[_int], dense_dim: _int | None = ...) -> Tensor: ...  # operations/sparse_methods.py
    def to_sparse_coo(self) -> Tensor: ...  # operations/sparse_methods.py
    def to_sparse_csc(self, dense_dim: _int | None = ...) -> Tensor: ...  # operations/sparse_methods.py
    def to_sparse_csr(self, dense_dim: _int | None = ...) -> Tensor: ...  # operations/sparse_methods.py
    def topk(self, k: _int, dim: _int = ..., largest: _bool = ..., sorted: _bool = ..., *, out: Any = ...) -> Any: ...  # operations/sorting.py
    def trace(self) -> Tensor: ...  # operations/blocks.py
    def transpose(self, dim0: _int, dim1: _int) -> Tensor: ...  # operations/views.py
    def transpose_(self, dim0: _int, dim1: _int) -> Tensor: ...  # operations/views.py
    def triangular_solve(self, A: Tensor, upper: _bool = ..., transpose: _bool = ..., unitriangular: _bool = ..., *, out: Any = ...) -> Any: ...  # operations/linear_algebra.py
    def tril(self, diagonal: _int = ..., *, out: Any = ...) -> Tensor: ...  # operations/views.py
    def tril_(self, diagonal: _int = ...) -> Tensor: ...  # operations/views.py
    def triu(self, diagonal: _int = ..., *, out: Any = ...) -> Tensor: ...  # operations/views.py
    def triu_(self, diagonal: _int = ...) -> Tensor: ...  # operations/views.py
    def true_divide(self, other: Any, *, out: Any = ...) -> Tensor: ...  # operations/arithmetic.py
    def true_divide_(self, other: Any) -> Tensor: ...  # operations/arithmetic.py
    def trunc(self, *, out: Any = ...) -> Tensor: ...  # operations/pointwise.py
    def trunc_(self) -> Tensor: ...  # operations/pointwise.py
    def type(self, dtype: Any = ..., non_blocking: _bool = ..., **kwargs: Any) -> Any: ...
    def type_as(self, other: Tensor) -> Tensor: ...  # operations/conversion.py
    def unbind(self, dim: _int = ...) -> tuple[Tensor, ...]: ...  # operations/views.py
    def unflatten(self, dim: _int, sizes: Sequence[_int]) -> Tensor: ...  # operations/views.py
    def unfold(self, dimension: _int, size: _int, step: _int) -> Tensor: ...  # operations/views.py
    def uniform_(self, low: _float = ..., high: _float = ..., *, to: Any = ..., generator: Generator | None = ..., **named: Any) -> Tensor: ...
    def unique(self, sorted: _bool = ..., return_inverse: _bool = ..., return_counts: _bool = ..., dim: _int | None = ...) -> Any: ...  # operations/sorting.py
    def unique_consecutive(self, return_inverse: _bool = ..., return_counts: _bool = ..., dim: _int | None = ...) -> Any: ...  # operations/sorting.py
    def unsafe_chunk(self, chunks: _int, dim: _int = ...) -> Any: ...  # operations/blocks.py
    def unsafe_split(self, split_size: Any, dim: _int = ...) -> Any: ...  # operations/blocks.py
    def unsafe_split_with_sizes(self, split_sizes: Sequence[_int], dim: _int = ...) -> tuple[Tensor, ...]: ...  # operations/views.py
    def unsqueeze(self, dim: _int | None = ..., *, axis: _int | None = ...) -> Tensor: ...  # operations/views.py
    def unsqueeze_(self, dim: _int | None = ..., *, axis: _int | None = ...) -> Tensor: ...  # operations/views.py
    def untyped_storage(self) -> UntypedStorage: ...  # operations/memory.py
    def values(self) -> Tensor: ...  # operations/sparse_methods.py
    def var(self, dim: Any = ..., unbiased: _bool = ..., keepdim: _bool = ..., *, correction: Any = ..., out: Any = ...) -> Tensor: ...  # operations/reductions.py
    def vdot(self, other: Tensor, *, out: Any = ...) -> Tensor: ...  # operations/matrix.py
    def view(self, size: Any = ..., *rest: Any, dtype: Any = ...) -> Tensor: ...  # operations/views.py
    def view_as(self, other: Tensor) -> Tensor: ...  # operations/views.py
    @property
    def volatile(self) -> _bool: ...
    @volatile.setter
    def volatile(self, value: Any) -> None: ...
    def vsplit(self, *args: Any, indices: Any = ..., sections: Any = ...) -> Any: ...
    def where(self, condition: Tensor, other: Any) -> Tensor: ...  # operations/comparison.py
    def xlogy(self, other: Any, *, out: Any = ...) -> Tensor: ...  # operations/elementary.py
    def xlogy_(self, other: Any) -> Tensor: ...  # operations/elementary.py
    def zero_(self) -> Tensor: ...  # operations/sampling.py

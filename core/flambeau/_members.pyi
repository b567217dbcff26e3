"""Written by `python -m flambeau.cli.stubs`."""
# ruff: noqa: E501

from builtins import bool as _bool
from builtins import complex as _complex
from builtins import float as _float
from builtins import int as _int
from collections.abc import Sequence
from typing import Any, overload

import numpy

from . import return_types
from .engine.devices.devices import device as _device
from .engine.tensors.tensor import Tensor
from .engine.values.constants import layout as _layout
from .engine.values.constants import memory_format as _memory_format
from .engine.values.dtypes import dtype as _dtype
from .random import Generator
from .storage import TypedStorage, UntypedStorage

NumpyArray = numpy.ndarray[Any, Any]

class Members:
    @property
    def H(self) -> Tensor: ...
    @property
    def T(self) -> Tensor: ...
    def __abs__(self) -> Tensor: ...
    def __add__(self, other: Tensor | _int | _float | _complex) -> Tensor: ...
    def __and__(self, other: _int | _float | _complex | Tensor) -> Tensor: ...
    def __array_namespace__(self, *, api_version: str | None = ...) -> Any:
        """Return the array API namespace for tensors.  ValueError for an unsupported version of the standard."""
    def __array_wrap__(self, array: Any, context: Any = ..., return_scalar: _bool = ...) -> Tensor: ...
    @property
    def __cuda_array_interface__(self) -> Any: ...
    def __deepcopy__(self, memo: Any) -> Any: ...
    def __delitem__(self, index: Any) -> None: ...
    def __div__(self, other: Tensor | _int | _float | _complex) -> Tensor: ...
    def __dlpack_device__(self) -> tuple[_int, _int]: ...
    def __eq__(self, other: _int | _float | _complex | Tensor) -> Tensor: ...  # type: ignore[override]
    def __floordiv__(self, other: _int | _float | _complex | Tensor) -> Tensor: ...
    def __format__(self, spec: str) -> str:
        """Return `format(tensor, spec)`.  A 0-d tensor formats as its number; for others `spec` must be empty."""
    def __ge__(self, other: _int | _float | _complex | Tensor) -> Tensor: ...
    def __getitem__(self, index: Any) -> Tensor: ...
    def __getstate__(self) -> Any:
        """Return the attributes that a user has set on a tensor, or (attributes, slots) if its subclass has slots with values."""
    def __gt__(self, other: _int | _float | _complex | Tensor) -> Tensor: ...
    def __iadd__(self, other: Tensor | _int | _float | _complex) -> Tensor:
        """In-place form of `add`."""
    def __iand__(self, other: _int | _float | _complex | Tensor) -> Tensor:
        """In-place form of `bitwise_and`.

        Args:
            other: a tensor that can be broadcast with `input`, or a number; one of both is a tensor.
        """
    def __idiv__(self, other: Tensor | _int | _float | _complex) -> Tensor:
        """In-place form of `div`."""
    def __ifloordiv__(self, other: _int | _float | _complex | Tensor) -> Tensor:
        """In-place form of `floor_divide`.

        Args:
            other: a tensor that can be broadcast with `input`, or a number.
        """
    def __ilshift__(self, other: _int | _float | _complex | Tensor) -> Tensor:
        """In-place form of `bitwise_left_shift`.

        Args:
            other: a tensor that can be broadcast with `input`, or a number; one of both is a tensor.
        """
    def __imod__(self, other: _int | _float | _complex | Tensor) -> Tensor:
        """In-place form of `remainder`.

        Args:
            other: a tensor that can be broadcast with `input`, or a number.
        """
    def __imul__(self, other: Tensor | _int | _float | _complex) -> Tensor:
        """In-place form of `mul`.

        Args:
            other: a tensor that can be broadcast with `input`, or a number.
        """
    @classmethod
    def __init_subclass__(cls, **kwargs: Any) -> None: ...
    def __invert__(self) -> Tensor:
        """Return `~self`, which is `bitwise_not`.  Raises TypeError unless the dtype is integer or bool."""
    def __ior__(self, other: _int | _float | _complex | Tensor) -> Tensor:
        """In-place form of `bitwise_or`.

        Args:
            other: a tensor that can be broadcast with `input`, or a number; one of both is a tensor.
        """
    def __ipow__(self, other: Tensor | _int | _float | _complex) -> Tensor: ...
    def __irshift__(self, other: _int | _float | _complex | Tensor) -> Tensor:
        """In-place form of `bitwise_right_shift`.

        Args:
            other: a tensor that can be broadcast with `input`, or a number; one of both is a tensor.
        """
    def __isub__(self, other: Tensor | _int | _float | _complex) -> Tensor:
        """In-place form of `sub`."""
    def __itruediv__(self, other: Tensor | _int | _float | _complex) -> Tensor:
        """In-place form of `div`."""
    def __ixor__(self, other: _int | _float | _complex | Tensor) -> Tensor:
        """In-place form of `bitwise_xor`.

        Args:
            other: a tensor that can be broadcast with `input`, or a number; one of both is a tensor.
        """
    def __le__(self, other: _int | _float | _complex | Tensor) -> Tensor: ...
    def __lshift__(self, other: _int | _float | _complex | Tensor) -> Tensor: ...
    def __lt__(self, other: _int | _float | _complex | Tensor) -> Tensor: ...
    def __matmul__(self, other: Tensor) -> Tensor: ...
    def __mod__(self, other: _int | _float | _complex | Tensor) -> Tensor: ...
    def __mul__(self, other: Tensor | _int | _float | _complex) -> Tensor: ...
    def __ne__(self, other: _int | _float | _complex | Tensor) -> Tensor: ...  # type: ignore[override]
    def __neg__(self) -> Tensor: ...
    @staticmethod
    def __new__(cls: Any, *args: Any, device: _device | str | _int | None = ..., requires_grad: _bool = ..., **unknown: Any) -> Any:
        """Create the tensor that the legacy constructor `Tensor(...)` returns, with the default dtype."""
    def __or__(self, other: _int | _float | _complex | Tensor) -> Tensor: ...
    def __pos__(self) -> Tensor:
        """Return the tensor itself.  Raises RuntimeError for a bool tensor."""
    def __pow__(self, exponent: Tensor | _int | _float | _complex) -> Tensor: ...
    def __radd__(self, other: Tensor | _int | _float | _complex) -> Tensor: ...
    def __rand__(self, other: _int | _float | _complex | Tensor) -> Tensor: ...
    def __rdiv__(self, other: Tensor | _int | _float | _complex) -> Tensor: ...
    def __reduce_ex__(self, protocol: Any) -> Any: ...
    def __repr__(self, *, tensor_contents: Any = ...) -> str: ...
    def __rfloordiv__(self, other: _int | _float | _complex | Tensor) -> Tensor: ...
    def __rlshift__(self, other: _int | _float | _complex | Tensor) -> Tensor: ...
    def __rmatmul__(self, other: Any) -> Tensor: ...
    def __rmod__(self, other: _int | _float | _complex | Tensor) -> Tensor: ...
    def __rmul__(self, other: Tensor | _int | _float | _complex) -> Tensor: ...
    def __ror__(self, other: _int | _float | _complex | Tensor) -> Tensor: ...
    def __rpow__(self, other: Any) -> Tensor: ...
    def __rrshift__(self, other: _int | _float | _complex | Tensor) -> Tensor: ...
    def __rshift__(self, other: _int | _float | _complex | Tensor) -> Tensor: ...
    def __rsub__(self, other: Tensor | _int | _float | _complex) -> Tensor: ...
    def __rtruediv__(self, other: Tensor | _int | _float | _complex) -> Tensor: ...
    def __rxor__(self, other: _int | _float | _complex | Tensor) -> Tensor: ...
    def __setitem__(self, index: Any, value: Tensor | _int | _float | _complex) -> None: ...
    def __sub__(self, other: Tensor | _int | _float | _complex) -> Tensor: ...
    @staticmethod
    def __torch_dispatch__(func: Any, types: Any, args: Any = ..., kwargs: Any = ...) -> Any:
        """Implement `Tensor.__torch_dispatch__`, which overrides nothing: compute the operation on the subclasses' own data."""
    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = ..., kwargs: Any = ...) -> Any: ...
    def __truediv__(self, other: Tensor | _int | _float | _complex) -> Tensor: ...
    def __xor__(self, other: _int | _float | _complex | Tensor) -> Tensor: ...
    def _assign(self, result: Tensor, name: str = ...) -> Tensor:
        """Write `result` into the memory of `self`, and give `self` its history."""
    def _coalesced_(self, coalesced: _bool) -> Tensor:
        """Mark a COO tensor as coalesced or not, without checking its indices."""
    def _dimI(self) -> _int:
        """Return the number of sparse dimensions of a COO tensor."""
    def _dimV(self) -> _int:
        """Return the number of dense dimensions of a COO tensor."""
    def _indices(self) -> Tensor:
        """Return the indices of a COO tensor, coalesced or not."""
    @staticmethod
    def _make_wrapper_subclass(cls: Any, size: Sequence[_int], strides: Sequence[_int] | None = ..., storage_offset: _int | None = ..., memory_format: _memory_format | None = ..., dtype: Any = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool = ..., requires_grad: _bool = ..., dispatch_sizes_strides_policy: Any = ..., dispatch_device: _bool = ..., dispatch_layout: _bool = ..., **_: Any) -> Any:
        """Create a wrapper of class `cls` with this shape, dtype and device, without elements; `cls.__new__` calls it.

        Raises:
            TypeError: the class has no `__torch_dispatch__`.
        """
    def _nnz(self) -> _int:
        """Return the number of specified elements of a sparse tensor, or of blocks."""
    def _overwrite(self, value: Tensor) -> Tensor:
        """Overwrite the elements with `value`, which must not depend on them; the old values get no gradient."""
    def _typed_storage(self) -> TypedStorage:
        """Return the tensor's storage, typed with its dtype."""
    def _values(self) -> Tensor:
        """Return the values of a COO tensor, coalesced or not, without history."""
    def abs(self, *, out: Tensor | None = ...) -> Tensor:
        """Return the absolute value, which is the modulus of a complex number."""
    def abs_(self) -> Tensor:
        """In-place form of `abs`."""
    def absolute(self, *, out: Tensor | None = ...) -> Tensor:
        """Return the absolute value, which is the modulus of a complex number."""
    def absolute_(self) -> Tensor:
        """In-place form of `abs`."""
    def acos(self, *, out: Tensor | None = ...) -> Tensor:
        """Return the inverse cosine, in radians."""
    def acos_(self) -> Tensor:
        """In-place form of `acos`."""
    def acosh(self, *, out: Tensor | None = ...) -> Tensor:
        """Return the inverse hyperbolic cosine."""
    def acosh_(self) -> Tensor:
        """In-place form of `acosh`."""
    def add(self, other: Tensor | _int | _float | _complex, alpha: Tensor | _int | _float | _complex = ..., *, out: Tensor | None = ...) -> Tensor:
        """`input + alpha * other`, element by element, broadcast.

        Args:
            input: a tensor, or a number if `other` is a tensor.
            other: a tensor that can be broadcast with `input`, or a number.
            alpha: the factor of `other`; an integer if the result is an integer tensor.
            out: a tensor that the result is written to.

        >>> torch.add(torch.ones(2), torch.ones(2), alpha=10)
        tensor([11., 11.])
        """
    def add_(self, other: Tensor | _int | _float | _complex, alpha: Tensor | _int | _float | _complex = ...) -> Tensor:
        """In-place form of `add`.

        Args:
            other: a tensor that can be broadcast with `input`, or a number.
            alpha: the factor of `other`; an integer if the result is an integer tensor.
        """
    def addbmm(self, batch1: Tensor, batch2: Tensor, *, beta: Tensor | _int | _float | _complex = ..., alpha: Tensor | _int | _float | _complex = ..., out: Tensor | None = ...) -> Tensor:
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
    def addbmm_(self, batch1: Tensor, batch2: Tensor, *, beta: _int | _float | _complex = ..., alpha: _int | _float | _complex = ...) -> Tensor:
        """In-place form of `addbmm`; `self` is resized if its shape is not that of the result.

        Args:
            batch1: a batch of matrices `(b, n, m)`.
            batch2: a batch of matrices `(b, m, p)`.
            *legacy: used by the deprecated call `addbmm_(beta, alpha, batch1, batch2)`.
            beta: the factor of `self`.
            alpha: the factor of the sum of the products.
        """
    def addcdiv(self, tensor1: Tensor, tensor2: Tensor | _int | _float | _complex = ..., *args: Any, value: Tensor | _int | _float | _complex = ..., out: Tensor | None = ...) -> Tensor:
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
    def addcdiv_(self, tensor1: Tensor, tensor2: Tensor | _int | _float | _complex = ..., *args: Any, value: Tensor | _int | _float | _complex = ...) -> Tensor:
        """In-place form of `addcdiv`.

        Args:
            tensor1, tensor2: tensors that can be broadcast with `input`; at least one has a floating-point or complex dtype.
            value: the factor of the quotient.
            *args: used by the deprecated call `addcdiv(input, value, tensor1, tensor2)`.
        """
    def addcmul(self, tensor1: Tensor, tensor2: Tensor | _int | _float | _complex = ..., *args: Any, value: Tensor | _int | _float | _complex = ..., out: Tensor | None = ...) -> Tensor:
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
    def addcmul_(self, tensor1: Tensor, tensor2: Tensor | _int | _float | _complex = ..., *args: Any, value: Tensor | _int | _float | _complex = ...) -> Tensor:
        """In-place form of `addcmul`.

        Args:
            tensor1, tensor2: tensors that can be broadcast with `input`.
            value: the factor of the product; converted to an integer if all three tensors have integer dtypes.
            *args: used by the deprecated call `addcmul(input, value, tensor1, tensor2)`.
        """
    def addmm(self, mat1: Tensor, mat2: Tensor, *, beta: Tensor | _int | _float | _complex = ..., alpha: Tensor | _int | _float | _complex = ..., out: Tensor | None = ...) -> Tensor:
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
    def addmm_(self, mat1: Tensor, mat2: Tensor, *, beta: Tensor | _int | _float | _complex = ..., alpha: Tensor | _int | _float | _complex = ...) -> Tensor:
        """In-place form of `addmm`.

        Args:
            mat1: a matrix `(n, m)`.
            mat2: a matrix `(m, p)`.
            *legacy: used by the deprecated call `addmm(beta, input, alpha, mat1, mat2)`.
            beta: the factor of `input`; with 0, NaN in `input` is ignored.
            alpha: the factor of the product.
        """
    def addmv(self, mat: Tensor, vec: Tensor, *, beta: Tensor | _int | _float | _complex = ..., alpha: Tensor | _int | _float | _complex = ..., out: Tensor | None = ...) -> Tensor:
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
    def addmv_(self, mat: Tensor, vec: Tensor, *, beta: Tensor | _int | _float | _complex = ..., alpha: Tensor | _int | _float | _complex = ...) -> Tensor:
        """In-place form of `addmv`.

        Args:
            mat: a matrix `(n, m)`.
            vec: a vector `(m,)`.
            *legacy: used by the deprecated call `addmv(beta, input, alpha, mat, vec)`.
            beta: the factor of `input`; with 0, NaN in `input` is ignored.
            alpha: the factor of the product.
        """
    def addr(self, vec1: Tensor, vec2: Tensor, *, beta: Tensor | _int | _float | _complex = ..., alpha: Tensor | _int | _float | _complex = ..., out: Tensor | None = ...) -> Tensor:
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
    def addr_(self, vec1: Tensor, vec2: Tensor, *, beta: Tensor | _int | _float | _complex = ..., alpha: Tensor | _int | _float | _complex = ...) -> Tensor:
        """In-place form of `addr`.

        Args:
            vec1: a vector `(n,)`.
            vec2: a vector `(m,)`.
            *legacy: used by the deprecated call `addr(beta, input, alpha, vec1, vec2)`.
            beta: the factor of `input`; with 0, NaN in `input` is ignored.
            alpha: the factor of the outer product.
        """
    def adjoint(self) -> Tensor:
        """Return the conjugate transpose of matrices."""
    def all(self, dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
        """Whether every element is nonzero, in the whole tensor or in each slice over `dim`.

        Args:
            input: a tensor of any shape.
            dim: the dimension or dimensions to reduce; None for all.
            keepdim: whether reduced dimensions are kept with size 1.
            out: a tensor that the result is written to.

        >>> torch.all(torch.tensor([[True, False], [True, True]]), 1)
        tensor([False,  True])
        """
    def allclose(self, other: Tensor, rtol: _float = ..., atol: _float = ..., equal_nan: _bool = ...) -> _bool:
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
    def amax(self, dim: _int | Sequence[_int] = ..., keepdim: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
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
    def amin(self, dim: _int | Sequence[_int] = ..., keepdim: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
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
    def aminmax(self, *, dim: _int | None = ..., keepdim: _bool = ..., out: Sequence[Tensor] | None = ...) -> return_types.aminmax:
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
    def angle(self, *, out: Tensor | None = ...) -> Tensor:
        """Return the argument of each number in radians; for a real number it is 0, or pi if negative.

        >>> torch.angle(torch.tensor([1j, -1.0, 1 + 1j]))
        tensor([1.5708, 3.1416, 0.7854])
        """
    def any(self, dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
        """Whether an element is nonzero, in the whole tensor or in each slice over `dim`.

        Args:
            input: a tensor of any shape.
            dim: the dimension or dimensions to reduce; None for all.
            keepdim: whether reduced dimensions are kept with size 1.
            out: a tensor that the result is written to.

        >>> torch.any(torch.tensor([[True, False], [True, True]]), 1)
        tensor([True, True])
        """
    def apply_(self, *args: Any) -> Tensor:
        """Replace each element by `f(x)`, for a Python function `f` of the elements."""
    def arccos(self, *, out: Tensor | None = ...) -> Tensor:
        """Return the inverse cosine, in radians."""
    def arccos_(self) -> Tensor:
        """In-place form of `acos`."""
    def arccosh(self, *, out: Tensor | None = ...) -> Tensor:
        """Return the inverse hyperbolic cosine."""
    def arccosh_(self) -> Tensor:
        """In-place form of `acosh`."""
    def arcsin(self, *, out: Tensor | None = ...) -> Tensor:
        """Return the inverse sine, in radians."""
    def arcsin_(self) -> Tensor:
        """In-place form of `asin`."""
    def arcsinh(self, *, out: Tensor | None = ...) -> Tensor:
        """Return the inverse hyperbolic sine."""
    def arcsinh_(self) -> Tensor:
        """In-place form of `asinh`."""
    def arctan(self, *, out: Tensor | None = ...) -> Tensor:
        """Return the inverse tangent, in radians."""
    def arctan2(self, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
        """Return the angle, in radians, of the point `(x, y) = (other, input)`, in the correct quadrant.

        Args:
            input: a tensor of a real dtype.
            other: a tensor that can be broadcast with `input`.
            out: a tensor that the result is written to.

        >>> torch.atan2(torch.tensor([1.0, -1.0]), torch.tensor([1.0, -1.0]))
        tensor([ 0.7854, -2.3562])
        """
    def arctan2_(self, other: Tensor) -> Tensor:
        """In-place form of `atan2`.

        Args:
            other: a tensor that can be broadcast with `input`.
        """
    def arctan_(self) -> Tensor:
        """In-place form of `atan`."""
    def arctanh(self, *, out: Tensor | None = ...) -> Tensor:
        """Return the inverse hyperbolic tangent."""
    def arctanh_(self) -> Tensor:
        """In-place form of `atanh`."""
    def argmax(self, dim: _int | None = ..., keepdim: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
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
    def argmin(self, dim: _int | None = ..., keepdim: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
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
    def argsort(self, dim: _int = ..., descending: _bool = ..., stable: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
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
    def argwhere(self) -> Tensor:
        """Return the indices of the nonzero elements, one per row."""
    def as_strided(self, size: Sequence[_int], stride: Sequence[_int], storage_offset: _int | None = ...) -> Tensor:
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
    def as_strided_(self, size: Sequence[_int], stride: Sequence[_int], storage_offset: _int | None = ...) -> Tensor:
        """In-place form of `as_strided`: the tensor itself becomes the view.

        Args:
            size: the sizes of the view.
            stride: the distances in the storage between neighbouring elements of each dimension, not negative.
            storage_offset: the index in the storage of the first element; None for that of `input`.
        """
    def as_strided_scatter(self, src: Tensor, size: Sequence[_int], stride: Sequence[_int], storage_offset: _int | None = ...) -> Tensor:
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
    def as_subclass(self, cls: Any) -> Any:
        """Return the tensor as an instance of `cls`, with the same memory and history.

        Args:
            cls: a subclass of Tensor.

        >>> class Labelled(torch.Tensor): pass
        >>> x = torch.ones(2, requires_grad=True)
        >>> x.as_subclass(Labelled).sum().backward()
        >>> x.grad
        tensor([1., 1.])
        """
    def asin(self, *, out: Tensor | None = ...) -> Tensor:
        """Return the inverse sine, in radians."""
    def asin_(self) -> Tensor:
        """In-place form of `asin`."""
    def asinh(self, *, out: Tensor | None = ...) -> Tensor:
        """Return the inverse hyperbolic sine."""
    def asinh_(self) -> Tensor:
        """In-place form of `asinh`."""
    def atan(self, *, out: Tensor | None = ...) -> Tensor:
        """Return the inverse tangent, in radians."""
    def atan2(self, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
        """Return the angle, in radians, of the point `(x, y) = (other, input)`, in the correct quadrant.

        Args:
            input: a tensor of a real dtype.
            other: a tensor that can be broadcast with `input`.
            out: a tensor that the result is written to.

        >>> torch.atan2(torch.tensor([1.0, -1.0]), torch.tensor([1.0, -1.0]))
        tensor([ 0.7854, -2.3562])
        """
    def atan2_(self, other: Tensor) -> Tensor:
        """In-place form of `atan2`.

        Args:
            other: a tensor that can be broadcast with `input`.
        """
    def atan_(self) -> Tensor:
        """In-place form of `atan`."""
    def atanh(self, *, out: Tensor | None = ...) -> Tensor:
        """Return the inverse hyperbolic tangent."""
    def atanh_(self) -> Tensor:
        """In-place form of `atanh`."""
    def backward(self, gradient: Tensor | None = ..., retain_graph: _bool | None = ..., create_graph: _bool = ..., inputs: Any = ..., retain_variables: _bool | None = ...) -> None:
        """Accumulate the gradients of this tensor into the leaves.  See `torch.autograd.backward`.

        Args:
            gradient: the gradient of the differentiated value with respect to this tensor, of its shape; None for 1 if the tensor has
                one element.
            retain_graph: whether the graph is kept for another backward pass; None for the value of `create_graph`.
            create_graph: whether the gradients are recorded, so that they can be differentiated.
            inputs: the tensors whose `grad` is accumulated; None for all leaves.
            retain_variables: the legacy name of `retain_graph`.
        """
    def baddbmm(self, batch1: Tensor, batch2: Tensor, *, beta: Tensor | _int | _float | _complex = ..., alpha: Tensor | _int | _float | _complex = ..., out: Tensor | None = ...) -> Tensor:
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
    def baddbmm_(self, batch1: Tensor, batch2: Tensor, *, beta: Tensor | _int | _float | _complex = ..., alpha: Tensor | _int | _float | _complex = ...) -> Tensor:
        """In-place form of `baddbmm`.

        Args:
            batch1: a batch of matrices `(b, n, m)`.
            batch2: a batch of matrices `(b, m, p)`.
            *legacy: used by the deprecated call `baddbmm(beta, input, alpha, batch1, batch2)`.
            beta: the factor of `input`; with 0, NaN in `input` is ignored.
            alpha: the factor of the product.
        """
    def bernoulli(self, p: _float | Tensor | None = ..., *, generator: Generator | None = ..., out: Tensor | None = ...) -> Tensor:
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
    def bernoulli_(self, p: Tensor | _float = ..., *, generator: Generator | None = ...) -> Tensor:
        """Fill with 1 with probability `p`, else 0.

        Args:
            p: the probability: a number, or a tensor that can be broadcast to the shape of `self`.
            generator: the random number generator; None for the default generator of the device.
        """
    def bfloat16(self, memory_format: _memory_format | None = ...) -> Tensor:
        """Return `self.to(torch.bfloat16)`.

        Args:
            memory_format: the order of the dimensions in memory; None for that of the tensor.
        """
    def bincount(self, weights: Tensor | None = ..., minlength: _int = ...) -> Tensor:
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
    def bitwise_and(self, other: _int | _float | _complex | Tensor, *, out: Tensor | None = ...) -> Tensor:
        """Return the bits that are set in both operands.

        Args:
            input: a tensor of an integer dtype or bool, or a number.
            other: a tensor that can be broadcast with `input`, or a number; one of both is a tensor.
            out: a tensor that the result is written to.

        >>> torch.bitwise_and(torch.tensor([7]), 2)
        tensor([2])
        """
    def bitwise_and_(self, other: _int | _float | _complex | Tensor) -> Tensor:
        """In-place form of `bitwise_and`.

        Args:
            other: a tensor that can be broadcast with `input`, or a number; one of both is a tensor.
        """
    def bitwise_left_shift(self, other: _int | _float | _complex | Tensor, *, out: Tensor | None = ...) -> Tensor:
        """Return `input << other`, element by element.

        Args:
            input: an integer tensor, or a number.
            other: a tensor that can be broadcast with `input`, or a number; one of both is a tensor.
            out: a tensor that the result is written to.

        >>> torch.bitwise_left_shift(torch.tensor([7]), 2)
        tensor([28])
        """
    def bitwise_left_shift_(self, other: _int | _float | _complex | Tensor) -> Tensor:
        """In-place form of `bitwise_left_shift`.

        Args:
            other: a tensor that can be broadcast with `input`, or a number; one of both is a tensor.
        """
    def bitwise_not(self, *, out: Tensor | None = ...) -> Tensor:
        """Invert every bit; for bool, the logical not."""
    def bitwise_not_(self) -> Tensor:
        """In-place form of `bitwise_not`."""
    def bitwise_or(self, other: _int | _float | _complex | Tensor, *, out: Tensor | None = ...) -> Tensor:
        """Return the bits that are set in either operand.

        Args:
            input: a tensor of an integer dtype or bool, or a number.
            other: a tensor that can be broadcast with `input`, or a number; one of both is a tensor.
            out: a tensor that the result is written to.

        >>> torch.bitwise_or(torch.tensor([7]), 2)
        tensor([7])
        """
    def bitwise_or_(self, other: _int | _float | _complex | Tensor) -> Tensor:
        """In-place form of `bitwise_or`.

        Args:
            other: a tensor that can be broadcast with `input`, or a number; one of both is a tensor.
        """
    def bitwise_right_shift(self, other: _int | _float | _complex | Tensor, *, out: Tensor | None = ...) -> Tensor:
        """Return `input >> other`, element by element.

        Args:
            input: an integer tensor, or a number.
            other: a tensor that can be broadcast with `input`, or a number; one of both is a tensor.
            out: a tensor that the result is written to.

        >>> torch.bitwise_right_shift(torch.tensor([7]), 2)
        tensor([1])
        """
    def bitwise_right_shift_(self, other: _int | _float | _complex | Tensor) -> Tensor:
        """In-place form of `bitwise_right_shift`.

        Args:
            other: a tensor that can be broadcast with `input`, or a number; one of both is a tensor.
        """
    def bitwise_xor(self, other: _int | _float | _complex | Tensor, *, out: Tensor | None = ...) -> Tensor:
        """Return the bits that are set in exactly one operand.

        Args:
            input: a tensor of an integer dtype or bool, or a number.
            other: a tensor that can be broadcast with `input`, or a number; one of both is a tensor.
            out: a tensor that the result is written to.

        >>> torch.bitwise_xor(torch.tensor([7]), 2)
        tensor([5])
        """
    def bitwise_xor_(self, other: _int | _float | _complex | Tensor) -> Tensor:
        """In-place form of `bitwise_xor`.

        Args:
            other: a tensor that can be broadcast with `input`, or a number; one of both is a tensor.
        """
    def bmm(self, mat2: Tensor, *, out: Tensor | None = ...) -> Tensor:
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
    def bool(self, memory_format: _memory_format | None = ...) -> Tensor:
        """Return `self.to(torch.bool)`.

        Args:
            memory_format: the order of the dimensions in memory; None for that of the tensor.
        """
    def broadcast_to(self, size: _int | Sequence[_int], *rest: _int) -> Tensor:
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
    def btrifact(self, info: Any = ..., pivot: _bool = ...) -> tuple[Tensor, Tensor]:
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
    def btrisolve(self, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:
        """Solve `A x = b` for a batch of vectors, given the result of `btrifact(A)`; a legacy name of `linalg.lu_solve`.

        Args:
            b: the right-hand sides `(*, n)`.
            LU_data, LU_pivots: the results of `btrifact(A)`.

        >>> A = torch.tensor([[[2.0, 0.0], [0.0, 4.0]]])
        >>> torch.btrisolve(torch.tensor([[2.0, 4.0]]), *torch.btrifact(A))
        tensor([[1., 1.]])
        """
    def byte(self, memory_format: _memory_format | None = ...) -> Tensor:
        """Return `self.to(torch.uint8)`.

        Args:
            memory_format: the order of the dimensions in memory; None for that of the tensor.
        """
    def cauchy_(self, median: _float = ..., sigma: _float = ..., *, generator: Generator | None = ...) -> Tensor:
        """Fill with Cauchy random numbers.

        Args:
            median: the median.
            sigma: the half width of the density at half of its maximum.
            generator: the random number generator; None for the default generator of the device.
        """
    def ccol_indices(self) -> Tensor:
        """Return the position in the values at which each column of a CSC or BSC tensor begins, followed by `nnz`."""
    def cdouble(self, memory_format: _memory_format | None = ...) -> Tensor:
        """Return `self.to(torch.complex128)`.

        Args:
            memory_format: the order of the dimensions in memory; None for that of the tensor.
        """
    def ceil(self, *, out: Tensor | None = ...) -> Tensor:
        """Return the smallest integer not below `x`."""
    def ceil_(self) -> Tensor:
        """In-place form of `ceil`."""
    def cfloat(self, memory_format: _memory_format | None = ...) -> Tensor:
        """Return `self.to(torch.complex64)`.

        Args:
            memory_format: the order of the dimensions in memory; None for that of the tensor.
        """
    def chalf(self, memory_format: _memory_format | None = ...) -> Tensor:
        """Return `self.to(torch.complex32)`.

        Args:
            memory_format: the order of the dimensions in memory; None for that of the tensor.
        """
    def char(self, memory_format: _memory_format | None = ...) -> Tensor:
        """Return `self.to(torch.int8)`.

        Args:
            memory_format: the order of the dimensions in memory; None for that of the tensor.
        """
    def cholesky(self, upper: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
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
    def cholesky_inverse(self, upper: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
        """Return the inverse of the matrix `A`, given its Cholesky factor.

        Args:
            input: the triangular factors `(*, n, n)`.
            upper: whether `input` is an upper triangular factor `U`, with `A = U^H U`, or a lower one `L`, with `A = L L^H`.
            out: a tensor that the result is written to.

        >>> torch.cholesky_inverse(torch.tensor([[2.0, 0.0], [1.0, 2.0]]))
        tensor([[ 0.3125, -0.1250],
                [-0.1250,  0.2500]])
        """
    def cholesky_solve(self, input2: Tensor, upper: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
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
    def chunk(self, chunks: _int, dim: _int = ...) -> tuple[Tensor, ...]:
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
    def clamp(self, min: _int | _float | _complex | Tensor | None = ..., max: _int | _float | _complex | Tensor | None = ..., *, out: Tensor | None = ...) -> Tensor:
        """Limit every element to `[min, max]`; either bound may be a number, a tensor or None.

        Args:
            input: a tensor of an integer or floating-point dtype.
            min, max: the bounds: numbers, or tensors that can be broadcast with `input`; None for no bound. At least one is given.
                Where `min` exceeds `max`, the result is `max`.
            out: a tensor that the result is written to.

        >>> torch.tensor([-1.0, 0.5, 2.0]).clamp(0, 1)
        tensor([0.0000, 0.5000, 1.0000])
        """
    def clamp_(self, min: _int | _float | _complex | Tensor | None = ..., max: _int | _float | _complex | Tensor | None = ...) -> Tensor:
        """In-place form of `clamp`.

        Args:
            min, max: the bounds: numbers, or tensors that can be broadcast with `input`; None for no bound. At least one is given.
                Where `min` exceeds `max`, the result is `max`.
        """
    def clamp_max(self, max: _int | _float | _complex | Tensor, *, out: Tensor | None = ...) -> Tensor:
        """Lower every element to at most `max`.

        Args:
            input: a tensor of an integer or floating-point dtype.
            max: the bound: a number, or a tensor that can be broadcast with `input`.
            out: a tensor that the result is written to.

        >>> torch.clamp_max(torch.tensor([-1.0, 0.5, 2.0]), 1)
        tensor([-1.0000,  0.5000,  1.0000])
        """
    def clamp_max_(self, max: _int | _float | _complex | Tensor) -> Tensor:
        """In-place form of `clamp_max`.

        Args:
            max: the bound: a number, or a tensor that can be broadcast with `input`.
        """
    def clamp_min(self, min: _int | _float | _complex | Tensor, *, out: Tensor | None = ...) -> Tensor:
        """Raise every element to at least `min`.

        Args:
            input: a tensor of an integer or floating-point dtype.
            min: the bound: a number, or a tensor that can be broadcast with `input`.
            out: a tensor that the result is written to.

        >>> torch.clamp_min(torch.tensor([-1.0, 0.5, 2.0]), 0)
        tensor([0.0000, 0.5000, 2.0000])
        """
    def clamp_min_(self, min: _int | _float | _complex | Tensor) -> Tensor:
        """In-place form of `clamp_min`.

        Args:
            min: the bound: a number, or a tensor that can be broadcast with `input`.
        """
    def clip(self, min: _int | _float | _complex | Tensor | None = ..., max: _int | _float | _complex | Tensor | None = ..., *, out: Tensor | None = ...) -> Tensor:
        """Limit every element to `[min, max]`; either bound may be a number, a tensor or None.

        Args:
            input: a tensor of an integer or floating-point dtype.
            min, max: the bounds: numbers, or tensors that can be broadcast with `input`; None for no bound. At least one is given.
                Where `min` exceeds `max`, the result is `max`.
            out: a tensor that the result is written to.

        >>> torch.tensor([-1.0, 0.5, 2.0]).clamp(0, 1)
        tensor([0.0000, 0.5000, 1.0000])
        """
    def clip_(self, min: _int | _float | _complex | Tensor | None = ..., max: _int | _float | _complex | Tensor | None = ...) -> Tensor:
        """In-place form of `clamp`.

        Args:
            min, max: the bounds: numbers, or tensors that can be broadcast with `input`; None for no bound. At least one is given.
                Where `min` exceeds `max`, the result is `max`.
        """
    def clone(self, *, memory_format: _memory_format | None = ...) -> Tensor:
        """Return a copy; gradients flow through it.

        Args:
            input: a tensor of any shape.
            memory_format: the order of the dimensions in the memory of the copy; None or `torch.preserve_format` for that of `input`.

        >>> x = torch.ones(2)
        >>> y = x.clone().mul_(2)
        >>> x
        tensor([1., 1.])
        """
    def coalesce(self) -> Tensor:
        """Return a COO tensor with sorted indices, and duplicate entries added; the tensor itself if it is coalesced already."""
    def col_indices(self) -> Tensor:
        """Return the column of each value (or block) of a CSR or BSR tensor."""
    def conj(self) -> Tensor:
        """Return the complex conjugate as a lazy view that shares memory with the tensor, or a real tensor itself.

        The elements are conjugated when they are used; see `resolve_conj`.

        >>> x = torch.tensor([1 + 2j])
        >>> x.conj().mul_(1j), x, x.conj().is_conj()
        (tensor([2.+1.j]), tensor([2.-1.j]), True)
        """
    def conj_physical(self, *, out: Tensor | None = ...) -> Tensor:
        """Return a conjugated copy if `input` is complex; otherwise return `input` itself."""
    def conj_physical_(self) -> Tensor:
        """In-place form of `conj_physical`."""
    def contiguous(self, *, memory_format: _memory_format | None = ...) -> Tensor:
        """Return the tensor itself if it is contiguous, else a contiguous copy.

        Args:
            memory_format: `torch.channels_last`, `torch.channels_last_3d`, or None for row-major order.
        """
    def copy_(self, other: Any, non_blocking: _bool = ...) -> Tensor:
        """Overwrite the elements with those of `other`, broadcast and converted; gradients flow to `other` only.

        Args:
            other: a tensor that can be broadcast to the shape of `self`.
            non_blocking: whether a copy between pinned CPU memory and a GPU may return before it has finished.

        >>> torch.zeros(2).copy_(torch.tensor([1, 2]))
        tensor([1., 2.])
        """
    def copysign(self, other: _int | _float | _complex | Tensor, *, out: Tensor | None = ...) -> Tensor:
        """Return the absolute value of `input` with the sign of `other`, where -0.0 counts as negative.

        Args:
            input: a tensor of a real dtype.
            other: a tensor that can be broadcast with `input`, or a number.
            out: a tensor that the result is written to.

        >>> torch.copysign(torch.tensor([1.0, -2.0]), torch.tensor([-0.0, 3.0]))
        tensor([-1.,  2.])
        """
    def copysign_(self, other: _int | _float | _complex | Tensor) -> Tensor:
        """In-place form of `copysign`.

        Args:
            other: a tensor that can be broadcast with `input`, or a number.
        """
    def corrcoef(self) -> Tensor:
        """Return the correlation matrix of variables (rows) from observations (columns)."""
    def cos(self, *, out: Tensor | None = ...) -> Tensor:
        """Return the cosine of an angle in radians."""
    def cos_(self) -> Tensor:
        """In-place form of `cos`."""
    def cosh(self, *, out: Tensor | None = ...) -> Tensor:
        """Return the hyperbolic cosine."""
    def cosh_(self) -> Tensor:
        """In-place form of `cosh`."""
    def count_nonzero(self, dim: _int | Sequence[_int] | None = ...) -> Tensor:
        """Return the number of nonzero elements.

        Args:
            input: a tensor of any shape.
            dim: the dimension or dimensions in which elements are counted; None for all.

        >>> torch.count_nonzero(torch.tensor([[0, 1], [2, 3]]), dim=0)
        tensor([1, 2])
        """
    def cov(self, *, correction: _int = ..., fweights: Tensor | None = ..., aweights: Tensor | None = ...) -> Tensor:
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
    def cpu(self, *, memory_format: _memory_format | None = ...) -> Tensor:
        """Return the tensor in CPU memory.

        Args:
            memory_format: without effect.
        """
    def cross(self, other: Tensor, dim: _int | None = ..., *, out: Tensor | None = ...) -> Tensor:
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
    def crow_indices(self) -> Tensor:
        """Return the position in the values at which each row of a CSR or BSR tensor begins, followed by `nnz`."""
    def cuda(self, device: _device | str | _int | None = ..., non_blocking: _bool = ..., memory_format: _memory_format | None = ...) -> Tensor:
        """Return the tensor on `device`, by default the current CUDA device.  The legacy `cuda(async=True)` is accepted.

        Args:
            device: the device or its index; None for the current one.
            non_blocking: whether a copy from pinned CPU memory may return before it has finished.
            memory_format: without effect.

        Raises:
            RuntimeError: `device` is not a CUDA device.
        """
    def cummax(self, dim: _int, *, out: Sequence[Tensor] | None = ...) -> return_types.cummax:
        """Return the cumulative maximum along `dim`, and its last index.

        Args:
            input: a tensor of a real dtype.
            dim: the dimension along which to accumulate.
            out: tensors that the results are written to.

        >>> torch.cummax(torch.tensor([2, 3, 1]), 0).values
        tensor([2, 3, 3])
        """
    def cummin(self, dim: _int, *, out: Sequence[Tensor] | None = ...) -> return_types.cummin:
        """Return the cumulative minimum along `dim`, and its last index.

        Args:
            input: a tensor of a real dtype.
            dim: the dimension along which to accumulate.
            out: tensors that the results are written to.

        >>> torch.cummin(torch.tensor([2, 3, 1]), 0).values
        tensor([2, 2, 1])
        """
    def cumprod(self, dim: _int, *, dtype: _dtype | None = ..., out: Tensor | None = ...) -> Tensor:
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
    def cumprod_(self, dim: _int, *, dtype: _dtype | None = ...) -> Tensor:
        """In-place form of `cumprod`.

        Args:
            dim: the dimension along which to accumulate.
            dtype: the dtype of the result, to which `input` is converted first; None for the dtype of `input`, or for int64 if that
                is an integer dtype or bool.
        """
    def cumsum(self, dim: _int, *, dtype: _dtype | None = ..., out: Tensor | None = ...) -> Tensor:
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
    def cumsum_(self, dim: _int, *, dtype: _dtype | None = ...) -> Tensor:
        """In-place form of `cumsum`.

        Args:
            dim: the dimension along which to accumulate.
            dtype: the dtype of the result, to which `input` is converted first; None for the dtype of `input`, or for int64 if that
                is an integer dtype or bool.
        """
    def deg2rad(self, *, out: Tensor | None = ...) -> Tensor:
        """Convert degrees to radians."""
    def deg2rad_(self) -> Tensor:
        """In-place form of `deg2rad`."""
    def dense_dim(self) -> _int:
        """Return the number of dense dimensions; for a strided tensor, all of its dimensions."""
    def det(self) -> Tensor:
        """Return the determinants of square matrices; see `torch.linalg.det`."""
    def diag(self, diagonal: _int = ..., *, out: Tensor | None = ...) -> Tensor:
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
    def diag_embed(self, offset: _int = ..., dim1: _int = ..., dim2: _int = ...) -> Tensor:
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
    def diagflat(self, offset: _int = ...) -> Tensor:
        """Return a matrix whose diagonal holds all elements of `input`.

        Args:
            input: a tensor of any shape.
            offset: the diagonal to fill: 0 for the main one, positive above it, negative below.

        >>> torch.diagflat(torch.tensor([1, 2]), 1)
        tensor([[0, 1, 0],
                [0, 0, 2],
                [0, 0, 0]])
        """
    def diagonal(self, offset: _int = ..., dim1: _int = ..., dim2: _int = ...) -> Tensor:
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
    def diagonal_scatter(self, src: Tensor, offset: _int = ..., dim1: _int = ..., dim2: _int = ...) -> Tensor:
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
    def diff(self, n: _int = ..., dim: _int = ..., prepend: Tensor | None = ..., append: Tensor | None = ..., *, out: Tensor | None = ...) -> Tensor:
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
    def digamma(self, *, out: Tensor | None = ...) -> Tensor:
        """Return the derivative of `lgamma`.

        >>> torch.digamma(torch.tensor([1.0, 0.5]))
        tensor([-0.5772, -1.9635])
        """
    def digamma_(self) -> Tensor:
        """In-place form of `digamma`."""
    def dim_order(self, *, ambiguity_check: Any = ...) -> tuple[_int, ...]:
        """Return the dimensions in order of decreasing stride.

        Sizes of 1 and equal strides make the order ambiguous.  With `ambiguity_check=True`, an ambiguous order raises RuntimeError.
        With a list of memory formats it does as well, unless the strides differ and the tensor is contiguous in exactly one of the
        formats.

        Args:
            ambiguity_check: True, False or a list of memory formats.

        >>> torch.ones(2, 3, 4).transpose(0, 2).dim_order()
        (2, 1, 0)
        """
    def dist(self, other: Tensor, p: _float = ...) -> Tensor:
        """Return the p-norm of `input - other`.

        Args:
            input: a floating-point or complex tensor.
            other: a tensor that can be broadcast with `input`.
            p: the order of the norm.

        >>> torch.dist(torch.tensor([1.0, 2.0]), torch.tensor([4.0, 6.0]))
        tensor(5.)
        """
    def div(self, other: Tensor | _int | _float | _complex, *, rounding_mode: str | None = ..., out: Tensor | None = ...) -> Tensor:
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
    def div_(self, other: Tensor | _int | _float | _complex, *, rounding_mode: str | None = ...) -> Tensor:
        """In-place form of `div`.

        Args:
            other: a tensor that can be broadcast with `input`, or a number.
            rounding_mode: "trunc", "floor", or None for no rounding. A quotient of integers that is not rounded has the default
                dtype.
        """
    def divide(self, other: Tensor | _int | _float | _complex, *, rounding_mode: str | None = ..., out: Tensor | None = ...) -> Tensor:
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
    def divide_(self, other: Tensor | _int | _float | _complex, *, rounding_mode: str | None = ...) -> Tensor:
        """In-place form of `div`.

        Args:
            other: a tensor that can be broadcast with `input`, or a number.
            rounding_mode: "trunc", "floor", or None for no rounding. A quotient of integers that is not rounded has the default
                dtype.
        """
    def dot(self, tensor: Tensor, *, out: Tensor | None = ...) -> Tensor:
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
    def double(self, memory_format: _memory_format | None = ...) -> Tensor:
        """Return `self.to(torch.float64)`.

        Args:
            memory_format: the order of the dimensions in memory; None for that of the tensor.
        """
    def dsplit(self, *args: Any, indices: Sequence[_int] | None = ..., sections: _int | None = ...) -> tuple[Tensor, ...]:
        """Split along dimension 2 into views; see `tensor_split`.

        Args:
            indices: the indices of the first slice of each part but the first.
            sections: the number of parts, all of the same length.

        Raises:
            RuntimeError: the length is not divisible by the number of parts, or the tensor has too few dimensions.

        >>> torch.dsplit(torch.ones(2, 2, 2), 2)[0].shape
        torch.Size([2, 2, 1])
        """
    def eig(self, *args: Any, **kwargs: Any) -> Sequence[Tensor]:
        """Raise a RuntimeError that names the replacement of the removed function `eig`."""
    def eq(self, other: _int | _float | _complex | Tensor, *, out: Tensor | None = ...) -> Tensor:
        """Return `input == other`, element by element, as a bool tensor.

        Args:
            input: a tensor.
            other: a tensor that can be broadcast with `input`, or a number.
            out: a tensor that the result is written to.

        >>> torch.eq(torch.tensor([1, 2, 3]), 2)
        tensor([False,  True, False])
        """
    def eq_(self, other: _int | _float | _complex | Tensor) -> Tensor:
        """In-place form of `eq`.

        Args:
            other: a tensor that can be broadcast with `input`, or a number.
        """
    def equal(self, other: Tensor) -> _bool:
        """Whether two tensors have the same shape and elements.

        Args:
            input, other: the tensors; their dtypes may differ.

        >>> torch.equal(torch.tensor([1, 2]), torch.tensor([1, 2])), torch.equal(torch.ones(2), torch.ones(1, 2))
        (True, False)
        """
    def erf(self, *, out: Tensor | None = ...) -> Tensor:
        """Return the error function, `2 / sqrt(pi)` times the integral of `exp(-t**2)` from 0 to `x`.

        >>> torch.erf(torch.tensor([0.0, 1.0]))
        tensor([0.0000, 0.8427])
        """
    def erf_(self) -> Tensor:
        """In-place form of `erf`."""
    def erfc(self, *, out: Tensor | None = ...) -> Tensor:
        """Return `1 - erf(x)`, accurate also where it is small."""
    def erfc_(self) -> Tensor:
        """In-place form of `erfc`."""
    def erfinv(self, *, out: Tensor | None = ...) -> Tensor:
        """Return the inverse of `erf` on [-1, 1], NaN elsewhere.

        >>> torch.erfinv(torch.tensor([0.0, 0.5, -1.0]))
        tensor([0.0000, 0.4769,   -inf])
        """
    def erfinv_(self) -> Tensor:
        """In-place form of `erfinv`."""
    def exp(self, *, out: Tensor | None = ...) -> Tensor:
        """Return `e ** x`."""
    def exp2(self, *, out: Tensor | None = ...) -> Tensor:
        """Return `2 ** x`."""
    def exp2_(self) -> Tensor:
        """In-place form of `exp2`."""
    def exp_(self) -> Tensor:
        """In-place form of `exp`."""
    def expand(self, size: _int | Sequence[_int], *rest: _int, implicit: _bool = ...) -> Tensor:
        """Return a view with dimensions of size 1 expanded and new dimensions added at the front; -1 keeps a size.

        Args:
            size: the shape: integers, or one sequence of them.
            implicit: without effect.

        Raises:
            RuntimeError: a size differs from one that is not 1.

        >>> torch.tensor([[1], [2]]).expand(-1, 2)
        tensor([[1, 1],
                [2, 2]])
        """
    def expand_as(self, other: Tensor) -> Tensor:
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
    def expm1(self, *, out: Tensor | None = ...) -> Tensor:
        """Return `exp(x) - 1`, accurate near 0."""
    def expm1_(self) -> Tensor:
        """In-place form of `expm1`."""
    def exponential_(self, lambd: _float = ..., *, generator: Generator | None = ...) -> Tensor:
        """Fill with exponential random numbers.

        Args:
            lambd: the rate, the inverse of the mean.
            generator: the random number generator; None for the default generator of the device.
        """
    def fill_(self, value: _int | _float | _complex | Tensor) -> Tensor:
        """Set every element to `value`, a number or a 0-d tensor.

        Args:
            value: the number.
        """
    def fill_diagonal_(self, fill_value: _int | _float | _complex, wrap: _bool = ...) -> Tensor:
        """Set the main diagonal to `fill_value`, in place.

        With `wrap`, the diagonal of a tall matrix restarts every `width + 1` rows.

        Args:
            fill_value: the number.
            wrap: whether the diagonal of a tall matrix continues.

        >>> torch.zeros(2, 2).fill_diagonal_(5)
        tensor([[5., 0.],
                [0., 5.]])
        """
    def fix(self, *, out: Tensor | None = ...) -> Tensor:
        """Return the integer part, rounded towards 0."""
    def fix_(self) -> Tensor:
        """In-place form of `trunc`."""
    def flatten(self, start_dim: _int = ..., end_dim: _int = ...) -> Tensor:
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
    def flip(self, dims: _int | Sequence[_int], *rest: _int) -> Tensor:
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
    def fliplr(self) -> Tensor:
        """Reverse the order of the columns (dimension 1)."""
    def flipud(self) -> Tensor:
        """Reverse the order of the rows (dimension 0)."""
    def float(self, memory_format: _memory_format | None = ...) -> Tensor:
        """Return `self.to(torch.float32)`.

        Args:
            memory_format: the order of the dimensions in memory; None for that of the tensor.
        """
    def float_power(self, exponent: Tensor | _int | _float | _complex, *, out: Tensor | None = ...) -> Tensor:
        """`input` to the power of `exponent`, in float64 or complex128.

        Args:
            input: a tensor or a number; at least one of `input` and `exponent` is a tensor.
            exponent: a tensor that can be broadcast with `input`, or a number.
            out: a tensor that the result is written to.

        >>> torch.float_power(torch.tensor([2, 3]), 2)
        tensor([4., 9.], dtype=torch.float64)
        """
    def float_power_(self, exponent: Tensor | _int | _float | _complex) -> Tensor:
        """In-place form of `float_power`.  Raises RuntimeError unless the dtype is float64 or complex128.

        Args:
            exponent: a tensor that can be broadcast with `self`, or a number.
        """
    def floor(self, *, out: Tensor | None = ...) -> Tensor:
        """Return the largest integer not above `x`."""
    def floor_(self) -> Tensor:
        """In-place form of `floor`."""
    def floor_divide(self, other: _int | _float | _complex | Tensor, *, out: Tensor | None = ...) -> Tensor:
        """Return `input / other`, rounded towards minus infinity.

        Args:
            input: a tensor of an integer or floating-point dtype.
            other: a tensor that can be broadcast with `input`, or a number.
            out: a tensor that the result is written to.

        >>> torch.floor_divide(torch.tensor([-7, 7]), 2)
        tensor([-4,  3])
        """
    def floor_divide_(self, other: _int | _float | _complex | Tensor) -> Tensor:
        """In-place form of `floor_divide`.

        Args:
            other: a tensor that can be broadcast with `input`, or a number.
        """
    def fmax(self, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
        """Return the larger of `input` and `other`, element by element; where one is NaN, the other one.

        Args:
            input: a tensor of a real dtype.
            other: a tensor that can be broadcast with `input`.
            out: a tensor that the result is written to.

        >>> torch.fmax(torch.tensor([1.0, torch.nan]), torch.tensor([3.0, 2.0]))
        tensor([3., 2.])
        """
    def fmin(self, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
        """Return the smaller of `input` and `other`, element by element; where one is NaN, the other one.

        Args:
            input: a tensor of a real dtype.
            other: a tensor that can be broadcast with `input`.
            out: a tensor that the result is written to.

        >>> torch.fmin(torch.tensor([1.0, torch.nan]), torch.tensor([3.0, 2.0]))
        tensor([1., 2.])
        """
    def fmod(self, other: _int | _float | _complex | Tensor, *, out: Tensor | None = ...) -> Tensor:
        """Return the remainder of division rounded towards zero: it has the sign of `input`.

        Args:
            input: a tensor of an integer or floating-point dtype.
            other: a tensor that can be broadcast with `input`, or a number.
            out: a tensor that the result is written to.

        >>> torch.fmod(torch.tensor([-3.0, 3.0]), 2)
        tensor([-1.,  1.])
        """
    def fmod_(self, other: _int | _float | _complex | Tensor) -> Tensor:
        """In-place form of `fmod`.

        Args:
            other: a tensor that can be broadcast with `input`, or a number.
        """
    def frac(self, *, out: Tensor | None = ...) -> Tensor:
        """Return the fractional part, with the sign of `x`."""
    def frac_(self) -> Tensor:
        """In-place form of `frac`."""
    def frexp(self, *, out: Sequence[Tensor] | None = ...) -> return_types.frexp:
        """Return a mantissa with magnitude in [0.5, 1) and an int32 exponent, such that `mantissa * 2**exponent == input`.

        >>> mantissa, exponent = torch.frexp(torch.tensor([6.0]))
        >>> mantissa, exponent
        (tensor([0.7500]), tensor([3], dtype=torch.int32))
        """
    def gather(self, dim: _int, index: Tensor, *, sparse_grad: _bool = ..., out: Tensor | None = ...) -> Tensor:
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
    def gcd(self, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
        """Return the greatest common divisor of integers; it is 0 for 0 and 0.

        Args:
            input: an integer tensor.
            other: an integer tensor that can be broadcast with `input`.
            out: a tensor that the result is written to.

        >>> torch.gcd(torch.tensor([12, 7]), torch.tensor([18, 21]))
        tensor([6, 7])
        """
    def gcd_(self, other: Tensor) -> Tensor:
        """In-place form of `gcd`.

        Args:
            other: an integer tensor that can be broadcast with `input`.
        """
    def ge(self, other: _int | _float | _complex | Tensor, *, out: Tensor | None = ...) -> Tensor:
        """Return `input >= other`, element by element, as a bool tensor.

        Args:
            input: a tensor of a real dtype.
            other: a tensor that can be broadcast with `input`, or a number.
            out: a tensor that the result is written to.

        >>> torch.ge(torch.tensor([1, 2, 3]), 2)
        tensor([False,  True,  True])
        """
    def ge_(self, other: _int | _float | _complex | Tensor) -> Tensor:
        """In-place form of `ge`.

        Args:
            other: a tensor that can be broadcast with `input`, or a number.
        """
    def gels(self, A: Tensor, *, out: Sequence[Tensor] | None = ...) -> tuple[Tensor, Tensor]:
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
    def geometric_(self, p: _float, *, generator: Generator | None = ...) -> Tensor:
        """Fill with geometric random numbers: trials up to the first success.

        Args:
            p: the probability of success of a trial.
            generator: the random number generator; None for the default generator of the device.
        """
    def geqrf(self, *, out: Tensor | None = ...) -> Any:
        """Compute a QR factorization in LAPACK's format: R, with the Householder vectors below its diagonal, and the factors tau.

        `torch.linalg.householder_product` computes Q from them.
        """
    def ger(self, vec2: Tensor, *, out: Tensor | None = ...) -> Tensor:
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
    def greater(self, other: _int | _float | _complex | Tensor, *, out: Tensor | None = ...) -> Tensor:
        """Return `input > other`, element by element, as a bool tensor.

        Args:
            input: a tensor of a real dtype.
            other: a tensor that can be broadcast with `input`, or a number.
            out: a tensor that the result is written to.

        >>> torch.gt(torch.tensor([1, 2, 3]), 2)
        tensor([False, False,  True])
        """
    def greater_(self, other: _int | _float | _complex | Tensor) -> Tensor:
        """In-place form of `gt`.

        Args:
            other: a tensor that can be broadcast with `input`, or a number.
        """
    def greater_equal(self, other: _int | _float | _complex | Tensor, *, out: Tensor | None = ...) -> Tensor:
        """Return `input >= other`, element by element, as a bool tensor.

        Args:
            input: a tensor of a real dtype.
            other: a tensor that can be broadcast with `input`, or a number.
            out: a tensor that the result is written to.

        >>> torch.ge(torch.tensor([1, 2, 3]), 2)
        tensor([False,  True,  True])
        """
    def greater_equal_(self, other: _int | _float | _complex | Tensor) -> Tensor:
        """In-place form of `ge`.

        Args:
            other: a tensor that can be broadcast with `input`, or a number.
        """
    def gt(self, other: _int | _float | _complex | Tensor, *, out: Tensor | None = ...) -> Tensor:
        """Return `input > other`, element by element, as a bool tensor.

        Args:
            input: a tensor of a real dtype.
            other: a tensor that can be broadcast with `input`, or a number.
            out: a tensor that the result is written to.

        >>> torch.gt(torch.tensor([1, 2, 3]), 2)
        tensor([False, False,  True])
        """
    def gt_(self, other: _int | _float | _complex | Tensor) -> Tensor:
        """In-place form of `gt`.

        Args:
            other: a tensor that can be broadcast with `input`, or a number.
        """
    def half(self, memory_format: _memory_format | None = ...) -> Tensor:
        """Return `self.to(torch.float16)`.

        Args:
            memory_format: the order of the dimensions in memory; None for that of the tensor.
        """
    def hardshrink(self, lambd: _float = ..., *, out: Tensor | None = ...) -> Tensor:
        """Keep the elements farther than `lambd` from 0, and set the others to 0; see `nn.Hardshrink`.

        Args:
            input: a tensor of any shape.
            lambd: the bound; an element at that distance from 0 becomes 0.
            out: a tensor that the result is written to.

        Example:
            >>> F.hardshrink(torch.tensor([-1.0, 0.3, 2.0]))
            tensor([-1.,  0.,  2.])
        """
    def hash_tensor(self, dim: _int | Sequence[_int] | None = ..., *, keepdim: _bool = ..., mode: _int = ..., out: Tensor | None = ...) -> Tensor:
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
    def heaviside(self, values: Tensor, *, out: Tensor | None = ...) -> Tensor:
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
    def heaviside_(self, values: Tensor) -> Tensor:
        """In-place form of `heaviside`.

        Args:
            values: a tensor with the dtype of `input`, which can be broadcast with it.
        """
    def histc(self, bins: _int = ..., min: _float = ..., max: _float = ..., *, out: Tensor | None = ...) -> Tensor:
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
    def histogram(self, bins: _int | Tensor = ..., *, range: Any = ..., weight: Tensor | None = ..., density: _bool = ..., out: Tensor | None = ...) -> return_types.histogram:
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
    def hsplit(self, *args: Any, indices: Sequence[_int] | None = ..., sections: _int | None = ...) -> tuple[Tensor, ...]:
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
    def hypot(self, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
        """Return `sqrt(input**2 + other**2)` without overflow of the squares.

        Args:
            input: a floating-point tensor.
            other: a tensor that can be broadcast with `input`.
            out: a tensor that the result is written to.

        >>> torch.hypot(torch.tensor([3.0]), torch.tensor([4.0]))
        tensor([5.])
        """
    def hypot_(self, other: Tensor) -> Tensor:
        """In-place form of `hypot`.

        Args:
            other: a tensor that can be broadcast with `input`.
        """
    def i0(self, *, out: Tensor | None = ...) -> Tensor:
        """Return the modified Bessel function of the first kind, of order 0.

        >>> torch.i0(torch.tensor([0.0, 1.0]))
        tensor([1.0000, 1.2661])
        """
    def i0_(self) -> Tensor:
        """In-place form of `i0`."""
    def igamma(self, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
        """Return the probability that a gamma variable of shape `input` is below `other` (regularised lower incomplete gamma).

        Args:
            input: the shape parameters, a floating-point tensor; their gradient is not implemented.
            other: the upper limits of the integral, a tensor that can be broadcast with `input`.
            out: a tensor that the result is written to.

        >>> torch.igamma(torch.tensor([1.0]), torch.tensor([1.0]))
        tensor([0.6321])
        """
    def igamma_(self, other: Tensor) -> Tensor:
        """In-place form of `igamma`.

        Args:
            other: the upper limits of the integral, a tensor that can be broadcast with `input`.
        """
    def igammac(self, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
        """Return the regularised upper incomplete gamma function: `1 - igamma`, accurate also where it is small.

        Args:
            input: the shape parameters, a floating-point tensor; their gradient is not implemented.
            other: the lower limits of the integral, a tensor that can be broadcast with `input`.
            out: a tensor that the result is written to.

        >>> torch.igammac(torch.tensor([1.0]), torch.tensor([1.0]))
        tensor([0.3679])
        """
    def igammac_(self, other: Tensor) -> Tensor:
        """In-place form of `igammac`.

        Args:
            other: the lower limits of the integral, a tensor that can be broadcast with `input`.
        """
    @property
    def imag(self) -> Tensor: ...
    @imag.setter
    def imag(self, value: Any) -> None: ...
    def index(self, positions: _int | Sequence[_int | Sequence[_int]], dims: Any) -> Tensor:
        """Index the dimensions `positions` by the items of `dims`: integers, slices, tensors, lists or None.

        A tuple of dimensions in `positions` is indexed as if they were flattened into one.

        Args:
            positions: one dimension, or a sequence of dimensions.
            dims: one item, or a sequence with one item for each position.

        Raises:
            IndexError: a dimension or an index is out of bounds.
            TypeError: a position is not an integer, or `dims` and `positions` have different lengths.

        >>> x = torch.arange(6).reshape(2, 3)
        >>> x.index(1, 2), x.index((0, 1), (1, torch.tensor([0, 2]))), x.index(((0, 1),), (4,))
        (tensor([2, 5]), tensor([3, 5]), tensor(4))
        """
    def index_add(self, dim: _int, index: Tensor, source: Tensor, *, alpha: Tensor | _int | _float | _complex = ..., out: Tensor | None = ...) -> Tensor:
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
    def index_add_(self, dim: _int, index: Tensor, source: Tensor, *, alpha: Tensor | _int | _float | _complex = ...) -> Tensor:
        """In-place form of `index_add`.

        Args:
            dim: the dimension of the slices.
            index: an integer vector of positions; slices for repeated positions are summed.
            source: a tensor with the dtype of `input`, and its shape except in `dim`, where it has the length of `index`.
            alpha: the factor of `source`.
        """
    def index_copy(self, dim: _int, index: Tensor, source: Tensor, *, out: Tensor | None = ...) -> Tensor:
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
    def index_copy_(self, dim: _int, index: Tensor, source: Tensor) -> Tensor:
        """In-place form of `index_copy`.

        Args:
            dim: the dimension of the slices.
            index: an integer vector of positions, without repetitions.
            source: a tensor with the dtype of `input`, and its shape except in `dim`, where it has the length of `index`.
        """
    def index_fill(self, dim: _int, index: Tensor, value: _int | _float | _complex | Tensor) -> Tensor:
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
    def index_fill_(self, dim: _int, index: Tensor, value: _int | _float | _complex | Tensor) -> Tensor:
        """In-place form of `index_fill`.

        Args:
            dim: the dimension of the slices.
            index: an int64 vector of positions.
            value: a number or a 0-d tensor.
        """
    def index_put(self, indices: Any, values: Tensor, accumulate: _bool = ...) -> Tensor:
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
    def index_put_(self, indices: Any, values: Tensor, accumulate: _bool = ...) -> Tensor:
        """In-place form of `index_put`.

        Args:
            indices: a tuple of integer or bool tensors, one for each of the first dimensions; None for a whole dimension.
            values: a tensor with the dtype of `input` that can be broadcast to the shape of `input[indices]`.
            accumulate: whether to add the values to the elements, also several times if indices are repeated.
        """
    def index_reduce(self, dim: _int, index: Tensor, source: Tensor, reduce: str, *, include_self: _bool = ..., out: Tensor | None = ...) -> Tensor:
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
    def index_reduce_(self, dim: _int, index: Tensor, source: Tensor, reduce: str, *, include_self: _bool = ...) -> Tensor:
        """In-place form of `index_reduce`.

        Args:
            dim: the dimension of the slices.
            index: an integer vector of positions.
            source: a tensor with the dtype of `input`, and its shape except in `dim`, where it has the length of `index`.
            reduce: the reduction: "prod", "mean", "amax" or "amin".
            include_self: whether the slices of `input` are part of the reduction; otherwise, they are replaced.
        """
    def index_select(self, dim: _int, index: Tensor, *, out: Tensor | None = ...) -> Tensor:
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
    def indices(self) -> Tensor:
        """Return the indices of a coalesced COO tensor, of shape `(sparse dimensions, nnz)`."""
    def inner(self, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
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
    def int(self, memory_format: _memory_format | None = ...) -> Tensor:
        """Return `self.to(torch.int32)`.

        Args:
            memory_format: the order of the dimensions in memory; None for that of the tensor.
        """
    def inverse(self, *, out: Tensor | None = ...) -> Tensor:
        """Return the inverses of square matrices; see `torch.linalg.inv`."""
    def is_coalesced(self) -> _bool:
        """Whether the indices of a COO tensor are sorted and unique."""
    def is_conj(self) -> _bool:
        """Whether the tensor is a lazily conjugated view of its memory."""
    def is_contiguous(self, *, memory_format: _memory_format | None = ...) -> _bool:
        """Whether the elements are stored in row-major order, or in the order of `memory_format`.

        Args:
            memory_format: `torch.channels_last`, `torch.channels_last_3d`, or None for row-major order.
        """
    def is_distributed(self) -> _bool:
        """Return False, as PyTorch always does; this is a legacy method."""
    is_maia: _bool
    is_mkldnn: _bool
    is_mps: _bool
    is_mtia: _bool
    def is_neg(self) -> _bool:
        """Whether the tensor is a lazily negated view of its memory."""
    is_nested: _bool
    def is_nonzero(self) -> _bool:
        """Whether the only element is not 0.  Raises RuntimeError unless the tensor has exactly one element."""
    def is_pinned(self, device: _device | str | _int | None = ...) -> _bool:
        """Whether the tensor is in page-locked host memory.

        Args:
            device: without effect.
        """
    is_quantized: _bool
    def is_same_size(self, other: Tensor) -> _bool:
        """Whether both tensors have the same shape.

        Args:
            other: the other tensor.
        """
    def is_set_to(self, tensor: Tensor) -> _bool:
        """Whether both tensors have the same storage, address, shape and strides.

        Args:
            tensor: the other tensor.
        """
    def is_shared(self) -> _bool:
        """Whether the tensor is in memory that other processes can access."""
    is_sparse_csr: _bool
    is_vulkan: _bool
    is_xla: _bool
    is_xpu: _bool
    def isclose(self, other: Tensor, rtol: _float = ..., atol: _float = ..., equal_nan: _bool = ...) -> Tensor:
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
    def isfinite(self) -> Tensor:
        """True where the element is finite."""
    def isinf(self) -> Tensor:
        """True where the element is infinite."""
    def isnan(self) -> Tensor:
        """True where the element is NaN."""
    def isneginf(self, *, out: Tensor | None = ...) -> Tensor:
        """True where the element is minus infinity."""
    def isposinf(self, *, out: Tensor | None = ...) -> Tensor:
        """True where the element is plus infinity."""
    def isreal(self) -> Tensor:
        """True where the imaginary part is 0, which is everywhere for a real tensor."""
    def istft(self, n_fft: _int, hop_length: _int | None = ..., win_length: _int | None = ..., window: Tensor | None = ..., center: _bool = ..., normalized: _bool = ..., onesided: _bool | None = ..., length: _int | None = ..., return_complex: _bool = ...) -> Tensor:
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
    def kron(self, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
        """Return the Kronecker product: blocks `input[i, j] * other`.

        Args:
            input: a tensor of any shape.
            other: a tensor; dimensions of size 1 are added in front of the one with fewer dimensions.
            out: a tensor that the result is written to.

        >>> torch.kron(torch.tensor([1, 10]), torch.tensor([1, 2]))
        tensor([ 1,  2, 10, 20])
        """
    def kthvalue(self, k: _int, dim: _int = ..., keepdim: _bool = ..., *, out: Sequence[Tensor] | None = ...) -> return_types.kthvalue:
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
    layout: Any
    def lcm(self, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
        """Return the least common multiple of integers; it is 0 if either is 0.

        Args:
            input: an integer tensor.
            other: an integer tensor that can be broadcast with `input`.
            out: a tensor that the result is written to.

        >>> torch.lcm(torch.tensor([4, 7]), torch.tensor([6, 0]))
        tensor([12,  0])
        """
    def lcm_(self, other: Tensor) -> Tensor:
        """In-place form of `lcm`.

        Args:
            other: an integer tensor that can be broadcast with `input`.
        """
    def ldexp(self, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
        """Return `input * 2**other`.

        Args:
            input: a tensor of any shape.
            other: a tensor of exponents that can be broadcast with `input`.
            out: a tensor that the result is written to.

        >>> torch.ldexp(torch.tensor([1.0, 3.0]), torch.tensor([2, -1]))
        tensor([4.0000, 1.5000])
        """
    def ldexp_(self, other: Tensor) -> Tensor:
        """In-place form of `ldexp`.

        Args:
            other: a tensor of exponents that can be broadcast with `input`.
        """
    def le(self, other: _int | _float | _complex | Tensor, *, out: Tensor | None = ...) -> Tensor:
        """Return `input <= other`, element by element, as a bool tensor.

        Args:
            input: a tensor of a real dtype.
            other: a tensor that can be broadcast with `input`, or a number.
            out: a tensor that the result is written to.

        >>> torch.le(torch.tensor([1, 2, 3]), 2)
        tensor([ True,  True, False])
        """
    def le_(self, other: _int | _float | _complex | Tensor) -> Tensor:
        """In-place form of `le`.

        Args:
            other: a tensor that can be broadcast with `input`, or a number.
        """
    def lerp(self, end: Tensor, weight: _int | _float | _complex | Tensor, *, out: Tensor | None = ...) -> Tensor:
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
    def lerp_(self, end: Tensor, weight: _int | _float | _complex | Tensor) -> Tensor:
        """In-place form of `lerp`.

        Args:
            end: a tensor of end values with the dtype of `input`, which can be broadcast with it.
            weight: the position between start (0) and end (1): a number, or a tensor that can be broadcast with `input`.
        """
    def less(self, other: _int | _float | _complex | Tensor, *, out: Tensor | None = ...) -> Tensor:
        """Return `input < other`, element by element, as a bool tensor.

        Args:
            input: a tensor of a real dtype.
            other: a tensor that can be broadcast with `input`, or a number.
            out: a tensor that the result is written to.

        >>> torch.lt(torch.tensor([1, 2, 3]), 2)
        tensor([ True, False, False])
        """
    def less_(self, other: _int | _float | _complex | Tensor) -> Tensor:
        """In-place form of `lt`.

        Args:
            other: a tensor that can be broadcast with `input`, or a number.
        """
    def less_equal(self, other: _int | _float | _complex | Tensor, *, out: Tensor | None = ...) -> Tensor:
        """Return `input <= other`, element by element, as a bool tensor.

        Args:
            input: a tensor of a real dtype.
            other: a tensor that can be broadcast with `input`, or a number.
            out: a tensor that the result is written to.

        >>> torch.le(torch.tensor([1, 2, 3]), 2)
        tensor([ True,  True, False])
        """
    def less_equal_(self, other: _int | _float | _complex | Tensor) -> Tensor:
        """In-place form of `le`.

        Args:
            other: a tensor that can be broadcast with `input`, or a number.
        """
    def lgamma(self, *, out: Tensor | None = ...) -> Tensor:
        """Return the logarithm of the absolute value of the gamma function.

        >>> torch.lgamma(torch.tensor([0.5, 1.0, 5.0]))
        tensor([0.5724, 0.0000, 3.1781])
        """
    def lgamma_(self) -> Tensor:
        """In-place form of `lgamma`."""
    def log(self, *, out: Tensor | None = ...) -> Tensor:
        """Return the natural logarithm."""
    def log10(self, *, out: Tensor | None = ...) -> Tensor:
        """Return the logarithm to base 10."""
    def log10_(self) -> Tensor:
        """In-place form of `log10`."""
    def log1p(self, *, out: Tensor | None = ...) -> Tensor:
        """Return `log(1 + x)`, accurate near 0."""
    def log1p_(self) -> Tensor:
        """In-place form of `log1p`."""
    def log2(self, *, out: Tensor | None = ...) -> Tensor:
        """Return the logarithm to base 2."""
    def log2_(self) -> Tensor:
        """In-place form of `log2`."""
    def log_(self) -> Tensor:
        """In-place form of `log`."""
    def log_normal_(self, mean: _float = ..., std: _float = ..., *, generator: Generator | None = ...) -> Tensor:
        """Fill with numbers whose logarithms are normal random numbers.

        Args:
            mean, std: the mean and the standard deviation of the logarithms.
            generator: the random number generator; None for the default generator of the device.
        """
    def log_softmax(self, dim: _int, dtype: _dtype | None = ..., *, out: Tensor | None = ...) -> Tensor:
        """Return the logarithm of the softmax along `dim`, computed without overflow.

        Args:
            input: a floating-point tensor, or a tensor of any dtype if `dtype` is given.
            dim: the dimension along which the exponentials sum to 1.
            dtype: the dtype of the result, to which `input` is converted first; None for the dtype of `input`.
            out: a tensor that the result is written to.

        >>> torch.log_softmax(torch.tensor([0.0, 0.0]), 0)
        tensor([-0.6931, -0.6931])
        """
    def logaddexp(self, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
        """Return `log(exp(input) + exp(other))` without overflow of the exponentials.

        Args:
            input: a floating-point or complex tensor.
            other: a tensor that can be broadcast with `input`.
            out: a tensor that the result is written to.

        >>> torch.logaddexp(torch.tensor([0.0, 1000.0]), torch.tensor([0.0, 0.0]))
        tensor([6.9315e-01, 1.0000e+03])
        """
    def logaddexp2(self, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
        """Return `log2(2**input + 2**other)` without overflow of the powers.

        Args:
            input: a floating-point tensor.
            other: a tensor that can be broadcast with `input`.
            out: a tensor that the result is written to.

        >>> torch.logaddexp2(torch.tensor([0.0, 2000.0]), torch.tensor([0.0, 0.0]))
        tensor([1.0000e+00, 2.0000e+03])
        """
    def logcumsumexp(self, dim: _int, *, out: Tensor | None = ...) -> Tensor:
        """Return the cumulative `log(sum(exp(input)))` along `dim`.

        Args:
            input: a floating-point or complex tensor.
            dim: the dimension along which to accumulate.
            out: a tensor that the result is written to.

        >>> torch.logcumsumexp(torch.zeros(3), 0)
        tensor([0.0000, 0.6931, 1.0986])
        """
    def logdet(self) -> Tensor:
        """Return the logarithms of determinants: NaN for a negative determinant, `-inf` for 0."""
    def logical_and(self, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
        """Return the logical and of both operands; a nonzero element is true.

        Args:
            input: a tensor of any shape.
            other: a tensor that can be broadcast with `input`.
            out: a tensor that the result is written to.

        >>> torch.logical_and(torch.tensor([1, 1]), torch.tensor([0, 1]))
        tensor([False,  True])
        """
    def logical_and_(self, other: Tensor) -> Tensor:
        """In-place form of `logical_and`.

        Args:
            other: a tensor that can be broadcast with `input`.
        """
    def logical_not(self, *, out: Tensor | None = ...) -> Tensor:
        """Return True where the element is 0."""
    def logical_not_(self) -> Tensor:
        """In-place form of `logical_not`."""
    def logical_or(self, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
        """Return the logical or of both operands; a nonzero element is true.

        Args:
            input: a tensor of any shape.
            other: a tensor that can be broadcast with `input`.
            out: a tensor that the result is written to.

        >>> torch.logical_or(torch.tensor([1, 1]), torch.tensor([0, 1]))
        tensor([True, True])
        """
    def logical_or_(self, other: Tensor) -> Tensor:
        """In-place form of `logical_or`.

        Args:
            other: a tensor that can be broadcast with `input`.
        """
    def logical_xor(self, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
        """Return the logical xor of both operands; a nonzero element is true.

        Args:
            input: a tensor of any shape.
            other: a tensor that can be broadcast with `input`.
            out: a tensor that the result is written to.

        >>> torch.logical_xor(torch.tensor([1, 1]), torch.tensor([0, 1]))
        tensor([ True, False])
        """
    def logical_xor_(self, other: Tensor) -> Tensor:
        """In-place form of `logical_xor`.

        Args:
            other: a tensor that can be broadcast with `input`.
        """
    def logit(self, eps: _float | None = ..., *, out: Tensor | None = ...) -> Tensor:
        """Return `log(x / (1 - x))`, the inverse of sigmoid; with `eps`, `x` is clamped to `[eps, 1 - eps]`.

        Args:
            input: a tensor of a real dtype.
            eps: the distance of the bounds from 0 and 1; None for no bounds, so that the result is NaN outside of [0, 1].
            out: a tensor that the result is written to.

        >>> torch.logit(torch.tensor([0.5, 0.9]))
        tensor([0.0000, 2.1972])
        """
    def logit_(self, eps: _float | None = ...) -> Tensor:
        """In-place form of `logit`.

        Args:
            eps: the distance of the bounds from 0 and 1; None for no bounds, so that the result is NaN outside of [0, 1].
        """
    def logsumexp(self, dim: _int | Sequence[_int], keepdim: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
        """Return `log(sum(exp(input)))` over `dim` without overflow.

        Args:
            input: a tensor of any shape; an integer tensor is converted to the default dtype.
            dim: the dimension or dimensions to reduce.
            keepdim: whether reduced dimensions are kept with size 1.
            out: a tensor that the result is written to.

        >>> torch.logsumexp(torch.tensor([1000.0, 1000.0]), 0)
        tensor(1000.6932)
        """
    def long(self, memory_format: _memory_format | None = ...) -> Tensor:
        """Return `self.to(torch.int64)`.

        Args:
            memory_format: the order of the dimensions in memory; None for that of the tensor.
        """
    def lstsq(self, *args: Any, **kwargs: Any) -> Sequence[Tensor]:
        """Raise a RuntimeError that names the replacement of the removed function `lstsq`."""
    def lt(self, other: _int | _float | _complex | Tensor, *, out: Tensor | None = ...) -> Tensor:
        """Return `input < other`, element by element, as a bool tensor.

        Args:
            input: a tensor of a real dtype.
            other: a tensor that can be broadcast with `input`, or a number.
            out: a tensor that the result is written to.

        >>> torch.lt(torch.tensor([1, 2, 3]), 2)
        tensor([ True, False, False])
        """
    def lt_(self, other: _int | _float | _complex | Tensor) -> Tensor:
        """In-place form of `lt`.

        Args:
            other: a tensor that can be broadcast with `input`, or a number.
        """
    def lu(self, pivot: _bool = ..., get_infos: _bool = ..., out: Tensor | None = ...) -> Any:
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
    def lu_solve(self, LU_data: Tensor, LU_pivots: Tensor, *, out: Tensor | None = ...) -> Tensor:
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
    @property
    def mH(self) -> Tensor: ...
    @property
    def mT(self) -> Tensor: ...
    def map2_(self, *args: Any) -> Tensor:
        """Replace each element by `f(x, y, z)`, for a Python function `f` of the elements  of `self` and the other tensors."""
    def map_(self, *args: Any) -> Tensor:
        """Replace each element by `f(x, y)`, for a Python function `f` of the elements  of `self` and the other tensors."""
    def masked_fill(self, mask: Tensor, value: _int | _float | _complex | Tensor) -> Tensor:
        """Return a copy of `input` with `value` (a number or 0-d tensor) where `mask` is True.

        Args:
            mask: a bool tensor that can be broadcast to the shape of `input`.
            value: the number.

        >>> torch.masked_fill(torch.tensor([1, 2]), torch.tensor([True, False]), 0)
        tensor([0, 2])
        """
    def masked_fill_(self, mask: Tensor, value: _int | _float | _complex | Tensor) -> Tensor:
        """In-place form of `masked_fill`.

        Args:
            mask: a bool tensor that can be broadcast to the shape of `input`.
            value: the number.
        """
    def masked_scatter(self, mask: Tensor, source: Tensor) -> Tensor:
        """Return `input` with its elements where `mask` is True replaced by those of `source`, in order.

        Args:
            mask: a bool tensor that can be broadcast with `input`.
            source: a tensor with the dtype of `input`, and at least as many elements as `mask` has True ones.

        Raises:
            RuntimeError: the dtypes do not match, or `source` has too few elements.

        >>> torch.masked_scatter(torch.zeros(3), torch.tensor([True, False, True]), torch.tensor([1.0, 2.0]))
        tensor([1., 0., 2.])
        """
    def masked_scatter_(self, mask: Tensor, source: Tensor) -> Tensor:
        """In-place form of `masked_scatter`.

        Args:
            mask: a bool tensor that can be broadcast with `input`.
            source: a tensor with the dtype of `input`, and at least as many elements as `mask` has True ones.
        """
    def masked_select(self, mask: Tensor, *, out: Tensor | None = ...) -> Tensor:
        """Return a vector of the elements where `mask` is True.

        Args:
            mask: a bool tensor that can be broadcast with `input`.

        >>> torch.masked_select(torch.tensor([1, 2]), torch.tensor([True, False]))
        tensor([1])
        """
    def matmul(self, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
        """Return the product of vectors, matrices or batches of matrices, depending on the numbers of dimensions.

        Args:
            other: a vector, a matrix `(m, p)`, or matrices `(*, m, p)`. Batch dimensions are broadcast.

        Raises:
            RuntimeError: the inner sizes differ, or an argument is a 0-d tensor.

        >>> torch.matmul(torch.ones(3, 4, 5), torch.ones(5, 2)).shape
        torch.Size([3, 4, 2])
        """
    def matrix_exp(self) -> Tensor:
        """Compute the exponential of square matrices; see `torch.linalg.matrix_exp`."""
    def matrix_power(self, n: _int, *, out: Tensor | None = ...) -> Tensor:
        """Return the `n`-th power of square matrices; see `torch.linalg.matrix_power`.

        Args:
            n: the exponent; if negative, the power of the inverses is returned.
        """
    @overload
    def max(self, *, out: Tensor | None = ...) -> Tensor:
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
    def max(self, dim: _int, keepdim: _bool = ..., *, out: Sequence[Tensor] | None = ...) -> return_types.max: ...
    @overload
    def max(self, other: Tensor, *, out: Tensor | None = ...) -> Tensor: ...
    def maximum(self, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
        """Return the larger of `input` and `other`, element by element; NaN where either is NaN.

        Args:
            other: a tensor that can be broadcast with `input`.

        >>> torch.maximum(torch.tensor([1, 5]), torch.tensor([3, 2]))
        tensor([3, 5])
        """
    def mean(self, dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ..., *, dtype: _dtype | None = ..., out: Tensor | None = ...) -> Tensor:
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
    def median(self, *, out: Tensor | None = ...) -> Tensor:
        """Return the median of all elements, or of each slice over `dim` with its index.

        For an even number of elements, it is the lower of the two middle ones.  NaN is larger than any number.

        Args:
            dim: the dimension to reduce; None for all elements, without an index.
            keepdim: whether the reduced dimension is kept with length 1.

        >>> torch.tensor([3.0, 1.0, 2.0, 4.0]).median()
        tensor(2.)
        """
    @overload
    def median(self, dim: _int, keepdim: _bool = ..., *, out: Sequence[Tensor] | None = ...) -> return_types.median: ...
    @overload
    def min(self, *, out: Tensor | None = ...) -> Tensor:
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
    def min(self, dim: _int, keepdim: _bool = ..., *, out: Sequence[Tensor] | None = ...) -> return_types.min: ...
    @overload
    def min(self, other: Tensor, *, out: Tensor | None = ...) -> Tensor: ...
    def minimum(self, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
        """Return the smaller of `input` and `other`, element by element; NaN where either is NaN.

        Args:
            other: a tensor that can be broadcast with `input`.

        >>> torch.minimum(torch.tensor([1, 5]), torch.tensor([3, 2]))
        tensor([1, 2])
        """
    def mm(self, mat2: Tensor, *, out: Tensor | None = ...) -> Tensor:
        """Multiply two matrices, `(n, m) @ (m, p) -> (n, p)`.

        Args:
            mat2: a matrix `(m, p)`.

        Raises:
            RuntimeError: an argument is not a matrix, or the inner sizes differ.

        >>> torch.mm(torch.ones(2, 3), torch.ones(3, 1))
        tensor([[3.],
                [3.]])
        """
    def mode(self, dim: _int = ..., keepdim: _bool = ..., *, out: Sequence[Tensor] | None = ...) -> return_types.mode:
        """Return the most frequent element along `dim` (of several, the smallest) and its last index.  NaN equals no other NaN.

        Args:
            dim: the dimension to reduce.
            keepdim: whether the reduced dimension is kept with length 1.

        >>> torch.tensor([2, 1, 2]).mode().values
        tensor(2)
        """
    def module_load(self, other: Tensor, assign: _bool = ...) -> Tensor:
        """Return the tensor that `Module.load_state_dict` stores: `other` if `assign`, else this tensor with its values.

        Args:
            other: the tensor of the state dict.
            assign: whether `other` replaces this tensor.
        """
    def moveaxis(self, source: _int | Sequence[_int], destination: _int | Sequence[_int]) -> Tensor:
        """Return a view with dimensions `source` moved to `destination`; the others keep their order.

        Args:
            source: one dimension or several, which are moved.
            destination: their positions in the result.

        Raises:
            RuntimeError: the numbers of dimensions differ, or a dimension is repeated.

        >>> torch.movedim(torch.zeros(2, 3, 4), 0, 2).shape
        torch.Size([3, 4, 2])
        """
    def movedim(self, source: _int | Sequence[_int], destination: _int | Sequence[_int]) -> Tensor:
        """Return a view with dimensions `source` moved to `destination`; the others keep their order.

        Args:
            source: one dimension or several, which are moved.
            destination: their positions in the result.

        Raises:
            RuntimeError: the numbers of dimensions differ, or a dimension is repeated.

        >>> torch.movedim(torch.zeros(2, 3, 4), 0, 2).shape
        torch.Size([3, 4, 2])
        """
    def msort(self, *, out: Tensor | None = ...) -> Tensor:
        """Sort the elements along the first dimension."""
    def mul(self, other: Tensor | _int | _float | _complex, *, out: Tensor | None = ...) -> Tensor:
        """Return the product `input * other`, element by element, broadcast.

        Args:
            other: a tensor that can be broadcast with `input`, or a number.

        >>> torch.mul(torch.tensor([1, 2]), 2.5)
        tensor([2.5000, 5.0000])
        """
    def mul_(self, other: Tensor | _int | _float | _complex) -> Tensor:
        """In-place form of `mul`.

        Args:
            other: a tensor that can be broadcast with `input`, or a number.
        """
    def multinomial(self, num_samples: _int, replacement: _bool = ..., *, generator: Generator | None = ..., out: Tensor | None = ...) -> Tensor:
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
    def multiply(self, other: Tensor | _int | _float | _complex, *, out: Tensor | None = ...) -> Tensor:
        """Return the product `input * other`, element by element, broadcast.

        Args:
            other: a tensor that can be broadcast with `input`, or a number.

        >>> torch.mul(torch.tensor([1, 2]), 2.5)
        tensor([2.5000, 5.0000])
        """
    def multiply_(self, other: Tensor | _int | _float | _complex) -> Tensor:
        """In-place form of `mul`.

        Args:
            other: a tensor that can be broadcast with `input`, or a number.
        """
    def mv(self, vec: Tensor, *, out: Tensor | None = ...) -> Tensor:
        """Multiply a matrix and a vector, `(n, m) @ (m,) -> (n,)`.

        Args:
            vec: a vector `(m,)`.

        Raises:
            RuntimeError: `input` is not a matrix, `vec` is not a vector, or their sizes do not match.

        >>> torch.mv(torch.ones(2, 3), torch.ones(3))
        tensor([3., 3.])
        """
    def mvlgamma(self, p: _int, *, out: Tensor | None = ...) -> Tensor:
        """Return the logarithm of the multivariate gamma function of dimension `p`.

        Args:
            input: a real tensor whose elements are above `(p - 1) / 2`.
            p: the dimension, at least 1.

        >>> torch.mvlgamma(torch.tensor([2.0]), 2)
        tensor([0.4516])
        """
    def mvlgamma_(self, p: _int) -> Tensor:
        """In-place form of `mvlgamma`.

        Args:
            p: the dimension, at least 1.
        """
    def nan_to_num(self, nan: _float | None = ..., posinf: _float | None = ..., neginf: _float | None = ..., *, out: Tensor | None = ...) -> Tensor:
        """Replace NaN, inf and -inf by the given numbers: by default, by 0, the largest and the smallest number of the dtype.

        Args:
            nan: the replacement of NaN; None for 0.
            posinf: the replacement of inf; None for the largest number of the dtype.
            neginf: the replacement of -inf; None for the smallest number of the dtype.

        >>> torch.nan_to_num(torch.tensor([torch.nan, torch.inf, 1.0]), posinf=9.0)
        tensor([0., 9., 1.])
        """
    def nan_to_num_(self, nan: _float | None = ..., posinf: _float | None = ..., neginf: _float | None = ...) -> Tensor:
        """In-place form of `nan_to_num`.

        Args:
            nan: the replacement of NaN; None for 0.
            posinf: the replacement of inf; None for the largest number of the dtype.
            neginf: the replacement of -inf; None for the smallest number of the dtype.
        """
    def nanmean(self, dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ..., *, dtype: _dtype | None = ..., out: Tensor | None = ...) -> Tensor:
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
    def nanmedian(self, *, out: Tensor | None = ...) -> Tensor:
        """Return the median of the elements that are not NaN.

        Args:
            dim: the dimension to reduce; None for all elements, without an index.
            keepdim: whether the reduced dimension is kept with length 1.

        >>> torch.tensor([3.0, torch.nan, 1.0]).nanmedian()
        tensor(1.)
        """
    @overload
    def nanmedian(self, dim: _int, keepdim: _bool = ..., *, out: Sequence[Tensor] | None = ...) -> return_types.nanmedian: ...
    def nanquantile(self, q: Tensor | _int | _float | _complex, dim: _int | None = ..., keepdim: _bool = ..., *, interpolation: str = ..., out: Tensor | None = ...) -> Tensor:
        """Return the `q`-quantiles of the elements that are not NaN.

        Args:
            q: one or several probabilities in [0, 1], a number or a tensor with the dtype of `input`.
            dim: the dimension to reduce; None for all, as one vector.
            keepdim: whether the reduced dimensions are kept with length 1.
            interpolation: "linear", "lower", "higher", "midpoint" or "nearest", as for `quantile`.

        >>> torch.nanquantile(torch.tensor([0.0, torch.nan, 1.0]), 0.5)
        tensor(0.5000)
        """
    def nansum(self, dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ..., *, dtype: _dtype | None = ..., out: Tensor | None = ...) -> Tensor:
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
    def narrow(self, dim: _int, start: _int | Tensor, length: _int) -> Tensor:
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
    def narrow_copy(self, dim: _int, start: _int, length: _int, *, out: Tensor | None = ...) -> Tensor:
        """Return a copy of `length` slices of dimension `dim`, starting at `start`; see `narrow`.

        Args:
            dim: the dimension to narrow.
            start: the index of the first slice; negative from the end.
            length: the number of slices.
        """
    def ne(self, other: _int | _float | _complex | Tensor, *, out: Tensor | None = ...) -> Tensor:
        """Return `input != other`, element by element, as a bool tensor.

        Args:
            input: a tensor.
            other: a tensor that can be broadcast with `input`, or a number.
            out: a tensor that the result is written to.

        >>> torch.ne(torch.tensor([1, 2, 3]), 2)
        tensor([ True, False,  True])
        """
    def ne_(self, other: _int | _float | _complex | Tensor) -> Tensor:
        """In-place form of `ne`.

        Args:
            other: a tensor that can be broadcast with `input`, or a number.
        """
    def neg(self, *, out: Tensor | None = ...) -> Tensor:
        """Return `-x` for each element."""
    def neg_(self) -> Tensor:
        """In-place form of `neg`."""
    def negative(self, *, out: Tensor | None = ...) -> Tensor:
        """Return `-x` for each element."""
    def negative_(self) -> Tensor:
        """In-place form of `neg`."""
    def new(self, *args: Any, **options: Any) -> Tensor:
        """Create a tensor with the dtype and device of this one, from sizes or data, like the legacy constructors.

        Args:
            *args: the sizes of an uninitialised tensor, or one sequence of numbers, array or tensor.
            **options: `device`, the device of the result, which must have the type of this tensor's device.
        """
    def new_empty(self, size: _int | Sequence[_int], *rest: _int, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., requires_grad: _bool | None = ..., pin_memory: _bool | None = ...) -> Tensor:
        """Return `torch.empty(size)` with this tensor's dtype and device.

        Args:
            size: the shape: integers, or one sequence of them.
            dtype, device: the dtype and device of the result; None to use those of this tensor.
            layout: the layout of the result; None for `torch.strided`.
            requires_grad: whether autograd records operations on the result.
            pin_memory: whether the result is in page-locked memory, from which copies to a GPU are faster.
        """
    def new_empty_strided(self, size: Sequence[_int], stride: Sequence[_int], *, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., requires_grad: _bool | None = ..., pin_memory: _bool | None = ...) -> Tensor:
        """Return `torch.empty_strided(size, stride)` with this tensor's dtype and device.

        Args:
            size: the shape.
            stride: the strides.
            dtype, device: the dtype and device of the result; None to use those of this tensor.
            layout: the layout of the result; None for `torch.strided`.
            requires_grad: whether autograd records operations on the result.
            pin_memory: whether the result is in page-locked memory, from which copies to a GPU are faster.
        """
    def new_full(self, size: Sequence[_int], fill_value: Tensor | _int | _float | _complex, *, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., requires_grad: _bool | None = ..., pin_memory: _bool | None = ...) -> Tensor:
        """Return `torch.full(size, fill_value)` with this tensor's dtype and device.

        Args:
            size: the shape.
            fill_value: the number.
            dtype, device: the dtype and device of the result; None to use those of this tensor.
            layout: the layout of the result; None for `torch.strided`.
            requires_grad: whether autograd records operations on the result.
            pin_memory: whether the result is in page-locked memory, from which copies to a GPU are faster.
        """
    def new_ones(self, size: _int | Sequence[_int], *rest: _int, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., requires_grad: _bool | None = ..., pin_memory: _bool | None = ...) -> Tensor:
        """Return `torch.ones(size)` with this tensor's dtype and device.

        Args:
            size: the shape: integers, or one sequence of them.
            dtype, device: the dtype and device of the result; None to use those of this tensor.
            layout: the layout of the result; None for `torch.strided`.
            requires_grad: whether autograd records operations on the result.
            pin_memory: whether the result is in page-locked memory, from which copies to a GPU are faster.
        """
    def new_tensor(self, data: Any, *, dtype: _dtype | None = ..., device: _device | str | _int | None = ..., requires_grad: _bool = ...) -> Tensor:
        """Return `torch.tensor(data)` with this tensor's dtype and device.

        Args:
            data: a number, nested sequences, an array, or a tensor.
            dtype, device: those of the result; None for those of this tensor.
            requires_grad: whether autograd records operations on the result.
        """
    def new_zeros(self, size: _int | Sequence[_int], *rest: _int, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., requires_grad: _bool | None = ..., pin_memory: _bool | None = ...) -> Tensor:
        """Return `torch.zeros(size)` with this tensor's dtype and device.

        Args:
            size: the shape: integers, or one sequence of them.
            dtype, device: the dtype and device of the result; None to use those of this tensor.
            layout: the layout of the result; None for `torch.strided`.
            requires_grad: whether autograd records operations on the result.
            pin_memory: whether the result is in page-locked memory, from which copies to a GPU are faster.
        """
    def nextafter(self, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
        """Return the next representable number from `input` towards `other`.

        Args:
            other: a floating-point tensor that can be broadcast with `input`.

        >>> torch.nextafter(torch.tensor([1.0]), torch.tensor([2.0])) > 1
        tensor([True])
        """
    def nextafter_(self, other: Tensor) -> Tensor:
        """In-place form of `nextafter`.

        Args:
            other: a floating-point tensor that can be broadcast with `input`.
        """
    def nonzero(self, *, as_tuple: _bool = ..., out: Tensor | None = ...) -> Any:
        """Return the indices of the nonzero elements, one per row; with `as_tuple`, one index tensor per dimension.

        Args:
            as_tuple: whether to return one index tensor per dimension.

        >>> torch.nonzero(torch.tensor([0, 5, 7]))
        tensor([[1],
                [2]])
        """
    def nonzero_static(self, *, size: _int, fill_value: _int = ..., out: Tensor | None = ...) -> Tensor:
        """Return the first `size` rows of `nonzero`, padded with `fill_value`.

        Args:
            size: the number of rows of the result.
            fill_value: the indices in the rows that remain free.

        >>> torch.nonzero_static(torch.tensor([0, 5, 7]), size=3)
        tensor([[ 1],
                [ 2],
                [-1]])
        """
    def norm(self, p: Tensor | _int | _float | _complex | str | None = ..., dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ..., dtype: _dtype | None = ..., *, out: Tensor | None = ...) -> Tensor:
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
    def normal_(self, mean: _float = ..., std: _float = ..., *, generator: Generator | None = ...) -> Tensor:
        """Fill with normal random numbers.

        Args:
            mean: the mean.
            std: the standard deviation, not negative.
            generator: the random number generator; None for the default generator of the device.
        """
    def not_equal(self, other: _int | _float | _complex | Tensor, *, out: Tensor | None = ...) -> Tensor:
        """Return `input != other`, element by element, as a bool tensor.

        Args:
            input: a tensor.
            other: a tensor that can be broadcast with `input`, or a number.
            out: a tensor that the result is written to.

        >>> torch.ne(torch.tensor([1, 2, 3]), 2)
        tensor([ True, False,  True])
        """
    def not_equal_(self, other: _int | _float | _complex | Tensor) -> Tensor:
        """In-place form of `ne`.

        Args:
            other: a tensor that can be broadcast with `input`, or a number.
        """
    def orgqr(self, input2: Tensor, *, out: Tensor | None = ...) -> Tensor:
        """Return the first columns of a product of Householder reflections; see `torch.linalg.householder_product`.

        Args:
            input: the Householder vectors that `torch.geqrf` returns.
            input2: the factors `tau` that it returns.
        """
    def ormqr(self, input2: Tensor, input3: Tensor, left: _bool = ..., transpose: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
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
    def outer(self, vec2: Tensor, *, out: Tensor | None = ...) -> Tensor:
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
    def permute(self, dims: _int | Sequence[_int], *rest: _int) -> Tensor:
        """Return a view with the dimensions in the order `dims`.

        Args:
            dims: all dimensions of `input`, in the order of the result.

        Raises:
            RuntimeError: `dims` is not a permutation of the dimensions.

        >>> torch.permute(torch.zeros(2, 3, 4), (2, 0, 1)).shape
        torch.Size([4, 2, 3])
        """
    def pin_memory(self, device: _device | str | _int | None = ...) -> Tensor:
        """Copy the tensor to page-locked host memory, which a device can read directly. A pinned tensor is returned itself.

        Args:
            device: without effect.

        Raises:
            RuntimeError: the tensor is not on the CPU, or no accelerator is available.
        """
    def pinverse(self, rcond: _float = ...) -> Tensor:
        """Return the pseudo-inverse: `torch.linalg.pinv` with `rcond` 1e-15.

        Args:
            rcond: singular values up to `rcond` times the largest count as zero.
        """
    def poisson(self, generator: Generator | None = ...) -> Tensor:
        """Draw numbers from the Poisson distributions with the rates `input`.

        Args:
            generator: the random number generator; None for the default generator of the device.

        Raises:
            RuntimeError: a rate is negative.

        >>> torch.poisson(torch.tensor([0.0, 0.0]))
        tensor([0., 0.])
        """
    def polygamma(self, n: _int) -> Tensor:
        """Return the `n`-th derivative of digamma.

        Args:
            n: the order of the derivative, not negative.
        """
    def polygamma_(self, n: _int) -> Tensor:
        """In-place form of `polygamma`.

        Args:
            n: the order of the derivative, not negative.
        """
    def positive(self) -> Tensor:
        """Return the tensor itself.  Raises RuntimeError for a bool tensor."""
    def pow(self, exponent: Tensor | _int | _float | _complex, *, out: Tensor | None = ...) -> Tensor:
        """`input` to the power of `exponent`; either may be a Python number.

        Args:
            exponent: a tensor that can be broadcast with `input`, or a number.

        Raises:
            RuntimeError: an integer tensor to a negative integer power.

        >>> torch.tensor([1.0, 2.0]) ** 2
        tensor([1., 4.])
        """
    def pow_(self, exponent: Tensor | _int | _float | _complex) -> Tensor:
        """In-place form of `pow`.

        Args:
            exponent: a tensor that can be broadcast with `input`, or a number.
        """
    def prelu(self, weight: Tensor) -> Tensor:
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
    def prod(self, dim: _int | None = ..., keepdim: _bool = ..., *, dtype: _dtype | None = ..., out: Tensor | None = ...) -> Tensor:
        """Return the product of all elements, or over one dimension; integers are multiplied in int64.

        Args:
            dim: the dimension to reduce; None for all.
            keepdim: whether the reduced dimensions are kept with length 1.
            dtype: the dtype of the result, to which `input` is converted before the multiplication; None for that of `input`, or for
                int64 if it is an integer or bool dtype.

        >>> torch.tensor([[1, 2], [3, 4]]).prod(1)
        tensor([ 2, 12])
        """
    def put(self, index: Tensor, source: Tensor, accumulate: _bool = ...) -> Tensor:
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
    def put_(self, index: Tensor, source: Tensor, accumulate: _bool = ...) -> Tensor:
        """Write `source` at the positions `index` of the flattened tensor, in place.

        Args:
            index: an int64 tensor.
            source: the elements to write; as many as `index` has, and of the dtype of `self`.
            accumulate: whether the elements are added, not replaced.
        """
    def qr(self, some: _bool = ..., *, out: Tensor | None = ...) -> return_types.qr:
        """Return the QR factorization, reduced if `some`, else complete; see `torch.linalg.qr`.

        Args:
            some: whether `Q` has only `min(m, n)` columns.
        """
    def quantile(self, q: Tensor | _int | _float | _complex, dim: _int | None = ..., keepdim: _bool = ..., *, interpolation: str = ..., out: Tensor | None = ...) -> Tensor:
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
    def rad2deg(self, *, out: Tensor | None = ...) -> Tensor:
        """Convert radians to degrees."""
    def rad2deg_(self) -> Tensor:
        """In-place form of `rad2deg`."""
    def random_(self, *bounds: _int | None, to: _int | None = ..., generator: Generator | None = ..., **named: Any) -> Tensor:
        """Fill with random integers from `[from, to)`, `[0, to)`, or the range of the dtype.

        Args:
            *bounds: `to`, or `from` and `to`; nothing for the range of the dtype.
            to: the upper bound, by keyword.
            generator: the random number generator; None for the default generator of the device.
        """
    def ravel(self) -> Tensor:
        """Return all elements as a contiguous vector."""
    @property
    def real(self) -> Tensor: ...
    @real.setter
    def real(self, value: Any) -> None: ...
    def reciprocal(self, *, out: Tensor | None = ...) -> Tensor:
        """Return `1 / x`."""
    def reciprocal_(self) -> Tensor:
        """In-place form of `reciprocal`."""
    def record_stream(self, s: Any) -> None:
        """Prevent reuse of the memory until the work queued on the stream `s` is done.

        Args:
            s: a CUDA stream; without effect for a CPU tensor.
        """
    def reinforce(self, reward: Any) -> None:
        """Raise RuntimeError: PyTorch removed this method.  The message names the replacement, `torch.distributions`.

        Args:
            reward: ignored.
        """
    def relu(self) -> Tensor:
        """Return the element where it is positive, else 0: the rectified linear unit.

        Args:
            input: a tensor of any shape.

        Example:
            >>> torch.relu(torch.tensor([-1.0, 2.0]))
            tensor([0., 2.])
        """
    def relu_(self) -> Tensor:
        """In-place form of `relu`."""
    def remainder(self, other: _int | _float | _complex | Tensor, *, out: Tensor | None = ...) -> Tensor:
        """Return the remainder of floor division: it has the sign of `other`.

        Args:
            other: a tensor that can be broadcast with `input`, or a number.
        """
    def remainder_(self, other: _int | _float | _complex | Tensor) -> Tensor:
        """In-place form of `remainder`.

        Args:
            other: a tensor that can be broadcast with `input`, or a number.
        """
    def renorm(self, p: _float, dim: _int, maxnorm: _float, *, out: Tensor | None = ...) -> Tensor:
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
    def renorm_(self, p: _float, dim: _int, maxnorm: _float) -> Tensor:
        """In-place form of `renorm`.

        Args:
            p: the order of the norm, positive.
            dim: the dimension of the slices.
            maxnorm: the upper bound of the norm.
        """
    def repeat(self, repeats: _int | Sequence[_int], *rest: _int) -> Tensor:
        """Repeat the tensor `repeats[i]` times along each dimension; additional repeats add dimensions at the front.

        Args:
            repeats: the numbers of repetitions: integers, or one sequence of them.

        >>> torch.tensor([1, 2]).repeat(2)
        tensor([1, 2, 1, 2])
        """
    def repeat_interleave(self, repeats: Tensor | _int | None = ..., dim: _int | None = ..., *, output_size: _int | None = ...) -> Tensor:
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
    def reshape(self, shape: _int | Sequence[_int], *rest: _int) -> Tensor:
        """Return the same elements in another shape, as a view if possible, else a copy.

        Args:
            shape: the sizes of the result; one may be -1, and is then inferred.

        Raises:
            RuntimeError: the numbers of elements differ.

        >>> torch.arange(4).reshape(2, -1)
        tensor([[0, 1],
                [2, 3]])
        """
    def reshape_as(self, other: Tensor) -> Tensor:
        """Return `input.reshape(other.size())`.

        Args:
            other: a tensor with the number of elements of `input`.
        """
    def resize(self, *sizes: _int | Sequence[_int]) -> Tensor:
        """Return a view of another shape.  Deprecated in favour of `view`.

        Args:
            *sizes: the shape: integers, or one sequence of them.
        """
    def resize_(self, size: _int | Sequence[_int], *rest: _int, memory_format: _memory_format | None = ...) -> Tensor:
        """Change the shape in place: memory that is too small is enlarged; new elements are uninitialized.

        Without `memory_format`, a tensor that already has this shape keeps its strides; any other tensor becomes row-major.

        Args:
            size: the shape: integers, or one sequence of them.
            memory_format: `torch.contiguous_format` or `torch.channels_last`, for example; None as described above.

        Raises:
            RuntimeError: a size is negative, the tensor requires grad, or the memory format does not suit the shape.
        """
    def resize_as(self, tensor: Tensor) -> Tensor:
        """Return a view of the shape of `tensor`.  Deprecated in favour of `view_as`.

        Args:
            tensor: a tensor with as many elements.
        """
    def resize_as_(self, the_template: Tensor, *, memory_format: _memory_format | None = ...) -> Tensor:
        """Change the shape in place to that of `the_template`; see `resize_`.

        The memory format `torch.preserve_format` is that of `the_template`.

        Args:
            the_template: the tensor whose shape is used.
            memory_format: as for `resize_`.
        """
    def resize_as_sparse_(self, other: Tensor) -> Tensor:
        """Change the shape of a COO tensor to that of `other`, in-place.

        Args:
            other: a COO tensor.
        """
    def resolve_conj(self) -> Tensor:
        """Return a copy with the conjugation applied if `input` is a lazily conjugated view; otherwise return `input` itself."""
    def resolve_neg(self) -> Tensor:
        """Return a copy with the negation applied if `input` is a lazily negated view; otherwise return `input` itself."""
    def roll(self, shifts: _int | Sequence[_int], dims: _int | Sequence[_int] | None = ...) -> Tensor:
        """Shift the elements by `shifts` along `dims`, wrapping around; without `dims`, the tensor is flattened for the shift.

        Args:
            shifts: the number of places, or one for each of `dims`.
            dims: one or several dimensions; () or None to flatten.

        Raises:
            RuntimeError: the numbers of `shifts` and `dims` differ.

        >>> torch.roll(torch.tensor([1, 2, 3]), 1)
        tensor([3, 1, 2])
        """
    def rot90(self, k: _int = ..., dims: Sequence[_int] = ...) -> Tensor:
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
    def round(self, *, decimals: _int = ..., out: Tensor | None = ...) -> Tensor:
        """Round to the nearest integer, or to `decimals` decimals; ties go to the even number.

        Args:
            decimals: the number of decimals to keep; if negative, digits to the left of the point are rounded.

        Raises:
            NotImplementedError: `decimals` is not 0 and the dtype is not floating-point.

        >>> torch.tensor([0.5, 1.5, 2.345]).round(), torch.tensor([2.345]).round(decimals=1)
        (tensor([0., 2., 2.]), tensor([2.3000]))
        """
    def round_(self, *, decimals: _int = ...) -> Tensor:
        """In-place form of `round`.

        Args:
            decimals: the number of decimals to keep; if negative, digits to the left of the point are rounded.
        """
    def row_indices(self) -> Tensor:
        """Return the row of each value (or block) of a CSC or BSC tensor."""
    def rsqrt(self, *, out: Tensor | None = ...) -> Tensor:
        """Return `1 / sqrt(x)`."""
    def rsqrt_(self) -> Tensor:
        """In-place form of `rsqrt`."""
    def scatter(self, dim: _int, index: Tensor, src: Tensor | _int | _float | _complex | None = ..., *, value: _int | _float | _complex | None = ..., reduce: str | None = ..., out: Tensor | None = ...) -> Tensor:
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
    def scatter_(self, dim: _int, index: Tensor, src: Tensor | _int | _float | _complex | None = ..., *, value: _int | _float | _complex | None = ..., reduce: str | None = ...) -> Tensor:
        """In-place form of `scatter`.

        Args:
            dim: the dimension along which `index` refers to elements.
            index: an integer tensor with the number of dimensions of `input`; no size is larger than that of `src`.
            src: the elements to write, with the dtype of `input`, or one number.
            value: another name of `src`, for a number.
            reduce: "add" or "multiply"; None to replace elements.
        """
    def scatter_add(self, dim: _int, index: Tensor, src: Tensor, *, out: Tensor | None = ...) -> Tensor:
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
    def scatter_add_(self, dim: _int, index: Tensor, src: Tensor) -> Tensor:
        """In-place form of `scatter_add`.

        Args:
            dim: the dimension along which `index` refers to elements.
            index: an integer tensor with the number of dimensions of `input`; no size is larger than that of `src`.
            src: the elements to add, with the dtype of `input`.
        """
    def scatter_reduce(self, dim: _int, index: Tensor, src: Tensor, reduce: str, *, include_self: _bool = ..., out: Tensor | None = ...) -> Tensor:
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
    def scatter_reduce_(self, dim: _int, index: Tensor, src: Tensor, reduce: str, *, include_self: _bool = ...) -> Tensor:
        """In-place form of `scatter_reduce`.

        Args:
            dim: the dimension along which `index` refers to elements.
            index: an integer tensor with the number of dimensions of `input`; no size is larger than that of `src`.
            src: the elements to combine, with the dtype of `input`.
            reduce: "sum", "prod", "mean", "amax" or "amin".
            include_self: whether the elements of `input` take part.
        """
    def select(self, dim: _int, index: _int) -> Tensor:
        """Return a view of the slice at `index` of dimension `dim`, without that dimension.

        Args:
            dim: the dimension to remove.
            index: the position, from `-size` to `size - 1`.

        Raises:
            IndexError: the index is out of range.

        >>> torch.select(torch.tensor([[1, 2], [3, 4]]), 0, 1)
        tensor([3, 4])
        """
    def select_scatter(self, src: Tensor, dim: _int, index: _int) -> Tensor:
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
    def set_(self, source: Any = ..., storage_offset: _int | None = ..., size: _int | Sequence[_int] | None = ..., stride: Sequence[_int] | None = ...) -> Tensor:
        """Make this tensor a view of the memory of a storage or of another tensor; memory that is too small is enlarged.

        Args:
            source: a storage or a tensor; by default, empty memory.
            storage_offset: the number of elements before the first one.
            size: the shape; by default, that of `source`.
            stride: the strides; None for row-major ones.

        Raises:
            TypeError: `source` is neither a storage nor a tensor, or an offset or stride is given without a size.
            RuntimeError: `source` has another dtype or device, or its memory is too small and cannot be enlarged.
        """
    def sgn(self, *, out: Tensor | None = ...) -> Tensor:
        """Return `x / |x|`, or 0 for 0; for real numbers, the sign."""
    def sgn_(self) -> Tensor:
        """In-place form of `sgn`."""
    def share_memory_(self) -> Tensor:
        """Move the tensor, and all tensors that share its memory, to memory shared between processes."""
    def short(self, memory_format: _memory_format | None = ...) -> Tensor:
        """Return `self.to(torch.int16)`.

        Args:
            memory_format: the order of the dimensions in memory; None for that of the tensor.
        """
    def sigmoid(self, *, out: Tensor | None = ...) -> Tensor:
        """`1 / (1 + exp(-x))`."""
    def sigmoid_(self) -> Tensor:
        """In-place form of `sigmoid`."""
    def sign(self, *, out: Tensor | None = ...) -> Tensor:
        """Return -1, 0 or 1 for negative, zero and positive elements."""
    def sign_(self) -> Tensor:
        """In-place form of `sign`."""
    def signbit(self, *, out: Tensor | None = ...) -> Tensor:
        """True where the sign bit is set."""
    def sin(self, *, out: Tensor | None = ...) -> Tensor:
        """Return the sine of an angle in radians."""
    def sin_(self) -> Tensor:
        """In-place form of `sin`."""
    def sinc(self, *, out: Tensor | None = ...) -> Tensor:
        """Return `sin(pi x) / (pi x)`, which is 1 at 0."""
    def sinc_(self) -> Tensor:
        """In-place form of `sinc`."""
    def sinh(self, *, out: Tensor | None = ...) -> Tensor:
        """Return the hyperbolic sine."""
    def sinh_(self) -> Tensor:
        """In-place form of `sinh`."""
    def slice_inverse(self, src: Tensor, dim: _int = ..., start: _int | None = ..., end: _int | None = ..., step: _int = ...) -> Tensor:
        """Return the tensor that `self` is a slice of, as a view of the same storage with the layout of `src`.

        Args:
            src: the tensor with the shape, strides and offset of the result.
            dim, start, end, step: without effect, because `src` determines the result.
        """
    def slice_scatter(self, src: Tensor, dim: _int = ..., start: _int | None = ..., end: _int | None = ..., step: _int = ..., *, out: Tensor | None = ...) -> Tensor:
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
    def slogdet(self, *, out: Tensor | None = ...) -> return_types.slogdet:
        """Return the signs of determinants and the logarithms of their absolute values; see `torch.linalg.slogdet`."""
    def smm(self, mat: Tensor) -> Tensor:
        """Return the product of a sparse and a dense matrix as a sparse matrix: see `torch.smm`.

        Args:
            mat: a dense matrix `(m, p)`.
        """
    def softmax(self, dim: _int, dtype: _dtype | None = ..., *, out: Tensor | None = ...) -> Tensor:
        """Return `exp(input)`, divided by its sum along `dim`.

        Args:
            dim: the dimension along which the elements sum to 1.
            dtype: the dtype to convert `input` to before the computation; None for no conversion.

        >>> torch.softmax(torch.tensor([0.0, 0.0]), 0)
        tensor([0.5000, 0.5000])
        """
    def solve(self, *args: Any, **kwargs: Any) -> Sequence[Tensor]:
        """Raise a RuntimeError that names the replacement of the removed function `solve`."""
    def sort(self, dim: _int = ..., descending: _bool = ..., stable: _bool | None = ..., *, out: Sequence[Tensor] | None = ...) -> return_types.sort:
        """Sort the elements along `dim`; return them and their original indices.

        Args:
            dim: the dimension to sort along.
            descending: whether the largest element comes first.
            stable: whether equal elements keep their order; they always do.

        >>> torch.tensor([3, 1, 2]).sort().indices
        tensor([1, 2, 0])
        """
    def sparse_dim(self) -> _int:
        """Return the number of sparse dimensions; 0 for a dense tensor."""
    def sparse_mask(self, mask: Tensor) -> Tensor:
        """Return a sparse tensor with the layout and indices of `mask`, and the values of this tensor at these indices.

        Args:
            mask: a sparse tensor of the same shape.

        >>> torch.ones(2, 2).sparse_mask(torch.eye(2).to_sparse()).to_dense()
        tensor([[1., 0.],
                [0., 1.]])
        """
    def sparse_resize_(self, size: Sequence[_int], sparse_dim: _int, dense_dim: _int) -> Tensor:
        """Change the shape of a COO tensor in-place; all of its indices must be inside of the new shape.

        Args:
            size: the shape.
            sparse_dim: the number of sparse dimensions.
            dense_dim: the number of dense dimensions.
        """
    def sparse_resize_and_clear_(self, size: Sequence[_int], sparse_dim: _int, dense_dim: _int) -> Tensor:
        """Change the shape of a COO tensor, and remove all elements, in-place.

        Args:
            size: the shape.
            sparse_dim: the number of sparse dimensions.
            dense_dim: the number of dense dimensions.
        """
    def split(self, split_size_or_sections: _int | Sequence[_int] | None = ..., dim: _int = ..., *, split_size: _int | Sequence[_int] | None = ...) -> tuple[Tensor, ...]:
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
    def split_with_sizes(self, split_sizes: Sequence[_int], dim: _int = ...) -> tuple[Tensor, ...]:
        """Split `dim` into consecutive views of the sizes in a list.

        Args:
            split_sizes: the lengths of the parts, whose sum is the size of `dim`.
            dim: the dimension to split.
        """
    def sqrt(self, *, out: Tensor | None = ...) -> Tensor:
        """Return the square root."""
    def sqrt_(self) -> Tensor:
        """In-place form of `sqrt`."""
    def square(self, *, out: Tensor | None = ...) -> Tensor:
        """Return the square."""
    def square_(self) -> Tensor:
        """In-place form of `square`."""
    def squeeze(self, dim: _int | Sequence[_int] | None = ..., *, axis: _int | Sequence[_int] | None = ...) -> Tensor:
        """Return a view without the dimensions of size 1, or only without those in `dim` (an int or a tuple).

        Args:
            dim: one dimension or several; None for all. Dimensions of another size are kept.
            axis: another name of `dim`.

        >>> torch.zeros(1, 2, 1).squeeze().shape, torch.zeros(1, 2, 1).squeeze(0).shape
        (torch.Size([2]), torch.Size([2, 1]))
        """
    def squeeze_(self, dim: _int | Sequence[_int] | None = ..., *, axis: _int | Sequence[_int] | None = ...) -> Tensor:
        """In-place form of `squeeze`: the tensor itself becomes the view.

        Args:
            dim: one dimension or several; None for all. Dimensions of another size are kept.
            axis: another name of `dim`.
        """
    def sspaddmm(self, mat1: Tensor, mat2: Tensor, *, beta: _int = ..., alpha: _int = ...) -> Tensor:
        """Return `beta * self + alpha * mat1 @ mat2` as a sparse matrix: see `torch.sspaddmm`.

        Args:
            mat1: a sparse matrix `(n, m)`.
            mat2: a dense matrix `(m, p)`.
            beta, alpha: the factors of `self` and of the product.
        """
    def std(self, dim: _int | Sequence[_int] | _bool | None = ..., unbiased: _bool = ..., keepdim: _bool = ..., *, correction: Tensor | _int | _float | _complex | None = ..., out: Tensor | None = ...) -> Tensor:
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
    def stft(self, n_fft: _int, hop_length: _int | None = ..., win_length: _int | None = ..., window: Tensor | None = ..., center: _bool = ..., pad_mode: str = ..., normalized: _bool = ..., onesided: _bool | None = ..., return_complex: _bool | None = ..., align_to_window: _bool | None = ...) -> Tensor:
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
    def storage(self) -> TypedStorage:
        """Return the tensor's storage, typed with its dtype."""
    def storage_type(self) -> Any:
        """Return the class of the tensor's typed storage."""
    def sub(self, other: Tensor | _int | _float | _complex, alpha: Tensor | _int | _float | _complex = ..., *, out: Tensor | None = ...) -> Tensor:
        """`input - alpha * other`, element by element, broadcast.

        Args:
            other: a tensor that can be broadcast with `input`, or a number.
            alpha: the factor of `other`; an integer if the result is an integer tensor.

        Raises:
            RuntimeError: an operand is bool.

        >>> torch.sub(torch.tensor([3.0, 4.0]), torch.ones(2), alpha=2)
        tensor([1., 2.])
        """
    def sub_(self, other: Tensor | _int | _float | _complex, alpha: Tensor | _int | _float | _complex = ...) -> Tensor:
        """In-place form of `sub`.

        Args:
            other: a tensor that can be broadcast with `input`, or a number.
            alpha: the factor of `other`; an integer if the result is an integer tensor.
        """
    def subtract(self, other: Tensor | _int | _float | _complex, alpha: Tensor | _int | _float | _complex = ..., *, out: Tensor | None = ...) -> Tensor:
        """`input - alpha * other`, element by element, broadcast.

        Args:
            other: a tensor that can be broadcast with `input`, or a number.
            alpha: the factor of `other`; an integer if the result is an integer tensor.

        Raises:
            RuntimeError: an operand is bool.

        >>> torch.sub(torch.tensor([3.0, 4.0]), torch.ones(2), alpha=2)
        tensor([1., 2.])
        """
    def subtract_(self, other: Tensor | _int | _float | _complex, alpha: Tensor | _int | _float | _complex = ...) -> Tensor:
        """In-place form of `sub`.

        Args:
            other: a tensor that can be broadcast with `input`, or a number.
            alpha: the factor of `other`; an integer if the result is an integer tensor.
        """
    def sum(self, dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ..., *, dtype: _dtype | None = ..., out: Tensor | None = ...) -> Tensor:
        """Return the sum of all elements, or over the dimensions `dim`; integers are summed in int64.

        Args:
            dim: the dimensions to reduce, an int or a tuple; None for all.
            keepdim: whether the reduced dimensions are kept with length 1.
            dtype: the dtype of the result, to which `input` is converted before the summation; None for that of `input`, or for int64
                if it is an integer or bool dtype.

        >>> torch.tensor([[1, 2], [3, 4]]).sum(0, keepdim=True)
        tensor([[4, 6]])
        """
    def sum_to_size(self, size: _int | Sequence[_int], *rest: _int) -> Tensor:
        """Sum over dimensions so that the result has the shape `size`, which must be broadcastable to the tensor's shape.

        Args:
            size: the shape: integers, or one sequence of them.

        >>> torch.ones(2, 3).sum_to_size(1, 3)
        tensor([[2., 2., 2.]])
        """
    def svd(self, some: _bool = ..., compute_uv: _bool = ..., *, out: Tensor | None = ...) -> return_types.svd:
        """Return `(U, S, V)`, the factors of `input = U diag(S) V^H`; without `compute_uv`, U and V are zeros.

        Args:
            some: whether `U` and `V` have only `min(m, n)` columns.
            compute_uv: whether to compute `U` and `V`.
        """
    def swapaxes(self, axis0: _int, axis1: _int) -> Tensor:
        """Return a view with two dimensions swapped; another name of `transpose`.

        Args:
            axis0, axis1: the dimensions to swap.
        """
    def swapaxes_(self, axis0: _int, axis1: _int) -> Tensor:
        """In-place form of `swapaxes`: the tensor itself becomes the view.

        Args:
            axis0, axis1: the dimensions to swap.
        """
    def swapdims(self, dim0: _int, dim1: _int) -> Tensor:
        """Return a view with two dimensions swapped.

        Args:
            dim0, dim1: the dimensions to swap.

        >>> torch.transpose(torch.zeros(2, 3), 0, 1).shape
        torch.Size([3, 2])
        """
    def swapdims_(self, dim0: _int, dim1: _int) -> Tensor:
        """In-place form of `swapdims`: the tensor itself becomes the view.

        Args:
            dim0, dim1: the dimensions to swap.
        """
    def symeig(self, eigenvectors: _bool = ..., upper: _bool = ..., *, out: Sequence[Tensor] | None = ...) -> tuple[Tensor, Tensor]:
        """Return the eigenvalues of symmetric matrices, ascending, and eigenvectors (or zeros); a legacy name of `linalg.eigh`.

        Args:
            eigenvectors: whether to compute the eigenvectors.
            upper: whether to read the upper triangle; otherwise the lower one.
        """
    def t(self) -> Tensor:
        """Return a view of the transpose of a matrix; vectors and 0-d tensors are unchanged."""
    def t_(self) -> Tensor:
        """In-place form of `t`: the tensor itself becomes the view."""
    def take(self, index: Tensor, *, out: Tensor | None = ...) -> Tensor:
        """Return the elements at the positions `index` of the flattened tensor.

        Args:
            index: an int64 tensor, whose shape is that of the result.

        Raises:
            IndexError: an index is out of range.

        >>> torch.take(torch.tensor([[1, 2], [3, 4]]), torch.tensor([0, 3]))
        tensor([1, 4])
        """
    def take_along_dim(self, indices: Tensor, dim: _int | None = ..., *, out: Tensor | None = ...) -> Tensor:
        """Return the elements at `indices` along `dim`; the other dimensions broadcast.  If `dim` is None, the input is flattened.

        Args:
            indices: an int64 tensor.
            dim: the dimension to select from; None to flatten.

        >>> x = torch.tensor([[1, 3, 2]])
        >>> torch.take_along_dim(x, x.argmax(1, keepdim=True), 1)
        tensor([[3]])
        """
    def tan(self, *, out: Tensor | None = ...) -> Tensor:
        """Return the tangent of an angle in radians."""
    def tan_(self) -> Tensor:
        """In-place form of `tan`."""
    def tanh(self, *, out: Tensor | None = ...) -> Tensor:
        """Return the hyperbolic tangent."""
    def tanh_(self) -> Tensor:
        """In-place form of `tanh`."""
    def tensor_split(self, indices_or_sections: Any = ..., dim: _int = ..., *, indices: Sequence[_int] | None = ..., sections: _int | None = ..., tensor_indices_or_sections: Tensor | None = ...) -> tuple[Tensor, ...]:
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
    def tile(self, dims: _int | Sequence[_int], *rest: _int) -> Tensor:
        """Repeat the tensor `dims[i]` times along each dimension; a shorter `dims` applies to the last dimensions.

        Args:
            dims: the numbers of repetitions.

        >>> torch.tile(torch.tensor([1, 2]), (2,))
        tensor([1, 2, 1, 2])
        """
    def to(self, *args: Any, dtype: _dtype | None = ..., device: _device | str | _int | None = ..., other: Tensor | None = ..., non_blocking: _bool = ..., copy: _bool = ..., memory_format: _memory_format | None = ...) -> Tensor:
        """Convert to a dtype and device, or to those of another tensor; return `self` if nothing changes.

        Args:
            dtype: the dtype of the result; None for that of `self`.
            device: the device of the result; None for that of `self`.
            other: a tensor whose dtype and device are used.
            non_blocking: whether a copy between pinned CPU memory and a GPU may return before it has finished.
            copy: whether a copy is returned even if nothing changes.
            memory_format: the order of the dimensions in memory; None for that of `self`.

        >>> torch.ones(1).to(torch.int64), torch.ones(1).to("cpu", torch.float64)
        (tensor([1]), tensor([1.], dtype=torch.float64))
        """
    def to_dense(self, dtype: _dtype | None = ..., *, masked_grad: _bool | None = ...) -> Tensor:
        """Return this tensor, which is dense already; converted to `dtype` if that is given.

        Args:
            dtype: the dtype of the result; None for that of this tensor.
            masked_grad: without effect on a dense tensor.
        """
    def to_sparse(self, sparse_dim: _int | None = ..., *, layout: _layout | None = ..., blocksize: Any = ..., dense_dim: _int | None = ...) -> Tensor:
        """Convert the tensor to a sparse layout, by default COO.

        Args:
            sparse_dim: the number of sparse dimensions (default: all); the other dimensions are dense.
            layout: the layout of the result.
            blocksize: height and width of the blocks of BSR and BSC.
            dense_dim: the number of trailing dense dimensions of a compressed result.

        >>> torch.tensor([[0, 2.0], [0, 0]]).to_sparse()
        tensor(indices=tensor([[0],
                               [1]]),
               values=tensor([2.]),
               size=(2, 2), nnz=1, layout=torch.sparse_coo)
        """
    def to_sparse_bsc(self, blocksize: Sequence[_int], dense_dim: _int | None = ...) -> Tensor:
        """Convert the tensor to BSC: like CSC, with blocks of `blocksize = (height, width)` instead of elements.

        Args:
            blocksize: the height and the width of a block, which divide those of the matrix.
            dense_dim: the number of last dimensions that are dense; None for 0.
        """
    def to_sparse_bsr(self, blocksize: Sequence[_int], dense_dim: _int | None = ...) -> Tensor:
        """Convert the tensor to BSR: like CSR, with blocks of `blocksize = (height, width)` instead of elements.

        Args:
            blocksize: the height and the width of a block, which divide those of the matrix.
            dense_dim: the number of last dimensions that are dense; None for 0.
        """
    def to_sparse_coo(self) -> Tensor:
        """Convert the tensor to COO: an index for each value."""
    def to_sparse_csc(self, dense_dim: _int | None = ...) -> Tensor:
        """Convert the tensor to CSC: the start of each column, and a row for each value.

        Args:
            dense_dim: the number of last dimensions that are dense; None for 0.
        """
    def to_sparse_csr(self, dense_dim: _int | None = ...) -> Tensor:
        """Convert the tensor to CSR: the start of each row, and a column for each value.

        Args:
            dense_dim: the number of last dimensions that are dense; None for 0.
        """
    def topk(self, k: _int, dim: _int = ..., largest: _bool = ..., sorted: _bool = ..., *, out: Sequence[Tensor] | None = ...) -> return_types.topk:
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
    def trace(self) -> Tensor:
        """Return the sum of the diagonal of a matrix."""
    def transpose(self, dim0: _int, dim1: _int) -> Tensor:
        """Return a view with two dimensions swapped.

        Args:
            dim0, dim1: the dimensions to swap.

        >>> torch.transpose(torch.zeros(2, 3), 0, 1).shape
        torch.Size([3, 2])
        """
    def transpose_(self, dim0: _int, dim1: _int) -> Tensor:
        """In-place form of `transpose`: the tensor itself becomes the view.

        Args:
            dim0, dim1: the dimensions to swap.
        """
    def triangular_solve(self, A: Tensor, upper: _bool = ..., transpose: _bool = ..., unitriangular: _bool = ..., *, out: Tensor | None = ...) -> return_types.triangular_solve:
        """Return the solution of `A X = input` (`A^T X = input` if `transpose`) for triangular `A`, and a copy of `A`.

        Args:
            input: the right-hand side `(*, n, k)`.
            A: triangular matrices `(*, n, n)`.
            upper: whether to read the upper triangle of `A`; otherwise the lower one.
            transpose: whether to solve `A^T X = input`.
            unitriangular: whether the diagonal is assumed to be 1, and not read.
        """
    def tril(self, diagonal: _int = ..., *, out: Tensor | None = ...) -> Tensor:
        """Return the lower triangle of matrices, the rest 0.

        Args:
            diagonal: the last diagonal of the triangle: 0 for the main one, positive above it, negative below.

        >>> torch.tril(torch.ones(2, 2))
        tensor([[1., 0.],
                [1., 1.]])
        """
    def tril_(self, diagonal: _int = ...) -> Tensor:
        """In-place form of `tril`.

        Args:
            diagonal: the last diagonal of the triangle: 0 for the main one, positive above it, negative below.
        """
    def triu(self, diagonal: _int = ..., *, out: Tensor | None = ...) -> Tensor:
        """Return the upper triangle of matrices, the rest 0.

        Args:
            diagonal: the last diagonal of the triangle: 0 for the main one, positive above it, negative below.

        >>> torch.triu(torch.ones(2, 2))
        tensor([[1., 1.],
                [0., 1.]])
        """
    def triu_(self, diagonal: _int = ...) -> Tensor:
        """In-place form of `triu`.

        Args:
            diagonal: the last diagonal of the triangle: 0 for the main one, positive above it, negative below.
        """
    def true_divide(self, other: _int | _float | _complex | Tensor, *, out: Tensor | None = ...) -> Tensor:
        """Return the unrounded quotient `input / other`.

        Args:
            other: a tensor that can be broadcast with `input`, or a number.

        >>> torch.true_divide(torch.tensor([1, 2]), 2)
        tensor([0.5000, 1.0000])
        """
    def true_divide_(self, other: _int | _float | _complex | Tensor) -> Tensor:
        """In-place form of `true_divide`.

        Args:
            other: a tensor that can be broadcast with `input`, or a number.
        """
    def trunc(self, *, out: Tensor | None = ...) -> Tensor:
        """Return the integer part, rounded towards 0."""
    def trunc_(self) -> Tensor:
        """In-place form of `trunc`."""
    def type(self, dtype: _dtype | str | None = ..., non_blocking: _bool = ..., **kwargs: Any) -> Any:
        """Return the name of the tensor's type; or, given a type (class, name or dtype), the tensor converted to it.

        Args:
            dtype: a tensor type or its name, or a dtype; None to return the name.
            non_blocking: whether a copy between pinned CPU memory and a GPU may return before it has finished.

        >>> torch.ones(1).type(), torch.ones(1).type(torch.LongTensor)
        ('torch.FloatTensor', tensor([1]))
        """
    def type_as(self, other: Tensor) -> Tensor:
        """Convert to the dtype and device of `other`: `self.type(other.type())`.

        Args:
            other: a tensor.
        """
    def unbind(self, dim: _int = ...) -> tuple[Tensor, ...]:
        """Return views of all slices along `dim`, without that dimension.

        Args:
            dim: the dimension to remove.

        >>> torch.unbind(torch.tensor([[1, 2], [3, 4]]))
        (tensor([1, 2]), tensor([3, 4]))
        """
    def unflatten(self, dim: _int, sizes: Sequence[_int]) -> Tensor:
        """Split dimension `dim` into `sizes`; one size may be -1.

        Args:
            dim: the dimension to split.
            sizes: the new sizes, whose product is the size of `dim`.

        Raises:
            RuntimeError: the product of `sizes` is another number.

        >>> torch.zeros(2, 6).unflatten(1, (3, -1)).shape
        torch.Size([2, 3, 2])
        """
    def unfold(self, dimension: _int, size: _int, step: _int) -> Tensor:
        """Return a view of all windows of length `size` along `dimension`, `step` apart.

        The windows' elements are in a new last dimension.

        Args:
            dimension: the dimension to take windows of.
            size: the length of a window.
            step: the distance between windows.

        Raises:
            RuntimeError: `size` is negative or above the length of the dimension, or `step` is not positive.

        >>> torch.arange(4).unfold(0, 2, 1)
        tensor([[0, 1],
                [1, 2],
                [2, 3]])
        """
    def uniform_(self, low: _float = ..., high: _float = ..., *, to: _float | None = ..., generator: Generator | None = ..., **named: Any) -> Tensor:
        """Fill with uniform random numbers from `[from, to)`.

        Args:
            low: the lower bound, by position; its keyword is `from`.
            high, to: the upper bound, by position or by keyword.
            generator: the random number generator; None for the default generator of the device.
        """
    def unique(self, sorted: _bool = ..., return_inverse: _bool = ..., return_counts: _bool = ..., dim: _int | None = ...) -> Any:
        """Return the sorted unique elements (or slices of `dim`) and, if requested, each element's index among them and the counts.

        Args:
            sorted: whether the result is sorted; it always is.
            return_inverse: whether to return each element's index in the result.
            return_counts: whether to return the number of occurrences of each element.
            dim: the dimension whose slices are compared; None to compare elements of the flattened tensor.

        >>> torch.tensor([3, 1, 3]).unique(return_counts=True)
        (tensor([1, 3]), tensor([1, 2]))
        """
    def unique_consecutive(self, return_inverse: _bool = ..., return_counts: _bool = ..., dim: _int | None = ...) -> Any:
        """Return the elements (or slices of `dim`) without consecutive repetitions.

        Args:
            return_inverse: whether to return each element's index in the result.
            return_counts: whether to return the length of each run of equal elements.
            dim: the dimension whose slices are compared; None to compare elements of the flattened tensor.

        >>> torch.unique_consecutive(torch.tensor([1, 1, 2, 1]))
        tensor([1, 2, 1])
        """
    def unsafe_chunk(self, chunks: _int, dim: _int = ...) -> tuple[Tensor, ...]:
        """Split `dim` as `chunk` does, but autograd does not treat the parts as views: see `unsafe_split`.

        Args:
            chunks: the largest number of parts.
            dim: the dimension to split.

        >>> torch.unsafe_chunk(torch.arange(4), 2)
        (tensor([0, 1]), tensor([2, 3]))
        """
    def unsafe_split(self, split_size: _int | Sequence[_int], dim: _int = ...) -> tuple[Tensor, ...]:
        """Split `dim` as `split` does, but autograd does not treat the parts as views.

        A write to a part does not change the history of `input` and of the other parts, although it changes their memory.

        Args:
            split_size: the length of each part, or a list of lengths.
            dim: the dimension to split.

        >>> torch.unsafe_split(torch.arange(3), 2)
        (tensor([0, 1]), tensor([2]))
        """
    def unsafe_split_with_sizes(self, split_sizes: Sequence[_int], dim: _int = ...) -> tuple[Tensor, ...]:
        """Split `dim` as `split_with_sizes` does, but autograd does not treat the parts as views: see `unsafe_split`.

        Args:
            split_sizes: the lengths of the parts, whose sum is the length of `dim`.
            dim: the dimension to split.

        >>> torch.unsafe_split_with_sizes(torch.arange(3), [1, 2])
        (tensor([0]), tensor([1, 2]))
        """
    def unsqueeze(self, dim: _int | None = ..., *, axis: _int | None = ...) -> Tensor:
        """Return a view with a new dimension of size 1 at `dim`.

        Args:
            dim: the index of the new dimension in the result.
            axis: another name of `dim`.

        >>> torch.zeros(2).unsqueeze(1).shape
        torch.Size([2, 1])
        """
    def unsqueeze_(self, dim: _int | None = ..., *, axis: _int | None = ...) -> Tensor:
        """In-place form of `unsqueeze`: the tensor itself becomes the view.

        Args:
            dim: the index of the new dimension in the result.
            axis: another name of `dim`.
        """
    def untyped_storage(self) -> UntypedStorage:
        """Return the tensor's storage as bytes."""
    def values(self) -> Tensor:
        """Return the specified elements of a sparse tensor; a COO tensor must be coalesced."""
    def var(self, dim: _int | Sequence[_int] | _bool | None = ..., unbiased: _bool = ..., keepdim: _bool = ..., *, correction: Tensor | _int | _float | _complex | None = ..., out: Tensor | None = ...) -> Tensor:
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
    def vdot(self, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
        """Return the inner product of two vectors, with the first conjugated.

        Args:
            other: a vector with the length and the dtype of `input`.

        Raises:
            RuntimeError: an argument is not a vector, or the lengths or dtypes differ.

        >>> torch.vdot(torch.tensor([1j, 2]), torch.tensor([1j, 1]))
        tensor(3.+0.j)
        """
    def view(self, size: _int | Sequence[_int] | _dtype | None = ..., *rest: _int, dtype: _dtype | None = ...) -> Tensor:
        """Return a view with another shape or, given a dtype, a view of the bits as that dtype.

        Args:
            size: the shape: integers, or one sequence of them; or the dtype.
            dtype: the dtype.

        Raises:
            RuntimeError: the number of elements differs, or the strides do not allow a view of this shape.

        >>> torch.arange(4).view(2, 2)
        tensor([[0, 1],
                [2, 3]])
        """
    def view_as(self, other: Tensor) -> Tensor:
        """Return `input.view(other.size())`.

        Args:
            other: a tensor with the number of elements of `input`.
        """
    @property
    def volatile(self) -> _bool: ...
    @volatile.setter
    def volatile(self, value: Any) -> None: ...
    def vsplit(self, *args: Any, indices: Sequence[_int] | None = ..., sections: _int | None = ...) -> tuple[Tensor, ...]:
        """Split along dimension 0 into views; see `tensor_split`.

        Args:
            indices: the indices of the first slice of each part but the first.
            sections: the number of parts, all of the same length.

        Raises:
            RuntimeError: the length is not divisible by the number of parts, or the tensor has too few dimensions.

        >>> torch.vsplit(torch.ones(2, 2, 2), 2)[0].shape
        torch.Size([1, 2, 2])
        """
    def where(self, condition: Tensor, other: _int | _float | _complex | Tensor) -> Tensor:
        """Select `self` where `condition` holds, else `other`.

        Args:
            condition: a bool tensor that can be broadcast with `self`.
            other: a tensor that can be broadcast with `self`, or a number.

        >>> torch.tensor([1, 2]).where(torch.tensor([True, False]), 0)
        tensor([1, 0])
        """
    def xlogy(self, other: Tensor | _int | _float | _complex, *, out: Tensor | None = ...) -> Tensor:
        """Return `input * log(other)`; it is 0 where `input` is 0, unless `other` is NaN.

        Args:
            input: the factors, a tensor or a number.
            other: the numbers whose logarithms are taken, a tensor or a number.

        >>> torch.xlogy(torch.tensor([0.0, 1.0]), torch.tensor([0.0, 1.0]))
        tensor([0., 0.])
        """
    def xlogy_(self, other: Tensor | _int | _float | _complex) -> Tensor:
        """In-place form of `xlogy`.

        Args:
            other: the numbers whose logarithms are taken, a tensor or a number.
        """
    def zero_(self) -> Tensor:
        """Set every element to 0."""

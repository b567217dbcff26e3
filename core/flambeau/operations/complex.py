"""Complex numbers: views of real and imaginary parts, construction from parts, and predicates on dtypes."""

from __future__ import annotations

import cmath
import math
from typing import Any

from ..engine.calls.arguments import Number
from ..engine.calls.dispatch import require_tensors, result_dtype
from ..engine.calls.facts import Autocast, Kind, Linearity, Narrow, Order
from ..engine.calls.op import composite, no_slope, op
from ..engine.calls.record import Out
from ..engine.tensors.tensor import Tensor, attach
from ..engine.values import dtypes

__all__: list[str] = []


def _is_complex_array(xp: Any, array: Any) -> bool:
    return xp.isdtype(array.dtype, "complex floating")  # type: ignore[no-any-return]  # xp is untyped


def _complex_dtype(xp: Any, array: Any) -> Any:
    double = getattr(xp, "float64", None)  # `array.dtype == None` raises an error in some libraries
    return xp.complex128 if double is not None and array.dtype == double else xp.complex64


# --- parts --------------------------------------------------------------------------------------------------------

_real = op(
    "real", lambda xp, input: xp.real(input) if _is_complex_array(xp, input) else input,
    kind=Kind.POINTWISE, moves=True, keeps_zero=True, linearity=Linearity.JOINT, narrow=Narrow.ALL, promote="real", view=True,
    public=False, method=False,
    input=lambda F, g: g,
)  # fmt: skip
_imag = op(
    "imag", lambda xp, input: xp.imag(input),
    kind=Kind.POINTWISE, moves=True, keeps_zero=True, linearity=Linearity.JOINT, narrow=Narrow.COMPLEX32,
    promote="real", view=True, public=False, method=False,
    input=lambda F, g: F.complex(g * 0, g),
)  # fmt: skip


@composite(method=False)
def real(input: Tensor) -> Tensor:
    """Return a view of the real parts; a real tensor is returned itself.

    >>> torch.real(torch.tensor([1 + 2j, 3j]))
    tensor([1., 0.])
    """
    return _real(input) if input._key.dtype.category == dtypes.COMPLEX else input


@composite(method=False)
def imag(input: Tensor) -> Tensor:
    """Return the imaginary parts as a view.  Raises RuntimeError for a real tensor."""
    if input._key.dtype.category != dtypes.COMPLEX:
        raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")
    return _imag(input)


def _part(read: Any) -> property:
    def write(self: Tensor, value: Any) -> None:
        part = read(self)
        part.copy_(value if isinstance(value, Tensor) else part.new_tensor(value))

    return property(read, write, doc=read.__doc__)


attach(real=_part(real), imag=_part(imag))


@composite(out=True)
def angle(input: Tensor) -> Tensor:
    """Return the argument of each number in radians; for a real number it is 0, or pi if negative.

    >>> torch.angle(torch.tensor([1j, -1.0, 1 + 1j]))
    tensor([1.5708, 3.1416, 0.7854])
    """
    if input._key.dtype.category < dtypes.FLOATING:
        input = input.to(dtypes.get_default_dtype())
    return _angle(input)


def _angle_forward(xp: Any, input: Any) -> Any:
    if _is_complex_array(xp, input):
        return xp.atan2(xp.imag(input), xp.real(input))
    direction = xp.where(input < 0, xp.asarray(math.pi, dtype=input.dtype), xp.zeros_like(input))
    return xp.where(input != input, input, direction)  # the angle of NaN is NaN


def _angle_grad(F: Any, g: Any, input: Any) -> Any:
    if not F.is_complex(input):
        return no_slope(F, g)
    real, imag = F.real(input), F.imag(input)
    square = real * real + imag * imag
    g = F.masked(g / F.where(square == 0, 1.0, square), square != 0)
    return F.complex(-imag * g, real * g)


_angle = op(
    "angle", _angle_forward, kind=Kind.POINTWISE, keeps_zero=True, promote="real", public=False, method=False, input=_angle_grad
)

# --- complex numbers from and as pairs of real ones ---------------------------------------------------------------


def _complex_forward(xp: Any, input: Any, imag: Any) -> Any:
    dtype = _complex_dtype(xp, input)
    # The products of inf and NaN with 1j have a real part of NaN: the loop and the line after it replace them.
    imaginary = xp.astype(imag, dtype) * 1j
    for value, number in ((math.inf, cmath.infj), (-math.inf, -cmath.infj)):
        imaginary = xp.where(imag == value, number, imaginary)
    imaginary = xp.where(imag != imag, cmath.nanj, imaginary)
    return xp.astype(input, dtype) + imaginary


_complex = op(
    "complex", _complex_forward,
    kind=Kind.POINTWISE, linearity=Linearity.JOINT, order=Order.ROW_MAJOR, promote="complex", public=False, method=False,
    input=lambda F, g: F.real(g),
    imag=lambda F, g: F.imag(g),
)  # fmt: skip


@composite(method=False, out=Out.OWN_DTYPE)
def complex(real: Tensor, imag: Tensor) -> Tensor:
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
    require_tensors("complex", real=real, imag=imag)
    _check_parts(real, imag)
    return _complex(real, imag)


@composite(method=False, out=Out.OWN_DTYPE, grad_fn="PolarBackward0", kind=Kind.POINTWISE, autocast={"cpu": Autocast.FLOAT32})
def polar(abs: Tensor, angle: Tensor) -> Tensor:
    """`abs * exp(1j * angle)`.

    Args:
        abs: the absolute values, a floating-point tensor.
        angle: the angles in radians, with the dtype of `abs`.

    >>> torch.polar(torch.tensor([2.0]), torch.tensor([0.0]))
    tensor([2.+0.j])
    """
    require_tensors("polar", abs=abs, angle=angle)
    _check_parts(abs, angle)
    if abs.dtype is dtypes.float16:
        raise NotImplementedError("\"polar_cpu\" not implemented for 'Half'")
    return _complex(abs * angle.cos(), abs * angle.sin())


def _check_parts(first: Tensor, second: Tensor) -> None:
    for part in (first, second):
        if part.dtype not in (dtypes.float16, dtypes.float32, dtypes.float64):
            raise RuntimeError(
                "Expected both inputs to be Half, Float or Double tensors but got "
                f"{first.dtype.legacy_name} and {second.dtype.legacy_name}"
            )
    if first.dtype is not second.dtype:
        raise RuntimeError(
            f"Expected object of scalar type {first.dtype.legacy_name} but got scalar type "
            f"{second.dtype.legacy_name} for second argument"
        )


_view_as_real = op(
    "view_as_real", lambda xp, input: xp.stack([xp.real(input), xp.imag(input)], axis=-1),
    kind=Kind.VIEW, moves=False, narrow=Narrow.COMPLEX32, promote="real", view=True,
    public=False, method=False,
    input=lambda F, g: F.complex_of_pairs(g),
)  # fmt: skip
_view_as_complex = op(
    "view_as_complex", lambda xp, input: _complex_forward(xp, input[..., 0], input[..., 1]),
    kind=Kind.VIEW, moves=False, narrow=Narrow.COMPLEX32, autocast={"cpu": Autocast.FLOAT32}, promote="complex", view=True,
    public=False, method=False,
    input=lambda F, g: F.pairs_of_complex(g),
)  # fmt: skip
op(
    "complex_of_pairs", lambda xp, input: _complex_forward(xp, input[..., 0], input[..., 1]),
    kind=Kind.POINTWISE, narrow=Narrow.COMPLEX32, promote="complex",
    public=False, method=False, input=lambda F, g: F.pairs_of_complex(g),
)  # fmt: skip
op(
    "pairs_of_complex", lambda xp, input: xp.stack([xp.real(input), xp.imag(input)], axis=-1),
    kind=Kind.VIEW, moves=False, narrow=Narrow.COMPLEX32, promote="real",
    public=False, method=False, input=lambda F, g: F.complex_of_pairs(g),
)  # fmt: skip


@composite(method=False)
def view_as_real(input: Tensor) -> Tensor:
    """View the memory as real numbers; a new last dimension of length 2 holds the real and imaginary parts.

    >>> torch.view_as_real(torch.tensor([1 + 2j]))
    tensor([[1., 2.]])
    """
    if input._key.dtype.category != dtypes.COMPLEX:
        raise RuntimeError("view_as_real is only supported for complex tensors")
    if input._key.lazy_op == "conj":
        raise RuntimeError(
            "view_as_real doesn't work on unresolved conjugated tensors.  To resolve the conjugate tensor so you "
            "can view it as real, use self.resolve_conj(); however, be warned that the resulting tensor will NOT "
            "alias the original."
        )
    return _view_as_real(input)


@composite(method=False)
def view_as_complex(input: Tensor) -> Tensor:
    """View the memory as complex numbers; the last dimension, of length 2, holds their real and imaginary parts.

    Raises:
        RuntimeError: the dtype is not floating-point, the last dimension does not have length 2 and
            stride 1, or another stride is odd.
    """
    if input._key.dtype not in (dtypes.float16, dtypes.float32, dtypes.float64):
        raise RuntimeError(
            "view_as_complex is only supported for half, float and double tensors, but got a tensor of scalar "
            f"type: {input.dtype.legacy_name}"
        )
    if input.dtype is dtypes.float16 and (dtypes.complex32 not in input._key.backend.dtypes or input._requires_grad):
        raise NotImplementedError(
            "view_as_complex is not implemented for 'Half': the backend has no complex32, or a gradient is required"
        )
    if not input.ndim:
        raise RuntimeError("Input tensor must have one or more dimensions")
    if input.shape[-1] != 2:
        raise RuntimeError("Tensor must have a last dimension of size 2")
    if input.stride(-1) != 1:
        raise RuntimeError("Tensor must have a last dimension with stride 1")
    if any(n % 2 for n in (*input.stride()[:-1], input.storage_offset())):
        raise RuntimeError("Tensor must have a stride divisible by 2 for all but last dimension")
    return _view_as_complex(input) if input.dtype is not dtypes.float16 else input.view(dtypes.complex32).squeeze(-1)


# --- predicates ---------------------------------------------------------------------------------------------------


@composite(kind=Kind.POINTWISE)
def isreal(input: Tensor) -> Tensor:
    """True where the imaginary part is 0, which is everywhere for a real tensor."""
    if input._key.dtype.category == dtypes.COMPLEX:
        return _imag(input.detach()) == 0
    return input.new_ones(input.shape, dtype=dtypes.bool_)


@composite(kind=Kind.OTHER)
def is_nonzero(input: Tensor) -> bool:
    """Whether the only element is not 0.  Raises RuntimeError unless the tensor has exactly one element."""
    require_tensors("is_nonzero", input=input)
    return bool(input)


op(
    "is_complex", _is_complex_array, kind=Kind.QUERY, public=False, method=False, out=False
)  # for derivative rules, which call it on raw arrays


@composite(method=False)
def is_complex(input: Tensor) -> bool:
    """Whether the dtype is complex."""
    return input.is_complex()


@composite(method=False, kind=Kind.QUERY)
def is_floating_point(input: Tensor) -> bool:
    """Whether the dtype is floating-point."""
    return input.is_floating_point()


@composite(method=False, kind=Kind.QUERY)
def is_inference(input: Tensor) -> bool:
    """Whether the tensor was created in inference mode."""
    return input.is_inference()


@composite(method=False, kind=Kind.QUERY)
def numel(input: Tensor) -> int:
    """Return the number of elements.

    >>> torch.numel(torch.ones(2, 3))
    6
    """
    return input.numel()


@composite(method=False, kind=Kind.QUERY)
def result_type(
    tensor: Tensor | Number | None = None,
    other: Tensor | Number | None = None,
    *,
    scalar: Number | None = None,
    scalar1: Number | None = None,
    scalar2: Number | None = None,
) -> dtypes.dtype:
    """Return the dtype of an operation on two tensors or Python numbers; the keyword names are those of PyTorch's overloads.

    Args:
        tensor, other: tensors or numbers.
        scalar, scalar1, scalar2: other names of the arguments for numbers.

    >>> torch.result_type(torch.tensor([1, 2]), 1.0)
    torch.float32
    """
    operands = [operand for operand in (tensor, other, scalar, scalar1, scalar2) if operand is not None]
    if len(operands) != 2:
        raise TypeError(f"result_type() received an invalid combination of arguments: {len(operands)} values instead of 2")
    return result_dtype(operands)

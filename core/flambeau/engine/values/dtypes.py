"""Element types and how they combine.

A `dtype` is an interned object, compared by identity.  Promotion follows PyTorch: the highest category (bool < integer <
floating < complex) decides first, then the width.  0-d tensors and Python scalars only count if their category is higher.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from numbers import Complex, Integral, Real
from typing import Final

__all__ = [
    "bfloat16",
    "bool_",
    "cdouble",
    "cfloat",
    "chalf",
    "complex32",
    "complex64",
    "complex128",
    "double",
    "dtype",
    "finfo",
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e5m2",
    "float8_e5m2fnuz",
    "float8_e8m0fnu",
    "float16",
    "float32",
    "float64",
    "float_",
    "get_default_dtype",
    "half",
    "iinfo",
    "int8",
    "int16",
    "int32",
    "int64",
    "int_",
    "long",
    "qint8",
    "qint32",
    "quint2x4",
    "quint4x2",
    "quint8",
    "short",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
]  # fmt: skip

BOOL, INTEGER, FLOATING, COMPLEX = range(4)


class dtype:
    """The type of a tensor's elements, such as `torch.float32`.

    >>> torch.float32.itemsize, torch.float32.is_floating_point, torch.float64.to_complex()
    (4, True, torch.complex128)
    """

    __slots__ = ("category", "is_signed", "itemsize", "legacy_name", "name")

    def __init__(self, name: str, itemsize: int, category: int, legacy_name: str, is_signed: bool = True) -> None:
        self.name: Final = name
        self.itemsize: Final = itemsize
        self.category: Final = category
        self.legacy_name: Final = legacy_name
        self.is_signed: Final = is_signed

    @property
    def is_floating_point(self) -> bool:
        return self.category == FLOATING

    @property
    def is_complex(self) -> bool:
        return self.category == COMPLEX

    def to_real(self) -> dtype:
        """Return the dtype of the real part: float64 for complex128, the dtype itself if it is real."""
        return {complex32: float16, complex64: float32, complex128: float64}.get(self, self)

    def to_complex(self) -> dtype:
        """Return the complex dtype whose parts have this dtype (complex64 for half precision); RuntimeError for int and bool."""
        if self.category == COMPLEX:
            return self
        if self.category < FLOATING or self in FLOAT8:
            raise RuntimeError(f"Unknown Complex ScalarType for {self.legacy_name}")
        return complex128 if self is float64 else complex64

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> str:
        # Pickle looks the name up in the module of the class.  In this module, `bool` is Python's type.
        return "bool_" if self.name == "bool" and type(self).__module__ == __name__ else self.name


bool_: Final = dtype("bool", 1, BOOL, "Bool", is_signed=False)
uint8: Final = dtype("uint8", 1, INTEGER, "Byte", is_signed=False)
int8: Final = dtype("int8", 1, INTEGER, "Char")
int16: Final = dtype("int16", 2, INTEGER, "Short")
short: Final = int16
int32: Final = dtype("int32", 4, INTEGER, "Int")
int_: Final = int32
int64: Final = dtype("int64", 8, INTEGER, "Long")
long: Final = int64
uint16: Final = dtype("uint16", 2, INTEGER, "UInt16", is_signed=False)
uint32: Final = dtype("uint32", 4, INTEGER, "UInt32", is_signed=False)
uint64: Final = dtype("uint64", 8, INTEGER, "UInt64", is_signed=False)
float16: Final = dtype("float16", 2, FLOATING, "Half")
half: Final = float16
bfloat16: Final = dtype("bfloat16", 2, FLOATING, "BFloat16")
float32: Final = dtype("float32", 4, FLOATING, "Float")
float_: Final = float32
float64: Final = dtype("float64", 8, FLOATING, "Double")
double: Final = float64
complex64: Final = dtype("complex64", 8, COMPLEX, "ComplexFloat")
cfloat: Final = complex64
complex128: Final = dtype("complex128", 16, COMPLEX, "ComplexDouble")
cdouble: Final = complex128

# The float8 dtypes are for storage and matrix products only.  Their names give the bits of exponent (e) and mantissa (m).
# In the names, `fn` means "no infinities", `uz` "no negative zero", and a final `u` "unsigned".
float8_e4m3fn: Final = dtype("float8_e4m3fn", 1, FLOATING, "Float8_e4m3fn")
float8_e5m2: Final = dtype("float8_e5m2", 1, FLOATING, "Float8_e5m2")
float8_e4m3fnuz: Final = dtype("float8_e4m3fnuz", 1, FLOATING, "Float8_e4m3fnuz")
float8_e5m2fnuz: Final = dtype("float8_e5m2fnuz", 1, FLOATING, "Float8_e5m2fnuz")
float8_e8m0fnu: Final = dtype("float8_e8m0fnu", 1, FLOATING, "Float8_e8m0fnu", is_signed=False)
FLOAT8: Final = (float8_e4m3fn, float8_e5m2, float8_e4m3fnuz, float8_e5m2fnuz, float8_e8m0fnu)

# No array library supports complex32.  It is defined because programs list it in tables of dtypes.
complex32: Final = dtype("complex32", 4, COMPLEX, "ComplexHalf")
chalf: Final = complex32

# PyTorch's dtypes of quantized tensors.  flambeau lacks such tensors, but programs list the dtypes in tables.
quint8: Final = dtype("quint8", 1, INTEGER, "QUInt8", is_signed=False)
qint8: Final = dtype("qint8", 1, INTEGER, "QInt8")
qint32: Final = dtype("qint32", 4, INTEGER, "QInt32")
quint4x2: Final = dtype("quint4x2", 1, INTEGER, "QUInt4x2", is_signed=False)
quint2x4: Final = dtype("quint2x4", 1, INTEGER, "QUInt2x4", is_signed=False)

# Dtypes of fewer than 8 bits.  No operation computes in them: libraries such as torchao use them as names of formats.
SUB_BYTE: Final = {
    d.name: d
    for bits in range(1, 8)
    for d in (dtype(f"int{bits}", 1, INTEGER, f"Int{bits}"), dtype(f"uint{bits}", 1, INTEGER, f"UInt{bits}", is_signed=False))
} | {"float4_e2m1fn_x2": dtype("float4_e2m1fn_x2", 1, FLOATING, "Float4_e2m1fn_x2")}
globals().update(SUB_BYTE)  # pickles contain these names

# The dtypes that operations compute in.
ALL: Final = (
    bool_, uint8, int8, int16, int32, int64, uint16, uint32, uint64,
    float16, bfloat16, float32, float64, complex64, complex128,
)  # fmt: skip
BY_NAME: Final = {d.name: d for d in (*ALL, *FLOAT8, complex32)}
HALF: Final = frozenset({float16, bfloat16})
_C_NAMES: Final = {
    "bool": "bool", "uint8": "unsigned char", "int8": "signed char", "uint16": "short unsigned int",
    "int16": "short int", "uint32": "unsigned int", "int32": "int", "uint64": "long unsigned int",
    "int64": "long int", "float16": "c10::Half", "float32": "float", "float64": "double",
    "complex32": "c10::complex<c10::Half>", "complex64": "c10::complex<float>", "complex128": "c10::complex<double>",
}  # fmt: skip
# The Python types that are accepted as dtypes.
_PYTHON_TYPES: Final[dict[object, dtype]] = {bool: bool_, int: int64, float: float64, complex: complex128}


def as_dtype(value: object, name: str = "dtype") -> dtype:
    """Convert `value` to a dtype; the Python types `bool`, `int`, `float` and `complex` are accepted.

    `name` is the argument's name in the message of the TypeError for other values.
    """
    result = _PYTHON_TYPES.get(value, value)
    if not isinstance(result, dtype):
        raise TypeError(f"argument {name!r} must be torch.dtype, not {type(value).__name__}")
    return result


_default = float32


def c_name(dtype: dtype) -> str:
    """Return the C++ type that PyTorch's error messages name, such as `long int` for int64."""
    return _C_NAMES.get(dtype.name, f"c10::{dtype.legacy_name}")


def get_default_dtype() -> dtype:
    """Return the dtype of tensors created from Python floats; `torch.float32` unless changed."""
    return _default


def set_default(new: dtype) -> None:
    global _default
    _default = new


# --- promotion ---------------------------------------------------------------------------------------------------

_WIDENING = {  # pairs of dtypes of one category that are promoted to a third one
    frozenset({uint8, int8}): int16,
    frozenset({float16, bfloat16}): float32,
}
_BAREBONES_UNSIGNED = frozenset({uint16, uint32, uint64})


@cache
def promote_types(type1: dtype, type2: dtype) -> dtype:
    """Return the smallest dtype that holds both `type1` and `type2`, by PyTorch's rules.

    Args:
        type1, type2: the dtypes.

    Raises:
        RuntimeError: the dtypes have no common dtype: one is float8, or uint16, uint32 or uint64.

    >>> torch.promote_types(torch.int64, torch.float16), torch.promote_types(torch.uint8, torch.int8)
    (torch.float16, torch.int16)
    """
    if type1 is type2:
        return type1
    if type1 in FLOAT8 or type2 in FLOAT8:
        raise RuntimeError(
            f"Promotion for Float8 Types is not supported, attempted to promote {type1.legacy_name} and {type2.legacy_name}"
        )
    low, high = sorted((type1, type2), key=lambda d: (d.category, d.itemsize))
    if low.category == high.category:
        if high in _BAREBONES_UNSIGNED or (low in _BAREBONES_UNSIGNED and high is not low):
            raise RuntimeError(
                f"Promotion for uint16, uint32, uint64 types is not supported, attempted to promote "
                f"{type1.legacy_name} and {type2.legacy_name}"
            )
        return _WIDENING.get(frozenset({low, high}), high)
    if high.category == COMPLEX and low is float64:
        return complex128
    if high is complex32 and low in (float32, bfloat16):
        return complex64
    if low in _BAREBONES_UNSIGNED and high.category == INTEGER:
        raise RuntimeError("Promotion for uint16, uint32, uint64 types is not supported")
    return high


def promotion_of_scalar(scalar_type: type) -> dtype:
    """Return the dtype of results computed only from scalars of this type (Python's, or another library's)."""
    if scalar_type is float:
        return _default
    if scalar_type is bool:
        return bool_
    if scalar_type is int or issubclass(scalar_type, Integral):
        return int64
    is_complex = scalar_type is complex or (issubclass(scalar_type, Complex) and not issubclass(scalar_type, Real))
    return _default.to_complex() if is_complex else _default


def result_of(dimensioned: Iterable[dtype], zero_dim: Iterable[dtype], scalars: Iterable[dtype]) -> dtype:
    """Combine the dtypes of tensors with dimensions, of 0-d tensors and of Python scalars.

    A later group matters only if its category is higher than that of the groups before it.
    """
    result: dtype | None = None
    for group in (dimensioned, zero_dim, scalars):
        combined: dtype | None = None
        for d in group:
            combined = d if combined is None else promote_types(combined, d)
        if combined is None:
            continue
        if result is None:
            result = combined
        elif combined.category > result.category:  # a complex scalar keeps the precision of a floating-point tensor
            result = result.to_complex() if result.category == FLOATING else promote_types(result, combined)
    assert result is not None
    return result


def can_cast(from_: dtype, to: dtype) -> bool:
    """Whether PyTorch's casting rules allow a cast from `from_` to `to`: the category of `to` must not be lower.

    Args:
        from_: the dtype to cast from.
        to: the dtype to cast to.

    >>> torch.can_cast(torch.float64, torch.float32), torch.can_cast(torch.float32, torch.int64)
    (True, False)
    """
    if from_.category == to.category:
        return True
    return from_.category < to.category


# --- limits ------------------------------------------------------------------------------------------------------


class iinfo:
    """Limits of an integer dtype: `bits`, `min`, `max`.

    Args:
        type: an integer dtype, or the Python type `int`.

    Raises:
        TypeError: any other dtype, or not a dtype.

    >>> torch.iinfo(torch.int8)
    iinfo(min=-128, max=127, dtype=int8)
    """

    def __init__(self, type: dtype) -> None:
        type = as_dtype(type, "type")
        if type.category != INTEGER:
            raise TypeError(f"torch.iinfo() requires an integer input type. Use torch.finfo to handle '{type!r}'")
        self.bits: int = 8 * type.itemsize
        self.min = -(2 ** (self.bits - 1)) if type.is_signed else 0
        self.max: Final = 2 ** (self.bits - type.is_signed) - 1
        self.dtype: str = type.name

    def __repr__(self) -> str:
        return f"iinfo(min={self.min:g}, max={self.max:g}, dtype={self.dtype})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, iinfo) and self.dtype == other.dtype

    def __hash__(self) -> int:
        return hash(self.dtype)


_MANTISSA_AND_EXPONENT = {float16: (10, 5), bfloat16: (7, 8), float32: (23, 8), float64: (52, 11)}  # number of bits


# {8-bit dtype: (eps, largest value, smallest value, smallest normal value)}.  IEEE 754 does not define these formats.
_LIMITS_OF_FLOAT8 = {
    float8_e4m3fn: (0.125, 448.0, -448.0, 2.0**-6),
    float8_e5m2: (0.25, 57344.0, -57344.0, 2.0**-14),
    float8_e4m3fnuz: (0.125, 240.0, -240.0, 2.0**-7),
    float8_e5m2fnuz: (0.125, 57344.0, -57344.0, 2.0**-15),
    float8_e8m0fnu: (1.0, 2.0**127, 2.0**-127, 2.0**-127),
}


class finfo:
    """Limits of a floating-point dtype: `bits`, `eps`, `max`, `min`, `tiny`, `resolution`.

    Args:
        type: a floating-point or complex dtype, or the Python type `float` or `complex`; None for the default dtype.

    Raises:
        TypeError: an integer dtype or bool, or not a dtype.

    >>> torch.finfo(torch.float16).max
    65504.0
    """

    eps: float
    max: float
    min: float
    tiny: float
    smallest_normal: float
    resolution: float

    def __init__(self, type: dtype | None = None) -> None:
        type = _default if type is None else as_dtype(type, "type")
        if type.category < FLOATING:
            raise TypeError(f"torch.finfo() requires a floating point input type. Use torch.iinfo to handle '{type!r}'")
        type = type.to_real()
        self.bits: int = 8 * type.itemsize
        self.dtype: str = type.name
        if type in FLOAT8:
            self.eps, self.max, self.min, self.tiny = _LIMITS_OF_FLOAT8[type]
            self.smallest_normal, self.resolution = self.tiny, 1.0
            return
        mantissa, exponent = _MANTISSA_AND_EXPONENT[type]
        largest = 2 ** (exponent - 1) - 1
        self.eps = 2.0**-mantissa
        self.max = (2.0 - self.eps) * 2.0**largest
        self.min = -self.max
        self.tiny = self.smallest_normal = 2.0 ** (1 - largest)
        self.resolution = 10.0 ** -int(mantissa * 0.30103)

    def __repr__(self) -> str:
        fields = ("resolution", "min", "max", "eps", "smallest_normal", "tiny")
        return f"finfo({', '.join(f'{name}={getattr(self, name):g}' for name in fields)}, dtype={self.dtype})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, finfo) and self.dtype == other.dtype

    def __hash__(self) -> int:
        return hash(self.dtype)

"""Complex numbers and their parts."""

from __future__ import annotations

from .conversion import asked, kind
from .sample import COMPLEX, FLOATS, NUMBERS, REALS, Bad, Sample, elementwise, fixed, positive, real

__all__ = ["BAD", "SAMPLES"]

_DOUBLE = ("float64", "float32")
_ENDLESS = [float("inf"), 1.0, float("-inf"), 0.0, float("nan")]


SAMPLES = [
    Sample("real", lambda torch, x: torch.real(x), [real(2, 3)], lambda np, x: x.real, COMPLEX, "real", view=True, method=False),
    Sample("imag", lambda torch, x: torch.imag(x), [real(2, 3)], lambda np, x: x.imag, COMPLEX, "real", view=True, method=False),
    Sample("conj", lambda torch, x: torch.conj(x), [real(2, 3)], lambda np, x: np.conj(x), NUMBERS),
    elementwise("angle", lambda np, x: np.angle(x), dtypes=COMPLEX, result="real", inplace=False),
    elementwise("angle", lambda np, x: np.angle(x), dtypes=(*FLOATS, "int64"), result="float"),
    elementwise("complex", lambda np, x, y: x + 1j * y, real, real, dtypes=_DOUBLE, result="complex", promotes=False),
    Sample("complex", lambda torch, x, y: torch.view_as_real(torch.complex(x, y)), [fixed(_ENDLESS), fixed(_ENDLESS[::-1])],
           lambda np, x, y: np.stack([x, y], -1), _DOUBLE, grad=False, layouts=False, method=False),
    elementwise("polar", lambda np, x, y: x * np.exp(1j * y), positive, real, dtypes=_DOUBLE, result="complex",
                promotes=False),
    Sample("view_as_real", lambda torch, x: torch.view_as_real(x), [real(2, 3)], lambda np, x: np.stack([x.real, x.imag], -1),
           COMPLEX, "real",
           view=True),
    Sample("view_as_complex", lambda torch, x: torch.view_as_complex(x), [real(3, 2)], lambda np, x: x[..., 0] + 1j * x[..., 1],
           _DOUBLE, "complex",
           view=True, layouts=False),
    elementwise("isreal", lambda np, x: np.isreal(x), dtypes=NUMBERS, result="bool", grad=False),
    asked("is_complex", lambda np, x: kind(np, x) == "c"),
    asked("is_floating_point", lambda np, x: kind(np, x) == "f",
           FLOATS),
    asked("is_inference", lambda np, x: False),
    asked("numel", lambda np, x: 6, result="int64"),
    Sample("is_nonzero", lambda torch, x: torch.is_nonzero(x), [fixed([0])], lambda np, x: False, REALS, "bool", grad=False,
           vmap=False),
]  # fmt: skip


BAD = [
    Bad("imag", lambda torch, x: torch.imag(x), [real(2)], "RuntimeError"),
    Bad("complex", lambda torch, x, y: torch.complex(x, y), [real(2), fixed([1.0, 2.0], "float64")], "RuntimeError"),
    Bad("view_as_real", lambda torch, x: torch.view_as_real(x), [real(2)], "RuntimeError"),
    Bad("view_as_complex", lambda torch, x: torch.view_as_complex(x), [real(3)], "RuntimeError"),
]  # fmt: skip

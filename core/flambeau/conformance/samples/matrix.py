"""Products of vectors, matrices and batches of them."""

from __future__ import annotations

from .sample import COMPLEX, FLOATS, Bad, Sample, fixed, real

__all__ = ["BAD", "SAMPLES"]

_TYPES = (*FLOATS, "int64", *COMPLEX)
_MATMUL = [
    ((3,), (3,)),
    ((2, 3), (3,)),
    ((3,), (3, 2)),
    ((2, 3), (3, 4)),
    ((2, 2, 3), (3, 4)),
    ((2, 1, 2, 3), (3, 3, 2)),
    ((2, 0), (0, 3)),
]


SAMPLES = [
    Sample("mm", lambda torch, x, y: torch.mm(x, y), [real(2, 3), real(3, 4)], lambda np, x, y: x @ y, _TYPES),
    Sample("bmm", lambda torch, x, y: torch.bmm(x, y), [real(2, 2, 3), real(2, 3, 2)], lambda np, x, y: x @ y, _TYPES),
    Sample("mv", lambda torch, x, y: torch.mv(x, y), [real(2, 3), real(3)], lambda np, x, y: x @ y, _TYPES),
    Sample("dot", lambda torch, x, y: torch.dot(x, y), [real(3), real(3)], lambda np, x, y: (x * y).sum(), _TYPES),
    Sample("vdot", lambda torch, x, y: torch.vdot(x, y), [real(3), real(3)], lambda np, x, y: (np.conj(x) * y).sum(), _TYPES),
    *(Sample(name, lambda torch, x, y, name=name: getattr(torch, name)(x, y), [real(2), real(3)], lambda np, x, y: x[:, None] * y,
             _TYPES)
      for name in ("outer", "ger")),
    *(Sample("matmul", lambda torch, x, y: torch.matmul(x, y), [real(*a), real(*b)], lambda np, x, y: x @ y, _TYPES) for a,
      b in _MATMUL),
    Sample("addmm", lambda torch, a, x, y: torch.addmm(a, x, y, beta=0.5, alpha=2), [real(4), real(2, 3), real(3, 4)],
           lambda np, a, x, y: a / 2 + 2 * (x @ y), (*FLOATS, *COMPLEX)),
    Sample("addmm", lambda torch, a, x, y: torch.addmm(a, x, y), [real(2, 4), real(2, 3), real(3, 4)],
           lambda np, a, x, y: a + x @ y, _TYPES),
    Sample("addmv", lambda torch, a, x, y: torch.addmv(a, x, y, beta=2), [real(2), real(2, 3), real(3)],
           lambda np, a, x, y: 2 * a + x @ y, _TYPES),
    Sample("addr", lambda torch, a, x, y: torch.addr(a, x, y, alpha=3), [real(2, 3), real(2), real(3)],
           lambda np, a, x, y: a + 3 * x[:, None] * y, _TYPES),
    Sample("baddbmm", lambda torch, a, x, y: torch.baddbmm(a, x, y, alpha=2), [real(2, 2, 2), real(2, 2, 3), real(2, 3, 2)],
           lambda np, a, x, y: a + 2 * (x @ y), _TYPES),
    Sample("addbmm", lambda torch, a, x, y: torch.addbmm(a, x, y), [real(2, 2), real(2, 2, 3), real(2, 3, 2)],
           lambda np, a, x, y: a + (x @ y).sum(0), _TYPES),
]  # fmt: skip


BAD = [
    Bad("mm", lambda torch, x, y: torch.mm(x, y), [real(2, 3), real(2, 3)], "RuntimeError"),
    Bad("mm", lambda torch, x: torch.mm(x, x), [real(3)], "RuntimeError"),
    Bad("mm", lambda torch, x, y: torch.mm(x, y), [real(2, 2), fixed([[1.0, 2], [3, 4]], "float64")], "RuntimeError"),
    Bad("matmul", lambda torch, x, y: torch.matmul(x, y), [real(2, 3), real(2)], "RuntimeError"),
    Bad("matmul", lambda torch, x, y: torch.matmul(x, y), [real(), real(2)], "RuntimeError"),
    Bad("dot", lambda torch, x, y: torch.dot(x, y), [real(2), real(3)], "RuntimeError"),
    Bad("bmm", lambda torch, x, y: torch.bmm(x, y), [real(2, 3, 2), real(3, 2, 2)], "RuntimeError"),
]  # fmt: skip

"""Linear and bilinear maps."""

from __future__ import annotations

from .sample import FLOATS, Sample, bad_functional, real

__all__ = ["BAD", "SAMPLES"]


SAMPLES = [
    Sample("nn.functional.linear", lambda torch, x, w, b: torch.nn.functional.linear(x, w, b), [real(3, 4), real(2, 4), real(2)],
           lambda np, x, w, b: x @ w.T + b, (*FLOATS, "int64")),
    Sample("nn.functional.linear", lambda torch, x, w: torch.nn.functional.linear(x, w), [real(2, 3, 4), real(2, 4)],
           lambda np, x, w: x @ w.T),
    Sample("nn.functional.linear", lambda torch, x, w, b: torch.nn.functional.linear(x, w, b),
           [real(2, 0, 4), real(2, 4), real(2)],
           lambda np, x, w, b: x @ w.T + b),
    Sample("nn.functional.linear", lambda torch, x, w, b: torch.nn.functional.linear(x, w, b), [real(4), real(2, 4), real(2)],
           lambda np, x, w, b: x @ w.T + b, ("float64", "complex128")),
    Sample("nn.functional.bilinear", lambda torch, x, y, w, b: torch.nn.functional.bilinear(x, y, w, b),
           [real(2, 3, 4), real(2, 3, 5), real(6, 4, 5), real(6)],
           lambda np, x, y, w, b: np.einsum("...m,...n,kmn->...k", x, y, w) + b,
           ("float64", "float32")),
]  # fmt: skip


BAD = [
    bad_functional("linear", lambda F, x, w: F.linear(x, w), real(3, 4), real(2, 5)),
    bad_functional("linear", lambda F, x, w, b: F.linear(x, w, b), real(3, 4), real(2, 5), real(2)),
    bad_functional("linear", lambda F, x, w, b: F.linear(x, w, b.double()), real(3, 4), real(2, 4), real(2)),
    bad_functional("linear", lambda F, x, w: F.linear(3, w), real(3, 4), real(2, 4), error="TypeError"),
    bad_functional("bilinear", lambda F, x, y, w: F.bilinear(x, y, w), real(3, 4), real(3, 5), real(2, 5, 4)),
]  # fmt: skip

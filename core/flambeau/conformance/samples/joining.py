"""Joining, repeating, flipping and rolling."""

from __future__ import annotations

from typing import Any

from .sample import NUMBERS, Bad, Sample, fixed, real

__all__ = ["BAD", "SAMPLES"]


def _join(name: str, formula: Any) -> Sample:
    return Sample(
        name,
        lambda torch, x, y: getattr(torch, name)([x, y, x], 1),
        [real(2, 3), real(2, 3)],
        lambda np, x, y: formula(np)([x, y, x], 1),
        NUMBERS,
    )


SAMPLES = [
    *(_join(name, lambda np: np.concatenate) for name in ("cat", "concat", "concatenate")),
    _join("stack", lambda np: np.stack),
    Sample("cat", lambda torch, x, y: torch.cat((x, y)), [real(2, 3), real(0, 3)], lambda np, x, y: x, NUMBERS),
    Sample("cat", lambda torch, x, y: torch.cat((x, y)), [fixed([1, 2], "int64"), real(2)],
           lambda np, x, y: np.concatenate([x, y]), ("float64", "float32")),
    Sample("stack", lambda torch, x: torch.stack([x, x], -1), [real()], lambda np, x: np.stack([x, x], -1), NUMBERS),
    Sample("tile", lambda torch, x: torch.tile(x, (2, 1, 2)), [real(2, 3)], lambda np, x: np.tile(x, (2, 1, 2)), NUMBERS),
    Sample("Tensor.repeat", lambda torch, x: torch.Tensor.repeat(x, 2, 1, 3), [real(2, 3)], lambda np, x: np.tile(x, (2, 1, 3)),
           NUMBERS),
    Sample("flip", lambda torch, x: torch.flip(x, (0, -1)), [real(2, 3, 2)], lambda np, x: np.flip(x, (0, -1)), NUMBERS),
    Sample("roll", lambda torch, x: torch.roll(x, 4), [real(2, 3)], lambda np, x: np.roll(x, 4), NUMBERS),
    Sample("roll", lambda torch, x: torch.roll(x, (1, -2), (0, 1)), [real(2, 3)], lambda np, x: np.roll(x, (1, -2), (0, 1)),
           NUMBERS),
    Sample("repeat_interleave", lambda torch, x: torch.repeat_interleave(x, 2), [real(2, 3)], lambda np, x: np.repeat(x, 2),
           NUMBERS),
    Sample("repeat_interleave", lambda torch, x, n: torch.repeat_interleave(x, n, dim=1), [real(2, 3), fixed([2, 0, 1], "int64")],
           lambda np, x, n: np.repeat(x, n.astype(np.intp), 1), NUMBERS),
    Sample("repeat_interleave", lambda torch, n: torch.repeat_interleave(n), [fixed([2, 0, 1], "int64")],
           lambda np, n: np.repeat(np.arange(3), n.astype(np.intp)), ("int64",), grad=False),
]  # fmt: skip


BAD = [
    Bad("cat", lambda torch, x, y: torch.cat([x, y]), [real(2, 3), real(2, 4)], "RuntimeError"),
    Bad("cat", lambda torch: torch.cat([]), [], "ValueError"),
    Bad("cat", lambda torch, x: torch.cat(x), [real(2)], "TypeError"),
    Bad("stack", lambda torch, x, y: torch.stack([x, y]), [real(2, 3), real(2, 4)], "RuntimeError"),
    Bad("flip", lambda torch, x: torch.flip(x, (0, 0)), [real(2, 3)], "RuntimeError"),
    Bad("roll", lambda torch, x: torch.roll(x, (1, 2), 0), [real(2, 3)], "RuntimeError"),
    Bad("Tensor.repeat", lambda torch, x: x.repeat(2), [real(2, 3)], "RuntimeError"),
]  # fmt: skip

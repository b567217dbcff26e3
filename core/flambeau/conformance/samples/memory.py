"""Views by stride, and queries about the memory of tensors."""

from __future__ import annotations

from .sample import NUMBERS, Bad, Sample, real
from .views import view

__all__ = ["BAD", "SAMPLES"]


SAMPLES = [
    Sample("Tensor.is_same_size", lambda torch, x, y: torch.Tensor.is_same_size(x, y), [real(2, 3), real(2, 3)],
           lambda np, x, y: True,
           NUMBERS, "bool", grad=False, method=False, vmap=False),
    view("as_strided", lambda torch, x: torch.as_strided(x, (2, 2), (1, 3), 1), lambda np, x: x.reshape(-1)[[[1, 4], [2, 5]]],
          real(2, 3, 4), layouts=False),
    view("as_strided", lambda torch, x: torch.as_strided(x[1].expand(2, 3), (2, 2), (0, 1)),
          lambda np, x: x[[[1, 1]] * 2, [[0, 1]] * 2], real(2, 3), layouts=False),
]  # fmt: skip


BAD = [
    Bad("as_strided", lambda torch, x: torch.as_strided(x, (9,), (1,)), [real(2, 3)], "RuntimeError"),
]  # fmt: skip

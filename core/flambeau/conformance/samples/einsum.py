"""Products summed over named dimensions."""

from __future__ import annotations

from .linalg import TYPES
from .sample import Bad, Sample, real

__all__ = ["BAD", "SAMPLES"]

_EQUATIONS: dict[str, list[tuple[int, ...]]] = {
    "ij,jk->ik": [(2, 3), (3, 4)], "ij,jk": [(2, 3), (3, 4)], "ii": [(3, 3)], "ii->i": [(3, 3)], "ij->": [(2, 3)],
    "i,j->ij": [(3,), (2,)], "...ij,...jk->...ik": [(2, 3, 4), (4, 5)], "bn,anm,bm->ba": [(2, 5), (3, 5, 4), (2, 4)],
    "iij,jk->ik": [(2, 2, 3), (3, 2)], "ij,kl,mn->": [(2, 3), (3, 2), (2, 2)], "Ab,b->A": [(2, 3), (3,)], ",i->i": [(), (3,)],
}  # fmt: skip


SAMPLES = [
    *(Sample("einsum", lambda torch, *x, e=e: torch.einsum(e, *x), [real(*shape) for shape in shapes],
             lambda np, *x, e=e: np.einsum(e, *x), TYPES, atol=1e-5) for e, shapes in _EQUATIONS.items()),
]  # fmt: skip


BAD = [
    Bad("einsum", lambda torch, x: torch.einsum("ij,jk", x), [real(2, 2)], "RuntimeError"),
    Bad("einsum", lambda torch, x, y: torch.einsum("ij,jk", x, y), [real(2, 2), real(3, 2)], "RuntimeError"),
]  # fmt: skip

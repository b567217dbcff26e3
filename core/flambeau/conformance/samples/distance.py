"""Distances and similarities of vectors."""

from __future__ import annotations

from .normalization import bad_normalization, layer_function
from .sample import WIDE, Sample, real

__all__ = ["BAD", "SAMPLES"]

_INF = float("inf")


SAMPLES = [
    *(Sample("cdist", lambda torch, a, b, p=p: torch.cdist(a, b, p), [real(2, 4, 3), real(5, 3)],
             lambda np, a, b, p=p: np.linalg.norm(a[..., :, None, :] - b[..., None, :, :], p, -1), WIDE, atol=1e-5)
      for p in (1.0, 1.5, 2.0, 3.0, _INF)),
    layer_function("pairwise_distance", lambda F, x, y: F.pairwise_distance(x, y),
        lambda np, x, y: np.sqrt(((x - y + 1e-6) ** 2).sum(-1)),
        real(3, 4),
        real(3, 4)),
    layer_function("pairwise_distance", lambda F, x, y: F.pairwise_distance(x, y, 1.0, keepdim=True),
        lambda np, x, y: abs(x - y + 1e-6).sum(-1, keepdims=True),
        real(2, 3, 4), real(4)),
    layer_function("cosine_similarity", lambda F, x, y: F.cosine_similarity(x, y),
        lambda np, x, y: (x * y).sum(1) / np.sqrt((x * x).sum(1) * (y * y).sum(1)), real(3, 4), real(1, 4)),
    layer_function("cosine_similarity", lambda F, x, y: F.cosine_similarity(x, y, 0, 10.0), lambda np, x, y: (x * y).sum(0) / 100,
        real(3, 4), real(3, 4),
        grad=False),
    layer_function("pdist", lambda F, x: F.pdist(x),
        lambda np, x: np.sqrt(((x[:, None] - x) ** 2).sum(-1))[np.triu_indices(4, 1)], real(4, 3), dtypes=WIDE),
    layer_function("pdist", lambda F, x: F.pdist(x, 1.0), lambda np, x: abs(x[:, None] - x).sum(-1)[np.triu_indices(4, 1)],
        real(4, 3),
        dtypes=WIDE),
    Sample("dist", lambda torch, x, y: torch.dist(x, y, 3), [real(3), real(3)],
           lambda np, x, y: (abs(x - y) ** 3).sum() ** (1 / 3)),
]  # fmt: skip


BAD = [
    bad_normalization("pdist", lambda F, x: F.pdist(x)),
]  # fmt: skip

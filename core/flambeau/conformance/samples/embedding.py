"""Embedding, and sums of bags."""

from __future__ import annotations

from .normalization import bad_normalization, layer_function
from .sample import FLOATS, distinct, fixed, index, real, torch_function

__all__ = ["BAD", "SAMPLES"]

_BAGS = [0, 0, 1, 1, 1]


SAMPLES = [
    torch_function("embedding", lambda f, w, i: f(w, i), lambda np, w, i: w[i], real(5, 4), index(2, 3, high=5), dtypes=FLOATS),
    torch_function("embedding_renorm_", lambda f, w, i: f(w.clone(), i, 1.5, 2.0),
        lambda np, w, i: w * np.where(np.isin(np.arange(5), i), 1.5 / np.linalg.norm(w, axis=1), 1.0)[:, None],
        fixed([[2.0, 2, 2], [3, 1, 2], [2, -2, 1], [4, 0, 0], [1, 2, 3]]), fixed([0, 3, 3], "int64"), grad=False, vmap=False,
            atol=1e-5),
    torch_function("embedding_bag", lambda f, w, i, o: f(w, i, o, False, 1), lambda np, w, i, o: (
        np.stack([w[i[:2]].mean(0), w[i[2:]].mean(0)]), np.array(_BAGS), np.array([2, 3]), np.array([2, 3])),
        real(5, 4), index(5, high=5), fixed([0, 2], "int64"), result=("same", "int64", "int64", "int64")),
    torch_function("embedding_bag", lambda f, w, i, o: f(w, i, o, False, 2), lambda np, w, i, o: (
        np.stack([w[i[:2]].max(0), w[i[2:]].max(0)]), np.array(_BAGS), np.array([2, 3]),
        np.stack([i[:2][w[i[:2]].argmax(0)], i[2:][w[i[2:]].argmax(0)]])),
        distinct(5, 4), fixed([0, 1, 2, 4, 3], "int64"), fixed([0, 2], "int64"), result=("same", "int64", "int64", "int64")),
    layer_function("embedding", lambda F, i, w: F.embedding(i, w), lambda np, i, w: w[i], index(2, 3, high=5), real(5, 4)),
    layer_function("embedding", lambda F, i, w: F.embedding(i, w), lambda np, i, w: w[i], fixed([], "int64"), real(5, 4)),
    layer_function("embedding_bag", lambda F, i, w: F.embedding_bag(i, w), lambda np, i, w: w[i].mean(1), index(2, 3, high=5),
        real(5, 4)),
    layer_function("embedding_bag", lambda F, i, w: F.embedding_bag(i, w, mode="sum"), lambda np, i, w: w[i].sum(1), index(2, 3,
        high=5),
        real(5, 4)),
    layer_function("embedding_bag", lambda F, i, w, o: F.embedding_bag(i, w, o, mode="sum"),
        lambda np, i, w, o: np.stack([w[i[:2]].sum(0), w[:0].sum(0), w[i[2:]].sum(0)]), index(5, high=5), real(5, 4),
        fixed([0, 2, 2], "int64")),
    layer_function("embedding_bag", lambda F, i, w, o, s: F.embedding_bag(i, w, o, mode="sum", per_sample_weights=s),
        lambda np, i, w, o, s: np.stack([s[:2] @ w[i[:2]], s[2:] @ w[i[2:]]]), index(5, high=5), real(5, 4),
        fixed([0, 2], "int64"), real(5)),
    layer_function("embedding_bag", lambda F, i, w, o: F.embedding_bag(i, w, o, mode="max"),
        lambda np, i, w, o: np.stack([w[i[:2]].max(0), w[i[2:]].max(0)]), fixed([0, 1, 2, 4, 3], "int64"), real(5, 4),
        fixed([0, 2], "int64")),
    layer_function("one_hot", lambda F, i: F.one_hot(i), lambda np, i: np.eye(4, dtype=int)[i], fixed([[0, 3], [1, 1]], "int64"),
        dtypes=("int64",), grad=False),
    layer_function("one_hot", lambda F, i: F.one_hot(i, 5), lambda np, i: np.eye(5, dtype=int)[i], fixed(2, "int64"),
        dtypes=("int64",),
        grad=False),
]  # fmt: skip


BAD = [
    bad_normalization("embedding", lambda F, i, w: F.embedding(i, w), fixed([5], "int64"), real(5, 2), error="IndexError",
        values=True),
    bad_normalization("embedding", lambda F, i, w: F.embedding(i, w), fixed([-1], "int64"), real(5, 2), error="IndexError",
        values=True),
    bad_normalization("embedding", lambda F, i, w: F.embedding(i, w), real(2), real(5, 2)),
    bad_normalization("embedding", lambda F, i, w: F.embedding(i, w, padding_idx=7), fixed([1], "int64"), real(5, 2),
        error="AssertionError"),
    bad_normalization("embedding_bag", lambda F, i, w: F.embedding_bag(i, w), fixed([1, 2], "int64"), real(5, 2),
        error="ValueError"),
    bad_normalization("embedding_bag", lambda F, i, w: F.embedding_bag(i, w, mode="median"), fixed([[1, 2]], "int64"), real(5, 2),
         error="ValueError"),
    bad_normalization("one_hot", lambda F, i: F.one_hot(i, 2), fixed([2], "int64")),
    bad_normalization("one_hot", lambda F, i: F.one_hot(i), fixed([-1], "int64")),
]  # fmt: skip

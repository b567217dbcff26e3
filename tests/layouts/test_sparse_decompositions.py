"""Decompositions of sparse matrices."""

from __future__ import annotations

import flambeau as torch


def test_eigenvalues_of_sparse_matrices():
    dense = torch.diag(torch.tensor([4.0, 1.0, 3.0, 2.0, 6.0, 5.0]))
    for A, B in ((dense.to_sparse(), None), (dense.to_sparse_csr(), torch.eye(6).to_sparse()), (dense, torch.eye(6).to_sparse())):
        values, vectors = torch.lobpcg(A, k=2, B=B)
        assert values.tolist() == [6.0, 5.0] and torch.allclose(dense @ vectors, vectors * values)

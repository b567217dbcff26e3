"""Linear algebra on matrices and batches of them: `torch.linalg`.

>>> A = torch.tensor([[2.0, 1.0], [1.0, 3.0]])
>>> torch.linalg.solve(A, torch.tensor([3.0, 5.0]))
tensor([0.8000, 1.4000])
"""

from __future__ import annotations

from ...engine.calls.wrappers import open_to_overrides
from .checks import LinAlgError
from .decompositions import cholesky, cholesky_ex, eig, eigh, eigvals, eigvalsh, householder_product, qr, svd, svdvals
from .factors import ldl_factor, ldl_factor_ex, ldl_solve, lu, lu_factor, lu_factor_ex, lu_solve, solve_triangular
from .norms import cond, matrix_norm, matrix_rank, norm, vector_norm
from .products import cross, diagonal, matmul, matrix_exp, matrix_power, multi_dot, vander, vecdot
from .solves import det, inv, inv_ex, lstsq, pinv, slogdet, solve, solve_ex, tensorinv, tensorsolve

__all__ = [
    "LinAlgError", "cholesky", "cholesky_ex", "cond", "cross", "det", "diagonal", "eig", "eigh", "eigvals", "eigvalsh",
    "householder_product", "inv", "inv_ex", "ldl_factor", "ldl_factor_ex", "ldl_solve", "lstsq", "lu", "lu_factor",
    "lu_factor_ex", "lu_solve", "matmul", "matrix_exp", "matrix_norm", "matrix_power", "matrix_rank", "multi_dot", "norm",
    "pinv", "qr", "slogdet", "solve", "solve_ex", "solve_triangular", "svd", "svdvals", "tensorinv", "tensorsolve", "vander",
    "vecdot", "vector_norm",
]  # fmt: skip

# A `__path__` makes this module a package, so that pickles that name the former module `flambeau.linalg.checks` load.
__path__: list[str] = []
open_to_overrides(globals(), __all__, native=__all__)

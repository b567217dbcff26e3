"""Operations that are batched by a rule of their own: it is faster than the array-API forward, or looks at numbers.

A rule takes a ``BatchedBackend`` and gives a kernel.  ``add_level`` and ``drop_level`` are here because they, too, are
operations.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from .arrays import BatchedArray

__all__ = ["RULES"]

RULES: dict[str, Callable[[Any], Callable[..., Any]]] = {}

# Operations on batches of matrices, to whose kernels the hidden dimensions are more of the batch.
_ON_MATRICES = (
    "linalg_cholesky_ex", "linalg_eig", "linalg_eigvals", "linalg_inv_ex", "linalg_ldl_factor_ex", "linalg_ldl_solve",
    "linalg_lu_factor_ex", "linalg_matrix_exp", "linalg_solve_ex",
)  # fmt: skip


def _on_matrices(name: str, backend: Any) -> Callable[..., Any]:
    xp, inner = backend.xp, backend.inner

    def kernel(*args: Any) -> Any:
        from ..op import OPS

        plain = inner.all_kernels.get(name) or partial(OPS[name].forward, inner.xp)
        hidden = xp.hidden_shape(args)
        made = plain(*(xp.spread(each, hidden) if type(each) is BatchedArray else each for each in args))
        return tuple(map(xp.made, made)) if isinstance(made, tuple) else xp.made(made)

    return kernel


RULES.update({name: partial(_on_matrices, name) for name in _ON_MATRICES})

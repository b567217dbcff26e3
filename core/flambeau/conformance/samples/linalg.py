"""Decompositions, solutions, norms and products of matrices, including batches and empty matrices.

If a decomposition is not unique, the call returns a unique quantity, such as absolute values of eigenvectors or the product of
the factors.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .sample import COMPLEX, FLOATS, WIDE, Bad, Sample, find, real, torch_function

__all__ = ["BAD", "SAMPLES", "TYPES", "bad_call"]

TYPES = (*WIDE, *COMPLEX)
_INF = float("inf")


def _regular(torch: Any, a: Any) -> Any:
    """Make a matrix that is far from singular, with NumPy or with torch."""
    return a + 4 * _eye(torch, a)


def _positive(torch: Any, a: Any) -> Any:
    """Make a positive definite matrix, with NumPy or with torch."""
    return a @ _adjoint(torch, a) + 4 * _eye(torch, a)


def _hermitian(torch: Any, a: Any) -> Any:
    """Make a Hermitian matrix with well separated eigenvalues, with NumPy or with torch."""
    return (a + _adjoint(torch, a)) / 4 + _diagonal(torch, a)


def _eye(torch: Any, a: Any) -> Any:
    return torch.eye(a.shape[-2], dtype=a.dtype)


def _diagonal(torch: Any, a: Any) -> Any:
    size = a.shape[-1]
    return torch.diag(torch.arange(0.0, 4.0 * size, 4.0)) if size else torch.zeros((0, 0))


def _adjoint(torch: Any, a: Any) -> Any:
    return torch.swapaxes(a, -1, -2).conj()


def _of(
    name: str,
    reference: Callable[..., Any],
    *shapes: tuple[int, ...],
    prepare: Callable[..., Any] | None = None,
    finish: Callable[..., Any] | None = None,
    args: tuple[Any, ...] = (),
    dtypes: Any = TYPES,
    atol: float = 1e-5,
    options: dict[str, Any] | None = None,
    result: Any = "same",
    **fields: Any,
) -> Sample:
    """Return a sample of a matrix function: it is called on `prepare(first argument)`, and `finish` is applied to its result."""

    def call(torch: Any, a: Any, *others: Any) -> Any:
        a = prepare(torch, a) if prepare else a
        output = find(torch, name)(a, *others, *args, **(options or {}))
        return finish(torch, output) if finish else output

    def formula(np: Any, a: Any, *others: Any) -> Any:
        return reference(np, prepare(np, a) if prepare else a, *others)

    return Sample(name, call, [real(*shape) for shape in shapes], formula, dtypes, result, atol=atol, **fields)


def _abs(torch: Any, outputs: Any) -> Any:
    return [output.abs() for output in outputs]


def _np_abs(*arrays: Any) -> list[Any]:
    return [abs(array) for array in arrays]


def _det(np: Any, a: Any) -> Any:
    return np.linalg.det(a)


def _lu(np: Any, a: Any) -> tuple[Any, Any, Any]:
    """Return P, L and U of one matrix or of a batch, by Gaussian elimination with partial pivoting."""
    if a.ndim > 2:
        return tuple(np.stack(m) for m in zip(*(_lu(np, m) for m in a), strict=True))
    rows, columns = a.shape
    size = min(rows, columns)
    u, order, lower = a.astype(a.dtype, copy=True), np.arange(rows), np.zeros((rows, rows), a.dtype)
    for k in range(size):
        best = k + int(np.argmax(_size(np, u[k:, k])))
        for array in (u, order, lower):
            array[[k, best]] = array[[best, k]]
        lower[k + 1 :, k] = u[k + 1 :, k] / u[k, k]
        u[k + 1 :] -= lower[k + 1 :, k : k + 1] * u[k]
    p = np.zeros((rows, rows), a.dtype)
    p[order, np.arange(rows)] = 1
    return p, (lower + np.eye(rows))[:, :size], np.triu(u[:size])


def _size(np: Any, x: Any) -> Any:
    return abs(x.real) + abs(x.imag)  # the magnitude by which LAPACK selects pivots


def _exp(np: Any, a: Any) -> Any:
    """Compute the matrix exponential by scaling and squaring, with a Taylor series."""
    small, term, total = a / 1024, np.eye(a.shape[-1]) + 0 * a, np.eye(a.shape[-1]) + 0 * a
    for n in range(1, 12):
        term = term @ small / n
        total = total + term
    for _ in range(10):
        total = total @ total
    return total


def _matrix_norm(p: Any, axis: tuple[int, int] = (-2, -1), keepdims: bool = False) -> Callable[..., Any]:
    return lambda np, a: np.linalg.norm(a, p, axis, keepdims)


def _vector_norm(p: float) -> Callable[..., Any]:
    def norm(np: Any, a: Any) -> Any:
        size = abs(a)
        if p in (_INF, -_INF):
            return size.max(1, keepdims=True) if p > 0 else size.min(1, keepdims=True)
        return (size**p).sum(1, keepdims=True) ** (1 / p)

    return norm


def _pinv(np: Any, a: Any, **options: Any) -> Any:
    return np.linalg.pinv(a, **options)


def _rebuilt(torch: Any, factors: Any) -> Any:
    return functools.reduce(lambda x, y: x @ y, factors)


def _reflectors(np: Any, a: Any, tau: Any) -> Any:
    """Return the first columns of the product of Householder reflections."""
    rows, columns = a.shape[-2:]
    q = np.eye(rows) + 0 * a[..., :1, :1]
    for k in range(columns):
        v = np.concatenate([np.zeros_like(a[..., :k, k]), np.ones_like(a[..., :1, k]), a[..., k + 1 :, k]], -1)
        q = q - tau[..., k, None, None] * (q @ v[..., None]) * np.conj(v)[..., None, :]
    return q[..., :columns]


def _with_factor(of: str, name: str, reference: Any, *shapes: tuple[int, ...], prepare: Any = _regular, **options: Any) -> Sample:
    """Return a sample of a solver, such as `lu_solve`, whose second argument is a factorization.

    `of` is the name of the function that computes the factorization, such as `lu_factor`.
    """

    def call(torch: Any, b: Any, a: Any) -> Any:
        factors = find(torch, of)(prepare(torch, a))
        return find(torch, name)(b, *(factors if isinstance(factors, tuple) else (factors,)), **options)

    return Sample(
        name, call, [real(*shape) for shape in shapes], lambda np, b, a: reference(np, b, prepare(np, a)), TYPES, atol=1e-5
    )


_DECOMPOSITIONS = [
    *(_of(name, lambda np, a: np.linalg.cholesky(a), (2, 3, 3), prepare=_positive) for name in ("cholesky", "linalg.cholesky")),
    _of("linalg.cholesky", lambda np, a: _adjoint(np, np.linalg.cholesky(a)), (3, 3), prepare=_positive, options={"upper": True}),
    _of("linalg.cholesky_ex", lambda np, a: (np.linalg.cholesky(a), np.zeros(2)), (2, 3, 3), prepare=_positive,
        result=("same", "int32")),
    *(_of(name, lambda np, a: a, (2, 4, 3), finish=_rebuilt) for name in ("qr", "linalg.qr")),
    _of("linalg.qr", lambda np, a: _np_abs(*np.linalg.qr(a)), (2, 3, 5), finish=_abs, result="real"),
    _of("linalg.qr", lambda np, a: _np_abs(*np.linalg.qr(a, "complete")), (3, 3), args=("complete",), finish=_abs, result="real"),
    _of("svd", lambda np, a: np.linalg.svd(a)[1], (4, 3), finish=lambda torch, out: out.S, result="real"),
    _of("linalg.svd", lambda np, a: _np_abs(*np.linalg.svd(a, full_matrices=False)), (2, 4, 3), finish=_abs, result="real",
        options={"full_matrices": False}),
    _of("linalg.svd", lambda np, a: _np_abs(*np.linalg.svd(a, full_matrices=False)), (2, 4), finish=_abs, result="real",
        options={"full_matrices": False}),
    _of("linalg.svdvals", lambda np, a: np.linalg.svd(a)[1], (2, 3, 4), result="real"),
    _of("linalg.eigh", lambda np, a: _np_abs(*np.linalg.eigh(a)), (2, 3, 3), prepare=_hermitian, finish=_abs, result="real"),
    _of("linalg.eigh", lambda np, a: np.linalg.eigvalsh(a, "U"), (3, 3), args=("U",), prepare=_hermitian,
        finish=lambda torch, out: out.eigenvalues, result="real"),
    _of("linalg.eigvalsh", lambda np, a: np.linalg.eigvalsh(a), (2, 3, 3), prepare=_hermitian, result="real"),
    _of("linalg.eig", lambda np, a: a, (2, 3, 3), finish=lambda torch, out: out[1] * out[0].unsqueeze(-2) @ out[1].inverse(),
        result="complex"),
    _of("linalg.eigvals", lambda np, a: np.trace(a, axis1=-2, axis2=-1), (2, 3, 3), finish=lambda torch, out: out.sum(-1),
        result="complex"),
    _of("linalg.lu", lambda np, a: _lu(np, a), (2, 3, 3)), _of("linalg.lu", lambda np, a: _lu(np, a), (2, 4)),
    _of("linalg.lu", lambda np, a: _lu(np, a), (2, 5, 3)),
    *(_of(name, lambda np, a: sum(_lu(np, a)[1:]) - np.eye(3), (2, 3, 3), finish=lambda torch, out: out[0])
      for name in ("lu", "linalg.lu_factor", "linalg.lu_factor_ex")),
    Sample("lu_unpack", lambda torch, a: torch.lu_unpack(*torch.linalg.lu_factor(a)), [real(2, 3, 4)], lambda np, a: _lu(np, a),
           TYPES,
           atol=1e-5, method=False),
    Sample("linalg.ldl_factor", lambda torch, a: torch.linalg.ldl_factor(_positive(torch, a))[0].diagonal(0, -2, -1).prod(-1),
           [real(2, 3, 3)], lambda np, a: np.linalg.det(_positive(np, a)), WIDE, grad=False, atol=1e-5),
    Sample("linalg.ldl_factor_ex", lambda torch, a: torch.linalg.ldl_factor_ex(_positive(torch, a))[0].diagonal(0, -2,
           -1).prod(-1),
           [real(2, 3, 3)], lambda np, a: np.linalg.det(_positive(np, a)), WIDE, grad=False, atol=1e-5),
    Sample("linalg.ldl_solve", lambda torch, a, b: torch.linalg.ldl_solve(*torch.linalg.ldl_factor(_positive(torch, a)), b),
           [real(2, 3, 3), real(3, 2)], lambda np, a, b: np.linalg.solve(_positive(np, a), b + 0 * a[:, :, :2]), WIDE,
               grad=False,
           atol=1e-5),
    _of("geqrf", lambda np, a: abs(np.linalg.qr(a)[1]), (2, 4, 3), finish=lambda torch, out: out[0].triu()[..., :3, :].abs(),
        result="real", grad=False),
    _of("linalg.householder_product", _reflectors, (2, 4, 3), (2, 3)), _of("orgqr", _reflectors, (2, 4, 3), (2, 3)),
    _of("ormqr", lambda np, a, tau, b: _reflectors(np, np.pad(a, ((0, 0), (0, 1))), np.pad(tau, (0, 1))) @ b, (4, 3), (3,),
        (4, 2),
        grad=False),
    _of("svd_lowrank", lambda np, a: np.linalg.svd(a)[1], (5, 3), args=(3,), finish=lambda torch, out: out[1], dtypes=WIDE,
        grad=False, vmap=False),
    _of("pca_lowrank", lambda np, a: np.linalg.svd(a - a.mean(0))[1], (5, 3), args=(3,), finish=lambda torch, out: out[1],
        dtypes=WIDE, grad=False, vmap=False),
    _of("lobpcg", lambda np, a: np.linalg.eigvalsh(a)[:-3:-1], (7, 7), prepare=_hermitian, options={"k": 2, "niter": 100},
        finish=lambda torch, out: out[0], dtypes=("float64",), grad=False, atol=1e-4),
]  # fmt: skip
_SOLUTIONS = [
    *(_of(name, lambda np, a: np.linalg.inv(a), (2, 3, 3), prepare=_regular) for name in ("inverse", "linalg.inv")),
    _of("linalg.inv_ex", lambda np, a: (np.linalg.inv(a), np.zeros(2)), (2, 3, 3), prepare=_regular, result=("same", "int32")),
    *(_of(name, _det, (2, 3, 3), prepare=_regular) for name in ("det", "linalg.det")),
    *(_of(name, lambda np, a: np.linalg.slogdet(a), (2, 3, 3), prepare=_regular, result=("same", "real"))
      for name in ("slogdet", "linalg.slogdet")),
    _of("logdet", lambda np, a: np.log(np.linalg.det(a)), (2, 3, 3), prepare=_positive),
    _of("linalg.solve", lambda np, a, b: np.linalg.solve(a, b + 0 * a[..., :2]), (2, 3, 3), (3, 2), prepare=_regular),
    _of("linalg.solve", lambda np, a, b: np.linalg.solve(a, b[:, None] + 0 * a[..., :1])[..., 0], (2, 3, 3), (3,),
        prepare=_regular),
    _of("linalg.solve", lambda np, a, b: np.linalg.solve(a, b[..., None])[..., 0], (2, 3, 3), (2, 3), prepare=_regular),
    _of("linalg.solve", lambda np, a, b: b @ np.linalg.inv(a), (3, 3), (2, 2, 3), prepare=_regular, options={"left": False}),
    _of("linalg.solve_ex", lambda np, a, b: (np.linalg.solve(a, b + 0 * a[..., :2]), np.zeros(2)), (2, 3, 3), (3, 2),
        prepare=_regular, result=("same", "int32")),
    _of("linalg.solve_triangular", lambda np, a, b: np.linalg.solve(np.triu(a), b + 0 * a[..., :2]), (2, 3, 3), (3, 2),
        prepare=_regular, options={"upper": True}),
    _of("linalg.solve_triangular", lambda np, a, b: b @ np.linalg.inv(np.tril(a)), (3, 3), (2, 2, 3), prepare=_regular,
        options={"upper": False, "left": False}),
    _of("linalg.solve_triangular", lambda np, a, b: np.linalg.solve(np.tril(a, -1) + np.eye(3), b), (3, 3), (3, 2),
        options={"upper": False, "unitriangular": True}, atol=1e-4),
    Sample("triangular_solve", lambda torch, b, a: torch.triangular_solve(b, _regular(torch, a), upper=False, transpose=True)[0],
           [real(3, 2), real(3, 3)], lambda np, b, a: np.linalg.solve(np.tril(_regular(np, a)).T, b), TYPES, atol=1e-5),
    _with_factor("linalg.cholesky", "cholesky_solve", lambda np, b, a: np.linalg.solve(a, b + 0 * a[..., :2]), (3, 2), (2, 3, 3),
                 prepare=_positive),
    Sample("cholesky_inverse", lambda torch, a: torch.cholesky_inverse(torch.linalg.cholesky(_positive(torch, a))),
           [real(2, 3, 3)],
           lambda np, a: np.linalg.inv(_positive(np, a)), TYPES, atol=1e-5),
    _with_factor("linalg.lu_factor", "lu_solve", lambda np, b, a: np.linalg.solve(a, b), (3, 2), (3, 3)),
    Sample("linalg.lu_solve", lambda torch, a, b: torch.linalg.lu_solve(*torch.linalg.lu_factor(_regular(torch, a)), b),
           [real(2, 3, 3), real(3, 2)], lambda np, a, b: np.linalg.solve(_regular(np, a), b + 0 * a[..., :2]), TYPES, atol=1e-5),
    Sample("linalg.lu_solve",
           lambda torch, a, b: torch.linalg.lu_solve(*torch.linalg.lu_factor(_regular(torch, a)), b, left=False, adjoint=True),
           [real(3, 3), real(2, 3)], lambda np, a, b: b @ _adjoint(np, np.linalg.inv(_regular(np, a))), TYPES, atol=1e-5),
    *(_of(name, _pinv, (4, 3), atol=1e-4) for name in ("pinverse", "linalg.pinv")),
    _of("linalg.pinv", _pinv, (2, 3, 4), atol=1e-4),
    _of("linalg.pinv", lambda np, a: np.linalg.pinv(a, hermitian=True), (3, 3), prepare=_hermitian, options={"hermitian": True},
        atol=1e-4),
    _of("linalg.lstsq", lambda np, a, b: _pinv(np, a) @ b, (2, 4, 3), (2, 4, 2), finish=lambda torch, out: out.solution,
        atol=1e-4),
    _of("linalg.lstsq", lambda np, a, b: _pinv(np, a) @ b, (2, 4), (2, 3), finish=lambda torch, out: out.solution, atol=1e-4),
    _of("linalg.tensorinv", lambda np, a: np.linalg.tensorinv(a, 1), (4, 2, 2), args=(1,), atol=1e-4),
    _of("linalg.tensorsolve", lambda np, a, b: np.linalg.tensorsolve(a, b), (2, 2, 4), (2, 2), atol=1e-4),
    _of("linalg.tensorsolve", lambda np, a, b: np.linalg.tensorsolve(a, b, axes=(0,)), (4, 2, 2), (2, 2), options={"dims": (0,)},
        atol=1e-4),
]  # fmt: skip
_NORMS = [
    *(_of("linalg.matrix_norm", _matrix_norm(p), (2, 3, 4), args=(p,), result="real") for p in ("fro", "nuc", 1, -1, 2, -2, _INF,
          -_INF)),
    _of("linalg.matrix_norm", _matrix_norm(2, (0, 2), True), (2, 3, 4), args=(2, (0, 2), True), result="real"),
    *(_of("linalg.vector_norm", _vector_norm(p), (2, 3, 4), args=(p, 1, True), result="real") for p in (0.5, 1, 2, 3, _INF,
          -_INF)),
    _of("linalg.vector_norm", lambda np, a: np.full(3, 8.0), (2, 3, 4), args=(0, (0, 2)), result="real", grad=False),
    _of("linalg.norm", lambda np, a: np.linalg.norm(a.ravel()), (2, 3, 4), result="real"),
    _of("linalg.norm", lambda np, a: np.linalg.norm(a, "nuc"), (3, 4), args=("nuc",), result="real"),
    _of("linalg.norm", lambda np, a: np.linalg.norm(a, 3, 1), (3, 4), args=(3, 1), result="real"),
    *(_of("linalg.cond", lambda np, a, p=p: np.linalg.cond(a, p), (2, 3, 3), args=(p,), prepare=_regular, result="real")
      for p in (None, "nuc", 2, -2, "fro", 1, -1, _INF, -_INF)),
    _of("linalg.matrix_rank", lambda np, a: np.full(2, 2), (2, 4, 2), prepare=lambda torch, a: a @ _adjoint(torch, a),
        result="int64",
        grad=False),
    _of("linalg.matrix_rank", lambda np, a: np.linalg.matrix_rank(a, 1.5), (2, 4, 3), args=(1.5,), result="int64", grad=False),
]  # fmt: skip
_PRODUCTS = [
    *(_of(name, lambda np, a: _exp(np, a), (2, 3, 3), atol=1e-4) for name in ("matrix_exp", "linalg.matrix_exp")),
    *(_of(name, lambda np, a: np.linalg.matrix_power(a, 3), (2, 3, 3), args=(3,), atol=1e-4)
      for name in ("matrix_power", "linalg.matrix_power")),
    _of("linalg.matrix_power", lambda np, a: np.linalg.matrix_power(a, -2), (3, 3), args=(-2,), prepare=_regular),
    _of("linalg.matrix_power", lambda np, a: np.eye(3) + 0 * a, (2, 3, 3), args=(0,)),
    Sample("linalg.multi_dot", lambda torch, *x: torch.linalg.multi_dot(x), [real(2, 3), real(3, 4), real(4)],
           lambda np, *x: np.linalg.multi_dot(x), TYPES, atol=1e-4),
    Sample("chain_matmul", lambda torch, *x: torch.chain_matmul(*x), [real(2, 3), real(3, 4), real(4, 2)],
           lambda np, *x: np.linalg.multi_dot(x), TYPES, atol=1e-4),
    _of("linalg.vander", lambda np, a: np.stack([a**n for n in range(4)], -1), (2, 3), options={"N": 4}, atol=1e-4),
    _of("linalg.cross", lambda np, a, b: np.cross(a, b), (2, 3), (1, 3)),
    _of("cross", lambda np, a, b: np.cross(a, b, axis=0), (3, 2), (3, 2), args=(0,)),
    _of("linalg.vecdot", lambda np, a, b: (a.conj() * b).sum(-1), (2, 3), (3,)),
    _of("linalg.diagonal", lambda np, a: np.diagonal(a, 1, -2, -1), (2, 3, 4), options={"offset": 1}, view=True, method=False),
    _of("linalg.matmul", lambda np, a, b: a @ b, (2, 3, 4), (4,)),
    _of("tensordot", lambda np, a, b: np.tensordot(a, b, ([1, 2], [1, 0])), (2, 3, 4), (4, 3, 5), args=(([1, 2], [1, 0]),)),
    _of("tensordot", lambda np, a, b: np.tensordot(a, b, 1), (2, 3), (3, 4), args=(1,)),
    _of("inner", lambda np, a, b: np.inner(a, b), (2, 3), (4, 3)),
    _of("kron", lambda np, a, b: np.kron(a, b), (2, 3), (2, 1, 2)),
]  # fmt: skip
_EMPTY = [
    _of("linalg.inv", lambda np, a: a, (0, 3, 3)), _of("linalg.det", lambda np, a: np.ones(2), (2, 0, 0)),
    _of("linalg.svd", lambda np, a: (np.zeros((0, 0)), np.zeros(0), np.eye(3)), (0, 3), result=("same", "real", "same"),
        grad=False),
    _of("linalg.qr", lambda np, a: (np.eye(3) + np.zeros((2, 1, 1)), a), (2, 3, 0), args=("complete",), grad=False),
    _of("linalg.solve", lambda np, a, b: b, (0, 0), (0, 2)), _of("linalg.pinv", lambda np, a: a.T, (0, 2)),
    _of("linalg.matrix_exp", lambda np, a: a, (0, 2, 2)), _of("linalg.cholesky", lambda np, a: a, (0, 0)),
]  # fmt: skip


def bad_call(name: str, *inputs: Any, error: str = "RuntimeError", dtype: str = "float32", **options: Any) -> Bad:
    return Bad(name, lambda torch, *x: find(torch, name)(*x, **options), inputs, error, dtype)


def _norm(p: Any, axis: Any = None) -> Sample:
    def expected(np: Any, x: Any) -> Any:
        return np.linalg.norm(x.reshape(-1) if axis is None else x, p, axis)

    return Sample("norm", lambda torch, x: torch.norm(x, p, axis), [real(3, 4)], expected, (*FLOATS, *COMPLEX), "real", grad=True)


def _renormed(np: Any, x: Any) -> Any:
    norms = np.sqrt((x * x).sum((0, 2), keepdims=True))
    return np.where(norms > 1, x / norms, x)


SAMPLES = [
    *_DECOMPOSITIONS,
    *_SOLUTIONS,
    *_NORMS,
    *_PRODUCTS,
    *_EMPTY,
    torch_function("norm_except_dim", lambda f, x: f(x, 2, 1), lambda np, x: np.sqrt((x * x).sum((0, 2), keepdims=True)), real(3,
        4, 2)),
    torch_function("frobenius_norm", lambda f, x: f(x, (0, 2), True), lambda np, x: np.sqrt((x * x).sum((0, 2), keepdims=True)),
        real(3, 4, 2)),
    torch_function("nuclear_norm", lambda f, x: f(x), lambda np, x: np.linalg.norm(x, "nuc"), real(3, 4)),
    _norm(2),
    _norm(1),
    _norm(3),
    _norm(float("inf")),
    _norm(2, 1),
    _norm(1, 0),
    Sample("renorm", lambda torch, x: torch.renorm(x, 2, 1, 1.0), [real(2, 3, 2)], _renormed, atol=2e-7),
]  # fmt: skip


BAD = [
    *(bad_call(name, real(2)) for name in (
        "linalg.cholesky", "linalg.inv", "linalg.det", "linalg.slogdet", "linalg.qr", "linalg.svd", "linalg.svdvals",
        "linalg.eigh",
        "linalg.eigvalsh", "linalg.eig", "linalg.lu", "linalg.lu_factor", "linalg.pinv", "linalg.matrix_exp",
        "linalg.matrix_norm",
        "cholesky", "inverse", "det", "logdet", "qr")),
    *(bad_call(name, real(2, 3)) for name in (
        "linalg.cholesky", "linalg.inv", "linalg.det", "linalg.slogdet", "linalg.eigh", "linalg.eigvalsh", "linalg.eig",
        "linalg.matrix_exp", "inverse", "det", "logdet")),
    *(bad_call(name, real(2, 2), dtype="int64") for name in ("linalg.cholesky", "linalg.inv", "linalg.qr", "linalg.svd")),
    bad_call("linalg.eigh", real(2, 2), dtype="int64", error="NotImplementedError"),
    bad_call("linalg.solve", real(3, 3), real(2, 2)),
    bad_call("linalg.solve_triangular", real(3, 3), real(2, 2), upper=True),
    bad_call("linalg.matrix_power", real(2, 3), n=2),
    bad_call("linalg.eigh", real(2, 2), UPLO="X"),
    bad_call("linalg.qr", real(2, 2), mode="x"),
    bad_call("linalg.cross", real(2, 2), real(2, 2)),
    bad_call("kron", real(2), error="TypeError"),
    Bad("tensordot", lambda torch, x, y: torch.tensordot(x, y, 1), [real(2, 2), real(3, 2)], "RuntimeError"),
    Bad("renorm", lambda torch, x: torch.renorm(x, 2, 0, 1.0), [real(3)], "RuntimeError"),
]  # fmt: skip

"""Linear algebra: comparison with NumPy, defining equations of factorizations, and finite differences."""

from __future__ import annotations

import subprocess
import sys
import warnings

import numpy as np
import pytest

import flambeau as torch

LA = torch.linalg
INF, NAN = float("inf"), float("nan")
DTYPES = [torch.float64, torch.complex128]


def random(*shape, dtype=torch.float64, seed=0):
    rng = np.random.default_rng([seed, *shape])
    values = rng.standard_normal(shape)
    return torch.tensor(values + 1j * rng.standard_normal(shape) if dtype.is_complex else values, dtype=dtype)


def eye(n, dtype=torch.float64):
    return torch.eye(n, dtype=dtype)


def positive(A):
    return A @ A.mH + A.shape[-1] * eye(A.shape[-1], A.dtype)


def assert_close(one, other, tolerance=1e-9):
    one = one.detach().resolve_conj().numpy() if isinstance(one, torch.Tensor) else one
    other = other.detach().resolve_conj().numpy() if isinstance(other, torch.Tensor) else other
    np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)


# --- against NumPy ------------------------------------------------------------------------------------------------

REFERENCES = {
    "det": np.linalg.det, "inv": np.linalg.inv, "slogdet": np.linalg.slogdet, "svdvals": np.linalg.svdvals,
    "pinv": np.linalg.pinv, "eigvals": np.linalg.eigvals, "cond": np.linalg.cond, "matrix_rank": np.linalg.matrix_rank,
}  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(3, 3), (2, 4, 4), (2, 1, 2, 2), (1, 1), (0, 2, 2)])
@pytest.mark.parametrize("name", REFERENCES)
def test_as_numpy(name, shape, dtype):
    A = random(*shape, dtype=dtype)
    if name == "cond" and not A.numel():
        assert LA.cond(A).shape == (0,)
        return
    actual, expected = getattr(LA, name)(A), REFERENCES[name](A.numpy())
    for one, other in zip(*([x] if not isinstance(x, tuple) else x for x in (actual, expected)), strict=True):
        assert_close(one, other)


@pytest.mark.parametrize("ord", [None, "fro", "nuc", 1, -1, 2, -2, INF, -INF])
def test_norm_of_matrices_as_numpy(ord):
    A = random(3, 4)
    assert_close(LA.norm(A, ord), np.linalg.norm(A.numpy(), ord))
    assert_close(LA.norm(A.T.reshape(4, 3), ord, (0, 1), keepdim=True), np.linalg.norm(A.numpy().T, ord, (0, 1), keepdims=True))


@pytest.mark.parametrize("ord", [0, 0.5, 1, -1, 2, 3, INF, -INF])
def test_norm_of_vectors_as_numpy(ord):
    A = random(3, 4)
    assert_close(LA.vector_norm(A, ord, 1), np.linalg.norm(A.numpy(), ord, 1))
    assert_close(LA.norm(A[0], ord), np.linalg.norm(A[0].numpy(), ord))


def test_norm_takes_a_dtype():
    A = random(2, 3).float()
    assert LA.vector_norm(A, dtype=torch.float64).dtype == torch.float64
    assert LA.matrix_norm(A.to(torch.complex64), dtype=torch.complex128).dtype == torch.float64


@pytest.mark.parametrize("given, asked, refusal", [
    (torch.int64, torch.float32, "Expected a floating point or complex tensor"), (torch.float32, torch.complex64, "be real for real"),
    (torch.complex64, torch.float32, "be complex for complex"), (torch.float64, torch.float32, "without narrowing"),
    (torch.float32, torch.int64, "should be floating point or complex"),
])  # fmt: skip
def test_norm_refuses_a_dtype(given, asked, refusal):
    for norm in (LA.vector_norm, LA.matrix_norm):
        with pytest.raises(RuntimeError, match=refusal):
            norm(torch.ones(2, 3, dtype=given), dtype=asked)


@pytest.mark.parametrize("equation, shapes", [
    ("ij,jk->ik", [(2, 3), (3, 4)]), ("ij,jk", [(2, 3), (3, 4)]), ("ii->i", [(3, 3)]), ("ii", [(3, 3)]), ("ij->ji", [(2, 3)]),
    ("ij->", [(2, 3)]),
    ("i,j->ij", [(3,), (2,)]), ("...ij,...jk->...ik", [(2, 3, 4), (4, 5)]), ("bn,anm,bm->ba", [(2, 5), (3, 5, 4), (2, 4)]),
    ("iij,jk->ik", [(2, 2, 3), (3, 2)]), ("i...->...", [(2, 3)]), ("ij,jk,kl,lm->im", [(2, 3), (3, 2), (2, 4), (4, 1)]),
    ("ij,jk->ik", [(2, 0), (0, 3)]),
    ("...,...", [(2, 3), (3,)]), (",i->i", [(), (3,)]), ("abc,cb->a", [(2, 3, 4), (4, 3)]),
])  # fmt: skip
@pytest.mark.parametrize("installed", [True, False])
def test_einsum_as_numpy(equation, shapes, installed, monkeypatch):
    if not installed:
        monkeypatch.setitem(sys.modules, "opt_einsum", None)
    operands = [random(*shape, seed=number) for number, shape in enumerate(shapes)]
    assert_close(torch.einsum(equation, *operands), np.einsum(equation, *(operand.numpy() for operand in operands)))
    if all(operand.numel() for operand in operands):
        assert torch.autograd.gradcheck(
            lambda *given: torch.einsum(equation, *given), [operand.requires_grad_() for operand in operands]
        )


def test_einsum_by_sublists():
    x = torch.arange(6).reshape(2, 3)
    assert torch.einsum(x, [0, 1], x, [2, 1], [0, 2]).tolist() == [[5, 14], [14, 50]]
    assert torch.einsum(x, [..., 1], [...]).tolist() == [3, 12]


def test_products_as_numpy():
    a, b = random(2, 3, 4), random(4, 3, 5)
    assert_close(torch.tensordot(a, b, ([1, 2], [1, 0])), np.tensordot(a.numpy(), b.numpy(), ([1, 2], [1, 0])))
    assert_close(torch.tensordot(a, b, 1), np.tensordot(a.numpy(), b.numpy(), 1))
    assert_close(torch.kron(a, b[0]), np.kron(a.numpy(), b[0].numpy()))
    assert_close(torch.inner(a, random(4)), np.inner(a.numpy(), random(4).numpy()))
    x, y = random(2, 3), random(2, 3, seed=1)
    assert_close(LA.cross(x, y), np.cross(x.numpy(), y.numpy()))
    assert_close(LA.vander(x[0], N=5), np.vander(x[0].numpy(), 5, increasing=True))
    assert_close(LA.multi_dot([x, a[0], b[:, 0, :2].reshape(4, 2)]), x.numpy() @ a[0].numpy() @ b[:, 0, :2].numpy())


@pytest.mark.parametrize("p", [0.0, 1.0, 1.5, 2.0, INF])
@pytest.mark.parametrize("n", [4, 30])
def test_cdist(n, p):
    x, y = random(2, n, 3), random(5, 3)
    difference = np.abs(x.numpy()[:, :, None] - y.numpy())
    assert_close(torch.cdist(x, y, p), np.linalg.norm(difference, p, -1), 1e-7)


# --- by the equations ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(3, 3), (2, 4, 3), (2, 3, 5), (40, 40), (0, 2, 3), (3, 0)])
def test_factors_multiply_to_the_matrix(shape, dtype):
    A = random(*shape, dtype=dtype)
    Q, R = LA.qr(A)
    assert_close(Q @ R, A)
    assert_close(Q.mH @ Q, eye(Q.shape[-1], dtype).expand(*Q.shape[:-2], Q.shape[-1], Q.shape[-1]))
    U, S, Vh = LA.svd(A, full_matrices=False)
    assert_close((U * S.unsqueeze(-2)) @ Vh, A)
    P, L, V = LA.lu(A)
    assert_close(P @ L @ V, A)
    assert_close(torch.lu_unpack(*torch.lu(A))[1], L)
    if shape[-2] >= shape[-1]:
        a, tau = torch.geqrf(A)
        assert_close(torch.orgqr(a, tau) @ a[..., : shape[-1], :].triu(), A)
        assert_close(torch.ormqr(a, tau, A, transpose=True)[..., : shape[-1], :], a[..., : shape[-1], :].triu())


@pytest.mark.parametrize("dtype", DTYPES)
def test_eigenvectors(dtype):
    A = random(2, 4, 4, dtype=dtype)
    L, V = LA.eig(A)
    assert_close(A.to(torch.complex128) @ V, V * L.unsqueeze(-2))
    H = A + A.mH
    for half, given in (("L", H.tril()), ("U", H.triu())):
        values, vectors = LA.eigh(given, half)
        assert_close(H @ vectors, vectors * values.unsqueeze(-2))
        assert_close(LA.eigvalsh(given, half), values)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [1, 3, 40])
def test_solutions_solve(n, dtype):
    A, B = random(2, n, n, dtype=dtype), random(n, 3, dtype=dtype)
    assert_close(A @ LA.solve(A, B), B.expand(2, n, 3), 1e-8)
    assert_close(LA.solve(A, B.mT, left=False) @ A, B.mT.expand(2, 3, n), 1e-8)
    LU, pivots = LA.lu_factor(A)
    assert_close(A @ LA.lu_solve(LU, pivots, B), B.expand(2, n, 3), 1e-8)
    assert_close(A.mH @ LA.lu_solve(LU, pivots, B, adjoint=True), B.expand(2, n, 3), 1e-8)
    S = positive(A)
    assert_close(S @ torch.cholesky_solve(B, LA.cholesky(S)), B.expand(2, n, 3), 1e-8)
    assert_close(S @ torch.cholesky_inverse(LA.cholesky(S, upper=True), upper=True), eye(n, dtype).expand(2, n, n), 1e-8)
    T = S.tril() / n
    assert_close(T @ LA.solve_triangular(S / n, B, upper=False), B.expand(2, n, 3), 1e-8)
    assert_close(LA.solve_triangular(S / n, B.mT, upper=False, left=False) @ T, B.mT.expand(2, 3, n), 1e-8)
    H = A + A.mT
    assert_close(H @ LA.ldl_solve(*LA.ldl_factor(H), B), B.expand(2, n, 3), 1e-8)


def test_without_scipy(monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy.linalg", None)
    A, B = random(2, 40, 40), random(40, 3)
    P, L, U = LA.lu(A)
    assert_close(P @ L @ U, A)
    assert_close(A @ LA.lu_solve(*LA.lu_factor(A), B), B.expand(2, 40, 3), 1e-8)
    with pytest.raises(RuntimeError, match=r"pip install scipy"):
        LA.ldl_factor(A)


def test_zero_on_the_diagonal_of_a_triangle():
    A = eye(40)
    A[3, 3] = 0
    X = LA.solve_triangular(A, torch.ones(40, 1).double(), upper=True)
    assert X[3] == INF and X[10] == 1


def test_least_squares_meets_the_normal_equations():
    A, B = random(2, 5, 3), random(2, 5, 2)
    X, residuals, rank, values = LA.lstsq(A, B, driver="gelsd")
    assert_close(A.mT @ (A @ X), A.mT @ B)
    assert_close(residuals, ((A @ X - B) ** 2).sum(-2))
    assert_close(values, LA.svdvals(A))
    assert rank.tolist() == [3, 3]
    deficient = A[0] @ torch.tensor([[1.0, 0, 1], [0, 1, 1], [0, 0, 0]], dtype=torch.float64)
    assert_close(LA.lstsq(deficient, B[0]).solution, np.linalg.lstsq(deficient.numpy(), B[0].numpy(), rcond=None)[0])
    assert LA.lstsq(deficient, B[0]).rank == 2


def test_powers_and_exponential():
    A = random(2, 3, 3)
    assert_close(LA.matrix_power(A, 5), A @ A @ A @ A @ A)
    assert_close(LA.matrix_power(A, -2) @ A @ A, eye(3).expand(2, 3, 3), 1e-8)
    values, vectors = LA.eigh(20 * (A + A.mT))
    assert_close(
        LA.matrix_exp(20 * (A + A.mT)) / values.amax().exp(),
        (vectors * (values - values.amax()).exp().unsqueeze(-2)) @ vectors.mT,
    )
    assert LA.matrix_exp(torch.zeros(2, 2)).tolist() == [[1, 0], [0, 1]]


@pytest.mark.parametrize("scale", [0.01, 1, 3])
def test_exponential_in_single_precision(scale):
    """matrix_exp of matrices with a dominant eigenvalue, where the denominator of a Padé approximation is nearly singular."""
    A = (scale * random(40, 5, 5).abs()).float()
    exact = LA.matrix_exp(A.double())
    error = (LA.matrix_exp(A) - exact).abs().amax((1, 2)) / exact.amax((1, 2))
    assert error.amax() < 5e-7


def test_tensors_as_matrices():
    A = random(2, 3, 6)
    assert_close(torch.tensordot(LA.tensorinv(A, 2), A, 2), eye(6))
    X = LA.tensorsolve(A, random(2, 3, seed=1))
    assert_close(torch.tensordot(A, X, 1), random(2, 3, seed=1))


def test_low_rank():
    A = random(20, 3) @ random(3, 10)
    U, S, V = torch.svd_lowrank(A, 3)
    assert_close((U * S) @ V.mT, A)
    assert_close(torch.pca_lowrank(A, 3)[1], LA.svdvals(A - A.mean(0))[:3])
    G = positive(random(8, 8))
    values, vectors = torch.lobpcg(G, 2)
    assert_close(G @ vectors, vectors * values)
    B = positive(random(8, 8, seed=1))
    values, vectors = torch.lobpcg(G, 2, B, largest=False)
    assert_close(G @ vectors, B @ vectors * values)


# --- singular matrices, other failures ----------------------------------------------------------------------------


def test_singular_matrices():
    A = torch.stack([torch.eye(2), torch.tensor([[1.0, 2], [2, 4]])])
    with pytest.raises(LA.LinAlgError, match=r"linalg.inv: \(Batch element 1\): The diagonal element 2 is zero"):
        LA.inv(A)
    with pytest.raises(LA.LinAlgError, match=r"\(Batch element 1\): The solver failed"):
        LA.solve(A, torch.ones(2))
    assert LA.inv_ex(A).info.tolist() == LA.solve_ex(A, torch.ones(2)).info.tolist() == [0, 2]
    assert LA.inv_ex(A).inverse[0].tolist() == [[1, 0], [0, 1]]
    assert LA.inv_ex(A).info.dtype == torch.int32
    assert LA.det(A).tolist() == [1, 0] and LA.cond(A, 1).tolist()[1] == INF
    assert torch.logdet(A)[1] == -INF and torch.logdet(-torch.ones(1, 1)).isnan()
    with pytest.raises(RuntimeError, match=r"U\[2,2\] is zero"):
        LA.lu_factor(A)
    assert issubclass(LA.LinAlgError, RuntimeError)


def test_indefinite_matrices():
    A = torch.stack([torch.eye(3), torch.diag(torch.tensor([1.0, -1, 1]))])
    with pytest.raises(LA.LinAlgError, match=r"\(Batch element 1\): .*leading minor of order 2 is not"):
        LA.cholesky(A)
    L, info = LA.cholesky_ex(A)
    assert info.tolist() == [0, 2] and L[0].tolist() == torch.eye(3).tolist()


def test_determinant_of_singular_matrices_has_a_gradient():
    A = torch.tensor([[1.0, 2], [2, 4]], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(LA.det, A)
    zero = torch.zeros(3, 3, dtype=torch.float64, requires_grad=True)
    LA.det(zero).backward()
    assert zero.grad.tolist() == zero.tolist()


def test_singular_values_of_the_identity_have_a_gradient():
    A = torch.eye(3, requires_grad=True)
    LA.svd(A).S.sum().backward()
    assert_close(A.grad, torch.eye(3))
    B = torch.eye(3, requires_grad=True)
    LA.eigh(B).eigenvalues.sum().backward()
    assert_close(B.grad, torch.eye(3))


@pytest.mark.parametrize("call, message", [
    (lambda: LA.inv(torch.ones(2)), "must have at least 2 dimensions"),
    (lambda: LA.det(torch.ones(2, 3)), "must be batches of square matrices, but they are 2 by 3 matrices"),
    (lambda: LA.qr(torch.ones(2, 2).long()), "Expected a floating point or complex tensor as input. Got Long"),
    (lambda: LA.solve(torch.eye(2), torch.ones(3, 1)), r"Incompatible shapes of A and B for the equation AX = B \(2x2 and 3x1\)"),
    (lambda: LA.solve(torch.eye(2), torch.eye(2).double()), "to have the same dtype"),
    (lambda: LA.matrix_norm(torch.eye(2), 3), "Order 3 not supported"),
    (lambda: torch.einsum("ij->k", torch.eye(2)), "output subscript k does not appear"),
    (lambda: LA.eig(torch.full((2, 2), INF)), "should not contain infs or NaNs"),
])  # fmt: skip
def test_bad_arguments(call, message):
    with pytest.raises(RuntimeError, match=message):
        call()


def test_out():
    A = positive(random(3, 3))
    for name in ("inv", "det", "cholesky", "pinv", "svdvals", "eigvalsh", "matrix_norm"):
        expected = getattr(LA, name)(A)
        out = torch.empty(expected.shape, dtype=torch.float64)
        assert getattr(LA, name)(A, out=out) is out
        assert_close(out, expected)
    Q, R = torch.empty(3, 3).double(), torch.empty(3, 3).double()
    LA.qr(A, out=(Q, R))
    assert_close(Q @ R, A)


# --- derivatives --------------------------------------------------------------------------------------------------


def without_phases(factors, *of):
    """Replace the factors at the positions `of` by their absolute values, which do not depend on the phases of the vectors."""
    return tuple(factor.abs() if place in of else factor for place, factor in enumerate(factors))


DERIVATIVES = {
    "cholesky": (lambda A: LA.cholesky(positive(A)), [(2, 3, 3)]),
    "cholesky upper": (lambda A: LA.cholesky(positive(A), upper=True), [(3, 3)]),
    "inv": (LA.inv, [(2, 3, 3)]),
    "det": (LA.det, [(2, 3, 3)]),
    "slogdet": (lambda A: tuple(LA.slogdet(A)), [(2, 3, 3)]),
    "solve": (LA.solve, [(2, 3, 3), (3, 2)]),
    "solve vector": (LA.solve, [(2, 3, 3), (3,)]),
    "solve right": (lambda A, B: LA.solve(A, B, left=False), [(3, 3), (2, 2, 3)]),
    "solve_triangular": (lambda A, B: LA.solve_triangular(A, B, upper=True), [(2, 3, 3), (3, 2)]),
    "solve_triangular unit": (lambda A, B: LA.solve_triangular(A, B, upper=False, left=False, unitriangular=True),
                              [(3, 3), (2, 2, 3)]),
    "qr": (lambda A: tuple(LA.qr(A)), [(2, 4, 3)]),
    "qr wide": (lambda A: tuple(LA.qr(A)), [(2, 4)]),
    "svd": (lambda A: without_phases(LA.svd(A, full_matrices=False), 0, 2), [(2, 3, 3)]),
    "svd phases": (lambda A: (lambda U, S, Vh: U[..., :1] @ Vh[..., :1, :])(*LA.svd(A)), [(3, 3)]),
    "svd tall": (lambda A: without_phases(LA.svd(A, full_matrices=False), 0, 2), [(4, 2)]),
    "svd wide": (lambda A: without_phases(LA.svd(A, full_matrices=False), 0, 2), [(2, 4)]),
    "svdvals": (LA.svdvals, [(2, 3, 4)]),
    "eigh": (lambda A: without_phases(LA.eigh(A + A.mH), 1), [(2, 3, 3)]),
    "eigvalsh": (lambda A: LA.eigvalsh(A + A.mH, "U"), [(2, 3, 3)]),
    "eig": (lambda A: without_phases(LA.eig(A), 1), [(2, 3, 3)]),
    "eigvals": (LA.eigvals, [(3, 3)]),
    "lu": (lambda A: tuple(LA.lu(A)[1:]), [(2, 3, 3)]),
    "lu wide": (lambda A: tuple(LA.lu(A)[1:]), [(2, 4)]),
    "lu tall": (lambda A: tuple(LA.lu(A)[1:]), [(4, 2)]),
    "lu_solve": (lambda A, B: LA.lu_solve(*LA.lu_factor(A), B, left=False, adjoint=True), [(3, 3), (2, 3)]),
    "pinv": (LA.pinv, [(2, 4, 3)]),
    "pinv wide": (LA.pinv, [(2, 3)]),
    "lstsq": (lambda A, B: LA.lstsq(A, B).solution, [(4, 3), (4, 2)]),
    "lstsq residuals": (lambda A, B: tuple(LA.lstsq(A, B, driver="gelsd")[:2]), [(2, 4, 3), (2, 4, 2)]),
    "lstsq vectors": (lambda A, B: tuple(LA.lstsq(A, B, driver="gels")[:2]), [(2, 4, 3), (2, 4)]),
    "lstsq broadcast": (lambda A, B: tuple(LA.lstsq(A, B, driver="gels")[:2]), [(1, 4, 3), (2, 4, 1)]),
    "lstsq wide": (lambda A, B: LA.lstsq(A, B).solution, [(2, 3), (2, 2)]),
    "matrix_exp": (LA.matrix_exp, [(2, 3, 3)]),
    "matrix_power": (lambda A: LA.matrix_power(A, -3), [(3, 3)]),
    "norms": (lambda A: (LA.matrix_norm(A, 2), LA.matrix_norm(A, "nuc"), LA.matrix_norm(A, 1), LA.vector_norm(A, 3, 0)),
              [(3, 3)]),
    "cond": (lambda A: (LA.cond(A), LA.cond(A, 1)), [(3, 3)]),
    "multi_dot": (lambda *given: LA.multi_dot(given), [(2, 3), (3, 4), (4,)]),
    "householder_product": (LA.householder_product, [(4, 3), (3,)]),
    "cross": (LA.cross, [(2, 3), (1, 3)]),
    "vecdot": (LA.vecdot, [(2, 3), (3,)]),
    "cholesky_solve": (lambda A, B: torch.cholesky_solve(B, LA.cholesky(positive(A))), [(3, 3), (3, 2)]),
    "cholesky_solve batches": (lambda A, B: torch.cholesky_solve(B, LA.cholesky(positive(A), upper=True), True), [(2, 3, 3), (3, 2)]),
    "cholesky_inverse": (lambda A: torch.cholesky_inverse(LA.cholesky(positive(A))), [(2, 3, 3)]),
}  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", DERIVATIVES)
def test_derivatives(name, dtype):
    function, shapes = DERIVATIVES[name]
    inputs = [random(*shape, dtype=dtype, seed=number).requires_grad_() for number, shape in enumerate(shapes)]
    assert torch.autograd.gradcheck(function, inputs)
    assert torch.autograd.gradgradcheck(function, inputs)


@pytest.mark.parametrize("driver", ["gels", "gelsy", "gelsd", "gelss"])
def test_least_squares_are_one_operation(driver):
    A, B = random(4, 3).requires_grad_(), random(4, 2).requires_grad_()
    found = LA.lstsq(A, B, driver=driver)
    for result in found[:2]:
        assert result.grad_fn.name() == "LinalgLstsqBackward0"
        assert len(result.grad_fn.next_functions) == 2
    (slopes,) = torch.autograd.grad(found.residuals.sum(), B)
    assert_close(slopes, 2 * (B - A @ found.solution).detach() if driver != "gelsy" else torch.zeros(4, 2).double())


def test_a_power_of_zero_has_a_gradient_of_zero():
    A = random(2, 3, 3).requires_grad_()
    result = LA.matrix_power(A, 0)
    assert_close(result, np.broadcast_to(np.eye(3), (2, 3, 3)))
    assert result.grad_fn.name().endswith("CopyBackwards") and result.is_contiguous()
    assert not torch.autograd.grad(result.sum(), A)[0].any()


def derivatives_of_norm(values, p):
    x = torch.tensor(values, dtype=torch.float64, requires_grad=True)
    (first,) = torch.autograd.grad(LA.vector_norm(x, p), x, create_graph=True)
    return first.detach(), torch.autograd.grad(first.sum(), x)[0]


@pytest.mark.parametrize("p", [-1, 0.5, 1.5, 2])
def test_the_slope_of_a_norm_has_none_at_zero(p):
    first, second = derivatives_of_norm([0.0, 0.0], p)
    assert not first.any() and second.isnan().all()


@pytest.mark.parametrize("p", [1, 3, 4, INF])
def test_the_slope_of_a_norm_at_zero_where_it_does_not_bend(p):
    first, second = derivatives_of_norm([0.0, 0.0], p)
    assert not first.any() and not second.any()


@pytest.mark.parametrize(("p", "second"), [(1.5, [NAN, 0]), (2, [1 / 3, 0]), (3, [0, 0]), (0.5, [NAN, 0])])
def test_derivatives_of_a_norm_where_one_element_is_zero(p, second):
    slopes = derivatives_of_norm([0.0, 3.0], p)
    assert_close(slopes[0], np.array([0.0, 1.0]))
    assert_close(slopes[1], np.array(second), 1e-12)


def test_derivative_of_the_largest_norm_of_nan():
    first, _ = derivatives_of_norm([1.0, NAN, 2.0], INF)
    assert first.tolist() == [0, 0, 0]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("name", ["cholesky_solve", "cholesky_inverse"])
def test_derivatives_by_a_cholesky_factor_are_those_by_all_its_elements(name, upper, dtype):
    """The gradient of `(L L^H)^-1 B` with respect to L covers all elements, including the triangle of zeros."""
    L = LA.cholesky(positive(random(3, 3, dtype=dtype)), upper=upper)
    B = random(3, 2, seed=1, dtype=dtype) if name == "cholesky_solve" else eye(3, dtype)
    weights = random(*B.shape, seed=2, dtype=dtype)

    def solved(L):
        return torch.cholesky_solve(B, L, upper) if name == "cholesky_solve" else torch.cholesky_inverse(L, upper)

    def by_all_elements(L):
        return LA.solve(L.mH @ L if upper else L @ L.mH, B)

    def derivatives(function):
        factor = L.clone().requires_grad_()
        loss = (function(factor) * weights).sum().abs()
        (first,) = torch.autograd.grad(loss, factor, create_graph=True)
        return first, *torch.autograd.grad((first * first.conj()).real.sum(), factor)

    for ours, wanted in zip(derivatives(solved), derivatives(by_all_elements), strict=True):
        assert_close(ours, wanted, 1e-8)
        assert (ours.tril(-1) if upper else ours.triu(1)).abs().sum() > 1e-3


@pytest.mark.parametrize("p", [1.5, 2.0])
@pytest.mark.parametrize("mode", ["use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist"])
def test_derivatives_of_distances(p, mode):
    inputs = [random(2, 3, 2).requires_grad_(), random(4, 2).requires_grad_()]
    assert torch.autograd.gradcheck(lambda x, y: torch.cdist(x, y, p, mode), inputs)
    assert torch.autograd.gradgradcheck(lambda x, y: torch.cdist(x, y, p, mode), inputs)


# --- half precision -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_exponential_of_half_precision_overflows_only_where_its_result_does(dtype):
    A = torch.tensor([[5.0, 1.25], [2.5, 5.0]], dtype=dtype, requires_grad=True)
    exponential = LA.matrix_exp(A)
    (slopes,) = torch.autograd.grad(exponential.sum(), A)
    wide = A.detach().double().requires_grad_()
    expected = LA.matrix_exp(wide)
    assert exponential.dtype is slopes.dtype is dtype
    assert_close(exponential.double(), expected, 0.01)
    assert_close(slopes.double(), torch.autograd.grad(expected.sum(), wide)[0], 0.01)


# --- names of old -------------------------------------------------------------------------------------------------


def test_lu_with_info_is_a_named_tuple():
    A = random(2, 3, 3)
    found = torch.lu(A, get_infos=True)
    assert repr(found).startswith("torch.return_types._lu_with_info(\nLU=tensor(")
    assert_close(found.LU, LA.lu_factor(A).LU)
    assert found.pivots is found[1] and found.info.tolist() == [0, 0]
    assert type(torch.lu(A)) is tuple
    given = [torch.empty(0), torch.empty(0, dtype=torch.int32), torch.empty(0, dtype=torch.int32)]
    given[0] = given[0].double()
    assert torch.lu(A, get_infos=True, out=given) is given and given[0].equal(found.LU)


def test_names_of_old():
    A = random(2, 3, 3)
    LU, pivots = torch.btrifact(A)
    assert_close(torch.btrisolve(torch.ones(2, 3).double(), LU, pivots), LA.solve(A, torch.ones(2, 3).double()))
    values, vectors = A[0].add(A[0].T).symeig(eigenvectors=True)
    assert_close((A[0] + A[0].T) @ vectors, vectors * values)
    tall, right = random(4, 2), random(4, 1)
    X, _ = torch.gels(right, tall)
    assert_close(X[:2], LA.lstsq(tall, right).solution)
    assert_close((X[2:] ** 2).sum(), ((tall @ X[:2] - right) ** 2).sum())
    with pytest.raises(RuntimeError, match=r"torch\.linalg\.solve"):
        torch.solve(right, tall)


def test_linalg_is_imported_when_asked_for():
    loaded = "'flambeau.operations.linalg.namespace' in sys.modules"
    code = f"import sys, flambeau; assert not {loaded}; flambeau.eye(2).inverse(); assert {loaded}"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("p", ["fro", "nuc", 1, -1, float("inf"), -float("inf")])
def test_condition_number_of_singular_matrices(p):
    matrices = torch.stack([torch.zeros(2, 2), torch.ones(2, 2), torch.eye(2)])
    assert torch.linalg.cond(matrices, p).isinf().tolist() == [True, True, False]


@pytest.mark.parametrize("p", ["fro", 1, -1, float("inf"), -float("inf")])
@pytest.mark.parametrize("value", [float("inf"), float("nan")])
def test_condition_number_of_infinite_matrices(p, value):
    assert torch.linalg.cond(torch.full((2, 2), value), p).item() == float("inf")


@pytest.mark.parametrize("pivot", [0, 3])
def test_pivots_outside_the_matrix_are_refused(pivot):
    LU, pivots = torch.linalg.lu_factor(torch.randn(3, 2, 2))
    pivots[1, 0] = pivot
    with pytest.raises(RuntimeError, match="Pivots given to lu_solve must all be"):
        torch.linalg.lu_solve(LU, pivots, torch.ones(3, 2, 2))


def test_qr_without_q_fails_in_backward_only():
    A = torch.randn(3, 3, requires_grad=True)
    Q, R = torch.linalg.qr(A, mode="r")
    assert Q.shape == (0,) and torch.equal(R, torch.linalg.qr(A.detach()).R)
    with pytest.raises(RuntimeError, match="The derivative of linalg.qr depends on Q"):
        R.sum().backward()


def test_preferred_linalg_library():
    library = torch.backends.cuda.preferred_linalg_library
    assert library() == library("cusolver") == "default"
    for name in ("magma", "other"):
        with pytest.raises(RuntimeError):
            library(name)


def test_lobpcg_differentiates_with_respect_to_each_element():
    torch.manual_seed(0)
    A = torch.rand(2, 6, 6, dtype=torch.float64)
    A = (A @ A.mT).requires_grad_()

    def values(A):
        return torch.lobpcg(A, 2)[0]

    assert torch.autograd.gradcheck(values, A)
    (gradient,) = torch.autograd.grad(values(A).sum(), A)
    assert torch.equal(gradient, gradient.mT)


@pytest.mark.parametrize("dtype", [torch.float32, torch.complex128])
def test_singular_matrices_cause_no_warnings_of_the_array_library(dtype):
    singular = torch.tensor([[1, 0], [0, 0]], dtype=dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # drops the filters that flambeau has set
        for p in ("fro", 2, None, 1):
            assert torch.linalg.cond(singular, p) == torch.inf
        for _ in range(2):
            assert torch.linalg.inv_ex(singular).info == torch.linalg.solve_ex(singular, singular).info == 2


@pytest.mark.parametrize("shape", [(3, 3), (2, 4), (4, 2)])
def test_both_triangles_of_lu_have_one_node(shape: tuple[int, int]) -> None:
    A = (torch.arange(float(shape[0] * shape[1]), dtype=torch.float64).reshape(shape).sin() + torch.eye(*shape)).requires_grad_()
    P, L, U = torch.linalg.lu(A)
    assert torch.allclose(P @ L @ U, A) and L.grad_fn is U.grad_fn and (L.output_nr, U.output_nr) == (0, 1)
    assert torch.autograd.gradcheck(lambda A: torch.linalg.lu(A)[1:], (A,))
    parts = torch.lu_unpack(*torch.linalg.lu_factor(A))
    assert parts[1].grad_fn is parts[2].grad_fn and parts[1].grad_fn.name() == "LuUnpackBackward0"

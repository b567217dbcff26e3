"""Linear algebra compared with PyTorch: values, dtypes, shapes, gradients and errors."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import flambeau  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")
DTYPES = ("float32", "float64", "complex64", "complex128")
INF = float("inf")


def matrices(*shape, seed=0, dtype="float64"):
    rng = np.random.default_rng(seed)
    made = rng.standard_normal(shape)
    if "complex" in dtype:
        made = made + 1j * rng.standard_normal(shape)
    return np.asarray(made).astype(dtype)


def positive(lib, x):
    return x @ x.mH + x.shape[-1] * lib.eye(x.shape[-1], dtype=x.dtype)


# Calls that the sample table lacks: more options, and results that are unique only up to a sign.
# name: (function `(torch, *tensors)`, shapes of the tensors)
CALLS = {
    "solve_triangular-unit": (lambda t, a, b: t.linalg.solve_triangular(a, b, upper=False, unitriangular=True), [(9, 9), (9, 2)]),
    "svd-full": (lambda t, a: t.linalg.svd(a).S, [(3, 3)]),
    "torch.svd-values": (lambda t, a: t.svd(a.detach(), compute_uv=False), [(4, 3)]),
    "eig": (lambda t, a: [x.abs() for x in t.linalg.eig(a)], [(2, 3, 3)]),
    "eigvals": (lambda t, a: t.linalg.eigvals(a).sum(), [(2, 3, 3)]),
    "lu_factor_ex": (lambda t, a: t.linalg.lu_factor_ex(a), [(2, 3, 4)]),
    "lu_solve-adjoint": (lambda t, a, b: t.linalg.lu_solve(*t.lu(a), b, left=False, adjoint=True), [(3, 3), (2, 3)]),
    "torch.lu": (lambda t, a: t.lu(a, get_infos=True), [(2, 3, 3)]),
    "torch.lu_solve": (lambda t, b, a: t.lu_solve(b, *t.lu(a)), [(3, 2), (3, 3)]),
    "lu_unpack-part": (lambda t, a: t.lu_unpack(*t.lu(a), unpack_pivots=False), [(3, 4)]),
    "pinv-tolerance": (lambda t, a: t.linalg.pinv(a, atol=0.1), [(3, 4)]),
    "lstsq-gels": (lambda t, a, b: t.linalg.lstsq(a, b, driver="gels"), [(4, 3), (4, 2)]),
    "lstsq-gelsd": (lambda t, a, b: t.linalg.lstsq(a, b, driver="gelsd"), [(4, 3), (4, 2)]),
    **{f"cond-{p}": (lambda t, a, p=p: t.linalg.cond(a, p), [(2, 3, 3)]) for p in (None, "nuc", 2, -2)},
    "matrix_rank-hermitian": (lambda t, a: t.linalg.matrix_rank(a @ a.mH, hermitian=True), [(4, 2)]),
    "ormqr-right": (lambda t, a, b: t.ormqr(*t.geqrf(a.detach()), b, left=False, transpose=True), [(4, 3), (2, 4)]),
    "geqrf-wide": (lambda t, a: t.geqrf(a.detach()), [(3, 5)]),
    "cholesky_solve-upper": (lambda t, b, a: t.cholesky_solve(b, t.cholesky(positive(t, a), True), True), [(3, 2), (3, 3)]),
    "pca_lowrank": (lambda t, a: t.pca_lowrank(a, 3)[1], [(6, 4)]),
    "ldl-hermitian": (lambda t, a: t.linalg.ldl_factor((a + a.mH).detach(), hermitian=True), [(4, 4)]),
    "empty-qr": (lambda t, a: t.linalg.qr(a), [(2, 3, 0)]),
    "empty-eigh": (lambda t, a: t.linalg.eigh(a), [(2, 0, 0)]),
    "empty-lu": (lambda t, a: t.linalg.lu(a), [(0, 2)]),
}  # fmt: skip

EQUATIONS = {
    "ij->ji": [(2, 3)], "i,i->i": [(3,), (3,)], "bij,bjk->bik": [(2, 3, 4), (2, 4, 5)], "...i->...": [(2, 3)], "i...->...": [(2, 3)],
    " a b , b -> a ": [(2, 3), (3,)], "...,...": [(2, 3), (3,)], "ij,ij->j": [(1, 3), (2, 3)],
    "ij,jk,kl,lm->im": [(2, 3), (3, 2), (2, 4), (4, 1)], "b...a,a...->...b": [(2, 3, 4), (4, 3)],
}  # fmt: skip


def run(lib, call, arrays, grad):
    tensors = [lib.tensor(each) for each in arrays]
    for each in tensors:
        each.requires_grad_(grad)
    made = call(lib, *tensors)
    results = list(made) if isinstance(made, (tuple, list)) else [made]
    total = 0
    if grad:
        for number, each in enumerate(each for each in results if each.requires_grad):
            weight = np.cos(np.arange(each.numel()) + number).reshape(tuple(each.shape))
            total = total + (each.abs() * lib.tensor(weight)).sum()
        if isinstance(total, int):
            return results, None
        total.backward()
    return results, [each.grad for each in tensors]


def assert_agree(call, arrays, tolerance=None, grad=True):
    ours, our_grads = run(flambeau, call, arrays, grad)
    theirs, their_grads = run(torch, call, arrays, grad)
    single = arrays[0].dtype.itemsize // (2 if arrays[0].dtype.kind == "c" else 1) == 4
    tolerance = tolerance or ({"rtol": 2e-3, "atol": 2e-3} if single else {"rtol": 1e-8, "atol": 1e-8})
    assert len(ours) == len(theirs)
    for one, other in zip(ours, theirs, strict=True):
        assert str(one.dtype).split(".")[-1] == str(other.dtype).split(".")[-1]
        assert tuple(one.shape) == tuple(other.shape)
        np.testing.assert_allclose(one.detach().resolve_conj().numpy(), other.detach().resolve_conj().numpy(), **tolerance)
    assert (our_grads is None) == (their_grads is None)
    for one, other in zip(our_grads or (), their_grads or (), strict=True):
        assert (one is None) == (other is None)
        if one is not None:
            np.testing.assert_allclose(one.resolve_conj().numpy(), other.resolve_conj().numpy(), **tolerance)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", CALLS)
def test_calls(name, dtype):
    call, shapes = CALLS[name]
    grad = name != "pca_lowrank" and not name.startswith("empty") and "float32" != dtype != "complex64"
    torch.manual_seed(0), flambeau.manual_seed(0)
    assert_agree(call, [matrices(*shape, seed=number, dtype=dtype) for number, shape in enumerate(shapes)], grad=grad)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("equation", EQUATIONS)
def test_einsum(equation, dtype):
    arrays = [matrices(*shape, seed=number, dtype=dtype) for number, shape in enumerate(EQUATIONS[equation])]
    assert_agree(lambda t, *tensors: t.einsum(equation, *tensors), arrays)


def test_einsum_of_integers_and_sublists():
    for lib in (torch, flambeau):
        x = lib.arange(6).reshape(2, 3)
        assert lib.einsum("ij,kj->ik", x, x).tolist() == [[5, 14], [14, 50]]
        assert lib.einsum(x, [0, 1], x, [2, 1], [0, 2]).tolist() == [[5, 14], [14, 50]]
        assert lib.einsum(x, [..., 1], [...]).tolist() == [3, 12]
        assert lib.einsum("ij,kj->ik", [x, x]).tolist() == [[5, 14], [14, 50]]


@pytest.mark.parametrize("mode", [f"{each}_mm_for_euclid_dist" for each in ("use", "donot_use")])
@pytest.mark.parametrize("p", [0.0, 1.0, 1.5, 2.0, 3.0, INF])
def test_cdist(p, mode):
    x, y = matrices(2, 4, 3), matrices(5, 3, seed=1)
    assert_agree(lambda t, a, b: t.cdist(a, b, p, mode), [x, y], grad=p > 0)
    assert_agree(lambda t, a, b: t.cdist(a, b, p), [matrices(0, 3), y], grad=False)
    assert_agree(lambda t, a, b: t.cdist(a, b, p), [matrices(30, 3), y], grad=p > 0)


def test_random_starts_are_pytorchs():
    torch.manual_seed(3), flambeau.manual_seed(3)
    assert_agree(lambda t, a: [each.abs() for each in t.svd_lowrank(a, 3)], [matrices(20, 8)], grad=False)


def test_lobpcg_finds_pytorchs_eigenvalues():
    x = matrices(12, 12)
    made = [lib.lobpcg(lib.tensor(x @ x.T), k=2)[0].numpy() for lib in (torch, flambeau)]
    np.testing.assert_allclose(*made, rtol=1e-4)


VECTOR, WIDE, THREE = "lib.ones(2)", "lib.ones(2, 3)", "lib.ones(3)"
LONG, HALF, ZERO = "lib.ones(2, 2).long()", "lib.ones(2, 2).half()", "lib.zeros(2, 2, 2)"
EYE, DOUBLE = "lib.eye(2)", "lib.eye(2).double()"
OF_ONE = [
    "linalg.cholesky", "linalg.inv", "linalg.inv_ex", "linalg.det", "linalg.slogdet", "linalg.qr", "linalg.svd",
    "linalg.svdvals", "linalg.eigh", "linalg.eigvalsh", "linalg.eig", "linalg.eigvals", "linalg.lu", "linalg.lu_factor",
    "linalg.lu_factor_ex", "linalg.ldl_factor_ex", "linalg.pinv", "linalg.matrix_exp", "linalg.matrix_norm",
    "linalg.vector_norm", "linalg.norm", "linalg.cond", "linalg.matrix_rank", "cholesky", "inverse", "pinverse", "det",
    "logdet", "qr", "svd", "lu", "geqrf", "cholesky_inverse",
]  # fmt: skip
PAIRS = [(VECTOR, VECTOR), (WIDE, VECTOR), (LONG, LONG), (EYE, DOUBLE), (EYE, "lib.ones(3, 2)"), (EYE, THREE), (ZERO, EYE)]
OLD_PAIRS = [(VECTOR, VECTOR), (WIDE, VECTOR), (LONG, LONG), (EYE, DOUBLE), (EYE, WIDE)]
TRIANGULAR_PAIRS = [(VECTOR, VECTOR), (WIDE, EYE), (LONG, LONG), (EYE, "lib.ones(3, 2)"), (EYE, VECTOR)]
SINGLE = """
lib.linalg.eigh(lib.eye(2), UPLO='X')
lib.linalg.qr(lib.eye(2), mode='x')
lib.linalg.matrix_power(lib.eye(2), 1.5)
lib.linalg.matrix_power(lib.ones(2, 3), 2)
lib.linalg.matrix_power(lib.ones(2, 2).long(), -1)
lib.linalg.multi_dot([lib.eye(2)])
lib.linalg.multi_dot([lib.ones(2), lib.eye(2), lib.ones(1, 2, 2)])
lib.linalg.multi_dot([lib.ones(2), lib.ones(2, 3), lib.ones(2, 3)])
lib.linalg.multi_dot([lib.eye(2), lib.ones(1, 2, 2), lib.eye(2)])
lib.linalg.tensorinv(lib.ones(2, 3), ind=0)
lib.linalg.tensorinv(lib.ones(2, 3), ind=1)
lib.linalg.tensorsolve(lib.ones(2, 3), lib.ones(2))
lib.linalg.householder_product(lib.ones(2), lib.ones(2))
lib.linalg.householder_product(lib.ones(2, 3), lib.ones(2))
lib.linalg.householder_product(lib.eye(2), lib.ones(3))
lib.linalg.householder_product(lib.eye(2), lib.ones(2).double())
lib.linalg.cross(lib.ones(2), lib.ones(2))
lib.cross(lib.ones(2), lib.ones(2))
lib.linalg.cross(lib.ones(3), lib.ones(2, 3))
lib.linalg.vecdot(lib.ones(2), lib.ones(3))
lib.linalg.vecdot(lib.ones(2), lib.ones(2).double())
lib.linalg.vander(lib.ones(2), N=0)
lib.linalg.vector_norm(lib.ones(0), float('inf'))
lib.linalg.vector_norm(lib.ones(2, 0), -1)
lib.linalg.vector_norm(lib.ones(2), 2, 5)
lib.linalg.vector_norm(lib.ones(2), 2, (0, 0))
lib.linalg.vector_norm(lib.ones(2), 2, dtype=lib.half)
lib.linalg.vector_norm(lib.ones(2), 2, dtype=lib.long)
lib.linalg.vector_norm(lib.ones(2), 'fro')
lib.linalg.matrix_norm(lib.eye(2), 'x')
lib.linalg.matrix_norm(lib.eye(2), 3)
lib.linalg.matrix_norm(lib.eye(2), 'fro', (0,))
lib.linalg.matrix_norm(lib.eye(2), 'fro', (0, 0))
lib.linalg.matrix_norm(lib.eye(2), 2, (0, 5))
lib.linalg.norm(lib.eye(2), 'fro', (0, 1, 2))
lib.linalg.norm(lib.ones(2, 2, 2), 'fro')
lib.linalg.norm(lib.ones(2), 'nuc')
lib.linalg.norm(lib.eye(2), 'fro', 0)
lib.linalg.cond(lib.ones(2, 3), 1)
lib.linalg.cond(lib.eye(2), 'x')
lib.linalg.cond(lib.eye(2), 3)
lib.tensordot(lib.eye(2), lib.ones(2, 3), 5)
lib.tensordot(lib.eye(2), lib.ones(2, 3), -1)
lib.tensordot(lib.eye(2), lib.ones(2, 3), ([0], [1]))
lib.tensordot(lib.eye(2), lib.ones(2, 3), ([0], [1, 2]))
lib.inner(lib.ones(2), lib.ones(3))
lib.einsum('ij,jk', lib.eye(2), lib.ones(3, 2))
lib.einsum('ij', lib.ones(2))
lib.einsum('i->ii', lib.ones(2))
lib.einsum('i->j', lib.ones(2))
lib.einsum('i,j->i', lib.ones(2))
lib.einsum('i')
lib.einsum('i#', lib.ones(2))
lib.einsum('i..', lib.ones(2))
lib.einsum('ii', lib.ones(2, 3))
lib.einsum(lib.ones(2))
lib.einsum('i,i->i..', lib.ones(2), lib.ones(2))
lib.einsum('ij->i', lib.ones(2), lib.ones(2))
lib.einsum(lib.eye(2), [0, 60])
lib.einsum('i,i', lib.ones(2), lib.ones(2).double())
lib.cdist(lib.eye(2), lib.ones(2, 3))
lib.cdist(lib.ones(2), lib.ones(2))
lib.cdist(lib.eye(2), lib.eye(2), -1)
lib.cdist(lib.eye(2), lib.eye(2), 2, 'x')
lib.cdist(lib.eye(2).long(), lib.eye(2).long())
lib.cdist(lib.eye(2), lib.eye(2).double())
lib.cdist(lib.eye(2).half(), lib.eye(2).half())
lib.lu_unpack(lib.eye(2), lib.tensor([1, 2]))
lib.lu_unpack(lib.ones(2), lib.tensor([1, 2]))
lib.lu_unpack(lib.eye(2), lib.tensor([1, 5]).int())
lib.linalg.lu_factor(lib.eye(2), pivot=False)
lib.linalg.lstsq(lib.eye(2), lib.eye(2), driver='x')
lib.linalg.svd(lib.eye(2), driver='gesvd')
lib.linalg.svd(lib.full((2, 2), float('nan')))
lib.linalg.eig(lib.full((2, 2), float('nan')))
lib.lobpcg(lib.eye(4), k=2)
lib.pca_lowrank(lib.ones(3, 4), q=9)
lib.linalg.inv([1])
lib.eig(lib.eye(2))
lib.solve(lib.eye(2), lib.eye(2))
""".strip().splitlines()
BAD = [
    *(f"lib.{name}({x})" for name in OF_ONE for x in (VECTOR, WIDE, LONG, HALF, ZERO)),
    *(f"lib.linalg.{name}({x}, {y})" for name in ("solve", "solve_ex", "lstsq") for x, y in PAIRS),
    *(f"lib.{name}({x}, {y})" for name in ("cholesky_solve", "triangular_solve") for x, y in OLD_PAIRS),
    *(f"lib.linalg.solve_triangular({x}, {y}, upper=True)" for x, y in TRIANGULAR_PAIRS),
    *SINGLE,
]


def outcome(lib, text):
    try:
        eval(text, {"lib": lib})
    except Exception as error:
        return type(error).__name__, str(error).splitlines()[0][:60]
    return None


@pytest.mark.parametrize("text", BAD)
def test_errors(text):
    assert outcome(flambeau, text) == outcome(torch, text)

"""Sparse tensors, compared with dense tensors and SciPy's sparse arrays."""

from __future__ import annotations

import copy
import io
import subprocess
import sys

import numpy as np
import pytest

import flambeau as torch

LAYOUTS = ["sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc"]


def dense(*shape, seed=0, share=0.4, dtype=torch.float64):
    generator = np.random.default_rng(seed)
    return torch.tensor(np.where(generator.random(shape) < share, generator.standard_normal(shape), 0.0)).to(dtype)


def sparse(tensor, layout):
    blocks = (2, 3) if layout in ("sparse_bsr", "sparse_bsc") else None
    return tensor.to_sparse(layout=getattr(torch, layout), blocksize=blocks)


def assert_close(a, b):
    torch.testing.assert_close(a, b)


# --- layouts ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("other", LAYOUTS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_conversions(layout, other):
    a = dense(4, 6)
    s = sparse(sparse(a, layout), other) if layout != other else sparse(a, layout)
    assert s.layout is getattr(torch, other)
    assert_close(s.to_dense(), a)


@pytest.mark.parametrize(
    ("layout", "name"), [("sparse_csr", "csr_array"), ("sparse_csc", "csc_array"), ("sparse_bsr", "bsr_array")]
)
def test_parts_are_those_of_scipy(layout, name):
    scipy = pytest.importorskip("scipy.sparse")
    a = dense(4, 6)
    ours = sparse(a, layout)
    options = {"blocksize": (2, 3)} if layout == "sparse_bsr" else {}
    theirs = getattr(scipy, name)(a.numpy(), **options)
    theirs.sort_indices()
    parts = (ours.ccol_indices(), ours.row_indices()) if layout == "sparse_csc" else (ours.crow_indices(), ours.col_indices())
    assert parts[0].tolist() == theirs.indptr.tolist()
    assert parts[1].tolist() == theirs.indices.tolist()
    assert ours.values().tolist() == theirs.data.tolist()


def test_entries_in_one_place_are_added():
    s = torch.sparse_coo_tensor([[1, 0, 1], [2, 1, 2]], [1.0, 2.0, 3.0], (2, 3))
    assert s.to_dense().tolist() == [[0, 2, 0], [0, 0, 4]]
    c = s.coalesce()
    assert (c.indices().tolist(), c.values().tolist(), c.is_coalesced()) == ([[0, 1], [1, 2]], [2, 4], True)
    with pytest.raises(RuntimeError, match="uncoalesced"):
        s.values()


def test_dense_dimensions():
    a = dense(3, 4, 2)
    s = a.to_sparse(2)
    assert (s.sparse_dim(), s.dense_dim(), s.values().shape[1:]) == (2, 1, (2,))
    assert_close(s.to_dense(), a)
    assert_close(torch.sparse.sum(s, (0, 2)).to_dense(), a.sum((0, 2)))


def test_values_share_memory():
    values = torch.ones(2)
    s = torch.sparse_coo_tensor([[0, 2]], values, (3,))
    values[0] = 5
    assert s.to_dense().tolist() == [5, 0, 1]


@pytest.mark.parametrize(
    ("indices", "values", "size", "message"),
    [
        ([[0, 1]], [1.0], (3,), "same nnz"),
        ([0, 1], [1.0, 2.0], (3,), "sparse_dim x nnz"),
        ([[0, 1]], [1.0, 2.0], (3, 3), "number of dimensions"),
        ([[0, 7]], [1.0, 2.0], (3,), "found index 7"),
        ([[0, -1]], [1.0, 2.0], None, "negative index -1"),
    ],
)
def test_parts_that_do_not_fit(indices, values, size, message):
    with pytest.raises(RuntimeError, match=message):
        torch.sparse_coo_tensor(indices, values, size, check_invariants=True)


@pytest.mark.parametrize(
    ("crow", "col", "message"),
    [([1, 1, 2], [0, 1], "0. == 0"), ([0, 1, 3], [0, 1], "nnz"), ([0, 2, 2], [1, 0], "sorted"), ([0, 1, 2], [0, 9], "ncols")],
)
def test_compressed_parts_that_do_not_fit(crow, col, message):
    with pytest.raises(RuntimeError, match=message):
        torch.sparse_csr_tensor(crow, col, [1.0, 2.0], (2, 2), check_invariants=True)


# --- computing ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", LAYOUTS)
def test_products(layout):
    a, x, v = dense(4, 6), dense(6, 5, seed=1, share=1), dense(6, seed=2, share=1)
    s = sparse(a, layout)
    assert_close(s @ x, a @ x)
    assert_close(s @ v, a @ v)
    assert_close(torch.sparse.mm(s, x), a @ x)
    assert_close(x.mT @ s.transpose(0, 1), x.mT @ a.mT)
    assert_close(torch.addmm(torch.ones(4, 5, dtype=torch.float64), s, x, beta=2, alpha=3), 2 + 3 * (a @ x))
    assert_close((s @ s.transpose(0, 1).to_sparse_csr()).to_dense(), a @ a.mT)


def test_transposes_and_conjugates():
    a = torch.complex(dense(2, 3), dense(2, 3, seed=1))
    for layout in LAYOUTS:
        s = sparse(a, layout)
        for turned in (s.H, s.mH, s.adjoint()):
            assert_close(turned.to_dense(), a.mH)
        assert_close(s.mT.to_dense(), a.mT)
        assert_close(s.conj().to_dense(), a.conj())
        assert not s.conj().is_conj()
    batch = torch.stack([a, 2 * a]).to_sparse()
    assert_close(batch.mT.to_dense(), batch.to_dense().mT)
    assert_close(batch.mH.to_dense(), batch.to_dense().mH)
    with pytest.raises(RuntimeError, match="tensor.H is only supported on matrices"):
        _ = batch.H
    with pytest.raises(RuntimeError, match="mT is only supported on matrices or batches of matrices"):
        _ = dense(3).to_sparse().mT
    real = dense(2, 2).to_sparse()
    assert real.conj() is real


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.int64, torch.complex128])
def test_products_of_other_dtypes(dtype):
    a, x = dense(4, 6).mul(5).round().to(dtype), dense(6, 2, seed=1).mul(5).round().to(dtype)
    assert_close((a.to_sparse() @ x).to(torch.complex128), (a @ x).to(torch.complex128))


def test_without_scipy():
    """Sparse products without SciPy use array operations."""
    code = (
        "import sys; sys.modules['scipy'] = sys.modules['scipy.sparse'] = None\n"
        "import flambeau as torch\n"
        "s = torch.tensor([[0, 0, 3.0], [4, 0, 5], [1, 0, 0]]).to_sparse_csr(); x = torch.arange(6.0).reshape(3, 2)\n"
        "print((s @ x).tolist(), torch.sparse.spsolve(s + torch.eye(3).to_sparse_csr(), torch.ones(3)).tolist())"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    a = np.array([[0, 0, 3.0], [4, 0, 5], [1, 0, 0]])
    product, solution = eval(run.stdout.replace("] [", "], ["))
    np.testing.assert_allclose(product, a @ np.arange(6.0).reshape(3, 2))
    np.testing.assert_allclose(solution, np.linalg.solve(a + np.eye(3), np.ones(3)), rtol=1e-5)


def test_solving():
    a = (dense(6, 6) + 5 * torch.eye(6, dtype=torch.float64)).requires_grad_()
    b = dense(6, 2, share=1, seed=3).requires_grad_()
    s = a.detach().to_sparse_csr().requires_grad_()
    x = torch.sparse.spsolve(s, b)
    assert_close(x, torch.linalg.solve(a, b))
    x.square().sum().backward()
    found, b.grad = b.grad, None
    torch.linalg.solve(a, b).square().sum().backward()
    assert_close(found, b.grad)
    assert_close(s.grad.to_dense(), torch.where(a != 0, a.grad, 0.0))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_arithmetic(layout):
    a, b = dense(4, 6), dense(4, 6, seed=1)
    s, t = sparse(a, layout), sparse(b, layout)
    assert_close((s + t).to_dense(), a + b)
    assert_close((s - t).to_dense(), a - b)
    assert_close(torch.add(s, t, alpha=3).to_dense(), a + 3 * b)
    assert_close((s * t).to_dense(), a * b)
    assert_close((s * b).to_dense(), a * b)
    assert_close((2 * s / 4).to_dense(), a / 2)
    assert_close(b + s, a + b)
    assert_close((-s).sin().to_dense(), (-a).sin())
    assert_close(s.sum(), a.sum())


def test_reductions_and_softmax():
    a = dense(4, 6)
    s = a.to_sparse()
    for dim in (0, 1, -1):
        assert_close(torch.sparse.sum(s, dim).to_dense(), a.sum(dim))
        masked = torch.where(a != 0, a, -torch.inf)
        assert_close(torch.sparse.softmax(s, dim).to_dense(), torch.where(a != 0, masked.softmax(dim), 0.0))
    assert_close(s.norm(), a.norm())


def test_parts_and_joins():
    a = dense(4, 6)
    s, columns = a.to_sparse(), torch.tensor([5, 0, 0])
    assert_close(s[2].to_dense(), a[2])
    assert_close(s[1:3].to_dense(), a[1:3])
    assert_close(s[:, ::2].to_dense(), a[:, ::2])
    assert_close(s.index_select(1, columns).to_dense(), a[:, columns])
    assert_close(torch.cat([s, s], 1).to_dense(), torch.cat([a, a], 1))
    assert_close(torch.stack([s, s], 1).to_dense(), torch.stack([a, a], 1))
    assert_close(s.sparse_mask(torch.ones(4, 6).to_sparse()).to_dense(), a)


def test_in_place():
    a = dense(4, 6)
    s, x = a.to_sparse(), torch.ones(4, 6, dtype=torch.float64)
    same = s
    s *= 2
    s.add_(a.to_sparse())
    assert s is same
    assert_close(s.to_dense(), 3 * a)
    x.add_(s, alpha=0.5)
    assert_close(x, 1 + 1.5 * a)
    assert s.zero_()._nnz() == 0


def test_in_place_results_are_cast_if_the_dtype_can_hold_them():
    s = torch.eye(2, dtype=torch.uint8).to_sparse()
    assert s.add_(torch.eye(2, dtype=torch.int16).to_sparse()).dtype is torch.uint8
    with pytest.raises(RuntimeError, match="can't be cast"):
        s.mul_(torch.eye(2).to_sparse())


@pytest.mark.parametrize("layout", ["sparse_coo", "sparse_csr"])
def test_foreach(layout):
    a, b = dense(4, 6), dense(4, 6, seed=1)
    tensors = [sparse(a, layout), sparse(b, layout)]
    assert_close([each.to_dense() for each in torch._foreach_add(tensors, tensors)], [2 * a, 2 * b])
    assert_close([each.to_dense() for each in torch._foreach_pow(tensors, 2)], [a**2, b**2])
    assert torch._foreach_mul_(tensors, [2.0, 3.0]) is tensors
    torch._foreach_neg_(tensors)
    assert_close([each.to_dense() for each in tensors], [-2 * a, -3 * b])


def test_products_of_coo_tensors_broadcast():
    a, row, number = dense(2, 3, 4), dense(3, 1, seed=1), torch.tensor(2.0, dtype=torch.float64)
    assert_close((a.to_sparse() * row.to_sparse()).to_dense(), a * row)
    assert_close((number.to_sparse() * a.to_sparse(2)).to_dense(), 2 * a)
    assert_close((a.to_sparse(2) * row.to_sparse(1)).to_dense(), a * row)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_results_are_written_to_out(layout):
    a, b, x = dense(4, 6), dense(4, 6, seed=1), dense(6, 3, seed=2, share=1)
    s, t = sparse(a, layout), sparse(b, layout)
    for function, expected in ((lambda out: torch.add(s, t, out=out), a + b), (lambda out: torch.neg(s, out=out), -a),
                               (lambda out: torch.mul(s, 2, out=out), 2 * a), (lambda out: torch.asin(s / 9, out=out), (a / 9).asin())):  # fmt: skip
        out = sparse(b, layout)
        assert function(out) is out
        assert out.layout is s.layout
        assert_close(out.to_dense(), expected)
    out = torch.empty(4, 3, dtype=torch.float64)
    assert torch.mm(s, x, out=out) is out
    assert_close(out, a @ x)
    assert_close(torch.addmm(out.clone(), s, x, out=out), 2 * (a @ x))
    assert_close(torch.mv(s, x[:, 0], out=torch.empty(4, dtype=torch.float64)), a @ x[:, 0])


def test_out_is_not_differentiable_and_keeps_its_dtype():
    s = torch.eye(2).to_sparse()
    assert torch.sin(s, out=s.double()).dtype is torch.float64
    with pytest.raises(RuntimeError, match="can't be cast"):
        torch.sin(s, out=s.int())
    with pytest.raises(RuntimeError, match="don't support automatic differentiation"):
        torch.sin(s.clone().requires_grad_(), out=s.clone())
    with pytest.raises(RuntimeError, match="sparse_coo"):
        torch.mm(torch.eye(2), torch.eye(2), out=s)


def test_what_there_is_no_operation_for_says_so():
    with pytest.raises(NotImplementedError, match="aten::cos.*SparseCPU"):
        torch.eye(2).to_sparse().cos()
    with pytest.raises(TypeError, match="to_dense"):
        torch.eye(2).to_sparse().numpy()


# --- creation and shapes ------------------------------------------------------------------------------------------


def test_values_of_coo_tensors_may_be_a_number():
    s = torch.sparse_coo_tensor([[0], [1]], 3.0, (2, 2))
    assert s.to_dense().tolist() == [[0, 3], [0, 0]]
    assert s.is_coalesced()  # a single entry is sorted and unique
    assert not torch.sparse_coo_tensor([[0, 1]], [1.0, 2.0]).is_coalesced()
    with pytest.raises(RuntimeError, match="nnz from values: 1"):
        torch.sparse_coo_tensor(torch.empty(1, 0), 3.0, (2,))


def test_new_constructs_a_coo_tensor_of_the_same_dtype():
    s = dense(2, 3).to_sparse()
    assert s.new().shape == (0,)
    assert s.new(4, 2).dtype is s.new(torch.Size([4, 2])).dtype is torch.float64
    assert_close(s.new(s.indices(), s.values(), s.shape).to_dense(), s.to_dense())
    with pytest.raises(TypeError):
        s.new([6])
    with pytest.raises(TypeError):
        s.new(s.values())


@pytest.mark.parametrize("layout", ["sparse_csr", "sparse_csc"])
def test_zeros_in_compressed_layouts_have_batches(layout):
    layout = getattr(torch, layout)
    s = torch.zeros(2, 3, 4, layout=layout)
    assert s.layout is layout
    assert s.values().shape == (2, 0)
    assert_close(s.to_dense(), torch.zeros(2, 3, 4))
    assert torch.zeros_like(torch.eye(2).to_sparse(), layout=layout).layout is layout
    assert torch.eye(2).to_sparse(layout=layout).new_zeros(2, 3, 4).shape == (2, 3, 4)
    with pytest.raises(RuntimeError, match="got size"):
        torch.zeros(3, layout=layout)


@pytest.mark.parametrize("layout", LAYOUTS[1:])
def test_compressed_tensors_are_filled_at_their_indices(layout):
    s = sparse(dense(4, 6), layout)
    for filled in (torch.full_like(s, 7), torch.ones_like(s) * 7, s.clone().fill_(7)):
        assert_close(filled.to_dense(), torch.ones_like(s).to_dense() * 7)
    assert torch.empty_like(s)._nnz() == s._nnz()
    with pytest.raises(RuntimeError, match="different sparse layout"):
        torch.empty_like(s, layout=torch.sparse_coo)


def test_zeros_like_and_new_zeros_of_dense_tensors_take_a_layout():
    x = torch.ones(2, 3, dtype=torch.float64)
    for layout in (torch.sparse_coo, torch.sparse_csr, torch.sparse_csc):
        for zeros in (torch.zeros_like(x, layout=layout, requires_grad=True), x.new_zeros((2, 3), layout=layout)):
            assert (zeros.layout, zeros.shape, zeros.dtype, zeros._nnz()) == (layout, (2, 3), torch.float64, 0)
    with pytest.raises(NotImplementedError):
        torch.ones_like(x, layout=torch.sparse_coo)
    assert torch.ones_like(x, layout=torch.strided).layout is x.new_ones(2, layout=torch.strided).layout is torch.strided


def test_products_without_elements():
    s = torch.zeros(2, 0, 3).to_sparse()
    assert torch.bmm(s, torch.ones(2, 3, 4)).shape == (2, 0, 4)
    embedding = torch.nn.Embedding(5, 0, sparse=True)
    embedding(torch.tensor([1])).sum().backward()
    assert embedding.weight.grad.shape == (5, 0)


@pytest.mark.parametrize("layout", ["sparse_csr", "sparse_csc"])
def test_products_of_compressed_matrices_keep_the_layout(layout):
    s = sparse(dense(4, 4), layout)
    assert torch.sparse.mm(s, s).layout is s.layout
    assert torch.addmm(s, s, s, beta=0).layout is s.layout
    assert torch.addmm(torch.ones(4, 4).double(), s, s, beta=0).layout is torch.strided


def test_sums_with_a_sparse_input():
    a, x = dense(3, 3), dense(3, 3, seed=1, share=1)
    assert_close(torch.saddmm(a.to_sparse(), a.to_sparse(), x, beta=2, alpha=3).to_dense(), 2 * a + 3 * a @ x)
    zeros = torch.zeros(3, 3, layout=torch.sparse_coo)
    assert_close((zeros + a.to_sparse(1)).to_dense(), a)  # a tensor without entries may have other dense dimensions


def test_uses_of_sparse_tensors_that_raise_errors():
    s = torch.eye(2).to_sparse()
    with pytest.raises(TypeError, match="Cannot assign to a sparse tensor"):
        s[0] = 1
    with pytest.raises(RuntimeError, match="overflow"):
        torch.sparse_coo_tensor(torch.ones(4, 1).long(), [1], (2**16,) * 4)
    with pytest.raises(RuntimeError, match="memory format"):
        torch.zeros_like(s, memory_format=torch.channels_last)
    assert torch.sparse_coo_tensor([[0]], 2.0, (1,)).is_nonzero()


def test_zeros_are_written_to_a_sparse_out():
    s = torch.eye(2).to_sparse()
    assert torch.zeros(3, 2, out=s) is s
    assert (s.shape, s._nnz()) == ((3, 2), 0)


def test_resize_csr():
    s = torch.tensor([[1.0, 0], [2, 3]]).to_sparse_csr()
    assert s.clone().resize_(3, 3).to_dense().tolist() == [[1, 0, 0], [2, 3, 0], [0, 0, 0]]
    assert s.clone().resize_as_(torch.ones(1, 2))._nnz() == 2
    batch = torch.ones(3, 2, 2).to_sparse_csr()
    assert_close(batch.resize_(2, 2, 2).to_dense(), torch.ones(2, 2, 2))
    with pytest.raises(RuntimeError, match="Resizing columns"):
        s.resize_(2, 1)
    with pytest.raises(RuntimeError, match="Only batched sparse CSR"):
        s.resize_(4)


def test_resize_coo():
    s = torch.sparse_coo_tensor([[1]], [[5.0, 6]], (2, 2))
    assert s.resize_as_(torch.sparse_coo_tensor([[0]], [[0.0, 0, 0]], (3, 3))).to_dense()[1].tolist()[:2] == [5, 6]
    assert s.shape == (3, 3)
    with pytest.raises(RuntimeError, match="shrinking the size of sparse dimensions"):
        s.sparse_resize_((1, 3), 1, 1)
    with pytest.raises(RuntimeError, match="changing the number of sparse dimensions"):
        s.sparse_resize_((3, 3), 2, 0)


def test_nonlinear_functions_in_place_need_a_coalesced_tensor():
    s = torch.sparse_coo_tensor([[0, 0]], [1.0, 2.0], (2,))
    with pytest.raises(RuntimeError, match="sin_ requires coalesced input"):
        s.sin_()
    assert s.neg_().to_dense().tolist() == [-3, 0]


# --- gradients ----------------------------------------------------------------------------------------------------

FUNCTIONS = {
    "mm": lambda s, x: torch.sparse.mm(s, x),
    "product": lambda s, x: s * x.mT,
    "sum": lambda s, x: torch.sparse.sum(s * 2, 0).to_dense(),
    "softmax": lambda s, x: torch.sparse.softmax(s, 1).to_dense(),
    "log_softmax": lambda s, x: torch.sparse.log_softmax(s, 0).to_dense(),
    "square": lambda s, x: torch.sparse.mm(s, s.t()).to_dense(),
    "sines": lambda s, x: (s.sin() + s * s).to_dense(),
    "layouts": lambda s, x: s.to_sparse_csr().to_sparse_csc().to_dense(),
    "parts": lambda s, x: torch.cat([s[1:], s.index_select(0, torch.tensor([0, 0]))]).to_dense(),
    "values": lambda s, x: s.coalesce().values() ** 2,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_derivatives(name):
    a, x = dense(3, 4), dense(4, 3, seed=1, share=1).requires_grad_()
    inputs = (a.to_sparse().requires_grad_(), x)
    check = torch.sparse.as_sparse_gradcheck(torch.autograd.gradcheck)
    assert check(FUNCTIONS[name], inputs, masked=True)
    again = torch.sparse.as_sparse_gradcheck(torch.autograd.gradgradcheck)
    assert again(FUNCTIONS[name], inputs)


def test_gradients_of_sparse_leaves():
    a, x = dense(3, 4), dense(4, 3, seed=1, share=1)
    s = a.to_sparse_csr().requires_grad_()
    torch.sparse.mm(s, x).sum().backward()
    assert s.grad.layout is torch.sparse_csr
    torch.sparse.mm(s, x).sum().backward()
    assert_close(s.grad.to_dense(), 2 * torch.where(a != 0, x.sum(1).expand(3, 4), 0.0))
    s.grad = None
    (s @ x).sum().backward()
    assert_close(s.grad, x.sum(1).expand(3, 4))
    (g,) = torch.autograd.grad(torch.sparse.mm(s, x).sum(), s)
    assert g.layout is torch.sparse_csr


@pytest.mark.parametrize("layout", ["sparse_coo", "sparse_csr"])
def test_gradients_of_products_where_one_operand_has_no_entry(layout):
    a, b = torch.tensor([[1.0, 0, 2], [0, 3, 0]]), torch.tensor([[0.0, 5, 7], [0, 0, 0]])
    x, y = sparse(a, layout).requires_grad_(), sparse(b, layout).requires_grad_()
    (x * y).backward(sparse(torch.ones(2, 3), layout))
    assert x.grad.layout is y.grad.layout is x.layout
    assert_close(x.grad.to_dense(), b)
    assert_close(y.grad.to_dense(), a)
    x.grad = None
    (x * b).sum().backward()
    assert_close(x.grad, b)


@pytest.mark.parametrize("function", [lambda s: s + s, lambda s: -s, lambda s: s * 2, lambda s: s / 0.5, lambda s: s.clone(),
                                      lambda s: s.t(), lambda s: s - s * 3, lambda s: s.float()])  # fmt: skip
@pytest.mark.parametrize("layout", ["sparse_coo", "sparse_csr"])
def test_gradients_of_linear_functions_are_dense_below_a_sum(layout, function):
    s = sparse(dense(3, 4), layout).requires_grad_()
    function(s).sum().backward()
    x = torch.zeros(3, 4, dtype=torch.float64, requires_grad=True)
    function(x).sum().backward()
    assert_close(s.grad, x.grad)


@pytest.mark.parametrize("function", [lambda s: torch.cat([s, s * 2], 1), lambda s: s.unsqueeze(1), lambda s: s[1], lambda s: s[:, 1:3],
                                      lambda s: s.index_select(0, torch.tensor([2, 0, 2]))])  # fmt: skip
def test_gradients_of_joins_and_parts_are_dense_below_a_sum(function):
    s, x = dense(3, 4).to_sparse().requires_grad_(), torch.zeros(3, 4, dtype=torch.float64, requires_grad=True)
    function(s).sum().backward()
    function(x).sum().backward()
    assert_close(s.grad, x.grad)


@pytest.mark.parametrize("function", [lambda s: s.select(2, 1), lambda s: s.select(0, 1), lambda s: s.narrow_copy(2, 1, 2),
                                      lambda s: s.narrow_copy(1, 1, 2), lambda s: s.index_select(2, torch.tensor([2, 0, 2]))])  # fmt: skip
def test_sparse_gradients_of_parts(function):
    a = dense(2, 3, 4)
    s, x = a.to_sparse(2).requires_grad_(), a.clone().requires_grad_()
    function(s).to_dense(masked_grad=False).square().sum().backward()
    x.narrow_copy = lambda dim, start, length: x.narrow(dim, start, length)
    function(x).square().sum().backward()
    assert s.grad.is_sparse
    assert_close(s.grad.to_dense(), x.grad)


@pytest.mark.parametrize("other", LAYOUTS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_gradients_of_conversions_have_the_layout_of_the_tensor(layout, other):
    s = sparse(dense(4, 6), layout).requires_grad_()
    sparse(s, other).to_dense(masked_grad=False).sum().backward()
    assert s.grad.layout is s.layout
    assert_close(s.grad.to_dense(), torch.ones(4, 6, dtype=torch.float64))
    s.grad = None
    (s if layout.startswith("sparse_b") else s.to_sparse(layout=s.layout)).to_dense().sum().backward()
    assert s.grad._nnz() == s._nnz()


@pytest.mark.parametrize("layout", ["sparse_coo", "sparse_csr"])
def test_gradients_of_products_in_place(layout):
    a, b = torch.tensor([[1.0, 0, 2], [0, 3, 0]]), torch.tensor([[0.0, 5, 7], [0, 0, 0]])
    x, y = sparse(a, layout).requires_grad_(), sparse(b, layout).requires_grad_()
    x.clone().mul_(y).backward(sparse(torch.ones(2, 3), layout))
    assert_close(x.grad.to_dense(), b)
    assert_close(y.grad.to_dense(), a)


@pytest.mark.parametrize("function", [lambda s: s.to_dense() ** 2, lambda s: torch.sparse.mm(s, torch.ones(3, 2)), torch.sparse.sum,
                                      lambda s: s.coalesce().values(), lambda s: (s * 2).to_dense(), lambda s: s.t().to_dense(),
                                      lambda s: s.abs().to_dense(), lambda s: s.index_select(1, torch.tensor([2, 0])).to_dense()])  # fmt: skip
def test_gradients_of_tensors_with_duplicate_entries(function):
    x = torch.tensor([[0.0, 0, 3], [4, 0, 0]])
    s = torch.sparse_coo_tensor([[0, 0, 1], [2, 2, 0]], [1.0, 2, 4], (2, 3)).requires_grad_()
    values = torch.tensor([1.0, 2, 4], requires_grad=True)
    expected = x.to_sparse().requires_grad_()
    function(s).sum().backward()
    function(expected).sum().backward()
    function(torch.sparse_coo_tensor(s._indices(), values, (2, 3))).sum().backward()
    assert_close(s.grad.to_dense(), expected.grad.to_dense())
    assert_close(values.grad, expected.grad.to_dense()[[0, 0, 1], [2, 2, 0]])


@pytest.mark.parametrize("layout", ["sparse_coo", "sparse_csr"])
def test_products_check_that_saved_operands_are_unchanged(layout):
    x, y = (sparse(torch.eye(2), layout).requires_grad_() for _ in range(2))
    other = x.clone()
    product = other * y
    other.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        product.sum().backward()


def test_hooks_see_sparse_gradients():
    weight, seen = torch.ones(3, 2, requires_grad=True), []
    weight.register_hook(lambda grad: seen.append(grad.is_sparse) or grad * 2)
    torch.nn.functional.embedding(torch.tensor([1, 1]), weight, sparse=True).sum().backward()
    assert seen == [True]
    assert weight.grad.to_dense().tolist() == [[0, 0], [4, 4], [0, 0]]


@pytest.mark.parametrize("padding", [None, 1])
def test_embedding(padding):
    words = torch.nn.Embedding(4, 2, sparse=True, padding_idx=padding)
    words(torch.tensor([[1, 3], [3, 0]])).sum().backward()
    grad = words.weight.grad
    assert grad.is_sparse
    assert grad._nnz() == (4 if padding is None else 3)
    assert grad.to_dense()[:, 0].tolist() == [1, 1 if padding is None else 0, 0, 2]


@pytest.mark.parametrize("mode", ["sum", "mean"])
def test_embedding_bag(mode):
    def run(sparse):
        torch.manual_seed(0)
        bags = torch.nn.EmbeddingBag(5, 3, mode=mode, sparse=sparse, padding_idx=2)
        out = bags(torch.tensor([1, 2, 4, 4]), torch.tensor([0, 2]))
        (out * out).sum().backward()
        return out, bags.weight.grad

    (out, grad), (expected, other) = run(True), run(False)
    assert grad.is_sparse
    assert_close(out, expected)
    assert_close(grad.to_dense(), other)


def test_a_gradient_through_what_was_looked_up():
    """The sparse gradient of an embedding becomes dense if the table is computed by another operation."""
    base = torch.ones(3, 2, requires_grad=True)
    torch.nn.functional.embedding(torch.tensor([1, 1]), base * 3, sparse=True).sum().backward()
    assert base.grad.tolist() == [[0, 0], [6, 6], [0, 0]]


def test_optimizers_that_take_them():
    for optimizer_class in (torch.optim.SGD, torch.optim.Adagrad, torch.optim.SparseAdam):
        words = torch.nn.Embedding(4, 2, sparse=True)
        before, optimizer = words.weight.detach().clone(), optimizer_class(words.parameters(), lr=0.1)
        words(torch.tensor([1, 1])).sum().backward()
        optimizer.step()
        assert (words.weight != before).any(1).tolist() == [False, True, False, False]
        words.weight.grad = torch.ones(4, 2)
    with pytest.raises(RuntimeError, match="SparseAdam does not support dense gradients"):
        optimizer.step()


def test_clipping():
    words = torch.nn.Embedding(4, 2, sparse=True)
    words(torch.tensor([1, 1])).sum().backward()
    assert torch.nn.utils.clip_grad_norm_(words.parameters(), 1.0).item() == pytest.approx(8**0.5)
    assert words.weight.grad.to_dense().norm().item() == pytest.approx(1)


# --- as objects ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", LAYOUTS)
def test_saving_and_copying(layout):
    s = sparse(dense(4, 6), layout)
    file = io.BytesIO()
    torch.save({"s": s}, file)
    file.seek(0)
    loaded = torch.load(file)["s"]
    for each in (loaded, copy.deepcopy(s), s.clone()):
        assert repr(each) == repr(s)
        assert each is not s


def test_a_file_with_indices_outside_of_the_tensor_is_refused():
    file = io.BytesIO()
    torch.save(torch.sparse_coo_tensor([[0, 9]], [1.0, 2.0], (3,)), file)
    file.seek(0)
    with pytest.raises(RuntimeError, match="found index 9"):
        torch.load(file)


def test_a_dense_program_does_not_load_it():
    """Dense programs do not import `flambeau.sparse`, nor does importing `flambeau.extension`."""
    code = "import flambeau as torch, sys, flambeau.extension; torch.ones(2).sum(); print('flambeau.sparse' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


@pytest.mark.parametrize("layout", ["sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128", "float16"])
def test_products_in_each_layout(layout, dtype):
    """Sparse matrix products from both sides, in each layout, with and without a matching SciPy class."""
    rng = np.random.default_rng(0)
    a = rng.standard_normal((4, 6)) * (rng.random((4, 6)) < 0.5)
    x, y = rng.standard_normal((6, 3)), rng.standard_normal((3, 4))
    kind = getattr(torch, dtype)
    options = {"blocksize": (2, 3)} if layout.startswith("sparse_bs") else {}
    s = torch.tensor(a, dtype=kind).to_sparse(layout=getattr(torch, layout), **options)
    tolerance = {"float16": 2e-2, "float32": 1e-5}.get(dtype, 1e-12)
    np.testing.assert_allclose((s @ torch.tensor(x, dtype=kind)).numpy(), a @ x, atol=tolerance)
    np.testing.assert_allclose((torch.tensor(y, dtype=kind) @ s).numpy(), y @ a, atol=tolerance)


def test_legacy_types():
    i, v = torch.tensor([[0, 1], [1, 0]]), torch.tensor([2.0, 3.0])
    x = torch.sparse.FloatTensor(i, v, torch.Size([2, 2]))
    assert isinstance(x, torch.sparse.FloatTensor) and not isinstance(x, torch.sparse.DoubleTensor)
    assert not isinstance(v, torch.sparse.FloatTensor) and x.to_dense().tolist() == [[0, 2], [3, 0]]
    assert torch.sparse.LongTensor(2, 3).shape == (2, 3) and torch.sparse.LongTensor((2, 3)).dtype is torch.int64
    with pytest.raises(TypeError, match="a size"):
        torch.sparse.FloatTensor([[0]], [1.0])
    assert torch.dsmm(x, torch.eye(2)).tolist() == [[0, 2], [3, 0]]
    assert torch.hsmm(x, torch.eye(2)).to_dense().tolist() == [[0, 2], [3, 0]]


# --- batches of compressed matrices -------------------------------------------------------------------------------

BATCH = torch.tensor([[[1.0, 0, 2, 0], [0, 3, 0, 4]], [[0, 5, 0, 6], [7, 0, 8, 0]]], dtype=torch.float64)


def batch_of(layout, a=BATCH):
    blocks = (1, 2) if layout in ("sparse_bsr", "sparse_bsc") else None
    return a.to_sparse(layout=getattr(torch, layout), blocksize=blocks)


@pytest.mark.parametrize("layout", LAYOUTS[1:])
def test_batches(layout):
    a, s = BATCH, batch_of(layout)
    assert s.layout is getattr(torch, layout) and s.dense_dim() == 0
    assert s.values().shape[:2] == (2, 4)
    expected = {
        a: (s, s.clone(), s.to_sparse(), s.to(torch.float32).to(torch.float64), torch.empty_like(s).copy_(s)),
        a.mT: (s.mT, s.transpose(-1, -2), s.mH),
        2 * a: (s * 2, 2 * s, s + s, s.clone().mul_(2), s + a, a + s),
        a.sin(): (s.sin(),),
        0 * a: (torch.zeros_like(s), s.clone().zero_()),
        a[1]: (s[1], s[-1], s.select(0, 1), s.unbind(0)[1]),
        a[1, 0]: (s[1, 0],),
    }
    for wanted, found in expected.items():
        for result in found:
            assert_close(result if result.layout is torch.strided else result.to_dense(), wanted)
    assert float(s.sum()) == float(a.sum())
    assert s[1].layout is s.layout
    assert_close(batch_of(layout, a.reshape(2, 1, 2, 4))[1, 0].to_dense(), a[1])
    with pytest.raises(RuntimeError, match="selecting sparse dimensions is not supported"):
        s.select(1, 0)
    with pytest.raises(RuntimeError, match="same number of specified elements per batch"):
        batch_of(layout, a * torch.tensor([1.0, 0]).reshape(2, 1, 1))


def test_conversions_of_batches():
    s = batch_of("sparse_csr")
    for other in ("sparse_csc", "sparse_coo"):
        assert_close(s.to_sparse(layout=getattr(torch, other)).to_dense(), BATCH)
    assert_close((s + batch_of("sparse_csr", BATCH.flip(0))).to_dense(), BATCH + BATCH.flip(0))


def test_sampled_products_of_batches():
    left, right = dense(2, 2, 3, share=1), dense(2, 3, 4, seed=1, share=1)
    s = batch_of("sparse_csr")
    result = torch.sparse.sampled_addmm(s, left, right, beta=2, alpha=3)
    assert_close(result.to_dense(), torch.where(BATCH != 0, 2 * BATCH + 3 * (left @ right), 0.0))


@pytest.mark.parametrize("layout", LAYOUTS[1:])
def test_gradients_of_batches(layout):
    weight = torch.arange(16.0, dtype=torch.float64).reshape(2, 2, 4)
    a, s = BATCH.clone().requires_grad_(), batch_of(layout).requires_grad_()
    (batch_of(layout, a).to_dense() * weight).sum().backward()
    ((3 * s).mT.to_dense() * weight.mT).sum().backward()
    held = BATCH != 0
    assert_close(a.grad, weight * held)
    if layout in ("sparse_bsr", "sparse_bsc"):  # gradients are stored per block of 1 x 2 elements
        held = held.reshape(2, 2, 2, 2).any(-1, keepdim=True).expand(2, 2, 2, 2).reshape(2, 2, 4)
    assert s.grad.layout is s.layout
    assert_close(s.grad.to_dense(), 3 * weight * held)


def test_layers_with_sparse_weights_take_batches():
    x, weight = torch.rand(2, 3, 4, dtype=torch.float64), torch.eye(5, 4, dtype=torch.float64)
    for sparse in (weight.to_sparse(), weight.to_sparse_csr()):
        assert_close(torch.nn.functional.linear(x, sparse, torch.ones(5).double()), x @ weight.T + 1)
    assert_close(torch.nn.functional.linear(x[0, 0].to_sparse(), weight), weight @ x[0, 0])
    with pytest.raises(RuntimeError, match="reshape is not implemented for sparse tensors"):
        torch.nn.functional.linear(x.to_sparse(), weight)


@pytest.mark.parametrize("layout", [torch.sparse_coo, torch.sparse_csr])
def test_a_composite_that_keeps_zero(layout):
    matrix = torch.tensor([[0.0, 1.0], [-2.0, 0.0]], dtype=torch.float64)
    sparse = matrix.to_sparse(layout=layout).requires_grad_()
    result = torch.nn.functional.tanhshrink(sparse)
    assert result.layout is layout and result._nnz() == 2 and result.grad_fn.name() == "SubBackward0"
    torch.testing.assert_close(result.to_dense(), matrix - matrix.tanh())
    result.to_dense().sum().backward()
    torch.testing.assert_close(sparse.grad.to_dense(), matrix.tanh().square())


def test_copies_of_indices_and_values():
    dense = torch.tensor([[0.0, 2.0], [3.0, 0.0]])
    rows, columns, coo = dense.to_sparse_csr(), dense.to_sparse_csc(), dense.to_sparse().coalesce()
    assert [torch.crow_indices_copy(rows).tolist(), torch.col_indices_copy(rows).tolist()] == [[0, 1, 2], [1, 0]]
    assert [torch.ccol_indices_copy(columns).tolist(), torch.row_indices_copy(columns).tolist()] == [[0, 1, 2], [1, 0]]
    assert torch.indices_copy(coo).tolist() == [[0, 1], [1, 0]]
    values = torch.values_copy(coo)
    values.zero_()
    assert coo.values().tolist() == [2, 3]


def test_low_rank_decompositions_of_sparse_matrices():
    torch.manual_seed(0)
    left, right = torch.rand(12, 2, dtype=torch.float64), torch.rand(2, 8, dtype=torch.float64)
    dense = (left @ right) * (torch.arange(12).reshape(-1, 1) % 3 != 0)
    exact = torch.linalg.svdvals(dense)[:2]
    for matrix in (dense.to_sparse(), dense.T.to_sparse(), dense.to_sparse_csr()):
        U, S, V = torch.svd_lowrank(matrix, q=2)
        assert torch.allclose(S, exact)
        assert torch.allclose((U * S) @ V.T, matrix.to_dense())
    centered = dense - dense.mean(0)
    U, S, V = torch.pca_lowrank(dense.to_sparse(), q=2)
    assert torch.allclose(S, torch.linalg.svdvals(centered)[:2])


def test_private_parts():
    s = torch.tensor([[[0, 0], [1.0, 2]], [[0, 0], [0, 0]]]).to_sparse(2)
    assert (s._nnz(), s._dimI(), s._dimV(), torch.ops.aten._nnz(s)) == (1, 2, 1, 1)
    assert s._indices().tolist() == [[0], [1]] and s._values().tolist() == [[1, 2]]
    csr = torch.eye(3).to_sparse_csr()
    assert csr._nnz() == torch.ops.aten._nnz.default(csr) == 3
    for tensor, names in ((torch.ones(2), ("_nnz", "_dimI", "_dimV", "_indices", "_values")), (csr, ("_dimI", "_indices"))):
        for name in names:
            with pytest.raises(
                NotImplementedError, match=f"Could not run 'aten::{name}' with arguments from the '(SparseCsr)?CPU'"
            ):
                getattr(tensor, name)()


@pytest.mark.parametrize("unitriangular", [False, True])
def test_triangular_solve_without_entries_is_nan(unitriangular: bool) -> None:
    matrix = torch.zeros(2, 2).to_sparse_csr()
    assert torch.triangular_solve(torch.ones(2, 1), matrix, unitriangular=unitriangular).solution.isnan().all()


@pytest.mark.parametrize("dim", [2, -1])
def test_narrow_copy_of_sparse_tensors_takes_dimensions_from_the_front(dim):
    with pytest.raises(RuntimeError, match=f"Dimension {dim} out of range"):
        torch.eye(3).to_sparse().narrow_copy(dim, 0, 2)
    assert torch.eye(3).to_sparse().narrow_copy(1, 1, 2).to_dense().tolist() == [[0, 0], [1, 0], [0, 1]]


def test_legacy_constructors_of_sparse_tensors_take_a_device_of_their_type():
    for create in (torch.sparse.FloatTensor, torch.eye(2).to_sparse().new):
        with pytest.raises(RuntimeError, match="legacy constructor expects device type: cpu but device type: cuda"):
            create(2, 3, device="cuda")
        assert create(2, 3, device="cpu").shape == (2, 3)

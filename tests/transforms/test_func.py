"""`torch.func`: vmap compared with loops, transforms compared with formulas, and nested transforms."""

from __future__ import annotations

import functools
import itertools
import tracemalloc

import pytest

import flambeau as torch
import flambeau.nn.functional as F
from flambeau.func import (
    functional_call,
    functionalize,
    grad,
    grad_and_value,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    linearize,
    replace_all_batch_norm_modules_,
    stack_module_state,
    vjp,
    vmap,
)

x = torch.arange(12.0).reshape(3, 4) / 10
y = torch.arange(3.0)


def normal(*sizes, seed=0):
    return torch.randn(*sizes, generator=torch.Generator().manual_seed(seed))


def assert_close(one, other):
    assert torch.allclose(one, other, atol=1e-5), (one, other)


# --- vmap: where the batch is -------------------------------------------------------------------------------------


def test_in_dims():
    assert_close(vmap(torch.sum)(x), x.sum(1))
    assert_close(vmap(torch.sum, in_dims=1)(x), x.sum(0))
    assert_close(vmap(torch.sum, in_dims=-1)(x), x.sum(0))
    assert_close(vmap(torch.mul, in_dims=(0, None))(x, 2.0), x * 2)
    assert_close(vmap(torch.mul, (None, 0))(x[0], y), y[:, None] * x[0])
    assert_close(vmap(torch.dot, in_dims=(0, 1))(x, x.t()), (x * x).sum(1))
    assert_close(vmap(lambda d: d["a"] * d["b"], in_dims=({"a": 0, "b": None},))({"a": y, "b": x[0]}), y[:, None] * x[0])
    assert_close(vmap(lambda pair: pair[0] + pair[1][0])([y, (y,)]), 2 * y)
    assert_close(vmap(lambda a, b=1: a * b)(y, b=3), 3 * y)


def test_out_dims():
    assert vmap(lambda a: a * 2, out_dims=1)(x).shape == (4, 3) and vmap(lambda a: a * 2, out_dims=-1)(x).shape == (4, 3)
    doubled, sums = vmap(lambda a: (a * 2, a.sum()), out_dims=(1, 0))(x)
    assert_close(doubled, 2 * x.t())
    assert_close(sums, x.sum(1))
    assert_close(vmap(lambda a: {"sum": a.sum()})(x)["sum"], x.sum(1))
    assert_close(vmap(lambda a: torch.ones(2))(y), torch.ones(3, 2))  # a result that does not depend on the batch is expanded
    assert_close(vmap(lambda a: torch.ones(2), out_dims=None)(y), torch.ones(2))


@pytest.mark.parametrize(
    ("error", "message", "call"),
    [
        (ValueError, "must only return Tensors, got type <class 'int'>", lambda: vmap(lambda a: 3)(y)),
        (ValueError, "Got in_dim=0 for an input but the input is of type <class 'int'>", lambda: vmap(torch.mul)(y, 3)),
        (ValueError, r"Expected all tensors to have the same size in the mapped dimension, got sizes \[3, 2\]",
         lambda: vmap(torch.mul)(y, x[:2])),
        (ValueError, "got no inputs", lambda: vmap(lambda: 3)()),
        (ValueError, "Got in_dim=2 for some input, but that input is a Tensor of dimensionality 2",
         lambda: vmap(torch.sum, in_dims=2)(x)),
        (ValueError, "dimensionality 0", lambda: vmap(torch.sum)(torch.tensor(3.0))),
        (ValueError, "Expected at least one Tensor to vmap over", lambda: vmap(torch.mul, in_dims=(None, None))(y, y)),
        (ValueError, "in_dims is not compatible with the structure of `inputs`", lambda: vmap(torch.mul, in_dims=(0,))(y, y)),
        (ValueError, "expected `in_dims` to be int or a", lambda: vmap(torch.mul, in_dims=[0, 0])(y, y)),
        (ValueError, "Got in_dim=0.5 for an input", lambda: vmap(torch.mul, in_dims=(0.5, 0))(y, y)),
        (ValueError, "out_dims is not compatible", lambda: vmap(lambda a: (a, a), out_dims=(0, 0, 0))(y)),
        (ValueError, "can not return a BatchedTensor when out_dim is None", lambda: vmap(lambda a: a, out_dims=None)(y)),
        (IndexError, "Dimension out of range", lambda: vmap(lambda a: a, out_dims=3)(y)),
        (RuntimeError, "Only allowed values for randomness", lambda: vmap(lambda a: a, randomness="x")(y)),
        (ValueError, "chunk_size should be None or greater than 0", lambda: vmap(lambda a: a, chunk_size=0)(y)),
        (RuntimeError, "data-dependent control flow", lambda: vmap(lambda a: a if a > 1 else -a)(y)),
        (RuntimeError, r"calling .item\(\) on a Tensor", lambda: vmap(lambda a: a.item())(y)),
        (RuntimeError, "dynamic shape", lambda: vmap(lambda a: a.nonzero())(x)),
        (RuntimeError, "dynamic shape", lambda: vmap(lambda a: a[a > 0.2])(x)),
        (RuntimeError, "inplace arithmetic|doesn't match the broadcast shape", lambda: vmap(lambda a: torch.zeros(4).add_(a))(x)),
        (RuntimeError, "called random operation while in randomness error mode", lambda: vmap(lambda a: a + torch.rand(2))(y)),
    ],
)  # fmt: skip
def test_refusals(error, message, call):
    with pytest.raises(error, match=message):
        call()


def test_chunks():
    sizes = []

    def call(row):
        sizes.append(torch.func.debug_unwrap(row).shape[0])
        return row * 2

    assert_close(vmap(call, chunk_size=2)(y), 2 * y)
    assert sizes == [2, 1]


def test_chunks_draw_the_same_numbers():
    drawn = vmap(lambda a: a * 0 + torch.rand(2), randomness="same", chunk_size=2)(torch.zeros(5))
    assert all(torch.equal(numbers, drawn[0]) for numbers in drawn)


def test_the_function_runs_once():
    calls = []
    vmap(lambda row: calls.append(row.shape) or row)(x)
    assert calls == [(4,)]


def test_a_batched_tensor_looks_like_one_member():
    def look(row):
        assert row.shape == (4,) and row.dim() == 1 and row.numel() == 4 and len(row) == 4 and row.size(0) == 4
        assert row.dtype is torch.float32 and not row.requires_grad and isinstance(row, torch.Tensor)
        return sum(row) * row.shape[0]

    assert_close(vmap(look)(x), x.sum(1) * 4)


# --- vmap: operations, against a loop -----------------------------------------------------------------------------

OPERATIONS = {
    "arithmetic": lambda a: 2 / (a + 1) - a**2 + 2**a,
    "comparison": lambda a: torch.where((a > 0) & (a < 1), a, -a),
    "reductions": lambda a: a.sum(0) + a.mean() + a.prod(1)[:1] + a.amax() + a.logsumexp(0),
    "with results": lambda a: a.max(0).values * a.max(0).indices,
    "order": lambda a: a.flip(0).sort(1).values + a.argsort(0) + a.topk(2, 1).values.sum(),
    "scans": lambda a: a.cumsum(0) + a.cumprod(-1) + a.cummax(1).values,
    "statistics": lambda a: a.std() + a.var(0, unbiased=False) + a.median() + a.quantile(0.3),
    "shapes": lambda a: a.t().reshape(2, -1).unsqueeze(0).expand(3, 2, 6).permute(2, 0, 1).flatten(),
    "views": lambda a: a.view(-1)[1:7:2] + a.unbind(1)[2][:3] + a.diagonal()[:3] + a.unfold(1, 2, 2).sum(1)[:, 0],
    "joining": lambda a: torch.cat([a, torch.zeros(1, 4)]).chunk(2)[1].sum() + torch.stack([a, a], 1).roll(1, 0),
    "products": lambda a: a @ a.t() + torch.mm(a, torch.ones(4, 3)) + torch.einsum("ij,kj->ik", a, a) + torch.outer(a[0], a[1])[:3, :3],
    "linear algebra": lambda a: torch.linalg.inv(a[:, :3] + 3 * torch.eye(3)) + torch.linalg.det(a[:, :3]) + a.norm(),
    "types": lambda a: (a * 10).long() // 3 + a.double() + a.bool(),
    "indexing": lambda a: a[[0, 2], 1:] + a[:, torch.tensor([2, 0, 1])][:2] + a[..., None, -1][:2] + a[None, 0, 1],
    "scattering": lambda a: torch.zeros(3, 4).scatter_add(1, torch.tensor([[0, 0, 1, 1]] * 3), a).index_add(0, torch.tensor([1]), a[:1]),
    "triangles": lambda a: a.tril() + a.triu(1) + torch.diag(a[0])[:3],
    "constants": lambda a: a + torch.zeros_like(a) + a.new_ones(4) + torch.full_like(a, 2) + torch.arange(4.0),
    "functions": lambda a: F.softmax(a, 1) + F.gelu(a) + F.layer_norm(a, (4,)) + F.pad(a, (1, 0))[:, 1:],
    "losses": lambda a: F.mse_loss(a, a * 2) + F.cross_entropy(a, torch.tensor([0, 1, 3])) + F.kl_div(a, a.exp()),
    "layers": lambda a: F.linear(a, torch.ones(4, 4)) + F.conv1d(a[None], torch.ones(3, 3, 1))[0] + F.avg_pool1d(a[None], 1)[0],
    "images": lambda a: F.max_pool2d(F.conv2d(a[None, None], torch.ones(2, 1, 2, 2), padding=1), 2),
    "norms": lambda a: F.batch_norm(a, None, None, training=True) + F.normalize(a, dim=1) + F.group_norm(a[None], 3)[0],
    "complex": lambda a: torch.fft.fft(a).abs() + torch.view_as_real(torch.complex(a, a)).sum(-1),
    "unary": lambda a: a.clamp(-0.5, 0.5) + a.abs().sqrt() + a.sign() + a.floor() + torch.special.erf(a) + a.nan_to_num(),
}  # fmt: skip


@pytest.mark.parametrize("name", OPERATIONS)
def test_operations(name):
    operation, batch = OPERATIONS[name], normal(5, 3, 4)
    expected = torch.stack([operation(row) for row in batch])
    assert_close(vmap(operation)(batch), expected)
    assert_close(vmap(operation, in_dims=2, out_dims=-1)(batch.permute(1, 2, 0)), expected.movedim(0, -1))
    assert_close(vmap(vmap(operation))(batch.expand(2, 5, 3, 4)), expected.expand(2, *expected.shape))


@pytest.mark.parametrize("name", [name for name in OPERATIONS if name not in ("comparison", "types", "order", "unary")])
def test_derivatives_of_operations(name):
    """vmap of grad equals grad of vmap."""
    operation, batch = OPERATIONS[name], normal(4, 3, 4)
    one = grad(lambda a: operation(a).sum() * 0.01)
    expected = torch.stack([one(row) for row in batch])
    assert_close(vmap(one)(batch), expected)
    assert_close(grad(lambda all: vmap(operation)(all).sum() * 0.01)(batch), expected)


def test_pairs_of_batched_and_plain():
    a, b = normal(5, 2, 3), normal(5, 3, 2, seed=1)
    assert_close(vmap(torch.mm)(a, b), a @ b)
    assert_close(vmap(torch.mm, in_dims=(0, None))(a, b[0]), a @ b[0])
    assert_close(vmap(torch.mm, in_dims=(None, 0))(a[0], b), a[0] @ b)
    assert_close(vmap(torch.mv, in_dims=(None, 0))(a[0], normal(5, 3)), normal(5, 3) @ a[0].t())
    image, weights = normal(1, 2, 4, 4), normal(3, 2, 2, 2, 2)
    assert_close(vmap(lambda w: F.conv2d(image, w))(weights), torch.stack([F.conv2d(image, w) for w in weights]))
    assert_close(vmap(vmap(torch.mul, in_dims=(None, 0)), in_dims=(0, None))(y, x[0]), torch.outer(y, x[0]))
    thrice = vmap(vmap(vmap(lambda a, b, c: a * b + c, (None, None, 0)), (None, 0, None)), (0, None, None))
    assert thrice(y, x[0], y[:2]).shape == (3, 4, 2)


def test_indexing_by_batched_indices():
    rows = torch.tensor([[0, 1], [1, 2], [3, 3]])
    assert_close(vmap(lambda a, i: a[i])(x, rows), x.gather(1, rows))
    assert_close(vmap(lambda a, i: a[i])(x, rows[:, 0]), x.gather(1, rows[:, :1])[:, 0])
    assert_close(vmap(lambda i: x[i])(rows % 3), x[rows % 3])
    assert_close(vmap(lambda i: x[:, i])(rows), x[:, rows].movedim(1, 0))
    assert_close(vmap(lambda a, i: a.gather(0, i))(x, rows), x.gather(1, rows))
    assert_close(vmap(lambda i: F.embedding(i, x))(rows % 3), x[rows % 3])
    assert_close(
        vmap(lambda i: x[0].index_add(0, i, torch.ones(2)))(rows),
        torch.stack([x[0].index_add(0, i, torch.ones(2)) for i in rows]),
    )
    assert_close(vmap(lambda i: x[0].scatter(0, i, 9.0))(rows), torch.stack([x[0].scatter(0, i, 9.0) for i in rows]))
    assert_close(vmap(lambda i: F.one_hot(i, 4))(rows).float(), F.one_hot(rows, 4).float())
    assert_close(
        vmap(F.cross_entropy)(normal(3, 2, 4), rows),
        torch.stack([F.cross_entropy(a, b) for a, b in zip(normal(3, 2, 4), rows, strict=True)]),
    )


def test_writes():
    def fill(a):
        z = torch.zeros_like(a)
        z[0] = a.sum()
        view = z[1:]
        view.copy_(a[1:] * 2)
        view[-1] += 1
        return z

    assert_close(vmap(fill)(x), torch.stack([fill(row) for row in x]))
    given = x.clone()
    vmap(lambda a: a.mul_(2))(given)
    assert_close(given, 2 * x)  # in-place writes modify the argument

    def shifted(a, i):
        b = a.clone()
        b[1:] += a[:-1]
        b[i] = 7
        return b

    index = torch.tensor([0, 3, 1])
    assert_close(vmap(shifted)(x, index), torch.stack([shifted(a, i) for a, i in zip(x, index, strict=True)]))


def test_randomness():
    torch.manual_seed(0)
    apart = vmap(lambda a: torch.rand(2) + a * 0, randomness="different")(y)
    assert apart.shape == (3, 2) and not torch.equal(apart[0], apart[1])
    shared = vmap(lambda a: torch.randn(2) + a * 0, randomness="same")(y)
    assert torch.equal(shared[0], shared[1])
    for call in (torch.rand_like, torch.bernoulli, F.dropout, lambda a: a.clone().normal_(), lambda a: torch.randperm(5)):
        many = vmap(call, randomness="different")(torch.full((6, 50), 0.5))
        assert many.shape[0] == 6 and not torch.equal(many[0], many[1])
    dropped = vmap(lambda a: F.dropout(a), randomness="same")(torch.ones(3, 50))
    assert torch.equal(dropped[0], dropped[1])
    assert_close(vmap(lambda a: F.dropout(a, training=False))(x), x)


# --- derivatives --------------------------------------------------------------------------------------------------


def test_grad():
    assert_close(grad(torch.sin)(torch.tensor(0.5)), torch.tensor(0.5).cos())
    assert_close(grad(grad(grad(torch.sin)))(torch.tensor(1.0)), -torch.tensor(1.0).cos())
    first, second = grad(lambda a, b: (a * b**2).sum(), argnums=(0, 1))(y, y + 1)
    assert_close(first, (y + 1) ** 2)
    assert_close(second, 2 * y * (y + 1))
    assert_close(grad(lambda a, b: (a * b).sum(), argnums=1)(y, y), y)
    assert_close(grad(lambda d: (d["a"] * d["b"]).sum())({"a": y, "b": 2 * y})["a"], 2 * y)
    gradient, aux = grad(lambda a: (a.sum(), a * 2), has_aux=True)(y)
    assert_close(aux, 2 * y)
    gradient, (value, aux) = grad_and_value(lambda a: ((a * a).sum(), a * 2), has_aux=True)(y)
    assert_close(gradient, 2 * y)
    assert value.item() == 5 and not gradient.requires_grad and not value.requires_grad
    unused, _ = grad(lambda a, b: b.sum(), argnums=(0, 1))(y, y)
    assert_close(unused, torch.zeros(3))


@pytest.mark.parametrize(
    ("message", "call"),
    [
        ("to return a scalar Tensor, got tensor with 1 dims", lambda: grad(lambda a: a)(y)),
        ("to return a Tensor, got <class 'float'>", lambda: grad(lambda a: 3.0)(y)),
        ("Got argnum=2, but only 1 positional inputs", lambda: grad(lambda a: a.sum(), argnums=2)(y)),
        ("output of function f should be a tuple: \\(output, aux\\)", lambda: grad(lambda a: a.sum(), has_aux=True)(y)),
        ("All outputs of f must be floating-point or complex", lambda: vjp(lambda a: a.long(), y)),
        ("only tensors, got unsupported type <class 'int'>", lambda: vjp(lambda a: 3, y)),
        ("Expected pytree structure of cotangents", lambda: vjp(lambda a: (a, a), y)[1](y)),
        ("Expected primals to be a tuple", lambda: jvp(torch.sin, y, y)),
        ("Expected primals and tangents to have the same python structure", lambda: jvp(torch.sin, (y,), (y, y))),
        ("The output of f is independent of the inputs", lambda: jvp(lambda a: torch.ones(2), (y,), (y,), strict=True)),
        ("`chunk_size` should be greater than 0", lambda: jacrev(torch.sin, chunk_size=0)),
        ("jacrev: Expected all inputs to be real", lambda: jacrev(torch.sin)(y.to(torch.complex64))),
        ("received invalid argument for remove=x", lambda: functionalize(lambda a: a, remove="x")),
    ],
)
def test_refusals_of_derivatives(message, call):
    with pytest.raises((RuntimeError, ValueError), match=message):
        call()


def test_saved_tensor_hooks_are_refused():
    def packed(a):
        with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
            return (a**2).sum()

    for transform in (grad, jacrev, hessian, lambda f: functools.partial(vjp, f), lambda f: vmap(grad(f))):
        with pytest.raises(RuntimeError, match=r"torch.func.{grad, vjp, jacrev, hessian} don't yet support saved tensor hooks"):
            transform(packed)(x)
    assert_close(jvp(packed, (y,), (y,))[1], 2 * (y * y).sum())
    assert_close(vmap(packed)(x), (x * x).sum(1))


def test_no_grad_inside_and_outside():
    def half_constant(a):
        with torch.no_grad():
            b = a**2
        return (a * b).sum()

    assert_close(grad(half_constant)(y), y**2)
    assert_close(grad(lambda a: (a * a.detach()).sum())(y), y)
    with torch.no_grad():
        assert_close(grad(lambda a: (a**2).sum())(y), 2 * y)


def test_vjp_and_jvp():
    value, pull = vjp(torch.sin, y)
    assert_close(value, y.sin())
    assert_close(pull(y)[0], y * y.cos())
    assert_close(pull(y)[0], y * y.cos())  # `pull` may be called several times
    assert_close(vjp(lambda a: (a, a * 2), y)[1]((y, y))[0], 3 * y)
    assert len(vjp(torch.mul, y, y)[1](y)) == 2
    value, pull, aux = vjp(lambda a: (a * 2, a * 3), y, has_aux=True)
    assert_close(aux, 3 * y)
    value, tangent = jvp(torch.mul, (y, y + 1), (torch.ones(3), y))
    assert_close(tangent, y + 1 + y * y)
    assert_close(jvp(lambda a: torch.ones(2), (y,), (y,))[1], torch.zeros(2))
    assert_close(jvp(lambda a: (a * 2, a * 3), (y,), (y,), has_aux=True)[2], 3 * y)
    assert_close(jvp(lambda a: jvp(lambda b: b**3, (a,), (torch.ones(3),))[1], (y,), (torch.ones(3),))[1], 6 * y)
    value, push = linearize(torch.sin, y)
    assert_close(value, y.sin())
    assert_close(push(y), y * y.cos())
    assert_close(push(2 * y), 2 * y * y.cos())


def test_jacobians():
    w = normal(2, 3)
    for jacobian in (jacrev, jacfwd):
        assert_close(jacobian(lambda a: w @ a)(y), w)
        squares, total = jacobian(lambda a: (a**2, a.sum()))(y)
        assert_close(squares, torch.diag(2 * y))
        assert_close(total, torch.ones(3))
        first, second = jacobian(torch.mul, argnums=(0, 1))(y, 2 * y)
        assert_close(first, torch.diag(2 * y))
        assert_close(second, torch.diag(y))
        assert_close(jacobian(lambda a: (a**2, a), has_aux=True)(y)[1], y)
        assert_close(jacobian(jacobian(lambda a: a**3))(y)[1, 1], torch.tensor([0.0, 6, 0]))
        assert_close(vmap(jacobian(torch.sin))(x)[1], torch.diag(x[1].cos()))
        assert_close(jacobian(vmap(torch.sum))(x), torch.eye(3)[:, :, None].expand(3, 3, 4))
        assert jacobian(lambda a: a.sum(0))(x).shape == (4, 3, 4)
    assert_close(jacrev(torch.sin, chunk_size=2)(y), torch.diag(y.cos()))
    assert_close(jacrev(lambda d: d["a"] * 2)({"a": y})["a"], 2 * torch.eye(3))


def test_hessians():
    expected = torch.diag(6 * y)
    cube = lambda a: (a**3).sum()  # noqa: E731
    for transform in (hessian(cube), jacrev(jacrev(cube)), jacfwd(jacfwd(cube)), jacrev(jacfwd(cube)), jacfwd(grad(cube))):
        assert_close(transform(y), expected)
    assert_close(vmap(hessian(cube))(x)[2], torch.diag(6 * x[2]))
    blocks = hessian(lambda a, b: (a * b**2).sum(), argnums=(0, 1))(y, y + 1)
    assert_close(blocks[0][0], torch.zeros(3, 3))
    assert_close(blocks[1][0], torch.diag(2 * (y + 1)))
    rosenbrock = lambda a: (100 * (a[1:] - a[:-1] ** 2) ** 2 + (1 - a[:-1]) ** 2).sum()  # noqa: E731
    found = hessian(rosenbrock)(y)
    assert_close(found, torch.autograd.functional.hessian(rosenbrock, y))
    assert_close(found, found.t())


def overwritten(a):
    b = a.clone()
    b[0] = b[1] * 2
    b[1:].mul_(a[:2])
    return b.mul_(a)


def overwritten_windows(a):
    b = a * a
    b.unfold(0, 1, 2).mul_(a[:2, None])
    return b * a


def overwritten_memory(a):
    b = a * a
    b.as_strided((2,), (2,)).mul_(a[:2])
    return b * a


HIGHER = {
    "power": lambda a: a**3 * a.sum(), "own result": lambda a: a.exp() * a.tanh(), "norm": lambda a: a / (a.norm() + 1),
    "products": lambda a: a.prod() * a.cumprod(0), "softmax": lambda a: a.softmax(0) * a, "deviation": lambda a: a.std() * a,
    "normalized": lambda a: F.layer_norm(a, (3,)) * a, "views": lambda a: torch.outer(a, a).t()[1] * a.flip(0), "in place": overwritten,
    "windows": lambda a: a.unfold(0, 2, 1).prod(1), "memory": lambda a: (2 * a).as_strided((2, 2), (1, 1)).prod(0),
    "windows in place": overwritten_windows, "memory in place": overwritten_memory,
    "spectra": lambda a: torch.fft.irfft(a * a) * torch.fft.hfft(a), "wider": lambda a: (a.to(torch.complex128) * a).real,
    "indices": lambda a: a[[2, 0, 0]] * a.sort().values, "types": lambda a: a.softmax(0, dtype=torch.float64) * a.sum(0, dtype=torch.float64),
}  # fmt: skip


@pytest.mark.parametrize("name", HIGHER)
def test_any_mode_over_any_mode(name):
    """Nested jacrev and jacfwd in every order, compared with `autograd.functional.jacobian`."""
    operation, point = HIGHER[name], torch.tensor([0.3, -0.7, 1.1], dtype=torch.float64)
    expected = operation
    for order in (1, 2, 3) if name in ("power", "own result") else (1, 2):
        expected = functools.partial(torch.autograd.functional.jacobian, expected, create_graph=True)
        for modes in itertools.product((jacrev, jacfwd), repeat=order):
            found = operation
            for mode in modes:
                found = mode(found)
            assert torch.allclose(found(point), expected(point).detach(), atol=1e-8), modes


def test_derivatives_by_elements_that_an_index_of_the_batch_picks():
    a, rows = torch.tensor([0.3, -0.7, 1.1]), torch.tensor([[0, 1], [2, 2], [1, 0]])
    for jacobian in (jacrev, jacfwd):
        expected = torch.stack([jacobian(lambda b, i=i: b[i] ** 2)(a) for i in rows])
        assert_close(vmap(lambda i, jacobian=jacobian: jacobian(lambda b: b[i] ** 2)(a))(rows), expected)


def test_tangents_are_not_written_to():
    a, direction = torch.tensor([0.3, -0.7, 1.1]), torch.tensor([1.0, 0.5, 2.0])
    before = direction.clone()
    jvp(overwritten, (a,), (direction,))
    jvp(lambda b: b.clone().mul_(b), (a,), (direction,))
    assert torch.equal(direction, before)


def test_compositions():
    assert_close(
        grad(lambda w: vmap(grad(lambda a: (a * w).sin()))(y).sum())(torch.tensor(2.0)),
        sum((v * 2).cos() - 2 * v * (v * 2).sin() for v in y),
    )
    assert_close(vmap(lambda a, t: jvp(torch.sin, (a,), (t,))[1])(x, x), x * x.cos())
    assert_close(vmap(lambda a: vjp(torch.sin, a)[1](a)[0])(x), x * x.cos())
    for look in (lambda a: a.unfold(0, 2, 2), lambda a: a.as_strided((2, 2), (2, 1))):
        assert_close(vmap(lambda a: jvp(look, (a,), (x[1],))[1])(x), x[1].reshape(2, 2).expand(3, 2, 2))  # noqa: B023
    assert_close(jvp(grad(lambda a: (a**3).sum()), (y,), (torch.ones(3),))[1], 6 * y)  # a Hessian-vector product
    assert_close(vmap(lambda v: jvp(grad(lambda a: (a**3).sum()), (y,), (v,))[1])(torch.eye(3)), torch.diag(6 * y))


def test_with_the_tape_outside():
    q = torch.tensor(2.0, requires_grad=True)
    inner = grad(lambda a: a**2 * q**2)(torch.tensor(3.0))
    assert torch.autograd.grad(inner, q)[0].item() == 24
    outer = grad(lambda a: a**3)(q)
    assert outer.requires_grad and torch.autograd.grad(outer, q)[0].item() == 12
    w = normal(3, 4).requires_grad_()
    vmap(torch.dot)(w, x).sum().backward()
    assert_close(w.grad, x)
    assert q.grad is None


def test_derivatives_inside_a_batch_of_the_tape():
    """vmap over `autograd.grad` with a batch of output gradients."""
    w = normal(4).requires_grad_()
    out = w**2
    rows = vmap(lambda v: torch.autograd.grad(out, w, v, retain_graph=True)[0])(torch.eye(4))
    assert_close(rows, torch.diag(2 * w.detach()))


# --- modules ------------------------------------------------------------------------------------------------------


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.norm, self.second = torch.nn.Linear(4, 8), torch.nn.BatchNorm1d(8), torch.nn.Linear(8, 2)
        self.register_buffer("scale", torch.tensor(2.0))

    def forward(self, x, *, power=1):
        return self.second(torch.tanh(self.norm(self.first(x)) * self.scale)) ** power


def test_functional_call():
    model = Net().eval()
    state = {**dict(model.named_parameters()), **dict(model.named_buffers())}
    zeros = {name: torch.zeros_like(tensor) for name, tensor in state.items()}
    assert_close(functional_call(model, {}, (x,)), model(x))
    assert_close(functional_call(model, zeros | {"second.bias": torch.ones(2)}, x), torch.ones(3, 2))
    assert_close(
        functional_call(model, [{"scale": torch.tensor(2.0)}, {"second.bias": torch.ones(2)}], (x,), {"power": 2}),
        (model(x) - model.second.bias + 1) ** 2,
    )
    assert all(model.state_dict()[name].equal(tensor) for name, tensor in state.items())  # unchanged
    with pytest.raises(RuntimeError, match=r"Unexpected key\(s\): 'nothing'.\n\tMissing key\(s\): 'first.bias', 'first.weight'"):
        functional_call(model, {"nothing": torch.ones(1)}, (x,), strict=True)
    with pytest.raises(TypeError, match="3 is not an instance of torch.Tensor"):
        functional_call(model, {"scale": 3}, (x,))
    with pytest.raises(RuntimeError):
        functional_call(model, {"first.weight": torch.ones(2, 2)}, (x,))
    assert all(model.state_dict()[name].equal(tensor) for name, tensor in state.items())

    def loss(parameters):
        return functional_call(model, parameters, (x,)).pow(2).mean()

    parameters = {name: parameter.detach() for name, parameter in model.named_parameters()}
    gradients = grad(loss)(parameters)
    model(x).pow(2).mean().backward()
    for name, parameter in model.named_parameters():
        assert_close(gradients[name], parameter.grad)


def test_functional_call_of_tied_and_of_counting_modules():
    class Tied(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.a = self.b = torch.nn.Parameter(torch.ones(1))
            self.register_buffer("count", torch.zeros(1))

        def forward(self, x):
            self.count = self.count + 1
            return x + self.a * 10 + self.b

    model, one = Tied(), torch.ones(1)
    assert functional_call(model, {"a": 0 * one}, one).item() == 1
    assert functional_call(model, {"a": 0 * one}, one, tie_weights=False).item() == 2
    assert functional_call(model, {"a": 0 * one, "b": 5 * one}, one, tie_weights=False).item() == 6
    with pytest.raises(ValueError, match=r"functional_call got multiple values for keys \['a', 'b'\], which are tied"):
        functional_call(model, {"a": 0 * one, "b": 5 * one}, one)
    state = {"count": 5 * one}
    functional_call(model, state, one)
    assert state["count"].item() == 6 and model.count.item() == 3  # not the module's buffer is updated, but the given one


def test_gradients_per_sample():
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Conv2d(1, 2, 3), torch.nn.Flatten(), torch.nn.ReLU(), torch.nn.Linear(8, 3))
    images, labels = normal(5, 1, 4, 4), torch.tensor([0, 1, 2, 1, 0])
    parameters = {name: parameter.detach() for name, parameter in model.named_parameters()}

    def loss(parameters, image, label):
        return F.cross_entropy(functional_call(model, parameters, (image[None],)), label[None])

    found = vmap(grad(loss), in_dims=(None, 0, 0))(parameters, images, labels)
    for number in range(5):
        model.zero_grad()
        F.cross_entropy(model(images[number : number + 1]), labels[number : number + 1]).backward()
        for name, parameter in model.named_parameters():
            assert_close(found[name][number], parameter.grad)


def test_ensembles():
    models = [Net().eval() for _ in range(4)]
    parameters, buffers = stack_module_state(models)
    assert parameters["first.weight"].shape == (4, 8, 4) and parameters["first.weight"].requires_grad
    found = vmap(lambda p, b: functional_call(models[0], (p, b), (x,)))(parameters, buffers)
    assert_close(found, torch.stack([model(x) for model in models]))
    with pytest.raises(RuntimeError, match="at least one model"):
        stack_module_state([])
    with pytest.raises(RuntimeError, match="same class"):
        stack_module_state([models[0], torch.nn.Linear(1, 1).eval()])
    with pytest.raises(RuntimeError, match="same training/eval mode"):
        stack_module_state([models[0], Net()])


def test_batch_norm_without_running_statistics():
    model = Net()
    assert replace_all_batch_norm_modules_(model) is model
    assert model.norm.running_mean is None and not model.norm.track_running_stats
    vmap(model)(normal(2, 3, 4))
    other = replace_all_batch_norm_modules_(torch.nn.InstanceNorm1d(2, track_running_stats=True))
    assert other.track_running_stats and other.running_mean is not None


def test_functionalize():
    assert_close(functionalize(lambda a: a.clone().add_(1))(y), y + 1)


def test_rearrange():
    batch = normal(2, 3, 4, 6)
    rearrange = torch.func.rearrange
    assert_close(rearrange(batch, "b c h w -> b (h w) c"), batch.permute(0, 2, 3, 1).reshape(2, 24, 3))
    assert_close(
        rearrange(batch, "b c (h i) (w j) -> (b i j) c h w", i=2, j=3),
        batch.reshape(2, 3, 2, 2, 2, 3).permute(0, 3, 5, 1, 2, 4).reshape(12, 3, 2, 2),
    )
    assert_close(rearrange(batch, "b ... w -> w b ..."), batch.permute(3, 0, 1, 2))
    with pytest.raises(ValueError):
        rearrange(batch, "a b -> b a")


def test_gradients_of_writes_to_memory():
    """Gradients of writes through `as_strided`: views of transposed tensors, with an offset, and of a slice."""
    weights = torch.arange(6.0).reshape(2, 3) + 1
    a = torch.ones(2, requires_grad=True)
    b = torch.zeros(2, 3)
    b.t().as_strided((2,), (1,), 1).copy_(a)
    assert_close(b, torch.tensor([[0.0, 1, 1], [0, 0, 0]]))
    assert_close(torch.autograd.grad((b * weights).sum(), a)[0], weights[0, 1:])
    b = torch.zeros(2, 3)
    b[1:].as_strided((2,), (2,), 3).copy_(a)
    assert_close(
        torch.autograd.grad((torch.cat([torch.zeros(1, 3), b]) * torch.arange(9.0).reshape(3, 3)).sum(), a)[0],
        torch.tensor([6.0, 8]),
    )
    c = torch.ones(2, 3, requires_grad=True)
    b = c * 1
    b.t().as_strided((2,), (1,)).mul_(torch.tensor([10.0, 100]))
    assert_close(torch.autograd.grad(b.sum(), c)[0], torch.tensor([[10.0, 100, 1], [1, 1, 1]]))


def test_second_derivatives_of_writes_to_a_squeezed_view():
    def doubled(a):
        b = a * a
        b.squeeze(0).mul_(2)
        return (b**2).sum()

    assert_close(torch.autograd.functional.hessian(doubled, y[None]).reshape(3, 3), torch.diag(48 * y**2))


def test_gradients_of_indexing_need_memory_for_the_batch_only():
    """A comparison of all positions with all indices would need 18 GiB."""
    x, places = torch.randn(2, 200_000), torch.arange(100_000)
    gradients = torch.func.vmap(torch.func.grad(lambda row: (row[places] ** 2).sum()))(x)
    assert torch.equal(gradients[:, :100_000], 2 * x[:, :100_000]) and not gradients[:, 100_000:].any()


@pytest.mark.parametrize(
    "index",
    [
        torch.tensor([0, 0, 3]),
        (slice(None), torch.tensor([1, 1, 2])),
        (torch.tensor([0, 1]), torch.tensor([2, 2])),
        (None, torch.tensor([[0], [3]])),
        (..., torch.tensor([0, 5, 5])),
        (torch.tensor([1]), slice(None, None, 2)),
        torch.tensor([], dtype=torch.long),
    ],
)
def test_gradients_of_indexing(index):
    x = torch.randn(3, 4, 6)
    batched = torch.func.vmap(torch.func.grad(lambda rows: (rows[index] ** 3).sum()))(x)
    single = [torch.func.grad(lambda rows: (rows[index] ** 3).sum())(rows) for rows in x]
    torch.testing.assert_close(batched, torch.stack(single))
    chosen = torch.tensor([[0, 1], [2, 2], [3, 0]])
    batched = torch.func.vmap(torch.func.grad(lambda rows, places: (rows[places] ** 2).sum()))(x, chosen)
    single = [torch.func.grad(lambda rows, places: (rows[places] ** 2).sum())(x[n], chosen[n]) for n in range(3)]
    torch.testing.assert_close(batched, torch.stack(single))


@pytest.mark.parametrize("randomness", ["different", "same"])
@pytest.mark.parametrize(
    "draw",
    [
        lambda: torch.bernoulli(torch.zeros(40), 0.5),
        lambda: torch.rand_like(torch.zeros(40)),
        lambda: torch.randint_like(torch.zeros(40), 20),
        lambda: F.dropout(torch.ones(40)),
        lambda: F.alpha_dropout(torch.ones(40), 0.5, True),
        lambda: F.dropout1d(torch.ones(40, 2)),
    ],
)
def test_random_numbers_like_tensors_that_are_not_batched(draw, randomness):
    rows = torch.func.vmap(lambda member: draw(), randomness=randomness)(torch.arange(3))
    assert rows.shape[0] == 3 and (randomness == "same") == bool((rows == rows[0]).all())


def test_random_numbers_follow_the_memory_order_of_the_batch():
    rows = torch.zeros(3, 2)
    for fill in (lambda a: a.normal_(), lambda a: torch.rand_like(a), lambda a: torch.randint_like(a, 10)):
        torch.manual_seed(0)
        columns = vmap(fill, in_dims=1, randomness="different")(rows.clone())
        torch.manual_seed(0)
        whole = vmap(fill, randomness="different")(rows.clone())
        assert torch.equal(columns, whole.t()) and columns.unique().numel() > 2


def test_the_same_numbers_need_parameters_that_are_not_batched():
    probabilities = torch.full((3, 4), 0.5)
    for draw in (
        torch.bernoulli,
        torch.poisson,
        lambda p: torch.normal(p, 1.0),
        lambda p: torch.zeros(4).bernoulli_(p),
        lambda p: torch.multinomial(p, 2),
        lambda p: torch.binomial(p * 4, probabilities[0]),
    ):
        with pytest.raises(RuntimeError, match="same randomness with a batched tensor input"):
            vmap(draw, randomness="same")(probabilities)
    with pytest.raises(RuntimeError, match="different inplace randomness on an unbatched tensor"):
        vmap(lambda p: torch.zeros(4).normal_(), randomness="different")(probabilities)
    trials = vmap(lambda n: torch.binomial(n, probabilities[0]), randomness="different")(torch.full((3, 4), 100.0))
    assert (trials > 20).all() and (trials < 80).all()


def test_chunks_of_vmap():
    from flambeau._functorch.apis import chunk_vmap

    sizes = []

    def function(a):
        sizes.append(torch.func.debug_unwrap(a).shape[0])
        return a * 2

    assert torch.equal(chunk_vmap(function, chunks=3)(x), x * 2) and sizes == [1, 1, 1]
    sizes.clear()
    assert torch.equal(chunk_vmap(function, in_dims=1, out_dims=1, chunks=3)(x), x * 2) and sizes == [2, 2]


@pytest.mark.parametrize("aux", [1, None, [y, "text"]])
def test_auxiliary_outputs_are_tensors(aux):
    for transform in (grad, grad_and_value, jacrev, jacfwd):
        with pytest.raises(RuntimeError, match="Expected tensors, got unsupported type"):
            transform(lambda a: (a.sum(), aux), has_aux=True)(y)


def test_saved_tensor_hooks_outside_are_refused():
    with torch.autograd.graph.saved_tensors_hooks(lambda a: a, lambda a: a), pytest.raises(RuntimeError, match="tensor hooks"):
        grad(torch.sum)(y)


def test_arguments_without_gradients_may_be_overwritten():
    for jacobian in (jacrev, jacfwd):
        target = torch.zeros(3)
        assert torch.equal(jacobian(lambda a, b: b.copy_(a * 2))(y, target), 2 * torch.eye(3))
        assert torch.equal(target, 2 * y) and not target.requires_grad


def test_batched_gradients_of_slices_need_linear_memory():
    x = torch.ones(50_010, requires_grad=True)
    parts = {"slice": x[:50_000], "pad": x.scatter_add(0, torch.zeros(5, dtype=torch.long), x[:50_000])}
    for part in parts.values():
        tracemalloc.start()
        (gradient,) = torch.autograd.grad(part.sum(), x, torch.ones(2), is_grads_batched=True)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert gradient.shape == (2, 50_010) and gradient[:, -1].max() <= 1
        assert peak < 100 * x.nbytes  # the matrix of all pairs has 50,000 times its size

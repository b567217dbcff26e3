"""Forward-mode AD with dual tensors, compared with reverse mode."""

from __future__ import annotations

import gc
import math
import weakref

import pytest

import flambeau as torch
from flambeau.autograd import Function
from flambeau.autograd import forward_ad as fw


def dual(*numbers, tangent=None):
    x = torch.tensor(numbers)
    return fw.make_dual(x, torch.ones_like(x) if tangent is None else torch.tensor(tangent))


def both(tensor):
    primal, tangent = fw.unpack_dual(tensor)
    return primal.tolist(), None if tangent is None else tangent.tolist()


# --- duals --------------------------------------------------------------------------------------------------------


def test_levels():
    x, t = torch.ones(2), torch.ones(2)
    with pytest.raises(RuntimeError, match="Trying to create a dual Tensor for forward AD but no level exists"):
        fw.make_dual(x, t)
    assert fw.unpack_dual(x) == (x, None)
    with fw.dual_level() as level:
        assert level == 0
        kept = fw.make_dual(x, t)
        assert kept is not x and kept._is_view() and fw.unpack_dual(kept).tangent is t and fw.unpack_dual(x).tangent is None
        assert repr(kept) == "tensor([1., 1.], tangent=tensor([1., 1.]))"
        with pytest.raises(RuntimeError, match="Nested forward mode AD is not supported at the moment"):
            fw.enter_dual_level()
        with pytest.raises(RuntimeError, match="Trying to exit a forward AD level that was not the last one"):
            fw.exit_dual_level(level=5)
    assert fw.unpack_dual(kept).tangent is None and repr(kept) == "tensor([1., 1.])"
    with pytest.raises(RuntimeError, match="Dual level must be a positive number"):
        fw.exit_dual_level()
    fw.enter_dual_level()
    assert fw.unpack_dual(kept).tangent is None  # `kept` belongs to an exited level
    fw.exit_dual_level()


def test_what_a_dual_is_made_of():
    x = torch.ones(3)
    with fw.dual_level():
        made_dual = dual(1.0, 2.0, 3.0)
        wrong = {
            "a different size than that of the original Tensor": (x, torch.ones(2)),
            "Expected primal to be floating point or complex": (x.long(), x),
            "Expected tangent to be floating point or complex": (x, x.long()),
            "Making a dual Tensor based on a Tensor that already has a forward gradient": (made_dual, x),
            "Setting a forward grad that itself has a forward gradient": (x, made_dual),
        }
        for match, (primal, tangent) in wrong.items():
            with pytest.raises((RuntimeError, ValueError), match=match):
                fw.make_dual(primal, tangent)
        assert fw.unpack_dual(made_dual.detach()).tangent is None and fw.unpack_dual(made_dual.data).tangent is None


# --- operations ---------------------------------------------------------------------------------------------------


def test_arithmetic():
    with fw.dual_level():
        x = dual(1.0, 2.0, 3.0)
        assert both(x * x + 2 * x) == ([3, 8, 15], [4, 6, 8])
        assert both(1 / x)[1] == pytest.approx([-1, -1 / 4, -1 / 9])
        assert both(x**3) == ([1, 8, 27], [3, 12, 27])
        assert both(x.sum()) == (6, 3) and both(x[1:]) == ([2, 3], [1, 1])
        assert both(torch.cat([x, torch.zeros(1)])) == ([1, 2, 3, 0], [1, 1, 1, 0])
        assert both(x.max(0).values) == (3, 1) and both(x.split(2)[1]) == ([3], [1])
        assert both(x > 1) == ([False, True, True], None) and both(x.long())[1] is None
        assert fw.unpack_dual(x.double()).tangent.dtype is torch.float64
        assert both(x @ x) == (14, 12)
        with torch.no_grad():
            assert both(x * 2) == ([2, 4, 6], [2, 2, 2])  # no_grad does not disable forward mode
        with torch.inference_mode():
            assert both(x * 2) == ([2, 4, 6], None)
        with pytest.raises(RuntimeError, match="Invalid level given to _make_dual"):
            fw.make_dual(torch.ones(1), torch.ones(1), level=1)
        assert both(torch.where(x > 1, x * x, x)) == ([1, 4, 9], [1, 4, 6])


def test_in_place():
    with fw.dual_level():
        x = dual(1.0, 2.0, 3.0)
        y = x.clone()
        y[0] = 5
        y[1] *= 3
        assert both(y) == ([5, 6, 3], [0, 3, 1])
        y = x.clone()
        view = y[1:]
        view.mul_(x[:2])
        assert both(y) == ([1, 2, 6], [1, 3, 5]) and both(view) == ([2, 6], [3, 5])
        y = torch.zeros(3)
        view = y[1:]
        view.copy_(x[:2])
        assert both(y) == ([0, 1, 2], [0, 1, 1])
        y = torch.zeros(3)
        y.add_(x)
        assert both(y) == ([1, 2, 3], [1, 1, 1])
        y.zero_()
        assert both(y)[0] == [0, 0, 0] and not any(both(y)[1] or [])
        y = x * 2
        y.detach_()
        assert both(y) == ([2, 4, 6], None)
        y = x.clone()
        y.unsqueeze_(0).t_()  # in-place operations that change the shape and strides
        assert both(y) == ([[1], [2], [3]], [[1], [1], [1]])
        spread = fw.make_dual(torch.ones(4), torch.ones(1).expand(4))
        assert both(spread.as_strided((2,), (2,))) == ([1, 1], [1, 1])


def test_in_place_operations_write_to_the_given_tangent():
    with fw.dual_level():
        tangent, value = torch.ones(2, 2), torch.ones(2, 2)
        x = fw.make_dual(value, tangent)
        x *= 2
        assert both(x) == (value.tolist(), tangent.tolist()) == ([[2, 2], [2, 2]], [[2, 2], [2, 2]])
        assert fw.unpack_dual(x).tangent.data_ptr() == tangent.data_ptr()
        x[0].mul_(3)
        assert both(x) == (value.tolist(), tangent.tolist()) == ([[6, 6], [2, 2]], [[6, 6], [2, 2]])
        y = x * x
        x.zero_()
        assert tangent.tolist() == [[0, 0], [0, 0]] and both(y)[1] == [[72, 72], [8, 8]]
        rows = torch.eye(3)  # a row is not at the start of its storage: the tangent is a copy
        x = fw.make_dual(torch.ones(3), rows[1])
        x *= 3
        assert rows.tolist() == torch.eye(3).tolist() and both(x)[1] == [0, 3, 0]
        x = fw.make_dual(torch.tensor([2.0]), torch.tensor([1.0]))
        x.mul_(x)
        assert both(x) == ([4], [4])


@pytest.mark.parametrize(
    "function",
    [
        torch.sin, torch.exp, torch.sigmoid, lambda x: x.softmax(0), lambda x: x.cumsum(0), lambda x: x.sort().values,
        lambda x: x.norm(), lambda x: x.var(), lambda x: x.reshape(2, 3) @ x.reshape(3, 2), lambda x: x.flip(0).cumprod(0),
        lambda x: torch.einsum("i,j->ij", x, x), lambda x: torch.nn.functional.layer_norm(x, (6,)),
        lambda x: torch.linalg.inv(x[:4].reshape(2, 2) + torch.eye(2) * 5),
        lambda x: torch.nn.functional.conv1d(x.reshape(1, 1, 6), x[:3].reshape(1, 1, 3)),
    ],
)  # fmt: skip
def test_against_reverse_mode(function):
    x = torch.tensor([0.3, 1.2, -0.7, 2.1, 0.4, -1.1])
    direction = torch.tensor([1.0, -2.0, 0.5, 0.1, 3.0, -1.0])
    with fw.dual_level():
        tangent = fw.unpack_dual(function(fw.make_dual(x, direction))).tangent
    jacobian = torch.autograd.functional.jacobian(function, x)
    assert torch.allclose(tangent, jacobian @ direction, atol=1e-5)


@pytest.mark.parametrize(
    "look", [lambda x: x.view(-1), lambda x: x[:2], lambda x: x.t(), lambda x: x[1], lambda x: x.unfold(0, 2, 1), lambda x: x]
)
@pytest.mark.parametrize(
    "operation",
    [lambda z: z * z, lambda z: torch.where(z > 0, z, z), lambda z: torch.cat([z, z * z, z]), lambda z: z.clone().mul_(z)],
)
def test_one_view_given_twice(look, operation):
    x, direction = torch.tensor([[0.3, -1.2], [0.7, 2.1], [-0.4, 1.1]]), torch.tensor([[1.0, -2.0], [0.5, 0.1], [3.0, -1.0]])
    once = lambda x: operation(look(x * 2))  # noqa: E731
    found = torch.func.jvp(once, (x,), (direction,))[1]
    assert torch.allclose(found, torch.tensordot(torch.autograd.functional.jacobian(once, x), direction, 2), atol=1e-5)
    with fw.dual_level():
        seen = look(fw.make_dual(x, direction))
        assert torch.equal(fw.unpack_dual(seen + seen).tangent, 2 * look(direction))
        assert torch.equal(fw.unpack_dual(seen).tangent, look(direction))  # unchanged


@pytest.mark.parametrize(
    ("function", "derivative"),
    [
        (lambda x: x * 0.1, lambda x: 0.1), (lambda x: x / 0.3, lambda x: 1 / 0.3), (lambda x: 0.1 / x, lambda x: -0.1 / x**2),
        (lambda x: 2**x, lambda x: math.log(2) * 2**x), (lambda x: 0.3**x, lambda x: math.log(0.3) * 0.3**x),
        (lambda x: torch.xlogy(x, 0.1), lambda x: math.log(0.1)), (lambda x: torch.add(x, x, alpha=0.1), lambda x: 1.1),
        (torch.deg2rad, lambda x: math.pi / 180), (lambda x: x * torch.tensor([1, 3]), lambda x: torch.tensor([1.0, 3.0])),
    ],
)  # fmt: skip
def test_numbers_beside_double_precision(function, derivative):
    x = torch.tensor([0.7, 1.9], dtype=torch.float64)
    expected = derivative(x) * torch.ones_like(x)
    for found in (torch.func.jvp(function, (x,), (torch.ones_like(x),))[1], torch.func.jacfwd(function)(x).diag()):
        assert found.dtype is torch.float64 and torch.allclose(found, expected, rtol=1e-14, atol=0)


# --- memory -------------------------------------------------------------------------------------------------------


def assign(x):
    result = torch.zeros(2, 3)
    result.t().copy_(x.t())
    return result


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x, lambda x: x.t().contiguous(), lambda x: x.t().clone(), lambda x: x.t() * 2, assign, lambda x: x.expand(4, 2, 3),
        lambda x: x.as_strided((3, 2), (1, 3)), lambda x: x.t().reshape(-1), lambda x: x[:, 1:], lambda x: x.t().unfold(0, 2, 1),
    ],
)  # fmt: skip
@pytest.mark.parametrize("by_columns", [False, True])
def test_tangents_are_laid_out_as_their_primals(function, by_columns):
    x = torch.arange(6.0).reshape(2, 3)
    direction = x.t().contiguous().t() if by_columns else x + 0
    with fw.dual_level():
        result = function(fw.make_dual(x, direction))
        tangent = fw.unpack_dual(result).tangent
        assert torch.equal(tangent, result)  # because functions are linear, and the tangent of x is x
        order = [sorted(range(t.ndim), key=lambda dim: -t.stride(dim)) for t in (result, tangent)]
        assert order[0] == order[1]
        if result.is_contiguous():
            assert torch.equal(fw.unpack_dual(result.view(-1)).tangent, result.view(-1))
    columns = torch.func.jacfwd(lambda x: function(x).reshape(-1))(x)
    assert torch.equal(columns.reshape(-1, 6) @ x.reshape(-1), function(x).reshape(-1))


def test_memory_that_the_dual_shows_in_part():
    whole = torch.arange(12.0).reshape(3, 4)
    with fw.dual_level():
        sparse = fw.make_dual(whole[:, ::2], torch.ones(3, 2))
        assert both(sparse.as_strided((3,), (4,))) == ([0, 4, 8], [1, 1, 1])
        corner = fw.make_dual(whole[1:, 2:], torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
        assert both(corner.as_strided((12,), (1,), 0)) == (list(range(12)), [0, 0, 0, 0, 0, 0, 1, 2, 0, 0, 3, 4])


# --- with the other mode ------------------------------------------------------------------------------------------


def test_over_and_under_reverse_mode():
    x, direction = torch.arange(3.0).requires_grad_(), torch.ones(3)
    with fw.dual_level():
        result = fw.make_dual(x, direction)
        assert result.requires_grad and not result.is_leaf
        value, tangent = fw.unpack_dual(result**3)
        assert tangent.tolist() == [0, 3, 12] and tangent.requires_grad
        assert torch.autograd.grad(tangent.sum(), x)[0].tolist() == [0, 6, 12]
        gradient = torch.autograd.grad((result**3).sum(), x)[0]
        assert both(gradient) == ([0, 3, 12], [0, 6, 12])
        (result**3).sum().backward()
    assert x.grad.tolist() == [0, 3, 12]


def test_saved_tensor_hooks_are_for_the_other_mode():
    packed = []
    x = torch.tensor([1.0, 2.0])
    with torch.autograd.graph.saved_tensors_hooks(lambda t: packed.append(t) or t, lambda t: t):
        cube = lambda x: x * x * x  # noqa: E731
        tangent = lambda x: torch.func.jvp(cube, (x,), (torch.ones(2),))[1]  # noqa: E731
        assert tangent(x).tolist() == [3, 12] and torch.func.jacfwd(tangent)(x).tolist() == [[6, 0], [0, 12]]
        assert not packed
        y = x.clone().requires_grad_()
        with fw.dual_level():
            value = cube(fw.make_dual(y, torch.ones(2)))
        assert packed
    value.sum().backward()
    assert y.grad.tolist() == [3, 12]


def test_functions():
    class Plain(Function):
        @staticmethod
        def forward(ctx, x, k):
            ctx.save_for_forward(x)
            ctx.k = k
            return x * k

        @staticmethod
        def backward(ctx, grad):
            return grad * ctx.k, None

    class WithJvp(Plain):
        @staticmethod
        def jvp(ctx, tangent, _):
            assert len(ctx.saved_tensors) == 1
            return tangent * ctx.k

    class Two(Function):
        @staticmethod
        def forward(ctx, x, y):
            return x * 2, y * 3

        @staticmethod
        def jvp(ctx, first, second):
            assert second.tolist() == [0, 0]  # a missing tangent is materialized as zeros
            return first * 2, None

    class Wrong(Two):
        @staticmethod
        def jvp(ctx, first, second):
            return torch.ones(7), None

    with fw.dual_level():
        x = dual(1.0, 2.0)
        with pytest.raises(NotImplementedError, match="You must implement the jvp function for custom autograd.Function"):
            Plain.apply(x, 3)
        assert both(WithJvp.apply(x, 3)) == ([3, 6], [3, 3])
        assert both(Two.apply(x, torch.ones(2))[0]) == ([2, 4], [2, 2])
        with pytest.raises(RuntimeError, match="a different size than that of the original Tensor"):
            Wrong.apply(x, torch.ones(2))


def test_a_deviation_of_zero():
    with fw.dual_level():
        assert both(fw.make_dual(torch.ones(3), torch.arange(3.0)).std()) == (0, 0)
        for p in (1.5, 2, 3):
            assert both(fw.make_dual(torch.zeros(3), torch.arange(3.0)).norm(p)) == (0, 0)


def test_modules():
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2))
    x, direction = torch.randn(5, 3), torch.randn(5, 3)
    with fw.dual_level():
        tangent = fw.unpack_dual(model(fw.make_dual(x, direction))).tangent
    small = 1e-3
    assert torch.allclose(tangent, (model(x + small * direction) - model(x - small * direction)) / (2 * small), atol=1e-3)


def test_tangents_die_with_their_level():
    gc.collect()
    gc.disable()
    try:
        with fw.dual_level():
            tangent = torch.ones(2)
            gone = weakref.ref(tangent)
            x = fw.make_dual(torch.ones(2), tangent)
            result = x * 2
            del tangent
            assert gone() is not None
        assert fw.unpack_dual(result).tangent is None
        del x, result
        assert gone() is None and gc.collect() == 0
    finally:
        gc.enable()


@pytest.mark.parametrize("draw", [
    torch.bernoulli, torch.poisson, lambda x: torch.normal(x, 1.0), lambda x: torch.normal(1.0, x), lambda x: torch.normal(x, x),
])  # fmt: skip
def test_samples_have_zero_tangents(draw):
    with fw.dual_level():
        x = torch.tensor([0.25, 0.5, 0.75])
        torch.manual_seed(0)
        sample, tangent = fw.unpack_dual(draw(fw.make_dual(x, torch.ones(3))))
        torch.manual_seed(0)
        assert torch.equal(sample, draw(x)) and tangent.tolist() == [0, 0, 0]

"""`gradcheck` and `gradgradcheck` accept right derivatives and reject wrong ones."""

from __future__ import annotations

import warnings

import pytest

import flambeau as torch
from flambeau.autograd import Function, gradcheck, gradgradcheck
from flambeau.autograd.gradcheck import GradcheckError

pytestmark = pytest.mark.slow


def double(*sizes, dtype=torch.float64):
    return torch.randn(*sizes, dtype=dtype, generator=torch.Generator().manual_seed(1)).requires_grad_()


class Wrong(Function):
    """Compute x**3 with a derivative that is wrong in a selectable way."""

    @staticmethod
    def forward(ctx, x, how):
        ctx.save_for_backward(x)
        ctx.how = how
        return x**3

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        right = grad * 3 * x**2
        return {
            "right": lambda: right,
            "value": lambda: right * 1.1,
            "shape": lambda: right.sum().expand(1, *right.shape),
            "constant": lambda: 3 * x**2,
            "random": lambda: right + torch.rand_like(right) * 1e-7,
            "none": lambda: None,
            "second": lambda: right.detach() + 0 * x,
            "detached": lambda: grad.detach() * 3 * x**2,
        }[ctx.how](), None

    @staticmethod
    def jvp(ctx, tangent, _):
        (x,) = ctx.saved_tensors
        return tangent * x**2 * (1 if ctx.how == "forward" else 3)


@pytest.mark.parametrize("fast", [False, True])
def test_right_derivatives_pass(fast):
    x, y = double(3, 2), double(2)
    assert gradcheck(lambda x, y: (x * y).sin(), (x, y), fast_mode=fast)
    assert gradcheck(lambda x, y: (x.sum(), (x * y).exp(), x > 0, "text"), (x, y), fast_mode=fast)
    assert gradcheck(torch.exp, x, check_forward_ad=True, check_batched_grad=True, check_batched_forward_grad=True)
    assert gradgradcheck(lambda x, y: (x * y).exp(), (x, y), fast_mode=fast)
    assert gradgradcheck(torch.sin, x, check_fwd_over_rev=True, check_batched_grad=True, gen_non_contig_grad_outputs=True)
    assert gradgradcheck(torch.exp, (x,), double(3, 2))


def test_fast_mode_changes_inputs_by_eps_along_a_unit_vector():
    """No element leaves a domain by more than `eps`, and the global generator is not used."""
    x, seen = double(20), []

    def square(x):
        seen.append((x.detach() - original).abs())
        return x * x

    original, state = x.detach().clone(), torch.get_rng_state()
    assert gradcheck(square, x, fast_mode=True, eps=1e-6)
    assert torch.equal(torch.get_rng_state(), state)
    assert max(float(change.norm()) for change in seen) == pytest.approx(1e-6, rel=1e-6)


@pytest.mark.parametrize("fast", [False, True])
def test_complex_derivatives(fast):
    z, w = double(3, dtype=torch.complex128), double(3, dtype=torch.complex128)
    assert gradcheck(lambda z, w: z * w.conj() + z.exp(), (z, w), fast_mode=fast)
    assert gradcheck(lambda z: (z.abs(), z.real * 2, z.angle()), z, fast_mode=fast)
    assert gradcheck(torch.complex, (double(2), double(2) + 0), fast_mode=fast, check_forward_ad=True)
    assert gradgradcheck(lambda z: z**2, z, fast_mode=fast)

    class Conjugated(Function):
        @staticmethod
        def forward(ctx, z):
            return z * 2j

        @staticmethod
        def backward(ctx, grad):
            return grad * 2j  # the conjugate is missing

    with pytest.raises(
        GradcheckError, match="While considering the (imaginary|real) part of complex outputs only, Jacobian mismatch"
    ):
        gradcheck(Conjugated.apply, z, fast_mode=fast)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("value", "Jacobian mismatch for output 0 with respect to input 0,"),
        ("shape", "invalid gradient|incorrect size|Jacobian mismatch"),
        ("constant", "Jacobian mismatch|backward not multiplied by grad_output"),
        ("random", "Backward is not reentrant"),
        ("none", "Jacobian mismatch"),
    ],
)
def test_wrong_derivatives_are_found(how, message):
    x = double(3)
    with pytest.raises(RuntimeError, match=message):
        gradcheck(lambda x: Wrong.apply(x, how), x)
    if how not in ("shape",):
        assert gradcheck(lambda x: Wrong.apply(x, how), x, raise_exception=False) is False
    assert gradcheck(lambda x: Wrong.apply(x, "right"), x, check_forward_ad=False)


def test_wrong_second_derivatives_are_found():
    x = double(3)
    assert gradcheck(lambda x: Wrong.apply(x, "second"), x)
    for how in ("second", "detached"):
        with pytest.raises(GradcheckError, match="Jacobian mismatch"):
            gradgradcheck(lambda x, how=how: Wrong.apply(x, how), x)
    assert not gradgradcheck(lambda x: Wrong.apply(x, "second"), x, raise_exception=False)


def test_wrong_forward_derivatives_are_found():
    class Half(Function):
        @staticmethod
        def forward(x):
            return x.sin()

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)
            ctx.save_for_forward(*inputs)

        @staticmethod
        def backward(ctx, grad):
            return grad * ctx.saved_tensors[0].cos()

        @staticmethod
        def jvp(ctx, tangent):
            return tangent * ctx.saved_tensors[0].cos() / 2

    x = double(3)
    assert gradcheck(Half.apply, x)
    with pytest.raises(GradcheckError, match="Jacobian computed with forward mode mismatch for output 0 with respect to input 0"):
        gradcheck(Half.apply, x, check_forward_ad=True)


def test_undefined_gradients():
    class Two(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.set_materialize_grads(False)
            return x * 2, x * 3

        @staticmethod
        def backward(ctx, first, second):
            return first * 2 + second * 3

    x = double(2)
    with pytest.raises((GradcheckError, TypeError, AttributeError)):
        gradcheck(Two.apply, x)


def test_results_that_wrongly_have_no_derivative():
    x = double(2)
    with pytest.raises(GradcheckError, match="Numerical gradient for function expected to be zero"):
        gradcheck(lambda x: x.detach() * 2, x)
    assert gradcheck(lambda x: torch.ones(2), x)
    assert gradcheck(lambda x: x > 5, x)


def test_arguments_are_checked():
    x = double(2)
    with pytest.raises(ValueError, match="gradcheck expects at least one input tensor to require gradient"):
        gradcheck(torch.sin, torch.ones(2, dtype=torch.float64))
    with pytest.raises(RuntimeError, match="The 0th input has a dimension with stride 0"):
        gradcheck(torch.sin, double(1, 2).detach().expand(3, 2).requires_grad_())
    with (
        pytest.warns(UserWarning, match="Input #0 requires gradient and is not a double precision"),
        pytest.raises(GradcheckError),
    ):
        gradcheck(torch.sin, torch.ones(2, requires_grad=True))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert gradcheck(torch.sin, torch.ones(2, requires_grad=True), eps=1e-3, atol=1e-2, rtol=1e-2)
    with pytest.raises(AssertionError, match="Expected at least one of check_forward_ad or check_backward_ad to be True"):
        gradcheck(torch.sin, x, check_backward_ad=False)
    with pytest.raises(AssertionError, match="check_batched_grad=True requires check_backward_ad"):
        gradcheck(torch.sin, x, check_backward_ad=False, check_forward_ad=True, check_batched_grad=True)
    assert gradcheck(torch.sin, x, check_backward_ad=False, check_forward_ad=True)


def test_inputs_come_back_unchanged():
    x = double(2, 2)
    before = x.tolist()
    assert gradcheck(lambda x, n: x**n, (x, 2)) and x.tolist() == before and x.grad is None
    view = torch.randn(4, 3, dtype=torch.float64).t()[1:].requires_grad_()
    assert gradcheck(torch.exp, view)
    assert gradcheck(torch.sum, torch.zeros(0, 2, dtype=torch.float64, requires_grad=True))


def test_the_spelling_of_0_2():
    from flambeau.autograd import gradcheck as module
    from flambeau.autograd.gradcheck import gradcheck as function

    x = double(2)
    assert module.gradcheck(torch.sin, (x,), eps=1e-6, atol=1e-4) and function(torch.sin, (x,)) and module(torch.sin, (x,))
    assert module.gradgradcheck(torch.sin, (x,))
    assert torch.autograd.gradcheck.GradcheckError is GradcheckError


def test_functions_under_forward_mode_get_tangents_for_all_inputs_and_no_history():
    seen = []

    def add(x, y):
        if torch.autograd.forward_ad._current_level >= 0:
            seen.append((x.requires_grad, torch.autograd.forward_ad.unpack_dual(y).tangent is not None))
        return x + y

    x, y = (torch.rand(2, dtype=torch.double, requires_grad=True) for _ in range(2))
    assert gradcheck(add, (x, y), check_forward_ad=True)
    assert set(seen) == {(False, True)}

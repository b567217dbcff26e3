"""Autograd end to end: the behaviour that every PyTorch program relies on."""

from __future__ import annotations

import gc
import threading
import weakref

import numpy as np
import pytest

import flambeau as torch
from flambeau.autograd import Function, Variable, gradcheck, gradgradcheck


def leaf(*values: float) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64, requires_grad=True)


# --- backward and grad --------------------------------------------------------------------------------------------


def test_gradients_accumulate_and_graphs_are_freed() -> None:
    x = leaf(1.0, 2.0)
    y = (x * x).sum()
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.tolist() == [4, 8]
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        y.backward()


def test_weights_and_refusals() -> None:
    x = leaf(1.0, 2.0)
    (x * 3).backward(torch.tensor([1.0, 10.0], dtype=torch.float64))
    assert x.grad.tolist() == [3, 30]
    with pytest.raises(RuntimeError, match="grad can be implicitly created only for scalar outputs"):
        (x * 3).backward()
    with pytest.raises(RuntimeError, match="Mismatch in shape"):
        (x * 3).backward(torch.ones(3, dtype=torch.float64))
    with pytest.raises(RuntimeError, match="does not require grad and does not have a grad_fn"):
        torch.ones(1).backward()


def test_grad_leaves_grad_alone() -> None:
    x, y, z = leaf(2.0), leaf(3.0), leaf(5.0)
    out = x**2 * y
    gx, gy = torch.autograd.grad(out, (x, y), retain_graph=True)
    assert gx.item() == 12 and gy.item() == 4 and x.grad is None
    with pytest.raises(RuntimeError, match="appears to not have been used in the graph"):
        torch.autograd.grad(out, z, retain_graph=True)
    assert torch.autograd.grad(out, z, retain_graph=True, allow_unused=True) == (None,)
    assert torch.autograd.grad(out, z, retain_graph=True, materialize_grads=True)[0].item() == 0
    middle = x * 2
    assert torch.autograd.grad((middle * y).sum(), middle)[0].item() == 3


def test_inputs_restrict_backward() -> None:
    x, y = leaf(2.0), leaf(3.0)
    (x * y).sum().backward(inputs=[x])
    assert x.grad.item() == 3 and y.grad is None


def test_higher_orders() -> None:
    x = leaf(2.0)
    first = torch.autograd.grad((x**4).sum(), x, create_graph=True)[0]
    second = torch.autograd.grad(first.sum(), x, create_graph=True)[0]
    third = torch.autograd.grad(second.sum(), x)[0]
    assert (first.item(), second.item(), third.item()) == (32, 48, 48)


def test_broadcasting_and_mixed_dtypes_come_back() -> None:
    x = torch.ones(3, 1, requires_grad=True)
    y = torch.ones(2, dtype=torch.float64, requires_grad=True)
    (x * y).sum().backward()
    assert x.grad.shape == (3, 1) and x.grad.dtype is torch.float32 and x.grad.tolist() == [[2], [2], [2]]
    assert y.grad.dtype is torch.float64 and y.grad.tolist() == [3, 3]


# --- the graph ----------------------------------------------------------------------------------------------------


def test_the_graph_can_be_read() -> None:
    x = leaf(1.0)
    y = x * 2 + 1
    assert y.grad_fn.name() == "AddBackward0" and not y.is_leaf and x.is_leaf and x.grad_fn is None
    product, none = y.grad_fn.next_functions
    assert product[0].name() == "MulBackward0" and none == (None, 0)
    accumulate = product[0].next_functions[0][0]
    assert type(accumulate).__name__ == "AccumulateGrad" and accumulate.variable is x
    assert y.creator is y.grad_fn
    first, second = torch.stack([y, y]).unbind()
    assert second.output_nr == 1 and first.grad_fn is second.grad_fn


def test_hooks() -> None:
    x = leaf(1.0, 2.0)
    seen = []
    handle = x.register_hook(lambda g: seen.append(g.tolist()) or g * 10)
    y = x * 3
    y.register_hook(lambda g: g + 1)
    y.retain_grad()
    y.grad_fn.register_hook(lambda inputs, outputs: seen.append(len(inputs)))
    y.sum().backward()
    assert y.grad.tolist() == [2, 2] and x.grad.tolist() == [60, 60] and [6, 6] in seen and 2 in seen
    handle.remove()
    x.grad = None
    (x * 3).sum().backward()
    assert x.grad.tolist() == [3, 3]
    called = []
    x.register_post_accumulate_grad_hook(lambda p: called.append(p.grad.tolist()))
    (x * 1).sum().backward()
    assert called == [[4, 4]]


@pytest.mark.parametrize("name", ["var_mean", "std_mean", "aminmax"])
def test_both_results_of_a_reduction_have_one_node(name):
    x = torch.tensor([1.0, 2.0, 3.0, 6.0], requires_grad=True)
    first, second = getattr(torch, name)(x)
    lengths = []
    assert first.grad_fn is second.grad_fn and (first.output_nr, second.output_nr) == (0, 1)
    second.grad_fn.register_prehook(lambda gradients: lengths.append(len(gradients)))
    (first + second).backward()
    assert lengths == [2]
    expected = {
        "var_mean": [-1.0833333, -0.4166667, 0.25, 2.25],
        "std_mean": [-0.0586, 0.0957, 0.25, 0.7129],
        "aminmax": [1.0, 0.0, 0.0, 1.0],
    }
    torch.testing.assert_close(x.grad, torch.tensor(expected[name]), atol=1e-4, rtol=0)


@pytest.mark.slow
def test_deep_graphs() -> None:
    x = leaf(1.0)
    y = x
    for _ in range(100_000):
        y = y + 1
    y.sum().backward()
    assert x.grad.item() == 1
    z = x
    for _ in range(100_000):
        z = z * 1.0
    del y, z  # backward and deletion of deep graphs must not recurse


def test_nothing_leaks() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step() -> weakref.ref:
        loss = model(torch.ones(4, 8)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return weakref.ref(loss)

    step()
    gc.collect()
    gc.disable()
    try:
        assert step()() is None
        for _ in range(20):
            step()
        assert gc.collect() == 0
    finally:
        gc.enable()


def test_threads_have_modes_of_their_own() -> None:
    found = []
    with torch.no_grad():
        thread = threading.Thread(target=lambda: found.append((leaf(1.0) * 2).requires_grad))
        thread.start()
        thread.join()
        assert not (leaf(1.0) * 2).requires_grad
    assert found == [True]


# --- modes --------------------------------------------------------------------------------------------------------


def test_modes_as_contexts_and_decorators() -> None:
    x = leaf(1.0)
    with torch.no_grad():
        assert not (x * 2).requires_grad and not torch.is_grad_enabled()
        with torch.enable_grad():
            assert (x * 2).requires_grad
    with torch.set_grad_enabled(False):
        assert not (x * 2).requires_grad
    assert torch.is_grad_enabled()

    @torch.no_grad()
    def plain() -> torch.Tensor:
        return x * 2

    @torch.no_grad
    def bare() -> torch.Tensor:
        return x * 2

    @torch.no_grad()
    def numbers():
        yield (x * 2).requires_grad
        yield torch.is_grad_enabled()

    assert not plain().requires_grad and not bare().requires_grad and list(numbers()) == [False, False]
    torch.set_grad_enabled(False)
    assert not (x * 2).requires_grad
    torch.set_grad_enabled(True)


def test_inference_mode() -> None:
    x = leaf(1.0)
    with torch.inference_mode():
        y = x * 2
        assert y.is_inference() and torch.is_inference_mode_enabled() and not y.requires_grad
        y.add_(1)
    with pytest.raises(RuntimeError, match="Inplace update to inference tensor outside InferenceMode"):
        y.add_(1)
    with pytest.raises(RuntimeError, match="Inference tensors cannot be saved for backward"):
        x * y
    assert not (x * 2).is_inference() and (y.clone() * x).requires_grad


# --- in place -----------------------------------------------------------------------------------------------------


def test_leaves_are_protected() -> None:
    x = leaf(1.0, 2.0)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in an in-place operation"):
        x.add_(1)
    with pytest.raises(RuntimeError, match="a view of a leaf Variable that requires grad"):
        x[0].mul_(2)
    with torch.no_grad():
        x.add_(1)
    assert x.tolist() == [2, 3]


def test_saved_tensors_are_watched() -> None:
    x = leaf(1.0, 2.0)
    y = x.exp()
    y.add_(1)
    with pytest.raises(
        RuntimeError,
        match=r"modified by an inplace operation: \[torch(.cuda)?.DoubleTensor \[2\]\].* is at version 1; "
        "expected version 0",
    ):
        y.sum().backward()
    y = x * 2
    y.add_(1).mul_(x)  # neither operation saved the memory that the other overwrites
    y.sum().backward()
    assert x.grad.tolist() == [5, 9]


def test_versions() -> None:
    x = torch.zeros(3)
    view, same = x[1:], x.detach()
    x.add_(1)
    view.mul_(2)
    assert x._version == view._version == same._version == 2 and x.data._version == 0


def test_writes_through_views_are_recorded() -> None:
    w = leaf(2.0, 3.0, 5.0)
    x = torch.zeros(2, 3, dtype=torch.float64)
    row, column = x[0], x[:, 1]
    row.add_(w)
    column.mul_(w[2])
    x.t_()
    assert x.tolist() == [[2, 0], [15, 0], [5, 0]] and row.tolist() == [2, 15, 5]
    (x.sum() + row.sum()).backward()
    assert w.grad.tolist() == [2, 10, 2 + 6]
    y = torch.ones(3, dtype=torch.float64)
    y[y > 0] += w
    y[0] = 1
    assert torch.autograd.grad(y.sum(), w)[0].tolist() == [0, 1, 1]


def test_views_of_several_may_not_be_written() -> None:
    parts = (leaf(1.0, 2.0) * 1).unbind()
    with pytest.raises(RuntimeError, match="is a view and is being modified inplace"):
        parts[0].add_(leaf(1.0)[0])


def test_detach_shares_memory_and_version() -> None:
    x = leaf(1.0, 2.0)
    y = x * 2
    z = y.detach()
    z.zero_()
    assert y.tolist() == [0, 0] and not z.requires_grad and y._version == 1
    assert y.detach_().grad_fn is None


# --- functions of one's own ---------------------------------------------------------------------------------------


class Cube(Function):
    @staticmethod
    def forward(ctx, x, scale):
        ctx.save_for_backward(x)
        ctx.scale = scale
        return x**3 * scale

    @staticmethod
    def backward(ctx, g):
        assert ctx.needs_input_grad == (True, False)
        (x,) = ctx.saved_tensors
        return g * 3 * x**2 * ctx.scale, None


class OldLinear(Function):  # PyTorch 0.2 style: a call's state is stored on the instance
    def forward(self, input, weight, bias=None):
        self.save_for_backward(input, weight, bias)
        output = input.mm(weight.t())
        if bias is not None:
            output += bias.unsqueeze(0).expand_as(output)
        return output

    def backward(self, grad_output):
        input, weight, bias = self.saved_tensors
        grad_bias = grad_output.sum(0).squeeze(0) if bias is not None and self.needs_input_grad[2] else None
        return grad_output.mm(weight), grad_output.t().mm(input), grad_bias


def test_static_functions() -> None:
    x = leaf(2.0)
    y = Cube.apply(x, 2.0)
    assert y.grad_fn.name() == "CubeBackward"
    (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    (gg,) = torch.autograd.grad(g.sum(), x)
    assert g.item() == 24 and gg.item() == 24
    assert gradcheck(lambda t: Cube.apply(t, 2.0), (leaf(0.5, -1.5),)) and gradgradcheck(
        lambda t: Cube.apply(t, 2.0), (leaf(0.5),)
    )


def test_functions_of_old() -> None:
    def doubles(*shape: int) -> torch.Tensor:
        return Variable(torch.randn(*shape).double(), requires_grad=True)

    assert gradcheck.gradcheck(OldLinear(), (doubles(3, 4), doubles(2, 4)), eps=1e-6, atol=1e-4)
    x, w, b = doubles(3, 4), doubles(2, 4), doubles(2)
    OldLinear()(x, w, b).sum().backward()
    assert torch.allclose(b.grad, torch.full((2,), 3.0, dtype=torch.float64))


def test_gradcheck_finds_a_wrong_derivative() -> None:
    class Wrong(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 3

    with pytest.raises(RuntimeError, match="Jacobian mismatch"):
        gradcheck(Wrong.apply, (leaf(1.0),))
    assert not gradcheck(Wrong.apply, (leaf(1.0),), raise_exception=False)


# --- anomaly mode, Variable ---------------------------------------------------------------------------------------


def test_anomaly_mode_names_the_forward_line() -> None:
    x = leaf(-1.0)
    with torch.autograd.detect_anomaly(), pytest.warns(UserWarning, match="(?s)Error detected in SqrtBackward0.*y = x.sqrt"):
        y = x.sqrt()
        with pytest.raises(RuntimeError, match="Function 'SqrtBackward0' returned nan values in its 0th output"):
            y.sum().backward()


def test_variable_and_volatile() -> None:
    x = Variable(torch.ones(2), volatile=True)
    w = Variable(torch.ones(2), requires_grad=True)
    assert isinstance(x, Variable) and isinstance(torch.ones(1), Variable) and x.volatile
    y = x * w
    assert y.volatile and not y.requires_grad
    loss = (w * 2).sum()
    loss.backward(retain_variables=True)
    w.data -= 0.5 * w.grad.data
    w.grad.data.zero_()
    assert np.allclose(w.data.tolist(), 0) and w.grad.tolist() == [0, 0] and loss.data[0] == 4


# --- half precision -----------------------------------------------------------------------------------------------


HALF = [
    lambda x: x @ x, lambda x: torch.addmm(x, x, x, beta=0.3, alpha=1.7), lambda x: torch.addmm(x, x, x),
    lambda x: torch.baddbmm(x[None], x[None], x[None], alpha=0.3), lambda x: torch.nn.functional.linear(x, x, x[0]),
    lambda x: x * 1.5, lambda x: x**2.5, lambda x: x.lerp(x.T, 0.3), lambda x: x.clamp(0.2, 0.7), torch.nn.functional.relu6,
    lambda x: torch.nn.functional.softshrink(x, 0.3), lambda x: torch.nn.functional.huber_loss(x, x.T, delta=0.3),
    lambda x: torch.xlogy(x, x), lambda x: torch.nn.functional.lp_pool1d(x, 1.5, 2), lambda x: x.norm(1.5),
]  # fmt: skip


@pytest.mark.parametrize("call", HALF)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_kept_and_rounded_once(dtype, call) -> None:
    """Results have only the digits of half precision. They and their gradients match float32 up to rounding."""
    values = torch.rand(4, 4, generator=torch.Generator().manual_seed(0), device="cpu").to(torch.get_default_device(), dtype)
    found = []
    for x in (values.clone().requires_grad_(), values.float().requires_grad_()):
        made = call(x)
        made.float().square().sum().backward()
        found.append((made, x.grad))
    for half, full in zip(*found, strict=True):
        assert half.dtype is dtype
        digits = half.detach().view(torch.int16).clone().view(dtype).float()  # the value after a round trip through 16 bits
        torch.testing.assert_close(half.float(), digits, rtol=0, atol=0)
        torch.testing.assert_close(half.float(), full, rtol=0.03, atol=0.03)


def test_gradients_that_nobody_asked_for_are_not_computed():
    """A backward rule runs only for arguments that lead to the requested inputs; hooks see None for the others."""
    x, w = torch.randn(3, 4, requires_grad=True), torch.randn(2, 4, requires_grad=True)
    for inputs, expected in ([w], [False, True]), ([x], [True, False]), ([x, w], [True, True]):
        computed = []
        y = torch.nn.functional.linear(x * 1, w)
        y.grad_fn.register_hook(lambda grads, _, computed=computed: computed.extend(grad is not None for grad in grads))
        torch.autograd.grad(y.sum(), inputs)
        assert computed == expected
    image, kernel = torch.randn(1, 1, 4, 4, requires_grad=True), torch.randn(1, 1, 2, 2, requires_grad=True)
    conv = torch.nn.functional.conv2d(image * 1, kernel)
    conv.grad_fn.register_hook(lambda grads, _: computed.append([grad is not None for grad in grads]))
    conv.sum().backward(inputs=[kernel])
    assert computed[-1][:2] == [False, True]

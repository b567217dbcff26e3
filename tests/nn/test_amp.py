"""Mixed precision: the dtype of operations under autocast, and the gradient scaler."""

from __future__ import annotations

import copy
import math
import pickle
import threading

import pytest
from flambeau.amp.autocast_mode import (
    clear_autocast_cache,
    get_autocast_dtype,
    is_autocast_cache_enabled,
    is_autocast_enabled,
    set_autocast_cache_enabled,
    set_autocast_dtype,
)

import flambeau as torch
import flambeau.nn.functional as F
from flambeau.amp import GradScaler, autocast, custom_bwd, custom_fwd, is_autocast_available
from flambeau.extension import Autocast, facts_of, operation_name

HALVES = [torch.float16, torch.bfloat16]


def square(dtype=torch.float32):
    return torch.tensor([[1.0, 2.0], [3.0, 4.0]], dtype=dtype)


# --- The policies ---


def test_policies_are_facts_of_operations():
    assert facts_of("matmul").autocast_on("cpu") is facts_of("conv2d").autocast_on("cuda") is Autocast.FAST
    assert facts_of("softmax").autocast_on("cuda") is facts_of("mse_loss").autocast_on("cpu") is Autocast.FLOAT32
    assert facts_of("cat").autocast_on("cpu") is facts_of("addcmul").autocast_on("cuda") is Autocast.WIDEST
    assert facts_of("binary_cross_entropy").autocast_on("cuda") is Autocast.UNSAFE
    assert facts_of("relu").autocast_on("cpu") is None


def test_operation_names():
    assert operation_name(torch.matmul) == operation_name(torch.Tensor.matmul) == "matmul"
    assert operation_name(torch.Tensor.__matmul__) == operation_name(torch.Tensor.__rmatmul__) == "matmul"
    assert operation_name(torch.Tensor.__rpow__) == "pow"
    assert operation_name(torch.linalg.inv) == "linalg_inv" and operation_name(torch.fft.fft) == "fft_fft"
    assert operation_name(F.linear) == "linear"


# --- Casting ---

LEFT_ALONE = {
    "chunk": lambda x: x.chunk(2)[0],
    "reshape_as": lambda x: x.reshape_as(x.flatten()),
    "masked_fill": lambda x: x.masked_fill(x > 1, 0.0),
    "median": lambda x: x.median(1).values,
    "nansum": lambda x: x.nansum(),
    "group norm": lambda x: F.group_norm(x, 2),
    "batch norm": lambda x: F.batch_norm(x, None, None, training=True),
    "indexing": lambda x: x[x > 1],
    "adaptive pooling": lambda x: F.adaptive_avg_pool1d(x, 1),
    "dot": lambda x: torch.dot(x[0], x[1]),
    "dot as a method": lambda x: x[0].dot(x[1]),
    "inner product of vectors": lambda x: x[0].inner(x[1]),
    "mv as a method": lambda x: x.mv(x[0]),
    "a method in place": lambda x: x.clone().addmm_(x, x),
    "bucketize": lambda x: torch.bucketize(x, x[0]).float(),
}


@pytest.mark.parametrize("call", LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_other_operations_compute_what_they_do_outside(call):
    """Composite operations that use matrix products internally keep float32 if autocast does not list them."""
    x = square()
    with autocast("cpu"):
        inside = call(x)
    assert inside.dtype == torch.float32 and torch.equal(inside, call(x))


PRODUCTS = {
    "operator": lambda x: x @ x,
    "function": lambda x: torch.mm(x, x),
    "method": lambda x: x.matmul(x),
    "linear": lambda x: F.linear(x, x, x[0]),
    "einsum": lambda x: torch.einsum("ij,jk->ik", x, x),
    "addmm": lambda x: torch.addmm(x, x, x),
    "method made of operations": lambda x: x.addbmm(x[None], x[None]),
    "keyword": lambda x: torch.mm(x, mat2=x),
}


@pytest.mark.parametrize("half", HALVES)
@pytest.mark.parametrize("product", PRODUCTS.values(), ids=PRODUCTS.keys())
def test_products_run_in_half_precision(product, half):
    with autocast("cpu", dtype=half):
        result = product(square())
        assert product(square(half)).dtype is half
        assert product(square(torch.float64)).dtype is torch.float64
    assert result.dtype is half
    assert torch.allclose(result.float(), product(square()))
    assert product(square()).dtype is torch.float32


@pytest.mark.parametrize("half", HALVES)
def test_losses_run_in_float32_and_the_rest_as_it_comes(half):
    with autocast("cpu", dtype=half):
        assert F.mse_loss(square(half), square(half)).dtype is torch.float32
        assert F.cross_entropy(square(half), torch.tensor([0, 1])).dtype is torch.float32
        assert torch.prod(square(half)).dtype is torch.float32
        assert F.relu(square(half)).dtype is half
        assert F.relu(square()).dtype is torch.float32
        assert (square(half) + square()).dtype is torch.float32


@pytest.mark.parametrize("half", HALVES)
def test_joining_takes_the_widest(half):
    with autocast("cpu", dtype=half):
        assert torch.cat([square(half), square()]).dtype is torch.float32
        assert torch.stack([square(half), square(half)]).dtype is half


def test_methods_made_of_operations_run_in_float32():
    x = square(torch.bfloat16)
    with autocast("cpu"):
        assert x.quantile(0.5).dtype is x.trace().dtype is x.inverse().dtype is torch.float32
        assert x.index_copy(0, torch.tensor([0]), square()[:1]).dtype is torch.float32  # the arguments' widest dtype
    whole = vars(torch.Tensor)["trace"]
    with autocast("cpu"), autocast("cpu", enabled=False):
        assert x.trace().dtype is torch.bfloat16
        assert vars(torch.Tensor)["trace"] is not whole
    assert vars(torch.Tensor)["trace"] is whole


def test_integers_and_out_are_left_alone():
    whole = torch.tensor([[1, 2], [3, 4]])
    out = torch.empty(2, 2)
    with autocast("cpu"):
        assert torch.mm(whole, whole).dtype is torch.int64
        torch.mm(square(), square(), out=out)
    assert torch.equal(out, square() @ square())


def test_gradients_come_back_in_the_dtype_of_the_parameters():
    torch.manual_seed(0)
    layer = torch.nn.Linear(3, 2)
    x, target = torch.randn(4, 3), torch.randn(4, 2)
    expected = torch.autograd.grad(F.mse_loss(layer(x), target), list(layer.parameters()))
    with autocast("cpu"):
        output = layer(x)
        loss = F.mse_loss(output, target)
    loss.backward()
    assert (output.dtype, loss.dtype) == (torch.bfloat16, torch.float32)
    for parameter, grad in zip(layer.parameters(), expected, strict=True):
        assert parameter.grad.dtype is torch.float32
        assert torch.allclose(parameter.grad, grad, rtol=0.05, atol=0.02)


# --- Regions ---


def test_regions_nest():
    x = square()
    with autocast("cpu"):
        assert (x @ x).dtype is torch.bfloat16
        with autocast("cpu", enabled=False):
            assert not is_autocast_enabled("cpu")
            assert (x @ x).dtype is torch.float32
        with autocast("cpu", dtype=torch.float16):
            assert (x @ x).dtype is get_autocast_dtype("cpu") is torch.float16
        assert (x @ x).dtype is torch.bfloat16
    assert not is_autocast_enabled("cpu")
    with autocast("cpu", enabled=False), autocast("cpu"):
        assert (x @ x).dtype is torch.bfloat16


def test_a_region_ends_with_an_error():
    with pytest.raises(ZeroDivisionError), autocast("cpu"):
        1 / 0
    assert not is_autocast_enabled("cpu")
    assert (square() @ square()).dtype is torch.float32


def test_as_a_decorator():
    @autocast("cpu")
    def product(x, depth=2):
        return product(x, depth - 1) if depth else x @ x

    assert product.__name__ == "product"
    assert product(square()).dtype is torch.bfloat16
    assert not is_autocast_enabled("cpu")
    with pytest.raises(TypeError, match=r"autocast\(\)\(func\) requires a callable, but got int"):
        autocast("cpu")(3)


def test_threads_have_their_own():
    seen = []
    with autocast("cpu"):
        thread = threading.Thread(target=lambda: seen.append((is_autocast_enabled("cpu"), (square() @ square()).dtype)))
        thread.start()
        thread.join()
    assert seen == [(False, torch.float32)]


def test_parameters_are_cast_once():
    weight = torch.ones(2, 2, requires_grad=True)

    class Log(torch.overrides.TorchFunctionMode):
        casts = 0

        def __torch_function__(self, func, types, args=(), kwargs=None):
            self.casts += func.__name__ == "to" and args[0] is weight
            return func(*args, **(kwargs or {}))

    def casts(**options):
        with Log() as log, autocast("cpu", **options):
            result = weight @ weight
            (result @ weight).sum().backward()
        return log.casts

    assert casts() == 1
    assert casts(cache_enabled=False) == 3
    assert weight.grad.tolist() == [[24.0, 24.0], [24.0, 24.0]]
    assert is_autocast_cache_enabled()
    set_autocast_cache_enabled(False)
    assert casts() == 3
    set_autocast_cache_enabled(True)


def test_a_cast_without_history_is_not_used_with_one():
    weight = torch.ones(2, 2, requires_grad=True)
    with autocast("cpu"):
        with torch.no_grad():
            weight @ weight
        (weight @ weight).sum().backward()
        clear_autocast_cache()
    assert weight.grad is not None


def test_what_autocast_rejects():
    with pytest.raises(ValueError, match="Expected `device_type` of type `str`, got: `<class 'int'>`"):
        autocast(3)
    with pytest.raises(RuntimeError, match="unsupported autocast device_type 'meta'"):
        autocast("meta")
    with pytest.raises(RuntimeError):
        autocast("lantern")
    with pytest.warns(UserWarning, match="CPU Autocast only supports dtypes of torch.bfloat16, torch.float16 currently"):
        region = autocast("cpu", dtype=torch.float32)
    with region:
        assert (square() @ square()).dtype is torch.float32
    assert is_autocast_available("cpu") and not is_autocast_available("meta")
    if not torch.cuda.is_available():
        with pytest.warns(UserWarning, match="CUDA is not available"):
            autocast("cuda")


def test_settings_for_a_device():
    assert (get_autocast_dtype("cpu"), get_autocast_dtype("cuda")) == (torch.bfloat16, torch.float16)
    set_autocast_dtype("cpu", torch.float16)
    try:
        with autocast("cpu"):
            assert (square() @ square()).dtype is torch.float16
    finally:
        set_autocast_dtype("cpu", torch.bfloat16)


@pytest.mark.parametrize("cast_inputs", [None, torch.float32])
def test_custom_functions(cast_inputs):
    seen = []

    class Square(torch.autograd.Function):
        @staticmethod
        @custom_fwd(device_type="cpu", cast_inputs=cast_inputs)
        def forward(ctx, x, more):
            seen.append((x.dtype, more["y"].dtype, is_autocast_enabled("cpu")))
            ctx.save_for_backward(x)
            return x @ x

        @staticmethod
        @custom_bwd(device_type="cpu")
        def backward(ctx, grad):
            seen.append(is_autocast_enabled("cpu"))
            return grad * 2, None

    x = square(torch.bfloat16).requires_grad_()
    with autocast("cpu"):
        y = Square.apply(x, {"y": square(torch.bfloat16)})
    y.sum().backward()
    if cast_inputs is None:
        assert seen == [(torch.bfloat16, torch.bfloat16, True), True]
    else:
        assert seen == [(torch.float32, torch.float32, False), False]
    del seen[:]
    Square.apply(square(torch.bfloat16), {"y": square(torch.bfloat16)})
    assert seen == [(torch.bfloat16, torch.bfloat16, False)]
    with pytest.raises(ValueError, match="Expected `device_type` of type `str`"):
        custom_fwd(device_type=3)
    with pytest.raises(ValueError, match="Expected `device_type` of type `str`"):
        custom_bwd(device_type=3)


def test_the_names_of_old():
    with pytest.warns(FutureWarning, match="torch.cpu.amp.autocast"):
        region = torch.cpu.amp.autocast()
    with region:
        assert (square() @ square()).dtype is torch.bfloat16
    with pytest.warns(FutureWarning, match="torch.cuda.amp.GradScaler"):
        torch.cuda.amp.GradScaler(enabled=False)
    with pytest.warns(FutureWarning, match="torch.cpu.amp.GradScaler"):
        assert torch.cpu.amp.GradScaler(init_scale=4.0).get_scale() == 4.0


# --- GradScaler ---


class Problem:
    """A model with one weight and a loss whose gradient is `slope`."""

    def __init__(self, **options):
        self.weight = torch.tensor([1.0], requires_grad=True)
        self.optimizer = torch.optim.SGD([self.weight], lr=1.0)
        self.scaler = GradScaler("cpu", **options)

    def backward(self, slope=0.25):
        self.optimizer.zero_grad()
        self.scaler.scale((self.weight * slope).sum()).backward()

    def iterate(self, slope=0.25):
        self.backward(slope)
        result = self.scaler.step(self.optimizer)
        self.scaler.update()
        return result


def test_a_step_uses_unscaled_gradients():
    problem = Problem(init_scale=1024.0)
    problem.backward()
    assert problem.weight.grad.item() == 256.0
    problem.scaler.step(problem.optimizer)
    assert problem.weight.grad.item() == 0.25
    assert problem.weight.item() == 0.75


@pytest.mark.parametrize("bad", [math.inf, -math.inf, math.nan])
def test_a_step_with_bad_gradients_is_left_out(bad):
    problem = Problem(init_scale=8.0, backoff_factor=0.25, growth_interval=2)
    problem.iterate()
    assert problem.iterate(bad) is None
    assert problem.weight.item() == 0.75
    assert problem.scaler.get_scale() == 2.0
    problem.iterate()
    assert problem.scaler.get_scale() == 2.0  # the growth interval restarts
    problem.iterate()
    assert problem.scaler.get_scale() == 4.0


def test_growth_stops_before_infinity():
    problem = Problem(init_scale=2.0**127, growth_interval=1)
    problem.iterate(1e-30)
    assert problem.scaler.get_scale() == 2.0**127


def test_unscaling_by_hand():
    problem = Problem(init_scale=4.0)
    problem.backward(3.0)
    problem.scaler.unscale_(problem.optimizer)
    assert torch.nn.utils.clip_grad_norm_([problem.weight], 1.0).item() == 3.0
    with pytest.raises(RuntimeError, match=r"unscale_\(\) has already been called on this optimizer"):
        problem.scaler.unscale_(problem.optimizer)
    problem.scaler.step(problem.optimizer)
    assert problem.weight.item() == pytest.approx(0.0, abs=1e-5)
    with pytest.raises(RuntimeError, match=r"unscale_\(\) is being called after step\(\)"):
        problem.scaler.unscale_(problem.optimizer)
    with pytest.raises(RuntimeError, match=r"step\(\) has already been called since the last update\(\)"):
        problem.scaler.step(problem.optimizer)
    problem.scaler.update()


def test_two_optimizers_share_a_scale():
    first, second = Problem(init_scale=8.0), Problem()
    second.scaler = first.scaler
    first.backward()
    second.backward(math.inf)
    first.scaler.step(first.optimizer)
    first.scaler.step(second.optimizer)
    first.scaler.update()
    assert (first.weight.item(), second.weight.item()) == (0.75, 1.0)
    assert first.scaler.get_scale() == 4.0


def test_scaling_nested_outputs():
    scaler = GradScaler("cpu", init_scale=2.0)
    one = torch.ones(1)
    scaled = scaler.scale([one, (one, 3 * one)])
    assert [scaled[0].item(), scaled[1][0].item(), scaled[1][1].item()] == [2.0, 2.0, 6.0]
    assert type(scaled[1]) is tuple
    assert [value.item() for value in scaler.scale(value for value in [one])] == [2.0]
    with pytest.raises(ValueError, match="outputs must be a Tensor or an iterable of Tensors"):
        scaler.scale(3)


def test_setting_the_scale():
    problem = Problem(init_scale=8.0)
    problem.backward()
    problem.scaler.update(16.0)
    assert problem.scaler.get_scale() == 16.0
    problem.scaler.update(torch.tensor(32.0))
    assert problem.scaler.get_scale() == 32.0
    with pytest.raises(AssertionError, match="new_scale should be a float or a 1-element"):
        problem.scaler.update(torch.ones(2))
    scaler = problem.scaler
    scaler.set_growth_factor(3.0)
    scaler.set_backoff_factor(0.1)
    scaler.set_growth_interval(7)
    assert (scaler.get_growth_factor(), scaler.get_backoff_factor(), scaler.get_growth_interval()) == (3.0, 0.1, 7)


def test_state_goes_on_where_it_was():
    problem = Problem(init_scale=8.0, growth_interval=3)
    problem.iterate()
    state = problem.scaler.state_dict()
    assert state == {
        "scale": 8.0,
        "growth_factor": 2.0,
        "backoff_factor": 0.5,
        "growth_interval": 3,
        "_growth_tracker": 1,
    }
    fresh, used = Problem(), Problem()
    used.iterate()
    for other in (fresh, used):
        other.scaler.load_state_dict(state)
        other.iterate()
        assert other.scaler.state_dict()["_growth_tracker"] == 2
        other.iterate()
        assert other.scaler.get_scale() == 16.0
    copied = copy.deepcopy(problem.scaler)
    assert copied.state_dict() == pickle.loads(pickle.dumps(problem.scaler)).state_dict() == state
    with pytest.raises(RuntimeError, match="The source state dict is empty"):
        fresh.scaler.load_state_dict({})
    problem.backward()
    problem.scaler.unscale_(problem.optimizer)
    with pytest.raises(AssertionError, match="may only be pickled at the beginning of an iteration"):
        pickle.dumps(problem.scaler)


def test_disabled_scalers_pass_everything_through():
    problem = Problem(enabled=False)
    problem.iterate()
    assert problem.weight.item() == 0.75
    scaler = problem.scaler
    scaler.unscale_(problem.optimizer)
    scaler.load_state_dict({})
    assert (scaler.is_enabled(), scaler.get_scale(), scaler.state_dict(), scaler.scale(3)) == (False, 1.0, {}, 3)
    if not torch.cuda.is_available():
        with pytest.warns(UserWarning, match="CUDA is not available"):
            assert not GradScaler().is_enabled()


def test_what_scalers_reject():
    with pytest.raises(AssertionError, match="The growth factor must be > 1"):
        GradScaler("cpu", growth_factor=1.0)
    with pytest.raises(AssertionError, match="The backoff factor must be < 1"):
        GradScaler("cpu", backoff_factor=1.0)
    problem = Problem()
    with pytest.raises(AssertionError, match="Attempted step but _scale is None"):
        problem.scaler.step(problem.optimizer)
    with pytest.raises(AssertionError, match="Attempted update but _scale is None"):
        problem.scaler.update()
    problem.backward()
    with pytest.raises(AssertionError, match="No inf checks were recorded prior to update"):
        problem.scaler.update()
    with pytest.raises(RuntimeError, match="Closure use is not currently supported"):
        problem.scaler.step(problem.optimizer, closure=None)
    problem.optimizer.zero_grad(set_to_none=True)
    with pytest.raises(AssertionError, match="No inf checks were recorded for this optimizer"):
        problem.scaler.step(problem.optimizer)
    half = torch.ones(1, dtype=torch.float16, requires_grad=True)
    half.grad = torch.ones(1, dtype=torch.float16)
    with pytest.raises(ValueError, match="Attempting to unscale FP16 gradients"):
        problem.scaler.unscale_(torch.optim.SGD([half], lr=1.0))


def test_training_with_both():
    """Training with autocast and gradient scaling follows training in float32."""

    def train(mixed):
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(4, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        scaler = GradScaler("cpu", enabled=mixed)
        x = torch.randn(64, 4)
        y = x.sum(1, keepdim=True)
        for _ in range(40):
            optimizer.zero_grad()
            with autocast("cpu", enabled=mixed):
                loss = F.mse_loss(model(x), y)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
        return loss.item()

    assert train(mixed=True) == pytest.approx(train(mixed=False), rel=0.1)


def test_products_of_batches_of_any_dimensions_are_cast():
    with torch.autocast("cpu"):
        a, b = torch.ones(2, 5, 3, 4), torch.ones(2, 5, 4, 3)
        assert {each.dtype for each in (a @ b, a.matmul(b), torch.matmul(a, b), a.__matmul__(b))} == {torch.bfloat16}

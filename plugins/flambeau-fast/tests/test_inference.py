"""Compiled inference steps: results as in eager mode, and changes of the state that plans depend on."""

from __future__ import annotations

import copy
import gc
import math
import threading
import tracemalloc
from functools import partial

import numpy as np
import pytest
from flambeau_fast.inference.memory import Lifetime, places

import flambeau as torch

nn, F = torch.nn, torch.nn.functional


def program_of(compiled):
    [program] = compiled.__dict__["_compiled_call"].programs
    return program


def compiled_and_warm(model, *inputs):
    """Compile a module and call it until its calls are replayed; check that it has a plan."""
    compiled = torch.compile(model)
    with torch.no_grad():
        for _ in range(4):
            compiled(*inputs)
    assert program_of(compiled).inference is not None
    return compiled


def assert_equal(compiled, model, *inputs):
    with torch.no_grad():
        ours, expected = compiled(*inputs), model(*inputs)
    for one, other in zip(torch.utils._pytree.tree_leaves(ours), torch.utils._pytree.tree_leaves(expected), strict=True):
        assert one.shape == other.shape
        assert one.numel() == 1 or one.is_contiguous() == other.is_contiguous()
        np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-4, atol=1e-5 * float(other.abs().max()))


def randomized(model):
    """Give batch normalization other statistics than at initialization."""
    for name, buffer in model.named_buffers():
        if "running" in name:
            buffer.uniform_(0.5, 1.5)
    return model.eval()


ACTIVATIONS = [nn.ReLU(), nn.ReLU6(), nn.Hardswish(), nn.Hardsigmoid(), nn.SiLU(), nn.Sigmoid(), nn.Tanh(), nn.GELU(),
               nn.Hardtanh(-1, 2), nn.GELU("tanh"), nn.ReLU(inplace=True), nn.Hardswish(inplace=True), nn.Identity()]  # fmt: skip


@pytest.mark.parametrize("activation", ACTIVATIONS, ids=str)
def test_activation_after_convolution(activation):
    model = randomized(
        nn.Sequential(nn.Conv2d(5, 37, 3, padding=1, bias=False), nn.BatchNorm2d(37), activation, nn.Conv2d(37, 7, 1))
    )
    x = 3 * torch.randn(2, 5, 9, 11)
    assert_equal(compiled_and_warm(model, x), model, x)


@pytest.mark.parametrize("seed", range(12))
def test_convolution_of_random_shape(seed):
    random = np.random.default_rng(seed)
    size, stride, padding, dilation = (random.integers(low, high, 2) for low, high in ((1, 6), (1, 4), (0, 3), (1, 3)))
    inputs, outputs = (int(number) for number in random.integers(1, 70, 2))
    batch, groups = int(random.integers(1, 4)), 1
    if seed % 3 == 0:
        groups, outputs = inputs, inputs
    options = {"stride": stride.tolist(), "padding": padding.tolist(), "dilation": dilation.tolist(), "groups": groups}
    model = nn.Sequential(nn.Conv2d(inputs, outputs, size.tolist(), bias=bool(seed % 2), **options), nn.ReLU()).eval()
    x = torch.randn(batch, inputs, *random.integers(12, 20, 2).tolist())
    assert_equal(compiled_and_warm(model, x), model, x)


@pytest.mark.parametrize("channels", [3, 16, 24, 40, 120])
@pytest.mark.parametrize(("size", "stride", "dilation"), [(3, 1, 1), (3, 2, 1), (5, 1, 1), (5, 2, 1), (5, 1, 2), (7, 3, 1)])
@pytest.mark.parametrize("shape", [(7, 7), (14, 5), (33, 30)], ids=str)
def test_depthwise_convolution(channels, size, stride, dilation, shape):
    layer = nn.Conv2d(channels, channels, size, stride, dilation * (size // 2), dilation, groups=channels)
    model = nn.Sequential(nn.Conv2d(2, channels, 1), layer, ACTIVATIONS[channels % 13], nn.Conv2d(channels, 2, 1)).eval()
    x = torch.randn(2, 2, *shape)
    assert_equal(compiled_and_warm(model, x), model, x)


@pytest.mark.parametrize("activation", ACTIVATIONS, ids=str)
def test_activation_of_infinities_and_nan(activation):
    model = nn.Sequential(nn.Conv2d(3, 24, 1), activation, nn.Conv2d(24, 24, 3, groups=24), activation, nn.Conv2d(24, 2, 1))
    x = torch.randn(1, 3, 8, 8)
    x[0, 0, 0, 0], x[0, 1, 4, 4], x[0, 2, 7, 7] = math.inf, math.nan, -math.inf
    with torch.no_grad():
        replay, expected = compiled_and_warm(model, x)(x), model(x)
    assert expected.isnan().any()
    torch.testing.assert_close(replay, expected, rtol=1e-4, atol=1e-4, equal_nan=True)


@pytest.mark.parametrize(("size", "padding", "stride"), [(1, 2, 1), ((2, 2), (4, 5), 1), (3, (6, 7), 3)])
@pytest.mark.parametrize("groups", [1, 4])
def test_padding_larger_than_the_kernel(groups, size, padding, stride):
    model = nn.Sequential(nn.Conv2d(4, 4, size, stride, padding, groups=groups), nn.ReLU()).eval()
    x = torch.randn(2, 4, 5, 5)
    assert_equal(compiled_and_warm(model, x), model, x)


@pytest.mark.parametrize("rows", [1, 2, 5, 14, 15, 57, 130])
@pytest.mark.parametrize("width", [1, 16, 33, 200, 1024])
def test_linear_layers(rows, width):
    model = nn.Sequential(nn.Linear(width, 75), nn.GELU(), nn.LayerNorm(75), nn.Linear(75, width, bias=False)).eval()
    x = torch.randn(rows, width)
    assert_equal(compiled_and_warm(model, x), model, x)


class Residual(nn.Module):
    """Squeeze-and-excitation, residuals, pooling, and a value that is used several times."""

    def __init__(self):
        super().__init__()
        self.first, self.norm = nn.Conv2d(3, 24, 3, padding=1), nn.BatchNorm2d(24)
        self.squeeze, self.excite = nn.Conv2d(24, 6, 1), nn.Conv2d(6, 24, 1)
        self.second, self.head = nn.Conv2d(24, 24, 3, padding=1), nn.Linear(24, 5)
        self.last_norm = nn.BatchNorm2d(24)

    def forward(self, x):
        x = self.norm(F.relu(self.first(x)))
        pooled = F.hardsigmoid(self.excite(F.relu(self.squeeze(x.mean((2, 3), keepdim=True)))))
        x = x * pooled
        x = F.relu(x + self.second(x))
        x = F.max_pool2d(self.last_norm(x) + x * x, 3, 2, 1)
        return self.head(torch.flatten(F.adaptive_avg_pool2d(x, 1), 1)), x


def test_residual_network():
    model = randomized(Residual())
    x = torch.randn(2, 3, 13, 12)
    assert_equal(compiled_and_warm(model, x), model, x)


def steps_of(compiled):
    return [plan.steps for plan in program_of(compiled).inference.plans]


def test_normalization_activation_and_residual_are_part_of_products():
    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = nn.Conv2d(4, 4, 3, padding=1), nn.Conv2d(4, 4, 3, padding=1)
            self.norms = nn.ModuleList([nn.BatchNorm2d(4), nn.BatchNorm2d(4)])

        def forward(self, x):
            return F.relu(self.norms[1](self.second(F.silu(self.norms[0](self.first(x))))) + x)

    model, x = randomized(Block()), torch.randn(1, 4, 6, 6)
    compiled = compiled_and_warm(model, x)
    assert steps_of(compiled) == [["to_last", "product", "product", "to_first"]]
    assert_equal(compiled, model, x)


def test_normalization_of_another_dimension_than_that_of_the_product():
    """A linear layer multiplies the last dimension, and batch normalization is of the second, of the same size."""
    model, x = randomized(nn.Sequential(nn.Linear(8, 5), nn.BatchNorm2d(5))), torch.randn(2, 5, 3, 8)
    compiled = compiled_and_warm(model, x)
    assert steps_of(compiled) == [["product", "to_last", "depthwise", "to_first"]]
    assert_equal(compiled, model, x)


def test_results_are_not_overwritten():
    model, x = network(), torch.randn(1, 2, 6, 6)
    compiled = compiled_and_warm(model, x)
    with torch.no_grad():
        first = compiled(x)
        before = first.clone()
        compiled(x + 1)
    assert torch.equal(first, before)


def test_unaligned_inputs():
    model, x = nn.Sequential(nn.Linear(8, 4), nn.ReLU()).eval(), torch.randn(2, 8)
    compiled = compiled_and_warm(model, x)
    memory = np.zeros(4 * 16 + 1, np.uint8)
    array = memory[1:].view(np.float32).reshape(2, 8)
    array[...] = x.numpy()
    assert_equal(compiled, model, torch.from_numpy(array))


def test_noncontiguous_inputs_and_other_shapes():
    model = randomized(Residual())
    compiled = compiled_and_warm(model, torch.randn(2, 3, 13, 12))
    for x in (torch.randn(2, 13, 12, 3).permute(0, 3, 1, 2), torch.randn(2, 3, 26, 12)[:, :, ::2], torch.randn(1, 3, 8, 8)):
        for _ in range(3):
            assert_equal(compiled, model, x)


def test_nan_and_infinity():
    model = randomized(nn.Sequential(nn.Conv2d(1, 4, 1), nn.ReLU6(), nn.Conv2d(4, 4, 1), nn.Hardswish()))
    x = torch.randn(1, 1, 4, 4)
    compiled = compiled_and_warm(model, x)
    x[0, 0, 0, 0], x[0, 0, 1, 1] = float("nan"), float("inf")
    with torch.no_grad():
        np.testing.assert_array_equal(compiled(x).isnan().numpy(), model(x).isnan().numpy())


def network():
    return randomized(nn.Sequential(nn.Conv2d(2, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 16, 3)))


@pytest.mark.parametrize("change", [
    lambda model: model[0].weight.mul_(2),
    lambda model: model[4].bias.data.add_(1),
    lambda model: model[4].weight.data.mul_(3),
    lambda model: model[4].weight.data[1, 5].fill_(3),
    lambda model: model[0].weight.data.data.view(-1)[7:8].zero_(),
    lambda model: model[1].running_mean.add_(1),
    lambda model: setattr(model[0], "weight", nn.Parameter(torch.randn(8, 2, 3, 3))),
    lambda model: model.load_state_dict(network().state_dict()),
    lambda model: np.multiply(model[4].weight.numpy(), 2, out=model[4].weight.numpy()),
])  # fmt: skip
def test_changed_weights(change):
    model, x = network(), torch.randn(1, 2, 6, 6)
    compiled = compiled_and_warm(model, x)
    with torch.no_grad():
        change(model)
    for _ in range(3):
        assert_equal(compiled, model, x)


def test_training_mode_and_hooks():
    model, x = network(), torch.randn(4, 2, 6, 6)
    compiled = compiled_and_warm(model, x)
    model.train()
    before = model[1].running_mean.clone()
    with torch.no_grad():
        compiled(x)
    assert not torch.equal(model[1].running_mean, before)
    model.eval()
    assert_equal(compiled, model, x)
    model[2].register_forward_hook(lambda module, args, output: output + 1)
    for _ in range(3):
        assert_equal(compiled, model, x)


def test_training_between_inference():
    """Steps of an optimizer are noticed; after some renewals in a row, replays run call by call."""
    model, x = network(), torch.randn(4, 2, 6, 6)
    compiled = compiled_and_warm(model, x)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    for _ in range(7):
        model(x).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
        with torch.no_grad():
            ours = compiled(x)
        np.testing.assert_allclose(ours.numpy(), model(x).detach().numpy(), rtol=1e-3, atol=1e-4)
    assert program_of(compiled).inference is None


def test_weights_that_change_in_every_second_call():
    model, x = network(), torch.randn(1, 2, 6, 6)
    compiled = compiled_and_warm(model, x)
    for _ in range(8):
        model[0].weight.data.mul_(1.01)
        for _ in range(2):
            assert_equal(compiled, model, x)
    assert program_of(compiled).inference is not None


def test_changes_of_tensors_that_plans_do_not_use():
    class Shifted(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(6, 6)
            self.register_buffer("shift", torch.zeros(6))

        def forward(self, x):
            return self.layer(x).cumsum(0) + self.shift.cumsum(0)

    model, x = Shifted().eval(), torch.randn(2, 6)
    compiled = compiled_and_warm(model, x)
    for _ in range(8):
        model.shift.add_(1)
        assert_equal(compiled, model, x)
    assert program_of(compiled).inference is not None


def test_threads_notice_changed_weights_at_the_same_time():
    model, x = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64)).eval(), torch.randn(3, 64)
    compiled = compiled_and_warm(model, x)
    count, rounds, wrong, expected = 6, 30, [], [None]
    barrier = threading.Barrier(count)

    def change():
        with torch.no_grad():
            model[0].weight.mul_(-1)
            expected[0] = model(x).numpy()

    def work(number):
        with torch.no_grad():
            for _ in range(rounds):
                if barrier.wait() == 0:
                    change()
                barrier.wait()
                for _ in range(2):
                    if not np.allclose(compiled(x).numpy(), expected[0], rtol=1e-4, atol=1e-5):
                        wrong.append(number)
                barrier.wait()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert program_of(compiled).inference is not None


def test_gradients_are_not_planned():
    model, x = network(), torch.randn(1, 2, 6, 6)
    compiled = torch.compile(model)
    for _ in range(4):
        compiled(x).sum().backward()
    assert all(program.inference is None for program in compiled.__dict__["_compiled_call"].programs)


def test_threads():
    model = network()
    inputs = [torch.randn(1, 2, 6, 6) for _ in range(4)]
    compiled = compiled_and_warm(model, inputs[0])
    with torch.no_grad():
        expected = [model(x).numpy() for x in inputs]
    wrong = []

    def work(number):
        with torch.no_grad():
            for _ in range(200):
                if not np.allclose(compiled(inputs[number]).numpy(), expected[number], rtol=1e-4, atol=1e-5):
                    wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(len(inputs))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_results_do_not_depend_on_the_number_of_threads():
    model, x = nn.Sequential(nn.Linear(300, 500), nn.SiLU(), nn.Linear(500, 300)).eval(), torch.randn(40, 300)
    compiled = compiled_and_warm(model, x)
    count = torch.get_num_threads()
    results = []
    try:
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            with torch.no_grad():
                results.append(compiled(x).numpy())
    finally:
        torch.set_num_threads(count)
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_array_equal(results[0], results[2])


def test_places_of_arrays():
    random = np.random.default_rng(0)
    for _ in range(20):
        arrays = [
            Lifetime(int(size), int(first), int(first + length))
            for size, first, length in random.integers((1, 0, 0), (99, 20, 9), (15, 3))
        ]
        offsets, total = places(arrays)
        for i, (one, start) in enumerate(zip(arrays, offsets, strict=True)):
            assert 0 <= start <= start + one.size <= total
            for other, offset in zip(arrays[:i], offsets[:i], strict=True):
                together = one.first <= other.last and other.first <= one.last
                assert not together or start + one.size <= offset or offset + other.size <= start
    assert places([Lifetime(64, 0, 1), Lifetime(64, 1, 2), Lifetime(64, 2, 3)])[1] == 128


def test_writes_in_place_between_plans():
    """Arrays that a call outside of plans writes to are read again."""

    class Writing(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = nn.Linear(6, 6), nn.Linear(6, 6)

        def forward(self, x):
            state = torch.zeros(2, 6)
            state[0] = 2.0
            hidden = self.first(state + x)
            hidden.relu_()
            hidden[0] = 1.0
            hidden.cumsum_(1)
            state.add_(hidden)
            return self.second(hidden), self.second(state)

    model, x = Writing().eval(), torch.randn(2, 6)
    compiled = compiled_and_warm(model, x)
    assert_equal(compiled, model, x)
    assert_equal(compiled, model, 2 * x)


def test_draws_are_not_repeated_if_weights_have_changed():
    first, second = nn.Linear(40, 40), nn.Linear(40, 40)

    def run(x):
        return second(F.dropout(first(x).relu(), 0.5, training=True)).relu()

    compiled, x = torch.compile(run), torch.randn(3, 40)
    with torch.no_grad():
        for _ in range(4):
            compiled(x)
        second.weight.numpy()[:] = 0.5  # no version counter records this write
        torch.manual_seed(1)
        ours = [compiled(x) for _ in range(2)]
        torch.manual_seed(1)
        for one in ours:
            np.testing.assert_allclose(one.numpy(), run(x).numpy(), rtol=1e-4, atol=1e-4)
    assert compiled.compiled.programs[0].inference is not None


# --- frozen modules ---


def small_network():
    return randomized(nn.Sequential(nn.Conv2d(3, 20, 3, bias=False), nn.BatchNorm2d(20), nn.ReLU(), nn.Conv2d(20, 4, 1)))


def plans_of(frozen):
    compiled = vars(frozen)["_compiled"]
    return [] if compiled is None else [program for program in compiled.programs if program.inference is not None]


@pytest.mark.parametrize("scripted", [torch.jit.script, lambda model: torch.jit.trace(model, torch.randn(2, 3, 9, 9))],
                         ids=["script", "trace"])  # fmt: skip
@pytest.mark.parametrize("freeze", [torch.jit.freeze, torch.jit.optimize_for_inference])
def test_frozen_modules_run_as_plans(scripted, freeze):
    model, x = small_network(), torch.randn(2, 3, 9, 9)
    frozen = freeze(scripted(model))
    for _ in range(4):
        assert_equal(frozen, model, x)
    assert len(plans_of(frozen)) == 1
    other = torch.randn(1, 3, 12, 10)
    for _ in range(4):
        assert_equal(frozen, model, other)
    assert len(plans_of(frozen)) == 2


def test_frozen_modules_without_optimized_numerics():
    model, x = small_network(), torch.randn(2, 3, 9, 9)
    frozen = torch.jit.freeze(torch.jit.script(model), optimize_numerics=False)
    for _ in range(4):
        assert torch.equal(frozen(x), model(x))
    assert not plans_of(frozen)
    torch.jit.run_frozen_optimizations(frozen)
    for _ in range(4):
        assert_equal(frozen, model, x)
    assert plans_of(frozen)


def test_frozen_modules_are_differentiable_by_their_input():
    model, x = small_network(), torch.randn(2, 3, 9, 9)
    frozen = torch.jit.freeze(torch.jit.script(model))
    for _ in range(4):
        frozen(x)
    one, other = (x.clone().requires_grad_() for _ in range(2))
    frozen(one).square().sum().backward()
    model(other).square().sum().backward()
    assert torch.equal(one.grad, other.grad)


def test_copies_of_frozen_modules_are_separate():
    model, x = small_network(), torch.randn(2, 3, 9, 9)
    frozen = torch.jit.freeze(torch.jit.script(model))
    for _ in range(4):
        frozen(x)
    copied = copy.deepcopy(frozen)
    assert not plans_of(copied)
    for _ in range(4):
        assert_equal(copied, model, x)
    assert plans_of(copied)[0] is not plans_of(frozen)[0]


def test_changes_of_a_preserved_parameter():
    class Scaled(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear, self.scale = nn.Linear(30, 20), nn.Parameter(torch.ones(20))

        def forward(self, x):
            return self.linear(x).relu() * self.scale

    model, x = Scaled().eval(), torch.randn(5, 30)
    frozen = torch.jit.freeze(torch.jit.script(model), preserved_attrs=["scale"])
    with torch.no_grad():
        for factor in (1.0, 3.0):
            frozen.scale.fill_(factor)
            model.scale.fill_(factor)
            for _ in range(4):
                assert_equal(frozen, model, x)
        assert plans_of(frozen)


# --- sequences, views and groups ---


def assert_one_plan(model, *inputs, steps=None):
    """Check the results of a compiled module, also with other values, and that it is one plan."""
    compiled = compiled_and_warm(model, *inputs)
    assert_equal(compiled, model, *inputs)
    assert_equal(compiled, model, *[2 * x + 0.1 for x in inputs])
    program = program_of(compiled)
    assert [name[:8] for _, name, _ in program.table()] == ["plan_of_"]
    if steps is not None:
        assert steps_of(compiled) == [steps]


class Attention(nn.Module):
    def __init__(self, width=24, heads=3, masked=False, causal=False):
        super().__init__()
        self.project, self.out, self.heads, self.causal = nn.Linear(width, 3 * width), nn.Linear(width, width), heads, causal
        mask = torch.randn(70, 70) if masked else None
        self.register_buffer("mask", mask)

    def forward(self, x):
        batch, length, width = x.shape
        query, key, value = [
            part.view(batch, length, self.heads, -1).transpose(1, 2) for part in self.project(x).chunk(3, dim=-1)
        ]
        mask = None if self.mask is None else self.mask[:length, :length]
        x = F.scaled_dot_product_attention(query, key, value, mask, is_causal=self.causal)
        return self.out(x.transpose(1, 2).reshape(batch, length, width))


@pytest.mark.parametrize("length", [1, 3, 8, 9, 65, 70])
@pytest.mark.parametrize("options", [{}, {"masked": True}, {"causal": True}, {"width": 33}], ids=str)
def test_attention(length, options):
    assert_one_plan(
        Attention(**options).eval(), torch.randn(2, length, options.get("width", 24)), steps=["product", "attention", "product"]
    )


def test_boolean_mask():
    model = Attention(masked=True).eval()
    model.mask = torch.ones(70, 70, dtype=torch.bool).tril()
    model.mask[3] = False  # a query without keys
    model.mask[3, 3] = True
    assert_one_plan(model, torch.randn(1, 11, 24))


class ExplicitAttention(nn.Module):
    """Attention as products and a softmax, with heads in the columns of one projection."""

    def __init__(self):
        super().__init__()
        self.project, self.out = nn.Linear(20, 60, bias=False), nn.Linear(20, 20)

    def forward(self, x):
        query, key, value = self.project(x).reshape(len(x), -1, 3, 4, 5).permute(2, 0, 3, 1, 4).unbind(0)
        weights = (query * 5**-0.5 @ key.transpose(-2, -1)).softmax(dim=-1)
        return self.out((weights @ value).transpose(1, 2).flatten(2))


@pytest.mark.parametrize("length", [1, 7, 40])
def test_explicit_attention(length):
    assert_one_plan(ExplicitAttention().eval(), torch.randn(2, length, 20))


@pytest.mark.parametrize("batch_first", [True, False])
@pytest.mark.parametrize("norm_first", [True, False])
@pytest.mark.parametrize("length", [5, 66])
def test_transformer_encoder(batch_first, norm_first, length):
    layer = nn.TransformerEncoderLayer(32, 4, 50, batch_first=batch_first, norm_first=norm_first, activation="gelu")
    model = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).eval()
    assert_one_plan(model, torch.randn(2, length, 32))


def test_cross_attention():
    class Cross(nn.Module):
        def __init__(self):
            super().__init__()
            self.attention = nn.MultiheadAttention(16, 2, kdim=12, vdim=20, batch_first=True)

        def forward(self, query, key, value):
            return self.attention(query, key, value, need_weights=False)[0]

    assert_one_plan(Cross().eval(), torch.randn(3, 9, 16), torch.randn(3, 33, 12), torch.randn(3, 33, 20))


class Recurrent(nn.Module):
    def __init__(self, kind, *sizes, **options):
        super().__init__()
        self.layer = kind(*sizes, **options)

    def forward(self, x):
        output, state = self.layer(x)
        return (output, *state) if isinstance(state, tuple) else (output, state)


@pytest.mark.parametrize(
    "kind", [nn.LSTM, nn.GRU, nn.RNN, partial(nn.RNN, nonlinearity="relu")], ids=["lstm", "gru", "tanh", "relu"]
)
@pytest.mark.parametrize(("batch", "size"), [(1, 5), (1, 33), (3, 64), (17, 130), (31, 20)])
def test_recurrent_layers(kind, batch, size):
    assert_one_plan(Recurrent(kind, 7, size).eval(), torch.randn(4, batch, 7))


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU])
@pytest.mark.parametrize("options", [{"bidirectional": True}, {"bias": False}, {"batch_first": True, "num_layers": 3}], ids=str)
def test_options_of_recurrent_layers(kind, options):
    assert_one_plan(Recurrent(kind, 7, 40, **{"num_layers": 2, **options}).eval(), torch.randn(4, 3, 7))


def test_states_as_arguments():
    class Step(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.LSTM(6, 20)

        def forward(self, x, h, c):
            output, (h, c) = self.layer(x, (h, c))
            return output, h, c

    assert_one_plan(Step().eval(), torch.randn(1, 2, 6), torch.randn(1, 2, 20), torch.randn(1, 2, 20))


@pytest.mark.parametrize("seed", range(10))
def test_grouped_convolution(seed):
    random = np.random.default_rng(seed)
    groups, inputs, outputs = (int(number) for number in random.integers((2, 1, 1), (9, 20, 40)))
    size, stride, padding, dilation = (random.integers(low, high, 2).tolist() for low, high in ((1, 5), (1, 3), (0, 3), (1, 3)))
    options = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups, "bias": bool(seed % 2)}
    layers = [nn.Conv2d(groups * inputs, groups * outputs, size, **options), nn.BatchNorm2d(groups * outputs), nn.Hardswish()]
    model = randomized(nn.Sequential(nn.Conv2d(3, groups * inputs, 1), *layers, nn.Conv2d(groups * outputs, 5, 1)))
    assert_one_plan(model, torch.randn(2, 3, 11, 12))


class ResidualGroups(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Conv2d(64, 64, 1, groups=2, bias=False), nn.Conv2d(64, 64, 3, padding=1, groups=32)

    def forward(self, x):
        x = self.first(x)
        return F.relu(x + self.second(x))


def test_residual_of_grouped_convolution():
    steps = ["to_last", "product", "product", "to_first"]
    assert_one_plan(ResidualGroups().eval(), torch.randn(1, 64, 6, 6), steps=steps)


class Views(nn.Module):
    """Slices, concatenation, broadcasting, constants and scalars."""

    def __init__(self):
        super().__init__()
        self.linear, self.scale, self.place = (
            nn.Linear(12, 18),
            nn.Parameter(torch.randn(18)),
            nn.Parameter(torch.randn(1, 5, 18)),
        )
        self.token = nn.Parameter(torch.randn(1, 1, 18))

    def forward(self, x):
        x = (self.linear(x) * self.scale + self.place) / 3
        token, column = self.token.expand(len(x), -1, -1), F.silu(x[..., ::2])[:, :, :1].expand(-1, -1, 18)
        x = torch.cat([token, column, x, x[:, :1] - x[:, -1:]], 1)
        one, other, _ = x.split([6, 6, 6], -1)
        gated = one * torch.sigmoid(other)
        return gated, F.layer_norm(x.transpose(0, 1), (18,)), torch.stack([gated, other], 1).mean(1)[:, 0], 1 - x.mean(1)


def test_views():
    model, x = Views().eval(), torch.randn(2, 5, 12)
    assert_equal(compiled_and_warm(model, x), model, x)


def test_concatenated_images():
    class Dense(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second, self.norm = nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(11, 5, 1), nn.BatchNorm2d(11)

        def forward(self, x):
            x = torch.cat([x, self.first(x)], 1)
            x = F.avg_pool2d(self.second(F.relu(self.norm(x))), 3, 2, 1, ceil_mode=True, count_include_pad=False)
            return F.avg_pool2d(x, 2), x.permute(0, 2, 3, 1)

    model, x = randomized(Dense()), torch.randn(2, 3, 9, 12)
    assert_equal(compiled_and_warm(model, x), model, x)


def test_returned_views_of_results():
    class Several(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(6, 8)

        def forward(self, x):
            y = self.layer(x)
            return y, y[:, 0], x.view(2, 3, 2), F.relu(y[:, 1:])

    model, x = Several().eval(), torch.randn(2, 6)
    compiled = compiled_and_warm(model, x)
    assert_equal(compiled, model, x)
    with torch.no_grad():
        results = compiled(x)
    results[0].zero_()
    assert not results[1].any()
    assert results[2].data_ptr() == x.data_ptr()


def test_mask_as_argument():
    class Masked(nn.Module):
        def __init__(self):
            super().__init__()
            self.project = nn.Linear(24, 72)

        def forward(self, x, mask):
            query, key, value = [part.unflatten(-1, (3, 8)).transpose(1, 2) for part in self.project(x).chunk(3, -1)]
            return F.scaled_dot_product_attention(query, key, value, mask)

    assert_one_plan(Masked().eval(), torch.randn(2, 10, 24), torch.randn(2, 1, 1, 10))


def peak_of_calls(compiled, x):
    """Return the peak memory of the calls that capture a step, verify it and replay it."""
    gc.collect()  # a capture takes memory for each live tensor
    peaks = []
    with torch.no_grad():
        for _ in range(4):
            tracemalloc.start()
            compiled(x)
            peaks.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
    return max(peaks)


def test_preparing_a_plan_keeps_no_second_copy_of_folded_weights():
    model = nn.Sequential(nn.Conv2d(256, 256, 3), nn.BatchNorm2d(256), nn.Conv2d(256, 256, 3), nn.BatchNorm2d(256)).eval()
    size = sum(parameter.nbytes for parameter in model.parameters())
    compiled, x = torch.compile(model), torch.ones(1, 256, 5, 5)
    peak = peak_of_calls(compiled, x)
    assert size < peak < 1.8 * size  # the packed weights, and one folded weight at a time


@pytest.mark.parametrize(
    ("rows", "inputs", "outputs"),
    [(1, 7, 5), (1, 1027, 1029), (1, 1024, 1025), (2, 33, 19), (17, 40, 50), (70, 65, 200), (197, 12, 6)],
)
def test_weights_of_linear_layers_are_read_in_place(rows, inputs, outputs):
    """All weights except the first are read in place. Sizes are not multiples of a vector or a tile."""
    layer = nn.Linear(inputs, outputs)
    x = torch.randn(rows, inputs)
    compiled = compiled_and_warm(nn.Sequential(layer, nn.ReLU()).eval(), x)
    results = []
    threads = torch.get_num_threads()
    try:
        for count in (1, 2, 3):
            torch.set_num_threads(count)
            with torch.no_grad():
                results.append(compiled(x).numpy())
    finally:
        torch.set_num_threads(threads)
    expected = x.numpy().astype(np.float64) @ layer.weight.detach().numpy().T.astype(np.float64) + layer.bias.detach().numpy()
    np.testing.assert_allclose(results[-1], np.maximum(expected, 0), rtol=1e-4, atol=1e-5)
    for result in results:
        np.testing.assert_array_equal(result, results[-1])


@pytest.mark.parametrize("depth", [1, 7, 16, 17, 32, 48, 63, 144])
@pytest.mark.parametrize("columns", [1, 3, 9])
def test_infinities_in_one_row_stay_in_their_columns(depth, columns):
    """Full vectors begin with a line of the cache: the numbers before and after them are computed with masks."""
    random = np.random.default_rng(depth)
    x = torch.from_numpy(random.standard_normal((1, depth)).astype(np.float32))
    for offset in range(4):  # of the weight in its memory
        layer = nn.Linear(depth, columns)
        weight = random.standard_normal(columns * depth + offset).astype(np.float32)[offset:].reshape(columns, depth)
        weight[columns // 2, ::5] = np.inf
        layer.weight = nn.Parameter(torch.from_numpy(weight))
        compiled = compiled_and_warm(nn.Sequential(layer, nn.Hardtanh(-3e38, 3e38)).eval(), x)
        with np.errstate(invalid="ignore"):
            sums = weight.astype(np.float64) @ x.numpy()[0].astype(np.float64) + layer.bias.detach().numpy()
        expected = np.clip(sums, np.float32(-3e38), np.float32(3e38))
        with torch.no_grad():
            np.testing.assert_allclose(compiled(x).numpy()[0], expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("rows", [1, 3])
def test_a_plan_of_linear_layers_has_no_copy_of_the_weights(rows):
    model = nn.Sequential(nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 512)).eval()
    size = sum(parameter.nbytes for parameter in model.parameters())
    compiled, x = torch.compile(model), torch.ones(rows, 512)
    peak = peak_of_calls(compiled, x)
    assert [name[:8] for _, name, _ in program_of(compiled).table()] == ["plan_of_"]
    assert peak < 0.7 * size

"""`torch.compile`: compiled functions match eager ones, and functions that cannot be compiled run eagerly."""

from __future__ import annotations

import copy
import gc
import random
import time
import warnings

import pytest

import flambeau as torch
from flambeau import nn
from flambeau.nn import functional as F

CALLS = 6  # enough calls to run eagerly, capture, verify and replay


def assert_replayed(compiled) -> None:
    """Assert that a compiled function or module was captured and verified, and is replayed."""
    call = compiled.__dict__.get("_compiled_call") if isinstance(compiled, nn.Module) else compiled.compiled
    assert call.reason is None, call.reason
    assert any(entry.verified for entries in call.entries.values() for entry in entries)


def assert_eager(compiled) -> str:
    """Assert that a compiled function runs eagerly, and return the reason."""
    reason = compiled.compiled.reason
    assert reason is not None
    return reason


def same(one, other) -> bool:
    return torch.equal(torch.nan_to_num(one), torch.nan_to_num(other))


@pytest.fixture(autouse=True)
def _without_warnings():
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="torch.compile: .* runs eagerly")
        yield


# --- functions ---------------------------------------------------------------------------------------------------------------


def test_a_function_of_tensors():
    @torch.compile
    def f(x, y, *, scale=2.0):
        return {"sum": (x * scale + y).relu(), "parts": [x.mean(), y.T]}

    for _ in range(CALLS):
        x, y = torch.randn(3, 3), torch.randn(3, 3)
        result = f(x, y, scale=3.0)
        assert torch.equal(result["sum"], (x * 3 + y).relu())
        assert torch.equal(result["parts"][0], x.mean())
    assert_replayed(f)


def test_gradients_flow_through_a_compiled_function():
    w = torch.randn(4, 3, requires_grad=True)

    @torch.compile
    def f(x):
        return torch.tanh(x @ w).sum(), x.sigmoid()

    for _ in range(CALLS):
        x = torch.randn(5, 4, requires_grad=True)
        total, gates = f(x)
        (total * 2 + gates.prod()).backward()
        grads, w.grad = (x.grad, w.grad), None
        x.grad = None
        (torch.tanh(x @ w).sum() * 2 + x.sigmoid().prod()).backward()
        assert torch.equal(grads[0], x.grad) and torch.equal(grads[1], w.grad)
        w.grad = None
    assert_replayed(f)


def test_each_call_has_a_graph_of_its_own():
    net = nn.Conv2d(2, 3, 3)  # Conv2d's kernels store data between forward and backward
    compiled = torch.compile(net)
    inputs = [torch.randn(2, 2, 6, 6) for _ in range(CALLS)]
    for x in inputs:
        compiled(x).sum().backward()
    assert_replayed(compiled)
    net.zero_grad()
    outputs = [compiled(x) for x in inputs]
    for output in reversed(outputs):
        output.square().sum().backward()
    expected = copy.deepcopy(net)
    expected.zero_grad()
    for x in reversed(inputs):
        expected(x).square().sum().backward()
    assert torch.equal(net.weight.grad, expected.weight.grad)
    with pytest.raises(RuntimeError, match="second time"):
        outputs[0].sum().backward()


def test_a_saved_parameter_that_was_written_to_is_refused():
    net = nn.Linear(2, 2)
    compiled = torch.compile(lambda x: net(x * x.sum()))
    for _ in range(CALLS):
        output = compiled(torch.randn(3, 2, requires_grad=True))
    assert_replayed(compiled)
    with torch.no_grad():
        net.weight.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        output.sum().backward()


def test_second_derivatives_are_refused_as_by_pytorch():
    f = torch.compile(lambda x: (x**3).sum())
    for _ in range(CALLS):
        x = torch.randn(3, requires_grad=True)
        y = f(x)
    with pytest.raises(RuntimeError, match="does not currently support double backward"):
        torch.autograd.grad(y, x, create_graph=True)


# --- modules and whole steps -------------------------------------------------------------------------------------------------


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(11, 16)
        self.layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.1, batch_first=True)
        self.out = nn.Linear(16, 11)

    def forward(self, x):
        return self.out(self.layer(self.embed(x))).transpose(1, 2)


class Recurrent(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.rnn = kind(5, 6, batch_first=True)
        self.out = nn.Linear(6, 3)

    def forward(self, x):
        return self.out(self.rnn(x)[0][:, -1])


def convolutional():
    return nn.Sequential(
        nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Dropout(0.2), nn.Linear(36, 3)
    )


NETWORKS = {
    "layers": (lambda: nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3)), lambda: torch.randn(5, 4), (5,), 3),
    "convolutional": (convolutional, lambda: torch.randn(4, 1, 8, 8), (4,), 3),
    "lstm": (lambda: Recurrent(nn.LSTM), lambda: torch.randn(4, 6, 5), (4,), 3),
    "gru": (lambda: Recurrent(nn.GRU), lambda: torch.randn(4, 6, 5), (4,), 3),
    "transformer": (Transformer, lambda: torch.randint(0, 11, (3, 7)), (3, 7), 11),
}
OPTIMIZERS = {
    "sgd": lambda params: torch.optim.SGD(params, lr=0.1, momentum=0.9, weight_decay=1e-3),
    "adam": lambda params: torch.optim.Adam(params, lr=0.01),
    "adamw": lambda params: torch.optim.AdamW(params, lr=0.01),
    "rmsprop": lambda params: torch.optim.RMSprop(params, lr=0.01),
}


@pytest.mark.slow
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("network", NETWORKS)
def test_a_whole_training_step(network, optimizer):
    build, draw, target_shape, classes = NETWORKS[network]
    steps, networks, optimizers = [], [], []
    for compiles in (False, True):
        torch.manual_seed(0)
        net = build()
        opt = OPTIMIZERS[optimizer](net.parameters())

        def step(x, y, net=net, opt=opt):
            opt.zero_grad()
            loss = F.cross_entropy(net(x), y)
            loss.backward()
            opt.step()
            return loss.detach()

        steps.append(torch.compile(step) if compiles else step)
        networks.append(net)
        optimizers.append(opt)
    for i in range(10):
        x, y = draw(), torch.randint(0, classes, target_shape)
        losses = []
        for step, opt in zip(steps, optimizers, strict=True):
            opt.param_groups[0]["lr"] = 0.02 / (i + 1)  # a new learning rate does not recompile the step
            torch.manual_seed(i)
            losses.append(step(x, y))
        assert torch.equal(*losses)
        for one, other in zip(networks[0].state_dict().values(), networks[1].state_dict().values(), strict=True):
            assert torch.equal(one, other)
        for one, other in zip(networks[0].parameters(), networks[1].parameters(), strict=True):
            assert torch.equal(one.grad, other.grad) and one._version == other._version
    assert_replayed(steps[1])
    call = steps[1].compiled
    assert len(call.entries) == 1


def test_modules():
    net = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Dropout(0.5))
    twin = copy.deepcopy(net)
    compiled = torch.compile(net)
    assert list(compiled.state_dict()) == [f"_orig_mod.{name}" for name in net.state_dict()]
    for training in (True, False, True):
        compiled.train(training)
        twin.train(training)
        for i in range(CALLS):
            x = torch.randn(6, 3)
            torch.manual_seed(i)
            result = compiled(x)
            torch.manual_seed(i)
            assert torch.equal(result, twin(x))
            assert torch.equal(net[1].running_mean, twin[1].running_mean)
    assert_replayed(compiled)


def test_weights_that_are_loaded_are_used():
    net = nn.Linear(3, 2)
    compiled = torch.compile(net)
    x = torch.randn(4, 3)
    for _ in range(CALLS):
        compiled(x)
    for assign in (False, True):
        net.load_state_dict({name: torch.randn_like(value) for name, value in net.state_dict().items()}, assign=assign)
        assert torch.equal(compiled(x), F.linear(x, net.weight, net.bias))
    net.weight.data = torch.randn(2, 3)
    assert torch.equal(compiled(x), F.linear(x, net.weight, net.bias))
    assert_replayed(compiled)


# --- guards ------------------------------------------------------------------------------------------------------------------

FACTOR = 2.0
SETTINGS = {"factor": 2.0}


def test_globals_closures_and_attributes():
    global FACTOR
    power = 2

    class Holder:
        shift = 1.0

    holder = Holder()

    @torch.compile
    def f(x):
        return FACTOR * SETTINGS["factor"] * x**power + holder.shift

    def expected(x):
        return FACTOR * SETTINGS["factor"] * x**power + holder.shift

    x = torch.arange(4.0)
    for change in range(5):
        for _ in range(CALLS):
            assert torch.equal(f(x), expected(x))
        if change == 0:
            FACTOR = 3.0
        elif change == 1:
            SETTINGS["factor"] = 4.0
        elif change == 2:
            power = 3
        elif change == 3:
            holder.shift = 5.0
    assert_replayed(f)
    FACTOR = SETTINGS["factor"] = 2.0


def test_shapes_dtypes_strides_modes():
    f = torch.compile(lambda x: x.reshape(-1) * 2 if x.requires_grad or x.is_contiguous() else x.flatten() + torch.ones(1).sum())
    plain = f._torchdynamo_orig_callable
    inputs = [
        torch.randn(3, 4),
        torch.randn(4, 3).T,
        torch.randn(2, 2),
        torch.arange(6).reshape(2, 3),
        torch.randn(3, 4, requires_grad=True),
    ]
    for _ in range(CALLS):
        for x in inputs:
            result, expected = f(x), plain(x)
            assert torch.equal(result, expected) and result.requires_grad == expected.requires_grad
    with torch.no_grad():
        for _ in range(CALLS):
            assert not f(inputs[-1]).requires_grad
    assert_replayed(f)


def test_the_same_tensor_twice():
    def f(x, y):
        x.add_(1)
        return x * y

    compiled = torch.compile(f)
    for i in range(CALLS):
        x, y = torch.full((3,), float(i)), torch.ones(3)
        assert torch.equal(compiled(x, y), torch.full((3,), i + 1.0))
        x = torch.full((3,), float(i))
        assert torch.equal(compiled(x, x), torch.full((3,), (i + 1.0) ** 2))
        assert torch.equal(x, torch.full((3,), i + 1.0)) and x._version == 1
    assert_replayed(compiled)


def test_views_and_partial_writes():
    def f(x):
        y = torch.zeros(4, 4)
        y[1:3, ::2] = x
        y[0].add_(y[1])
        y.mul_(2)
        z = y.view(2, 8)
        z[1] += 1
        return y, z.sum(0)

    compiled = torch.compile(f)
    for _ in range(CALLS):
        x = torch.randn(2, 2)
        for one, other in zip(compiled(x), f(x), strict=True):
            assert torch.equal(one, other)
    assert_replayed(compiled)


def test_partial_writes_to_what_was_given():
    def f(x, y):
        x.mul_(2)
        x[0] += 1
        x[1] = y[0]
        return x.sigmoid() * y

    compiled = torch.compile(f)
    x, y = torch.ones(3, 4), torch.randn(3, 4, requires_grad=True)
    other = x.clone()
    for _ in range(CALLS):
        with torch.no_grad():
            assert torch.equal(compiled(x, y), f(other, y)) and torch.equal(x, other) and x._version == other._version
    assert_replayed(compiled)


def test_overwriting():
    def f(x, y):
        z, w = x * 2, x + 1
        z.view(-1)[1:].zero_()
        w[0].fill_(3.0)
        y.zero_()
        y.copy_(z)
        return z, w.zero_() + y, (x * 3).fill_(2)

    compiled = torch.compile(f)
    for _ in range(CALLS):
        x, y = torch.randn(3, 4), torch.randn(3, 4)
        other = y.clone()
        for one, two in zip([*compiled(x, y), y], [*f(x, other), other], strict=True):
            assert torch.equal(one, two) and one._version == two._version
    assert_replayed(compiled)


def test_gradients_that_are_set_to_zero():
    net = nn.Linear(2, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

    @torch.compile
    def step(x):
        optimizer.zero_grad(set_to_none=False)
        loss = net(x).square().sum()
        loss.backward()
        optimizer.step()
        return loss.detach()

    for _ in range(CALLS):
        x, weight = torch.randn(3, 2), net.weight.detach().clone()
        step(x)
        assert torch.allclose(net.weight, weight - 0.1 * net.weight.grad)
    assert_replayed(step)


def test_a_buffer_that_accumulates():
    total = torch.zeros(3)

    @torch.compile
    def add(x):
        total.add_(x)
        return total.sum()

    for i in range(1, CALLS + 1):
        assert add(torch.ones(3)) == 3 * i
    assert torch.equal(total, torch.full((3,), float(CALLS))) and total._version == CALLS
    assert_replayed(add)


def test_gradients_that_accumulate():
    net = nn.Linear(2, 1)

    @torch.compile
    def accumulate(x):
        net(x).sum().backward()

    for i in range(1, CALLS + 1):
        accumulate(torch.ones(3, 2))
        assert torch.equal(net.weight.grad, torch.full((1, 2), 3.0 * i))
    assert_replayed(accumulate)
    net.zero_grad()
    accumulate(torch.ones(3, 2))
    assert torch.equal(net.weight.grad, torch.full((1, 2), 3.0))


def test_indices_out_of_bounds():
    f = torch.compile(lambda index: F.embedding(index, torch.eye(4)))
    for _ in range(CALLS):
        assert torch.equal(f(torch.tensor([1, 3])), torch.eye(4)[torch.tensor([1, 3])])
    assert_replayed(f)
    with pytest.raises(IndexError, match="out of range"):
        f(torch.tensor([1, 4]))


def test_random_numbers_continue_the_stream():
    f = torch.compile(lambda x: x + torch.rand(3) * torch.randn(3))
    torch.manual_seed(5)
    compiled = [f(torch.zeros(3)) for _ in range(CALLS)]
    assert_replayed(f)
    torch.manual_seed(5)
    eager = [f._torchdynamo_orig_callable(torch.zeros(3)) for _ in range(CALLS)]
    assert all(map(torch.equal, compiled, eager))


def test_draws_whose_results_are_not_used():
    def f(x):
        F.dropout(x, 0.5)
        torch.rand(2)
        return x + torch.rand(1)

    compiled = torch.compile(f)
    for i in range(CALLS):
        torch.manual_seed(i)
        results = compiled(torch.zeros(3)), torch.rand(1)
        torch.manual_seed(i)
        assert all(map(torch.equal, results, (f(torch.zeros(3)), torch.rand(1))))
    assert_replayed(compiled)


def test_objects_that_the_collector_has_put_aside():
    net = nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.5))
    compiled = torch.compile(net)
    gc.freeze()
    for i in range(CALLS):
        x = torch.randn(4, 3)
        torch.manual_seed(i)
        result = compiled(x)
        after = torch.rand(1)
        torch.manual_seed(i)
        assert torch.equal(result, net(x)) and torch.equal(after, torch.rand(1))
    gc.unfreeze()
    assert_replayed(compiled)


# --- what is not compiled ----------------------------------------------------------------------------------------------------

LOG: list[float] = []


def looks_at_a_value(x):
    return x * 2 if x.sum() > 0 else x - 1


def takes_an_item(x):
    return x * x.max().item()


def shape_depends_on_values(x):
    return x[x > 0].sum() * x.nonzero().shape[0]


def appends_to_a_list(x):
    LOG.append(1.0)
    return x * len(LOG)


def prints(x):
    print("called")
    return x + 1


def draws_from_python(x):
    return x * random.random()


def asks_for_the_time(x):
    return x * time.time()


def takes_an_array(x):
    return torch.from_numpy(x.numpy() * 2)


@pytest.mark.parametrize(
    "function", [looks_at_a_value, takes_an_item, shape_depends_on_values, appends_to_a_list, prints, takes_an_array]
)
def test_what_is_not_compiled_runs_eagerly(function, capsys):
    LOG.clear()
    compiled = torch.compile(function)
    inputs = [torch.randn(4) for _ in range(CALLS)]
    results = [compiled(x) for x in inputs]
    LOG.clear()
    assert all(same(result, function(x)) for result, x in zip(results, inputs, strict=True))
    assert assert_eager(compiled)
    if function is prints:
        assert capsys.readouterr().out == "called\n" * 2 * CALLS


@pytest.mark.parametrize("function", [draws_from_python, asks_for_the_time])
def test_what_differs_from_call_to_call(function):
    compiled = torch.compile(function)
    results = [compiled(torch.ones(1)).item() for _ in range(CALLS)]
    assert len(set(results)) == CALLS or function is asks_for_the_time
    assert assert_eager(compiled)


def test_the_warning_names_the_line():
    compiled = torch.compile(takes_an_item)
    with pytest.warns(UserWarning, match=r"takes_an_item runs eagerly: it looks at a value \(.*test_compile.py:\d+\)"):
        for _ in range(CALLS):
            compiled(torch.ones(2))


def test_fullgraph_raises():
    with pytest.raises(torch._dynamo.exc.Unsupported, match=r"it looks at a value \(.*test_compile.py:\d+\)"):
        torch.compile(looks_at_a_value, fullgraph=True)(torch.ones(2))
    f = torch.compile(lambda x: x * 2, fullgraph=True)
    for _ in range(CALLS):
        assert torch.equal(f(torch.ones(2)), torch.full((2,), 2.0))
    assert_replayed(f)


def test_an_error_leaves_no_trace():
    def f(x):
        x.mul(2).sum()
        raise KeyError("stop")

    compiled = torch.compile(f, fullgraph=True)
    x = torch.ones(3)
    for _ in range(2):
        with pytest.raises(KeyError, match="stop"):
            compiled(x)
    assert torch.equal(x * 2 + 1, torch.full((3,), 3.0)) and type(x.numpy()).__name__ == "ndarray"


def test_many_shapes_are_too_many():
    f = torch.compile(lambda x: x + 1)
    for _ in range(2):
        for size in range(1, 12):
            assert torch.equal(f(torch.zeros(size)), torch.ones(size))
    assert "8 times" in assert_eager(f)


@torch.no_grad()
def test_common_subexpressions():
    compiled = torch.compile(lambda x, w: (x * w).relu() + (x * w).tanh() + x.sum(0) * x.sum(0), fullgraph=True)
    x, w = torch.randn(3, 4), torch.randn(3, 4)
    for _ in range(CALLS):
        assert same(compiled(x, w), (x * w).relu() + (x * w).tanh() + x.sum(0) * x.sum(0))
    (program,) = compiled.compiled.programs
    assert sorted(name for _, name, _ in program.table()) == ["add", "add", "mul", "mul", "relu", "sum", "tanh"]


@torch.no_grad()
def test_what_only_looks_like_a_common_subexpression():
    def function(x, y):
        first = x * 2
        x += 1  # the next `x * 2` is not a common subexpression
        second = x * 2
        third, fourth = y + 1, y + 1  # equal values, but the caller may write to one of them
        return first, second, third, fourth, (y * 0.0).abs() + (y * -0.0)

    compiled = torch.compile(function, fullgraph=True)
    for _ in range(CALLS):
        x, y = torch.randn(3), torch.randn(3)
        ours, expected = compiled(x.clone(), y), function(x.clone(), y)
        assert all(map(same, ours, expected))
        ours[2].zero_()
        assert same(ours[3], expected[3])
    assert_replayed(compiled)


def test_disabled_functions():
    @torch.compiler.disable
    def inner(x):
        return x * 2

    f = torch.compile(lambda x: inner(x) + 1)
    for _ in range(CALLS):
        assert torch.equal(f(torch.ones(2)), torch.full((2,), 3.0))
    assert "inner" in assert_eager(f)


def test_other_backends_run_eagerly():
    f = torch.compile(lambda x: x * 2)
    for _ in range(CALLS):
        assert f(torch.ones(2, device="meta")).shape == (2,)
    assert "meta backend" in assert_eager(f)


def test_is_compiling():
    seen = []

    def f(x):
        return x * 2 if torch.compiler.is_compiling() else 2 * x

    compiled = torch.compile(f)
    for _ in range(CALLS):
        compiled(torch.ones(1))
    seen.append(torch.compiler.is_compiling())
    assert seen == [False]
    assert_replayed(compiled)


def test_stances():
    f = torch.compile(lambda x: x * 2)
    for _ in range(CALLS):
        f(torch.ones(2))
    with torch.compiler.set_stance("fail_on_recompile"):
        f(torch.ones(2))
        with pytest.raises(RuntimeError, match="fail_on_recompile"):
            f(torch.ones(3))
    with torch.compiler.set_stance("eager_on_recompile"):
        for _ in range(CALLS):
            f(torch.ones(3))
    call = f.compiled
    assert len(call.entries) == 1
    torch.compiler.reset()
    with torch.compiler.set_stance("force_eager"):
        f(torch.ones(2))
    f(torch.ones(2))
    assert not call.entries


# --- random programs ---------------------------------------------------------------------------------------------------------

UNARY = [torch.relu, torch.tanh, torch.sigmoid, torch.exp, torch.neg, torch.abs, torch.square, torch.sin, F.gelu, F.softplus]
BINARY = [torch.add, torch.sub, torch.mul, torch.maximum, torch.minimum, torch.atan2]
SHAPED = [
    lambda x: x.sum(-1, keepdim=True).expand_as(x), lambda x: F.softmax(x, -1), lambda x: x - x.mean(0), lambda x: x.flip(0),
    lambda x: torch.cat([x[1:], x[:1]]), lambda x: x.clone().mul_(0.5), lambda x: x.t().contiguous().t(),
    lambda x: torch.where(x > 0, x, x * 0.1), lambda x: F.dropout(x, 0.3), lambda x: x.cumsum(0), lambda x: F.layer_norm(x, x.shape[1:]),
    lambda x: x.masked_fill(x > 1, 0.0), lambda x: x @ x.t() @ x / 10, lambda x: x.detach() * 0.3, lambda x: torch.roll(x, 1, 1),
    lambda x: torch.fft.ifft(torch.fft.fft(x) * 0.5).real, lambda x: (torch.complex(x, x * 0.5).conj() * 1j).imag * 2,
    lambda x: torch.vmap(lambda row: row * row.sum())(x), lambda x: torch.func.grad(lambda y: (y.sin() * y).sum())(x),
    lambda x: torch.view_as_real(torch.polar(x.abs() + 1, x)).sum(-1), lambda x: x[None].squeeze(0), lambda x: x.narrow(1, 1, 2).repeat(1, 2),
]  # fmt: skip


def random_program(seed: int):
    """Return a function of nine random operations that preserve shape, some of them in place."""
    choose = random.Random(seed)
    steps = [
        (choose.choice(["unary", "binary", "shaped", "inplace"]), choose.randrange(100), choose.randrange(100)) for _ in range(9)
    ]

    def program(x, w):
        values = [x * 1, w * x]
        for kind, first, second in steps:
            value, other = values[first % len(values)], values[second % len(values)]
            if kind == "unary":
                values.append(UNARY[first % len(UNARY)](value * 0.5))
            elif kind == "binary":
                values.append(BINARY[second % len(BINARY)](value, other))
            elif kind == "shaped":
                values.append(SHAPED[second % len(SHAPED)](value))
            else:
                value = value.clone()
                value[first % 3] += other[second % 3]
                values.append(value)
        views = x.detach()[1], values[steps[1][1] % len(values)].detach(), values[steps[2][1] % len(values)].T
        return sum(value.clamp(-10, 10).mean() for value in values), values[-1], *views

    return program


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_random_programs(part):
    replayed = 0
    for seed in range(part * 30, part * 30 + 30):
        program = random_program(seed)
        compiled = torch.compile(program)
        for i in range(4):
            torch.manual_seed(1000 * seed + i)
            data, weight = torch.randn(3, 4), torch.randn(3, 4)
            results = []
            for function in (program, compiled):
                x, w = data.clone().requires_grad_(), weight.clone().requires_grad_()
                torch.manual_seed(i)
                loss, value, *views = function(x, w)
                (loss + (value * 0.1).sum() + views[-1].square().mean()).backward()
                results.append((loss.detach(), value.detach(), *views, x.grad, w.grad))
            assert all(map(same, *results)), f"seed {seed}, call {i}"
        call = compiled.compiled
        replayed += call.reason is None
    assert replayed >= 28, "programs run eagerly that could be compiled"


def test_explain():
    explained = torch._dynamo.explain(lambda x: x.sin() + 1)(torch.ones(3))
    assert (explained.graph_count, explained.graph_break_count, explained.op_count) == (
        1,
        0,
        sum(map(len, explained.ops_per_graph)),
    )
    assert {"sin", "add"} <= set(explained.ops_per_graph[0]) or explained.op_count == 1  # fused, they are one operation
    assert str(explained).startswith("Graph Count: 1\nGraph Break Count: 0\n")
    explained = torch._dynamo.explain(lambda x: x + 1 if x.sum().item() > 0 else x, torch.ones(3))
    assert (explained.graph_count, explained.graph_break_count) == (0, 1)
    assert "looks at a value" in explained.break_reasons[0].reason and "looks at a value" in str(explained)


def test_what_runs_at_a_garbage_collection_is_not_the_programs():
    def watch(phase, info):
        time.perf_counter()

    def f(x):
        objects = [[number] for number in range(5000)]  # enough objects to trigger a garbage collection
        return x + len(objects)

    gc.callbacks.append(watch)
    try:
        compiled = torch.compile(f, fullgraph=True)
        assert compiled(torch.zeros(2)).tolist() == [5000, 5000] and gc.isenabled()
    finally:
        gc.callbacks.remove(watch)


def test_a_tuple_that_has_no_length_is_looked_into():
    class Parts(tuple):
        def __len__(self):
            raise NotImplementedError

    class Scaled(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.parts = Parts((2.0, 3.0))

        def forward(self, x):
            return x * 2.0

    x = torch.ones(3)
    assert torch.equal(torch.compile(Scaled(), fullgraph=True)(x), 2 * x)

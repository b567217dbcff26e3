"""Compiled steps on the CuPy backend, with a stand-in for CuPy: same results as eager, right devices, no synchronization."""

from __future__ import annotations

import textwrap

import pytest
from standin import run

pytestmark = pytest.mark.slow

PRELUDE = """
import warnings

def outcome(call, arguments, seed):
    '''What a call gives and leaves behind, after a backward from its results, and what random numbers come next.'''
    torch.manual_seed(seed)
    torch.cuda.manual_seed_all(seed)
    given = arguments()
    with recorded() as log:
        leaves = torch.utils._pytree.tree_leaves(call(*given))
    wanting = [leaf for leaf in leaves if leaf.grad_fn is not None]
    if wanting:
        torch.autograd.backward(wanting, [torch.ones_like(leaf) for leaf in wanting])
    gradients = [tensor.grad for tensor in given if tensor.grad is not None]
    next_numbers = [torch.randn(2, device=device) for device in ("cpu", "cuda:0", "cuda:1")]
    return [*leaves, *given, *gradients, *next_numbers], log

def same(one, other):
    return torch.equal(one, other) and one.device == other.device and one._version == other._version

def check(function, arguments, refused=None, calls=6):
    '''A function, compiled and not, on like arguments; returns the programs and what the last replay told the devices to do.'''
    compiled = torch.compile(function)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore" if refused else "error")
        for seed in range(calls):
            expected, _ = outcome(function, arguments, seed)
            tensors, log = outcome(compiled, arguments, seed)
            assert len(tensors) == len(expected) and all(map(same, tensors, expected)), (tensors, expected)
    call = compiled.compiled
    if refused:
        assert refused in call.reason, call.reason
    else:
        assert call.reason is None and all(entry.verified for entries in call.entries.values() for entry in entries)
        assert "wait" not in log
    return call.programs, log

def tensor(*size, device="cuda", grad=False):
    return torch.randn(*size).to(device).requires_grad_(grad)

def train(layers, optimizer, device="cuda"):
    '''Steps of training, compiled and not, from the same start; returns what one of either tells the device to do.'''
    outcomes, logs = [], []
    for wrap in (lambda step: step, torch.compile):
        torch.manual_seed(0)
        torch.cuda.manual_seed_all(0)
        net = layers().to(device)
        opt = optimizer(net.parameters())
        x, y = tensor(6, 3, 4, 4, device=device), tensor(6, 2, device=device)

        def step():
            opt.zero_grad()
            loss = F.mse_loss(net(x), y)
            loss.backward()
            opt.step()
            return loss

        call, losses = wrap(step), []
        for _ in range(7):
            with recorded() as log:
                losses.append(call())
        state = [each for state in opt.state_dict()["state"].values() for each in state.values() if isinstance(each, torch.Tensor)]
        outcomes.append([*losses, *net.parameters(), *net.buffers(), *state, torch.randn(2, device=device)])
        logs.append(log)
    assert call.compiled.reason is None and len(call.compiled.programs) == 1
    assert len(outcomes[0]) == len(outcomes[1]) and all(map(same, *outcomes))
    assert "wait" not in logs[1]
    return logs

warnings.simplefilter("error")
"""


def on_standin(code: str) -> None:
    run(PRELUDE + textwrap.dedent(code))


def test_training_steps() -> None:
    on_standin("""
    O = torch.optim

    def linear():
        return nn.Sequential(nn.Flatten(), nn.Linear(48, 8), nn.Tanh(), nn.Linear(8, 2))

    def with_dropout():
        return nn.Sequential(nn.Flatten(), nn.Linear(48, 8), nn.Dropout(0.5), nn.GELU(), nn.Dropout(0.2), nn.Linear(8, 2))

    def convolution():
        return nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(16, 2))

    for device in ("cuda:0", "cuda:1"):
        for optimizer in (
            lambda p: O.SGD(p, lr=0.1, momentum=0.9, weight_decay=0.01),
            lambda p: O.Adam(p, lr=0.01),
            lambda p: O.AdamW(p, lr=0.01, amsgrad=True),
            lambda p: O.RMSprop(p, lr=0.01),
        ):
            eager, replayed = train(linear, optimizer, device)
            assert len(replayed) <= len(eager)
        train(with_dropout, lambda p: O.SGD(p, lr=0.1), device)
        train(convolution, lambda p: O.Adam(p, lr=0.01), device)
    """)


def test_a_learning_rate_that_changes_recaptures_nothing() -> None:
    on_standin("""
    layer = nn.Linear(4, 2, device="cuda")
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.5)

    @torch.compile
    def step(x):
        optimizer.zero_grad()
        loss = layer(x).square().mean()
        loss.backward()
        optimizer.step()
        return loss

    for i in range(9):
        x, before = tensor(3, 4), layer.weight.detach().clone()
        optimizer.param_groups[0]["lr"] = 0.5 / (i + 1)
        step(x)
        assert torch.allclose(layer.weight, before - 0.5 / (i + 1) * layer.weight.grad)
    assert len(step.compiled.programs) == 1
    """)


def test_views_and_writes() -> None:
    on_standin("""
    def written(x):
        y = x * 2
        y[0] += 1
        y.view(-1)[2:] *= 3
        return y, y.T, y[1]

    def writes_to_arguments(x, y):
        x[1:].add_(y)
        before = x.sum()
        x.mul_(2)
        return before, x.view(-1)[:2]

    def reads_after_a_write(x, y):
        before = y * 2
        x.add_(1)
        return before, y * 2

    def apart():
        return tensor(3), tensor(3)

    def overlapping():
        x = tensor(4)
        return x[:3], x[1:]

    def detached():
        x = tensor(3)
        return x, x.detach()

    check(lambda x: (x.T, x[0], (x * 2).view(-1)), lambda: (tensor(2, 3),))
    check(written, lambda: (tensor(2, 3, grad=True),))
    check(writes_to_arguments, lambda: (tensor(2, 3), tensor(3)))
    check(lambda x, y: x[y], lambda: (tensor(3, 2, grad=True), torch.tensor([2, 0, 2], device="cuda")))
    check(lambda x, y: F.cross_entropy(x, y), lambda: (tensor(4, 3, grad=True), torch.tensor([1, 0, 2, 1], device="cuda")))
    compiled = torch.compile(reads_after_a_write)  # which of the arguments share memory decides what it gives
    for arguments in (apart, overlapping, detached, apart, overlapping, detached):
        for seed in range(4):
            expected, _ = outcome(reads_after_a_write, arguments, seed)
            tensors, _ = outcome(compiled, arguments, seed)
            assert all(map(same, tensors, expected))
    assert compiled.compiled.reason is None and len(compiled.compiled.programs) == 2  # for those that share memory, and not
    """)


def test_several_devices() -> None:
    on_standin("""
    here, there = lambda **kwargs: tensor(3, **kwargs), lambda **kwargs: tensor(3, device="cuda:1", **kwargs)
    check(lambda x: (x.cos() * x.sin()).exp(), lambda: (there(grad=True),))
    check(lambda x, y: (x.cos().to("cuda:1") * y.sin()).exp(), lambda: (here(grad=True), there(grad=True)))
    check(lambda x, y: (x * 2, y * 2), lambda: (here(grad=True), there(grad=True)))
    check(lambda x: torch.zeros(3, device="cuda:0").to(x.device) + torch.zeros(3, device=x.device) + x, lambda: (there(),))
    check(lambda x: x + torch.randn(3, device="cuda:1") + torch.randn(3, device="cuda:0").to("cuda:1"), lambda: (there(),))
    weight = nn.Parameter(there())
    _, log = check(lambda x: x.to("cuda:1") * weight, lambda: (tensor(3, device="cpu", grad=True),))
    assert ("peer copy", 0, 1) not in log
    _, log = check(lambda x: x.cuda() * 2 + x.to("cuda", non_blocking=True), lambda: (tensor(3, device="cpu"),))
    """)


def test_the_current_device() -> None:
    on_standin("""
    function = torch.compile(lambda x: x * 2 + torch.ones(3, device="cuda"))  # on the one that is current
    x = [torch.ones(3, device=f"cuda:{i}") for i in range(2)]
    for _ in range(4):
        assert torch.equal(function(x[0]), 3 * x[0])
    for _ in range(4):
        with torch.cuda.device(1):
            assert torch.equal(function(x[1]), 3 * x[1])
    assert len(function.compiled.programs) == 2
    with torch.cuda.device(1):
        raises(RuntimeError, "same device", lambda: function(x[0]))

    def moves(x):
        with torch.cuda.device(1):
            return x.to("cuda") * 2

    def leaves_it(x):
        torch.cuda.set_device(1 - torch.cuda.current_device())
        return x * 2

    check(moves, lambda: (tensor(3, device="cuda:0"),))
    check(leaves_it, lambda: (tensor(3, device="cuda:0"),), refused="another device")
    """)


def test_what_is_not_replayed() -> None:
    on_standin("""
    event = torch.cuda.Event()

    def on_another_stream(x):
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            y = x * 2
        torch.cuda.current_stream().wait_stream(stream)
        return y

    def marked(x):
        y = x * 2
        event.record()
        return y

    def waits(x):
        y = x * 2
        torch.cuda.synchronize()
        return y

    check(on_another_stream, lambda: (tensor(3),), refused="StreamContext.__enter__() again")
    check(marked, lambda: (tensor(3),), refused="Event.record() again")
    check(waits, lambda: (tensor(3),), refused="synchronize() again")
    check(lambda x: x * x.sum().item(), lambda: (tensor(3),), refused="it looks at a value")
    """)


def test_autocast_is_guarded() -> None:
    on_standin("""
    product = torch.compile(lambda x: x @ x)
    for enabled in [False] * 4 + [True] * 4 + [False]:
        with torch.autocast("cuda", torch.float16, enabled=enabled):
            assert product(torch.eye(3, device="cuda")).dtype == (torch.float16 if enabled else torch.float32)
    assert len(product.compiled.programs) == 2
    """)


def test_random_programs() -> None:
    """Random chains of reads, views and writes of shared memory match eager calls bit for bit, fused and as CUDA graphs."""
    on_standin("""
    import random

    np.seterr(all="ignore")
    UNARY = [torch.neg, torch.abs, torch.square, torch.relu, torch.sin, torch.tanh, torch.exp, F.silu, F.gelu, F.softplus, torch.sigmoid]
    BINARY = [torch.add, torch.sub, torch.mul, torch.maximum, lambda x, y: torch.where(x > y, x * 0.5, y),
              lambda x, y: x.masked_fill(y > 0, 0.25)]
    IN_PLACE = [lambda x, y: x.mul_(y), lambda x, y: x.add_(y, alpha=0.3), lambda x, y: x.clamp_(-3, 3), lambda x, y: x.copy_(y),
                lambda x, y: x.addcmul_(y, y, value=0.1), lambda x, y: x[0].add_(y[1]), lambda x, y: x.t().mul_(y.t()),
                lambda x, y: x.lerp_(y, 0.2), lambda x, y: x[1:].copy_(y[:-1].clone()), lambda x, y: x.view(-1).zero_()]
    OTHER = [lambda x: x.sum(0), lambda x: x.t().contiguous().t(), lambda x: x[:1], lambda x: x.mean(1, keepdim=True), lambda x: x.flip(0)]

    def program(seed):
        choose = random.Random(seed)
        steps = [(choose.choice("uubbbiiio"), choose.randrange(1000), choose.randrange(1000)) for _ in range(16)]

        def call(x, w):
            values = [x * 0.5, x + w, x, w.clone()]
            for kind, first, second in steps:
                value, other = values[first % len(values)], values[second % len(values)]
                if kind == "u":
                    values.append(UNARY[first % len(UNARY)](value))
                elif kind == "b":
                    values.append(BINARY[second % len(BINARY)](value, other))
                elif kind == "i":
                    IN_PLACE[first // 7 % len(IN_PLACE)](value, other)
                else:
                    values.append(OTHER[second % len(OTHER)](value) + torch.zeros_like(x))
            return values

        return call

    kernels = 0
    for seed in range(24):
        compiled = torch.compile(program(seed), mode=[None, "reduce-overhead"][seed % 2])
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*without a CUDA graph: it writes to an argument")
            for number in range(4):
                torch.manual_seed(number)
                given = tensor(4, 5), tensor(4, 5)
                copies = [one.clone() for one in given]
                expected, found = program(seed)(*given), compiled(*copies)
                for one, other in zip([*expected, *given], [*found, *copies], strict=True):
                    assert torch.equal(one.nan_to_num(7e7), other.nan_to_num(7e7)), seed
        [[entry]] = compiled.compiled.entries.values()
        assert entry.verified and compiled.compiled.reason is None
        kernels += sum(call.name.startswith("fused_") for call in entry.captured.forward.calls)
    assert kernels > 40
    """)

"""CUDA graphs of compiled steps, on a stand-in for CuPy whose graph launches rerun the captured work on the same memory."""

from __future__ import annotations

import textwrap

import pytest
from standin import run

pytestmark = pytest.mark.slow

PRELUDE = """
import warnings
warnings.filterwarnings("error", message="torch.compile")

def same(one, other):
    return torch.equal(one, other) and one._version == other._version

def train(layers, optimizer, mode, calls=9, rates=()):
    '''Losses, parameters and gradients after steps of training; the compiled step; what the last one told the device to do.'''
    torch.manual_seed(0)
    torch.cuda.manual_seed_all(0)
    net = layers().to("cuda")
    opt = optimizer(net.parameters())

    def step(x, y):
        opt.zero_grad()
        loss = F.mse_loss(net(x), y)
        loss.backward()
        opt.step()
        return loss.detach()

    call, losses = step if mode is None else torch.compile(step, mode=mode), []
    for number in range(calls):
        for group in opt.param_groups if rates else ():
            group["lr"] = rates[number % len(rates)]
        x, y = torch.randn(6, 3, 4, 4).cuda(), torch.randn(6, 2).cuda()
        with recorded() as log:
            losses.append(call(x, y))
    return [*losses, *net.parameters(), *(p.grad for p in net.parameters()), *net.buffers()], call, log

def linear():
    return nn.Sequential(nn.Flatten(), nn.Linear(48, 8), nn.GELU(), nn.LayerNorm(8), nn.Linear(8, 2))

def convolution():
    return nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(16, 2))

def graphs(call):
    return [program.run.__self__ for program in call.compiled.programs if hasattr(program.run, "__self__")]

def warned(call):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = call()
    return result, [str(one.message) for one in caught if "torch.compile" in str(one.message)]

O = torch.optim
"""


def on_standin(code: str) -> None:
    run(PRELUDE + textwrap.dedent(code))


def test_training_steps() -> None:
    on_standin("""
    for layers in (linear, convolution):
        for optimizer in (
            lambda p: O.SGD(p, lr=0.1, momentum=0.9, weight_decay=0.01),
            lambda p: O.Adam(p, lr=0.01, capturable=True),
            lambda p: O.RMSprop(p, lr=0.01, capturable=True),
        ):
            expected, _, _ = train(layers, optimizer, None)
            for mode in ("reduce-overhead", "max-autotune"):
                found, call, log = train(layers, optimizer, mode)
                assert all(map(same, found, expected)) and call.compiled.without_graph is None
                [graph] = graphs(call)
                assert graph.recordings == 1 and graph.reason is None
                assert "graph" in log and not {"flambeau_chain", "sum", "matmul", "sgd_step<float>"} & set(map(str, log)), log
    for mode in ("default", "max-autotune-no-cudagraphs"):
        found, call, log = train(linear, lambda p: O.SGD(p, lr=0.1), mode)
        assert not graphs(call) and "graph" not in log and "flambeau_chain" in log
    """)


def test_numbers_that_change() -> None:
    """A Python number in a kernel call is part of the graph, so that a new value needs a new capture. A 0-d array is
    updated before each launch.
    """
    on_standin("""
    sgd, adam = lambda p: O.SGD(p, lr=0.1), lambda p: O.Adam(p, lr=0.1, capturable=True)
    for optimizer, rates, recordings in ((sgd, [0.1] * 6 + [0.05] * 3, 2), (adam, [0.1 / (i + 1) for i in range(9)], 1)):
        expected, _, _ = train(linear, optimizer, None, rates=rates)
        found, call, _ = train(linear, optimizer, "reduce-overhead", rates=rates)
        assert all(map(same, found, expected)) and graphs(call)[0].recordings == recordings
    rates = [0.1 / (i + 1) for i in range(16)]
    expected, _, _ = train(linear, sgd, None, calls=16, rates=rates)
    (found, call, log), messages = warned(lambda: train(linear, sgd, "reduce-overhead", calls=16, rates=rates))
    assert all(map(same, found, expected)) and "graph" not in log
    assert len(messages) == 1 and "without a CUDA graph: it was recorded 8 times" in messages[0], messages
    """)


def test_modules_and_their_backward() -> None:
    on_standin("""
    torch.manual_seed(0)
    plain = linear().to("cuda")
    compiled = torch.compile(plain, mode="reduce-overhead")
    kept = []
    for _ in range(7):
        x = torch.randn(6, 3, 4, 4).cuda().requires_grad_()
        y = compiled(x)
        weight = torch.randn(6, 2).cuda()
        gradients = torch.autograd.grad((y * weight).sum(), [x, *plain.parameters()])
        expected = plain(x)
        assert torch.equal(y, expected)
        assert all(map(torch.equal, gradients, torch.autograd.grad((expected * weight).sum(), [x, *plain.parameters()])))
        kept.append((y, expected))
    assert all(torch.equal(*pair) for pair in kept)  # a later call writes to none of them
    call = compiled.__dict__["_compiled_call"]
    assert len([program for program in call.programs if hasattr(program.run, "__self__")]) == 2
    """)


def test_parameters_that_move_and_streams() -> None:
    on_standin("""
    there = torch.compile(lambda x: (x * 2 + 1).relu(), mode="reduce-overhead")  # on a device that is not current
    for number in range(7):
        x = torch.full((3,), float(number), device="cuda:1")
        assert there(x).tolist() == [2 * number + 1.0] * 3 and there(x).get_device() == 1
    assert graphs(there)[0].recordings == 1 and graphs(there)[0].device == 1

    weight = torch.ones(3, device="cuda")
    step = torch.compile(lambda x: (x * weight + 1).relu(), mode="reduce-overhead")
    for number in range(8):
        stream = torch.cuda.Stream() if number == 6 else torch.cuda.current_stream()
        with torch.cuda.stream(stream), recorded() as log:
            x = torch.full((3,), float(number)).cuda()
            assert step(x).tolist() == [number + 1.0] * 3
        assert any(isinstance(entry, tuple) and entry[0] == "stream waits" for entry in log) == (number >= 6)
    weight.data = torch.full((3,), 2.0).cuda()
    for number in range(6):
        assert step(torch.full((3,), float(number)).cuda()).tolist() == [2 * number + 1.0] * 3
    """)


def test_what_cannot_be_a_graph_says_so_once() -> None:
    on_standin("""
    def check(function, arguments, reason):
        compiled = torch.compile(function, mode="reduce-overhead")
        def calls():
            for seed in range(7):
                results = []
                for call in (function, compiled):
                    torch.manual_seed(seed)
                    torch.cuda.manual_seed_all(seed)
                    given = arguments()
                    results.append([call(*given), *given])
                assert all(map(same, *results)), (reason, results)
        _, messages = warned(calls)
        assert len(messages) == 1 and "is replayed without a CUDA graph: " + reason in messages[0], messages
        assert reason in compiled.compiled.without_graph and not graphs(compiled)

    vector = lambda: (torch.randn(4).cuda(),)
    check(lambda x: F.dropout(x, 0.5) * 2, vector, "it draws random numbers")
    check(lambda x: x.mul_(2).sum(), vector, "it writes to an argument")
    check(lambda x: x.to("cuda:1") * 2 + torch.ones(4, device="cuda:1"), vector, "it uses several devices")
    check(lambda x: (x * 2).cpu(), vector, "it computes on the CPU: copied_to")
    elsewhere = torch.ones(4, device="cuda:1")
    check(lambda x: (x * 2, elsewhere.add_(1))[0], vector, "it uses several devices")
    (_, call, _), messages = warned(lambda: train(linear, lambda p: O.Adam(p, lr=0.1), "reduce-overhead"))
    assert len(messages) == 1 and "it computes on the CPU" in messages[0] and "capturable=True" in messages[0]
    on_host = torch.compile(lambda x: x * 2, mode="reduce-overhead")  # PyTorch says nothing there, either
    for _ in range(5):
        assert torch.equal(on_host(torch.ones(2)), torch.full((2,), 2.0))
    """)


def test_what_cupy_refuses_is_replayed_call_by_call() -> None:
    on_standin("""
    refusals = {
        "begin": (cupy.cuda.Stream, "begin_capture", "cudaErrorIllegalState"),
        "end": (cupy.cuda.Stream, "end_capture", "cudaErrorStreamCaptureInvalidated"),
    }
    expected, _, _ = train(linear, lambda p: O.SGD(p, lr=0.1, momentum=0.9), None)
    for owner, name, text in refusals.values():
        original = getattr(owner, name)
        def refuse(self, *args):
            self.capturing = False
            raise cupy.cuda.runtime.CUDARuntimeError(text)
        setattr(owner, name, refuse)
        (found, call, log), messages = warned(lambda: train(linear, lambda p: O.SGD(p, lr=0.1, momentum=0.9), "reduce-overhead"))
        setattr(owner, name, original)
        assert all(map(same, found, expected)) and "graph" not in log
        assert len(messages) == 1 and f"without a CUDA graph: CUDARuntimeError: {text}" in messages[0], messages

    x, found = torch.randn(3).cuda(), []
    def waits(x):
        return x * 2 + 1
    step = torch.compile(waits, mode="reduce-overhead")
    for _ in range(3):
        step(x)
    original = cupy.ElementwiseKernel.__call__
    def synchronizes(self, *args):
        cupy._runtime.wait()
        return original(self, *args)
    cupy.ElementwiseKernel.__call__ = synchronizes
    result, messages = warned(lambda: [step(x) for _ in range(3)])
    assert all(torch.equal(one, x * 2 + 1) for one in result) and not cupy.cuda.get_current_stream().capturing
    assert len(messages) == 1 and "cudaErrorStreamCaptureUnsupported" in messages[0]
    """)

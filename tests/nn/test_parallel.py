"""DataParallel on 1 to 4 virtual CPU devices matches a single device."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import pytest

pytestmark = pytest.mark.slow

PRELUDE = """
import collections, copy, warnings
import flambeau as torch
from flambeau import nn
from flambeau.nn import parallel
from flambeau.cuda import comm
COUNT = {count}
DEVICES = [torch.device("cpu", index) for index in range(COUNT)]
torch.manual_seed(0)

def close(a, b):
    assert a.shape == b.shape, (a.shape, b.shape)
    assert torch.allclose(a, b, atol=1e-5), (a, b)

def raises(kind, text, call):
    try:
        call()
    except kind as error:
        assert text in str(error), str(error)
    else:
        raise AssertionError("nothing was raised")
"""


def run(count: int, code: str) -> str:
    """Run code in a process with `count` virtual CPU devices."""
    source = PRELUDE.format(count=count) + textwrap.dedent(code)
    environment = {**os.environ, "FLAMBEAU_CPU_DEVICES": str(count), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", source], capture_output=True, text=True, check=False, env=environment, timeout=600
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(params=[1, 2, 3, 4], ids="{} devices".format)
def count(request: pytest.FixtureRequest) -> int:
    return request.param


def test_collectives(count: int) -> None:
    run(
        count,
        """
        x = torch.arange(12.0).reshape(6, 2)
        copies = comm.broadcast(x, DEVICES)
        assert [each.device for each in copies] == [torch.empty(0, device=d).device for d in DEVICES]
        assert all(torch.equal(each.cpu(), x) for each in copies)
        parts = comm.scatter(x, DEVICES)
        assert torch.equal(comm.gather(parts, destination="cpu"), x)
        total = comm.reduce_add(copies, 0)
        close(total, x * COUNT)
        sums = comm.reduce_add_coalesced([(each, each + 1) for each in copies], 0)
        close(sums[1], (x + 1) * COUNT)
        group = parallel.devices.collectives(torch.device("cpu"))
        assert len(group.devices()) == COUNT
        for each, device in zip(group.all_reduce(copies), DEVICES):
            close(each.to("cpu:0"), x * COUNT)
        sizes = [1] * (COUNT - 1) + [6 - COUNT + 1]
        assert [len(each) for each in comm.scatter(x, DEVICES, sizes)] == sizes
        raises(RuntimeError, "chunk_sizes", lambda: comm.scatter(x, DEVICES, [1] * COUNT + [1]))
        raises(RuntimeError, "Exactly one of", lambda: comm.broadcast(x))
        raises(RuntimeError, "Exactly one of", lambda: comm.broadcast(x, DEVICES, out=copies))
        raises(RuntimeError, "at least one device to broadcast to", lambda: comm.broadcast(x, []))
        raises(RuntimeError, "at least one device to scatter to", lambda: comm.scatter(x, []))
        raises(RuntimeError, "at least one tensor to gather from", lambda: comm.gather([]))
        raises(RuntimeError, "'devices' must not be specified", lambda: comm.scatter(x, DEVICES, out=parts))
        raises(RuntimeError, "'destination' must not be specified", lambda: comm.gather(parts, destination=0, out=x))
        raises(ValueError, "input 1 has invalid size", lambda: comm.reduce_add([x, x[1:]]))
        copies, parts = ([each.clone() for each in group] for group in (copies, parts))
        for targets, filled in ((copies, comm.broadcast(x + 1, out=copies)), (parts, comm.scatter(x + 1, out=parts))):
            assert all(a is b for a, b in zip(targets, filled, strict=True))
        close(copies[-1].cpu(), x + 1)
        close(comm.gather(parts, destination=-1), x + 1)
        target = torch.zeros(6, 2)
        assert comm.gather(parts, out=target) is target and torch.equal(target, x + 1)
    """,
    )


LAYERS = {
    "linear": ("nn.Linear(6, 3)", "(7, 6)"),
    "convolution": ("nn.Sequential(nn.Conv2d(2, 4, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(16, 2))", "(5, 2, 6, 6)"),
    "norms": ("nn.Sequential(nn.BatchNorm1d(6).eval(), nn.LayerNorm(6), nn.GroupNorm(2, 6))", "(8, 6)"),
    "recurrent": ("Recurrent()", "(6, 4, 3)"),
    "attention": ("nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, batch_first=True)", "(5, 3, 4)"),
    "parameter list": ("Listed()", "(6, 3)"),
    "shared": ("Shared()", "(6, 3)"),
    "scalar result": ("Total()", "(6, 3)"),
}  # fmt: skip
MODULES = """
class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(3, 5, num_layers=2, batch_first=True, bidirectional=True)
    def forward(self, x):
        return self.rnn(x)[0]

class Listed(nn.Module):
    def __init__(self):
        super().__init__()
        self.weights = nn.ParameterList([torch.randn(3, 3) for _ in range(2)])
        self.named = nn.ParameterDict({"a": torch.randn(3)})
    def forward(self, x):
        for each in self.weights:
            x = torch.tanh(x @ each)
        return x * self.named["a"]

class Shared(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(3, 3), nn.Linear(3, 3)
        self.second.weight = self.first.weight
    def forward(self, x):
        return self.second(self.first(x).relu())

class Total(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(3))
    def forward(self, x):
        return (x * self.scale).sum()
"""


def test_same_results_and_gradients_as_on_one_device(count: int) -> None:
    cases = ", ".join(f"{name!r}: (lambda: {make}, {shape})" for name, (make, shape) in LAYERS.items())
    out = run(
        count,
        MODULES
        + f"CASES = {{{cases}}}\n"
        + textwrap.dedent("""
        warnings.simplefilter("ignore")
        for name, (make, shape) in CASES.items():
            alone, x = make(), torch.randn(shape)
            together = nn.DataParallel(copy.deepcopy(alone))
            first, second = (x.clone().requires_grad_() for _ in range(2))
            for epoch in range(2):  # the second time, gradients add up
                expected, found = alone(first), together(second)
                if expected.dim() == 0:
                    found = found.sum()
                close(found, expected)
                (expected ** 3).sum().backward()  # the sum of squares after a normalization is constant
                (found ** 3).sum().backward()
            close(second.grad, first.grad)
            for a, b in zip(together.parameters(), alone.parameters()):
                close(a.grad, b.grad)
            assert list(together.state_dict()) == ["module." + name for name in alone.state_dict()]
            print(name)
    """),
    )
    assert out.splitlines() == list(LAYERS)


def test_uneven_and_short_batches(count: int) -> None:
    run(
        count,
        """
        net = nn.Linear(3, 2)
        together = nn.DataParallel(net)
        for size in range(1, 2 * COUNT + 2):
            x = torch.randn(size, 3)
            close(together(x), net(x))
    """,
    )


def test_nested_inputs_and_results(count: int) -> None:
    run(
        count,
        """
        Pair = collections.namedtuple("Pair", "left right")
        class Net(nn.Module):
            def forward(self, pair, options, *, scale, names):
                assert names == ["a", "b"] and isinstance(pair, Pair)
                both = pair.left + pair.right * options["factor"]
                return {"sum": both * scale, "parts": [pair.left, (pair.right, None)], "pair": Pair(both, both)}
        left, right = torch.randn(5, 2), torch.randn(5, 2)
        factor, scale = torch.randn(5, 2), torch.randn(5, 1)
        out = nn.DataParallel(Net())(Pair(left, right), {"factor": factor}, scale=scale, names=["a", "b"])
        close(out["sum"], (left + right * factor) * scale)
        close(out["parts"][1][0], right)
        assert out["parts"][1][1] is None and isinstance(out["pair"], Pair)
        found = parallel.data_parallel(nn.Identity(), left, module_kwargs=None)
        close(found, left)
    """,
    )


def test_the_functions_it_is_made_of(count: int) -> None:
    run(
        count,
        """
        net, x = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2)), torch.randn(8, 3, requires_grad=True)
        replicas = parallel.replicate(net, DEVICES)
        assert len(replicas) == COUNT and all(each is not net for each in replicas)
        for each, device in zip(replicas, DEVICES):
            places = {value.device for value in (each[0].weight, each[0].bias, each[1].weight, each[1].running_mean)}
            assert places == {torch.empty(0, device=device).device}
            close(each[0].weight.to("cpu:0"), net[0].weight)
        parts = parallel.scatter((x, {"names": ["a"], "nested": [(x * 2,)]}), DEVICES)
        assert len(parts) == COUNT and all(part[1]["names"] == ["a"] for part in parts)
        close(parallel.gather([part[1]["nested"][0][0] for part in parts], DEVICES[0]), x * 2)
        assert parallel.scatter("text", DEVICES) == ["text"] * COUNT
        found = parallel.gather(parallel.parallel_apply(replicas, [part[:1] for part in parts]), DEVICES[0])
        assert found.shape == (8, 2)
        found.sum().backward()
        assert net[0].weight.grad.shape == (2, 3) and x.grad.shape == (8, 3)
        detached = parallel.replicate(net, DEVICES, detach=True)
        assert not detached[-1][0].weight.requires_grad
        both = parallel.parallel_apply([lambda x, y=0: x + y] * COUNT, list(x.chunk(COUNT)), [{"y": 1.0}] * COUNT)
        close(parallel.gather(both, "cpu:0"), x + 1)
        raises(AssertionError, "", lambda: parallel.parallel_apply(replicas, [x] * (COUNT + 1)))
    """,
    )


def test_an_error_names_replica_and_device() -> None:
    run(
        3,
        """
        class Net(nn.Module):
            def forward(self, x):
                if x.device.index == 1:
                    raise KeyError("lost")
                return x
        raises(KeyError, "Caught KeyError in replica 1 on device cpu:1", lambda: nn.DataParallel(Net())(torch.ones(6)))
        close(nn.DataParallel(nn.ReLU())(torch.ones(6)), torch.ones(6))  # the workers live on
        moved = nn.DataParallel(nn.Linear(2, 2).to("cpu:1"))
        raises(RuntimeError, "device cpu:0 (device_ids[0]) but found one of them on device: cpu:1",
               lambda: moved(torch.ones(6, 2)))
    """,
    )


def test_buffers_and_modes() -> None:
    run(
        2,
        """
        net = nn.BatchNorm1d(3)
        together = nn.DataParallel(net)
        x = torch.randn(8, 3)
        together(x)
        close(net.running_mean, 0.1 * x[:4].mean(0))  # the part of the first device, as its buffers are the network's
        with torch.no_grad():
            assert not together(x).requires_grad
        class Mode(nn.Module):
            def forward(self, x):
                return torch.full_like(x, float(torch.is_grad_enabled()))
        with torch.no_grad():
            close(nn.DataParallel(Mode())(torch.ones(4)), torch.zeros(4))
        close(nn.DataParallel(Mode())(torch.ones(4)), torch.ones(4))
        class Cast(nn.Module):
            def forward(self, x):
                return x @ x.t()
        with torch.autocast("cpu", dtype=torch.float16):
            assert nn.DataParallel(Cast())(torch.ones(4, 2)).dtype == torch.float16
    """,
    )


def test_one_kept_thread_for_each_device() -> None:
    run(
        3,
        """
        import threading
        seen = []
        class Net(nn.Module):
            def forward(self, x):
                seen.append((x.device.index, threading.get_ident()))
                return x
        for _ in range(4):
            nn.DataParallel(Net())(torch.ones(6))
        assert len(set(seen)) == 3 and len(seen) == 12
        nested = nn.DataParallel(nn.Sequential(nn.DataParallel(nn.Linear(2, 2), device_ids=[0])), device_ids=[0, 0])
        assert nested(torch.ones(4, 2)).shape == (4, 2)
    """,
    )


def test_double_backward() -> None:
    run(
        2,
        """
        net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
        x = torch.randn(5, 3, requires_grad=True)
        def penalty(model):
            (grad,) = torch.autograd.grad(model(x).sum(), x, create_graph=True)
            return torch.autograd.grad((grad ** 2).sum(), list(net.parameters())[:2])
        for a, b in zip(penalty(nn.DataParallel(net)), penalty(net)):
            close(a, b)
    """,
    )


def test_training_gives_the_same_curve_on_any_number_of_devices() -> None:
    code = """
        net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
        model = nn.DataParallel(net)
        x = torch.randn(10, 4); y = x.sum(1, keepdim=True)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
        for step in range(5):
            loss = nn.functional.mse_loss(model(x), y)
            optimizer.zero_grad(); loss.backward(); optimizer.step()
            print(f"{loss.item():.4f}")
    """
    curves = {run(count, code) for count in (1, 2, 4)}
    assert len(curves) == 1 and len(curves.pop().split()) == 5

"""`torch.compile` with a function as backend, which takes a graph."""

from __future__ import annotations

import pytest

import flambeau as torch
from flambeau import nn


def test_backends_of_ones_own():
    seen = []

    def backend(module, inputs):
        seen.append([node.op for node in module.graph.nodes])
        return module.forward

    f = torch.compile(lambda x: x.relu() + 1, backend=backend)
    assert torch.equal(f(torch.ones(2)), torch.full((2,), 2.0)) and len(seen) == 1
    with pytest.raises(RuntimeError, match="Invalid backend"):
        torch.compile(lambda x: x, backend="none")


class Cache(nn.Module):
    """Append rows to a buffer."""

    def __init__(self):
        super().__init__()
        self.register_buffer("rows", torch.zeros(4))
        self.register_buffer("position", torch.arange(4))
        self.scale = nn.Parameter(torch.tensor(2.0))

    def append(self, rows, *, scaled=False):
        length = rows.shape[0]
        self.rows[self.position[:length]] = rows
        self.position.add_(length)
        return self.rows * self.scale if scaled else self.rows


@pytest.mark.parametrize("compiles", ["method", "closure"])
def test_graphs_for_backends_change_the_state_of_modules_at_each_call(compiles):
    cache, graphs = Cache(), []
    called = cache.append if compiles == "method" else lambda rows, scaled=False: cache.append(rows, scaled=scaled)
    f = torch.compile(called, fullgraph=True, backend=lambda graph, inputs: graphs.append(graph) or graph.forward)
    with torch.no_grad():
        f(torch.tensor([1.0]))
        f(torch.tensor([3.0]))
        cache.scale.fill_(10.0)
        result = f(torch.tensor([5.0, 6.0]), scaled=True)
    assert result.tolist() == [10.0, 30.0, 50.0, 60.0] and cache.position.tolist() == [4, 5, 6, 7]
    assert len(graphs) == 2 and list(cache.state_dict()) == ["scale", "rows", "position"]


def test_graphs_for_backends_call_modules_of_the_closure():
    layer, weight = nn.BatchNorm1d(2), nn.Parameter(torch.ones(2))
    f = torch.compile(lambda x: layer(x) * weight, fullgraph=True, backend=lambda graph, inputs: graph.forward)
    for _ in range(3):
        f(torch.rand(4, 2)).sum().backward()
    assert layer.num_batches_tracked == 3 and weight.grad.shape == (2,)


def test_functions_that_look_at_values_run_without_the_backend():
    def positive(x):
        return x if x.sum() > 0 else -x

    def backend(graph, inputs):
        return graph.forward

    with pytest.warns(UserWarning, match="torch.compile: positive runs eagerly"):
        f = torch.compile(positive, backend=backend)
        assert f(-torch.ones(2)).tolist() == f(torch.ones(2)).tolist() == [1.0, 1.0]
    with pytest.raises(torch._dynamo.exc.Unsupported, match="positive"):
        torch.compile(positive, backend=backend, fullgraph=True)(torch.ones(2))


class Noise(nn.Module):
    """Add random numbers in training."""

    def forward(self, x):
        return x + torch.rand(2) if self.training else 2 * x


def test_graphs_for_backends_draw_at_each_call_and_follow_the_mode():
    layer, graphs = Noise(), []
    for function in (layer, lambda x: layer(x)):
        f = torch.compile(function, fullgraph=True, backend=lambda graph, inputs: graphs.append(graph) or graph.forward)
        for training in (True, False, True):
            layer.train(training)
            torch.manual_seed(0)
            results = [f(torch.ones(2)) for _ in range(2)]
            torch.manual_seed(0)
            assert all(torch.equal(result, layer(torch.ones(2))) for result in results)
    assert len(graphs) == 4


def test_graphs_for_backends_compute_with_tensors_of_the_closure_at_each_call():
    scale, count = torch.tensor([1.0, 2.0]), torch.zeros(2)
    weight = nn.Parameter(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))

    def function(x):
        total = torch.zeros(2)
        total += x  # a new tensor at each call
        count.add_(1)
        count[0] = count[1] * 10
        low, high = torch.aminmax(scale)
        return total @ weight.T * (2 * scale).clamp(max=100.0) + torch.ones_like(scale) * (high - low)

    f = torch.compile(function, fullgraph=True, backend=lambda graph, inputs: graph.forward)
    for call in range(1, 4):
        scale.fill_(call)
        x = torch.tensor([float(call), 1.0])
        weight.grad = None
        f(x).sum().backward()
        assert count.tolist() == [10.0 * call, call]
        assert torch.equal(f(x), (x @ weight.T) * 2 * call)
        assert torch.equal(weight.grad, (2 * call * x).expand(2, 2))
        count.sub_(1)


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer, self.factor = nn.Linear(2, 2), 2.0

    def forward(self, x):
        return self.layer(x) * self.factor


def test_changed_modules_are_traced_again():
    graphs = []

    def backend(graph, inputs):
        graphs.append(graph)
        return graph

    model, x = Scaled(), torch.ones(1, 2)
    compiled = torch.compile(model, backend=backend)

    def replace_layer():
        model.layer = nn.Linear(2, 2)

    def replace_parameter():
        model.layer.weight = nn.Parameter(torch.ones(2, 2))

    def assign():
        model.load_state_dict({name: torch.zeros_like(value) for name, value in model.state_dict().items()}, assign=True)

    def scale():
        model.factor = 3.0

    def scale_by_integer():
        model.factor = 3

    changes = [lambda: None, replace_layer, replace_parameter, assign, scale, scale_by_integer, model.double, model.float]
    for number, change in enumerate(changes, 1):
        change()
        for _ in range(2):
            torch.testing.assert_close(compiled(x.to(model.layer.weight.dtype)), model(x.to(model.layer.weight.dtype)))
        assert len(graphs) == min(number, len(changes) - 1)  # after `float`, the graph before `double` is used again


@pytest.mark.filterwarnings("ignore:.* runs eagerly")
@pytest.mark.parametrize("read", [
    lambda x, state: x * state[0].item(), lambda x, state: x if state.sum() > 9 else -x, lambda x, state: x + sum(state.tolist()),
    lambda x, state: x * float(state[1]), lambda x, state: x + int(state.equal(torch.ones(2))),
])  # fmt: skip
def test_tensors_of_the_closure_whose_values_are_read_are_not_constants(read):
    x, state = torch.ones(2), torch.ones(2)
    f = torch.compile(lambda x: read(x, state), backend=lambda graph, inputs: graph.forward)
    assert torch.equal(f(x), read(x, state))
    state.fill_(10.0)
    assert torch.equal(f(x), read(x, state))


def test_modules_that_change_at_each_call_run_eagerly():
    graphs = []
    model, x = Scaled(), torch.ones(1, 2)
    compiled = torch.compile(model, backend=lambda graph, inputs: graphs.append(graph) or graph)
    with pytest.warns(UserWarning, match="have changed too often"):
        for number in range(20):
            model.factor = number
            torch.testing.assert_close(compiled(x), model(x))
    assert len(graphs) == torch._dynamo.config.recompile_limit

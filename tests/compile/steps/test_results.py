"""Compiled functions that return views, inputs, captured tensors or shared memory behave as the eager functions."""

from __future__ import annotations

import copy
import tracemalloc
import warnings

import numpy as np
import pytest

import flambeau as torch
from flambeau import nn

CALLS = 6  # enough calls to run eagerly, capture, verify and replay


@pytest.fixture(autouse=True)
def _refusals_are_errors():
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="torch.compile: .* runs eagerly")
        yield


def assert_replayed(compiled) -> None:
    call = compiled.compiled
    assert call.reason is None
    assert any(entry.verified for entries in call.entries.values() for entry in entries)


WEIGHT = nn.Parameter(torch.arange(6.0).reshape(2, 3))
LAYER = nn.Linear(3, 2)


def without_grad(x):
    with torch.no_grad():
        return (x * 2).view(-1), x.T


def backward_and_grad(x):
    LAYER.zero_grad()
    LAYER(x).sum().backward()
    return LAYER.weight.grad, LAYER.weight.grad.T, LAYER.bias.grad[0]


def written_views(x):
    y = x * 2
    z = y.view(-1)
    z[1:3] += 1
    return y, z, y[0]


VIEWS = {
    "of an argument": lambda x: x.T,
    "steps": lambda x: x.T[1:].unsqueeze(0).expand(2, -1, -1),
    "several": lambda x: (*x.split([1, 2], 1), x.unbind()),
    "of a parameter": lambda x: (WEIGHT[0], x + WEIGHT[1]),
    "of a new tensor": lambda x: (lambda y: (y, y.T, y.view(-1)[2:]))(x * 2),
    "of a new tensor alone": lambda x: (lambda y: (y[0], y[1]))(x.exp()),
    "the same": lambda x: (lambda y: (y, [y], x))(x * 2),
    "detached": lambda x: (lambda y: (y, y.detach(), x.detach(), WEIGHT.data, y.T.detach()))(x * 2),
    "other dtype": lambda x: (x.detach().view(torch.int32), x.as_strided((2,), (1,), 1), x.unfold(1, 2, 1)),
    "without gradients": without_grad,
    "gradients": backward_and_grad,
    "written to": written_views,
    "a leaf": lambda x: (torch.ones(2, requires_grad=True), x * 2),
}


def properties(result):
    """Return the observable properties of a result except its elements: storage sharing, identity, strides, gradients."""
    leaves, _ = torch.utils._pytree.tree_flatten(result)
    numbers = {}
    memory = [numbers.setdefault(leaf.untyped_storage().data_ptr(), len(numbers)) for leaf in leaves]
    same = [[id(one) == id(other) for one in leaves] for other in leaves]
    return [
        (leaf.shape, leaf.dtype, leaf.stride(), leaf.requires_grad, leaf.is_leaf, leaf.grad_fn is None) for leaf in leaves
    ], memory, same  # fmt: skip


def outcome(call, seed, wants_gradient):
    """Return the results and side effects of a call, after a backward from the results and writes to them."""
    torch.manual_seed(seed)
    x = torch.randn(2, 3, requires_grad=wants_gradient)
    with torch.no_grad():
        WEIGHT.copy_(torch.arange(6.0).reshape(2, 3))
    WEIGHT.grad, version = None, WEIGHT._version
    leaves, _ = torch.utils._pytree.tree_flatten(call(x))
    wanting = [leaf for leaf in leaves if leaf.grad_fn is not None]
    if wanting:
        sum(((leaf * leaf).sum() for leaf in wanting), torch.zeros(())).backward()
    with torch.no_grad():  # writes are visible in all tensors that share the memory
        for leaf in leaves:
            # 3-d results are expanded, so they cannot be written to
            if leaf.dtype == torch.float32 and leaf.is_contiguous() and leaf.ndim < 3:
                leaf.detach().view(-1)[-1:].add_(1)
    gradients = [torch.zeros(0) if tensor.grad is None else tensor.grad for tensor in (x, WEIGHT)]
    versions = [leaf._version for leaf in leaves]
    with torch.no_grad():
        WEIGHT.add_(0)  # increments the weight's version: for results that share it, compare the version relative to its start
    versions = [before - version if leaf._version != before else before for leaf, before in zip(leaves, versions, strict=True)]
    return [*leaves, x, WEIGHT.detach().clone(), *gradients], (versions, properties(leaves))


@pytest.mark.parametrize("wants_gradient", [False, True])
@pytest.mark.parametrize("name", VIEWS)
def test_views_and_shared_memory(name, wants_gradient):
    compiled = torch.compile(VIEWS[name])
    for seed in range(CALLS):
        expected, expected_facts = outcome(VIEWS[name], seed, wants_gradient)
        tensors, facts_of_tensors = outcome(compiled, seed, wants_gradient)
        assert all(map(torch.equal, tensors, expected)) and facts_of_tensors == expected_facts
    assert_replayed(compiled)


def test_a_gradient_is_the_one_that_the_parameter_has():
    compiled = torch.compile(backward_and_grad)
    for _ in range(CALLS):
        weight_grad, transposed, first = compiled(torch.randn(4, 3))
        assert weight_grad is LAYER.weight.grad and transposed._base is weight_grad
        first.fill_(7)
        assert LAYER.bias.grad[0] == 7
    assert_replayed(compiled)


def test_views_remember_their_base():
    compiled = torch.compile(lambda x: (x.T, x[0]))
    for _ in range(CALLS):
        x = torch.zeros(2, 3)
        transposed, row = compiled(x)
        row.add_(1)
        assert transposed._base is x and x._version == 1 and transposed[2, 0] == 1
    assert_replayed(compiled)


@pytest.mark.parametrize("view", [lambda y: y[0], lambda y: y.T[1:].T, lambda y: y.view(-1)])
def test_writes_to_views_that_have_a_history(view):
    def function(x):
        y = x * x
        return y, view(y), view(y) * 2

    compiled = torch.compile(function)
    for i in range(CALLS):
        gradients = []
        for call in (function, compiled):
            x = torch.arange(6.0).reshape(2, 3).add_(i).requires_grad_()
            y, part, product = call(x)
            part.mul_(3)
            (y * y).sum().add((part + product).sum()).backward()
            gradients.append(x.grad)
        assert torch.equal(*gradients)
    assert_replayed(compiled)


def test_results_of_inference_mode():
    compiled = torch.compile(lambda x: (x * 2, x[0]))
    with torch.inference_mode():
        for _ in range(CALLS):
            assert all(result.is_inference() for result in compiled(torch.ones(2)))
    assert_replayed(compiled)


# --- arguments that share memory ---------------------------------------------------------------------------------------------


def apart():
    return torch.ones(3), torch.ones(3)


def viewed():
    x = torch.ones(3)
    return x, x.view(3)


def detached():
    x = torch.ones(3)
    return x, x.detach()


def overlapping():
    x = torch.ones(4)
    return x[:3], x[1:]


def writes(x, y):
    before = y * 2
    x.add_(1)
    return before, y * 2


@pytest.mark.parametrize("later", [apart, viewed, detached, overlapping])
@pytest.mark.parametrize("first", [apart, viewed, detached, overlapping])
def test_arguments_that_share_memory(first, later):
    compiled = torch.compile(writes)
    for build in [first] * CALLS + [later] * CALLS + [first]:
        arguments, others = build(), build()
        for one, other in zip(writes(*arguments), compiled(*others), strict=True):
            assert torch.equal(one, other)
        for one, other in zip(arguments, others, strict=True):
            assert torch.equal(one, other) and one._version == other._version
    assert_replayed(compiled)


@pytest.mark.parametrize("first", [True, False])
def test_an_argument_that_shares_memory_with_a_tensor_from_outside(first):
    held = torch.ones(3)

    def function(x):
        before = held * 2
        x.add_(1)
        return before + held * 2

    compiled = torch.compile(function)
    for shared in [first] * CALLS + [not first] * CALLS + [first]:
        held.fill_(1)
        result = compiled(held.view(3) if shared else torch.ones(3))
        assert torch.equal(result, torch.full((3,), 6.0 if shared else 4.0))
    assert_replayed(compiled)


def test_a_constant_that_was_once_an_argument():
    held = torch.arange(3.0)
    compiled = torch.compile(lambda x: x * 2 + held)
    for _ in range(CALLS):
        assert torch.equal(compiled(held.detach()), held * 3)
    assert torch.equal(compiled(torch.zeros(3)), held)
    assert_replayed(compiled)


def test_gradients_that_arguments_have():
    compiled = torch.compile(lambda x: (x * x).sum().backward())
    for has_gradient in [False] * CALLS + [True] * CALLS + [False]:
        x = torch.ones(3, requires_grad=True)
        if has_gradient:
            x.grad = torch.full((3,), 5.0)
        compiled(x)
        assert torch.equal(x.grad, torch.full((3,), 7.0 if has_gradient else 2.0))
        assert x.grad._version == has_gradient
    assert_replayed(compiled)


def test_gradients_are_added_to_those_that_parameters_have_now():
    parameter = nn.Parameter(torch.ones(3))
    compiled = torch.compile(lambda: (parameter * parameter).sum().backward())
    for start in range(CALLS + 2):
        parameter.grad = before = torch.full((3,), float(start))
        compiled()
        assert parameter.grad is before and before._version == 1
        assert torch.equal(before, torch.full((3,), start + 2.0))
    assert_replayed(compiled)


def test_views_that_are_made_after_the_capture_see_writes():
    held = torch.zeros(3)

    def function(x):
        held.add_(x)
        return x * 2

    compiled = torch.compile(function)
    for _ in range(CALLS):
        compiled(torch.ones(3))
    views = held[1:], held.detach(), held.view(3, 1)[0]
    compiled(torch.ones(3))
    assert all((view == CALLS + 1).all() and view._version == held._version for view in views)
    assert_replayed(compiled)


# --- results whose graph the step's own backward has freed -------------------------------------------------------------------


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x * x

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return 3 * x * x * gradient


def loss_of_a_step(net, x):
    loss = net(x).square().mean()
    loss.backward()
    return loss


def loss_and_what_it_is_made_of(net, x):
    hidden = net[0](x).tanh()
    loss = net[2](hidden).square().sum()
    loss.backward()
    return loss, hidden, hidden.T, {"loss": loss}


def loss_and_another(net, x):
    loss = loss_of_a_step(net, x)
    return loss, (net[0](x) * 2).sum(), loss.detach()


def loss_of_a_function(net, x):
    loss = Cube.apply(net(x)).sum()
    loss.backward()
    return loss


def losses_by_grad(net, x):
    hidden = net[0](x)
    loss = net[2](hidden).exp().sum()
    return loss, torch.autograd.grad(loss, [hidden, net[2].weight])


STEPS = {
    function.__name__: function
    for function in (loss_of_a_step, loss_and_what_it_is_made_of, loss_and_another, loss_of_a_function, losses_by_grad)
}


def backward_twice(result, parameters):
    """Return the properties of a result, and the gradients or error messages of two backward passes from it."""
    found = [result.detach().clone(), result.shape, result.requires_grad, result.is_leaf, result.grad_fn is None]
    for _ in range(2):
        for parameter in parameters:
            parameter.grad = None
        if not result.requires_grad:
            break
        try:
            result.sum().backward()
        except RuntimeError as error:
            found.append(str(error)[:40])
        else:
            found += [None if parameter.grad is None else parameter.grad.clone() for parameter in parameters]
    return found


def same(one, other):
    """Compare bit for bit on the CPU, otherwise with a tolerance: backends that compile a whole step may round differently."""
    if not (isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor)):
        return one == other
    return torch.equal(one, other) if one.device.type == "cpu" else torch.allclose(one, other, atol=1e-6)


@pytest.mark.parametrize("name", STEPS)
def test_a_step_may_return_what_its_backward_has_freed(name):
    """As in eager mode, the result requires a gradient, and a second backward through it raises an error."""
    net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

    def step(x):
        optimizer.zero_grad()
        result = STEPS[name](net, x)
        if name != "loss_and_another":  # here, the update would modify a tensor that the other result's backward needs
            optimizer.step()
        return result

    compiled, parameters, start = torch.compile(step), list(net.parameters()), copy.deepcopy(net.state_dict())
    histories = []
    for call in (step, compiled):
        net.load_state_dict(start)
        torch.manual_seed(0)
        history = []
        for _ in range(CALLS):
            leaves, _ = torch.utils._pytree.tree_flatten(call(torch.randn(5, 3)))
            history += [fact for leaf in leaves for fact in backward_twice(leaf, parameters)]
        histories.append(history)
    assert len(histories[0]) == len(histories[1]) and all(map(same, *histories))
    assert "Trying to backward through the graph a s" in histories[1]
    assert_replayed(compiled)


def test_the_graph_of_a_freed_result_leads_to_the_parameters():
    layer = nn.Linear(3, 2)
    compiled = torch.compile(lambda x: loss_of_a_step(layer, x))
    for _ in range(CALLS):
        layer.zero_grad()
        loss = compiled(torch.ones(4, 3))
        with pytest.raises(RuntimeError, match="backward through the graph a second time"):
            torch.autograd.grad(2 * loss, layer.weight)
        with pytest.raises(RuntimeError, match="backward through the graph a second time"):
            torch.autograd.grad(loss, layer.bias, create_graph=True)
    assert_replayed(compiled)
    assert {node.variable for node, _ in loss.grad_fn.next_functions} == {layer.weight, layer.bias}
    assert loss.item() == loss.detach().item() and "grad_fn=<CompiledFunctionBackward>" in repr(loss)


@pytest.mark.parametrize("update", [False, True])
def test_a_graph_that_the_step_retains(update):
    """With `retain_graph`, another backward accumulates gradients. It raises an error if it needs weights that the step
    has updated.
    """
    net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

    def step(x):
        optimizer.zero_grad()
        loss = net(x).square().mean()
        loss.backward(retain_graph=True)
        if update:
            optimizer.step()
        return loss

    compiled = torch.compile(step)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore" if update else "error")
        for _ in range(CALLS):
            loss = compiled(torch.randn(5, 3))
            once = [parameter.grad.clone() for parameter in net.parameters()]
            if update:
                with pytest.raises(RuntimeError, match="modified by an inplace operation"):
                    loss.backward()
            else:
                loss.backward()
                assert all(torch.equal(parameter.grad, 2 * grad) for parameter, grad in zip(net.parameters(), once, strict=True))
                with pytest.raises(RuntimeError, match="backward through the graph a second time"):
                    loss.backward()
    if update:
        assert "modified by an inplace operation" in compiled.compiled.reason
    else:
        assert_replayed(compiled)


def test_the_first_replay_copies_no_parameters():
    """The first replay is compared with an eager call. A step that changes no parameter needs no copies of them to compare them."""
    if torch.get_default_device().type != "cpu":
        pytest.skip("tracemalloc sees only memory of the CPU")
    for width in (8, 512):  # the first network imports the code
        model = torch.nn.Sequential(torch.nn.Linear(width, width), torch.nn.ReLU(), torch.nn.Linear(width, width)).eval()
        size = sum(parameter.nbytes for parameter in model.parameters())
        compiled, x = torch.compile(model.forward), torch.ones(1, width)
        peaks = []
        with torch.no_grad():
            for _ in range(4):
                tracemalloc.start()
                compiled(x)
                peaks.append(tracemalloc.get_traced_memory()[1])
                tracemalloc.stop()
        assert_replayed(compiled)
    assert max(peaks) < 0.4 * size, peaks


def test_an_array_of_numpy_that_the_step_changes():
    """The eager call changes memory that the step reads, in a way that no tensor notices: the step stays eager."""
    buffer = torch.zeros(3)
    array = buffer.numpy()
    if not np.shares_memory(array, buffer.numpy()) or not array.flags.writeable:
        pytest.skip("memory is not shared with NumPy")

    def step(x):
        y = x + buffer
        array[0] += 1
        return y

    compiled = torch.compile(step)
    x = torch.ones(3)
    with pytest.warns(UserWarning, match="runs eagerly: a replay differed"):
        results = [compiled(x).tolist()[0] for _ in range(CALLS)]
    assert results == [1.0 + call for call in range(CALLS)]

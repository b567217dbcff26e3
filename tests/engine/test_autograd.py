"""Stress tests of the autograd engine: graphs, modes, anomaly detection, depth, memory and threads. `test_engine.py` covers
common use; this file covers rare use that optimizations must not break.
"""

from __future__ import annotations

import copy
import gc
import importlib
import pickle
import sys
import threading
import traceback
import warnings
import weakref
from math import nan

import numpy as np
import pytest

import flambeau as torch
from flambeau.autograd import Variable, graph

TWICE = "Trying to backward through the graph a second time"


def leaf(*sizes):
    return torch.ones(*sizes, requires_grad=True)


def values(*numbers):
    return torch.tensor(numbers, requires_grad=True)


# --- backward -----------------------------------------------------------------------------------------------------


def test_what_is_freed():
    x = leaf(2)
    y = x * x
    y.sum().backward()
    with pytest.raises(RuntimeError, match=TWICE):
        y.sum().backward()
    y = x + x  # addition saves no tensors
    y.sum().backward()
    y.sum().backward()
    assert x.grad.tolist() == [6, 6]
    with pytest.raises(RuntimeError, match=TWICE):
        node = (x * x).grad_fn
        node(torch.ones(2))
        node.maybe_clear_saved_tensors() if hasattr(node, "maybe_clear_saved_tensors") else node.release()
        node(torch.ones(2))


def test_retain_graph_of_a_part():
    x = leaf(2)
    shared = x * x
    (shared * 2).sum().backward(retain_graph=True)
    (shared * 3).sum().backward()
    assert x.grad.tolist() == [10, 10]


def test_create_graph_keeps_and_continues():
    x = values(2.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (x**3).sum().backward(create_graph=True)
    assert x.grad.requires_grad and x.grad.item() == 12
    second = torch.autograd.grad(x.grad.sum(), x)[0]
    assert second.item() == 12
    x.grad = None


def test_gradients_of_every_order():
    x = values(0.5)
    y, expected = x.sin().sum(), [1, -1, -1, 1]
    numbers = [torch.cos(torch.tensor(0.5)).item(), torch.sin(torch.tensor(0.5)).item()]
    for order in range(6):
        (y,) = torch.autograd.grad(y, x, create_graph=True)
        assert y.item() == pytest.approx(expected[order % 4] * numbers[order % 2])
        y = y.sum()


def test_weights_by_position_and_their_errors():
    x = leaf(2)
    y = x * 3
    torch.autograd.backward([y, y.sum()], [torch.tensor([1.0, 10.0]), None])
    assert x.grad.tolist() == [6, 33]
    with pytest.raises(RuntimeError, match=r"grad_output\[0\] has a shape of torch.Size\(\[3\]\) and output\[0\]"):
        (x * 2).backward(torch.ones(3))
    with pytest.raises(
        RuntimeError, match="For complex Tensors, both grad_output and output are required to have the same dtype"
    ):
        (x * 2).backward(torch.ones(2, dtype=torch.complex64))
    with pytest.raises(TypeError, match="gradients can be either Tensors or None, but got float"):
        torch.autograd.backward([x * 2], [3.0])
    with pytest.raises(RuntimeError, match="grad can be implicitly created only for scalar outputs"):
        torch.autograd.grad(x * 2, x)
    with pytest.raises(RuntimeError, match="element 0 of tensors does not require grad and does not have a grad_fn"):
        torch.autograd.backward(torch.ones(()))


def test_inputs():
    x, y = leaf(2), leaf(2)
    z = x * y
    (z * 2).sum().backward(inputs=[z, y])
    assert x.grad is None and y.grad.tolist() == [2, 2] and z.grad.tolist() == [2, 2]
    (x * y).sum().backward(inputs=x)
    assert x.grad.tolist() == [1, 1] and y.grad.tolist() == [2, 2]
    with pytest.raises(RuntimeError, match=r"`inputs` argument to `backward\(\)` cannot be empty"):
        leaf(2).sum().backward(inputs=[])
    with pytest.raises(RuntimeError, match=r"`inputs` argument to `grad\(\)` cannot be empty"):
        torch.autograd.grad(leaf(2).sum(), [])


def test_inputs_that_are_no_leaves_keep_their_gradient():
    x = leaf(2)
    y = x * 2
    y.retain_grad()
    (y * 3).sum().backward(inputs=[y])
    assert y.grad.tolist() == [3, 3] and x.grad is None
    z = x * 2
    (z * 3).sum().backward(inputs=[z], retain_graph=True)
    assert z.retains_grad and z.grad.tolist() == [3, 3]
    with pytest.raises(RuntimeError, match="can't retain_grad on Tensor that has requires_grad=False"):
        (z * 3).sum().backward(inputs=[torch.ones(2)])
    with pytest.warns(UserWarning, match=r"Using backward\(\) with create_graph=True will create a reference cycle"):
        leaf(()).pow(2).backward(create_graph=True)


def test_grad_of_what_was_not_used():
    x, other = leaf(4), leaf(2)
    first, second = x.split(2)
    with pytest.raises(RuntimeError, match="The differentiated Tensor at index 0 appears to not have been used"):
        torch.autograd.grad(first.sum(), second, retain_graph=True)
    with pytest.raises(RuntimeError, match="One of the differentiated Tensors does not require grad"):
        torch.autograd.grad(first.sum(), torch.ones(2), retain_graph=True)
    assert torch.autograd.grad(first.sum(), [second, other], allow_unused=True, retain_graph=True) == (None, None)
    zeros = torch.autograd.grad(first.sum(), [other], materialize_grads=True)
    assert zeros[0].tolist() == [0, 0]
    with pytest.raises(ValueError, match="Expected allow_unused to be True or not passed when materialize_grads=True"):
        torch.autograd.grad(leaf(2).sum(), other, allow_unused=False, materialize_grads=True)


def test_grad_takes_dictionaries_edges_and_the_output_itself():
    x = leaf(2)
    y = x * 2
    assert torch.autograd.grad(y.sum(), {"x": x}, retain_graph=True)["x"].tolist() == [2, 2]
    edges = graph.get_gradient_edge(y), graph.get_gradient_edge(x)
    assert edges[0].node is y.grad_fn and edges[0].output_nr == 0 and type(edges[1].node).__name__ == "AccumulateGrad"
    of_y, of_x = torch.autograd.grad((y * 3).sum(), edges)
    assert of_y.tolist() == [3, 3] and of_x.tolist() == [6, 6]
    z = x.sum()
    assert torch.autograd.grad(z, z)[0].item() == 1
    torch.autograd.backward(graph.get_gradient_edge((x * 2).sum()))
    assert x.grad.tolist() == [2, 2]


def test_grad_of_a_node_reached_twice():
    x = leaf(2)
    y = x * 2
    z = y * 3 + y.exp() * 0
    of_y, of_x = torch.autograd.grad(z.sum(), (y, x))
    assert of_y.tolist() == [3, 3] and of_x.tolist() == [6, 6] and x.grad is None


def test_batches_of_weights():
    x = values(1.0, 2.0, 3.0)
    y = x**2
    (rows,) = torch.autograd.grad(y, x, torch.eye(3), is_grads_batched=True)
    assert rows.tolist() == [[2, 0, 0], [0, 4, 0], [0, 0, 6]]


def test_a_gradient_belongs_to_its_leaf():
    x, y = leaf(3), leaf(3)
    (x + y).sum().backward()
    assert x.grad is not y.grad and x.grad.is_contiguous()
    x.grad.add_(1)  # the gradient is neither an expanded view nor shared with y.grad
    assert x.grad.tolist() == [2, 2, 2] and y.grad.tolist() == [1, 1, 1]
    kept = x.grad
    (x * 2).sum().backward()
    assert x.grad is kept and kept.tolist() == [4, 4, 4]
    weight = torch.ones(3)
    x.grad = None
    x.backward(weight)
    x.backward(weight)
    assert weight.tolist() == [1, 1, 1] and x.grad.tolist() == [2, 2, 2]


def test_assigned_gradients():
    x = leaf(3)
    x.grad = torch.zeros(3)
    with pytest.raises(RuntimeError, match="attempting to assign a gradient of size '\\[2\\]' to a tensor of size '\\[3\\]'"):
        x.grad = torch.ones(2)
    with pytest.raises(RuntimeError, match="attempting to assign a gradient with dtype"):
        x.grad = torch.ones(3, dtype=torch.float64)
    with pytest.raises(RuntimeError, match="can't assign Variable as its own grad"):
        x.grad = x
    with pytest.raises(TypeError):
        x.grad = 3
    del x.grad
    assert x.grad is None


def test_no_gradient_flows_into_integers():
    x = values(1.0, 2.0)
    y = x * torch.tensor([2, 3])
    y.sum().backward()
    assert x.grad.tolist() == [2, 3]
    with pytest.raises(RuntimeError, match="only Tensors of floating point"):
        torch.ones(2, dtype=torch.int64).requires_grad_()
    assert not x.long().requires_grad and not (x > 1).requires_grad and not x.argmax().requires_grad


def test_an_error_inside_backward_leaves_the_engine_usable():
    x = leaf(2)
    y = x * 2
    handle = y.register_hook(lambda grad: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        y.sum().backward()
    handle.remove()
    (x * 2).sum().backward()
    assert x.grad.tolist() == [2, 2]


# --- the graph ----------------------------------------------------------------------------------------------------


def test_nodes():
    x = leaf(3)
    y = x * x
    node = y.grad_fn
    assert isinstance(node, graph.Node) and node.name() == "MulBackward0" and node is y.grad_fn
    assert node._saved_self is x and node._saved_other is x
    assert node.metadata == {}
    node.metadata["name"] = "square"
    assert y.grad_fn.metadata["name"] == "square"
    (next_node, number), _ = node.next_functions
    assert number == 0 and next_node.variable is x and next_node.name() == "torch::autograd::AccumulateGrad"
    assert [gradient.tolist() for gradient in node(torch.ones(3))] == [[1, 1, 1], [1, 1, 1]]


def test_accumulators_are_shared_while_they_live():
    x = leaf(2)
    a, b = x * 2, x * 3
    assert a.grad_fn.next_functions[0][0] is b.grad_fn.next_functions[0][0]
    assert hash(graph.get_gradient_edge(x)) == hash(graph.get_gradient_edge(x))
    assert graph.get_gradient_edge(x) == graph.get_gradient_edge(x)


def test_names_of_nodes():
    x = leaf(2, 2)
    results = {
        "AddBackward0": x + 1,
        "MulBackward0": x * 2,
        "DivBackward0": x / 2,
        "SumBackward0": x.sum(),
        "MmBackward0": x @ x,
        "ExpBackward0": x.exp(),
        "ReluBackward0": x.relu(),
        "CloneBackward0": x.clone(),
        "PowBackward0": x**2,
        "TransposeBackward0": x.transpose(0, 1),
        "CatBackward0": torch.cat([x, x]),
        "SelectBackward0": x[0],
        "UnbindBackward0": x.unbind()[0],
    }
    assert {name: result.grad_fn.name() for name, result in results.items()} == {name: name for name in results}
    assert repr(results["AddBackward0"]).endswith("grad_fn=<AddBackward0>)")


def test_flags():
    x = leaf(2)
    y = x * 2
    assert x.is_leaf and not y.is_leaf and torch.ones(2).is_leaf and x.grad_fn is None
    with pytest.raises(RuntimeError, match="you can only change requires_grad flags of leaf variables"):
        y.requires_grad = False
    y.requires_grad_()
    y.retain_grad()
    assert y.retains_grad and not x.retains_grad
    with pytest.raises(RuntimeError, match="can't retain_grad on Tensor that has requires_grad=False"):
        torch.ones(2).retain_grad()
    x.retain_grad()  # no effect on a leaf
    z = y.detach()
    assert not z.requires_grad and z.is_leaf and z.data_ptr() == y.data_ptr()
    y.detach_()
    assert not y.requires_grad and y.is_leaf and y.grad_fn is None
    with pytest.raises(RuntimeError, match="Can't detach views in-place"):
        (x * 2)[:1].detach_()


def test_reading_the_gradient_of_a_result_warns():
    y = leaf(2) * 2
    with pytest.warns(UserWarning, match="The .grad attribute of a Tensor that is not a leaf Tensor is being accessed"):
        assert y.grad is None


# --- modes --------------------------------------------------------------------------------------------------------


def test_a_generator_keeps_its_mode_to_itself():
    @torch.no_grad()
    def numbers():
        seen = []
        try:
            seen.append((yield torch.is_grad_enabled()))
            seen.append((yield torch.is_grad_enabled()))
        except KeyError:
            yield torch.is_grad_enabled(), seen
        finally:
            assert not torch.is_grad_enabled()

    generator = numbers()
    assert next(generator) is False and torch.is_grad_enabled()
    assert generator.send("sent") is False and torch.is_grad_enabled()
    assert generator.throw(KeyError) == (False, ["sent"])
    generator.close()
    assert torch.is_grad_enabled()


def test_modes_nest_and_come_back_after_errors():
    with pytest.raises(KeyError), torch.no_grad(), torch.enable_grad(), torch.inference_mode():
        raise KeyError
    assert torch.is_grad_enabled() and not torch.is_inference_mode_enabled()
    mode = torch.no_grad()
    with mode, mode:
        assert not torch.is_grad_enabled()
    assert torch.is_grad_enabled()

    @torch.set_grad_enabled(False)
    def off():
        return torch.is_grad_enabled()

    assert torch.is_grad_enabled() and not off() and torch.is_grad_enabled()

    @torch.inference_mode()
    class Model(torch.nn.Module):
        pass

    assert Model().training


def test_what_no_grad_makes():
    with torch.no_grad():
        x = leaf(3)  # an explicit requires_grad=True also applies under no_grad
        y = x * 2
        x.add_(1)  # as in an optimizer step
    assert x.requires_grad and not y.requires_grad and x.tolist() == [2, 2, 2]


def test_inference_tensors():
    with torch.inference_mode():
        x = torch.ones(2)
        y = x * 2
        normal = leaf(2)
    assert x.is_inference() and y.is_inference() and normal.is_inference()
    w = leaf(2)
    (w + x).sum().backward()  # addition saves no tensors
    for match, wrong in {
        "Inference tensors cannot be saved for backward": lambda: w * x,
        "Inplace update to inference tensor outside InferenceMode": lambda: x.add_(1),
        "Setting requires_grad=True on inference tensor outside InferenceMode": lambda: x.requires_grad_(),
        "Inference tensors do not track version counter": lambda: x._version,
    }.items():
        with pytest.raises(RuntimeError, match=match):
            wrong()
    assert not x.clone().is_inference() and not copy.deepcopy(x).is_inference()
    with torch.inference_mode(False):
        assert not torch.ones(2).is_inference()


def test_views_and_inference_mode():
    with torch.inference_mode():
        x = torch.ones(4)
    for view in (x[1:], x.view(2, 2), x.split(2)[0], x.detach()):
        assert view.is_inference()
        with pytest.raises(RuntimeError, match="Inplace update to inference tensor"):
            view.zero_()
        with pytest.raises(RuntimeError, match="Inference tensors cannot be saved for backward"):
            leaf(()) * view
    with pytest.raises(RuntimeError, match="Inplace update to inference tensor"):
        torch.add(x, 1, out=x)
    with torch.inference_mode():
        x[1:].add_(1)
        assert x.tolist() == [1, 2, 2, 2] and x.requires_grad_().requires_grad
    normal = torch.zeros(3)
    tracked = leaf(3) * 1
    with torch.inference_mode():
        views = normal[1:], tracked[1:]
        views[0].add_(1)
        with torch.enable_grad():
            assert torch.is_grad_enabled() and not (leaf(2) * 2).requires_grad
    assert normal.tolist() == [0, 1, 1] and normal._version == 1 and not views[0].is_inference()
    with pytest.raises(RuntimeError, match="A view was created in inference mode and is being modified inplace in normal mode"):
        views[1].add_(1)


# --- anomalies ----------------------------------------------------------------------------------------------------


def test_anomaly_mode_names_the_forward_line():
    x = torch.tensor([-1.0], requires_grad=True)
    with torch.autograd.detect_anomaly(), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        y = x.sqrt()  # the warning must name this line
        with pytest.raises(RuntimeError, match="Function 'SqrtBackward0' returned nan values in its 0th output"):
            y.backward()
    text = "".join(str(warning.message) for warning in caught)
    assert "Error detected in SqrtBackward0" in text and "the warning must name this line" in text and __file__ in text


def test_anomaly_mode_prints_no_warnings_of_the_array_library():
    with torch.autograd.detect_anomaly(check_nan=False), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        x = torch.ones(2, requires_grad=True)
        (torch.sqrt(x * 2 - 2) * 0).sum().backward()
    assert caught == [] and x.grad.isnan().all()


def test_anomaly_mode_of_second_orders_names_both_lines():
    x = torch.tensor([0.0], requires_grad=True)
    with torch.autograd.detect_anomaly(), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        y = (x**1.5).sum()  # y and its gradient are finite: the hook below returns NaN
        (first,) = torch.autograd.grad(y, x, create_graph=True)
        handle = first.sum()
        handle.register_hook(lambda grad: grad * float("nan"))
        with pytest.raises(RuntimeError, match="returned nan values"):
            handle.backward()
    assert "Error detected in" in "".join(str(warning.message) for warning in caught)


def test_anomaly_mode_reports_errors_and_ends():
    x = leaf(2)
    with torch.autograd.detect_anomaly(check_nan=False), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        y = x.exp()
        y.mul_(2)
        with pytest.raises(RuntimeError, match="modified by an inplace"):
            y.sum().backward()
    assert any("Error detected in ExpBackward0" in str(warning.message) for warning in caught)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with torch.autograd.set_detect_anomaly(True, check_nan=False):
            (x * float("nan")).sum().backward()
    assert not torch.is_anomaly_enabled()


# --- depth and memory ---------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("how", ["backward", "grad", "views", "in place"])
def test_chains_of_many_nodes(how):
    x = torch.ones((), requires_grad=True)
    y = x * 1
    for _ in range(200_000 if how in ("backward", "grad") else 100_000):
        if how == "views":
            y = y.view(())
        elif how == "in place":
            y.mul_(1.0)
        else:
            y = y + 1
    if how == "backward":
        y.backward()
    else:
        x.grad = torch.autograd.grad(y, x)[0]
    assert x.grad.item() == 1


@pytest.mark.slow
def test_deleting_deep_graphs():
    x = torch.ones((), requires_grad=True)
    y = x
    for _ in range(200_000):
        y = y + 1
    gone = weakref.ref(y.grad_fn)
    del y
    assert gone() is None


def test_a_deep_graph_of_custom_functions_and_second_orders():
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    x = torch.zeros((), requires_grad=True)
    y = x
    for _ in range(20_000):
        y = Twice.apply(y)
    (first,) = torch.autograd.grad(y, x, create_graph=True)
    del y, first

    y = x + 1
    for _ in range(5_000):
        y = y * 1.0
    (first,) = torch.autograd.grad(y * y, x, create_graph=True)
    (second,) = torch.autograd.grad(first, x)
    assert second.item() == 2


PROGRAMS = {
    "mul": lambda x: (x * x).sum().backward(),
    "own result": lambda x: x.exp().sum().backward(),
    "retained": lambda x: (x * x).sum().backward(retain_graph=True),
    "unused": lambda x: (x.exp() * x.softmax(0)).view(2, 2),
    "views": lambda x: x.view(2, 2)[0].mul(2).sum().backward(),
    "in place": lambda x: (x * 1).view(2, 2)[0].mul_(2).sum().backward(),
    "second": lambda x: torch.autograd.grad(torch.autograd.grad(x.exp().sum(), x, create_graph=True)[0].sum(), x),
    "several": lambda x: x.max(0)[0].backward(),
    "hooks": lambda x: (x.register_hook(lambda g: g * 2), (x * 2).register_hook(lambda g: g), (x * 2).sum().backward())[-1],
    "retain": lambda x: ((y := x.exp()).retain_grad(), y.sum().backward()),
    "jacobian": lambda x: torch.autograd.functional.jacobian(torch.exp, x),
    "forward": lambda x: torch.func.jvp(torch.exp, (x.detach(),), (x.detach(),)),
    "vmap": lambda x: torch.vmap(torch.exp)(x),
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_no_cycles(program):
    """Graphs are freed by reference counting, without the garbage collector."""
    call = PROGRAMS[program]
    call(leaf(4))  # fill the caches
    gc.collect()
    gc.disable()
    try:
        x = leaf(4)
        gone = weakref.ref(x)
        call(x)
        del x
        assert gone() is None and gc.collect() == 0
    finally:
        gc.enable()


@pytest.mark.parametrize("optimizer", ["SGD", "Adam"])
def test_a_training_loop_does_not_grow(optimizer):
    """Memory does not grow, except for a few hundred constants: Adam creates new ones in each step, which are cached."""
    model = torch.nn.Sequential(torch.nn.Linear(16, 16), torch.nn.ReLU(), torch.nn.Linear(16, 2))
    allowed = {"SGD": 50, "Adam": 1200}[optimizer]
    optimizer = getattr(torch.optim, optimizer)(model.parameters(), lr=0.001)
    data = torch.ones(4, 16)

    def steps(count):
        for _ in range(count):
            optimizer.zero_grad()
            model(data).pow(2).sum().backward()
            optimizer.step()

    steps(300)
    gc.collect()
    gc.disable()
    try:
        steps(50)  # fill Python's free lists
        before = sys.getallocatedblocks()
        steps(400)
        assert sys.getallocatedblocks() - before < allowed  # leaks would exceed this: a step creates dozens of tensors
    finally:
        gc.enable()


def test_activations_die_with_backward():
    x = leaf(10)
    y = x * 2
    saved = y.exp()
    gone = weakref.ref(saved)
    out = saved.sin().sum()
    del saved
    out.backward()
    assert gone() is None and out.grad_fn is not None


# --- threads ------------------------------------------------------------------------------------------------------


def assert_threads_succeed(count, work):
    errors = []

    def guarded(number):
        try:
            work(number)
        except BaseException:
            errors.append(traceback.format_exc())

    threads = [threading.Thread(target=guarded, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors, errors[0]


def test_backward_in_threads_over_one_leaf():
    x = leaf(3)
    start = threading.Barrier(4)

    def work(number):
        start.wait()
        for _ in range(50):
            (x * x).sum().backward()

    assert_threads_succeed(4, work)
    assert x.grad.tolist() == [400, 400, 400]


def test_backward_in_threads_over_one_graph():
    x = leaf(3)
    shared = x.exp() * 1
    found = [None] * 4

    def work(number):
        found[number] = torch.autograd.grad((shared * number).sum(), x, retain_graph=True)[0]

    assert_threads_succeed(4, work)
    for number, gradient in enumerate(found):
        assert torch.allclose(gradient, number * x.detach().exp())


def test_transforms_in_threads():
    """vmap batches and forward-mode tangents are thread-local."""
    x = torch.arange(3.0)
    start = threading.Barrier(4)

    def work(number):
        start.wait()
        for _ in range(25):
            value, tangent = torch.func.jvp(lambda a: torch.func.jvp(torch.sin, (a,), (x,))[1] * a, (x,), (torch.ones(3),))
            assert torch.allclose(value, x * x * x.cos()) and torch.allclose(tangent, x * x.cos() - x * x * x.sin())
            rows = torch.vmap(lambda a: torch.vmap(lambda b: a * b)(x))(x + number)
            assert torch.equal(rows, torch.outer(x + number, x))

    assert_threads_succeed(4, work)


def test_modes_hooks_and_levels_belong_to_a_thread():
    x = leaf(2)

    def work(number):
        assert torch.is_grad_enabled() and not torch.is_inference_mode_enabled()
        y = x * x
        assert y.grad_fn._saved_self is x
        assert torch.vmap(lambda x: x * 2)(torch.arange(3.0)).tolist() == [0, 2, 4]
        assert torch.func.jvp(torch.sin, (torch.zeros(()),), (torch.ones(()),))[1].item() == 1

    with torch.no_grad(), graph.saved_tensors_hooks(lambda t: 1 / 0, lambda t: t):
        assert_threads_succeed(3, work)


# --- Variable -----------------------------------------------------------------------------------------------------


def test_variables():
    for path in (torch.autograd, torch.autograd.variable, importlib.import_module("flambeau.autograd.variable")):
        assert path.Variable is Variable
    x = Variable(torch.ones(2), requires_grad=True)
    assert isinstance(x, Variable) and isinstance(torch.ones(1), Variable) and isinstance(x, torch.Tensor)
    assert not isinstance(3, Variable) and x.creator is None
    y = x * 2
    assert y.creator is y.grad_fn and y.data.requires_grad is False
    frozen = Variable(torch.ones(2), volatile=True)
    assert frozen.volatile and not (frozen * x).requires_grad and (frozen * x).volatile
    assert not (x * 2).volatile and (x * 2).requires_grad


def test_no_graph_is_pickled():
    y = leaf(2) * 2
    assert pickle.loads(pickle.dumps(y.detach())).tolist() == [2, 2]
    with pytest.raises(RuntimeError, match="Only Tensors created explicitly by the user"):
        copy.deepcopy(y)


@pytest.mark.parametrize("dim", [None, 0])
@pytest.mark.parametrize(
    ("values", "expected"),
    [([nan], [nan]), ([nan, 2.0], [nan, nan]), ([nan, 0.0], [0.0, nan]), ([0.0], [1.0]), ([2.0, nan, 0.0], [nan, 0.0, nan])],
)
def test_products_with_nan(values, expected, dim):
    x = torch.tensor(values, requires_grad=True)
    (x.prod() if dim is None else x.prod(dim)).backward()
    np.testing.assert_array_equal(np.asarray(x.grad.cpu()), np.array(expected, dtype="float32"))


# --- running products ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("length", [0, 1, 2, 5, 8, 13])
@pytest.mark.parametrize("zeros", [0, 1, 2])
def test_gradients_of_running_products(length, zeros):
    """Compare cumprod gradients with explicit sums of products, which are exact for zeros."""
    rng = np.random.default_rng(length)
    factors, slopes = rng.standard_normal((2, length, 3))
    factors[: 2 * zeros : 2] = 0
    x = torch.tensor(factors, requires_grad=True)
    x.cumprod(0).backward(torch.tensor(slopes))
    wanted = np.zeros((length, 3))
    for i in range(length):
        for k in range(i, length):
            wanted[i] += slopes[k] * np.delete(factors[: k + 1], i, 0).prod(0)
    np.testing.assert_allclose(x.grad.numpy(), wanted, 1e-12, 1e-12)
    assert torch.autograd.gradgradcheck(lambda x: x.cumprod(0), x)


def test_gradients_of_a_long_running_product_take_memory_in_proportion():
    x = torch.full((1 << 17,), 1.0, requires_grad=True)
    x.cumprod(0).sum().backward()
    assert x.grad[0].item() == 1 << 17 and x.grad[-1].item() == 1


@pytest.mark.parametrize("function", [torch.special.gammainc, torch.special.gammaincc, torch.special.zeta])
def test_derivatives_that_are_not_implemented(function):
    x = torch.tensor([2.0], requires_grad=True)
    with pytest.raises(NotImplementedError, match="the derivative for .* is not implemented"):
        function(x, torch.ones(1)).backward()
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(torch.ones(1), torch.ones(1))
        with pytest.raises(NotImplementedError, match="Trying to use forward AD with"):
            function(dual, torch.ones(1))


def test_out_with_a_tangent():
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(torch.ones(2), torch.ones(2))
        with pytest.raises(NotImplementedError, match="out= function"):
            torch.add(torch.ones(2), 1, out=dual)


@pytest.mark.parametrize("create_graph", [False, True])
def test_a_dense_gradient_is_added_to_a_sparse_one(create_graph):
    x = torch.ones(2, requires_grad=True)
    x.grad = torch.sparse_coo_tensor([[1, 1]], [1.0, 1.0], (2,))
    x.backward(torch.tensor([1.5, 1.5]), create_graph=create_graph)
    assert x.grad.tolist() == [1.5, 3.5]


def test_calling_a_node_with_a_wrong_number_of_gradients():
    node = (torch.ones(1, requires_grad=True) ** 2).grad_fn
    assert node(torch.ones(1)).tolist() == [2]
    for gradients in ((), (torch.ones(1),) * 2):
        with pytest.raises(TypeError, match=f"expected 1 arguments, got {len(gradients)} instead"):
            node(*gradients)


def test_a_callback_may_queue_another():
    called = []

    def first():
        called.append("first")
        torch.autograd.Variable._execution_engine.queue_callback(lambda: called.append("second"))

    x = torch.ones(1, requires_grad=True)
    y = x * 2
    y.register_hook(lambda grad: torch.autograd.Variable._execution_engine.queue_callback(first))
    y.sum().backward()
    assert called == ["first", "second"]


def test_data_keeps_its_layout():
    x = torch.ones(2)
    with pytest.raises(RuntimeError, match="incompatible tensor type"):
        x.data = torch.sparse_coo_tensor([[0]], [1.0], (2,))
    assert x.tolist() == [1, 1]


def test_anomaly_mode_prints_warnings_that_are_errors(capsys):
    x = torch.ones(1, requires_grad=True).clone()
    y = x**2
    x.add_(1)
    with warnings.catch_warnings(), torch.autograd.set_detect_anomaly(True):
        warnings.simplefilter("error")
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            y.backward()
    assert "Error detected in PowBackward0" in capsys.readouterr().err

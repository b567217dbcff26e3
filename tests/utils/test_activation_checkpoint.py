"""Activation checkpointing gives the same gradients as a plain forward pass, and recomputes no more than necessary."""

from __future__ import annotations

import contextlib
import functools
import gc
import weakref

import pytest
from flambeau.amp.autocast_mode import is_autocast_enabled

import flambeau as torch
from flambeau.amp import autocast
from flambeau.utils.checkpoint import (
    CheckpointError,
    CheckpointFunction,
    CheckpointPolicy,
    DefaultDeviceType,
    GraphExecGroup,
    SelectiveCheckpointContext,
    check_backward_validity,
    checkpoint,
    checkpoint_sequential,
    create_selective_checkpoint_contexts,
    detach_variable,
    get_device_states,
    noop_context_fn,
    set_checkpoint_debug_enabled,
    set_checkpoint_early_stop,
    set_device_states,
)

pytestmark = pytest.mark.slow


def leaf(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).requires_grad_()


def noisy_network(weights):
    """Return a network that draws random numbers between its layers."""

    def run(x):
        for weight in weights:
            x = torch.tanh(x @ weight) * (torch.rand(x.shape[0], weight.shape[1]) + 0.5)
        return x

    return run


def gradients(output, *inputs):
    return torch.autograd.grad(output.sum(), inputs)


def backward_gradients(output, *inputs):
    for tensor in inputs:
        tensor.grad = None
    output.sum().backward()
    return [tensor.grad for tensor in inputs]


def all_equal(first, second) -> bool:
    return all(torch.equal(a, b) for a, b in zip(first, second, strict=True))


@pytest.mark.parametrize("use_reentrant", [True, False])
@pytest.mark.parametrize("batch", [0, 1, 5])
def test_same_result_same_gradients_same_random_numbers(use_reentrant, batch):
    weights = [leaf(3, 6, seed=1), leaf(6, 4, seed=2)]
    x = leaf(batch, 3)
    function = noisy_network(weights)

    torch.manual_seed(1)
    expected = function(x)
    grads, after = backward_gradients(expected, x, *weights), torch.rand(2)
    torch.manual_seed(1)
    result = checkpoint(function, x, use_reentrant=use_reentrant)
    assert torch.equal(result, expected)
    assert all_equal(backward_gradients(result, x, *weights), grads)
    assert torch.equal(torch.rand(2), after)


def test_without_preserving_random_numbers_they_are_drawn_anew():
    x = leaf(20)
    torch.manual_seed(0)
    y = checkpoint(lambda x: x * torch.rand(20), x, use_reentrant=False, preserve_rng_state=False)
    assert not torch.equal(gradients(y, x)[0], y.detach() / x.detach())


@pytest.mark.parametrize("use_reentrant", [True, False])
@pytest.mark.parametrize("segments", [1, 2, 3, 5])
def test_sequential(use_reentrant, segments):
    torch.manual_seed(0)
    model = torch.nn.Sequential(*[torch.nn.Linear(4, 4) for _ in range(5)])
    x = leaf(3, 4)
    parameters = list(model.parameters())
    expected = backward_gradients(model(x), x, *parameters)
    for functions in (model, list(model)):
        result = checkpoint_sequential(functions, segments, x, use_reentrant=use_reentrant)
        assert all_equal(backward_gradients(result, x, *parameters), expected)
    with pytest.raises(ValueError, match="Unexpected keyword arguments: a"):
        checkpoint_sequential(model, 2, x, use_reentrant=False, a=1)


def test_arguments_of_every_kind():
    x, y = leaf(3), leaf(3, seed=1)

    def function(a, nested, number, *, scale):
        return a * nested["y"] * number * scale, "label"

    result, label = checkpoint(function, x, {"y": y}, 3, scale=2, use_reentrant=False)
    assert label == "label"
    assert all(torch.allclose(a, b) for a, b in zip(gradients(result, x, y), (6 * y, 6 * x), strict=True))


class Counted:
    """Compute cos(exp(sin(x))), and count the calls."""

    def __init__(self):
        self.calls = 0

    def __call__(self, x):
        self.calls += 1
        return x.sin().exp().cos()


def test_recomputes_once_for_each_backward():
    function, x = Counted(), leaf(3)
    y = checkpoint(function, x, use_reentrant=False)
    assert function.calls == 1
    first = torch.autograd.grad(y.sum(), x, retain_graph=True)
    assert function.calls == 2
    assert all_equal(first, gradients(y, x))
    assert function.calls == 3
    with torch.no_grad():
        assert not checkpoint(function, x, use_reentrant=False).requires_grad
    assert function.calls == 4


def test_stops_early():
    reached = []

    def function(x):
        y = x.sin()
        reached.append("used")
        y = y + 1
        reached.append("not needed")
        return y

    x = leaf(2)
    gradients(checkpoint(function, x, use_reentrant=False), x)
    assert reached == ["used", "not needed"]
    gradients(checkpoint(function, x, use_reentrant=False, early_stop=False), x)
    assert reached[2:] == ["used", "not needed"] * 2
    del reached[:]
    with set_checkpoint_early_stop(False):
        y = checkpoint(function, x, use_reentrant=False)
    gradients(y, x)
    assert reached == ["used", "not needed"] * 2


def test_nested():
    inner, outer, x = Counted(), Counted(), leaf(3)

    def function(x):
        return outer(checkpoint(inner, x, use_reentrant=False))

    result = checkpoint(function, x, use_reentrant=False)
    assert all_equal(gradients(result, x), gradients(Counted()(Counted()(x)), x))
    assert outer.calls == 2


def test_second_derivatives():
    x, function = leaf(3), Counted()
    (first,) = torch.autograd.grad(checkpoint(function, x, use_reentrant=False).sum(), x, create_graph=True)
    (expected,) = torch.autograd.grad(function(x).sum(), x, create_graph=True)
    assert torch.allclose(first, expected)
    assert torch.allclose(gradients(first, x)[0], gradients(expected, x)[0])


@pytest.mark.parametrize("early_stop", [True, False])
@pytest.mark.parametrize("retain_graph", [True, False])
def test_a_backward_inside_of_the_forward(early_stop, retain_graph):
    def function(x):
        y = x.sin().cos()
        (grad,) = torch.autograd.grad(y.sum(), x, retain_graph=retain_graph)
        return x.cos() * grad

    x = leaf(3)
    result = checkpoint(function, x, use_reentrant=False, early_stop=early_stop)
    assert all_equal(gradients(result, x), gradients(function(x), x))


def test_nothing_is_kept_and_nothing_leaks():
    kept = []

    def function(x):
        hidden = x.exp()
        kept.append(weakref.ref(hidden))
        return hidden.sin()

    x = leaf(3)
    gc.disable()
    try:
        y = checkpoint(function, x, use_reentrant=False)
        assert kept[0]() is None
        result = weakref.ref(y)
        y.sum().backward()
        del y
        assert result() is None
    finally:
        gc.enable()


def test_autocast_is_as_it_was():
    enabled = []

    def function(x):
        enabled.append(is_autocast_enabled("cpu"))
        return x.sin()

    x = leaf(3)
    for use_reentrant in (True, False):
        with autocast("cpu"):
            y = checkpoint(function, x, use_reentrant=use_reentrant)
        y.sum().backward()
    assert enabled == [True] * 4


# --- Recomputations that differ ---


class Changing:
    """A function that computes `first` in its first call and `second` in later calls."""

    def __init__(self, first, second):
        self.functions = [first, second, second, second]

    def __call__(self, x):
        return self.functions.pop(0)(x)


MISMATCHES = {
    "fewer": (lambda x: x.sin().sin(), lambda x: x.sin(), True, "A different number of tensors was saved"),
    "more": (lambda x: x.sin(), lambda x: x.sin().sin(), False, "trying to save more tensors during recomputation"),
    "shape": (lambda x: x.sin(), lambda x: x[:2].sin(), False, "different metadata"),
    "dtype": (lambda x: x.sin(), lambda x: x.double().sin(), True, r"'dtype': torch.float64"),
}


@pytest.mark.parametrize(("first", "second", "early_stop", "message"), MISMATCHES.values(), ids=MISMATCHES.keys())
def test_a_different_recomputation_is_an_error(first, second, early_stop, message):
    y = checkpoint(Changing(first, second), leaf(3), use_reentrant=False, early_stop=early_stop)
    with pytest.raises(CheckpointError, match=message):
        y.sum().backward()


def test_the_check_can_be_turned_off():
    y = checkpoint(Changing(torch.sin, lambda x: x.double().sin()), leaf(3), use_reentrant=False, determinism_check="none")
    y.sum().backward()
    with pytest.raises(ValueError, match=r"determinism_check should be one of \['default', 'none'\], but got x"):
        checkpoint(torch.sin, leaf(3), use_reentrant=False, determinism_check="x")


def test_debug_lists_the_operations():
    def make(**options):
        return checkpoint(Changing(lambda x: x.sin().exp(), lambda x: x.cos()), leaf(3), use_reentrant=False, **options)

    with pytest.raises(CheckpointError) as info:
        make(debug=True).sum().backward()
    text = str(info.value)
    assert text.index("sin") < text.index("exp") < text.index("recomputation") < text.index("cos")
    assert "test_activation_checkpoint.py" in text
    with set_checkpoint_debug_enabled(True):
        y = make()
    with pytest.raises(CheckpointError, match="exp"):
        y.sum().backward()
    with pytest.raises(ValueError, match="debug=True is incompatible with non-default context_fn"):
        checkpoint(torch.sin, leaf(3), use_reentrant=False, debug=True, context_fn=lambda: noop_context_fn())


# --- Contexts ---


def test_contexts_for_forward_and_recomputation():
    entered = []

    class Note:
        def __init__(self, name):
            self.name = name

        def __enter__(self):
            entered.append(self.name)

        def __exit__(self, *exc_info):
            pass

    y = checkpoint(torch.sin, leaf(3), use_reentrant=False, context_fn=lambda: (Note("forward"), Note("again")))
    assert entered == ["forward"]
    y.sum().backward()
    assert entered == ["forward", "again"]


def test_a_group_recomputes_once():
    function, x = Counted(), leaf(3)
    with GraphExecGroup():
        first, second = checkpoint(lambda x: (function(x), function(2 * x)), x, use_reentrant=False)
        first.sum().backward(retain_graph=True)
        second.sum().backward()
        assert function.calls == 4
        with pytest.raises(CheckpointError, match="already unpacked once"):
            first.sum().backward()
        with pytest.raises(RuntimeError, match="GraphExecGroup contexts cannot be nested"), GraphExecGroup():
            pass


def selective(x, weight):
    return torch.sigmoid(torch.mm(torch.mm(x, weight), weight)) * x


def test_selected_results_are_kept():
    x, weight = leaf(3, 3), leaf(3, 3, seed=1)
    seen = []

    def policy(context, op, *args, **kwargs):
        seen.append((op.__name__, context.op_output.shape, context.is_recompute))
        return CheckpointPolicy.MUST_SAVE if op.__name__ == "mm" else CheckpointPolicy.PREFER_RECOMPUTE

    expected = gradients(selective(x, weight), x, weight)
    for choice in (policy, [torch.mm], [torch.sigmoid], [], lambda *args, **kwargs: True):
        contexts = functools.partial(create_selective_checkpoint_contexts, choice)
        result = checkpoint(selective, x, weight, use_reentrant=False, context_fn=contexts)
        assert all_equal(gradients(result, x, weight), expected)
    assert seen == [("mm", (3, 3), False), ("mm", (3, 3), False), ("sigmoid", (3, 3), False), ("mul", (3, 3), False)]


def test_selected_results_are_not_computed_again():
    calls = []

    class Log(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            calls.append(func.__name__)
            return func(*args, **(kwargs or {}))

    def backward_calls(choice):
        keep, replay = create_selective_checkpoint_contexts(choice)

        @contextlib.contextmanager
        def logged_replay():
            del calls[:]
            with Log(), replay:
                yield

        contexts = keep, logged_replay()
        y = checkpoint(selective, leaf(3, 3), leaf(3, 3), use_reentrant=False, context_fn=lambda: contexts)
        y.sum().backward()
        return calls.count("mm"), calls.count("sigmoid")

    assert backward_calls([torch.mm]) == (0, 1)
    assert backward_calls([torch.sigmoid]) == (2, 0)


def test_what_selective_checkpointing_rejects():
    contexts = functools.partial(create_selective_checkpoint_contexts, [torch.sin])
    x = leaf(3)
    y = checkpoint(lambda x: x.sin().exp(), x, use_reentrant=False, context_fn=contexts)
    torch.autograd.grad(y.sum(), x, retain_graph=True)
    with pytest.raises(RuntimeError, match="Trying to backward an extra time"):
        gradients(y, x)

    function = Changing(lambda x: x.sin().exp(), lambda x: x.cos().exp())
    y = checkpoint(function, x, use_reentrant=False, context_fn=contexts)
    with pytest.raises(RuntimeError, match="not found in storage"):
        gradients(y, x)

    def mutating(x):
        y = x.sin()
        z = y * 2
        with torch.no_grad():
            y.zero_()
        return z.exp()

    y = checkpoint(mutating, x, use_reentrant=False, context_fn=contexts)
    with pytest.raises(RuntimeError, match="has been mutated"):
        gradients(y, x)
    with pytest.raises(ValueError, match="Expected op in `op_list`"):
        create_selective_checkpoint_contexts(["mm"])
    with pytest.raises(TypeError, match="must be either a function or a list of ops"):
        create_selective_checkpoint_contexts("mm")
    assert SelectiveCheckpointContext(is_recompute=False, op_output=3).op_output == 3


# --- The reentrant variant, and helpers ---


def test_the_choice_should_be_explicit():
    x = leaf(3)
    with pytest.warns(UserWarning, match="the use_reentrant parameter should be passed explicitly"):
        y = checkpoint(torch.sin, x)
    assert "CheckpointFunction" in type(y.grad_fn).__name__
    with pytest.warns(UserWarning, match="checkpoint_sequential: the use_reentrant parameter"):
        checkpoint_sequential([torch.sin, torch.cos], 2, x)


def test_what_the_reentrant_variant_rejects():
    x = leaf(3)
    with pytest.raises(ValueError, match="Unexpected keyword arguments: scale"):
        checkpoint(torch.sin, x, use_reentrant=True, scale=2)
    with pytest.raises(ValueError, match="only supported when use_reentrant=False"):
        checkpoint(torch.sin, x, use_reentrant=True, debug=True)
    with pytest.raises(RuntimeError, match="none of output has requires_grad=True"):
        checkpoint(lambda x: x.detach(), x, use_reentrant=True).sum().backward()
    with pytest.warns(UserWarning, match="None of the inputs have requires_grad=True"):
        checkpoint(torch.sin, x.detach(), use_reentrant=True)


def test_reentrant_function_with_several_outputs():
    x, y = leaf(3), leaf(3, seed=1)
    first, text, second = CheckpointFunction.apply(lambda x, y: (x * y, "text", x + y), True, x, y)
    assert text == "text"
    (first * second).sum().backward()
    expected = gradients(x * y * (x + y), x, y)
    assert all(torch.allclose(a, b) for a, b in zip((x.grad, y.grad), expected, strict=True))


def test_helpers():
    x = leaf(2)
    detached, number, constant = detach_variable((x, 3, torch.ones(1)))
    assert detached.requires_grad and detached.is_leaf and detached is not x and number == 3
    assert not constant.requires_grad
    with pytest.raises(RuntimeError, match="Got Unsupported input type: list"):
        detach_variable([x])
    with pytest.warns(UserWarning, match="Gradients will be None"):
        check_backward_validity([torch.ones(1), 3])
    assert get_device_states(x, 3, [x]) == ([], [])
    set_device_states([], [])
    DefaultDeviceType.set_device_type("cpu")
    assert DefaultDeviceType.get_device_type() == "cpu"
    DefaultDeviceType.set_device_type(None)


def test_inside_transforms():
    cube = lambda a: checkpoint(lambda a: a * a * a, a, use_reentrant=False)  # noqa: E731
    x = torch.tensor([1.0, 2.0, -3.0])
    assert torch.equal(torch.func.vmap(cube)(x), x**3)
    assert torch.equal(torch.func.jvp(cube, (x,), (torch.ones(3),))[1], 3 * x**2)
    assert torch.equal(torch.func.jacfwd(cube)(x), (3 * x**2).diag())
    assert torch.equal(torch.func.jacfwd(torch.func.jacfwd(cube))(x)[1], (6 * x).diag()[1:2] * torch.tensor([[0.0], [1], [0]]))
    with pytest.raises(RuntimeError, match="don't yet support saved tensor hooks"):
        torch.func.grad(lambda a: cube(a).sum())(x)

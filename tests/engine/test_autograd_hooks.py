"""Hooks on tensors, leaves and graph nodes: call order and return values."""

from __future__ import annotations

import pytest

import flambeau as torch
from flambeau.autograd import graph


def leaf(*sizes):
    return torch.ones(*sizes, requires_grad=True)


def logging_hook(log, name):
    """Return a hook that appends `name` to `log`."""
    return lambda *args: log.append(name)


def test_order_of_hooks():
    log = []
    x = leaf(2)
    y = x * 2
    z = y * 3
    w = z + y
    for name, tensor in {"x": x, "y": y, "z": z, "w": w}.items():
        tensor.register_hook(logging_hook(log, name))
    for name, tensor in {"y": y, "z": z, "w": w}.items():
        tensor.grad_fn.register_hook(logging_hook(log, f"post {name}"))
        tensor.grad_fn.register_prehook(logging_hook(log, f"pre {name}"))
    x.register_post_accumulate_grad_hook(logging_hook(log, "accumulated"))
    accumulate = y.grad_fn.next_functions[0][0]
    accumulate.register_hook(logging_hook(log, "post x"))
    accumulate.register_prehook(logging_hook(log, "pre x"))
    y.retain_grad()
    w.sum().backward()
    assert " ".join(log) == "w pre w post w z pre z post z y pre y post y x pre x accumulated post x"
    assert x.grad.tolist() == [8, 8] and y.grad.tolist() == [4, 4]


# --- fused operations -----------------------------------------------------------------------------------------------


def names(node):
    return node and [node.name().rpartition("::")[2], *[names(function) for function, _ in node.next_functions]]


@pytest.mark.parametrize("shape", [(3,), (4, 3), (2, 2, 3)])
@pytest.mark.parametrize("look", [False, True])
def test_linear_is_shown_as_product_with_the_transposed_weight(shape, look):
    x = (torch.arange(12.0)[: torch.Size(shape).numel()].reshape(shape) / 7).requires_grad_()
    weight, bias = torch.arange(6.0).reshape(2, 3).requires_grad_(), leaf(2)
    output = torch.nn.functional.linear(x, weight, bias)
    seen = []
    if look:
        product = output.grad_fn if len(shape) == 2 else output.grad_fn.next_functions[0][0]
        product.register_hook(lambda grad_inputs, grad_outputs: seen.append([tuple(gradient.shape) for gradient in grad_inputs]))
        rows = ["AccumulateGrad"] if len(shape) == 2 else ["ViewBackward0", ["AccumulateGrad"]]
        assert names(product) == ["AddmmBackward0", ["AccumulateGrad"], rows, ["TBackward0", ["AccumulateGrad"]]]
    (output**2).sum().backward(retain_graph=True)
    expected = x.reshape(-1, 3) @ weight.t() + bias
    assert torch.equal(output, expected.reshape(output.shape))
    assert torch.equal(weight.grad, (2 * expected).t() @ x.reshape(-1, 3))
    assert torch.equal(x.grad.reshape(-1, 3), 2 * expected @ weight) and torch.equal(bias.grad, (2 * expected).sum(0))
    (grad,) = torch.autograd.grad(output.sum(), weight, create_graph=True, retain_graph=True)
    assert torch.autograd.grad((grad * weight).sum(), x)[0].tolist() == torch.ones(2, *shape).mul(weight.sum(0)).mean(0).tolist()
    output.sum().backward()
    with pytest.raises(RuntimeError, match="a second time"):
        output.sum().backward()
    size = x.numel() // 3
    assert seen == ([[(2,), (size, 3), (3, 2)]] * 3 if look else [])


def test_cross_entropy_is_shown_in_two_steps():
    x, target, weight = leaf(3, 4), torch.tensor([0, 1, 3]), torch.tensor([1.0, 2.0, 3.0, 4.0])
    losses = [torch.nn.functional.cross_entropy(x * 2, target, weight, ignore_index=1) for _ in range(2)]
    assert names(losses[1].grad_fn)[:2] == ["NllLossBackward0", names(torch.log_softmax(x * 2, 1).grad_fn)]
    plain, shown = (torch.autograd.grad(loss, x, create_graph=True)[0] for loss in losses)
    assert torch.allclose(plain, shown)
    assert torch.allclose(*(torch.autograd.grad(gradient.square().sum(), x)[0] for gradient in (plain, shown)))


def test_who_looks_while_a_backward_is_under_way_does_not_disturb_it():
    x, weight, bias = leaf(1, 3), leaf(2, 3), leaf(2)
    output = torch.nn.functional.linear(x, weight, bias)
    found = []
    (output * 2).register_hook(lambda grad: None)
    scaled = output * 2
    scaled.register_hook(lambda grad: found.append(output.grad_fn.next_functions))
    (grad,) = torch.autograd.grad(scaled.sum(), weight)
    assert grad.tolist() == [[2, 2, 2]] * 2 and len(found) == 1


# --- order ----------------------------------------------------------------------------------------------------------


def test_hooks_after_accumulation_can_be_listed():
    x = leaf(2)
    assert x._post_accumulate_grad_hooks is None
    handle = x.register_post_accumulate_grad_hook(print)
    assert list(x._post_accumulate_grad_hooks.values()) == [print]
    handle.remove()
    assert len(x._post_accumulate_grad_hooks) == 0


def test_leaves_are_served_as_soon_as_they_are_ready():
    log = []
    a, b = leaf(2), leaf(2)
    t = a * 2
    u = t * b
    for name, tensor in {"a": a, "b": b, "t": t, "u": u}.items():
        tensor.register_hook(logging_hook(log, name))
    a.register_post_accumulate_grad_hook(logging_hook(log, "a done"))
    b.register_post_accumulate_grad_hook(logging_hook(log, "b done"))
    (u * 3).sum().backward()
    assert log == ["u", "b", "b done", "t", "a", "a done"]
    log.clear()
    torch.autograd.grad((a * 2 * b).sum(), a)
    assert log == ["a"]  # autograd.grad accumulates nothing, so post-accumulate hooks do not run


def test_every_hook_may_replace():
    x = leaf(2)
    y = x * 2
    y.register_hook(lambda grad: grad * 10)
    y.retain_grad()  # stores the gradient after the hooks registered earlier
    x.register_hook(lambda grad: grad + 1)
    y.grad_fn.register_prehook(lambda grads: (grads[0] * 2,))
    y.grad_fn.register_hook(lambda inputs, outputs: (inputs[0] + 100, *inputs[1:]))
    y.sum().backward()
    assert y.grad.tolist() == [10, 10] and x.grad.tolist() == [141, 141]


def test_hooks_and_captured_gradients():
    x = leaf(2)
    y = x * 2
    y.register_hook(lambda grad: grad * 10)
    assert torch.autograd.grad((y * 1).sum(), y)[0].tolist() == [10, 10]
    y = x * 2
    y.grad_fn.register_prehook(lambda grads: (grads[0] * 10,))  # runs after autograd.grad has captured the gradient of y
    of_y, of_x = torch.autograd.grad((y * 1).sum(), [y, x])
    assert of_y.tolist() == [1, 1] and of_x.tolist() == [20, 20]


def test_wrong_hooks():
    x = leaf(2)
    handle = x.register_hook(lambda grad: torch.ones(3))
    with pytest.raises(RuntimeError, match="hook '<lambda>' has changed the size of value"):
        (x * 2).sum().backward()
    handle.remove()
    with x.register_hook(lambda grad: 3), pytest.raises(TypeError, match="expected Variable, but hook returned 'int'"):
        (x * 2).sum().backward()
    (x * 2).sum().backward()  # the hook was removed at the end of the context
    with pytest.raises(RuntimeError, match="cannot register a hook on a tensor that doesn't require gradient"):
        torch.ones(2).register_hook(print)
    with pytest.raises(RuntimeError, match="post accumulate grad hooks cannot be registered on non-leaf tensors"):
        (x * 2).register_post_accumulate_grad_hook(print)


def test_what_hooks_of_nodes_return():
    def run(before=None, after=None):
        x = leaf(2)
        y = x.exp().exp()
        if before:
            y.grad_fn.register_prehook(before)
        if after:
            y.grad_fn.register_hook(after)
        y.sum().backward()
        return x.grad

    for error, message, given in [
        (TypeError, "expected tuple, but hook returned 'int'", 3),
        (TypeError, "expected tuple, but hook returned 'Tensor'", torch.ones(2)),
        (TypeError, "expected Variable, but hook returned 'int'", (5,)),
        (RuntimeError, r"returned an incorrect number of values \(got 2, but expected 1\)", (torch.ones(2), torch.ones(2))),
        (RuntimeError, "has changed the size of value", (torch.ones(5),)),
        (RuntimeError, "has changed the type of value", (torch.ones(2, dtype=torch.float64),)),
    ]:
        for options in ({"before": lambda *args, given=given: given}, {"after": lambda *args, given=given: given}):
            with pytest.raises(error, match=message):
                run(**options)
    assert run(before=lambda grads: (None,)) is None and run(after=lambda *grads: (None,)) is None
    x = leaf(2)
    for error, given in ((RuntimeError, torch.ones(2)), (TypeError, 3)):
        with x.register_post_accumulate_grad_hook(lambda p, given=given: given), pytest.raises(error):
            (x * 2).sum().backward()


def test_hooks_of_nodes_see_what_is_missing():
    seen = []
    x = leaf(4)
    first, _ = x.split(2)
    first.grad_fn.register_hook(lambda inputs, outputs: seen.append([gradient is None for gradient in (*inputs, *outputs)]))
    first.sum().backward()
    assert seen == [[False, False, True]] and x.grad.tolist() == [1, 1, 0, 0]


def test_hooks_may_write_into_the_gradient():
    x = torch.tensor(2.0, requires_grad=True)
    y = x * 1
    y.register_hook(lambda grad: grad.mul_(5) and None)
    y.backward()
    (x * 1).backward()
    assert x.grad.item() == 6


def test_hooks_follow_a_tensor_through_in_place_writes():
    log = []
    x = leaf(2)
    y = x * 2
    y.register_hook(lambda grad: log.append(("before", grad.tolist())))
    y.retain_grad()
    z = y * 2
    y.add_(1)
    y.register_hook(lambda grad: log.append(("after", grad.tolist())))
    (y * 2 + z).sum().backward()
    assert log == [("after", [2.0, 2.0]), ("before", [4.0, 4.0])]
    assert y.retains_grad and y.grad.tolist() == [2, 2] and x.grad.tolist() == [8, 8]


def test_hooks_of_nodes_with_several_outputs():
    log = []
    x = leaf(4)
    first, second = x.split(2)
    first.register_hook(logging_hook(log, "first"))
    second.register_hook(logging_hook(log, "second"))
    first.sum().backward()
    assert log[0] == "first" and x.grad.tolist() == [1, 1, 0, 0] and (first.output_nr, second.output_nr) == (0, 1)


def test_multi_grad_hooks():
    calls = []
    a, b = leaf(2), leaf(2)
    c, d = a * b, a * b
    handle = graph.register_multi_grad_hook(
        (a, b, c, d), lambda grads: calls.append([gradient is not None for gradient in grads])
    )
    graph.register_multi_grad_hook((a, b, c, d), lambda grad: calls.append(grad.tolist()), mode="any")
    c.sum().backward(retain_graph=True)
    c.sum().backward(inputs=(a,), retain_graph=True)
    assert calls == [[1, 1], [True, True, True, False], [1, 1], [True, False, True, False]]
    handle.remove()
    calls.clear()
    c.sum().backward()
    assert calls == [[1, 1]]
    with pytest.raises(ValueError, match="Expects mode to be one of"):
        graph.register_multi_grad_hook((a,), print, mode="some")


def test_a_hook_may_drop_the_graph():
    x = leaf(2)
    y = x * 2
    state = {"y": y * 3}
    y.register_hook(lambda grad: state.clear())
    out = state["y"].sum()
    del y
    out.backward()
    assert x.grad.tolist() == [6, 6]


def test_a_gradient_of_another_dtype():
    x = torch.ones(2, requires_grad=True)
    x.grad_dtype = torch.float64
    for _ in range(2):
        (x * 3).sum().backward()
    assert x.grad.dtype is torch.float64 and x.grad.tolist() == [6, 6]
    with pytest.raises(RuntimeError, match="there is already a gradient"):
        x.grad_dtype = torch.float16
    with pytest.raises(RuntimeError, match="leaf"):
        (x * 2).grad_dtype = torch.float16
    with pytest.raises(RuntimeError, match="grad_dtype"):
        x.grad = torch.ones(2)


def test_a_hook_after_accumulation_may_return_the_tensor():
    y = torch.zeros(2, requires_grad=True)
    y.register_post_accumulate_grad_hook(lambda t: t)
    (y * 2).sum().backward()
    assert y.grad.tolist() == [2, 2]


def test_gradients_of_other_leaves_are_there_when_the_last_one_with_a_hook_is():
    """Programs step an optimizer in the hook of the first layer, which receives its gradient last."""
    first, rest = torch.nn.Linear(3, 3), torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Linear(3, 1))
    seen = []
    for parameter in first.parameters():
        parameter.register_post_accumulate_grad_hook(lambda _: seen.append([p.grad is None for p in rest.parameters()]))
    rest(first(torch.ones(2, 3))).sum().backward()
    assert seen == [[False] * 4] * 2

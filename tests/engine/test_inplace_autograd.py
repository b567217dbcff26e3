"""In-place operations under autograd, and the errors raised if they modify saved tensors."""

from __future__ import annotations

import pytest

import flambeau as torch
from flambeau.autograd import graph


def leaf(*sizes):
    return torch.ones(*sizes, requires_grad=True)


def logging_hook(log, name, replace):
    """Return a hook that appends `name` to `log` and returns `replace(*args)`."""

    def hook(*args):
        log.append(name)
        return replace(*args)

    return hook


# --- in place -----------------------------------------------------------------------------------------------------


def test_leaves_refuse():
    for match, wrong in {
        "a leaf Variable that requires grad is being used in an in-place operation": lambda: leaf(3).add_(1),
        "a view of a leaf Variable that requires grad is being used in an in-place": lambda: leaf(3)[1:].mul_(2),
        "a leaf Variable that requires grad": lambda: leaf(3).t_(),
        "a view of a leaf Variable that requires grad": lambda: leaf(3).expand(2, 3).add_(1),
    }.items():
        with pytest.raises(RuntimeError, match=match):
            wrong()
    x = leaf(3)
    with pytest.raises(RuntimeError, match="a view of a leaf Variable|a leaf Variable"):
        x[0] = 1
    assert x.tolist() == [1, 1, 1] and x._version == 0


def test_view_made_before_its_base_requires_grad_refuses():
    x = torch.ones(2, 3)
    view = x[:]
    x.requires_grad_()
    for write in (lambda: view.add_(1), lambda: view.copy_(torch.zeros(2, 3)), view.zero_, lambda: view.mul_(torch.ones(3))):
        with pytest.raises(RuntimeError, match="a view of a leaf Variable that requires grad is being used"):
            write()
    with torch.no_grad():
        view.add_(1)
    assert x.tolist() == [[2, 2, 2], [2, 2, 2]]


def test_saved_values_are_guarded():
    x = leaf(2)
    y = x.exp()
    y.mul_(2)
    with pytest.raises(
        RuntimeError,
        match=r"\[torch.FloatTensor \[2\]\], which is output 0 of Exp, is at version 1; expected version 0 instead",
    ):
        y.sum().backward()
    y = x * x
    with torch.no_grad():
        x.add_(1)
    with pytest.raises(RuntimeError, match=r"\[torch.FloatTensor \[2\]\] is at version 1; expected version 0"):
        y.sum().backward()
    y = x * x
    x.data.add_(1)  # writes through .data are not detected
    y.sum().backward()
    assert x.grad.tolist() == [6, 6]


def test_views_share_their_version():
    x = torch.zeros(4)
    view, other = x[:2], x.detach()
    view.add_(1)
    assert x._version == view._version == other._version == 1
    x.data.add_(1)
    assert x._version == 1
    graph.increment_version(x)
    assert view._version == 2
    w = leaf(2)
    y = w * view
    x[3] = 5  # outside of the view, but in the same storage
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_tracked_writes():
    def gradients(call, *sizes):
        inputs = [leaf(size) for size in sizes]
        call(*inputs).sum().backward()
        return [None if each.grad is None else each.grad.tolist() for each in inputs]

    def multiply(x, w):
        y = x * 2
        y.mul_(w)  # the backward needs the values that mul_ overwrites
        return y

    def assign(x, w):
        y = torch.zeros(3)
        y[1] = x[0] * 2
        y[2:] = w
        return y

    def masked(x, w):
        y = x * 1
        y[torch.tensor([True, False, True])] += w * 3
        return y

    def overwritten(x, w):
        y = x * 2
        y.copy_(w)
        return y

    def zeroed(x):
        y = x * 2
        y.zero_()
        return y + x

    assert gradients(multiply, 2, 2) == [[2, 2], [2, 2]]
    assert gradients(assign, 2, 1) == [[2, 0], [1]]
    assert gradients(masked, 3, 2) == [[1, 1, 1], [3, 3]]
    assert gradients(overwritten, 2, 2) == [[0, 0], [1, 1]]
    assert gradients(zeroed, 2) == [[1, 1]]
    assert gradients(lambda x: (x * 1).pow_(3), 2) == [[3, 3]]
    assert gradients(lambda x: (x * 1).clamp_(max=0.5), 2) == [[0, 0]]
    assert gradients(lambda x, w: (x * 1).addcmul_(w, w), 2, 2) == [[1, 1], [2, 2]]
    assert gradients(lambda x: (x * 1).unsqueeze_(0).squeeze_().mul_(3), 2) == [[3, 3]]


def test_shape_changing_writes():
    x = leaf(2, 3)
    y = x * 1
    y.t_()
    assert y.shape == (3, 2)
    (y * torch.arange(6.0).reshape(3, 2)).sum().backward()
    assert x.grad.tolist() == [[0, 2, 4], [1, 3, 5]]
    with pytest.raises(RuntimeError, match="cannot resize variables that require grad"):
        (x * 1).resize_(2)


def test_writes_through_views():
    x = leaf(4)
    y = x * 1
    view, sibling = y[1:3], y[2:]
    inner = view[0]
    view.mul_(5)
    assert y.grad_fn.name() == "torch::autograd::CopySlices"
    (y.sum() + inner * 10 + sibling.sum()).backward()
    assert x.grad.tolist() == [1, 5 + 50, 5 + 5, 1 + 1]

    x.grad = None
    y = x * 1
    inner = y[1:3][0]
    y.mul_(5)  # changes the existing view `inner` as well
    (inner * 10).backward()
    assert x.grad.tolist() == [0, 50, 0, 0]


def test_a_chain_of_views_and_writes():
    """Compare with the same program without in-place operations."""
    x = torch.arange(12.0).reshape(3, 4).requires_grad_()
    y = x * 1
    y.t()[1:3].view(2, 3)[0].mul_(x[:, 0])
    y[:, 2] += y[:, 1].clone()
    y.flatten()[5:7].exp_() if y.flatten().data_ptr() == y.data_ptr() else None
    y.backward(torch.ones(3, 4))

    z = x.detach().clone().requires_grad_()
    columns = list((z * 1).unbind(1))
    columns[1] = columns[1] * z[:, 0]
    columns[2] = columns[2] + columns[1]
    flat = torch.stack(columns, 1).reshape(-1)
    whole = torch.cat([flat[:5], flat[5:7].exp(), flat[7:]])
    whole.sum().backward()
    assert torch.equal(y.flatten(), whole) and torch.allclose(x.grad, z.grad)


def test_writes_by_strides():
    x = leaf(4)
    y = x * 1
    y.as_strided((2,), (2,)).mul_(3)
    y.sum().backward()  # the gradient of sum() is an expanded tensor
    assert y.tolist() == [3, 1, 3, 1] and x.grad.tolist() == [3, 1, 3, 1]


def test_what_a_write_is_called():
    mask, one, three = torch.tensor([True, False, True, False]), torch.ones(1), torch.tensor([0])

    def whole(y):
        y[:] = torch.zeros(4)

    def by_mask(y):
        y[mask] = 0.0

    def part(y):
        y[1:3] = 0.0

    names = {
        "ZeroBackward0": torch.Tensor.zero_,
        "FillBackward2": lambda y: y.fill_(3),
        "FillBackward3": lambda y: y.fill_(torch.tensor(3.0)),
        "torch::autograd::CopyBackwards": whole,
        "torch::autograd::CopySlices": part,
        "IndexPutBackward0": by_mask,
        "IndexFillBackward0": lambda y: y.index_fill_(0, three, 9.0),
        "IndexCopyBackward0": lambda y: y.index_copy_(0, three, one),
        "IndexAddBackward0": lambda y: y.index_add_(0, three, one),
        "AddcmulBackward0": lambda y: y.addcmul_(one, one),
    }
    for name, write in names.items():
        y = leaf(4) * 1
        write(y)
        assert y.grad_fn.name() == name and type(y.grad_fn).__name__ == name.split("::")[-1]


def test_views_that_a_write_to_their_base_leaves_behind():
    """After a write to their base, the gradients of these views would be wrong, so a backward through them raises an error."""

    class Same(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x

        @staticmethod
        def backward(ctx, grad):
            return grad

    for look, why in {
        lambda y: y.split(2)[1]: "Output 1 of Split is a view and its base or another view of its base has been modified inplace",
        lambda y: y.unbind()[0]: "This view is the output of a function that returns multiple views",
        Same.apply: "Output 0 of Same is a view and its base .* This view was created inside a custom Function",
    }.items():
        y = leaf(4) * 1
        view = look(y)
        y.mul_(2)
        with pytest.raises(RuntimeError, match=why):
            view.sum().backward()


def test_retained_gradients_follow_a_write_through_a_view():
    x = leaf(4)
    y = x * 2
    y.retain_grad()
    y[:2].mul_(3)
    y.sum().backward()
    assert y.grad.tolist() == [1, 1, 1, 1] and x.grad.tolist() == [6, 6, 2, 2]


def test_which_views_may_be_written():
    x = leaf(4)
    with pytest.raises(RuntimeError, match="Output 0 of Unbind is a view and is being modified inplace"):
        (x * 1).unbind(0)[0].add_(1)
    y = x * 1
    with torch.no_grad():
        view = y[1:]
    with pytest.raises(RuntimeError, match="A view was created in no_grad mode and is being modified inplace"):
        view.add_(1)
    with torch.no_grad():
        view.add_(1)  # allowed, because nothing is recorded
        y.chunk(2)[0].add_(1)
    assert y.tolist() == [2, 3, 2, 2]
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor refers to a single memory location"):
        torch.ones(3).expand(2, 3).add_(1)
    y = x * 1
    with torch.no_grad():
        view = y[1:]
    for write in (torch.Tensor.zero_, lambda v: v.copy_(torch.ones(3)), lambda v: v.fill_(2)):
        with pytest.raises(RuntimeError, match="A view was created in no_grad mode"):
            write(view)
    base = torch.zeros(4)
    base[1:3].add_(x[1:3])  # from now on, the base requires a gradient
    assert base.requires_grad
    base.sum().backward()
    assert x.grad.tolist() == [0, 1, 1, 0]


def test_failed_writes_change_nothing():
    x = leaf(2)
    y = x * 2
    before = y.grad_fn, y._version
    for error, message, write in [
        (RuntimeError, r"output with shape \[2\] doesn't match the broadcast shape \[3, 2\]", lambda: y.add_(torch.ones(3, 2))),
        (IndexError, "too many indices for tensor of dimension 1", lambda: y.__setitem__((slice(5), 0), 1)),
        (IndexError, "index 5 is out of bounds for dimension 0 with size 2", lambda: y.__setitem__(5, 1)),
        (RuntimeError, "shape mismatch|expanded size", lambda: y.__setitem__(slice(None), torch.ones(3))),
        (RuntimeError, "result type", lambda: y.add_(torch.ones(2, dtype=torch.complex64))),
        (RuntimeError, "expanded size of the tensor", lambda: y.copy_(torch.ones(3))),
    ]:
        with pytest.raises(error, match=message):
            write()
    assert (y.grad_fn, y._version) == before and y.tolist() == [2, 2]


def test_detached_memory_is_shared():
    x = leaf(3)
    x.detach().add_(1)
    assert x.tolist() == [2, 2, 2] and x._version == 1
    x.data = torch.zeros(5)
    assert x.shape == (5,) and x.requires_grad and x.is_leaf


# --- saved tensors ------------------------------------------------------------------------------------------------


def test_saved_tensor_hooks():
    x = leaf(3)
    with graph.saved_tensors_hooks(lambda t: (t * 1.0, "packed"), lambda packed: packed[0] * 10):
        y = x * x
    z = y * y  # recorded outside of the context
    assert y.grad_fn._saved_self.tolist() == [10, 10, 10]
    z.sum().backward()
    assert x.grad.tolist() == [40, 40, 40]


def test_saved_tensor_hooks_nest_and_serve_second_orders():
    x = leaf(3)
    log = []
    with (
        graph.saved_tensors_hooks(logging_hook(log, "outer", lambda t: t), lambda t: t),
        graph.saved_tensors_hooks(logging_hook(log, "inner", lambda t: t.detach().clone()), lambda t: t),
    ):
        y = x.exp()
    assert set(log) == {"inner"}
    (first,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x)
    assert torch.allclose(first, x.exp()) and torch.allclose(second, x.exp())


def test_wrong_saved_tensor_hooks():
    x = leaf(3)
    with (
        graph.saved_tensors_hooks(lambda t: t.add_(1), lambda t: t),
        pytest.raises(RuntimeError, match="A saved tensor pack hook is modifying its input in place"),
    ):
        x.detach() * x
    with graph.saved_tensors_hooks(lambda t: t, lambda t: 3):
        y = x * x
    with pytest.raises(TypeError, match="unpack_hook expected to be a Tensor but got result of type int"):
        y.sum().backward()
    with (
        graph.disable_saved_tensors_hooks("not here"),
        pytest.raises(RuntimeError, match="not here"),
        graph.save_on_cpu(),
    ):
        pass
    x = leaf(3)
    y = x * x
    y.grad_fn._raw_saved_self.register_hooks(lambda t: t * 2, lambda t: t)
    with pytest.raises(RuntimeError, match="hooks have already been set"):
        y.grad_fn._raw_saved_self.register_hooks(lambda t: t, lambda t: t)
    y.sum().backward()
    assert x.grad.tolist() == [3, 3, 3]


def test_saved_tensors_one_by_one():
    x = leaf(2)
    node = x.exp().grad_fn
    raw = node._raw_saved_result
    assert raw.data.tolist() == node._saved_result.tolist() and raw.unpack_hook is None
    raw.register_hooks(lambda t: t.tolist(), lambda kept: torch.tensor(kept) * 0 + 5)
    assert raw.data == pytest.approx([2.71828] * 2) and raw.unpack().tolist() == [5, 5] and raw.unpack_hook is not None
    assert node(torch.ones(2)).tolist() == [5, 5]
    node.release()
    assert raw.data is None
    with pytest.raises(RuntimeError, match="already been freed"):
        node._saved_result
    with pytest.raises(RuntimeError, match="Calling register_hooks on a saved tensor after it has been freed"):
        raw.register_hooks(lambda t: t, lambda t: t)
    with pytest.raises(RuntimeError, match="with value None is forbidden"):
        (x * torch.ones(2)).grad_fn._raw_saved_self.register_hooks(lambda t: t, lambda t: t)

    class Times(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.save_for_backward(x, y)
            return x * y

        @staticmethod
        def backward(ctx, grad):
            x, y = ctx.saved_tensors
            return grad * y, grad * x

    out = Times.apply(x, torch.ones(2))
    out.grad_fn._raw_saved_tensors[1].register_hooks(lambda t: 7, lambda kept: torch.full((2,), float(kept)))
    out.sum().backward()
    assert x.grad.tolist() == [7, 7]


def test_a_context_that_was_cleared():
    x = leaf(3)
    with graph.allow_mutation_on_saved_tensors() as context:
        y = x.exp().sum()
        context.clear()
        with pytest.raises(AssertionError, match="Trying to backward outside of the 'allow_mutation_on_saved_tensors' context"):
            y.backward()
    with graph.allow_mutation_on_saved_tensors(), pytest.raises(RuntimeError, match="contexts cannot be nested"):
        graph.allow_mutation_on_saved_tensors().__enter__()


def test_save_on_cpu():
    x = leaf(3)
    with graph.save_on_cpu():
        y = (x * x).exp()
    y.sum().backward()
    assert torch.allclose(x.grad, 2 * y.detach())


def test_mutation_of_saved_tensors():
    x = leaf(3)
    with graph.allow_mutation_on_saved_tensors():
        y = x * 2
        z = y * y
        y.mul_(3)
        z.sum().backward()
    assert x.grad.tolist() == [8, 8, 8]


# --- writes through views of views ---


@pytest.mark.parametrize("part", [
    lambda x: x.view(-1)[::5], lambda x: x.view(2, 6)[0], lambda x: x.view(4, 3).t()[0], lambda x: x.view(3, 2, 2)[:, 0],
    lambda x: torch.view_as_complex(x.view(3, 2, 2))[0],
])  # fmt: skip
@pytest.mark.parametrize("create_graph", [False, True])
def test_a_gradient_need_not_lie_in_memory_as_what_was_viewed(part, create_graph):
    x = torch.arange(1.0, 13.0, dtype=torch.float64).reshape(3, 4).requires_grad_()
    weights = torch.arange(12.0, dtype=torch.float64).reshape(4, 3)

    def function(x):
        y = x * 1
        part(y).mul_(3)
        return (y.t() ** 2 * weights).sum()

    factor = torch.ones(3, 4, dtype=torch.float64)
    part(factor).mul_(3)
    (grad,) = torch.autograd.grad(function(x), x, create_graph=create_graph)
    assert torch.equal(grad, 2 * x * factor**2 * weights.t())
    assert torch.autograd.gradcheck(function, x) and torch.autograd.gradgradcheck(function, x)
    assert torch.autograd.gradcheck(function, x, check_forward_ad=True, check_backward_ad=False)


OVERLAPPING_PARTS = {
    "unfold": lambda x: x.unfold(0, 3, 1)[1],
    "unfold strided": lambda x: x.unfold(0, 3, 1)[::3, 1:],
    "expand": lambda x: x.expand(2, 6)[1],
    "expand part": lambda x: x.view(2, 3).expand(4, 2, 3)[2, :, 1:],
    "broadcast_to": lambda x: torch.broadcast_to(x, (2, 6))[0, 2:4],
    "as_strided": lambda x: x.as_strided((5, 2), (1, 1))[:, 0],
}


@pytest.mark.parametrize("part", OVERLAPPING_PARTS.values(), ids=OVERLAPPING_PARTS)
def test_a_part_of_an_overlapping_view_is_written_once(part):
    written = torch.zeros(6, dtype=torch.float64)
    part(written).fill_(1)
    x = torch.arange(1.0, 7.0, dtype=torch.float64, requires_grad=True)
    y = x * 1
    part(y).mul_(3)
    assert torch.equal(y, torch.where(written > 0, 3 * x, x))
    (grad,) = torch.autograd.grad((y**2).sum(), x)
    assert torch.equal(grad, torch.where(written > 0, 18 * x, 2 * x))


def test_an_overlapping_view_shows_what_was_assigned_to_a_part_of_it():
    x = torch.arange(1.0, 5.0, requires_grad=True)
    y = x * 1
    windows = y.unfold(0, 2, 1)
    windows[0] = 7.0
    windows[2, 1:] *= 10
    assert windows.tolist() == [[7, 7], [7, 3], [3, 40]] and y.tolist() == [7, 7, 3, 40]
    assert torch.autograd.grad(windows.sum(), x, retain_graph=True)[0].tolist() == [0, 0, 2, 10]
    rows = (x * 1).expand(2, 4)
    row = rows[1]
    row[[0, 2]] = 5.0
    assert rows.tolist() == [[5, 2, 5, 4]] * 2 and torch.autograd.grad(rows.sum(), x)[0].tolist() == [0, 2, 0, 2]

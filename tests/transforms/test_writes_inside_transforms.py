"""In-place writes inside a function transformed by `torch.func`: which tensors it may write to, and which not."""

from __future__ import annotations

import copy
import threading

import pytest

import flambeau as torch
from flambeau import func

TRANSFORMS = {
    "grad": lambda f, x: func.grad(lambda x: f(x).sum())(x),
    "vjp": lambda f, x: func.vjp(f, x)[1](torch.ones(3))[0],
    "jvp": lambda f, x: func.jvp(f, (x,), (torch.ones(3),))[1],
    "jacrev": lambda f, x: func.jacrev(f)(x),
    "jacfwd": lambda f, x: func.jacfwd(f)(x),
    "hessian": lambda f, x: func.hessian(lambda x: f(x).sum())(x),
    "grad of grad": lambda f, x: func.grad(lambda x: func.grad(lambda y: f(y).sum())(x).sum())(x),
    "batched grad": lambda f, x: func.vmap(func.grad(lambda x: f(x).sum()))(x.expand(2, 3)),
}


def assigned(a, x):
    a[0] = x[0]
    return a * x


def out_of_sight(a, x):
    with torch.no_grad():
        a.mul_(2)
    return a * x


CAPTURED = {  # functions `(a, x)` that write to the captured tensor `a`
    "by the argument": lambda a, x: a.mul_(x),
    "by a number": lambda a, x: a.mul_(2) * x,
    "by another": lambda a, x: a.add_(torch.ones(3)) * x,
    "overwritten": lambda a, x: a.copy_(x),
    "zeroed": lambda a, x: a.zero_() + x,
    "assigned": assigned,
    "without gradients": out_of_sight,
    "through a view": lambda a, x: a[:2].mul_(2).sum() * x,
    "through an alias": lambda a, x: a.detach().mul_(2) * x,
    "through its data": lambda a, x: a.data.mul_(2) * x,
    "drawn": lambda a, x: a.normal_() * x,
    "another look": lambda a, x: a.unsqueeze_(0) * x,
    "resized": lambda a, x: a.resize_(3) * x,
    "a function's own": lambda a, x: torch.relu_(a) * x,
}


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("write", CAPTURED)
def test_captured_tensors_are_not_written_to(transform, write):
    captured = torch.tensor([-1.0, 2.0, 3.0])
    with pytest.raises(RuntimeError, match="would mutate a captured Tensor"):
        TRANSFORMS[transform](lambda x: CAPTURED[write](captured, x), torch.arange(1.0, 4.0))
    assert captured.tolist() == [-1, 2, 3] and captured.shape == (3,) and not captured.requires_grad
    captured.mul_(2)  # writing is allowed again after the transform
    assert captured.tolist() == [-2, 4, 6]


MADE_INSIDE = {
    "a copy": lambda a, x: a.clone().mul_(2) * x,
    "of the argument": lambda a, x: (x * 1).mul_(a),
    "zeros": lambda a, x: torch.zeros_like(x).add_(x * a),
    "through a view": lambda a, x: assigned(torch.zeros_like(x).view(-1), x),
    "through an alias": lambda a, x: (lambda made: made.detach().mul_(2) * 0 + x)(torch.zeros_like(x)),
    "grown": lambda a, x: torch.zeros_like(x).unsqueeze_(0).squeeze_().add_(x),
}


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("write", MADE_INSIDE)
def test_tensors_made_inside_are_written_to(transform, write):
    """Writes to tensors created inside of the function give the same result as an out-of-place version."""
    same = {
        "a copy": lambda a, x: a * 2 * x,
        "of the argument": lambda a, x: x * a,
        "zeros": lambda a, x: x * a,
        "through a view": lambda a, x: torch.cat([x[:1], torch.zeros_like(x[1:])]) * x,
        "through an alias": lambda a, x: x,
        "grown": lambda a, x: x,
    }[write]
    captured, x = torch.tensor([-1.0, 2.0, 3.0]), torch.arange(1.0, 4.0)
    torch.testing.assert_close(
        TRANSFORMS[transform](lambda x: MADE_INSIDE[write](captured, x), x), TRANSFORMS[transform](lambda x: same(captured, x), x)
    )


def test_a_transform_inside_captures_what_was_made_in_the_one_outside():
    def outer(x):
        made = torch.zeros_like(x)
        made.add_(1)
        return func.grad(lambda y: made.mul_(y).sum())(x).sum()

    with pytest.raises(RuntimeError, match="would mutate a captured Tensor"):
        func.grad(outer)(torch.ones(3))


def test_vmap_writes_to_captured_tensors_what_is_the_same_for_all():
    captured = torch.zeros(3)
    func.vmap(lambda x: captured.add_(1) + x)(torch.ones(2, 3))
    assert captured.tolist() == [1, 1, 1]


def test_no_trace_is_left():
    kept = []
    func.grad(lambda x: kept.append(torch.ones(2)) or x.sum())(torch.ones(3))
    kept[0].add_(1)
    copied = copy.deepcopy(kept[0])
    assert kept[0].tolist() == copied.tolist() == [2, 2] and "_depth" not in vars(copied)
    assert "_depth" not in vars(torch.ones(2)) and "_depth" not in vars(torch.ones(2) + 1)


def test_other_threads_are_free_to_write():
    captured, problems = torch.zeros(3), []

    def elsewhere():
        try:
            captured.add_(1)
            torch.ones(3).mul_(2)
        except Exception as problem:
            problems.append(problem)

    def function(x):
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
        return x.sum()

    func.grad(function)(torch.ones(3))
    assert not problems and captured.tolist() == [1, 1, 1]


@pytest.mark.parametrize("transform", [*TRANSFORMS, "vmap"])
def test_leaves_are_not_made_inside(transform):
    transform = TRANSFORMS.get(transform, lambda f, x: func.vmap(f)(x))
    with pytest.raises(RuntimeError, match=r"attempting to call Tensor.requires_grad_\(\)"):
        transform(lambda x: x.requires_grad_() * 2, torch.ones(3))


@pytest.mark.parametrize("transform", ["grad", "vjp", "jacrev", "hessian"])
def test_backward_is_not_called_inside(transform):
    with pytest.raises(RuntimeError, match=r"backward\(\) called inside a functorch transform"):
        TRANSFORMS[transform](lambda x: (x * 2).sum().backward() or x, torch.ones(3))


def test_out_has_no_tangent():
    with pytest.raises(NotImplementedError, match="forward AD with exp_out"):
        func.jvp(lambda x: torch.exp(x, out=torch.empty(3)), (torch.ones(3),), (torch.ones(3),))


BASES = {
    "transposed": lambda base: base.t(),
    "sliced": lambda base: base[0:2, 0:2],
    "every second": lambda base: base[::2],
    "offset": lambda base: base.t()[1:],
}


@pytest.mark.parametrize("name", BASES)
@pytest.mark.parametrize("levels", [1, 2])
def test_writes_to_the_diagonal_of_a_view(name, levels):
    def function(x):
        base = x * 1
        BASES[name](base).diagonal().zero_()
        return base

    x = torch.rand(2, 2, 3, 3) if levels == 2 else torch.rand(2, 3, 3)
    batched = func.vmap(func.vmap(function)) if levels == 2 else func.vmap(function)
    expected = torch.stack([function(each) for each in x.flatten(0, -3)]).reshape(x.shape)
    assert torch.equal(batched(x), expected)
    assert torch.equal(
        func.vmap(func.grad(lambda x: function(x).sum()))(x.flatten(0, -3)), (expected != 0).float().flatten(0, -3)
    )


@pytest.mark.parametrize(("in_dim", "out_dim"), [(0, 0), (1, 0), (0, 1)])
def test_results_of_vmap_are_views(in_dim, out_dim):
    x = torch.ones(3, 3, requires_grad=True)
    y = x * 1
    head = func.vmap(lambda row: row[:2], in_dims=in_dim, out_dims=out_dim)(y)
    assert head._base is y
    head.mul_(torch.tensor([2.0]))
    expected = torch.tensor([[2.0, 2, 1]] * 3) if in_dim == 0 else torch.tensor([[2.0, 2, 1]] * 3).t()
    assert torch.equal(y, expected)
    y.sum().backward()
    assert torch.equal(x.grad, expected)


def test_writes_inside_vmap_change_the_argument():
    x = torch.ones(2, 3, requires_grad=True)
    y = x * 1
    result = func.vmap(lambda row: row.mul_(2))(y)
    assert result is y
    func.vmap(lambda row: row[0].mul_(5))(y)
    y.sum().backward()
    assert x.grad.tolist() == y.tolist() == [[10, 2, 2]] * 2


def test_jvp_of_a_view_made_by_vmap():
    def function(x):
        func.vmap(lambda row: row[:1])(x).mul_(3)
        return x

    output, tangent = func.jvp(lambda x: function(x * 2), (torch.ones(2, 2),), (torch.ones(2, 2),))
    assert output.tolist() == tangent.tolist() == [[6, 2], [6, 2]]


@pytest.mark.parametrize("transform", [func.grad, func.vmap])
def test_autograd_functional_is_refused_inside(transform):
    with pytest.raises(RuntimeError, match=r"torch.autograd.functional.* APIs\) inside"):
        transform(lambda x: torch.autograd.functional.jacobian(lambda y: y.sin().sum(), x).sum())(torch.ones(3))


def test_retain_grad_is_refused_inside():
    def function(x):
        y = x.sin()
        y.retain_grad()
        return y.sum()

    with pytest.raises(RuntimeError, match=r"attempting to call Tensor.retain_grad\(\)"):
        func.grad(function)(torch.ones(3))


@pytest.mark.parametrize(
    "create",
    [
        lambda x: x.new_zeros(3),
        lambda x: x.new_empty_strided((3,), (1,)),
        lambda x: torch.zeros_like(x),
        lambda x: x.new_zeros(3)[None].view(-1),
    ],
)
def test_each_member_of_the_batch_owns_its_part_of_a_created_tensor(create):
    result = func.vmap(create)(torch.ones(2, 3)).zero_()
    result[0] += 1
    assert result.tolist() == [[1, 1, 1], [0, 0, 0]]


def test_strides_of_tensors_created_for_each_member():
    assert func.vmap(lambda x: x.new_empty_strided((2, 3), (10, 3)))(torch.ones(5)).stride() == (17, 10, 3)
    assert func.vmap(lambda x: x.new_empty_strided((2, 3), (1, 2)))(torch.ones(5)).stride() == (6, 1, 2)


def test_a_captured_tensor_that_vmap_returns_is_a_view_of_it():
    captured = torch.arange(3.0)
    result = func.vmap(lambda x: captured, out_dims=1)(torch.ones(4))
    assert result.shape == (3, 4) and result._base is captured
    assert result.data_ptr() == captured.data_ptr()


@pytest.mark.parametrize(("in_dim", "shape"), [(1, (2, 4, 5)), (0, (4, 5, 2))])
def test_view_never_copies_a_batched_tensor(in_dim, shape):
    def halves(x):
        return (x if in_dim else x.t()).view(10)

    with pytest.raises(RuntimeError, match="view size is not compatible"):
        func.vmap(halves, in_dim)(torch.zeros(shape))


def test_reshape_copies_a_batched_tensor_that_has_no_view_of_the_shape():
    def both(x):
        zeros = x.new_zeros(2, 3).t()
        copy = zeros.reshape(6)
        copy.add_(5)
        return copy.add_(x), zeros

    copy, zeros = func.vmap(both)(torch.tensor([1.0, 2.0]))
    assert copy[:, 0].tolist() == [6, 7] and copy._base is None and not zeros.any()


@pytest.mark.parametrize("call", [torch.Tensor.contiguous, lambda x: x.clone(memory_format=torch.contiguous_format)])
def test_members_of_a_batch_are_made_contiguous(call):
    x = torch.arange(24.0).reshape(2, 3, 4)
    result = func.vmap(lambda x: call(x.t()).view(-1), in_dims=1, out_dims=1)(x)
    assert torch.equal(result, torch.stack([x[:, i].t().reshape(-1) for i in range(3)], 1))
    assert func.vmap(lambda x: call(x.t()))(x).stride() == (12, 3, 1)


def test_clones_of_batched_images_in_channels_last():
    x = torch.arange(240.0).reshape(2, 1, 4, 5, 6)
    result = func.vmap(lambda x: x.clone(memory_format=torch.channels_last))(x)
    assert torch.equal(result, x) and result.stride() == (120, 120, 1, 24, 4)


VIEWS = {  # views of tensors of shape (2, 3, 2)
    "as_strided": lambda z: z.as_strided((2,), (3,), 1),
    "columns": lambda z: z.permute(2, 0, 1).view(2, 6)[1],
    "diagonal": lambda z: z.diagonal(),
    "dtype": lambda z: z.view(torch.int32).view(torch.float32)[0],
    "imag": lambda z: torch.view_as_complex(z).imag,
    "pairs": lambda z: torch.view_as_real(torch.view_as_complex(z)),
    "real": lambda z: torch.view_as_complex(z).real,
    "unfold": lambda z: z.transpose(0, 1).unfold(0, 2, 2)[0],
    "view": lambda z: z.view(3, 4).t()[0],
}


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("same_for_all", [True, False])
def test_writes_to_views_change_the_tensor(view, same_for_all):
    def write(x):
        base = x.new_zeros(2, 3, 2) + (0 if same_for_all else 0 * x)
        VIEWS[view](base).add_(x)
        return base

    x = torch.tensor([1.0, 2.0])
    assert torch.equal(func.vmap(write)(x), torch.stack([write(item) for item in x]))


INNER = {
    "argument": lambda z, x: func.vmap(lambda row: row.add_(x))(z),
    "slice": lambda z, x: func.vmap(lambda row: row[:1])(z).add_(x),
    "column": lambda z, x: func.vmap(lambda column: column, in_dims=1)(z)[0].add_(x),
}


@pytest.mark.parametrize("write", INNER)
def test_writes_inside_an_inner_vmap_change_the_tensor(write):
    def outer(x):
        z = x.new_zeros(2, 2)
        INNER[write](z, x)
        return z

    x = torch.tensor([1.0, 2.0])
    assert torch.equal(func.vmap(outer)(x), torch.stack([outer(item) for item in x]))

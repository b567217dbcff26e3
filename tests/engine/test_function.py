"""`autograd.Function`: the static style, `setup_context`, and the instance style of PyTorch 0.2."""

from __future__ import annotations

import functools
import gc
import weakref
from unittest import mock

import pytest

import flambeau as torch
from flambeau.autograd import Function, gradcheck, gradgradcheck
from flambeau.autograd.function import InplaceFunction, NestedIOFunction, once_differentiable


def leaf(*sizes):
    return torch.ones(*sizes, requires_grad=True)


def double(*numbers):
    return torch.tensor(numbers, dtype=torch.float64, requires_grad=True)


class Scale(Function):
    """Compute x * y * k, and define every rule that a Function supports."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x, y, k=1.0):
        return x * y * k

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, y, ctx.k = inputs if len(inputs) == 3 else (*inputs, 1.0)
        ctx.save_for_backward(x, y)
        ctx.save_for_forward(x, y)

    @staticmethod
    def backward(ctx, grad):
        x, y = ctx.saved_tensors
        return grad * y * ctx.k, grad * x * ctx.k, None

    @staticmethod
    def jvp(ctx, dx, dy, _=None):
        x, y = ctx.saved_tensors
        return (dx * y + dy * x) * ctx.k


# --- the static style ---------------------------------------------------------------------------------------------


def test_values_and_gradients():
    x, y = double(1, 2), double(3, 4)
    out = Scale.apply(x, y, 2.0)
    assert out.tolist() == [6, 16] and out.grad_fn.name() == "ScaleBackward" and repr(out).endswith("grad_fn=<ScaleBackward>)")
    out.sum().backward()
    assert x.grad.tolist() == [6, 8] and y.grad.tolist() == [2, 4]
    assert gradcheck(lambda x, y: Scale.apply(x, y, 3.0), (x, y), check_forward_ad=True, check_batched_grad=True)
    assert gradgradcheck(Scale.apply, (x, y))


def test_the_context():
    seen = {}

    class Look(Function):
        @staticmethod
        def forward(ctx, x, y, number, nothing=None):
            seen["needs"] = ctx.needs_input_grad
            seen["grad mode"] = torch.is_grad_enabled()
            ctx.save_for_backward(x, None, y)
            ctx.note = number
            return x * y

        @staticmethod
        def backward(ctx, grad):
            seen["backward mode"] = torch.is_grad_enabled()
            x, nothing, y = ctx.saved_tensors
            assert nothing is None and ctx.note == 7
            return (grad * y if ctx.needs_input_grad[0] else None), (grad * x if ctx.needs_input_grad[1] else None), None, None

    x, y = leaf(2), torch.ones(2)
    out = Look.apply(x, y, 7, None)
    assert out.grad_fn.needs_input_grad == (True, False, False, False) and out.grad_fn.note == 7
    assert out.grad_fn.saved_tensors[0] is x and out.grad_fn.metadata == {}
    assert out.grad_fn.next_functions[0][0].variable is x and out.grad_fn.next_functions[1:] == ((None, 0),)
    out.sum().backward()
    assert seen == {"needs": (True, False, False, False), "grad mode": False, "backward mode": False} and y.grad is None
    torch.autograd.grad(Look.apply(x, y, 7).sum(), x, create_graph=True)
    assert seen["backward mode"] is True
    with torch.no_grad():
        out = Look.apply(x, y, 7)
    assert not out.requires_grad and out.grad_fn is None


def test_contexts_have_a_class():
    class Check(Function):
        @staticmethod
        def forward(ctx: torch.autograd.function.FunctionCtx, x):
            assert isinstance(ctx, torch.autograd.function.FunctionCtx)
            return x * 2

        @staticmethod
        def backward(ctx: torch.autograd.function.FunctionCtx, grad):
            return grad * 2

    assert Check.apply(leaf(2)).grad_fn(torch.ones(2)).tolist() == [2, 2]


def test_results():
    class Many(Function):
        @staticmethod
        def forward(ctx, x):
            plain, whole, out = x * 3, x > 1, x * 2
            ctx.mark_non_differentiable(plain)
            return out, whole, plain, "text", 5

        @staticmethod
        def backward(ctx, *grads):
            assert [type(each).__name__ for each in grads] == ["Tensor"] * 3 + ["NoneType"] * 2
            assert grads[1].dtype is torch.bool and not grads[2].any()
            return grads[0] * 2

    x = leaf(3)
    out, whole, plain, text, five = Many.apply(x)
    assert out.requires_grad and not whole.requires_grad and not plain.requires_grad and (text, five) == ("text", 5)
    out.sum().backward()
    assert x.grad.tolist() == [2, 2, 2]

    class Listed(Function):
        @staticmethod
        def forward(ctx, x, kind):
            return kind([x * 2])

        @staticmethod
        def backward(ctx, grad):
            return grad * 2, None

    assert not Listed.apply(x, list)[0].requires_grad  # a list is one result, unlike a tuple
    (alone,) = Listed.apply(x, tuple)
    assert alone.requires_grad

    class Twice(Function):
        @staticmethod
        def forward(ctx, x):
            out = x * 2
            return out, out

        @staticmethod
        def backward(ctx, first, second):
            return first + 10 * second

    x = leaf(2)
    first, second = Twice.apply(x)
    second.sum().backward()
    assert x.grad.tolist() == [10, 10]


def test_missing_gradients_are_zeros_or_none():
    seen = []

    class Two(Function):
        @staticmethod
        def forward(ctx, x, materialize):
            ctx.set_materialize_grads(materialize)
            return x * 2, x * 3

        @staticmethod
        def backward(ctx, *grads):
            seen.append([None if each is None else each.tolist() for each in grads])
            return None, None

    x = leaf(2)
    Two.apply(x, True)[0].sum().backward()
    Two.apply(x, False)[1].sum().backward()
    assert seen == [[[1, 1], [0, 0]], [None, [1, 1]]] and x.grad is None


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        (lambda g: (g,), RuntimeError, r"function BadBackward returned an incorrect number of gradients \(expected 3, got 1\)"),
        (lambda g: (g, g, None, g), RuntimeError, r"incorrect number of gradients \(expected 3, got 4\)"),
        (lambda g: (g, g, g), RuntimeError, "returned a gradient different than None at position 3"),
        (lambda g: (g, 3, None), RuntimeError, r"expected Variable or None \(got int\)"),
        (lambda g: (g.new_ones(5), g, None), RuntimeError, r"invalid gradient at index 0 - got \[5\] but expected shape"),
        (lambda g: g.new_ones(()), RuntimeError, r"incorrect number of gradients \(expected 3, got 1\)"),
        (lambda g: (g, g, None, None), None, [1, 1]),  # extra trailing Nones are accepted
        (lambda g: (g.new_ones(4, 2), g, None), None, [4, 4]),  # the gradient is summed to the input's shape
        (lambda g: (g.double(), g, None), None, [1, 1]),  # the gradient is cast to the input's dtype
        (lambda g: (None, g, None), None, None),
    ],
)
def test_what_backward_may_give(given, error, message):
    class Bad(Function):
        @staticmethod
        def forward(ctx, x, y, given):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return given(grad)

    x, y = leaf(2), leaf(2)
    out = Bad.apply(x, y, given).sum()
    if error:
        with pytest.raises(error, match=message):
            out.backward()
    else:
        out.backward()
        assert (None if x.grad is None else x.grad.tolist()) == message
        assert x.grad is None or x.grad.dtype is torch.float32


def test_results_that_are_inputs_or_views():
    class Same(Function):
        @staticmethod
        def forward(ctx, x):
            return x

        @staticmethod
        def backward(ctx, grad):
            return grad * 3

    class Part(Function):
        @staticmethod
        def forward(ctx, x):
            return x.view(-1)[:2]

        @staticmethod
        def backward(ctx, grad):
            return torch.cat([grad, grad.new_zeros(1)])

    x = leaf(3)
    y = Same.apply(x)
    assert y is not x and y.grad_fn.name() == "SameBackward" and y._base is x and x._version == 0
    part = Part.apply(x)
    assert part.grad_fn.name() == "PartBackward" and part._is_view()
    for each in (y, part):
        with pytest.raises(RuntimeError, match="This view was created inside a custom Function"):
            each.add_(1)
    (y.sum() + part.sum()).backward()
    assert x.grad.tolist() == [4, 4, 3]
    plain = torch.ones(3)
    assert Same.apply(plain) is not plain and not Same.apply(plain).requires_grad


def test_in_place():
    class Double(InplaceFunction):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x.mul_(2)

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    x = leaf(3)
    y = x.clone()
    out = Double.apply(y)
    assert out is y and y.grad_fn.name() == "DoubleBackward" and y.tolist() == [2, 2, 2]
    y.sum().backward()
    assert x.grad.tolist() == [2, 2, 2]
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad has been used in an in-place operation"):
        Double.apply(leaf(3))

    x.grad = None
    base = x.clone()
    view = base[:2]
    assert Double.apply(view) is view and base.grad_fn.name() == "torch::autograd::CopySlices"
    base.sum().backward()
    assert x.grad.tolist() == [2, 2, 1] and base.tolist() == [2, 2, 1]

    class Forgotten(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x.mul_(2).clone()

        @staticmethod
        def backward(ctx, grad):
            return grad

    with pytest.raises(RuntimeError, match="Some elements marked as dirty during the forward method were not returned"):
        Forgotten.apply(x.clone())


def test_saved_tensors_are_guarded():
    class Save(Function):
        @staticmethod
        def forward(ctx, x, what):
            ctx.save_for_backward(*what)
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            ctx.saved_tensors
            return grad, None

    x = leaf(2)
    with pytest.raises(TypeError, match="save_for_backward can only save variables, but argument 0 is of type int"):
        Save.apply(x, (3,))
    y = x * 1
    out = Save.apply(y, (y,))
    y.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.sum().backward()
    out = Save.apply(x, (x,))
    out.sum().backward()
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        out.sum().backward()
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        out.grad_fn.saved_tensors
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.tolist(), torch.tensor):
        out = Save.apply(x, (x,))
    assert out.grad_fn.saved_tensors[0].tolist() == [1, 1]

    class Once(Save):
        clear_saved_tensors_on_access = True

        @staticmethod
        def backward(ctx, grad):
            ctx.saved_tensors
            return ctx.saved_tensors, None

    with pytest.raises(RuntimeError, match="saved_tensors can only be accessed once when clear_saved_tensors_on_access=True"):
        Once.apply(x, (x,)).sum().backward()


def test_saving_the_result_makes_no_cycle():
    class Exp(Function):
        @staticmethod
        def forward(ctx, x):
            out = x.exp()
            ctx.save_for_backward(out)
            return out

        @staticmethod
        def backward(ctx, grad):
            return grad * ctx.saved_tensors[0]

    x = double(0.5)
    assert gradcheck(Exp.apply, (x,)) and gradgradcheck(Exp.apply, (x,))
    gc.collect()
    gc.disable()
    try:
        out = Exp.apply(x)
        assert out.grad_fn.saved_tensors[0].grad_fn is out.grad_fn
        gone = weakref.ref(out)
        del out
        assert gone() is None and gc.collect() == 0
    finally:
        gc.enable()


def test_once_differentiable():
    class Square(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        @once_differentiable
        def backward(ctx, grad):
            return grad * ctx.saved_tensors[0] * 2

    x, weight = leaf(3), leaf(3)
    (grad,) = torch.autograd.grad(Square.apply(x), x, weight, create_graph=True)
    assert grad.tolist() == [2, 2, 2]
    with pytest.raises(RuntimeError, match="trying to differentiate twice a function that was marked with @once_differentiable"):
        grad.sum().backward()


def test_missing_methods():
    class Nothing(Function):
        pass

    class Forward(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

    class Both(Forward):
        @staticmethod
        def backward(ctx, grad):
            return grad

        vjp = backward

    class ByVjp(Forward):
        @staticmethod
        def vjp(ctx, grad):
            return grad * 2

    x = leaf(2)
    with pytest.raises(NotImplementedError, match="You must implement the forward function for custom autograd.Function"):
        Nothing.apply(x)
    with pytest.raises(NotImplementedError, match="You must implement either the backward or vjp method"):
        Forward.apply(x).sum().backward()
    with pytest.raises(RuntimeError, match="Implementing both 'backward' and 'vjp'"):
        Both.apply(x).sum().backward()
    ByVjp.apply(x).sum().backward()
    assert x.grad.tolist() == [2, 2]
    with pytest.raises(RuntimeError, match="must override the setup_context staticmethod"):
        torch.func.jvp(ByVjp.apply, (torch.ones(2),), (torch.ones(2),))

    class WithoutJvp(Scale):
        jvp = Function.jvp

    with pytest.raises(NotImplementedError, match="You must implement the jvp function"):
        torch.func.jvp(WithoutJvp.apply, (torch.ones(2), torch.ones(2)), (torch.ones(2), torch.ones(2)))


def test_boxed_gradients():
    class Boxed(Function):
        boxed_grads_call = True

        @staticmethod
        def forward(ctx, x):
            return x * 2, x * 3

        @staticmethod
        def backward(ctx, grads):
            assert type(grads) is list
            first, second = grads
            grads.clear()
            return first * 2 + second * 3

    x = leaf(2)
    Boxed.apply(x)[1].sum().backward()
    assert x.grad.tolist() == [3, 3]


def test_hooks_of_its_node():
    log = []
    x, y = leaf(2), leaf(2)
    out = Scale.apply(x, y)
    out.grad_fn.register_hook(lambda inputs, outputs: log.append((len(inputs), len(outputs))))
    out.grad_fn.register_prehook(lambda outputs: (outputs[0] * 10,))
    out.sum().backward()
    assert log[0][1] == 1 and x.grad.tolist() == [10, 10]


# --- the transforms -----------------------------------------------------------------------------------------------


def test_under_transforms():
    x, y = torch.arange(3.0), torch.arange(3.0) + 1
    assert torch.func.grad(lambda x: Scale.apply(x, y).sum())(x).tolist() == [1, 2, 3]
    assert torch.func.jvp(Scale.apply, (x, y), (torch.ones(3), torch.zeros(3)))[1].tolist() == [1, 2, 3]
    assert torch.vmap(Scale.apply)(x, y).tolist() == [0, 2, 6]
    assert torch.vmap(torch.func.grad(Scale.apply))(x, y).tolist() == [1, 2, 3]
    assert torch.func.jacrev(Scale.apply)(x, y).tolist() == [[1, 0, 0], [0, 2, 0], [0, 0, 3]]
    assert torch.func.jacfwd(Scale.apply)(x, y).tolist() == [[1, 0, 0], [0, 2, 0], [0, 0, 3]]


def test_a_batching_rule_of_its_own():
    seen = []

    class Sort(Function):
        @staticmethod
        def forward(x, dim):
            return torch.tensor(sorted(x.tolist())) if x.ndim == 1 else x.sort(dim).values

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def backward(ctx, grad):
            return grad, None

        @staticmethod
        def vmap(info, in_dims, x, dim):
            seen.append((info.batch_size, info.randomness, in_dims))
            return Sort.apply(x.movedim(in_dims[0], 0), dim + 1), 0

    x = torch.tensor([[3.0, 1.0], [2.0, 5.0], [9.0, 4.0]])
    assert torch.vmap(lambda each: Sort.apply(each, 0))(x).tolist() == [[1, 3], [2, 5], [4, 9]]
    assert torch.vmap(lambda each: Sort.apply(each, 0), in_dims=1)(x).tolist() == [[2, 3, 9], [1, 4, 5]]
    assert seen == [(3, "error", (0, None)), (2, "error", (1, None))]

    class Without(Sort):
        vmap = Function.vmap

    class Ambiguous(Sort):
        generate_vmap_rule = True

    class Unsplit(Sort):
        @staticmethod
        def vmap(info, in_dims, x, dim):
            return x

    for function, message in {
        Linear: r"In order to use an autograd.Function with functorch transforms .* must override the setup_context staticmethod",
        Without: "You tried to vmap over Without, but it does not have vmap support",
        Ambiguous: "it has both generate_vmap_rule=True and an overridden vmap staticmethod",
        Unsplit: "Expected the vmap staticmethod to have two returns, an output and out_dims",
    }.items():
        with pytest.raises(RuntimeError, match=message):
            torch.vmap(lambda each, function=function: function.apply(each, 0))(x)


def test_batching_rules_of_trees():
    class Pair(Function):
        out_dims = 0

        @staticmethod
        def forward(pair):
            return pair["a"] * pair["b"], pair["a"] + pair["b"]

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def vmap(info, in_dims, pair):
            assert in_dims == ({"a": 0, "b": None},)
            return Pair.apply({"a": pair["a"], "b": pair["b"]}), Pair.out_dims

    call = torch.vmap(lambda a: Pair.apply({"a": a, "b": torch.tensor(2.0)}))
    product, total = call(torch.arange(3.0))
    assert product.tolist() == [0, 2, 4] and total.tolist() == [2, 3, 4]
    Pair.out_dims = (0, None)
    assert call(torch.arange(2.0))[1].tolist() == [[2, 3], [2, 3]]
    Pair.out_dims = (0,)
    with pytest.raises(RuntimeError, match=r"Expected out_dims=\(0,\) to be compatible with the structure of `output`"):
        call(torch.arange(2.0))


# --- 0.2 ----------------------------------------------------------------------------------------------------------


class Linear(Function):
    """PyTorch 0.2 style, as in tutorials of 2017: a call's state is stored on the instance."""

    def forward(self, input, weight, bias=None):
        self.save_for_backward(input, weight, bias)
        output = input.mm(weight.t())
        if bias is not None:
            output += bias.unsqueeze(0).expand_as(output)
        return output

    def backward(self, grad_output):
        input, weight, bias = self.saved_tensors
        grad_input = grad_weight = grad_bias = None
        if self.needs_input_grad[0]:
            grad_input = grad_output.mm(weight)
        if self.needs_input_grad[1]:
            grad_weight = grad_output.t().mm(input)
        if bias is not None and self.needs_input_grad[2]:
            grad_bias = grad_output.sum(0).squeeze(0)
        return grad_input, grad_weight, grad_bias


def test_the_instance_style():
    x = torch.arange(6.0, dtype=torch.float64).reshape(2, 3).requires_grad_()
    w = torch.arange(12.0, dtype=torch.float64).reshape(4, 3).requires_grad_()
    b = torch.ones(4, dtype=torch.float64, requires_grad=True)
    assert torch.allclose(Linear()(x, w, b), x @ w.t() + b) and Linear()(x, w, b).grad_fn.name() == "LinearBackward"
    assert gradcheck(lambda x, w, b: Linear()(x, w, b), (x, w, b))
    assert gradcheck(lambda x, w: Linear()(x, w), (x, w))  # backward returns three gradients for two inputs, the last one None
    assert not Linear()(x.detach(), w.detach()).requires_grad
    out = Linear()(x.detach(), w, None)
    out.sum().backward()
    assert torch.equal(w.grad, x.detach().sum(0).expand(4, 3)) and x.grad is None


def test_the_instance_style_keeps_arguments_of_its_constructor():
    class AddConstant(Function):
        def __init__(self, constant):
            super().__init__()
            self.constant = constant

        def forward(self, x):
            return x + self.constant

        def backward(self, grad):
            return grad * self.constant

    x = leaf(2)
    function = AddConstant(3)
    out = function(x)
    out.sum().backward()
    assert out.tolist() == [4, 4] and x.grad.tolist() == [3, 3]

    class Dirty(Function):
        def forward(self, x):
            self.mark_dirty(x)
            return x.zero_()

        def backward(self, grad):
            return grad * 0

    y = x * 2
    out = Dirty()(y)
    assert out.tolist() == [0, 0] and y.tolist() == [0, 0]


def test_nested_results():
    class Pairs(NestedIOFunction):
        def forward_extended(self, pair, nothing):
            return pair[0] * 2, (pair[1] * 2, pair[0] + pair[1])

        def backward_extended(self, first, rest):
            return (first * 2 + rest[1], rest[0] * 2 + rest[1])

    x, y = leaf(2), leaf(2)
    first, (second, third) = Pairs()((x, y), None)
    assert first.tolist() == [2, 2] and third.tolist() == [2, 2]
    (first.sum() + third.sum()).backward()
    assert x.grad.tolist() == [3, 3] and y.grad.tolist() == [1, 1]
    with pytest.raises(ValueError, match="Auto nesting doesn't know how to process an input object of type int"):
        Pairs()((x, y), 2)


class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight=None, scale=1):
        ctx.save_for_backward(x, weight)
        ctx.scale = scale
        return x * weight * scale

    @staticmethod
    def backward(ctx, grad):
        x, weight = ctx.saved_tensors
        assert ctx.needs_input_grad[:2] == (True, True)
        return (grad * weight * ctx.scale, grad * x * ctx.scale, None)[: len(ctx.needs_input_grad)]


def test_arguments_by_name_are_arguments():
    x, weight = torch.tensor([2.0], requires_grad=True), torch.tensor([3.0], requires_grad=True)
    for args, kwargs, scale in ((x,), {"weight": weight}, 1), ((x, weight), {"scale": 5}, 5), ((), {"weight": weight, "x": x}, 1):
        x.grad = weight.grad = None
        Scaled.apply(*args, **kwargs).backward()
        assert (x.grad.item(), weight.grad.item()) == (3 * scale, 2 * scale)
    with pytest.raises(TypeError, match="missing required argument: 'weight' \\(position 1\\)"):
        Scaled.apply(x, scale=2)


def test_defaults_are_inputs_of_setup_context():
    class Doubled(torch.autograd.Function):
        @staticmethod
        def forward(x, scale=2):
            return x * scale

        @staticmethod
        def setup_context(ctx, inputs, output):
            _, ctx.scale = inputs

        @staticmethod
        def backward(ctx, grad):
            return grad * ctx.scale, None

    x = torch.ones(1, requires_grad=True)
    (Doubled.apply(x) + Doubled.apply(x, scale=3)).backward()
    assert x.grad.item() == 5


# --- methods that are replaced --------------------------------------------------------------------------------------


class Ninefold:
    def __call__(self, ctx, value):
        return 9 * value


def of_class(cls, ctx, value):
    return 9 * value


STAND_INS = {
    "a mock": lambda: mock.Mock(side_effect=lambda ctx, value: 9 * value), "a partial": lambda: functools.partial(lambda factor, ctx, value: factor * value, 9),
    "a function": lambda: lambda ctx, value: 9 * value, "a static method": lambda: staticmethod(lambda ctx, value: 9 * value),
    "a class method": lambda: classmethod(of_class), "an object": Ninefold,
}  # fmt: skip


@pytest.mark.parametrize("stand_in", STAND_INS)
@pytest.mark.parametrize("style", [staticmethod, lambda function: function], ids=["static", "ordinary"])
def test_whatever_can_be_called_may_stand_for_a_method(style, stand_in):
    """Methods of a Function can be patched temporarily, also between forward and backward."""

    class Double(torch.autograd.Function):
        forward = style(lambda ctx, x: 2 * x)
        backward = style(lambda ctx, g: 2 * g)
        jvp = style(lambda ctx, t: 2 * t)

    x = torch.ones(1, requires_grad=True)
    made = Double.apply(x)
    with mock.patch.object(Double, "backward", STAND_INS[stand_in]()):
        made.backward()
    assert x.grad.item() == 9
    with mock.patch.object(Double, "forward", STAND_INS[stand_in]()):
        assert Double.apply(x).item() == 9
    with mock.patch.object(Double, "jvp", STAND_INS[stand_in]()), torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(torch.ones(1), torch.ones(1))
        assert torch.autograd.forward_ad.unpack_dual(Double.apply(dual)).tangent.item() == 9
    Double.apply(x).backward()
    assert x.grad.item() == 11


def test_a_mock_that_wraps_a_method_sees_its_arguments():
    class Double(torch.autograd.Function):
        forward = staticmethod(lambda ctx, x: 2 * x)
        backward = staticmethod(lambda ctx, g: 2 * g)

    for name in ("forward", "backward"):
        with mock.patch.object(Double, name, wraps=getattr(Double, name)) as watched:
            Double.apply(torch.ones(1, requires_grad=True)).backward()
        (ctx, value), _ = watched.call_args
        assert watched.call_count == 1 and isinstance(ctx, Double) and value.item() == 1


def test_class_methods_are_given_class_and_context():
    class Power(Function):
        exponent = 2

        @classmethod
        def forward(cls, ctx, x, shift=0.0):
            ctx.save_for_backward(x)
            return x**cls.exponent + shift

        @classmethod
        def backward(cls, ctx, grad):
            (x,) = ctx.saved_tensors
            return grad * cls.exponent * x ** (cls.exponent - 1), None

    class Cube(Power):
        exponent = 3

    x = torch.tensor(2.0, requires_grad=True)
    (Power.apply(x) + Cube.apply(x, 1.0)).backward()
    assert x.grad == 4 + 12


class ScaledCopy(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        result = x * 2
        ctx.mark_dirty(result)
        return result

    @staticmethod
    def backward(ctx, grad):
        ctx.saved_variables
        return grad * 2


def test_warnings_about_the_context():
    with pytest.warns(UserWarning, match="received a tensor that was not an input"):
        y = ScaledCopy.apply(torch.ones(1, requires_grad=True))
    with pytest.warns(DeprecationWarning, match="'saved_variables' is deprecated"):
        y.backward()


class Identity(Function):
    @staticmethod
    def forward(ctx, x):
        return x

    @staticmethod
    def backward(ctx, grad):
        return grad * 2


def test_modes_receive_the_view_that_an_identity_returns():
    names = []

    class Log(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            names.append(func.__name__)
            return func(*args, **(kwargs or {}))

    x = torch.ones(2, requires_grad=True)
    with Log():
        y = Identity.apply(x)
    assert names == ["view_as"] and y._base is x
    y.sum().backward()
    assert x.grad.tolist() == [2, 2]

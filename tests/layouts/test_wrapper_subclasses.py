"""Wrapper subclasses: tensors that contain other tensors and implement operations by `__torch_dispatch__`."""

from __future__ import annotations

import copy
import io
import pickle

import numpy as np
import pytest
from flambeau.utils._python_dispatch import is_traceable_wrapper_subclass, return_and_correct_aliasing
from flambeau.utils._pytree import tree_map

import flambeau as torch

aten = torch.ops.aten


class Pair(torch.Tensor):
    """A wrapper of two tensors; operations apply to both."""

    seen: list = []

    @staticmethod
    def __new__(cls, a, b, requires_grad=False):
        return torch.Tensor._make_wrapper_subclass(
            cls, a.shape, strides=a.stride(), dtype=a.dtype, device=a.device, requires_grad=requires_grad
        )

    def __init__(self, a, b, requires_grad=False):
        self.a, self.b = a, b

    __torch_function__ = torch._C._disabled_torch_function_impl

    def __tensor_flatten__(self):
        return ["a", "b"], None

    @staticmethod
    def __tensor_unflatten__(inner, meta, size, stride):
        return Pair(inner["a"], inner["b"])

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        cls.seen.append(func)

        def of(name):
            return lambda leaf: getattr(leaf, name) if isinstance(leaf, Pair) else leaf

        first, second = (func(*tree_map(of(name), args), **tree_map(of(name), kwargs or {})) for name in "ab")
        if isinstance(first, torch.Tensor):
            out = Pair(first, second)
        elif isinstance(first, (tuple, list)):
            out = type(first)(list(map(Pair, first, second)))
        else:
            out = first
        return return_and_correct_aliasing(func, args, kwargs, out)


class Quantized(torch.Tensor):
    """A quantized weight: it is stored as integers and a scale, and dequantized when it is used."""

    @staticmethod
    def __new__(cls, whole, scale):
        return torch.Tensor._make_wrapper_subclass(cls, whole.shape, dtype=scale.dtype, device=whole.device)

    def __init__(self, whole, scale):
        self.whole, self.scale = whole, scale

    def dequantize(self):
        return self.whole.to(self.scale.dtype) * self.scale

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if func is torch.nn.functional.linear:
            return args[0] @ args[1].dequantize().t() + (args[2] if len(args) > 2 and args[2] is not None else 0)
        with torch._C.DisableTorchFunctionSubclass():
            return func(*args, **(kwargs or {}))

    @classmethod
    def __torch_dispatch__(cls, func, types, args, kwargs):
        self = args[0]
        if func is aten.detach.default:
            return Quantized(self.whole, self.scale)
        if func is aten._to_copy.default:
            return Quantized(self.whole, self.scale.to(kwargs["dtype"]))
        if func is aten.mul.Tensor:
            return self.dequantize() * args[1]
        raise NotImplementedError(f"{func} of quantized weights")


def pair(requires_grad=False, shape=(2, 3)):
    rng = np.random.default_rng(len(shape))
    return Pair(*(torch.tensor(rng.uniform(0.5, 2, shape)) for _ in range(2)), requires_grad)


def test_a_wrapper_says_what_it_is():
    x = Pair(torch.ones(2, 3).t(), torch.ones(3, 2))
    assert (x.shape, x.stride(), x.dtype, x.device, type(x)) == ((3, 2), (1, 3), torch.float32, torch.device("cpu"), Pair)
    assert x.is_leaf and not x.requires_grad and x.numel() == 6 and x.ndim == 2 and is_traceable_wrapper_subclass(x)


def test_a_wrapper_is_pickled_with_what_it_holds():
    x = pair(requires_grad=True)
    file = io.BytesIO()
    torch.save(x, file)
    file.seek(0)
    for other in (pickle.loads(pickle.dumps(x)), torch.load(file, weights_only=False)):
        assert type(other) is Pair and other.device == x.device and other.shape == x.shape and other.requires_grad
        assert torch.equal(other.a, x.a) and torch.equal((other + 1).b, x.b + 1)


class Rows(torch.Tensor):
    """A matrix given by row indices: `Rows @ x` sums the selected rows of `x`."""

    @staticmethod
    def __new__(cls, numbers):
        return torch.Tensor._make_wrapper_subclass(cls, numbers.shape, dtype=numbers.dtype)

    def __init__(self, numbers):
        self.numbers = numbers

    __torch_function__ = torch._C._disabled_torch_function_impl

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        if func is aten.mm.default:
            return args[1][args[0].numbers].sum(0)
        return func(*tree_map(lambda leaf: leaf.numbers if isinstance(leaf, Rows) else leaf, args), **(kwargs or {}))


def test_a_class_says_what_an_index_and_a_product_are():
    x, rows = torch.arange(12.0).view(4, 3), Rows(torch.tensor([[0, 2], [3, 3]]))
    assert torch.equal(x[rows], x[rows.numbers])
    for product in (rows @ x, torch.mm(rows, x), torch.matmul(rows, x)):
        assert torch.equal(product, x[rows.numbers].sum(0))


def test_what_a_wrapper_holds_is_shared():
    x = pair()
    assert not x.is_shared() and x.share_memory_() is x
    assert x.is_shared() and x.a.is_shared() and x.b.is_shared()


FUNCTIONS = {
    "add": lambda x, y: x + y, "number": lambda x, y: 2 - x * 3, "exp": lambda x, y: x.exp(), "matmul": lambda x, y: x @ y.t(),
    "sum": lambda x, y: x.sum(), "mean": lambda x, y: x.mean(0, keepdim=True), "power": lambda x, y: x**2, "softmax": lambda x, y: x.softmax(1),
    "reshape": lambda x, y: x.reshape(3, 2), "index": lambda x, y: x[0, 1:], "cat": lambda x, y: torch.cat([x, y], 1), "where":
    lambda x, y: torch.where(x > y, x, y), "expand": lambda x, y: x.unsqueeze(0).expand(4, 2, 3), "max": lambda x, y: x.max(1).values,
    "linear": lambda x, y: torch.nn.functional.linear(x, y), "log": lambda x, y: (x / y).log().abs(), "stack": lambda x, y: torch.stack([x, y]),
    "norm": lambda x, y: torch.nn.functional.layer_norm(x, (3,)), "clamp": lambda x, y: x.clamp(0.7, 1.5), "split": lambda x, y: x.split(2, 1)[1],
    "unfold": lambda x, y: x.unfold(1, 2, 1).sum(0), "strides": lambda x, y: x.as_strided((2, 2), (3, 1), 1),
    "mixed": lambda x, y: x * torch.full((3,), 2.0, dtype=torch.float64), "first plain": lambda x, y: torch.eye(2, dtype=torch.float64) @ x,
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_and_their_gradients(name):
    x, y = pair(requires_grad=True), pair(shape=(2, 3))
    result = FUNCTIONS[name](x, y)
    assert type(result) is Pair and result.requires_grad and result.grad_fn is not None
    result.sum().backward()
    assert type(x.grad) is Pair
    for side in "ab":
        leaf = getattr(x, side).clone().requires_grad_()
        expected = FUNCTIONS[name](leaf, getattr(y, side))
        torch.testing.assert_close(getattr(result, side), expected.detach())
        expected.sum().backward()
        torch.testing.assert_close(getattr(x.grad, side), leaf.grad)


def test_classes_are_asked_for_pytorchs_operators():
    x = pair()
    expected = {
        "x + x": aten.add.Tensor, "x * 2": aten.mul.Tensor, "x.exp()": aten.exp.default, "x > 1": aten.gt.Scalar, "x == x": aten.eq.Tensor,
        "x.mm(x.t())": aten.mm.default, "x.sum()": aten.sum.default, "x.sum(0)": aten.sum.dim_IntList, "x.detach()": aten.detach.default,
        "x.clone()": aten.clone.default, "x.to(torch.half)": aten._to_copy.default, "x**2": aten.pow.Tensor_Scalar, "x.relu()":
        aten.relu.default, "x.transpose(0, 1)": aten.transpose.int, "x.add_(1)": aten.add_.Tensor, "x.zero_()": aten.zero_.default,
        "torch.zeros_like(x)": aten.zeros_like.default, "torch.cat([x, x])": aten.cat.default, "x.view(6)": aten.view.default,
        "x.unfold(1, 2, 1)": aten.unfold.default, "x.as_strided((2,), (1,))": aten.as_strided.default, "x.view(torch.int64)": aten.view.dtype,
        "x[0]": aten.select.int, "x[:, 1:]": aten.slice.Tensor, "x[None]": aten.unsqueeze.default, "x.lerp(x, 0.5)": aten.lerp.Scalar,
    }  # fmt: skip
    for program, operator in expected.items():
        Pair.seen.clear()
        eval(program, {"x": x, "torch": torch})
        assert Pair.seen[-1] is operator, program


def test_gradients_accumulate_and_reach_plain_leaves():
    x, plain = pair(requires_grad=True), torch.ones(3, dtype=torch.float64, requires_grad=True)
    for _ in range(2):
        (x * plain).sum().backward()
    torch.testing.assert_close(x.grad.a, torch.full((2, 3), 2.0, dtype=torch.float64))
    torch.testing.assert_close(plain.grad.a, 2 * x.a.sum(0))
    (gradient,) = torch.autograd.grad((x * x).sum(), x)
    torch.testing.assert_close(gradient.b, 2 * x.b)
    first = torch.autograd.grad((x**3).sum(), x, create_graph=True)[0]
    torch.testing.assert_close(torch.autograd.grad(first.sum(), x)[0].a, 6 * x.a)


def test_writes():
    x = pair()
    a = x.a.clone()
    assert x.add_(1) is x and torch.equal(x.a, a + 1)
    x.copy_(pair()).mul_(2)
    torch.testing.assert_close(x.b, 2 * pair().b)
    leaf = pair(requires_grad=True)
    with pytest.raises(RuntimeError, match="a leaf Variable"):
        leaf.mul_(2)
    y = leaf * 2
    y.mul_(leaf)
    y.sum().backward()
    torch.testing.assert_close(leaf.grad.a, 4 * leaf.a)


def test_parameters_and_optimizers():
    model = torch.nn.Linear(3, 2, bias=False)
    model.weight = torch.nn.Parameter(pair())
    assert isinstance(model.weight, torch.nn.Parameter) and type(model.weight) is Pair and model.weight.requires_grad
    before = model.weight.a.clone()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    model(torch.ones(1, 3, dtype=torch.float64)).sum().backward()
    optimizer.step()
    torch.testing.assert_close(model.weight.a, before - 0.5)


def test_quantized_weights():
    weight = Quantized(torch.tensor([[10, 20], [30, 40]], dtype=torch.int8), torch.tensor(0.1))
    assert weight.dtype is torch.float32 and type(weight * 2) is torch.Tensor
    torch.testing.assert_close(weight * 2, torch.tensor([[2.0, 4.0], [6.0, 8.0]]))
    model = torch.nn.Linear(2, 2)
    model.weight = torch.nn.Parameter(weight, requires_grad=False)
    x = torch.tensor([[1.0, 1.0]], requires_grad=True)
    model(x).sum().backward()
    torch.testing.assert_close(x.grad, torch.tensor([[4.0, 6.0]]))
    assert weight.double().scale.dtype is torch.float64 and weight.to(torch.float32) is weight
    model = model.to(torch.float64)
    assert type(model.weight) is Quantized and model.weight.dtype is torch.float64 and model.weight.scale.dtype is torch.float64
    with pytest.raises(NotImplementedError, match=r"aten.add.Tensor of quantized weights"):
        weight + 1


def test_what_cannot_be_done_is_said():
    class Silent(torch.Tensor):
        @staticmethod
        def __new__(cls):
            return torch.Tensor._make_wrapper_subclass(cls, (2,))

        @classmethod
        def __torch_dispatch__(cls, func, types, args, kwargs):
            return NotImplemented

    class Plain(torch.Tensor):
        pass

    with pytest.raises(TypeError, match="all __torch_dispatch__ handlers returned NotImplemented"):
        Silent().exp()
    with pytest.raises(TypeError, match="Plain must define __torch_dispatch__"):
        torch.Tensor._make_wrapper_subclass(Plain, (2,))


def test_products_of_batches_convolutions_and_new_tensors_ask_the_class():
    x = Pair(torch.ones(2, 3, 4, 5), torch.zeros(2, 3, 4, 5), True)
    weight = Pair(torch.ones(2, 3, 1, 1), torch.ones(2, 3, 1, 1))
    product = x @ x.transpose(-1, -2)
    assert type(product) is Pair and product.shape == (2, 3, 4, 4)
    image = torch.nn.functional.conv2d(x, weight)
    assert type(image) is Pair and image.a.shape == (2, 2, 4, 5)
    (product.sum() + image.sum()).backward()
    torch.testing.assert_close(x.grad.a, torch.full((2, 3, 4, 5), 2.0 * 4 + 2))
    for made, value in ((x.new_zeros(2), 0.0), (x.new_ones((2,)), 1.0), (x.new_full((2,), 3.0), 3.0)):
        assert type(made) is Pair and made.a.tolist() == [value] * 2
    logits, classes = Pair(torch.ones(2, 3), torch.zeros(2, 3), True), torch.tensor([0, 2])
    loss = torch.nn.functional.cross_entropy(logits, Pair(classes, classes))
    loss.backward()
    torch.testing.assert_close(loss.a, torch.tensor(3.0).log())
    torch.testing.assert_close(logits.grad.a, torch.tensor([[-1, 0.5, 0.5], [0.5, 0.5, -1]]) / 3)


def test_copies_of_wrappers_and_of_parameters_that_are_wrappers():
    x = Pair(torch.ones(2), torch.zeros(2))
    parameter = torch.nn.Parameter(Pair(torch.ones(2), torch.zeros(2)))
    copied, again = copy.deepcopy(x), copy.deepcopy(parameter)
    assert type(copied) is type(again) is Pair and isinstance(again, torch.nn.Parameter) and again.requires_grad
    copied.a.add_(1)
    assert x.a.tolist() == [1, 1] and not isinstance(copied, torch.nn.Parameter)


def test_contiguous_copies_the_parts_contiguously():
    x = Pair(torch.ones(2, 3), torch.zeros(2, 3)).t().contiguous()
    assert x.stride() == x.a.stride() == x.b.stride() == (2, 1)


class Halves(torch.autograd.Function):
    """A Function that takes a wrapper and returns a plain tensor. The gradient of its input is a wrapper again."""

    @staticmethod
    def forward(ctx, pair):
        return pair.a + pair.b

    @staticmethod
    def backward(ctx, gradient):
        return Pair(gradient, gradient)


def test_functions_between_wrappers_and_tensors():
    x = Pair(torch.ones(2), torch.full((2,), 3.0), True)
    (Halves.apply(x) * torch.tensor([1.0, 2.0])).sum().backward()
    assert type(x.grad) is Pair and x.grad.b.tolist() == [1, 2]


def test_hooks_of_saved_tensors_get_wrappers():
    packed = []

    def pack(tensor):
        packed.append(type(tensor))
        return tensor

    x = Pair(torch.full((2,), 2.0), torch.full((2,), 3.0), True)
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        y = (x * x).exp().sum()
    y.backward()
    assert set(packed) == {Pair}
    torch.testing.assert_close(x.grad.a, torch.full((2,), 2 * 2.0).mul(torch.tensor(4.0).exp()))


def test_a_backward_pass_has_a_number():
    seen = []
    x = torch.ones(1, requires_grad=True)
    y = x * 2
    y.register_hook(lambda gradient: seen.append(torch._C._current_graph_task_id()))
    y.backward()
    assert seen[0] != -1 == torch._C._current_graph_task_id()


class Recording(torch.Tensor):
    """A wrapper that records the operations called on it."""

    asked: list = []
    __torch_function__ = torch._C._disabled_torch_function_impl

    @staticmethod
    def __new__(cls, data):
        wrapper = torch.Tensor._make_wrapper_subclass(
            cls, data.size(), strides=data.stride(), dtype=data.dtype, device=data.device
        )
        wrapper.inner = data
        return wrapper

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        cls.asked.append((func, args))
        plain = torch.utils._pytree.tree_map_only(cls, lambda wrapper: wrapper.inner, (args, kwargs or {}))
        return func(*plain[0], **plain[1])


def test_functions_that_are_one_operator_are_asked_for_as_such():
    aten, data = torch.ops.aten, torch.tensor([[0, 1, 2, 0], [1, 0, 1, 2]])
    x, places = Recording(data), torch.tensor([0, 2])

    def asked(call, operator, expected):
        Recording.asked.clear()
        result = call()
        assert Recording.asked[0][0] is operator
        assert result == expected if isinstance(expected, bool) else result.tolist() == expected.tolist()
        return Recording.asked[0][1]

    asked(lambda: x.equal(data), aten.equal.default, True)
    asked(lambda: torch.equal(data, x), aten.equal.default, True)
    tracked = Recording(data.float()).requires_grad_()
    assert asked(lambda: torch.equal(tracked, data), aten.equal.default, True)[0] is tracked
    asked(lambda: x.index_select(1, places), aten.index_select.default, data[:, places])
    asked(lambda: torch.index_select(x, 1, places), aten.index_select.default, data[:, places])
    assert asked(lambda: x[:, places], aten.index.Tensor, data[:, places])[1][0] is None
    assert len(asked(lambda: x[..., data[0] > 0], aten.index.Tensor, data[:, 1:3])[1]) == 2
    asked(lambda: x @ torch.ones(4, 1, dtype=torch.int64), aten.mm.default, data.sum(1, keepdim=True))
    assert type(asked(lambda: torch.cat([x, x]), aten.cat.default, torch.cat([data, data]))[0]) is list
    out = torch.empty(4, 4, dtype=torch.int64)
    asked(lambda: torch.cat([x, x], out=out), aten.cat.out, torch.cat([data, data]))
    assert x[0, 1].item() == 1 and out.shape == (4, 4)


def test_writes_at_indices_that_are_wrappers():
    def wrapped(data):
        return Pair(torch.tensor(data), torch.tensor(data))

    x = Pair(torch.zeros(2, 3), torch.ones(2, 3))
    x[wrapped([True, False])] = 5.0
    x[:, wrapped([2, 0])] = Pair(torch.tensor([7.0, 8.0]), torch.tensor([9.0, 10.0]))
    assert x.a.tolist() == [[8, 5, 7], [8, 0, 7]]
    assert x.b.tolist() == [[10, 5, 9], [10, 1, 9]]


def test_operators_in_place_ask_the_class():
    x = Recording(torch.tensor([1, 2]))
    x += 1
    assert x.inner.tolist() == [2, 3] and Recording.asked[-1][0] is torch.ops.aten.add_.Tensor


def test_calling_the_inherited_dispatch_computes_on_the_data():
    class Logged(torch.Tensor):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            seen.append(str(func))
            return super().__torch_dispatch__(func, types, args, kwargs)

    seen = []
    x = torch.Tensor._make_subclass(Logged, torch.ones(2))
    x.add_(1)
    total = x + x
    assert type(total) is torch.Tensor and total.tolist() == [4, 4]
    assert seen == ["aten.add_.Tensor", "aten.add.Tensor"]


CUBES = lambda x: (x * x * x).sum()  # noqa: E731
ONE_TO_THREE = [1.0, 2.0, 3.0]
FUNCTIONAL = torch.autograd.functional
PRODUCTS = {  # each with its expected value for a tensor x
    "jacobian": (lambda x, v: FUNCTIONAL.jacobian(lambda y: y * y, x), lambda x: np.diag(2 * x)),
    "rows": (lambda x, v: FUNCTIONAL.jacobian(lambda y: y * y, x, vectorize=True), lambda x: np.diag(2 * x)),
    "columns": (
        lambda x, v: FUNCTIONAL.jacobian(lambda y: y * y, x, vectorize=True, strategy="forward-mode"),
        lambda x: np.diag(2 * x),
    ),
    "hessian": (lambda x, v: FUNCTIONAL.hessian(CUBES, x, vectorize=True), lambda x: np.diag(6 * x)),
    "forward over reverse": (
        lambda x, v: FUNCTIONAL.hessian(
            lambda y: (y**3).sum() + y.exp().sum(), x, vectorize=True, outer_jacobian_strategy="forward-mode"
        ),
        lambda x: np.diag(6 * x + np.exp(x)),
    ),
    "jvp": (lambda x, v: FUNCTIONAL.jvp(lambda y: y * y, x, v)[1], lambda x: 2 * x),
    "hvp": (lambda x, v: FUNCTIONAL.hvp(CUBES, x, v)[1], lambda x: 6 * x),
    "vhp": (lambda x, v: FUNCTIONAL.vhp(CUBES, x, v)[1], lambda x: 6 * x),
    "jacrev": (lambda x, v: torch.func.jacrev(lambda y: y * y)(x), lambda x: np.diag(2 * x)),
    "vmap": (lambda x, v: torch.vmap(lambda y: y * y)(x), lambda x: x * x),
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_derivatives_with_respect_to_wrappers(name):
    compute, expected = PRODUCTS[name]
    x = Pair(torch.tensor(ONE_TO_THREE), torch.tensor(ONE_TO_THREE) * 2)
    ones = Pair(torch.ones(3), torch.ones(3))
    result, values = compute(x, ones), np.array(ONE_TO_THREE)
    np.testing.assert_allclose(result.a.numpy(), expected(values), rtol=1e-6)
    np.testing.assert_allclose(result.b.numpy(), expected(2 * values), rtol=1e-6)


@pytest.mark.parametrize("wrapped", [False, True])
def test_a_batch_of_weights_for_wrappers(wrapped):
    x = Pair(torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])).requires_grad_()
    weights = Pair(torch.eye(2), torch.eye(2)) if wrapped else torch.eye(2)
    (gradient,) = torch.autograd.grad(x * x, x, weights, is_grads_batched=True)
    assert gradient.a.tolist() == [[2, 0], [0, 4]]
    assert gradient.b.tolist() == [[6, 0], [0, 8]]


def test_vmap_of_functions_that_use_wrappers():
    x = Pair(torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0]))
    product = torch.vmap(lambda factor: factor * x)(torch.tensor([1.0, 10.0]))
    assert product.a.tolist() == [[1, 2], [10, 20]] and product.b.tolist() == [[3, 4], [30, 40]]
    same = torch.vmap(lambda _: torch.zeros_like(x), out_dims=1)(torch.ones(3))
    assert type(same) is Pair and same.a.tolist() == [[0, 0, 0]] * 2


def _dual(function):
    with torch.autograd.forward_ad.dual_level():
        x = Pair(torch.tensor([[1.0, 2.0]]), torch.tensor([[3.0, 4.0]]))
        tangent = Pair(torch.tensor([[1.0, 0.0]]), torch.tensor([[0.0, 1.0]]))
        return torch.autograd.forward_ad.unpack_dual(function(torch.autograd.forward_ad.make_dual(x, tangent))).tangent


@pytest.mark.parametrize(
    ("function", "first", "second"),
    [
        (lambda x: x * x, [[2, 0]], [[0, 8]]),
        (lambda x: x @ x.t(), [[2]], [[8]]),
        (lambda x: x.reshape(-1)[1:], [0], [1]),
        (lambda x: x.clone().mul_(3), [[3, 0]], [[0, 3]]),
    ],
)
def test_tangents_of_wrappers(function, first, second):
    tangent = _dual(function)
    assert tangent.a.tolist() == first
    assert tangent.b.tolist() == second


@pytest.mark.parametrize("name", ["zeros_like", "ones_like", "empty_like", "rand_like", "randn_like"])
def test_functions_that_create_a_tensor_like_a_wrapper(name):
    x = Pair(torch.ones(2), torch.ones(2))
    Pair.seen.clear()
    result = getattr(torch, name)(x, requires_grad=True)
    assert isinstance(result, Pair)
    assert result.requires_grad
    assert Pair.seen == [getattr(aten, name).default]


def test_detached_wrappers_share_the_version_counter():
    x = Pair(torch.ones(2), torch.ones(2))
    x.detach().add_(1)
    assert x._version == 1
    x.data.add_(1)
    assert x._version == 1


def test_products_with_a_sum_are_one_operator():
    Pair.seen.clear()
    x = Pair(torch.ones(2), torch.ones(2))
    matrix = Pair(torch.eye(2), torch.eye(2))
    assert torch.addmv(x, matrix, x, beta=1).a.tolist() == [2, 2]
    assert Pair.seen == [aten.addmv.default]


def test_a_wrapper_is_no_plain_tensor_of_another_class():
    class Other(torch.Tensor):
        pass

    with pytest.raises(RuntimeError, match="already associated to a python object of type Pair"):
        Pair(torch.ones(2), torch.ones(2)).as_subclass(Other)


def test_copies_of_a_wrapper_keep_the_class():
    class Unwrapping(Pair):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return args[0].a.clone()

    wrapper = torch.Tensor._make_wrapper_subclass(Unwrapping, (2,))
    wrapper.a = torch.ones(2)
    with pytest.raises(RuntimeError, match="cloning returns another instance of the same subclass"):
        copy.deepcopy(wrapper)


def test_subclasses_with_data_compute_on_it_without_dispatch():
    from flambeau.utils._mode_utils import no_dispatch

    class Counted(torch.Tensor):
        calls = 0
        __torch_function__ = torch._C._disabled_torch_function_impl

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            cls.calls += 1
            with no_dispatch():
                return func(*args, **kwargs)

    x = torch.Tensor._make_subclass(Counted, torch.tensor([1.0 + 2.0j]))
    assert torch.allclose(x.conj().exp(), torch.tensor([1.0 - 2.0j]).exp())
    assert Counted.calls


class Packed(torch.Tensor):
    """A wrapper that disables the `__torch_function__` of classes, and keeps its class only in `detach`."""

    __torch_function__ = torch._C._disabled_torch_function_impl

    @staticmethod
    def __new__(cls, data):
        return torch.Tensor._make_wrapper_subclass(cls, data.shape, dtype=data.dtype)

    def __init__(self, data):
        self.inner = data

    @classmethod
    def __torch_dispatch__(cls, op, types, args, kwargs=None):
        if op.overloadpacket is torch.ops.aten.detach:
            return Packed(op(args[0].inner))
        return op(*(arg.inner if isinstance(arg, Packed) else arg for arg in args), **(kwargs or {}))


@pytest.mark.parametrize(
    "detach",
    [lambda x: x.detach(), torch.detach, lambda x: torch.ops.aten.detach(x), lambda x: torch.ops.aten.detach.default(x)],
    ids=["method", "function", "packet", "overload"],
)
def test_every_form_of_detach_calls_torch_dispatch(detach):
    detached = detach(Packed(torch.arange(6)))
    assert type(detached) is Packed and detached[1:3].tolist() == [1, 2]


def test_a_subclass_may_disable_the_overrides_of_its_base():
    class Base(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return "offered"

    class Disabled(Base):
        __torch_function__ = torch._C._disabled_torch_function_impl

    assert torch.ones(2).as_subclass(Base).ndim == "offered"
    assert torch.ones(2).as_subclass(Disabled).ndim == 1


def test_assignments_write_into_the_inner_tensors():
    x = Pair(torch.zeros(2, 3), torch.ones(2, 3))
    Pair.seen = []
    x[0] = 5.0
    x[:, 1:] = torch.tensor([7.0, 8.0])
    assert x.a.tolist() == [[5.0, 7.0, 8.0], [0.0, 7.0, 8.0]] and x.b[1].tolist() == [1.0, 7.0, 8.0]
    assert Pair.seen[0] is aten.select.int
    x[torch.tensor([1])] = 9.0
    assert x.a[1].tolist() == [9.0, 9.0, 9.0] and Pair.seen[-1] is aten.index_put_.default
    with pytest.raises(RuntimeError, match="assignments"):
        x.requires_grad_().clone()[0] = 1.0


def test_an_index_that_selects_everything_calls_alias():
    Pair.seen = []
    x = Pair(torch.zeros(2), torch.ones(2))
    assert x[...].b.tolist() == [1.0, 1.0] and Pair.seen == [aten.alias.default]
    with torch.autograd.forward_ad.dual_level():
        torch.autograd.forward_ad.make_dual(x, torch.ones(2))
    assert Pair.seen[:2] == [aten.alias.default, aten.alias.default]


def test_a_wrapper_has_the_layout_that_its_class_gives_it():
    class Rows(torch.Tensor):
        @staticmethod
        def __new__(cls, inner):
            wrapper = torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype, layout=inner.layout)
            wrapper.inner = inner
            return wrapper

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return func(args[0].inner)

    assert Rows(torch.eye(2).to_sparse_csr()).layout is torch.sparse_csr
    assert Rows(torch.eye(2)).layout is torch.strided


def test_autograd_records_inside_torch_dispatch_when_dispatch_is_enabled_again():
    class Recording(torch.Tensor):
        @staticmethod
        def __new__(cls, inner):
            wrapper = torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)
            wrapper.inner = inner
            return wrapper

        __torch_function__ = torch._C._disabled_torch_function_impl

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            args = [arg.inner if isinstance(arg, Recording) else arg for arg in args]
            assert not torch.is_grad_enabled()
            with torch.overrides.enable_reentrant_dispatch():
                return Recording(func(*args, **(kwargs or {})))

    inner = torch.ones(2, requires_grad=True)
    result = Recording(inner) * 3
    assert not result.requires_grad
    result.inner.sum().backward()
    assert inner.grad.tolist() == [3.0, 3.0]
    with torch.no_grad():
        assert not (Recording(inner) * 3).inner.requires_grad


def test_a_mode_that_declines_leaves_the_call_to_the_class():
    class Plain(torch.utils._python_dispatch.TorchDispatchMode):
        """A mode that only handles calls of plain tensors."""

        def __init__(self):
            super().__init__()
            self.calls = []

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            self.calls.append(types)
            return NotImplemented if types else func(*args, **(kwargs or {}))

    x = Pair(-torch.ones(2), torch.ones(2))
    with Plain() as mode:
        result = x.abs()
    assert result.a.tolist() == [1.0, 1.0] and mode.calls == [(Pair,), (), ()]
    with Plain(), Plain() as inner:
        assert x.abs().a.tolist() == [1.0, 1.0]
    assert inner.calls == [(Pair,)]


def test_a_wrapper_whose_base_class_keeps_torch_function_disables_it():
    class Base(torch.Tensor):
        pass

    class Wrapper(Base):
        __torch_function__ = torch._C._disabled_torch_function_impl

        @staticmethod
        def __new__(cls, data):
            return torch.Tensor._make_wrapper_subclass(cls, data.shape, dtype=data.dtype)

        def __init__(self, data):
            self.data_ = data

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return func(*[arg.data_ if isinstance(arg, cls) else arg for arg in args], **(kwargs or {}))

    data = torch.arange(4.0).view(2, 2)
    wrapper = Wrapper(data)
    assert wrapper.flatten().tolist() == [0, 1, 2, 3]
    assert torch.equal(1 - wrapper, 1 - data) and torch.equal(wrapper.mT, data.mT)


def test_saved_outputs_keep_what_a_class_stores_in_slots():
    """The gradient of `exp` needs its output, a wrapper whose inner tensor is in `__slots__`."""

    class Slotted(torch.Tensor):
        __slots__ = ("elem",)

        @staticmethod
        def __new__(cls, elem, requires_grad=False):
            wrapper = torch.Tensor._make_wrapper_subclass(cls, elem.shape, dtype=elem.dtype, requires_grad=requires_grad)
            wrapper.elem = elem
            return wrapper

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            args, kwargs = tree_map(lambda e: e.elem if isinstance(e, cls) else e, (args, kwargs or {}))
            return tree_map(lambda e: cls(e) if isinstance(e, torch.Tensor) else e, func(*args, **kwargs))

    x = Slotted(torch.tensor([0.0, 1.0]))
    jacobian = torch.autograd.functional.jacobian(torch.exp, x)
    torch.testing.assert_close(jacobian.elem, torch.diag(torch.tensor([0.0, 1.0]).exp()))


def test_operations_reach_a_class_as_the_operators_of_pytorch():
    """The operator is the one in `torch.ops.aten`, and arguments that are its last defaults are left out."""
    seen = []

    class Noted(torch.Tensor):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            seen.append((func, [arg for arg in args if not isinstance(arg, torch.Tensor)]))
            return func(*[arg.elem if isinstance(arg, cls) else arg for arg in args], **(kwargs or {}))

        @staticmethod
        def __new__(cls, elem):
            return torch.Tensor._make_wrapper_subclass(cls, elem.shape, dtype=elem.dtype)

        def __init__(self, elem):
            self.elem = elem

    x, rows = torch.tensor([[3.0, 4.0], [0.5, 2.0]]), torch.tensor([1])
    functional = torch.nn.functional
    assert functional.embedding(rows, Noted(x)).tolist() == [[0.5, 2.0]]
    functional.embedding(rows, Noted(x), scale_grad_by_freq=True)
    assert Noted(x).gather(1, torch.tensor([[0], [1]])).tolist() == [[3.0], [2.0]]
    assert functional.hardtanh(Noted(x), -1.0, 2.5).tolist() == [[2.5, 2.5], [0.5, 2.0]]
    assert Noted(x[:1]).norm().item() == 5.0
    Noted(x).norm(dim=1, keepdim=True)
    assert seen == [
        (aten.embedding.default, []),
        (aten.embedding.default, [-1, True]),
        (aten.gather.default, [1]),
        (aten.hardtanh.default, [-1.0, 2.5]),
        (aten.linalg_vector_norm.default, []),
        (aten.linalg_vector_norm.default, [2.0, [1], True]),
    ]


def test_softmax_reaches_a_class_as_the_operator_below_autograd():
    Pair.seen.clear()
    x = Pair(torch.randn(2, 3), torch.randn(2, 3))
    y = torch.nn.functional.softmax(x, dim=-1)
    x.log_softmax(0)
    assert [function for function in Pair.seen if "softmax" in str(function)] == [
        aten._softmax.default,
        aten._log_softmax.default,
    ]
    torch.testing.assert_close(y.b, torch.softmax(x.b, -1))

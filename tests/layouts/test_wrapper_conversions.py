"""Conversions of wrapper subclasses to Python scalars, and checks of gradients that use them."""

from __future__ import annotations

import pytest
from flambeau.utils._pytree import tree_map

import flambeau as torch


class Recording(torch.Tensor):
    """A wrapper of one tensor that records the operators called on it."""

    asked: list = []

    @staticmethod
    def __new__(cls, data, requires_grad=False):
        wrapper = torch.Tensor._make_wrapper_subclass(cls, data.shape, dtype=data.dtype, requires_grad=requires_grad)
        wrapper.inner = data
        return wrapper

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        cls.asked.append(func)
        args, kwargs = tree_map(lambda leaf: leaf.inner if isinstance(leaf, cls) else leaf, (args, kwargs or {}))
        return tree_map(lambda leaf: cls(leaf) if isinstance(leaf, torch.Tensor) else leaf, func(*args, **kwargs))


def test_conversions_to_scalars_call_the_class():
    x = Recording(torch.tensor([3.0]))
    Recording.asked.clear()
    assert (x.item(), float(x), int(x), bool(x), complex(x)) == (3.0, 3.0, 3, True, 3 + 0j)
    assert [10, 20, 30][Recording(torch.tensor(2))] == 30
    assert set(Recording.asked) == {torch.ops.aten._local_scalar_dense.default}
    assert len(Recording.asked) == 6
    two = Recording(torch.ones(2))
    assert torch.allclose(two, two)
    assert Recording.asked[-1] is torch.ops.aten.allclose.default
    with pytest.raises(RuntimeError, match="a Tensor with 2 elements cannot be converted to Scalar"):
        two.item()
    with pytest.raises(RuntimeError, match="Boolean value of Tensor with more than one value is ambiguous"):
        bool(two)
    with pytest.raises(RuntimeError, match=r"\.tolist\(\) is not supported for tensor subclasses, got Recording"):
        two.tolist()
    with pytest.raises(RuntimeError, match=r"\.numpy\(\) is not supported for tensor subclasses"):
        two.numpy()


def test_gradcheck_compares_batched_gradients_of_wrappers():
    x = Recording(torch.tensor([0.5, 1.5], dtype=torch.float64), requires_grad=True)
    assert torch.autograd.gradcheck(lambda y: y * y.exp(), x, check_batched_grad=True)


def test_norms_and_cosine_similarity_along_one_dimension():
    x = Recording(torch.tensor([3.0, 4.0]))
    assert torch.linalg.vector_norm(x, dim=0).inner.item() == 5.0
    assert torch.nn.functional.cosine_similarity(x, x, dim=0).inner.item() == pytest.approx(1.0)


def test_gradients_of_conversions():
    """A conversion is recorded by autograd unless its result has an integer dtype."""
    aten = torch.ops.aten
    x = Recording(torch.tensor([1.0, 2.0]), requires_grad=True)
    Recording.asked.clear()
    (x.double() * 3).backward(Recording(torch.ones(2, dtype=torch.float64)))
    assert x.grad.dtype is torch.float32 and x.grad.inner.tolist() == [3.0, 3.0]
    assert Recording.asked[0] is aten._to_copy.default
    assert not x.int().requires_grad and x.half().requires_grad
    assert x.to(torch.float32) is x and x.cpu() is x
    assert x.to(torch.float32, copy=True) is not x


@pytest.mark.parametrize(("call", "operator"), [
    (lambda x: torch.Tensor.to(x, torch.float64), "_to_copy.default"),
    (lambda x: torch.Tensor.half(x), "_to_copy.default"),
    (lambda x: torch.Tensor.type_as(x, torch.ones(1, dtype=torch.int32)), "_to_copy.default"),
    (lambda x: torch.Tensor.add_(x, 1), "add_.Tensor"),
    (lambda x: torch.Tensor.exp_(x), "exp_.default"),
])  # fmt: skip
def test_methods_taken_from_tensor_call_the_class(call, operator):
    x = Recording(torch.ones(2))
    Recording.asked.clear()
    call(x)
    assert [str(asked) for asked in Recording.asked] == [f"aten.{operator}"]


def test_torch_function_receives_the_methods_of_tensor():
    seen = []

    class Function(Recording):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            seen.append(func)
            with torch._C.DisableTorchFunctionSubclass():
                return func(*args, **(kwargs or {}))

    x = Function(torch.ones(2))
    seen.clear()
    assert x.to(torch.float64).inner.dtype is torch.float64
    assert torch.Tensor.to in seen


@pytest.mark.parametrize(("split", "operator", "expected"), [
    (lambda x: x.split(2), "split.Tensor", [[0, 1], [2, 3], [4]]),
    (lambda x: x.chunk(2), "split.Tensor", [[0, 1, 2], [3, 4]]),
    (lambda x: x.split([1, 4]), "split_with_sizes.default", [[0], [1, 2, 3, 4]]),
])  # fmt: skip
def test_splits(split, operator, expected):
    x = Recording(torch.arange(5))
    Recording.asked.clear()
    assert [part.inner.tolist() for part in split(x)] == expected
    assert [str(asked) for asked in Recording.asked] == [f"aten.{operator}"]


def test_the_class_checks_views():
    class Rigid(Recording):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            raise NotImplementedError(f"{func} of {[*args[1:]]}")

    x = Rigid(torch.zeros(4))
    with pytest.raises(NotImplementedError, match=r"aten\.view\.default of \[\[3\]\]"):
        x.view(3)
    with pytest.raises(NotImplementedError, match=r"aten\.as_strided\.default of \[\[5\], \[1\], 0\]"):
        x.as_strided((5,), (1,))
    y = Recording(torch.arange(6.0), requires_grad=True)
    y.as_strided((2,), (2,), 1).sum().backward()
    assert y.grad.inner.tolist() == [0.0, 1.0, 0.0, 1.0, 0.0, 0.0]


def test_arguments_have_the_form_of_the_schema():
    """Dimensions are lists, reductions are numbers, and defaults at the end are left out."""
    seen = []

    class Noted(Recording):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            seen.append((str(func), [arg for arg in args if not isinstance(arg, torch.Tensor)], kwargs or {}))
            return super().__torch_dispatch__(func, types, args, kwargs)

    x = Noted(torch.tensor([[1.0, -2.0], [3.0, 4.0]]))
    x.sum(1)
    x.amax(1, keepdim=True)
    torch.nn.functional.huber_loss(x, x, reduction="sum")
    torch.nn.functional.softplus(x)
    assert seen == [
        ("aten.sum.dim_IntList", [[1]], {}),
        ("aten.amax.default", [[1], True], {}),
        ("aten.huber_loss.default", [2], {}),
        ("aten.softplus.default", [], {}),
    ]


class Scaled(torch.Tensor):
    """A weight that is stored as integers and a scale; its class computes `F.linear`."""

    @staticmethod
    def __new__(cls, integers, scale):
        return torch.Tensor._make_wrapper_subclass(cls, integers.shape, dtype=scale.dtype)

    def __init__(self, integers, scale):
        self.integers, self.scale = integers, scale

    def __tensor_flatten__(self):
        return ["integers", "scale"], None

    @classmethod
    def __tensor_unflatten__(cls, inner, context, size, stride):
        return cls(**inner)

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if func is torch.nn.functional.linear:
            return torch.nn.functional.linear(args[0], args[1].integers * args[1].scale, *args[2:])
        with torch._C.DisableTorchFunctionSubclass():
            return func(*args, **(kwargs or {}))

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        if func is torch.ops.aten.detach.default:
            return cls(args[0].integers, args[0].scale)
        if func is torch.ops.aten.mul.Tensor:
            return cls(args[0].integers, args[0].scale * args[1])
        raise NotImplementedError(str(func))


def test_exported_programs_contain_the_operators_on_the_inner_tensors():
    layer = torch.nn.Linear(2, 2, bias=False)
    weight = Scaled(torch.tensor([[1, 2], [3, 4]]), torch.tensor(0.5))
    layer.weight = torch.nn.Parameter(weight, requires_grad=False)
    x = torch.tensor([[1.0, 1.0]])
    program = torch.export.export(layer, (x,))
    assert program.module()(x).tolist() == layer(x).tolist() == [[1.5, 3.5]]
    called = [str(node.target) for node in program.graph.nodes if node.op == "call_function"]
    assert called == ["aten.mul.Tensor", "aten.linear.default"]


def test_compiled_functions_of_wrappers_are_no_broken_graphs():
    double = torch.compile(lambda weight: weight * 2, fullgraph=True)
    weight = Scaled(torch.tensor([1, 2]), torch.tensor(0.5))
    assert [double(weight).scale.item() for _ in range(3)] == [1.0, 1.0, 1.0]

"""`torch._foreach_*`: list functions match the functions of single tensors."""

from __future__ import annotations

import numpy as np
import pytest

import flambeau as torch
from flambeau.operations.foreach import FUNCTIONS

UNARY = [name for name in FUNCTIONS if hasattr(np, name.removeprefix("_foreach_")) and f"{name}_" in FUNCTIONS]
UNARY = [
    name.removeprefix("_foreach_")
    for name in UNARY
    if name.removeprefix("_foreach_") not in ("add", "bitwise_not", "maximum", "minimum", "pow")  # not unary or not for floats
]
BINARY = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "pow": np.power,
    "maximum": np.maximum, "minimum": np.minimum, "clamp_min": np.maximum, "clamp_max": np.minimum,
}  # fmt: skip


def lists(count=1, seed=0):
    """Return `count` lists of two tensors with elements in [0.1, 0.9], and the same as NumPy arrays."""
    rng = np.random.default_rng(seed)
    arrays = [[rng.uniform(0.1, 0.9, shape) for shape in ((3,), (2, 2))] for _ in range(count)]
    return [[torch.tensor(array) for array in group] for group in arrays], arrays


def assert_close(results, expected):
    assert len(results) == len(expected)
    for result, value in zip(results, expected, strict=True):
        np.testing.assert_allclose(np.asarray(result.detach()), value, rtol=1e-12)


@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one_list(name):
    (tensors,), (arrays,) = lists()
    expected = [getattr(np, name)(array) for array in arrays]
    results = getattr(torch, f"_foreach_{name}")(tensors)
    assert type(results) is tuple
    assert_close(results, expected)
    assert getattr(torch, f"_foreach_{name}_")(tensors) is tensors
    assert_close(tensors, expected)


def test_all_of_them_are_there():
    assert len(UNARY) > 20 and {"sqrt", "reciprocal", "expm1", "sign"} <= set(UNARY)
    assert len(FUNCTIONS) > 90
    with pytest.raises(AttributeError, match="_foreach_nothing"):
        torch._foreach_nothing
    assert all(function.__name__ == name and getattr(torch, name) is function for name, function in FUNCTIONS.items())


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("operand", ["number", "numbers", "list", "0-d tensor"])
def test_two_operands(name, operand):
    (tensors, others), (arrays, other_arrays) = lists(2)
    values = {"number": 0.5, "numbers": [0.25, 0.75], "list": others, "0-d tensor": torch.tensor(0.5, dtype=torch.float64)}
    right = {"number": [0.5, 0.5], "numbers": [0.25, 0.75], "list": other_arrays, "0-d tensor": [0.5, 0.5]}
    expected = [BINARY[name](a, b) for a, b in zip(arrays, right[operand], strict=True)]
    assert_close(getattr(torch, f"_foreach_{name}")(tensors, values[operand]), expected)
    assert getattr(torch, f"_foreach_{name}_")(tensors, values[operand]) is tensors
    assert_close(tensors, expected)


def test_alpha_and_factors():
    (a, b, c), (x, y, z) = lists(3)
    assert_close(torch._foreach_add(a, b, alpha=3), [i + 3 * j for i, j in zip(x, y, strict=True)])
    assert_close(torch._foreach_sub(a, b, alpha=3), [i - 3 * j for i, j in zip(x, y, strict=True)])
    assert_close(torch._foreach_add(a, torch.tensor(2.0), alpha=3), [i + 6 for i in x])
    for factor, factors in ((2, [2, 2]), ([2.0, 3.0], [2, 3]), (torch.tensor([2.0, 3.0]), [2, 3])):
        products = [i + f * j * k for i, j, k, f in zip(x, y, z, factors, strict=True)]
        quotients = [i + f * j / k for i, j, k, f in zip(x, y, z, factors, strict=True)]
        assert_close(torch._foreach_addcmul(a, b, c, factor), products)
        assert_close(torch._foreach_addcdiv(a, b, c, factor), quotients)
        for name, expected in (("addcmul_", products), ("addcdiv_", quotients)):
            copy = list(torch._foreach_clone(a))
            assert getattr(torch, f"_foreach_{name}")(copy, b, c, factor) is copy
            assert_close(copy, expected)
    for weight, weights in ((0.25, [0.25, 0.25]), ([0.25, 0.75], [0.25, 0.75]), (c, z)):
        expected = [i + w * (j - i) for i, j, w in zip(x, y, weights, strict=True)]
        assert_close(torch._foreach_lerp(a, b, weight), expected)
        copy = list(torch._foreach_clone(a))
        torch._foreach_lerp_(copy, b, weight)
        assert_close(copy, expected)


@pytest.mark.parametrize("order", [0, 1, 2, 3, float("inf"), float("-inf")])
def test_norms(order):
    (tensors,), (arrays,) = lists()
    assert_close(torch._foreach_norm(tensors, order), [np.linalg.norm(array.ravel(), order) for array in arrays])
    if abs(order) < 10:
        assert_close(torch._foreach_powsum(tensors, order), [(np.abs(array) ** order).sum() for array in arrays])


def test_norms_in_another_dtype():
    assert torch._foreach_norm([torch.ones(4)], dtype=torch.float64)[0].dtype is torch.float64
    assert torch._foreach_powsum([torch.full((70000,), 1.0).half()], 1, torch.float32)[0] == 70000


def test_the_others():
    (tensors, sources), (arrays, _) = lists(2)
    assert_close(torch._foreach_max(tensors), [array.max() for array in arrays])
    assert_close(torch._foreach_pow(2.0, tensors), [2.0**array for array in arrays])
    assert_close(torch._foreach_mm([tensors[1]], [sources[1]]), [np.asarray(tensors[1]) @ np.asarray(sources[1])])
    copies = torch._foreach_clone(tensors, memory_format=torch.contiguous_format)
    assert all(copy is not t for copy, t in zip(copies, tensors, strict=True))
    assert torch._foreach_copy_(tensors, sources) is tensors
    assert_close(tensors, [np.asarray(t) for t in sources])
    torch._foreach_zero_(tensors)
    assert_close(tensors, [np.zeros(3), np.zeros((2, 2))])
    whole = torch.ones(2, dtype=torch.long)
    assert torch.addcmul(whole, whole, whole, value=0.5).tolist() == [1, 1]  # value=0.5 is truncated to 0
    assert torch._foreach_add([torch.ones(2), whole], 1.5)[1].dtype is torch.float32
    assert torch._foreach_maximum([torch.ones(2).half(), torch.ones(2).double()], 1.1)[1][0].item() == 1.1


def test_by_name():
    (a, b), (x, y) = lists(2)
    assert_close(torch._foreach_add(self=a, other=b), [i + j for i, j in zip(x, y, strict=True)])
    assert_close(torch._foreach_mul(a, scalars=[2, 3]), [2 * x[0], 3 * x[1]])
    assert_close(torch._foreach_sub(a, scalar=1), [i - 1 for i in x])
    assert_close(
        torch._foreach_addcmul(self=a, tensor1=b, tensor2=b, value=2), [i + 2 * j * j for i, j in zip(x, y, strict=True)]
    )


@pytest.mark.parametrize(
    "function",
    [
        lambda a, b, c: torch._foreach_mul([a, a], [b, c]),
        lambda a, b, c: torch._foreach_addcdiv([a, b], [b, b], [c, c], [0.5, 2.0]),
        lambda a, b, c: torch._foreach_addcmul([a], [b], [c], torch.tensor([3.0])),
        lambda a, b, c: torch._foreach_lerp([a, b], [b, c], [c, a]),
        lambda a, b, c: torch._foreach_norm([a, b, c], 3),
        lambda a, b, c: torch._foreach_powsum([a, b, c], 3),
        lambda a, b, c: torch._foreach_tanh(torch._foreach_pow(2.0, [a, b * c])),
        lambda a, b, c: torch._foreach_mul_([a * 1, b * 1], [c, a]),
    ],
)
def test_derivatives(function):
    inputs = [torch.rand(3, dtype=torch.float64, requires_grad=True) for _ in range(3)]
    assert torch.autograd.gradcheck(function, inputs)
    assert torch.autograd.gradgradcheck(function, inputs)


def test_a_number_that_ties_takes_half_of_the_gradient():
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    torch._foreach_maximum([x], 2.0)[0].sum().backward()
    assert x.grad.tolist() == [0.0, 0.5, 1.0]


def test_nodes_have_pytorchs_names():
    x = torch.ones(2, requires_grad=True)
    for name, args in (("Add", (1.0,)), ("Mul", ([x],)), ("Sqrt", ())):
        result = getattr(torch, f"_foreach_{name.lower()}")([x], *args)[0]
        assert result.grad_fn.name().startswith(f"Foreach{name}Backward")
    assert torch._foreach_add([x], 1)[0].grad_fn.name() == "ForeachAddBackward1Scalar"
    assert torch._foreach_clamp_min([x], [x])[0].grad_fn.name() == "ForeachClampMinBackward1List"
    assert torch._foreach_log1p([x])[0].grad_fn.name() == "ForeachLog1PBackward0"


@pytest.mark.parametrize(
    ("function", "args", "message"),
    [
        ("add", ([torch.ones(1)] * 2, [torch.ones(1)]), "same number of tensors, got 2 and 1"),
        ("add", ([torch.ones(1)] * 2, [1.0]), "same number of elements as scalar list"),
        ("add", ([], 1), "at least one tensor"),
        ("neg", ([],), "at least one tensor"),
        ("norm", ([],), "at least one tensor"),
        ("lerp", ([torch.ones(1)] * 2, [torch.ones(1)], 0.5), "got 2 and 1"),
        ("addcmul", ([torch.ones(1)], [torch.ones(1)], [torch.ones(1)], torch.ones(2)), "match input of length 1 but got 2"),
        ("addcmul", ([torch.ones(1)], [torch.ones(1)], [torch.ones(1)], torch.ones(1, 1)), "dimension 1. Got 2"),
        ("mul", ([torch.ones(1)], torch.ones(1)), "expected to be 0 dim but it has 1 dimensions"),
        ("norm", ([torch.ones(0)], float("inf")), "does not have an identity"),
        ("max", ([torch.ones(0)],), "undefined"),
        ("copy_", ([torch.ones(1)], []), "got 1 and 0"),
        ("mm", ([torch.ones(1, 1)], []), "same number of tensors"),
        ("sqrt_", ([torch.ones(1, dtype=torch.long)],), "result type Float can't be cast"),
        ("add_", ([torch.ones(1, requires_grad=True)], 1), "leaf Variable"),
        ("sub", ([torch.ones(1)], True), "Subtraction, the `-` operator, with a bool tensor"),
    ],
)
def test_what_lists_must_be(function, args, message):
    with pytest.raises(RuntimeError, match=message):
        getattr(torch, f"_foreach_{function}")(*args)


@pytest.mark.parametrize(
    ("function", "args", "kwargs", "message"),
    [
        ("add", (torch.ones(2), 1), {}, r"got \(Tensor, int\)"),
        ("add", ([torch.ones(2)],), {}, r"got \(list\)"),
        ("add", ([torch.ones(2)], "1"), {}, "tuple of Scalars scalars"),
        ("add", ([torch.ones(2)], 1), {"alpha": 2}, r"got \(list, int, alpha=int\)"),
        ("add", ([torch.ones(2)],), {"values": [1]}, "values=list"),
        ("add", ([torch.ones(2)], 1), {"scalar": 1}, "scalar=int"),
        ("add", ([1], 1), {}, "element 0 in argument 0, but got int"),
        ("add", ([torch.ones(1)], [1, torch.ones(())]), {}, "element 0 in argument 1, but got int"),
        ("neg", (torch.ones(2),), {}, "must be tuple of Tensors, not Tensor"),
        ("neg", ([torch.ones(2)],), {"out": 1}, r"_foreach_neg\(\) got an unexpected"),
        ("norm", ([torch.ones(2)], "fro"), {}, "must be Number, not str"),
        ("pow_", (2, [torch.ones(2)]), {}, r"got \(int, list\)"),
    ],
)
def test_what_arguments_must_be(function, args, kwargs, message):
    with pytest.raises(TypeError, match=message):
        getattr(torch, f"_foreach_{function}")(*args, **kwargs)


def test_modes_and_subclasses_see_the_call():
    class Log(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append(func.__name__)
            return func(*args, **(kwargs or {}))

    class Mine(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            seen.append(func.__name__)
            return super().__torch_function__(func, types, args, kwargs)

    x, mine, seen = [torch.ones(2)], torch.ones(2).as_subclass(Mine), []
    with Log():
        torch._foreach_add_(x, 1)
    assert seen == ["_foreach_add_"] and x[0].tolist() == [2.0, 2.0]
    seen.clear()
    (result,) = torch._foreach_mul([mine], x)
    assert seen == ["_foreach_mul"] and type(result) is Mine


def test_a_step_of_an_optimizer_written_with_them():
    parameters = [torch.ones(3, requires_grad=True), torch.ones(2, 2, requires_grad=True)]
    twins = [p.detach().clone().requires_grad_() for p in parameters]
    optimizer = torch.optim.SGD(twins, lr=0.1, momentum=0.9)
    momenta = [torch.zeros_like(p) for p in parameters]
    for _ in range(3):
        for group in (parameters, twins):
            for p in group:
                p.grad = None
            sum((p**3).sum() for p in group).backward()
        with torch.no_grad():
            torch._foreach_mul_(momenta, 0.9)
            torch._foreach_add_(momenta, [p.grad for p in parameters])
            torch._foreach_add_(parameters, momenta, alpha=-0.1)
        optimizer.step()
    for p, twin in zip(parameters, twins, strict=True):
        assert torch.allclose(p, twin, rtol=1e-6)

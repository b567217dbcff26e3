"""Argument checks: numbers in place of tensors, indices out of range, and dtypes."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import flambeau as torch
from flambeau.nn import functional as F

X = torch.tensor([1.0, 2.0, 3.0])
OF_TENSORS_ALONE = (
    "maximum",
    "minimum",
    "fmax",
    "fmin",
    "atan2",
    "hypot",
    "dot",
    "mv",
    "mm",
    "outer",
    "kron",
    "dist",
    "equal",
    "isclose",
)
NUMBER_SECOND = ("eq", "ne", "lt", "le", "gt", "ge", "fmod", "copysign")
NUMBER_EITHER_WAY = ("add", "sub", "mul", "div", "pow", "remainder", "floor_divide", "xlogy")


@pytest.mark.parametrize("name", OF_TENSORS_ALONE)
def test_numbers_are_no_tensors(name):
    function = getattr(torch, name)
    for given in ((X, 2), (2, X), (X, 2.5), (X, None), (X, [1.0])):
        with pytest.raises(TypeError, match="must be Tensor"):
            function(*given)


@pytest.mark.parametrize("name", ["gcd", "lcm"])
def test_numbers_are_no_tensors_of_integers(name):
    for given in ((X.long(), 2), (2, X.long()), (X, 2)):
        with pytest.raises(TypeError, match="must be Tensor"):
            getattr(torch, name)(*given)
    with pytest.raises(NotImplementedError, match="not implemented for 'Float'"):
        getattr(torch, name)(X, X)


@pytest.mark.parametrize("name", NUMBER_SECOND)
def test_numbers_as_the_second_argument(name):
    function = getattr(torch, name)
    assert function(X, 2).tolist() == function(X, torch.tensor(2.0)).tolist()
    with pytest.raises(TypeError, match="argument 'input'"):
        function(2, X)


@pytest.mark.parametrize("name", NUMBER_EITHER_WAY)
def test_numbers_as_either_argument(name):
    function = getattr(torch, name)
    assert function(X, 2).tolist() == function(X, torch.tensor(2.0)).tolist()
    assert function(2, X).tolist() == function(torch.tensor(2.0), X).tolist()
    with pytest.raises(TypeError):
        function(X, "two")


@pytest.mark.parametrize(("name", "given", "options", "wanted", "dtype"), [
    ("mul", (2, 3), {}, 6, torch.int64), ("multiply", (2, 1.5), {}, 3.0, torch.float32), ("mul", (2, 3j), {}, 6j, torch.complex64),
    ("add", (2, True), {}, 3, torch.int64), ("add", (True, True), {}, True, torch.bool), ("add", (True, False), {"alpha": 2}, True, torch.bool),
    ("add", (2, 3), {"alpha": 10}, 32, torch.int64), ("sub", (2, 3.5), {}, -1.5, torch.float32), ("subtract", (2, 3), {}, -1, torch.int64),
    ("div", (7, 2), {}, 3.5, torch.float32), ("divide", (-7, 2), {"rounding_mode": "trunc"}, -3, torch.int64),
    ("div", (-7.0, 2), {"rounding_mode": "floor"}, -4.0, torch.float32), ("true_divide", (True, 2), {}, 0.5, torch.float32),
    ("floor_divide", (-7, 2), {}, -4, torch.int64), ("mul", (np.int64(2), np.float32(0.5)), {}, 1.0, torch.float32),
])  # fmt: skip
def test_arithmetic_of_numbers_alone(name, given, options, wanted, dtype):
    made = getattr(torch, name)(*given, **options)
    assert (made.item(), made.dtype, made.shape, made.device.type) == (wanted, dtype, (), "cpu")
    out = torch.empty((), dtype=dtype)
    assert getattr(torch, name)(*given, **options, out=out) is out and out.item() == wanted


def test_arithmetic_of_numbers_alone_has_its_refusals():
    with pytest.raises(RuntimeError, match="two bool tensors"):
        torch.sub(True, False)
    with pytest.raises(RuntimeError, match="alpha must not be a floating point"):
        torch.add(2, 3, alpha=0.5)
    with pytest.raises(RuntimeError, match="can't be cast"):
        torch.mul(2, 1.5, out=torch.empty((), dtype=torch.int64))
    with pytest.raises(RuntimeError, match="Overflow"):
        torch.add(2**64, 1)
    with pytest.raises(TypeError, match="argument 'other'"):
        torch.add(2, "a")
    for name in ("pow", "remainder", "fmod", "eq", "rsub", "maximum", "xlogy"):
        with pytest.raises(TypeError, match="must be Tensor, not int"):
            getattr(torch, name)(2, 3)


OF_NUMBERS = {  # name -> (call, number argument that may also be a 0-d tensor)
    "softplus": (lambda x, n: F.softplus(x, beta=n), 2), "softplus's threshold": (lambda x, n: F.softplus(x, 1, n), 0.5),
    "hardshrink": (F.hardshrink, 0.4), "hardshrink, as a method": (lambda x, n: x.hardshrink(n), 0.4), "softshrink": (F.softshrink, 0.4),
    "threshold": (lambda x, n: F.threshold(x, n, 7.0), 0.1), "threshold's value": (lambda x, n: F.threshold(x, 0.1, n), 7.0),
    "threshold, in place": (lambda x, n: F.threshold_(x.clone(), 0.1, n), 7.0), "elu": (F.elu, 0.7), "celu": (F.celu, 0.7),
    "leaky_relu": (F.leaky_relu, 0.7), "hardtanh": (lambda x, n: F.hardtanh(x, -n, n), 0.4), "logit": (torch.logit, 0.2),
    "logit, in place": (lambda x, n: x.clone().logit_(n), 0.2), "smooth_l1_loss": (lambda x, n: F.smooth_l1_loss(x, x * 2, beta=n), 0.3),
    "huber_loss": (lambda x, n: F.huber_loss(x, x * 2, delta=n), 0.3), "norm": (lambda x, n: x.norm(n), 3.0),
    "linalg.norm": (torch.linalg.norm, 3.0), "linalg.vector_norm": (torch.linalg.vector_norm, 3.0), "dist": (lambda x, n: x.dist(2 * x, n), 3.0),
    "linalg.matrix_norm": (lambda x, n: torch.linalg.matrix_norm(x[None], n), 1.0), "addcmul": (lambda x, n: torch.addcmul(x, x, x, value=n), 3),
    "add": (lambda x, n: torch.add(x, x, alpha=n), 3), "polygamma": (lambda x, n: torch.polygamma(n, x), 1),
    "gradient": (lambda x, n: torch.gradient(x, spacing=n)[0], 0.5), "fft": (lambda x, n: torch.fft.fft2(x[None], dim=n), 1),
    "hsplit": (lambda x, n: x.hsplit(n)[0], 2), "tensor_split": (lambda x, n: x.tensor_split([n])[0], 2),
    "group_norm": (lambda x, n: F.group_norm(x[None], n), 2), "layer_norm": (lambda x, n: F.layer_norm(x, (4,), eps=n), 0.1),
    "uniform_": (lambda x, n: x.clone().uniform_(-n, to=n), 2.5), "normal_": (lambda x, n: x.clone().normal_(n, n), 2.0),
    "exponential_": (lambda x, n: x.clone().exponential_(n), 2.0), "cauchy_": (lambda x, n: x.clone().cauchy_(n, n), 2.0),
    "log_normal_": (lambda x, n: x.clone().log_normal_(n, n), 2.0), "geometric_": (lambda x, n: x.clone().geometric_(n), 0.3),
    "random_": (lambda x, n: x.clone().random_(n), 9), "randint_like": (lambda x, n: torch.randint_like(x, 0, n), 9),
}  # fmt: skip


@pytest.mark.parametrize("name", OF_NUMBERS)
def test_tensors_of_no_dimensions_stand_for_numbers(name):
    """A 0-d tensor in place of a number gives the same values, dtype and gradients."""
    call, number = OF_NUMBERS[name]
    results = []
    for given in (
        number,
        torch.tensor(number),
        torch.tensor(number, dtype=torch.float64 if type(number) is float else torch.int32),
        torch.nn.Parameter(torch.tensor(number), requires_grad=False),
    ):
        torch.manual_seed(0)
        x = torch.tensor([-0.9, 0.3, 0.5, 0.7], requires_grad=True)
        made = call(x, given)
        if made.requires_grad:
            made.abs().sum().backward()
        results.append((made.dtype, made.tolist(), None if x.grad is None else x.grad.tolist()))
    assert str(results[0]) == str(results[1]) == str(results[2]) == str(results[3])


@pytest.mark.parametrize("name", [each for each in OF_NUMBERS if type(OF_NUMBERS[each][1]) is float and "linalg" not in each])
def test_what_requires_a_gradient_or_has_dimensions_is_no_number(name):
    call, number = OF_NUMBERS[name]
    for given in (torch.tensor(number, requires_grad=True), torch.tensor([number, number])):
        with pytest.raises((TypeError, RuntimeError)):
            call(torch.tensor([-0.9, 0.3, 0.5, 0.7]), given)


def test_a_mode_sees_the_tensor_that_stands_for_a_number():
    seen = []

    class Log(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.extend(args[1:])
            return func(*args, **(kwargs or {}))

    beta = torch.tensor(2.0)
    with Log():
        F.softplus(X, beta)
    assert any(each is beta for each in seen)


def test_positions_may_be_tensors_of_one_element():
    one = torch.tensor([1])
    assert X.select(0, one).item() == 2 and X.narrow(0, 1, one).tolist() == [2] and X.topk(one).values.tolist() == [3]
    for refused in (
        lambda: X.sum(dim=torch.tensor([0, 0])),
        lambda: torch.unsqueeze(X, torch.tensor([0])),
        lambda: X.narrow(0, torch.tensor(1.0), 1),
    ):
        with pytest.raises((TypeError, RuntimeError)):
            refused()


@pytest.mark.parametrize("name", ["flatten", "reshape", "matmul", "nn.functional.relu", "linalg.svd", "fft.fft"])
def test_the_first_argument_is_a_tensor(name):
    function = torch
    for part in name.split("."):
        function = getattr(function, part)
    with pytest.raises(TypeError, match=r"\(position 1\) must be Tensor, not int"):
        function(*((2, X) if name == "matmul" else (2, (1,)) if name == "reshape" else (2,)))


def test_errors_of_the_operation_itself_stay():
    with pytest.raises(RuntimeError, match="self must be a matrix"):
        torch.mm(X, X)
    with pytest.raises(IndexError, match="Dimension out of range"):
        torch.flatten(X, 3)


@pytest.mark.parametrize("call", [
    lambda: torch.lt(X, 1j), lambda: torch.xlogy(X, 1j), lambda: torch.floor_divide(X > 1, X > 1), lambda: torch.fmod(X > 1, X > 1),
    lambda: torch.bitwise_left_shift(X > 1, X > 1), lambda: torch.hypot(X.long(), X.long()), lambda: torch.logaddexp(X.long(), X.long()),
    lambda: torch.bitwise_and(X, X), lambda: (X > 1) ** (X > 1), lambda: torch.clamp(X > 1, max=True),
])  # fmt: skip
def test_dtypes_without_a_kernel(call):
    with pytest.raises(NotImplementedError, match="not implemented for"):
        call()


def test_there_is_no_order_of_complex_numbers():
    z = X.to(torch.complex64)
    for name in ("maximum", "minimum", "fmax", "fmin"):
        with pytest.raises(RuntimeError, match=f"{name} not implemented for complex tensors"):
            getattr(torch, name)(z, z)


BY_INDEX = {  # name -> (call, exception for indices that are too large or negative)
    "index_select": (lambda x, i: torch.index_select(x, 0, i), IndexError),
    "index_select along columns": (lambda x, i: torch.index_select(x, 1, i), RuntimeError),
    "gather": (lambda x, i: torch.gather(x, 0, i.reshape(1, 1)), RuntimeError),
    "scatter": (lambda x, i: torch.scatter(x, 0, i.reshape(1, 1), 1.0), RuntimeError),
    "scatter_add": (lambda x, i: torch.scatter_add(x, 0, i.reshape(1, 1), x), RuntimeError),
    "index_add": (lambda x, i: torch.index_add(x, 0, i, x[:1]), RuntimeError),
    "index_copy": (lambda x, i: torch.index_copy(x, 0, i, x[:1]), IndexError),
    "index_reduce": (lambda x, i: torch.index_reduce(x, 0, i, x[:1], "mean"), IndexError),
    "embedding": (lambda x, i: torch.nn.functional.embedding(i, x), IndexError),
    "embedding_bag": (lambda x, i: torch.nn.functional.embedding_bag(i, x, torch.tensor([0])), RuntimeError),
}
FROM_THE_END = {
    "take": lambda x, i: torch.take(x, i), "put": lambda x, i: torch.put(x, i, x[0, :1]),
    "index_fill": lambda x, i: torch.index_fill(x, 0, i, 1.0), "getitem": lambda x, i: x[i],
}  # fmt: skip


@pytest.mark.parametrize("name", BY_INDEX)
def test_indices_out_of_range(name):
    function, error = BY_INDEX[name]
    x = torch.ones(3, 3)
    function(x, torch.tensor([2]))
    for bad in (-1, -9, 3, 10**6):
        with pytest.raises(error):
            function(x, torch.tensor([bad]))


@pytest.mark.parametrize("name", FROM_THE_END)
def test_indices_from_the_end(name):
    x = torch.arange(9.0).reshape(3, 3)
    last = 9 if name in ("take", "put") else 3
    assert FROM_THE_END[name](x, torch.tensor([-1])).tolist() == FROM_THE_END[name](x, torch.tensor([last - 1])).tolist()
    for bad in (last, -last - 1):
        with pytest.raises(IndexError):
            FROM_THE_END[name](x, torch.tensor([bad]))


def test_dtypes_of_indices():
    x, short = torch.ones(3, 3), torch.tensor([1], dtype=torch.int16)
    for function, _ in list(BY_INDEX.values())[:-1]:
        with pytest.raises(RuntimeError):
            function(x, short)
    with pytest.raises(IndexError, match="must be long, int, byte or bool"):
        x[short]
    with pytest.raises(RuntimeError, match="Expected a long tensor"):
        torch.index_copy(x, 0, short.int(), x[:1])


@pytest.mark.parametrize("convert", [int, float, complex])
def test_only_one_element_is_a_number(convert):
    for x in (torch.ones(2), torch.ones(0)):
        with pytest.raises(ValueError, match="only one element tensors can be converted to Python scalars"):
            convert(x)
    assert convert(torch.ones(1, 1)) == 1


def test_out_is_no_expanded_tensor():
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        torch.add(X, 1, out=torch.ones(1).as_strided((3,), (0,)))


# --- types that parameters are declared with ----------------------------------------------------------------------

WRONG_TYPES = [
    ("int, not bool", lambda: torch.diff(X, n=True)),
    ("int, not float", lambda: X.diff(1.5)),
    ("int, not str", lambda: torch.narrow(X, 0, "a", 1)),
    ("bool, not int", lambda: torch.argsort(X, stable=1)),
    ("bool, not int", lambda: X.sum(0, keepdim=1)),
    ("bool, not str", lambda: torch.ones(2, requires_grad="yes")),
    ("str, not int", lambda: X.scatter_reduce(0, torch.tensor([0]), X, 1)),
    ("Number, not list", lambda: torch.addcmul(X, X, X, value=[1])),
    ("Number, not Tensor", lambda: torch.addmm(X, X[None], X[:, None], alpha=X)),
    ("torch.dtype, not str", lambda: X.softmax(0, "float32")),
    ("torch.memory_format, not str", lambda: X.contiguous(memory_format="channels_last")),
    ("tuple of ints, not str", lambda: X.var("a")),
    ("tuple of ints, not str", lambda: torch.fft.fftn(X, s="a")),
    ("tuple of Tensors, not Tensor", lambda: torch.hstack(X)),
    ("Tensor, not str", lambda: X.masked_fill("a", 0)),
    ("float, not Tensor", lambda: torch.ones(3).normal_(X)),
    ("Number, not Tensor", lambda: torch.full((2,), X)),
    ("Number, not Tensor", lambda: X.add(X, alpha=X)),
    ("tuple of ints, not int", lambda: torch.permute(X, 0)),
    ("tuple of ints, not int", lambda: torch.full(2, 1.0)),
    ("tuple of ints, not int", lambda: torch.as_strided(X, 2, (1,))),
    ("tuple of ints, not bool", lambda: torch.squeeze(X, True)),
    ("tuple of ints, not bool", lambda: X.tensor_split(True)),
    ("tuple of ints, not NoneType", lambda: torch.logsumexp(X, None)),
    ("two ints or two tuples of ints, not int and tuple", lambda: torch.movedim(X, 0, (0,))),
    ("torch.dtype, not dict", lambda: torch.zeros_like(X, dtype={})),
    ("torch.dtype, not Tensor", lambda: torch.randn(2, dtype=X)),
    ("torch.dtype, not bool", lambda: X.to("cpu", True)),
    ("'copy' must be bool, not int", lambda: X.to(torch.int64, False, 1)),
    ("must be bool, not dict", lambda: torch.empty(2, requires_grad={})),
    ("expected Tensor as element 1 in argument 0, but got int", lambda: torch.broadcast_tensors(X, 1)),
    ("expected Tensor as element 0 in argument 0, but got str", lambda: torch.stack(["a"])),
    ("expected Tensor as element 1 in argument 1, but got NoneType", lambda: torch.einsum("i,i", X, None)),
]


@pytest.mark.parametrize(("words", "call"), WRONG_TYPES)
def test_wrong_types_are_named(words, call):
    with pytest.raises(TypeError, match=words):
        call()


@pytest.mark.parametrize("call", [
    lambda: torch.tensordot("a", X), lambda: torch.split(None, 2), lambda: torch.flatten(2), lambda: torch.stack(["a"]),
    lambda: torch.Tensor.normal_(2),
])  # fmt: skip
def test_what_is_no_tensor_is_refused(call):
    with pytest.raises(TypeError, match="Tensor"):
        call()


def test_operators_give_way_to_what_is_no_tensor():
    for name in ("__rsub__", "__rpow__", "__rmod__", "__rmatmul__"):
        operator = getattr(torch.Tensor, name)
        assert operator(None, X) is NotImplemented and operator(X, None) is NotImplemented
    with pytest.raises(TypeError, match="unsupported operand"):
        "a" ** X


def test_factors_of_another_category():
    whole, flags = torch.tensor([1, 2]), torch.tensor([True, False])
    for name in ("add", "sub", "rsub"):
        function = getattr(torch, name)
        for x, alpha, words in (
            (X, True, "Boolean alpha"),
            (whole, True, "Boolean alpha"),
            (whole, 2.0, "floating point"),
            (X, 1j, "complex"),
        ):
            with pytest.raises(RuntimeError, match=words):
                function(x, x, alpha=alpha)
    with pytest.raises(RuntimeError, match="Boolean alpha"):
        torch.ones(3).add_(X, alpha=True)
    assert torch.add(flags, flags, alpha=True).tolist() == [True, False]
    for given in ({"alpha": True}, {"beta": True}):
        with pytest.raises(RuntimeError, match=f"Boolean {next(iter(given))} only supported for Boolean results"):
            torch.addr(torch.ones(3, 3), X, X, **given)


def test_what_to_takes_by_position():
    like = torch.ones(1, dtype=torch.float64)
    for args in ((torch.float64,), ("cpu", torch.float64), (None, torch.float64), (like,), (float,), (like, False, True)):
        assert X.to(*args).dtype is torch.float64
    assert X.to("cpu") is X and X.to(None) is X and X.to(X, False, True) is not X
    for args in ((torch.float64, "cpu"), ("cpu", X), (None, True), (torch.float64, None), (X, torch.float64, True, True)):
        with pytest.raises(TypeError):
            X.to(*args)


@pytest.mark.parametrize("one", [1, np.int64(1), torch.tensor(1), np.array(1)[()]])
def test_whole_numbers_of_any_library(one):
    assert torch.diff(X, n=one).tolist() == [1, 1] and torch.narrow(X, 0, one, one).tolist() == [2]


@pytest.mark.parametrize("two", [2, 2.0, np.float32(2), np.float64(2), torch.tensor(2), torch.tensor(2.0)])
def test_numbers_of_any_library(two):
    assert torch.addcmul(X, X, X, value=two).tolist() == [3, 10, 21]


def test_a_bool_counts_as_a_size_except_as_the_first() -> None:
    assert torch.zeros(3, True).shape == torch.ones((3, True)).shape == torch.ones(3).reshape(3, True).shape == (3, 1)
    assert torch.nn.Conv2d(2, 4, True)(torch.ones(1, 2, 3, 3)).shape == (1, 4, 3, 3)
    for call in (lambda: torch.zeros(True), lambda: torch.zeros(True, 3), lambda: torch.ones(3).view(True, 3)):
        with pytest.raises(TypeError):
            call()


def test_layouts_and_devices_that_a_factory_does_not_support() -> None:
    with pytest.raises(RuntimeError, match="does not match layout of out"):
        torch.zeros(2, layout=torch.sparse_coo, out=torch.zeros(2))
    with pytest.raises(RuntimeError, match="not implemented for sparse types"):
        torch.hann_window(3, layout=torch.sparse_coo)
    with pytest.raises(RuntimeError, match="legacy constructor expects device type: cpu but device type: cuda"):
        torch.FloatTensor(2, device="cuda")
    assert torch.FloatTensor(2, device="cpu").shape == (2,)


def test_weights_of_bincount_get_no_gradient() -> None:
    weights = torch.tensor([1.0, 2.0, 4.0], requires_grad=True)
    counts = torch.bincount(torch.tensor([0, 1, 1]), weights)
    assert counts.tolist() == [1.0, 6.0] and not counts.requires_grad


def test_warnings_point_at_the_line_of_the_program() -> None:
    """Warnings point at the caller's line, also through generated code, layers and overrides."""
    F, layer = torch.nn.functional, torch.nn.Sequential(torch.nn.Softmax())
    calls = [
        lambda: F.softmax(torch.ones(2, 2)), lambda: layer(torch.ones(2, 2)), lambda: F.mse_loss(torch.ones(2), torch.ones(2, 1)),
        lambda: torch.nn.MSELoss()(torch.ones(2), torch.ones(2, 1)), lambda: torch.ones(1).var(), lambda: torch.tensor(torch.ones(2)),
        lambda: torch.add(torch.ones(2), 1, out=torch.ones(3)),
    ]  # fmt: skip
    for call in calls:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            call()
        assert [warning.filename for warning in caught] == [__file__]

"""`__torch_function__`: modes that observe every call, and operands that are not tensors."""

from __future__ import annotations

import copy
import inspect
import operator
import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest

import flambeau as torch
from flambeau.conformance.samples import families


class RecordingMode(torch.overrides.TorchFunctionMode):
    """A mode that records every call and runs it unchanged."""

    def __init__(self):
        self.seen = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.seen.append(func.__name__)
        return func(*args, **(kwargs or {}))


class NestedRecordingMode(RecordingMode):
    """A mode that also records calls made inside functions."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.seen.append(func.__name__)
        with self:
            return torch.overrides.redispatch_function(func, types, args, kwargs or {})


def results(made):
    if isinstance(made, (tuple, list)):
        return [each for item in made for each in results(item)]
    return [made]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("mode", [RecordingMode, NestedRecordingMode])
@pytest.mark.parametrize("family", families())
def test_modes_that_let_everything_pass_change_nothing(family, mode):
    for sample in families()[family]:
        torch.manual_seed(0)
        wanted = results(sample.call(torch, *map(torch.tensor, sample.arrays(np, sample.dtypes[0]))))
        torch.manual_seed(0)
        with mode() as watched:
            got = results(sample.call(torch, *map(torch.tensor, sample.arrays(np, sample.dtypes[0]))))
        assert watched.seen, sample.name
        for a, b in zip(got, wanted, strict=True):
            if isinstance(b, torch.Tensor):
                assert a.dtype is b.dtype, sample.name
                # under this mode attention and RMS norm run step by step, which rounds differently from the fused kernels
                rounding = 1e-5 if "attention" in sample.name or "rms_norm" in sample.name else 0
                torch.testing.assert_close(a, b, rtol=rounding, atol=rounding, equal_nan=True, msg=sample.name)
            else:
                assert a == b or a != a, sample.name


def test_what_a_mode_sees_is_what_was_called():
    x = torch.ones(2, 2)
    with RecordingMode() as watched:
        torch.nn.functional.group_norm(torch.chunk(torch.matmul(x, x), 2)[0] + 1, 1)
    assert watched.seen == ["matmul", "chunk", "add", "group_norm"]


def test_a_mode_that_follows_sees_what_is_inside_once():
    x = torch.ones(2, 2)
    with NestedRecordingMode() as watched:
        torch.nanmean(x)
        torch.reshape(x, (4,))
    assert watched.seen.count("nanmean") == watched.seen.count("reshape") == 1 and "sum" in watched.seen


# --- methods and attributes -----------------------------------------------------------------------------------------


def test_a_mode_sees_methods_not_what_they_are_made_of():
    x = torch.arange(6.0).reshape(2, 3)
    with RecordingMode() as watched:
        x.norm()
        x.view(-1).unique()
        x.clone().zero_()
        x @ x.T
        assert x.dim() == 2 and x[0, 0].item() == 0
        1 - x, 2 // (x + 1), x**2, ~(x == 0)
    assert watched.seen == [
        "norm",
        "view",
        "unique",
        "clone",
        "zero_",
        "__get__",
        "matmul",
        "dim",
        "__getitem__",
        "item",
        "__rsub__",
        "add",
        "__rfloordiv__",
        "pow",
        "__eq__",
        "__invert__",
    ]


def test_what_a_mode_is_given_is_what_users_know():
    given, named = [], []

    class Keeping(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            given.append(func)
            named.append(torch.overrides.resolve_name(func))
            assert func in known
            return func(*args, **(kwargs or {}))

    known = [torch.Tensor.norm, torch.Tensor.shape.__get__, torch.Tensor.requires_grad.__set__, torch.Tensor.fill_]
    x = torch.ones(3)
    with Keeping():
        x.norm(), x.shape, x.fill_(2)
        x.requires_grad = True
    assert given == [torch.Tensor.norm, torch.Tensor.shape.__get__, torch.Tensor.fill_, torch.Tensor.requires_grad.__set__]
    assert named[:3] == ["torch.Tensor.norm", "torch.Tensor.shape.__get__", "torch.Tensor.fill_"]


def test_methods_are_as_they_were_when_the_modes_are_closed():
    x = torch.ones(3)
    assert x.norm() == x.dist(0 * x)
    before = dict(vars(torch.Tensor))
    with pytest.raises(ZeroDivisionError), RecordingMode(), RecordingMode():
        for name in ("norm", "view", "dist", "add_", "size", "item", "shape"):
            assert vars(torch.Tensor)[name] is not before[name] and getattr(torch.Tensor, name) is before[name]
        assert x.nanmedian() == 1  # the first call generates nanmedian's code
        raise ZeroDivisionError
    assert dict(vars(torch.Tensor)) == before
    assert x.nanmedian(dim=0).values == 1 and x.norm() == pytest.approx(3**0.5)


def test_modes_are_of_one_thread():
    x, seen = torch.ones(3), []

    def elsewhere():
        seen.append(x.norm() * len(x.shape))

    with RecordingMode() as watched:
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
    assert watched.seen == [] and seen == [pytest.approx(3**0.5)]


def test_every_mode_is_offered_a_method_in_turn():
    with RecordingMode() as outer, RecordingMode() as inner:
        torch.ones(3).norm().item()
    assert outer.seen == inner.seen == ["ones", "norm", "item"]


def test_subclasses_are_offered_operators_by_name():
    seen = []

    class Seeing(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            seen.append(func.__name__)
            return super().__torch_function__(func, types, args, kwargs or {})

    x = torch.tensor([3, 2]).as_subclass(Seeing)
    made = [x & 1, 5 - x, x == 3, 7 // x, x @ x]
    assert seen == ["__and__", "__rsub__", "__eq__", "__rfloordiv__", "matmul"] and all(type(each) is Seeing for each in made)
    assert x != "text" and x != None  # noqa: E711


def test_a_function_that_is_first_called_under_a_mode():
    """The code generated under a mode is the same as the code generated without a mode."""
    program = (
        "import flambeau as torch\n"
        "class Mode(torch.overrides.TorchFunctionMode): pass\n"
        "with Mode():\n    torch.pinverse(torch.eye(2))\n"
        "print(torch.pinverse(x=torch.eye(2), rcond=0.1).tolist())\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stdout == "[[1.0, 0.0], [0.0, 1.0]]\n", done.stderr


# --- operands that are no tensors -----------------------------------------------------------------------------------


class ReturnsName:
    """A non-tensor whose `__torch_function__` returns the name of the called function."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        assert cls in types
        return f"{func.__name__} of a stranger"


X, STRANGER = torch.arange(6.0).reshape(2, 3), ReturnsName()
OFFERED = {  # function name -> call that must reach `__torch_function__`
    "matmul": [lambda: X @ STRANGER, lambda: torch.matmul(X, STRANGER), lambda: torch.matmul(STRANGER, X), lambda: X.matmul(STRANGER)],
    "__rmatmul__": [lambda: STRANGER @ X], "__rsub__": [lambda: STRANGER - X], "__and__": [lambda: X.bool() & STRANGER],
    "einsum": [lambda: torch.einsum("ij,jk", X, STRANGER), lambda: torch.einsum("ij,jk", [X, STRANGER])],
    "__getitem__": [lambda: X[STRANGER], lambda: X[STRANGER, 0], lambda: X[0, STRANGER], lambda: X[[STRANGER, 0]]],
    "copy_": [lambda: X.clone().copy_(STRANGER)], "fill_": [lambda: X.clone().fill_(STRANGER)], "add_": [lambda: X.clone().add_(STRANGER)],
    "index_add": [lambda: X.index_add(0, torch.tensor([0]), STRANGER), lambda: torch.index_add(X, 0, STRANGER, X)],
    "index_put_": [lambda: X.clone().index_put_((torch.tensor([0]),), STRANGER), lambda: X.clone().index_put_((STRANGER,), X)],
    "put_": [lambda: X.clone().put_(STRANGER, X)],
    "broadcast_tensors": [lambda: torch.broadcast_tensors(X, STRANGER)], "meshgrid": [lambda: torch.meshgrid(X[0], STRANGER)],
    "stack": [lambda: torch.stack([X, STRANGER])], "cat": [lambda: torch.cat((STRANGER, X))], "vstack": [lambda: torch.vstack([X, STRANGER])],
    "where": [lambda: torch.where(X > 0, X, STRANGER), lambda: X.where(STRANGER, X)], "clamp": [lambda: X.clamp(min=STRANGER)],
    "add": [lambda: X + STRANGER, lambda: torch.add(X, X, alpha=STRANGER), lambda: torch.add(X, X, out=STRANGER)],
    "addcmul": [lambda: torch.addcmul(X, X, STRANGER), lambda: X.addcmul(STRANGER, X)], "addmm": [lambda: X.addmm(X, STRANGER)],
    "linear": [lambda: torch.nn.functional.linear(X, X, STRANGER)], "cross_entropy": [
        lambda: torch.nn.functional.cross_entropy(X, torch.tensor([0, 1]), weight=STRANGER)],
    "to": [lambda: X.to(STRANGER)], "type_as": [lambda: X.type_as(STRANGER)], "result_type": [lambda: torch.result_type(X, STRANGER)],
    "normal_": [lambda: X.clone().normal_(STRANGER)], "sum": [lambda: torch.sum(X, STRANGER)], "full": [lambda: torch.full((2,), STRANGER)],
    "grad": [lambda: torch.autograd.grad(STRANGER, X)], "kaiming_uniform_": [lambda: torch.nn.init.kaiming_uniform_(STRANGER)],
    "pad_sequence": [lambda: torch.nn.utils.rnn.pad_sequence([X, STRANGER])],
}  # fmt: skip


@pytest.mark.parametrize("name", OFFERED)
def test_operands_that_are_no_tensors_are_offered_the_call(name):
    for call in OFFERED[name]:
        assert call() == f"{name} of a stranger"


def test_writing_is_offered_too():
    seen = []

    class Writing:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            seen.append((func, args[1:]))

    x, writing = X.clone(), Writing()
    x[writing] = 1.0
    x[0] = writing
    x[0, writing] = 2.0
    assert [each[0] for each in seen] == [torch.Tensor.__setitem__] * 3 and seen[1][1] == (0, writing) and torch.equal(x, X)


def test_operands_in_a_sequence_are_offered_the_call():
    seen = []

    class Noting(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            if func.__name__ != "__get__":
                seen.append((func.__name__, [type(arg).__name__ for arg in args]))
            return super().__torch_function__(func, types, args, kwargs or {})

    plain, noting = torch.ones(2, 2), torch.ones(2, 2).as_subclass(Noting)
    assert type(torch.einsum("ij,jk->ik", plain, noting)) is Noting
    torch.einsum("ij,jk->ik", [plain, noting])
    torch.einsum(plain, [0, 1], noting, [1, 2], [0, 2])
    assert seen == [("einsum", ["str", "Tensor", "Noting"])] * 3
    seen.clear()
    torch.meshgrid([plain.diag(), noting.detach().diag()], indexing="ij")
    torch.atleast_3d([plain, noting])
    assert seen[-2:] == [("meshgrid", ["list"]), ("atleast_3d", ["list"])]


def test_an_error_of_the_call_itself_is_not_offered():
    """An operand that returns NotImplemented is called once. Calls without overriding operands raise their own errors."""
    asked = []

    class Refusing:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            asked.append(func.__name__)
            return NotImplemented

    for call in (
        lambda: torch.stack([X, Refusing()]),
        lambda: X[Refusing()],
        lambda: torch.addcmul(X, X, Refusing()),
        lambda: X.addmm(X, Refusing()),
    ):
        asked.clear()
        with pytest.raises(TypeError, match="Multiple dispatch failed"):
            call()
        assert len(asked) == 1
    with pytest.raises(RuntimeError):
        torch.stack([X, X[0]])
    with pytest.raises(TypeError):
        X @ object()


def test_a_subclass_is_offered_what_it_indexes():
    class Seeing(torch.Tensor):
        pass

    index = torch.tensor([1, 0]).as_subclass(Seeing)
    assert (
        type(X[index]) is Seeing
        and type(X[index, 0]) is Seeing
        and torch.equal(torch.Tensor.as_subclass(X[index], torch.Tensor), X[[1, 0]])
    )


@pytest.mark.parametrize("make", [torch.tensor, torch.as_tensor, torch.asarray])
def test_what_makes_tensors_of_data_asks_nobody(make):
    with pytest.raises(RuntimeError, match="Could not infer dtype of ReturnsName"):
        make(STRANGER)


# --- how functions bind -------------------------------------------------------------------------------------------


class Holder:
    multiply, stack, clip = torch.mul, torch.stack, torch.clip
    convolve, inverse, split = torch.nn.functional.conv1d, torch.linalg.inv, torch.split


def test_functions_that_pytorch_compiles_do_not_bind_as_methods():
    x, holder = torch.tensor([1.0, 4.0]), Holder()
    assert holder.multiply(x, x).tolist() == [1, 16]
    assert holder.stack([x, x]).shape == (2, 2)
    assert holder.clip(x, max=2).tolist() == [1, 2]
    assert holder.convolve(x.view(1, 1, 2), x.view(1, 1, 2)).tolist() == [[[17]]]
    assert holder.inverse(torch.tensor([[2.0]])).tolist() == [[0.5]]
    with pytest.raises(TypeError):
        holder.split(x, 1)  # PyTorch's split also binds as a method


def test_functions_that_do_not_bind_are_functions_otherwise():
    assert list(inspect.signature(torch.clamp).parameters) == ["input", "min", "max", "out"]
    assert torch.clip.__name__ == "clip" and torch.mul.__doc__
    assert pickle.loads(pickle.dumps(torch.linalg.inv)) is torch.linalg.inv
    assert copy.deepcopy(torch.relu) == torch.relu
    assert torch.nn.functional.conv2d is torch.conv2d
    with pytest.raises(TypeError, match=r"relu\(\)"):
        torch.relu(1, 2, 3)


class ReturnsCall:
    """A non-tensor whose `__torch_function__` returns the function and its arguments."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return func, args


class Asked(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        with torch._C.DisableTorchFunctionSubclass():
            return func, args


OPERATORS = {
    "add": "add", "sub": "sub", "mul": "mul", "truediv": "div", "mod": "remainder", "matmul": "matmul", "lt": "lt", "ge": "ge",
    "ne": "ne", "iadd": "add_", "itruediv": "div_", "ipow": "pow_", "and_": "__and__", "floordiv": "__floordiv__",
}  # fmt: skip


@pytest.mark.parametrize("kind", [ReturnsCall, lambda: torch.ones(2, 2).as_subclass(Asked)])
@pytest.mark.parametrize("name", OPERATORS)
def test_operators_are_offered_as_methods_of_tensors(name, kind):
    x, other = torch.ones(2, 2), kind()
    func, args = getattr(operator, name)(x, other)
    if isinstance(other, torch.Tensor) and name in ("lt", "ge", "ne"):  # Python tries the reflected method of a subclass first
        assert func is {"lt": torch.Tensor.gt, "ge": torch.Tensor.le, "ne": torch.Tensor.ne}[name] and args[0] is other
    else:
        assert func is getattr(torch.Tensor, OPERATORS[name]) and args[0] is x and args[1] is other


def test_operators_that_are_reflected_are_offered_as_methods_of_tensors():
    x, word = torch.ones(2, 2), ReturnsCall()
    assert (word + x)[0] is torch.Tensor.add and (word * x)[0] is torch.Tensor.mul
    assert (word - x)[0] is torch.Tensor.__rsub__ and (word & x)[0] is torch.Tensor.bitwise_and


def test_methods_that_a_program_has_replaced_stay_replaced_inside_modes(monkeypatch):
    with RecordingMode():  # caches the methods that modes see
        torch.ones(2).uniform_()
    calls, original = [], torch.Tensor.uniform_
    monkeypatch.setattr(torch.Tensor, "uniform_", lambda self, *args, **kwargs: calls.append(self))
    with RecordingMode():
        torch.ones(2).uniform_()
        assert len(calls) == 1
    torch.ones(2).uniform_()
    assert len(calls) == 2
    monkeypatch.undo()
    assert torch.Tensor.uniform_ is original
    with RecordingMode():
        assert isinstance(torch.ones(2).uniform_(), torch.Tensor)


class FunctionsMode(torch.overrides.TorchFunctionMode):
    """A mode that records the functions themselves."""

    def __init__(self):
        self.functions = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.functions.append(func)
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("name", ["abs", "exp", "neg", "abs_"])
def test_methods_looked_up_on_the_class_are_offered_to_subclasses(name):
    method = getattr(torch.Tensor, name)
    asked = torch.ones(2, 2).as_subclass(Asked)
    assert method(asked)[0] is method
    with FunctionsMode() as mode:
        assert getattr(asked, name)()[0] is method
    assert mode.functions == [method]


def test_modes_tell_methods_from_functions():
    x = torch.ones(2)
    with FunctionsMode() as mode:
        x.exp(), torch.exp(x), x.add(1), torch.add(x, 1)
    assert mode.functions == [torch.Tensor.exp, torch.exp, torch.Tensor.add, torch.add]


def test_special_functions_are_offered_as_they_are_called():
    asked = torch.ones(2, 2).as_subclass(Asked)
    assert torch.special.entr(asked)[0] is torch.special.entr and torch.special.i1(asked)[0] is torch.special.i1


def test_iterating_over_a_subclass_yields_the_subclass():
    class Rows(torch.Tensor):
        pass

    assert [type(row) for row in torch.ones(2, 2).as_subclass(Rows)] == [Rows, Rows]


def test_methods_that_a_program_has_added_are_not_offered(monkeypatch):
    monkeypatch.setattr(torch.Tensor, "plus_one", lambda self: torch.add(self, 1), raising=False)

    class Recorded(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            seen.append(func)
            return super().__torch_function__(func, types, args, kwargs or {})

    seen = []
    assert type(torch.ones(2).as_subclass(Recorded).plus_one()) is Recorded
    assert seen == [torch.add]


def test_a_power_in_place_tries_the_other_operand():
    class Quantity:
        def __rpow__(self, base):
            return "raised"

    x = torch.ones(2)
    x **= Quantity()
    assert x == "raised"


def test_unbind_hands_on_its_dimension():
    """`unbind` passes `dim` explicitly, because TensorDict's `unbind` has no default."""

    class Rows:
        @classmethod
        def __torch_function__(cls, function, types, args=(), kwargs=None):
            return function.__name__, args[1:], kwargs

    for call in (torch.unbind(Rows()), torch.unbind(Rows(), 0), torch.unbind(Rows(), dim=0)):
        assert call == ("unbind", (0,), {})


class Refusing(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return NotImplemented


class Reflected:
    def __radd__(self, other):
        return "radd"

    def __rpow__(self, other):
        return "rpow"

    def __rmatmul__(self, other):
        return "rmatmul"


def test_python_tries_the_reflected_operator_if_all_overrides_refuse():
    x = Refusing([1.0])
    assert [x + Reflected(), x ** Reflected(), x @ Reflected()] == ["radd", "rpow", "rmatmul"]
    with pytest.raises(TypeError, match="unsupported operand"):
        x**2


def test_grad_passes_tuples_to_overrides():
    class Like:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return func.__name__, args

    x = Like()
    assert torch.autograd.grad(x, x) == ("grad", ((x,), (x,)))


@pytest.mark.parametrize("name", ["gru", "kl_div", "smm", "view_copy", "split_copy"])
def test_functions_that_are_imported_when_first_used_belong_to_torch(name):
    assert getattr(torch, name).__module__ == torch.__name__
    assert pickle.loads(pickle.dumps(getattr(torch, name))) == getattr(torch, name)


@pytest.mark.parametrize(("name", "args"), [
    ("detach", ()), ("type", (torch.float64,)), ("new_zeros", (2,)),
    ("new_ones", (2,)), ("new_empty", (2,)), ("new_full", ((2,), 1.0)), ("new_tensor", ([1.0],)), ("clone", ()),
])  # fmt: skip
def test_overridden_methods_that_call_super_keep_the_class(name, args):
    calls = []

    class Own(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            calls.append(func.__name__)
            return super().__torch_function__(func, types, args, kwargs or {})

    setattr(Own, name, lambda self, *args: getattr(super(Own, self), name)(*args))
    x = torch.ones(2).as_subclass(Own)
    assert type(getattr(x, name)(*args)) is Own
    assert type(getattr(torch.Tensor, name)(x, *args)) is Own
    assert calls == [name] * 2
    assert type(getattr(torch.Tensor, name)(torch.nn.Parameter(torch.ones(2)), *args)) is torch.Tensor


def test_functions_in_python_are_offered_before_their_types_are_checked():
    class Answer(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            return func.__name__

    with Answer():
        assert torch.split(None, [2]) == "split"
        assert torch._C._nn._parse_to("cpu") == "_parse_to"
    with pytest.raises(TypeError, match=r"split\(\): argument 'tensor' \(position 1\) must be Tensor, not NoneType"):
        torch.split(None, [2])


def test_sums_of_symbols_can_be_overridden():
    class Number:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return func.__name__, args

    number = Number()
    assert torch.sym_sum([1, number]) == ("sym_sum", ([1, number],))
    assert torch.sym_sum(number) == ("sym_sum", (number,))
    assert torch.sym_sum([1, 2]) == 3

"""Errors that `torch.jit.script` reports for user-defined classes, interfaces, unions, containers of modules and hooks."""

from typing import Any, NamedTuple, Optional  # scripted programs use these names

import pytest

import flambeau as torch
from flambeau import nn


class Point:
    shared = 3

    def __init__(self, x: int, y: float | None = None):
        self.x = x
        self.y = y

    def scaled(self, by: int) -> int:
        return self.x * by


class WithMutableDefault:
    def __init__(self, values: list[int] = [1]):  # noqa: B006
        self.values = values


class WithBadTruth:
    def __bool__(self):
        return 1, 2


@torch.jit.ignore
class Ignored:
    pass


class Derived(Point):
    pass


@torch.jit.interface
class Doubling:
    def double(self, x: torch.Tensor) -> torch.Tensor:
        pass


class Pair(NamedTuple):
    first: int
    second: list[int] = [1]


class PairOfTensors(NamedTuple):
    first: torch.Tensor = torch.ones(1)


def constructs_with_another_type():
    return Point("a").x


def calls_method_with_another_type(point: Point):
    return point.scaled("a")


def reads_missing_attribute(point: Point):
    return point.z


def reads_class_attribute(point: Point):
    return point.shared


def has_mutable_default():
    return WithMutableDefault().values


def uses_object_without_bool():
    if WithBadTruth():
        return 1
    return 2


def constructs_ignored():
    return Ignored()


def constructs_derived():
    return Derived(1)


def calls_method_outside_of_interface(x: Doubling):
    return x.triple()


def reads_missing_field(pair: Pair):
    return pair.third


def has_tensor_default(pair: PairOfTensors):
    return pair.first


def adds_objects():
    point = Point(1)
    point += Point(2)
    return point


def returns_optional(x: dict[str, int]) -> int:
    return x.get("a")


def mixes_elements():
    x: list[int] = [1, "a"]
    return x


def mixes_keys():
    x: dict[str, int] = {key: 2 * value for key, value in zip([1, 2], [3, 4])}  # noqa: B905
    return x


def is_no_member():
    x: int | str = 2.5
    return x


def is_ambiguous():
    x: list[int] | list[str] = []
    return x


def has_union_as_key(x: dict[int | str, int]):
    return len(x)


def declares_in_branch(x: bool):
    y = 1
    if x:
        y: int | None = 2
    return y


def changes_in_branch(x: bool):
    y = 1.0
    if x:
        y = 1
    return y


def indexes_with_variable(i: int):
    return (1, "a")[i]


def unpacks_tensor(x):
    a, b = x + x
    return a


def tuple_of_list():
    return tuple([1, 2])  # noqa: C409


def forks_tensor(x):
    return torch.jit.fork(x)


def returns_future_of_int() -> torch.jit.Future[float]:
    return torch.jit.fork(length, [1])


def length(x: list[int]):
    return len(x)


def future_without_type(x: list[torch.jit.Future]):
    return len(x)


def exception_as_value():
    return ValueError()


def calls_unsupported_builtin(x: int):
    return issubclass(int, x)


def has_no_type_of_module(x: nn.Linear):
    return x


def has_comment_for_two(x):
    # type: (int, int) -> int
    return x


def ranges_over_float():
    for i in range(0.5):
        print(i)


REFUSED = [
    (constructs_with_another_type, "Expected a value of type 'int' for argument 'x'"),
    (calls_method_with_another_type, "Expected a value of type 'int' for argument 'by'"),
    (reads_missing_attribute, "object has no attribute or method 'z'"),
    (reads_class_attribute, "'shared' is defined as a class attribute"),
    (has_mutable_default, "Mutable default parameters are not supported"),
    (uses_object_without_bool, "expected a bool expression for condition"),
    (constructs_ignored, "Cannot instantiate class 'Ignored'"),
    (constructs_derived, "does not support inheritance"),
    (calls_method_outside_of_interface, "object has no attribute or method 'triple'"),
    (reads_missing_field, "has no attribute or method 'third'"),
    (has_tensor_default, "Tensors are not supported as default values"),
    (adds_objects, "Cannot emit inplace op"),
    (returns_optional, "is actually of type Optional"),
    (mixes_elements, "annotated with type List.int."),
    (mixes_keys, "annotated with type Dict.str, int."),
    (is_no_member, "annotated with type Union"),
    (is_ambiguous, "multiple possible List type candidates"),
    (has_union_as_key, "only int, float, complex, Tensor, device and string keys are supported"),
    (declares_in_branch, "already defined in an outer block"),
    (changes_in_branch, "previously had type float"),
    (indexes_with_variable, "we cannot resolve the output type"),
    (unpacks_tensor, "Tensor cannot be used as a tuple"),
    (tuple_of_list, "cannot statically infer the expected size"),
    (forks_tensor, "cannot call a value"),
    (returns_future_of_int, "Future.float. but is actually of type Future.int."),
    (future_without_type, "Future without a contained type"),
    (exception_as_value, "cannot be used as a value"),
    (calls_unsupported_builtin, "is currently not supported in Torchscript"),
    (has_no_type_of_module, "Unknown type annotation"),
    (has_comment_for_two, "did not match the number of function parameters"),
    (ranges_over_float, "found float"),
]


@pytest.mark.parametrize(("function", "message"), REFUSED, ids=[function.__name__ for function, _ in REFUSED])
def test_refused(function, message):
    with pytest.raises((RuntimeError, ValueError, torch.jit.frontend.FrontendError), match=message):
        torch.jit.script(function)


def test_class_cannot_contain_itself():
    class Tree:
        def __init__(self):
            self.parent = torch.jit.annotate(Optional[Tree], None)  # noqa: UP045

    with pytest.raises(RuntimeError, match="recursive class types are not supported"):
        torch.jit.script(Tree)


def test_accepted_objects_and_unions():
    @torch.jit.script
    def describe(x: list[int] | int | None, point: Point) -> str:
        assert point.x > 0
        if x is None:
            return "none"
        if isinstance(x, int):
            return f"{x + point.scaled(2)}"
        return f"{len(x)}"

    assert [describe(None, Point(1)), describe(3, Point(1)), describe([1, 2], Point(1))] == ["none", "5", "2"]
    with pytest.raises(RuntimeError, match=r"Union\[List\[int\], int, NoneType\]"):
        describe("a", Point(1))
    with pytest.raises(RuntimeError, match="argument 'point'"):
        describe(3, torch.ones(1))


def test_future_of_a_scripted_call():
    @torch.jit.script
    def total(x: list[int]) -> int:
        future = torch.jit.fork(length, x)
        return future.wait() + 1

    assert total([1, 2]) == 3


def test_errors_show_the_calls_that_lead_to_them():
    def inner(x: int) -> int:
        return x + 10

    def middle(x):
        return inner("hello") + x

    def outer(x):
        return middle(x)

    with pytest.raises(
        RuntimeError, match="(?s)def middle.*'middle' is being compiled since it was called from 'outer'.*def outer"
    ):
        torch.jit.script(outer)


class Twice(nn.Module):
    def double(self, x: torch.Tensor) -> torch.Tensor:
        return 2 * x

    def forward(self, x):
        return self.double(x)


class OfIntegers(nn.Module):
    def double(self, x: int) -> int:
        return 2 * x

    def forward(self, x):
        return x + self.double(1)


def test_interfaces():
    @torch.jit.interface
    class DoublingModule(nn.Module):
        def double(self, x: torch.Tensor) -> torch.Tensor:
            pass

    @torch.jit.script
    def use(module: DoublingModule, x):
        return module.double(x)

    assert use(torch.jit.script(Twice()), torch.ones(1)).item() == 2
    with pytest.raises(RuntimeError, match="is not compatible with interface"):
        use(torch.jit.script(OfIntegers()), torch.ones(1))
    with pytest.raises(RuntimeError, match="only a ScriptModule class can be subtype of module interface"):
        use(Twice(), torch.ones(1))
    with pytest.raises(RuntimeError, match="does not support inheritance"):

        @torch.jit.interface
        class _Derived(nn.ReLU):
            pass

    class Uses(nn.Module):
        inner: DoublingModule

        def __init__(self):
            super().__init__()
            self.inner = Twice()

        def forward(self, x):
            return self.inner.forward(x)

    with pytest.raises(RuntimeError, match="has no attribute or method 'forward'"):
        torch.jit.script(Uses())


# Global, as functions of Python 3.14 do not refer to local classes that only their annotations use.
@torch.jit.interface
class General(nn.Module):
    def forward(self, x: Any) -> Any:
        pass


def test_containers_whose_modules_implement_an_interface():
    class OfAny(nn.Module):
        def forward(self, x: Any) -> Any:
            return x

    class OfTensors(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return -x

    class Chosen(nn.Module):
        def __init__(self, *layers):
            super().__init__()
            self.layers = nn.ModuleList(layers)

        def forward(self, x: torch.Tensor, place: int) -> Any:
            layer: General = self.layers[place]
            return layer.forward(x)

    assert torch.jit.script(Chosen(OfAny(), OfAny()))(torch.ones(1), 1).item() == 1
    for wrong, reason in [(OfTensors(), "the signature of method 'forward'"), (nn.Module(), "'forward' is not defined")]:
        with pytest.raises(RuntimeError, match=f"Attribute 1 is not of annotated type General: .*{reason}"):
            torch.jit.script(Chosen(OfAny(), wrong))


class Layers(nn.Module):
    def __init__(self, index):
        super().__init__()
        self.layers = nn.ModuleList([nn.ReLU(), nn.Tanh()])
        self.named = nn.ModuleDict({"relu": nn.ReLU()})
        self.index = index


class OutOfRange(Layers):
    def forward(self, x):
        return self.layers[2](x)


class WithVariable(Layers):
    def forward(self, x):
        i = 1
        return self.layers[i](x)


class WithMissingName(Layers):
    def forward(self, x):
        return self.named["tanh"](x)


class WithZip(Layers):
    def forward(self, x: list[torch.Tensor]):
        for layer, part in zip(self.layers, x):  # noqa: B905
            layer(part)
        return x


class WithMissingMethod(Layers):
    def forward(self, x):
        return self.layers.missing(x)


@pytest.mark.parametrize(
    ("cls", "message"),
    [
        (OutOfRange, "Index 2 out of range"),
        (WithVariable, "Enumeration is supported"),
        (WithMissingName, "Key Error, tanh"),
        (WithZip, "statically determinable length"),
        (WithMissingMethod, "has no attribute 'missing'"),
    ],
)
def test_containers_of_modules(cls, message):
    with pytest.raises(RuntimeError, match=message):
        torch.jit.script(cls(1))


class OfString(nn.Module):
    def forward(self, x: str):
        return x

    def helper(self):
        return 1


def hook_of_three(self, input: tuple[str], output: str):
    return output + "!"


def wrong_inner(self, input: tuple[int]) -> None:
    pass


def no_tuple(self, input: str) -> None:
    pass


def too_many(self, input: tuple[str], output: str) -> None:
    pass


def wrong_result(self, input: tuple[str]) -> int:
    return 1


def helper(self, input: tuple[str]) -> None:
    pass


@pytest.mark.parametrize(
    ("hook", "message"),
    [
        (wrong_inner, "has the wrong inner types"),
        (no_tuple, "to be typed as a Tuple"),
        (too_many, "exactly 2 inputs but it had 3 inputs"),
        (wrong_result, "returned the wrong type of: 'int'"),
        (helper, "a method or hook with that name already exists"),
    ],
)
def test_pre_hooks(hook, message):
    module = OfString()
    module.register_forward_pre_hook(hook)
    with pytest.raises(RuntimeError, match=message):
        torch.jit.script(module)


def test_hooks():
    module = OfString()
    module.register_forward_hook(hook_of_three)
    assert torch.jit.script(module)("a") == "a!"

    def wrong_output(self, input: tuple[str], output: int) -> Any:
        return output

    module.register_forward_hook(wrong_output)
    with pytest.raises(RuntimeError, match="wrong type for the output argument. Received type: 'int'. Expected type: 'str'"):
        torch.jit.script(module)


def test_expressions_are_checked_once():
    unit = torch.jit.CompilationUnit("def negated(x):\n    return x" + 60 * ".neg()")  # 2**60 checks would not end
    assert unit.negated(torch.ones(1)).item() == 1

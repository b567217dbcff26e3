"""Errors that `torch.jit.script` reports before code runs, and conversion of arguments of scripted functions."""

import warnings
from typing import Dict, List, Optional, Tuple, Union  # noqa: UP035  # scripted programs use these names

import pytest

import flambeau as torch
from flambeau import nn

GLOBAL = 3


def two(x):
    return x, x


def undefined(x):
    return x + missing  # noqa: F821


def defined_in_one_branch(x):
    if bool(x.sum() > 0):
        y = 1
    return x + y


def defined_in_loop(x):
    for _ in range(3):
        y = x
    return y


def of_two_types(x: int):
    if x > 1:
        y = 1
    else:
        y = "a"
    return y


def changed_in_loop(x: int):
    y = 1
    for _ in range(x):
        y = y / 2
    return y


def without_return(x: int) -> int:
    if x > 1:
        return 1


def of_another_type(x: str) -> int:
    return x


def of_another_type_in_comment(x, y):
    # type: (Tensor, int) -> str
    return x


def closed_over(x):
    return x + GLOBAL


def too_many_arguments(x):
    return two(x, x)


def wrong_argument(x: str):
    return of_two_types(x)


def unpacked_number():
    a, b = 3
    return a + b


def three_of_two(x):
    a, b, c = x, x
    return a + b + c


def called_tensor(x):
    return x(1)


def method_as_value(x):
    return x.unsqueeze


def unknown_method(x):
    return x.unsqueezed(0)


def default_of_another_type(x: List[int] = 1):  # noqa: UP006
    return x


def mutable_default(x: List[int] = []):  # noqa: UP006, B006
    return x


def elements_unknown(x: List):  # noqa: UP006
    return x


def tuple_as_condition(x):
    return 1 if (x, x) else 2


def large_number() -> int:
    return 2**3 + 9223372036854775808


def recursive(x: int) -> int:
    return recursive(x)


@pytest.mark.parametrize(("function", "message"), [
    (undefined, "undefined value missing"), (defined_in_one_branch, "y is not defined in the false branch"),
    (defined_in_loop, "undefined value y"), (of_two_types, "Type mismatch: y is set to type int"),
    (changed_in_loop, "previously had type int"), (without_return, "does not return along all paths"),
    (of_another_type, "annotated as having type int but is actually of type str"),
    (of_another_type_in_comment, "actually of type Tensor"), (closed_over, "closed over global variable"),
    (too_many_arguments, "too many"), (wrong_argument, "Expected a value of type 'int'"),
    (unpacked_number, "cannot be used as a tuple"), (three_of_two, "need 3 values but found only 2"),
    (called_tensor, "cannot call a value"), (method_as_value, "cannot be used as a value"),
    (unknown_method, "no attribute or method 'unsqueezed'"), (default_of_another_type, "Expected a default value"),
    (mutable_default, "Mutable default"), (elements_unknown, "List without a contained type"),
    (tuple_as_condition, "Could not cast value of type Tuple"), (large_number, "out of range"), (recursive, "recursively"),
])  # fmt: skip
def test_mistakes_are_reported_before_the_code_runs(function, message):
    with pytest.raises(RuntimeError, match=f"{message}(.|\n)*test_jit_checks.py" if function is not recursive else message):
        torch.jit.script(function)


def with_try(x):
    try:
        return x
    except ValueError:
        return x


def with_lambda(x):
    return (lambda y: y)(x)


def with_else(x):
    for _ in range(2):
        pass
    else:
        x = x + 1
    return x


def with_set():
    return {1, 2}


def with_variable_arguments(*x):
    return x


def with_condition():
    return [i for i in range(3) if i > 0]


def with_floor_division(x, y):
    x //= y
    return x


def with_matrix_product(x, y):
    x @= y
    return x


@pytest.mark.parametrize(("function", "message"), [
    (with_floor_division, "augmented assignment: FloorDiv"), (with_matrix_product, "augmented assignment: MatMult"),
    (with_try, "try blocks aren't supported"), (with_lambda, "Lambda aren't supported"), (with_else, "else branches"),
    (with_set, "Set aren't supported"), (with_variable_arguments, "variable number of arguments"),
    (with_condition, "Comprehension ifs"),
])  # fmt: skip
def test_unsupported_syntax(function, message):
    with pytest.raises(torch.jit.frontend.NotSupportedError, match=message):
        torch.jit.script(function)
    assert not issubclass(torch.jit.frontend.NotSupportedError, RuntimeError)


def sliced_by_name(x: List[int]):  # noqa: UP006
    return x[slice(1, stop=2)]


def test_slices_have_no_keyword_arguments():
    with pytest.raises(RuntimeError, match="Slice does not accept any keyword arguments"):
        torch.jit.script(sliced_by_name)


def test_branches_that_are_not_compiled_are_not_checked():
    @torch.jit.script
    def scripted(x, y: Optional[int] = None):  # noqa: UP045
        if not torch.jit.is_scripting():
            return missing(x)  # noqa: F821
        if y is None:
            y = 2
        return x * y

    assert scripted(torch.ones(1)).item() == 2


class Unfinished(nn.Module):
    def __init__(self):
        super().__init__()
        self.count = 0
        self.items: List[int] = []  # noqa: UP006

    def forward(self, x):
        self.total = x
        return x


def test_attributes_of_modules():
    with pytest.raises(RuntimeError, match="nonexistent attribute: total"), pytest.warns(UserWarning, match="instance-level"):
        torch.jit.script(Unfinished())

    class Old(torch.jit.ScriptModule):
        def __init__(self, scale):
            super().__init__()
            self.scale = torch.jit.Attribute(scale, float)

        @torch.jit.script_method
        def forward(self, x):
            return x * self.scale

        @torch.jit.script_method
        def twice(self, x: int) -> int:
            return 2 * x

    module = Old(3.0)
    assert module.scale == 3.0 and module(torch.ones(1)).item() == 3 and module.twice(4) == 8

    class Broken(torch.jit.ScriptModule):
        @torch.jit.script_method
        def forward(self, x):
            return x + self.missing

    with pytest.raises(RuntimeError, match="Module 'Broken' has no attribute 'missing'"):
        Broken()


def test_classes():
    class Counter:
        def __init__(self, start: int):
            self.count = start

        def add(self) -> int:
            self.other = 1
            return self.count

    with pytest.raises(RuntimeError, match="nonexistent attribute: other"):
        torch.jit.script(Counter)
    with pytest.raises(RuntimeError, match="inherits from nn.Module"):
        torch.jit.script(nn.Linear)


@torch.jit.script
def typed(a: float, b: bool, c: List[float], d: Tuple[int, int], e: Optional[str] = None):  # noqa: UP006, UP045
    return a, b, c, d, e


def test_arguments_are_converted():
    assert typed(1, 1, (1, 2.0), [3, 4]) == (1.0, True, [1.0, 2.0], (3, 4), None)
    assert typed(torch.tensor(2.0), False, [], (True, 2), "e") == (2.0, False, [], (1, 2), "e")


@pytest.mark.parametrize("args", [
    ("a", True, [], (1, 2)), (1.0, "b", [], (1, 2)), (1.0, True, [None], (1, 2)), (1.0, True, [], (1, 2, 3)),
    (1.0, True, [], (1.5, 2)), (1.0, True, [], (1, 2), 3), (None, True, [], (1, 2)), (1.0, True, torch.ones(1), (1, 2)),
])  # fmt: skip
def test_arguments_of_other_types_are_refused(args):
    with pytest.raises(RuntimeError, match=r"typed\(\) Expected a value of type"):
        typed(*args)


def test_parameters_without_annotation_are_tensors():
    @torch.jit.script
    def doubled(x):
        return x * 2

    with pytest.raises(RuntimeError, match="Inferred 'x' to be of type 'Tensor'"):
        doubled(3)
    traced = torch.jit.trace(nn.Identity(), torch.ones(2))
    assert traced(torch.ones(3)).shape == (3,)


def test_errors_show_the_failing_expression():
    @torch.jit.script
    def item(x: List[int], i: int) -> int:  # noqa: UP006
        return x[i]

    with pytest.raises(torch.jit.Error, match=r"return x\[i\]\n +~~~~ <--- HERE\nbuiltins.IndexError"):
        item([1], 3)

    @torch.jit.script
    def product(x, y):
        return x @ y

    with pytest.raises(RuntimeError, match=r"TorchScript interpreter(.|\n)*return x @ y(.|\n)*RuntimeError: ") as error:
        product(torch.ones(2, 3), torch.ones(2, 3))
    assert type(error.value) is RuntimeError


def test_schemas():
    described = "typed(float a, bool b, float[] c, (int, int) d, str? e=None) -> "
    assert str(typed.schema).startswith(described)

    @torch.jit.script
    def scaled(x, names: Dict[str, int], by: float = 2.0) -> List[torch.Tensor]:  # noqa: UP006
        return [x * by]

    assert str(scaled.schema) == "scaled(Tensor x, Dict(str, int) names, float by=2.) -> Tensor[]"


def test_isinstance_outside_of_scripts():
    with pytest.raises(RuntimeError, match="List without a contained type"):
        torch.jit.isinstance([1], List)  # noqa: UP006
    with pytest.raises(RuntimeError, match="must be a type or a tuple of types"):
        torch.jit.isinstance([1], [int, str])
    with pytest.warns(UserWarning, match="inner type of a container is lost"):
        assert torch.jit.isinstance([], List[int])  # noqa: UP006
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert torch.jit.isinstance(2, (int, List[int]))  # noqa: UP006


def test_members_of_unions_are_sorted():
    @torch.jit.script
    def named(x: Union[str, int, None]):  # noqa: UP007
        return "name"

    assert "graph(%x : Union(int, NoneType, str)):" in str(named.graph)


def text_as_condition(x: str):
    assert x + "a"
    return 1 if x else 2


def generator_expression(x: List[int]):  # noqa: UP006
    return any(i > 1 for i in x), [i for i in x]  # noqa: C416


def tensor_for_a_number(x):
    total, last = 0.0, 1
    for _ in range(2):
        total = x
    if x.dim() == 0:
        last = x
    return bool(total == last)


def loop_over_tuple(x: int):
    y = 1
    for i in (1, 2):
        y = y / 2
        z = i
    return y, z


def bool_for_int(x: int = True) -> int:
    return x > 0 if x else False


def repeated_tuple(x: int):
    return (2 * (x,))[1]


def empty_tuple(x) -> Tuple[()]:  # noqa: UP006
    return ()


def list_as_condition(x: List[int]):  # noqa: UP006
    if [1]:
        return 1
    return 2


def unwrapped(x: Optional[int]):  # noqa: UP045
    return 2 * torch.jit._unwrap_optional(x)


@pytest.mark.parametrize(("function", "argument", "expected"), [
    (text_as_condition, "", 2), (generator_expression, [1, 2], (True, [1, 2])), (tensor_for_a_number, torch.tensor(1.0), True),
    (loop_over_tuple, 1, (0.25, 2)), (bool_for_int, 0, 0), (repeated_tuple, 3, 3), (empty_tuple, torch.ones(1), ()),
    (list_as_condition, [], 1), (unwrapped, 2, 4),
])  # fmt: skip
def test_code_that_the_compiler_accepts(function, argument, expected):
    assert torch.jit.script(function)(argument) == expected


@torch.jit.script
class Point:
    def __init__(self, x: int, y: int):
        self.x = x
        self.y = y

    def __add__(self, other: "Point"):
        return Point(self.x + other.x, self.y + other.y)


def test_methods_name_their_class():
    total = Point(1, 2) + Point(3, 4)
    assert (total.x, total.y) == (4, 6)


def takes_float(x: float):
    return x


class Declared(nn.Module):
    rate: float

    def __init__(self):
        super().__init__()
        self.rate = 1

    @torch.jit.unused
    @property
    def broken(self):
        raise RuntimeError("not initialized")

    def forward(self, x):
        y = 0.5
        for _ in range(2):
            y = self.rate
        if not torch.jit.is_scripting():
            return self.broken
        return x * takes_float(self.rate) * y


def test_declared_types_of_attributes():
    assert torch.jit.script(Declared())(torch.ones(1)).item() == 1


def test_defaults_are_converted():
    @torch.jit.script
    def defaults(x: Optional[float] = 1, y: List[float] = (1, 2), z: complex = 1):  # noqa: UP006, UP045
        return x, y, z

    assert repr(defaults()) == "(1.0, [1.0, 2.0], (1+0j))"
    defaults()[1].append(3.0)
    assert len(defaults()[1]) == 2

    @torch.jit.script
    def total(x: Dict[str, float]):  # noqa: UP006
        return x["a"]

    assert repr(total({"a": 1})) == "1.0"
    with pytest.raises(RuntimeError, match="Expected a value of type 'Dict"):
        total({1: 2.0})


@pytest.mark.parametrize("error", [NotImplementedError, RuntimeError, ValueError])
def test_raised_errors(error):
    def fails(x):
        raise error("no")

    with pytest.raises(torch.jit.Error, match=rf'raise error\("no"\)\n +~+ <--- HERE\n(.|\n)*{error.__name__}: no') as raised:
        torch.jit.script(fails)(torch.ones(1))
    assert "_script.py" not in str(raised.value)


def test_functions_of_flambeau_vision_are_not_checked(monkeypatch):
    roi = pytest.importorskip("flambeau_vision.ops.roi")
    for function in (roi.roi_align, roi._resample):  # the module name that they have in programs that import torchvision
        monkeypatch.setattr(function, "__module__", "torchvision.ops.roi")
    boxes = torch.tensor([[0.0, 0.0, 0.0, 2.0, 2.0]])
    assert torch.jit.script(roi.roi_align)(torch.ones(1, 1, 4, 4), boxes, 1).item() == 1


def test_errors_underline_the_whole_assignment():
    class Assigns(nn.Module):
        def forward(self, x):
            self.total = x + 1
            return x

    with pytest.raises(RuntimeError, match=r"self\.total = x \+ 1\n +~{18} <--- HERE"):
        torch.jit.script(Assigns())


def test_packages_whose_names_begin_with_flambeau_are_checked():
    def wrong(x):
        return x + undefined_value  # noqa: F821

    wrong.__module__ = "flambeau_demo.layers"
    with pytest.raises(RuntimeError, match="undefined value undefined_value"):
        torch.jit.script(wrong)

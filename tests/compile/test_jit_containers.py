"""Lists and dictionaries in scripted code: errors that are found before it runs, and what the caller sees of changes."""

from __future__ import annotations

import io
from typing import Dict, List, NamedTuple, Optional, Tuple  # noqa: UP035  # as scripted code writes them

import pytest

import flambeau as torch
from flambeau import nn

# Scripted programs use these names of types.
Ints, Floats, Optionals, Counts, Pair = List[int], List[float], List[Optional[int]], Dict[str, int], Tuple[int, int]  # noqa: UP006, UP045


class Point(NamedTuple):
    x: int
    y: float


class Broken(Exception):
    pass


def other_elements(x: Ints):
    y: Optionals = x
    return y


def other_value(x: Counts):
    x["a"] = 1.5
    return x


def other_key(x: Counts):
    return x[None]


def integer_key_of_empty():
    x = {}
    x[1] = 2
    return x


def integer_in_empty_list():
    x = []
    x.append(1)
    return x


def list_of_another_type(n: int):
    x = [1]
    if n > 1:
        x = [1.5]
    return x


def item_of_tuple(x: Pair):
    x[0] = 1
    return x


def deleted_slice(x: Ints):
    del x[0:1]
    return x


def unpacked():
    x = {"a": 1}
    return {**x}


def list_without_type(x):
    values = x.tolist()
    return values


def wrong_field():
    return Point("a", 1.0)


def method_of_number():
    x = 1
    return x.add(1)


def name_as_variable(x, name: str):
    return hasattr(x, name)


def undefined_exception(x):
    raise Missing(x)  # noqa: F821


@pytest.mark.parametrize(("function", "message"), [
    (other_elements, r"type List\[Optional\[int\]\] but is being assigned"), (other_value, "Arguments for call are not valid"),
    (other_key, "but instead found type 'NoneType'"), (integer_key_of_empty, "Arguments for call are not valid"),
    (integer_in_empty_list, "Could not match type int to Tensor"),
    (list_of_another_type, r"previously had type List\[int\]"), (item_of_tuple, "subscripted assignment"),
    (deleted_slice, "deletion at a single index"), (list_without_type, "Expected type hint for result of tolist"),
    (wrong_field, "Expected a value of type 'int' for argument 'x'"), (method_of_number, "no attribute or method 'add'"),
    (name_as_variable, "must be a string literal"), (undefined_exception, "undefined value Missing"),
])  # fmt: skip
def test_mistakes_are_reported_before_the_code_runs(function, message):
    with pytest.raises(RuntimeError, match=message):
        torch.jit.script(function)


def test_unpacked_dictionaries_are_not_supported():
    with pytest.raises(torch.jit.frontend.NotSupportedError, match="Dict expansion"):
        torch.jit.script(unpacked)


def of_tensors(x):
    found = []
    for i in range(2):
        found.append(x + i)
    return found


def fields():
    return Point(1, y=2.5)


def test_valid_containers_are_accepted():
    def appended(n: int):
        x: Ints = []
        if n > 1:
            x = []
        for i in range(n):
            x.append(i)
        return x

    assert torch.jit.script(appended)(2) == [0, 1]
    assert [each.item() for each in torch.jit.script(of_tensors)(torch.ones(1))] == [1, 2]
    assert torch.jit.script(fields)() == (1, 2.5)


def append(x: Ints, y: Counts, pair: Tuple[Ints, int]):  # noqa: UP006
    x.append(5)
    y["b"] = 2
    pair[0].append(3)
    return x


class Appending(nn.Module):
    def forward(self, x: Ints):
        x.append(1)
        return x


class Calling(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Appending()

    def forward(self, x: Ints):
        self.inner(x)
        scripted_append(x, {"a": 1}, (x, 1))
        return x

    @torch.jit.export
    def other(self, x: Ints):
        x.append(2)
        return x


scripted_append = torch.jit.script(append)


def test_scripted_code_does_not_change_lists_and_dictionaries_of_the_caller():
    x, y, pair = [1], {"a": 1}, ([2], 0)
    assert scripted_append(x, y, pair) == [1, 5]
    assert (x, y, pair) == ([1], {"a": 1}, ([2], 0))
    scripted = torch.jit.script(Calling())
    assert scripted(x) == [1, 1, 5, 3] and scripted.other(x) == [1, 2] and x == [1]
    assert Calling()(x) is x and x == [1, 1]  # Python code passes its own list to `inner`, and a copy to `scripted_append`


def test_scripted_lists_and_dictionaries_are_shared():
    numbers, counts = torch.jit.script([1]), torch.jit.script({"a": 1})
    scripted_append(numbers, counts, ([1], 1))
    assert numbers == [1, 5] and counts == {"a": 1, "b": 2}
    original = [1, 2]
    copied = torch.jit.script(original)
    copied.append(3)
    assert original == [1, 2] and copied[-1] == 3


@pytest.mark.parametrize("change", [
    lambda x: x.append("a"), lambda x: x.insert(0, "a"), lambda x: x.extend(["a"]), lambda x: x.extend({"a": 1}),
    lambda x: x.__setitem__(0, "a"), lambda x: x.__setitem__(slice(0, 1), ["a"]), lambda x: x.count("a"),
    lambda x: x.remove("a"), lambda x: "a" in x,
])  # fmt: skip
def test_scripted_lists_refuse_values_of_other_types(change):
    numbers = torch.jit.script([1, 2])
    with pytest.raises(TypeError, match="of the type int"):
        change(numbers)
    assert numbers == [1, 2]


def test_scripted_dictionaries_refuse_values_of_other_types():
    numbers = torch.jit.script({1: 2})
    for change in (lambda: numbers.__setitem__("a", 1), lambda: numbers.__setitem__(1, "a"), lambda: numbers.__delitem__("a")):
        with pytest.raises(TypeError, match="of the type int"):
            change()
    with pytest.raises(KeyError):
        "a" in numbers  # noqa: B015
    assert numbers == {1: 2}
    with pytest.raises(RuntimeError, match="several types"):
        torch.jit.script([1, "a"])


def test_exceptions_of_the_program_become_errors_of_scripts():
    @torch.jit.script
    def fail(x):
        raise Broken("on purpose")

    with pytest.raises(torch.jit.Error, match=r"Broken: on purpose") as caught:
        fail(torch.ones(1))
    assert isinstance(caught.value.__cause__, Broken)


class Scaled:
    def __init__(self, scale: int):
        self.scale = scale

    @property
    def double(self) -> int:
        return self.scale * 2

    @double.setter
    def double(self, value: int):
        self.scale = value + 1

    def joined(self, others: List["Scaled"]) -> "Scaled":  # noqa: UP006, UP037
        return Scaled(len(others))


class Holder(nn.Module):
    def __init__(self):
        super().__init__()
        self.scaled = Scaled(3)

    def forward(self, x: int):
        self.scaled.double = x
        local = Scaled(x)
        local.double = x + 1
        return self.scaled.double + local.double + self.scaled.joined([local]).scale


def test_archives_call_setters_and_assign_to_attributes_of_attributes():
    scripted, file = torch.jit.script(Holder()), io.BytesIO()
    torch.jit.save(scripted, file)
    file.seek(0)
    loaded = torch.jit.load(file)
    assert Holder()(4) == scripted(4) == loaded(4) == 10 + 12 + 1
    assert loaded.scaled.scale == 5


def test_classes_refuse_attributes_of_two_types():
    with pytest.raises(RuntimeError, match="Wrong type for attribute assignment"):

        @torch.jit.script
        class Both:
            def __init__(self, x):
                self.x = x
                self.x = 10

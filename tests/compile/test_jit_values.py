"""Values of all types that scripted modules may hold: enumerations, complex numbers, sparse tensors, tensors without data."""

from __future__ import annotations

import enum
import io
import math
from typing import Any  # as scripted code writes them

import pytest
from flambeau.nn.common_types import _size_2_t

import flambeau as torch
from flambeau import Tensor, nn


class Color(enum.Enum):
    RED = 1
    GREEN = 2


class Scale(enum.Enum):
    HALF = 0.5
    DOUBLE = 2.0


class Mixed(enum.Enum):
    ONE = 1
    TWO = "two"


class OfTensors(enum.Enum):
    ZERO = torch.zeros(1)


class Painted(nn.Module):
    def __init__(self):
        super().__init__()
        self.color = Color.GREEN

    def forward(self, x: Tensor, color: Color) -> Tensor:
        if color == self.color:
            return x * self.color.value
        if color is Color.RED:
            return x + len(self.color.name)
        return x

    @torch.jit.export
    def total(self, scale: Scale) -> float:
        result = 0.0
        for color in Color:
            result += color.value * scale.value
        return result

    @torch.jit.export
    def chosen(self, red: bool) -> Color:
        if red:
            return Color.RED
        return self.color

    @torch.jit.export
    def is_color(self, value: Any) -> bool:
        return isinstance(value, Color)


def saved(module):
    file = io.BytesIO()
    torch.jit.save(module, file)
    file.seek(0)
    return torch.jit.load(file)


def test_members_of_enumerations_are_saved_and_loaded():
    loaded = saved(torch.jit.script(Painted()))
    assert (loaded.color.name, loaded.color.value) == ("GREEN", 2)
    for module in (loaded, saved(loaded)):
        kind = type(module.color)
        assert module(torch.ones(1), kind.GREEN).item() == 2
        assert module(torch.ones(1), kind.RED).item() == 6
        assert module.chosen(True) is kind.RED and module.chosen(False) is kind.GREEN
        assert module.is_color(kind.RED) and not module.is_color(1)
    assert "class Color(Enum):\n  RED = 1\n  GREEN = 2\n" in "".join(text.decode() for text in loaded._archive.code.values())


def test_enumerations_are_iterated():
    assert torch.jit.script(Painted()).total(Scale.DOUBLE) == 6


@pytest.mark.parametrize("kind", [Mixed, OfTensors])
def test_enumerations_of_other_values_are_refused(kind):
    def value(x):
        return x.value

    value.__annotations__["x"] = kind
    with pytest.raises(RuntimeError, match="Could not unify|Cannot create Enum"):
        torch.jit.script(value)


def test_missing_members_are_refused():
    def purple(x: Color) -> bool:
        return x == Color.PURPLE

    with pytest.raises(RuntimeError, match="has no attribute 'PURPLE'"):
        torch.jit.script(purple)


def test_graphs_show_enumerations():
    def is_red(x: Color) -> bool:
        return x == Color.RED

    def name_and_value(x: Color):
        return x.name, x.value

    path = f"__torch__.{__name__}.Color"
    text = str(torch.jit.script(is_red).graph)
    assert f"Enum<{path}>)" in text and f"prim::Constant[value={path}.RED]()" in text and "aten::eq" in text
    kinds = [node.kind() for node in torch.jit.script(name_and_value).graph.nodes()]
    assert kinds == ["prim::EnumName", "prim::EnumValue", "prim::TupleConstruct"]


class Holding(nn.Module):
    def __init__(self):
        super().__init__()
        self.number, self.numbers = 3 + 5j, [2 + 3j, complex(math.inf, 0)]
        dense = torch.tensor([[0.0, 2.0], [3.0, 0.0]])
        self.entries, self.rows = dense.to_sparse(), dense.to_sparse_csr()
        self.register_buffer("empty", torch.empty(2, 3, device="meta"))
        self.other = torch.empty(4, dtype=torch.int64, device="meta")

    def forward(self, x: Tensor) -> Tensor:
        return torch.mm(self.entries, x) + torch.mm(self.rows, x)


def test_complex_numbers_sparse_tensors_and_tensors_without_data_are_saved():
    loaded = saved(torch.jit.script(Holding()))
    assert (loaded.number, loaded.numbers) == (3 + 5j, [2 + 3j, complex(math.inf, 0)])
    assert (loaded.entries.layout, loaded.rows.layout) == (torch.sparse_coo, torch.sparse_csr)
    assert loaded(torch.eye(2)).tolist() == [[0, 4], [6, 0]]
    assert loaded.empty.is_meta and loaded.empty.shape == (2, 3) and loaded.empty.dtype == torch.float32
    assert loaded.other.is_meta and loaded.other.shape == (4,) and loaded.other.dtype == torch.int64


def test_indices_of_sparse_tensors_in_archives_are_checked():
    module = Holding()
    module.entries = torch.sparse_coo_tensor(torch.tensor([[5], [0]]), torch.ones(1), (2, 2), check_invariants=False)
    with pytest.raises(RuntimeError, match="size"):
        saved(torch.jit.script(module))


def test_other_sparse_layouts_cannot_be_saved():
    with pytest.raises(RuntimeError, match="cannot be saved"):
        torch.jit.save(torch.jit.script(Columns()), io.BytesIO())


class Columns(nn.Module):
    def __init__(self):
        super().__init__()
        self.columns = torch.eye(2).to_sparse_csc()

    def forward(self, x: Tensor) -> Tensor:
        return x


def test_saving_in_a_missing_folder_is_a_runtime_error(tmp_path):
    with pytest.raises(RuntimeError, match="Parent directory"):
        torch.jit.script(Columns()).save(tmp_path / "missing" / "module.pt")


class WithDefault(nn.Module):
    def __init__(self):
        super().__init__()
        self.rate = 2.0

    def forward(self, x: Tensor) -> Tensor:
        return x * getattr(self, "rate", 1.0) + getattr(self, "missing", 3.0)


def test_getattr_with_a_default():
    assert saved(torch.jit.script(WithDefault()))(torch.ones(1)).item() == 5


def test_futures_in_graphs():
    def first(x: list[torch.jit.Future[int]]):
        return x[0]

    def of_dict(x: dict[int, torch.jit.Future[int]]):
        return x[0]

    assert "%x.1 : Future[int][]" in str(torch.jit.script(first).graph)
    assert " : Future[int] = aten::__getitem__" in str(torch.jit.script(of_dict).graph)


def test_infinity_of_math_is_a_constant():
    from math import inf

    def infinity():
        return inf

    assert torch.jit.script(infinity)() == math.inf


def area(size: _size_2_t) -> int:
    return size[0] * size[1]


def test_a_number_for_a_size_of_two_dimensions():
    scripted = torch.jit.script(area)
    assert (scripted(4), scripted((4, 3))) == (16, 12) and str(scripted.schema) == "area(int[2] size) -> int"


class WithState(nn.Module):
    """A module whose archives contain the value that `__getstate__` returns."""

    def __init__(self):
        super().__init__()
        self.register_buffer("shift", torch.ones(2))

    def forward(self):
        return self.shift

    @torch.jit.export
    def __getstate__(self):
        return 5, self.training

    @torch.jit.export
    def __setstate__(self, state):
        self.shift = torch.zeros(2) + state[0]
        self.training = state[1]


class Counter:
    def __init__(self):
        self.count = 3

    def __getstate__(self) -> tuple[int, str]:
        return self.count, "unused"

    def __setstate__(self, state: tuple[int, str]) -> None:
        self.count = 10 * state[0]


class HoldsStates(nn.Module):
    counter: Counter

    def __init__(self):
        super().__init__()
        self.inner, self.counter = WithState().eval(), Counter()

    def forward(self):
        return self.inner() + self.counter.count


def test_archives_contain_the_state_that_exported_methods_return():
    scripted = torch.jit.script(HoldsStates())
    assert scripted().tolist() == [4.0, 4.0]
    loaded = saved(scripted)
    assert loaded().tolist() == [35.0, 35.0] and not loaded.inner.training
    assert saved(loaded)().tolist() == [305.0, 305.0]

"""Scripted modules compared with the original modules."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any  # as scripted code writes them

import pytest

import flambeau as torch
from flambeau import nn
from flambeau.extension.capture import is_own_file


class PicklesDict(nn.Module):
    """A module that pickles its whole `__dict__`, like torchmetrics' metrics."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(2, 2), nn.ReLU()])

    def __getstate__(self):
        return dict(self.__dict__)

    def __setstate__(self, state):
        self.__dict__.update(state)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


def test_scripting_leaves_the_module_as_it_is():
    module, x = PicklesDict(), torch.randn(3, 2)
    scripted = torch.jit.script(module)
    assert [type(layer) for layer in (module.layers, *module.layers)] == [nn.ModuleList, nn.Linear, nn.ReLU]
    assert isinstance(scripted.layers[0], torch.jit.ScriptModule)
    assert scripted.layers[0].weight is module.layers[0].weight
    torch.testing.assert_close(scripted(x), module(x))
    scripted.extra = nn.Linear(2, 1)
    assert not hasattr(module, "extra")


def _at_most_three(x: torch.Tensor) -> torch.Tensor:
    assert x.shape[0] <= 3, "too many rows"
    if x.shape[0] == 0:
        raise ValueError("no rows")
    return x


class _AtMostThree(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return _at_most_three(x)


@pytest.mark.parametrize("code", [_at_most_three, _AtMostThree(), torch.nn.Sequential(_AtMostThree())])
def test_what_scripted_code_raises_is_an_error_of_jit(code):
    scripted = torch.jit.script(code)
    assert torch.equal(scripted(torch.ones(3)), torch.ones(3))
    with pytest.raises(torch.jit.Error, match="AssertionError: too many rows") as caught:
        scripted(torch.ones(4))
    assert isinstance(caught.value.__cause__, AssertionError)
    with pytest.raises(torch.jit.Error, match="builtins.ValueError: no rows"):
        scripted(torch.ones(0))
    with pytest.raises(AssertionError, match="too many rows"):
        code(torch.ones(4))


def test_errors_of_operations_are_as_outside_of_scripts():
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied") as caught:
        torch.jit.script(torch.nn.Linear(2, 1))(torch.ones(3, 3))
    assert type(caught.value) is not torch.jit.Error


def test_arguments_that_do_not_fit_scripted_code():
    for scripted in (torch.jit.script(_at_most_three), torch.jit.script(_AtMostThree())):
        with pytest.raises(RuntimeError, match=r"\w+\(\) is missing value for argument 'x'. Declaration"):
            scripted()
        with pytest.raises(RuntimeError, match="too many positional arguments"):
            scripted(torch.ones(1), torch.ones(1))


@torch.jit.ignore
def asks_outside(x):
    return x if torch.jit.is_scripting() else x + 10


class Asking(nn.Module):
    def forward(self, x):
        if not torch.jit.is_scripting():
            return x - 1
        return asks_outside(x)

    @torch.jit.export
    def exported(self, x):
        return x + 1 if torch.jit.is_scripting() else x


def test_scripted_code_knows_that_it_is():
    module, x = nn.Sequential(Asking()), torch.zeros(1)
    scripted = torch.jit.script(module)
    assert (module(x), scripted(x), module(x)) == (-1, 10, -1)
    assert (module[0].exported(x), scripted[0].exported(x)) == (0, 1)
    assert (scripted.forward(x), scripted[0].forward(x), module.forward(x)) == (10, 10, -1)
    traced = torch.jit.trace(module, x)
    assert (traced(x), traced.forward(x)) == (-1, -1), "a trace keeps what the module itself does"
    assert torch.jit.trace(nn.Sequential(scripted), x)(x) == 10
    assert torch.jit.script(lambda: torch.jit.is_scripting())() and not torch.jit.is_scripting()
    for name in ("exported", "forward"):
        with pytest.raises(RuntimeError, match=f"{name}.. too many"):
            getattr(torch.jit.script(Asking()), name)(x, x)


class Written(torch.jit.ScriptModule):
    @torch.jit.script_method
    def forward(self, x):
        return self.checked(x) if torch.jit.is_scripting() else x - 1

    @torch.jit.script_method
    def checked(self, x):
        assert bool((x >= 0).all()), "negative"
        return x + 1


def test_methods_of_scripted_modules_are_scripted_code_whoever_calls_them():
    written, x = Written(), torch.zeros(1)
    assert (written(x), written.forward(x), written.checked(x)) == (1, 1, 1)
    for call in (written, written.forward, written.checked):
        with pytest.raises(torch.jit.Error, match="negative"):
            call(x - 1)
    written.define("def asked(self, x):\n    return x + 1 if torch.jit.is_scripting() else x")
    assert written.asked(x) == 1


def test_whole_numbers_are_floats_where_scripted_functions_declare_them():
    @torch.jit.script
    def scaled(x, factor: float = 2, offset: float | None = None):
        return x * factor if offset is None else x * factor + offset

    whole = torch.tensor([3])
    assert scaled(whole).dtype == scaled(whole, 1).dtype == scaled(whole, factor=1).dtype == torch.float32
    assert scaled(whole, 2, 1).tolist() == [7.0]
    with pytest.raises(RuntimeError, match="factors"):
        scaled(whole, factors=1)


def test_source_text_uses_the_names_of_the_calling_frame():
    @torch.jit.script
    def factor() -> int:
        return 3

    unit = torch.jit.CompilationUnit("def scaled(x):\n    return factor() * x")
    assert unit.scaled(torch.ones(2)).tolist() == [3, 3]
    assert not hasattr(unit, "test_source_text_uses_the_names_of_the_calling_frame")

    class Module(torch.jit.ScriptModule):
        pass

    module = Module()
    module.define("def forward(self, x):\n    return factor() + x")
    assert module(torch.ones(1)).tolist() == [4]


def test_type_errors_of_scripted_code_become_script_errors():
    @torch.jit.script
    def fill(pattern: str, value: str) -> str:
        return pattern % value

    assert fill("a %s", "b") == "a b"
    with pytest.raises(torch.jit.Error, match="not enough arguments"):
        fill("%s %s", "b")


def test_filecheck_prints_graphs():
    scripted = torch.jit.script(rectified)
    torch.testing.FileCheck().check_count(str="aten::relu", count=1, exactly=True).run(scripted.graph)


def rectified(x: torch.Tensor) -> torch.Tensor:
    return torch.relu(x)


def test_traces_of_random_functions_warn():
    x = torch.ones(3)
    with pytest.warns(torch.jit.TracerWarning, match="nondeterministic nodes"):
        torch.jit.trace(lambda x: x + torch.rand(3), x)
    with pytest.warns(torch.jit.TracerWarning, match=r"Nodes:\n\taten.dropout"):
        torch.jit.trace(torch.nn.Dropout(), x)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        torch.jit.trace(torch.nn.Dropout().eval(), x)
        torch.jit.trace(torch.nn.RReLU().eval(), x)
        torch.jit.trace(torch.nn.LSTM(3, 4, 2, dropout=0.5).eval(), torch.ones(2, 1, 3))
        torch.jit.trace(torch.nn.TransformerEncoderLayer(4, 2, 8).eval(), torch.ones(2, 1, 4))
        torch.jit.trace(torch.nn.Dropout(), x, check_trace=False)


def test_a_package_whose_name_begins_with_flambeau_is_part_of_the_program():
    folder = Path(torch.__file__).parent
    assert is_own_file(str(folder / "random.py")) and not is_own_file(str(folder.with_name("flambeau_demo") / "model.py"))


class Symmetric(nn.Module):
    def forward(self, x):
        return x.triu() + x.triu(1).T


def test_parametrized_modules_are_scripted_and_traced():
    module, x = nn.Linear(3, 3), torch.randn(2, 3)
    nn.utils.parametrize.register_parametrization(module, "weight", Symmetric())
    for converted in (torch.jit.script(module), torch.jit.trace(module, x), torch.jit.trace_module(module, {"forward": x})):
        assert torch.equal(converted(x), module(x))
        with nn.utils.parametrize.cached():
            assert torch.equal(converted(x), module(x))
    with nn.utils.parametrize.cached(), pytest.raises(RuntimeError, match="Cannot trace a model while caching"):
        torch.jit.trace(module, x)


def is_list_without_elements(x: Any) -> bool:
    return torch.jit.isinstance(x, list)


def test_isinstance_requires_the_type_of_elements():
    with pytest.raises(RuntimeError, match="List without a contained type"):
        torch.jit.script(is_list_without_elements)


class Account:
    def __init__(self, amount: int) -> None:
        self.amount = amount

    def deposit(self, amount: int) -> None:
        self.amount += amount


def deposit(account: Account) -> int:
    account.deposit(2)
    return account.amount


def test_objects_of_user_defined_classes_are_changed_by_scripts() -> None:
    account = torch.jit.script(Account(1))
    assert torch.jit.script(deposit)(account) == 3 and account.amount == 3


def test_traced_modules_have_no_attributes_for_missing_submodules() -> None:
    layer = nn.Linear(2, 2)
    layer.extra = None
    layer.register_module("missing", None)
    traced = torch.jit.trace(layer, torch.ones(1, 2))
    assert not hasattr(traced, "missing") and layer.missing is None


def test_traces_create_variables() -> None:
    traced = torch.jit.trace(lambda x: torch.autograd.Variable(torch.autograd.Variable(x) + 1), torch.ones(2))
    assert traced(torch.zeros(3)).tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize("is_constant", [True, False])
def test_traced_calls_resize_an_empty_out(is_constant: bool) -> None:
    out = torch.tensor([])
    traced = torch.jit.trace(lambda x: x + torch.ones(2, 3, out=out if is_constant else torch.empty(0)), torch.ones(2, 3))
    assert traced(torch.ones(1)).tolist() == [[2.0, 2.0, 2.0], [2.0, 2.0, 2.0]]


def read_values(x: torch.Tensor) -> torch.Tensor:
    int(x[0])
    [1, 2][x[0]]
    x.tolist()
    len(x)
    for _ in x:
        pass
    return x


def test_traces_warn_about_values_that_become_constants() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        torch.jit.trace(read_values, torch.tensor([1, 0]), check_trace=False)
    assert [str(each.message).partition(" might")[0] for each in caught] == [
        "Converting a tensor to a Python integer",
        "Converting a tensor to a Python list",
        "Using len to get tensor shape",
        "Iterating over a tensor",
    ]


def test_traces_warn_about_lists_in_results() -> None:
    with pytest.warns(torch.jit.TracerWarning, match="Encountering a list at the output of the tracer"):
        torch.jit.trace(lambda x: (x, [x + 1]), torch.ones(1))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        torch.jit.trace(lambda x: [x + 1], torch.ones(1), strict=False)


def test_modules_with_backward_hooks_cannot_be_traced() -> None:
    network = nn.Sequential(nn.Linear(2, 2))
    network[0].register_full_backward_hook(lambda *args: None)
    with pytest.raises(ValueError, match="backward hooks assigned can't be compiled: Linear"):
        torch.jit.trace(network, torch.ones(1, 2))


class ScriptedAsReLU(nn.SELU):
    def __prepare_scriptable__(self) -> nn.Module:
        return nn.ReLU()


def test_scripts_contain_the_modules_that_are_prepared_for_them() -> None:
    scripted = torch.jit.script(nn.Sequential(ScriptedAsReLU(), nn.Sequential(ScriptedAsReLU())))
    assert scripted(torch.tensor([-1.0, 2.0])).tolist() == [0.0, 2.0]
    assert scripted[0].original_name == scripted[1][0].original_name == "ReLU"

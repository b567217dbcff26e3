"""Subclasses of `torch.jit.ScriptModule`: methods with graphs, definitions for one object, constants and submodules."""

import copy
import pickle

import numpy as np
import pytest

import flambeau as torch
from flambeau import nn


class Scaled(torch.jit.ScriptModule):
    """A module whose method has a graph."""

    __constants__ = ["factor"]

    def __init__(self, factor):
        super().__init__()
        self.factor = factor
        self.weight = nn.Parameter(torch.ones(2))
        self.inner = nn.Linear(2, 2)

    @torch.jit.script_method
    def forward(self, x):
        """Multiply."""
        return x * self.factor + self.weight

    @torch.jit.script_method
    def store(self, x):
        self.weight = x
        return self.weight


def test_methods_have_graphs():
    module = Scaled(3)
    assert "aten::mul" in str(module.forward.graph)
    assert str(module.forward.schema).endswith("Scaled self, Tensor x) -> Tensor")
    assert module.forward.__doc__ == "Multiply."
    assert module(torch.ones(2)).tolist() == [4, 4]


class Broadcasts(torch.jit.ScriptModule):
    @torch.jit.script_method
    def forward(self, x):
        # type: (BroadcastingList2[int]) -> Tuple[int, int]
        return x[0], x[1]


def test_schema_of_lists_that_accept_a_number():
    assert str(Broadcasts().forward.schema).endswith("int[] x) -> ((int, int))")
    assert Broadcasts()(3) == (3, 3)


def test_submodules_are_scripted():
    module = Scaled(3)
    assert isinstance(module.inner, torch.jit.ScriptModule)
    with pytest.raises(RuntimeError, match="Cannot re-assign modules in a ScriptModule with non-scripted module"):
        module.inner = nn.Linear(2, 2)
    module.inner = torch.jit.script(nn.Linear(2, 2))


def test_scripts_assign_tensors_to_parameters():
    module = Scaled(3)
    assert module.store(torch.zeros(2)).tolist() == module.weight.tolist() == [0, 0]


def test_constants():
    module = Scaled(3)
    with pytest.raises(RuntimeError, match="Cannot mutate TorchScript constant value: 'factor'. Value: '3'"):
        module.factor = 4
    for value in ([nn.ReLU()], int, (3, {}), np.int64(5)):
        with pytest.raises(TypeError, match="in attribute 'Scaled.factor' is not a valid constant"):
            Scaled(value)


def test_definitions_belong_to_one_object():
    class Constant(torch.jit.ScriptModule):
        def __init__(self, value):
            super().__init__()
            self.define(f"def forward(self) -> int:\n    return {value}")

    one, two = Constant(1), Constant(2)
    assert (one(), two()) == (1, 2)
    assert isinstance(one, Constant)


def test_recursive_methods():
    class Recursive(torch.jit.ScriptModule):
        @torch.jit.script_method
        def first(self, x):
            return self.second(x)

        @torch.jit.script_method
        def second(self, x):
            return self.first(x)

    with pytest.raises(RuntimeError, match="called recursively"):
        Recursive()


def test_unused_properties():
    class WithProperties(nn.Module):
        __jit_unused_properties__ = ["total"]

        def forward(self, x):
            return x

        @property
        def total(self):
            return sum([1])

    with pytest.raises(AttributeError, match="has no attribute 'total'"):
        _ = torch.jit.script(WithProperties()).total


def test_scripted_functions_are_copied_but_not_pickled():
    @torch.jit.script
    def double(x):
        return 2 * x

    assert copy.deepcopy(double) is double
    with pytest.raises(pickle.PickleError, match="ScriptFunction cannot be pickled"):
        pickle.dumps(double)


def test_errors_show_all_scripted_callers():
    @torch.jit.script
    def inner(x, y):
        return x + y

    @torch.jit.script
    def outer(x, y):
        return torch.jit.wait(torch.jit.fork(inner, x, y))

    with pytest.raises(RuntimeError, match="(?s)in outer.*fork.inner, x, y.*~ <--- HERE.*in inner.*x . y.*~ <--- HERE") as error:
        outer(torch.rand(3), torch.rand(4))
    assert "flambeau." not in str(error.value) and "contextlib" not in str(error.value)


def test_loaded_code_raises_script_errors(tmp_path):
    @torch.jit.script
    def fail(x):
        raise ValueError("no")

    fail.save(tmp_path / "fail.pt")
    with pytest.raises(torch.jit.Error, match="no"):
        torch.jit.load(tmp_path / "fail.pt")(torch.ones(1))


def too_many_arguments(x):
    return torch.unsqueeze(x, 4, 5, 6)


def missing_argument(x):
    return x.masked_fill(True)


def tensor_for_list(x):
    return torch.cat(x)


def with_gradient():
    return torch.ones(2, requires_grad=True)


def unknown_operator(x):
    return torch.blargh(x)


def unpacks_result(x):
    a, b = torch.unsqueeze(x, 0)
    return a


@torch.jit.ignore
def unknown(x):
    return x, x


def unpacks_ignored(x):
    a, b = unknown(x)
    return a


REFUSED = [
    (too_many_arguments, "Arguments for call are not valid"),
    (missing_argument, "Arguments for call are not valid"),
    (tensor_for_list, "Expected a value of type 'List.Tensor.' for argument 'tensors'"),
    (with_gradient, "Keyword argument requires_grad unknown"),
    (unknown_operator, "has no attribute 'blargh'"),
    (unpacks_result, "Tensor cannot be used as a tuple"),
    (unpacks_ignored, "Tensor cannot be used as a tuple"),
]


@pytest.mark.parametrize(("function", "message"), REFUSED, ids=[function.__name__ for function, _ in REFUSED])
def test_calls_of_operators(function, message):
    with pytest.raises(RuntimeError, match=message):
        torch.jit.script(function)


class WithParameters(nn.Module):
    def __init__(self):
        super().__init__()
        self.scales = nn.ParameterDict({"a": nn.Parameter(torch.ones(1)), "b": nn.Parameter(2 * torch.ones(1))})
        self.layers = nn.ModuleDict({"relu": nn.ReLU()})
        self.relu = self.layers["relu"]

    def forward(self, x):
        for item in self.layers.items():
            assert item[1] is self.relu
        return self.scales["a"] * x + self.scales["b"]


def test_parameter_dict_and_items_can_be_saved(tmp_path):
    torch.jit.save(torch.jit.script(WithParameters()), tmp_path / "module.pt")
    assert torch.jit.load(tmp_path / "module.pt")(torch.ones(1)).item() == 3


def test_load_reads_from_the_current_position(tmp_path):
    import io

    buffer = io.BytesIO(b"before")
    buffer.seek(6)
    torch.jit.save(torch.jit.script(nn.ReLU()), buffer)
    with pytest.raises(RuntimeError, match="not a TorchScript archive"):
        torch.jit.load(buffer)
    buffer.seek(6)
    assert torch.jit.load(buffer)(-torch.ones(1)).item() == 0

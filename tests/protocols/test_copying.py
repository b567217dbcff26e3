"""Copies and pickles of tensors, parameters and functions keep the class, attributes, gradients and versions."""

import copy
import functools
import pickle

import pytest

import flambeau as torch
import flambeau.nn.functional as F
from flambeau import nn


class Tagged(torch.Tensor):
    """A tensor subclass whose constructor sets an attribute."""

    def __new__(cls, values, tag=None):
        tensor = torch.as_tensor(values).as_subclass(cls)
        tensor.tag = tag
        return tensor


class Slotted(torch.Tensor):
    __slots__ = ("note",)


class WithState(torch.Tensor):
    def __getstate__(self):
        return {"got": 1}


class WithTag(nn.Parameter):
    def __new__(cls, data, requires_grad=True, tag=None):
        parameter = super().__new__(cls, data, requires_grad)
        parameter.tag = tag
        return parameter


def pickled(value):
    return pickle.loads(pickle.dumps(value))


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, pickled])
def test_a_tensor_of_an_own_class_keeps_class_and_attributes(duplicate):
    source = Tagged([1.0, 2.0], tag=["tag"])
    twin = duplicate(source)
    assert type(twin) is Tagged and twin.tolist() == [1, 2] and twin.tag == ["tag"]
    assert (twin.tag is source.tag) is (duplicate is copy.copy)
    slotted = torch.ones(2).as_subclass(Slotted)
    assert not hasattr(duplicate(slotted), "note")
    slotted.note, slotted.more = "note", 2
    assert (duplicate(slotted).note, duplicate(slotted).more) == ("note", 2)
    parameter = nn.Parameter(Tagged([1.0]))
    assert isinstance(duplicate(parameter), nn.Parameter) and type(duplicate(parameter)) is Tagged


def test_deepcopy_remembers_the_copy_of_an_own_class():
    source = Tagged([1.0, 2.0]).requires_grad_()
    (source * 3).sum().backward()
    first, second, view = copy.deepcopy([source, source, source.detach()[1:]])
    assert first is second and first.requires_grad and first.grad.tolist() == [3, 3]
    first.data[1] = 7
    assert view.tolist() == [7]


def test_a_pickle_holds_the_state_that_a_class_gives():
    source = torch.ones(2).as_subclass(WithState)
    source.hidden = True
    assert vars(pickled(source)) == {"got": 1} and vars(copy.deepcopy(source)) == {"hidden": True}


def test_subclasses_of_parameter():
    source = WithTag(torch.ones(2), tag=3)
    assert type(copy.deepcopy(source)) is WithTag and copy.deepcopy(source).tag is None
    assert type(pickled(source)) is nn.Parameter and pickled(source).tag == 3


def test_states_of_old_pickles():
    x = torch.ones(2)
    x.__setstate__((True, None, {}))
    assert x.requires_grad
    x = torch.ones(2)
    x.__setstate__((torch.zeros(3), None, {}, True, None))
    assert x.tolist() == [0, 0, 0] and x.requires_grad
    x = torch.ones(2)
    x.__setstate__((torch.arange(3.0).storage(), 1, (2,), (1,)))
    assert x.tolist() == [1, 2]
    with pytest.raises(RuntimeError, match="can be only called on leaf Tensors"):
        (x.requires_grad_() * 2).__setstate__((True, None, {}))


def test_a_parameter_shares_the_version_of_its_data():
    data = torch.ones(3)
    weight = nn.Parameter(data)
    loss = (weight**2).sum()
    data.add_(1)
    assert weight.tolist() == [2, 2, 2] and weight._version == data._version == 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


@pytest.mark.parametrize("function", [
    torch.add, torch.cat, torch.concat, torch.clip, torch.divide, torch.special.i1, torch.linalg.norm, torch.fft.fft, torch.relu,
    torch.Tensor.add, F.relu, F.gelu, F.cross_entropy, F.linear, F.max_pool2d, nn.init.xavier_uniform_,
])  # fmt: skip
def test_functions_are_pickled_by_their_public_names(function):
    assert pickled(function) is function
    assert pickled(functools.partial(function, 1)).func is function


def test_layers_that_hold_functions_are_pickled():
    layer = nn.TransformerEncoderLayer(4, 2, 8, activation=F.gelu).eval()
    twin = pickled(layer)
    x = torch.rand(1, 3, 4)
    assert twin.activation is F.gelu and torch.equal(twin(x), layer(x))

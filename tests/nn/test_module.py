"""nn.Module: registration, attributes, traversal, hooks, state dicts, conversion and copies; containers."""

import copy
import gc
import pickle
import warnings
import weakref
from collections import OrderedDict
from unittest import mock

import pytest

import flambeau as torch
from flambeau import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(3, 4)
        self.scale = nn.Parameter(torch.ones(2))
        self.register_buffer("mean", torch.zeros(2))
        self.register_buffer("cache", torch.zeros(1), persistent=False)
        self.head = nn.Sequential(nn.ReLU(), nn.Linear(4, 2))

    def forward(self, x, shift=0.0):
        return self.head(self.hidden(x)) * self.scale + self.mean + shift


def names(pairs):
    return [name for name, _ in pairs]


# Registration and attributes


def test_assignment_registers():
    net = Net()
    assert names(net.named_parameters()) == [
        "scale",
        "hidden.weight",
        "hidden.bias",
        "head.1.weight",
        "head.1.bias",
    ]
    assert names(net.named_buffers()) == ["mean", "cache"]
    assert names(net.named_children()) == ["hidden", "head"]
    assert net.scale is net._parameters["scale"] and net.mean is net._buffers["mean"]


def test_reassignment_and_deletion_keep_both_views_equal():
    net = Net()
    net.scale = nn.Parameter(torch.zeros(2))
    assert net.scale is net._parameters["scale"] and float(net.scale.sum()) == 0
    net._parameters["scale"] = replacement = nn.Parameter(torch.ones(3))
    assert net.scale is replacement
    net.mean = net.mean + 5
    assert net.mean is net._buffers["mean"] and float(net.mean[0]) == 5
    net.scale = None
    assert net.scale is None and "scale" in net._parameters
    del net.scale
    assert not hasattr(net, "scale") and "scale" not in net._parameters
    net._modules.pop("head")
    assert not hasattr(net, "head")
    net._buffers.clear()
    assert not hasattr(net, "mean")


def test_replacing_the_member_dictionary():
    net = Net()
    net._modules = OrderedDict(only=nn.ReLU())
    assert isinstance(net.only, nn.ReLU) and not hasattr(net, "hidden")
    net._modules = net._modules
    assert names(net.named_children()) == ["only"]


def test_a_name_changes_its_kind():
    net = nn.Module()
    net.thing = torch.ones(1)
    assert list(net.parameters()) == []
    net.thing = nn.Parameter(torch.ones(1))
    assert len(list(net.parameters())) == 1
    del net.thing
    net.thing = nn.ReLU()
    net.thing = nn.Parameter(torch.ones(1))
    assert list(net.children()) == [] and len(list(net.parameters())) == 1
    del net.thing
    net.register_buffer("other", torch.ones(1))
    net.other = nn.Parameter(torch.ones(1))
    assert list(net.buffers()) == [] and len(list(net.parameters())) == 1


def test_class_attributes_come_first():
    class WithDefault(nn.Module):
        downsample = None

        def __init__(self):
            super().__init__()
            self.downsample = nn.ReLU()

    module = WithDefault()
    assert module.downsample is None and isinstance(module._modules["downsample"], nn.ReLU)


def test_a_getattr_of_the_class_is_asked_for_members():
    class Asked(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(2))
            self.layer = nn.ReLU()

        def __getattr__(self, name):
            value = super().__getattr__(name)
            return value * 2 if isinstance(value, torch.Tensor) else (name, value)

    module = Asked()
    assert module.weight.tolist() == [2, 2] and module.layer[0] == "layer"
    module.weight = nn.Parameter(torch.zeros(1))
    assert module.weight.tolist() == [0] and [*module.state_dict()] == ["weight"]


def test_buffer_class():
    module = nn.Module()
    module.kept = nn.Buffer(torch.ones(2))
    module.temporary = nn.Buffer(torch.ones(2), persistent=False)
    assert names(module.named_buffers()) == ["kept", "temporary"]
    assert list(module.state_dict()) == ["kept"]


def test_assignment_before_init_is_refused():
    class Forgetful(nn.Module):
        def __init__(self, value):
            self.value = value

    with pytest.raises(AttributeError, match=r"cannot assign parameters before Module.__init__\(\) call"):
        Forgetful(nn.Parameter(torch.ones(1)))
    with pytest.raises(AttributeError, match=r"cannot assign module before Module.__init__\(\) call"):
        Forgetful(nn.ReLU())
    plain = Forgetful(torch.ones(1))
    with pytest.raises(AttributeError, match="'Forgetful' object has no attribute '_parameters'"):
        del plain.value
    with pytest.raises(AttributeError, match="'Forgetful' object has no attribute '_backward_hooks'"):
        plain(1)


def test_a_second_init_clears_the_members():
    layer = nn.BatchNorm1d(2)
    layer.register_buffer("cache", torch.ones(1), persistent=False)
    layer.register_forward_hook(double_output)
    layer.mark, layer.child = "kept", nn.ReLU()
    nn.Module.__init__(layer.eval())
    assert layer.mark == "kept" and layer.training and layer.num_features == 2
    for name in ("weight", "running_mean", "cache", "child"):
        with pytest.raises(AttributeError, match=f"'BatchNorm1d' object has no attribute '{name}'"):
            getattr(layer, name)
    layer.register_buffer("cache", torch.ones(1))
    assert list(layer.state_dict()) == ["cache"] and not layer._forward_hooks
    layer.__init__(4, affine=False)
    assert layer.weight is None and layer(torch.ones(2, 4)).shape == (2, 4)
    net = nn.Sequential(nn.ReLU(), nn.Tanh())
    net.__init__(nn.Sigmoid())
    assert repr(net) == "Sequential(\n  (0): Sigmoid()\n)" and not hasattr(net, "1")


def test_bases_that_each_initialize_the_module():
    class First(nn.Module):
        def __init__(self):
            nn.Module.__init__(self)
            self.first = nn.Parameter(torch.ones(1))

    class Second(nn.Module):
        def __init__(self):
            nn.Module.__init__(self)
            self.second = nn.Parameter(torch.ones(1))

    class Both(First, Second):
        def __init__(self):
            First.__init__(self)
            Second.__init__(self)

    both = Both()
    assert list(both.state_dict()) == ["second"] and not hasattr(both, "first")


@pytest.mark.parametrize(
    ("action", "error", "message"),
    [
        (lambda net: net.register_parameter("a.b", None), KeyError, 'parameter name can\'t contain "."'),
        (lambda net: net.register_parameter("forward", None), KeyError, "attribute 'forward' already exists"),
        (lambda net: net.register_parameter("p", torch.ones(1)), TypeError, "object to parameter 'p'"),
        (lambda net: net.register_buffer("b", 3), TypeError, "cannot assign 'int' object to buffer 'b'"),
        (lambda net: net.add_module("m", 3), TypeError, "int is not a Module subclass"),
        (lambda net: setattr(net, "scale", torch.ones(1)), TypeError, "as parameter 'scale'"),
        (lambda net: setattr(net, "head", 3), TypeError, "cannot assign 'int' as child module 'head'"),
        (lambda net: net.missing, AttributeError, "'Net' object has no attribute 'missing'"),
        (lambda net: net.train(1), ValueError, "training mode is expected to be boolean"),
        (lambda net: net.to(torch.int32), TypeError, "only accepts floating point or complex"),
        (lambda net: net.to(1.5, 2, 3, 4, 5), TypeError, "invalid combination of arguments"),
        (lambda net: nn.Module()(1), NotImplementedError, 'missing the required "forward" function'),
    ],
)
def test_errors(action, error, message):
    with pytest.raises(error) as caught:
        action(Net())
    assert message in str(caught.value).replace("\\", "")


def test_non_leaf_parameter_is_refused():
    with pytest.raises((ValueError, TypeError)):
        nn.Module().register_parameter("p", nn.Parameter(torch.ones(1)) * 2)


def test_dir_lists_members():
    listed = dir(Net())
    assert {"hidden", "scale", "mean", "forward"} <= set(listed) and listed == sorted(listed)


def test_modules_are_freed_without_the_garbage_collector():
    gc.disable()
    try:
        net = Net()
        alive = weakref.ref(net.scale)
        del net
        assert alive() is None
    finally:
        gc.enable()


# Traversal


def test_shared_modules_and_parameters_are_listed_once():
    layer = nn.Linear(2, 2)
    net = nn.Sequential(layer, layer)
    assert names(net.named_parameters()) == ["0.weight", "0.bias"]
    assert len(list(net.named_parameters(remove_duplicate=False))) == 4
    assert names(net.named_modules()) == ["", "0"]
    assert names(net.named_modules(remove_duplicate=False)) == ["", "0", "1"]
    assert len(list(net.children())) == 1
    assert list(net.state_dict()) == ["0.weight", "0.bias", "1.weight", "1.bias"]


def test_prefix_and_recurse():
    net = Net()
    assert names(net.named_parameters(prefix="net", recurse=False)) == ["net.scale"]
    assert names(net.named_buffers(prefix="net")) == ["net.mean", "net.cache"]
    assert [type(module).__name__ for module in net.modules()] == ["Net", "Linear", "Sequential", "ReLU", "Linear"]


def test_getting_and_setting_by_path():
    net = Net()
    assert net.get_submodule("head.1") is net.head[1] and net.get_submodule("") is net
    assert net.get_parameter("head.1.bias") is net.head[1].bias
    assert net.get_buffer("mean") is net.mean
    net.set_submodule("head.0", nn.Tanh())
    assert isinstance(net.head[0], nn.Tanh)
    net.set_submodule("head.extra", nn.Tanh())
    assert isinstance(net.head.extra, nn.Tanh)
    with pytest.raises(AttributeError, match="Sequential has no attribute `9`"):
        net.set_submodule("head.9", nn.Tanh(), strict=True)
    with pytest.raises(AttributeError, match=r"`mean` is not an nn\.Module"):
        net.get_submodule("mean")
    with pytest.raises(AttributeError, match=r"`hidden` is not an nn\.Parameter"):
        net.get_parameter("hidden")


def test_apply_visits_children_first():
    visited = []
    net = Net()
    assert net.apply(lambda module: visited.append(type(module).__name__)) is net
    assert visited == ["Linear", "ReLU", "Linear", "Sequential", "Net"]


# Modes and gradients


def test_train_eval_and_requires_grad():
    net = Net()
    assert net.eval() is net and not any(module.training for module in net.modules())
    assert net.train().head[1].training
    net.requires_grad_(False)
    assert not any(param.requires_grad for param in net.parameters())


@pytest.mark.parametrize("set_to_none", [True, False])
def test_zero_grad(set_to_none):
    net = Net()
    net(torch.ones(5, 3)).sum().backward()
    before = net.scale.grad
    net.zero_grad(set_to_none)
    if set_to_none:
        assert net.scale.grad is None
    else:
        assert net.scale.grad is before and float(before.abs().sum()) == 0


# Conversion


def test_to_in_every_form():
    net = Net()
    scale = net.scale
    for arguments, options, dtype in [
        ((torch.float64,), {}, torch.float64),
        (("cpu",), {}, torch.float64),
        (("cpu", torch.float32), {}, torch.float32),
        ((), {"dtype": torch.float64}, torch.float64),
        ((torch.ones(1),), {}, torch.float32),
        ((torch.device("cpu"),), {"dtype": torch.float16, "non_blocking": True}, torch.float16),
        ((), {"memory_format": torch.channels_last}, torch.float16),
    ]:
        assert net.to(*arguments, **options) is net
        assert net.scale is scale and net.scale.dtype == net.mean.dtype == net.head[1].bias.dtype == dtype


def test_conversions_leave_integers_alone():
    norm = nn.BatchNorm1d(2)
    assert norm.double().running_mean.dtype == torch.float64 and norm.num_batches_tracked.dtype == torch.int64
    assert norm.half().weight.dtype == torch.float16
    assert norm.float().weight.dtype == torch.float32
    assert norm.cpu().weight.device.type == "cpu"
    assert norm.type(torch.float64).num_batches_tracked.dtype == torch.float64


def test_conversion_takes_gradients_along():
    layer = nn.Linear(2, 1)
    layer(torch.ones(1, 2)).sum().backward()
    layer.double()
    assert layer.weight.grad.dtype == torch.float64 and layer.weight.grad.tolist() == [[1.0, 1.0]]
    assert layer.weight.requires_grad and layer.weight.is_leaf


def test_to_empty():
    layer = nn.Linear(2, 3).to_empty(device="cpu")
    assert layer.weight.shape == (3, 2)


# Forward hooks


def test_forward_pre_hooks():
    layer, seen = nn.Identity(), []
    layer.register_forward_pre_hook(lambda module, args: seen.append(args))
    handle = layer.register_forward_pre_hook(lambda module, args: args[0] + 1)
    layer.register_forward_pre_hook(lambda module, args: (args[0] * 10,), prepend=True)
    assert layer(1) == 11 and seen == [(10,)]
    handle.remove()
    assert layer(1) == 10


def test_forward_hooks():
    layer = nn.Identity()
    layer.register_forward_hook(lambda module, args, output: output + args[0])
    layer.register_forward_hook(lambda module, args, output: output * 10, prepend=True)
    with layer.register_forward_hook(lambda module, args, output: -output):
        assert layer(1) == -11
    assert layer(1) == 11


def test_hooks_with_kwargs():
    net, x = Net(), torch.ones(1, 3)
    plain = net(x)
    net.register_forward_pre_hook(lambda module, args, kwargs: (args, {"shift": 2.0}), with_kwargs=True)
    net.register_forward_hook(lambda module, args, kwargs, output: output * kwargs["shift"], with_kwargs=True)
    torch.testing.assert_close(net(x), (plain + 2) * 2, rtol=1e-6, atol=0)
    net.register_forward_pre_hook(lambda module, args, kwargs: 3, with_kwargs=True)
    with pytest.raises(RuntimeError, match="forward pre-hook must return None or a tuple of"):
        net(x)


def test_always_called_hooks():
    class Broken(nn.Module):
        def forward(self, x):
            raise ValueError("broken")

    module, calls = Broken(), []
    module.register_forward_hook(lambda module, args, output: calls.append("normal"))
    module.register_forward_hook(lambda module, args, output: calls.append(output), always_call=True)
    with pytest.raises(ValueError, match="broken"):
        module(1)
    assert calls == [None]


def test_global_hooks():
    seen, layer = [], nn.Sequential(nn.Identity())
    from flambeau.nn.modules import module as hooks

    with hooks.register_module_forward_pre_hook(lambda module, args: seen.append(type(module).__name__)):
        assert layer(3) == 3
    with hooks.register_module_forward_hook(lambda module, args, output: output + 1):
        assert layer(3) == 5
    assert layer(3) == 3 and seen == ["Sequential", "Identity"]


def test_registration_hooks():
    from flambeau.nn.modules import module as hooks

    seen = []
    note = lambda module, name, value: seen.append(name)  # noqa: E731
    with (
        hooks.register_module_parameter_registration_hook(note),
        hooks.register_module_buffer_registration_hook(note),
        hooks.register_module_module_registration_hook(lambda module, name, value: nn.Tanh()),
    ):
        net = nn.Module()
        net.p = nn.Parameter(torch.ones(1))
        net.register_buffer("b", torch.ones(1))
        net.m = nn.ReLU()
    assert seen == ["p", "b"] and isinstance(net.m, nn.Tanh)


# Backward hooks


def test_full_backward_hooks():
    layer, seen = nn.Linear(2, 2, bias=False), []
    layer.weight.data = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    layer.register_full_backward_pre_hook(lambda module, grad_output: (grad_output[0] * 2,))
    layer.register_full_backward_hook(lambda module, grad_input, grad_output: seen.append((grad_input, grad_output)))
    layer.register_full_backward_hook(lambda module, grad_input, grad_output: (grad_input[0] * 10,))
    x = torch.ones(1, 2, requires_grad=True)
    layer(x).sum().backward()
    (grad_input,), (grad_output,) = seen[0]
    assert grad_output.tolist() == [[2.0, 2.0]] and grad_input.tolist() == [[8.0, 12.0]]
    assert x.grad.tolist() == [[80.0, 120.0]] and layer.weight.grad.tolist() == [[2.0, 2.0], [2.0, 2.0]]


def test_full_backward_hook_without_input_gradients():
    layer, seen = nn.Linear(2, 2), []
    layer.register_full_backward_hook(lambda module, grad_input, grad_output: seen.append((grad_input, grad_output)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        layer(torch.ones(1, 2)).sum().backward()
    assert seen[0][0] == (None,) and seen[0][1][0].tolist() == [[1.0, 1.0]]


def test_full_backward_hook_of_several_inputs_and_outputs():
    class Two(nn.Module):
        def forward(self, x, text, y):
            return x * y, text, x + y

    module, seen = Two(), []
    module.register_full_backward_hook(lambda module, grad_input, grad_output: seen.append((grad_input, grad_output)))
    x, y = torch.tensor(2.0, requires_grad=True), torch.tensor(3.0, requires_grad=True)
    product, _, total = module(x, "text", y)
    (product * 5 + total).backward()
    grad_input, grad_output = seen[0]
    assert [None if grad is None else float(grad) for grad in grad_output] == [5.0, None, 1.0]
    assert [None if grad is None else float(grad) for grad in grad_input] == [16.0, None, 11.0]
    assert float(x.grad) == 16.0 and float(y.grad) == 11.0


def test_old_backward_hook():
    layer, seen = nn.ReLU(), []
    layer.register_backward_hook(lambda module, grad_input, grad_output: seen.append((grad_input, grad_output)))
    with pytest.raises(RuntimeError, match="Cannot use both regular backward hooks and full backward hooks"):
        layer.register_full_backward_hook(lambda *args: None)
    x = torch.tensor([-1.0, 2.0], requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (layer(x * 1) * 3).sum().backward()
    (grad_input,), (grad_output,) = seen[0]
    assert grad_output.tolist() == [3.0, 3.0] and grad_input.tolist() == [0.0, 3.0]


# State dicts


def test_state_dict_shares_memory_and_is_detached():
    net = Net()
    state = net.state_dict()
    assert list(state)[:2] == ["scale", "mean"] and "cache" not in state
    state["scale"].fill_(7.0)
    assert net.scale.tolist() == [7.0, 7.0] and not state["scale"].requires_grad
    assert net.state_dict(keep_vars=True)["scale"] is net.scale
    assert list(net.hidden.state_dict(prefix="x.")) == ["x.weight", "x.bias"]
    assert state._metadata["head.1"] == {"version": 1}


def test_load_state_dict_round_trip():
    first, second = Net(), Net()
    second.load_state_dict(first.state_dict())
    for ours, theirs in zip(first.state_dict().values(), second.state_dict().values(), strict=True):
        assert torch.equal(ours, theirs)
    assert first.scale is not second.scale


def test_load_state_dict_errors_name_the_keys():
    net = nn.Sequential(nn.Linear(2, 2))
    with pytest.raises(RuntimeError) as caught:
        net.load_state_dict({"0.weight": torch.ones(3, 2), "0.extra": torch.ones(1), "5.x": torch.ones(1)})
    assert str(caught.value) == (
        "Error(s) in loading state_dict for Sequential:\n\t"
        'Missing key(s) in state_dict: "0.bias". \n\t'
        'Unexpected key(s) in state_dict: "5.x", "0.extra". \n\t'
        "size mismatch for 0.weight: copying a param with shape torch.Size([3, 2]) from checkpoint, "
        "the shape in current model is torch.Size([2, 2])."
    )
    keys = net.load_state_dict({"0.weight": torch.ones(2, 2), "0.extra": torch.ones(1)}, strict=False)
    assert keys.missing_keys == ["0.bias"] and keys.unexpected_keys == ["0.extra"]
    assert str(keys) == "_IncompatibleKeys(missing_keys=['0.bias'], unexpected_keys=['0.extra'])"


def test_load_state_dict_assign():
    net, source = nn.Linear(2, 1), torch.ones(1, 2, dtype=torch.float64)
    net.load_state_dict({"weight": source, "bias": torch.zeros(1)}, assign=True)
    assert isinstance(net.weight, nn.Parameter) and net.weight.dtype == torch.float64
    source.fill_(5.0)
    assert net.weight.tolist() == [[5.0, 5.0]] and net.weight.requires_grad


def test_scalars_load_from_one_element():
    module = nn.Module()
    module.register_buffer("count", torch.tensor(0.0))
    module.load_state_dict({"count": torch.tensor([3.0])})
    assert float(module.count) == 3.0


def test_extra_state():
    class Counting(nn.Module):
        count = 0

        def get_extra_state(self):
            return self.count

        def set_extra_state(self, state):
            self.count = state

    first, second = nn.Sequential(Counting()), nn.Sequential(Counting())
    first[0].count = 5
    assert dict(first.state_dict()) == {"0._extra_state": 5}
    second.load_state_dict(first.state_dict())
    assert second[0].count == 5
    with pytest.raises(RuntimeError, match="_extra_state"):
        second.load_state_dict({})


def test_state_dict_hooks():
    net, calls = nn.Linear(1, 1), []
    net.register_state_dict_pre_hook(lambda module, prefix, keep_vars: calls.append("pre"))
    net.register_state_dict_post_hook(lambda module, state, prefix, metadata: state.update(extra=1))
    assert net.state_dict()["extra"] == 1 and calls == ["pre"]

    def rename(module, state, prefix, metadata, strict, missing, unexpected, errors):
        state[prefix + "weight"] = state.pop(prefix + "old")

    loaded = nn.Linear(1, 1)
    loaded.register_load_state_dict_pre_hook(rename)
    loaded.register_load_state_dict_post_hook(lambda module, keys: keys.missing_keys.clear())
    loaded.load_state_dict({"old": torch.ones(1, 1)})
    assert float(loaded.weight) == 1.0


# Copies


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda net: pickle.loads(pickle.dumps(net))])
def test_copies_are_equal_and_independent(duplicate):
    net = Net()
    twin = duplicate(net)
    assert repr(twin) == repr(net) and twin.scale is twin._parameters["scale"]
    assert torch.equal(twin.hidden.weight, net.hidden.weight) and twin.hidden.weight is not net.hidden.weight
    twin.hidden.weight.data.fill_(0.0)
    assert float(net.hidden.weight.detach().abs().sum()) > 0
    twin.scale = nn.Parameter(torch.zeros(2))
    assert float(twin.scale.sum()) == 0 and float(net.scale.sum()) == 2
    twin.mean = torch.ones(2)
    assert float(twin._buffers["mean"].sum()) == 2 and float(net.mean.sum()) == 0
    assert twin(torch.ones(1, 3)).shape == (1, 2)


def test_deepcopy_keeps_shared_parameters_shared():
    net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    net[1].weight = net[0].weight
    twin = copy.deepcopy(net)
    assert twin[0].weight is twin[1].weight and twin[0].weight is not net[0].weight


def test_a_shallow_copy_shares_the_members_but_no_other_attributes():
    net = Net()
    twin = copy.copy(net)
    twin.scale = nn.Parameter(torch.zeros(2))
    net.head = nn.Identity()
    twin.mark = net.mark = "other"
    net.mark = "own"
    assert twin.scale is net.scale and net.scale.tolist() == [0, 0]
    assert twin.head is net.head and isinstance(twin.head, nn.Identity)
    assert (net.mark, twin.mark) == ("own", "other")
    layers = nn.ModuleList([nn.ReLU()])
    copy.copy(layers).append(nn.Tanh())
    assert len(layers) == 2 and isinstance(layers[1], nn.Tanh)


def test_a_copy_of_the_attributes_can_be_given_members_of_its_own():
    net = nn.Linear(2, 1)
    twin = type(net).__new__(type(net))
    twin.__dict__ = net.__dict__.copy()
    twin._parameters = twin._parameters.copy()
    twin.weight = nn.Parameter(torch.zeros(1, 2))
    twin._parameters["bias"] = None
    assert twin.weight.tolist() == [[0, 0]] and twin.bias is None and twin(torch.ones(2)).tolist() == [0]
    assert net.weight.abs().sum() > 0 and net.bias is not None and len(list(net.parameters())) == 2


def test_module_with_its_own_setstate():
    class Custom(nn.Linear):
        def __setstate__(self, state):
            self.__dict__.update(state)

    twin = copy.deepcopy(Custom(2, 2))
    twin.double()
    assert twin.weight is twin._parameters["weight"] and twin.bias.dtype == torch.float64


def test_hooks_survive_a_copy():
    layer = nn.Identity()
    layer.register_forward_hook(double_output)
    assert pickle.loads(pickle.dumps(layer))(3) == copy.deepcopy(layer)(3) == 6


def double_output(module, args, output):
    return output * 2


# Containers


def test_sequential_as_a_list():
    net = nn.Sequential(nn.Linear(1, 2), nn.ReLU(), nn.Linear(2, 1))
    assert len(net) == 3 and net[-1] is net[2] and isinstance(net[:2], nn.Sequential) and len(net[:2]) == 2
    net.append(nn.Tanh()).extend([nn.ReLU(), nn.ReLU()])
    net.insert(1, nn.Sigmoid())
    assert [type(layer).__name__ for layer in net] == ["Linear", "Sigmoid", "ReLU", "Linear", "Tanh", "ReLU", "ReLU"]
    assert isinstance(net.pop(1), nn.Sigmoid)
    del net[3:]
    assert list(net._modules) == ["0", "1", "2"]
    net[0] = nn.Linear(1, 2, bias=False)
    assert list(net.state_dict()) == ["0.weight", "2.weight", "2.bias"]
    doubled = net + net
    assert len(doubled) == 6 and len(net * 2) == len(2 * net) == 6
    net += nn.Sequential(nn.ReLU())
    net *= 2
    assert len(net) == 8
    with pytest.raises(IndexError, match="index 8 is out of range"):
        net[8]


def test_sequential_of_names():
    net = nn.Sequential(OrderedDict(first=nn.Linear(1, 1), second=nn.ReLU()))
    assert net.first is net[0] and list(net[1:]._modules) == ["second"]


def test_module_list():
    layers = nn.ModuleList(nn.Linear(1, 1) for _ in range(3))
    layers.append(nn.ReLU())
    layers.insert(0, nn.Tanh())
    layers += [nn.ReLU()]
    assert len(layers) == 6 and isinstance(layers[0], nn.Tanh) and isinstance(layers[1:3], nn.ModuleList)
    del layers[0]
    assert list(layers._modules) == ["0", "1", "2", "3", "4"] and len(layers + nn.ModuleList([nn.ReLU()])) == 6
    assert repr(layers) == ("ModuleList(\n  (0-2): 3 x Linear(in_features=1, out_features=1, bias=True)\n  (3-4): 2 x ReLU()\n)")


def test_module_dict():
    layers = nn.ModuleDict([("a", nn.ReLU()), ("b", nn.Tanh())])
    layers.update({"c": nn.Linear(1, 1)})
    assert list(layers) == list(layers.keys()) == ["a", "b", "c"] and "a" in layers and len(layers) == 3
    assert isinstance(layers.pop("a"), nn.ReLU) and [name for name, _ in layers.items()] == ["b", "c"]
    del layers["b"]
    assert len(list(layers.parameters())) == 2
    layers.clear()
    assert len(layers) == 0 and list(layers.values()) == []


def test_parameter_list():
    params = nn.ParameterList([torch.ones(1), nn.Parameter(torch.ones(2)), "text"])
    params.append(torch.zeros(3))
    assert len(params) == 4 and len(list(params.parameters())) == 3 and params[2] == "text"
    params[0] = torch.zeros(1)
    assert isinstance(params[0], nn.Parameter) and len(params[1:3]) == 2 and list(params.state_dict()) == ["0", "1", "3"]


def test_parameter_dict():
    params = nn.ParameterDict({"b": torch.ones(1), "a": 3})
    assert list(params) == ["a", "b"] and isinstance(params["b"], nn.Parameter)
    params["c"] = torch.zeros(2)
    assert params.get("x") is None and params.setdefault("a", 5) == 3 and len(params) == 3
    both = params | nn.ParameterDict({"d": torch.ones(1)})
    assert list(both) == ["a", "b", "c", "d"] and both["c"] is params["c"]
    assert params.popitem()[0] == "c" and list(reversed(params)) == ["b", "a"]
    del params["a"]
    assert list(params.state_dict()) == ["b"]
    with pytest.raises(TypeError, match="it is not a string"):
        params[3]


def test_repr_of_nested_modules():
    assert repr(nn.Sequential(nn.Sequential(nn.ReLU()), None or nn.Dropout())) == (
        "Sequential(\n  (0): Sequential(\n    (0): ReLU()\n  )\n  (1): Dropout(p=0.5, inplace=False)\n)"
    )
    assert repr(nn.Module()) == "Module()"


@pytest.mark.parametrize("count", [1, 2])
def test_container_is_deprecated(count):
    with pytest.warns(FutureWarning, match="is deprecated"):
        container = nn.Container(**{f"layer{number}": nn.ReLU() for number in range(count)})
    assert len(list(container.children())) == count


def test_removing_the_last_hook_restores_the_short_call():
    layer = nn.Identity()
    handle = layer.register_forward_hook(double_output)
    assert layer(1) == 2 and layer._has_hooks
    handle.remove()
    assert layer(1) == 1 and not layer._has_hooks


def test_hooks_that_are_assigned_are_called():
    layer, other = nn.Identity(), nn.Identity()
    other.register_forward_hook(double_output)
    assert layer(1) == 1
    layer._forward_hooks = other._forward_hooks
    assert layer(1) == 2
    layer._forward_hooks = OrderedDict()
    assert layer(1) == 1


@pytest.mark.parametrize("duplicate", [copy.deepcopy, copy.copy, lambda layer: layer])
def test_a_forward_that_replaces_the_own(duplicate):
    layer = nn.Linear(2, 2)
    layer.forward = lambda x: x * 5
    assert duplicate(layer)(torch.ones(2)).tolist() == [5, 5]
    del layer.forward
    with mock.patch.object(layer, "forward", return_value="patched") as forward:
        assert layer(1, scale=2) == "patched"
    forward.assert_called_once_with(1, scale=2)
    assert "forward" not in vars(layer) and layer(torch.ones(2)).shape == (2,)


def test_tensors_of_an_own_class_are_parameters():
    class Tagged(torch.Tensor):
        pass

    values = torch.ones(2).as_subclass(Tagged)
    weight = nn.Parameter(values)
    assert type(weight) is Tagged and isinstance(weight, nn.Parameter) and not isinstance(values, nn.Parameter)
    assert weight.requires_grad and weight.is_leaf and weight.data_ptr() == values.data_ptr() and not values.requires_grad
    assert not nn.Parameter(values, requires_grad=False).requires_grad
    module = nn.Module()
    module.weight = weight
    assert next(iter(module.parameters())) is weight and type(module.double().weight) is Tagged
    (weight * 3).sum().backward()
    torch.optim.SGD(module.parameters(), lr=1.0).step()
    assert weight.tolist() == [-2, -2]


def test_subclasses_of_parameter_hold_plain_tensors_only():
    class Mine(nn.Parameter):
        pass

    mine = Mine(torch.ones(1))
    assert type(mine) is Mine and isinstance(mine, nn.Parameter)
    assert not isinstance(nn.Parameter(torch.ones(1)), Mine) and type(nn.Parameter(nn.Parameter(torch.ones(1)))) is nn.Parameter
    with pytest.raises(RuntimeError, match="instance of type Mine requires that detach"):
        nn.Parameter(mine)


def test_modules_compiled_in_place():
    layer, x = nn.Linear(2, 3), torch.ones(1, 2)
    expected = layer(x)
    calls = []
    layer.compile(backend=lambda graph, inputs: calls.append("compiled") or graph.forward)
    torch.testing.assert_close(layer(x), expected)
    assert calls == ["compiled"] and type(layer) is nn.Linear
    layer.register_forward_hook(lambda module, args, output: output + 1)
    torch.testing.assert_close(layer(x), expected + 1)
    layer._forward_hooks.clear()
    torch.testing.assert_close(layer(x), expected)
    for copied in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        assert copied._compiled_call_impl is None
        torch.testing.assert_close(copied(x), expected)


def test_a_replaced_call_calls_pytorchs_private_name():
    class Doubled(nn.Linear):
        def __call__(self, *args, **kwargs):
            return 2 * self._call_impl(*args, **kwargs)

    layer, x, calls = Doubled(2, 3), torch.ones(1, 2), []
    layer.register_forward_hook(lambda *_: calls.append(1))
    assert torch.equal(layer(x), 2 * nn.functional.linear(x, layer.weight, layer.bias)) and calls == [1]

"""Methods of modules and containers: their results print the same in flambeau and PyTorch."""

from __future__ import annotations

import collections
import copy

import pytest

theirs = pytest.importorskip("torch")

import flambeau as ours  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")


def net(lib):
    nn = lib.nn
    return nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3), nn.Sequential(nn.ReLU(), nn.Linear(3, 1)))


def after(change, ask=lambda each: each):
    """Return a function `(lib)` that builds a network, calls `change(lib, network)` and returns `ask(network)`."""
    return lambda lib: (lambda made: (change(lib, made), ask(made)))(net(lib))


def backward(lib, model):
    model(lib.arange(8.0).reshape(4, 2)).square().sum().backward()
    return model


def grads(model):
    return [each.grad for each in model.parameters()]


def dtypes(model):
    return [each.dtype for each in model.state_dict().values()]


def hooks(lib):
    log, model = [], net(lib)
    handles = [
        model.register_forward_hook(lambda m, i, o: log.append(("forward", len(i), o.shape))),
        model.register_forward_pre_hook(lambda m, i: log.append(("pre", len(i)))),
        model[0].register_forward_hook(lambda m, a, k, o: (log.append(("with keywords", k)), o * 2)[1], with_kwargs=True),
        model[0].register_full_backward_hook(
            lambda m, gi, go: log.append(("backward", [g is None or g.shape for g in gi], go[0].shape))
        ),
        model[2].register_full_backward_pre_hook(lambda m, go: log.append(("before backward", go[0].shape))),
        model[2][1].register_forward_hook(lambda m, i, o: log.append("always"), always_call=True),
        model[0].register_forward_pre_hook(lambda m, a, k: (log.append("first"), (a, k))[1], with_kwargs=True, prepend=True),
    ]
    x = lib.ones(4, 2, requires_grad=True)
    result = model(x)
    result.sum().backward()
    for each in handles:
        each.remove()
    model(x)
    return log, result.shape, x.grad.shape


def hook_of_old(lib):
    log = []
    for layer, x in ((lib.nn.Linear(2, 3), lib.ones(4, 2)), (lib.nn.Conv2d(2, 3, 3), lib.ones(1, 2, 5, 5))):
        layer.register_backward_hook(lambda m, gi, go: log.append([g is None or g.numel() for g in (*gi, *go)]))
        layer(x).sum().backward()
    return log


def hooks_of_all_modules(lib):
    log, module = [], lib.nn.modules.module
    handles = [
        module.register_module_forward_hook(lambda m, i, o: log.append(type(m).__name__)),
        module.register_module_forward_pre_hook(lambda m, i: log.append("pre")),
        module.register_module_full_backward_hook(lambda m, gi, go: log.append("backward of " + type(m).__name__)),
        module.register_module_module_registration_hook(lambda m, name, each: log.append(name)),
        module.register_module_parameter_registration_hook(lambda m, name, each: log.append(name)),
        module.register_module_buffer_registration_hook(lambda m, name, each: log.append(name)),
    ]
    backward(lib, net(lib))
    for each in handles:
        each.remove()
    return log


def hooks_of_states(lib):
    log, model = [], net(lib)
    model.register_state_dict_post_hook(lambda m, state, prefix, local: log.append(("saved", prefix, len(state))))
    model.register_state_dict_pre_hook(lambda m, prefix, keep: log.append(("saving", prefix, keep)))
    model.register_load_state_dict_pre_hook(lambda m, state, *rest: log.append(("loading", len(state), len(rest))))
    model.register_load_state_dict_post_hook(lambda m, incompatible: log.append(("loaded", incompatible)))
    model.load_state_dict(model.state_dict())
    return log


def state_of_its_own(lib):
    class Own(lib.nn.Module):
        def __init__(self):
            super().__init__()
            self.x = 3
            self.register_buffer("passing", lib.ones(1), persistent=False)
            self.register_buffer("nothing", None)
            self.w = lib.nn.Parameter(lib.ones(2))
            self.b = lib.nn.Buffer(lib.zeros(1))
            self.register_parameter("none", None)

        def get_extra_state(self):
            return {"x": self.x}

        def set_extra_state(self, state):
            self.x = state["x"]

        def extra_repr(self):
            return "hello"

    first, second = Own(), Own()
    first.x = 7
    second.load_state_dict(first.state_dict())
    return list(first.state_dict()), second.x, first, [name for name, _ in first.named_buffers()], copy.deepcopy(first).x


def named(pairs):
    return [(name, getattr(each, "shape", type(each).__name__)) for name, each in pairs]


QUESTIONS = {
    "modules": lambda lib: [named(net(lib).named_modules()), named(net(lib).named_children()), len(list(net(lib).modules()))],
    "a module twice": lambda lib: (lambda a: [named(a.named_modules()), named(a.named_modules(remove_duplicate=False)), a])(
        lib.nn.Sequential(*[lib.nn.ReLU()] * 2)),
    "parameters": lambda lib: [named(net(lib).named_parameters("x")), named(net(lib).named_parameters(recurse=False))],
    "buffers": lambda lib: [named(net(lib).named_buffers("p")), named(net(lib)[1].named_buffers(recurse=False))],
    "state dict": lambda lib: [list(net(lib).state_dict(prefix="a.")), list(net(lib).state_dict(destination=collections.OrderedDict(z=1))),
                               net(lib).state_dict()._metadata, [each.requires_grad for each in net(lib).state_dict(keep_vars=True).values()]],
    "load": lambda lib: net(lib).load_state_dict(net(lib).state_dict()),
    "load in part": lambda lib: net(lib).load_state_dict({"0.weight": lib.ones(3, 2), "q": lib.ones(1)}, strict=False),
    "load wrong keys": lambda lib: net(lib).load_state_dict({"0.weight": lib.ones(3, 2), "q": lib.ones(1)}),
    "load wrong shape": lambda lib: net(lib).load_state_dict({"0.weight": lib.ones(3, 5)}, strict=False),
    "load to keep": after(lambda lib, m: m.load_state_dict({key: each.double() for key, each in m.state_dict().items()}, assign=True),
                          lambda m: [dtypes(m), m[0].weight.requires_grad]),
    "apply": lambda lib: (lambda seen: (net(lib).apply(lambda m: seen.append(type(m).__name__)), seen)[1])([]),
    "casts": lambda lib: [dtypes(each) for each in (net(lib).to(lib.float64), net(lib).half(), net(lib).bfloat16(), net(lib).type(lib.float64),
                                                    net(lib).double().float(), net(lib).to("cpu", lib.float64), net(lib).to(lib.ones(1).double()))],
    "cast to integers": lambda lib: net(lib).to(lib.int32),
    "memory": lambda lib: lib.nn.Conv2d(2, 3, 3).to(memory_format=lib.channels_last).weight.stride(),
    "freeze": lambda lib: [each.requires_grad for each in net(lib).requires_grad_(False).parameters()],
    "gradients": after(lambda lib, m: backward(lib, m).zero_grad(), grads),
    "gradients kept": after(lambda lib, m: backward(lib, m).zero_grad(set_to_none=False), grads),
    "submodules": lambda lib: [net(lib).get_submodule("2.1"), net(lib).get_submodule(""), net(lib).get_parameter("2.1.weight").shape,
                               net(lib).get_buffer("1.running_mean")],
    "no submodule": lambda lib: net(lib).get_submodule("2.9"),
    "no parameter": lambda lib: net(lib).get_parameter("2.1.nothing"),
    "another submodule": after(lambda lib, m: m.set_submodule("2.1", lib.nn.Tanh())),
    "another that is not there": after(lambda lib, m: m.set_submodule("2.7", lib.nn.Tanh(), strict=True)),
    "modes": lambda lib: [[each.training for each in m.modules()] for m in (net(lib), net(lib).eval(), net(lib).eval().train())],
    "sequence": after(lambda lib, m: m.append(lib.nn.Tanh()).insert(1, lib.nn.GELU()).extend([lib.nn.Tanh()]).register_module("q", lib.nn.ELU())),
    "sequence cut": lambda lib: [net(lib)[1:], net(lib)[-1], net(lib) + net(lib), net(lib) * 2, len(net(lib)), net(lib).pop(1)],
    "sequence without": after(lambda lib, m: (m.__delitem__(0), m.__setitem__(0, lib.nn.Tanh()))),
    "list": lambda lib: (lambda m: (m.append(lib.nn.ReLU()), m.insert(0, lib.nn.Tanh()), m.extend([lib.nn.ReLU()]), m[1:], m + m, len(m),
                                    m.pop(0), m))(lib.nn.ModuleList([lib.nn.Linear(1, 1)])),
    "dict": lambda lib: (lambda m: (m.update({"z": lib.nn.ReLU()}), list(m), m.pop("a"), m.items(), "z" in m, m.clear(), m))(
        lib.nn.ModuleDict({"a": lib.nn.Linear(1, 1), "b": lib.nn.Tanh()})),
    "parameter list": lambda lib: (lambda m: (m.append(lib.ones(1)), m.extend([3]), m[0], m[1:], len(m), m))(lib.nn.ParameterList([lib.zeros(2)])),
    "parameter dict": lambda lib: (lambda m: (
        m.update({"z": lib.ones(1)}), list(m.keys()), m.pop("a"), m.get("q"), m.setdefault("k", lib.ones(1)), m.popitem(),
        m.fromkeys(["x", "y"], 1.0), m | m, m.copy(), m))(lib.nn.ParameterDict({"a": lib.zeros(2)})),
    "hooks": hooks,
    "hooks of old": hook_of_old,
    "hooks of all modules": hooks_of_all_modules,
    "hooks of states": hooks_of_states,
    "state of its own": state_of_its_own,
    "shared": lambda lib: lib.nn.Linear(1, 1).share_memory().weight.is_shared(),
    "not initialized": lambda lib: lib.nn.utils.skip_init(lib.nn.Linear, 2, 3).weight.shape,
    "fused": lambda lib: lib.nn.utils.fuse_conv_bn_eval(lib.nn.Conv2d(1, 2, 3).eval(), lib.nn.BatchNorm2d(2).eval()),
    "clipped": after(lambda lib, m: (backward(lib, m), lib.nn.utils.clip_grad_norm_(m[2].parameters(), 0.1),
                                     lib.nn.utils.clip_grad_value_(m[2].parameters(), 0.01)), lambda m: grads(m[2])),
    "a vector": after(lambda lib, m: lib.nn.utils.vector_to_parameters(lib.nn.utils.parameters_to_vector(m.parameters()) * 2, m.parameters()),
                      lambda m: list(m.parameters())),
    "called with others": lambda lib: lib.func.functional_call(lib.nn.Linear(1, 1), {"weight": lib.ones(1, 1), "bias": lib.zeros(1)}, lib.ones(1)),
    "too early for a module": lambda lib: type("Early", (lib.nn.Module,), {"__init__": lambda self: setattr(self, "l", lib.nn.ReLU())})(),
    "too early for a parameter": lambda lib: type("Early", (lib.nn.Module,), {
        "__init__": lambda self: setattr(self, "l", lib.nn.Parameter(lib.ones(1)))})(),
    "parameters by themselves": lambda lib: [lib.nn.Parameter(lib.ones(2)), copy.deepcopy(lib.nn.Parameter(lib.ones(2), False)),
                                             lib.nn.Parameter(), lib.nn.Buffer(lib.ones(1)), lib.nn.UninitializedParameter()],
    "lazy": lambda lib: (lambda m: (m, list(m.state_dict()), m.has_uninitialized_params(), m.load_state_dict(lib.nn.Linear(4, 3).state_dict()),
                                    m.weight.shape, m))(lib.nn.LazyLinear(3)),
    "lazy shape": lambda lib: lib.nn.LazyLinear(3).weight.shape,
    "no attribute": lambda lib: net(lib).nothing,
}  # fmt: skip


def answer(lib, ask):
    lib.manual_seed(0)
    try:
        said = repr(ask(lib))
    except Exception as error:
        said = f"{type(error).__name__}: {error}"
    return said.replace("flambeau_nnlib.", "torch.").replace("flambeau", "torch")


@pytest.mark.parametrize("ask", QUESTIONS.values(), ids=QUESTIONS)
def test_answers(ask):
    assert answer(ours, ask) == answer(theirs, ask)

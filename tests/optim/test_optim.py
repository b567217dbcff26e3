"""Optimizers, compared with NumPy formulas, and the common behaviour of all optimizers."""

from __future__ import annotations

import copy
import inspect
import pickle
import warnings
from types import SimpleNamespace

import numpy as np
import pytest

import flambeau as torch

optim = torch.optim
SHAPES = [(), (0,), (3,), (2, 0, 3), (4, 5)]
STEPS = 12


# Reference optimizers: each takes the initial parameters, the gradients of all steps and the options, and returns the result.


def descend(p, g, o):
    """Apply `maximize` and weight decay; return the parameters and the gradient."""
    g = -g if o.maximize else g
    if getattr(o, "decoupled_weight_decay", False):
        return p * (1 - o.lr * o.weight_decay), g
    return p, g + getattr(o, "weight_decay", 0) * p


def sgd(p, grads, o):
    velocity = None
    for g in grads:
        p, g = descend(p, g, o)
        if o.momentum:
            velocity = g if velocity is None else o.momentum * velocity + (1 - o.dampening) * g
            g = g + o.momentum * velocity if o.nesterov else velocity
        p = p - o.lr * g
    return p


def adam(p, grads, o):
    m = v = largest = np.zeros_like(p)
    b1, b2 = o.betas
    for t, g in enumerate(grads, 1):
        p, g = descend(p, g, o)
        m, v = b1 * m + (1 - b1) * g, b2 * v + (1 - b2) * g**2
        largest = np.maximum(largest, v) if o.amsgrad else v
        p = p - o.lr * (m / (1 - b1**t)) / (np.sqrt(largest / (1 - b2**t)) + o.eps)
    return p


def adamw(p, grads, o):
    return adam(p, grads, SimpleNamespace(**vars(o), decoupled_weight_decay=True))


def adamax(p, grads, o):
    m = u = np.zeros_like(p)
    b1, b2 = o.betas
    for t, g in enumerate(grads, 1):
        p, g = descend(p, g, o)
        m, u = b1 * m + (1 - b1) * g, np.maximum(b2 * u, abs(g) + o.eps)
        p = p - o.lr / (1 - b1**t) * m / u
    return p


def nadam(p, grads, o):
    m = v = np.zeros_like(p)
    b1, b2 = o.betas
    mus = b1 * (1 - 0.5 * 0.96 ** (np.arange(1, len(grads) + 2) * o.momentum_decay))
    for t, g in enumerate(grads, 1):
        p, g = descend(p, g, o)
        m, v = b1 * m + (1 - b1) * g, b2 * v + (1 - b2) * g**2
        mean = mus[t] * m / (1 - mus[: t + 1].prod()) + (1 - mus[t - 1]) * g / (1 - mus[:t].prod())
        p = p - o.lr * mean / (np.sqrt(v / (1 - b2**t)) + o.eps)
    return p


def radam(p, grads, o):
    m = v = np.zeros_like(p)
    b1, b2 = o.betas
    longest = 2 / (1 - b2) - 1
    for t, g in enumerate(grads, 1):
        p, g = descend(p, g, o)
        m, v = b1 * m + (1 - b1) * g, b2 * v + (1 - b2) * g**2
        mean, length = m / (1 - b1**t), longest - 2 * t * b2**t / (1 - b2**t)
        if length > 5:
            r = np.sqrt((length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length))
            mean = mean * r * np.sqrt(1 - b2**t) / (np.sqrt(v) + o.eps)
        p = p - o.lr * mean
    return p


def adagrad(p, grads, o):
    total = np.full_like(p, o.initial_accumulator_value)
    for t, g in enumerate(grads):
        p, g = descend(p, g, o)
        total = total + g**2
        p = p - o.lr / (1 + t * o.lr_decay) * g / (np.sqrt(total) + o.eps)
    return p


def adadelta(p, grads, o):
    squares = deltas = np.zeros_like(p)
    for g in grads:
        p, g = descend(p, g, o)
        squares = o.rho * squares + (1 - o.rho) * g**2
        delta = np.sqrt(deltas + o.eps) / np.sqrt(squares + o.eps) * g
        deltas = o.rho * deltas + (1 - o.rho) * delta**2
        p = p - o.lr * delta
    return p


def rmsprop(p, grads, o):
    squares = mean = velocity = np.zeros_like(p)
    for g in grads:
        p, g = descend(p, g, o)
        squares, mean = o.alpha * squares + (1 - o.alpha) * g**2, o.alpha * mean + (1 - o.alpha) * g
        g = g / (np.sqrt(squares - mean**2 if o.centered else squares) + o.eps)
        velocity = o.momentum * velocity + g
        p = p - o.lr * velocity
    return p


def rprop(p, grads, o):
    size, before = np.full_like(p, o.lr), np.zeros_like(p)
    for g in grads:
        p, g = descend(p, g, o)
        factor = np.select([g * before > 0, g * before < 0], [o.etas[1], o.etas[0]], 1)
        size = np.clip(size * factor, *o.step_sizes)
        before = np.where(g * before < 0, 0, g)
        p = p - np.sign(before) * size
    return p


def asgd(p, grads, o):
    eta = o.lr
    for t, g in enumerate(grads, 1):
        p, g = descend(p, g, o)
        p = p * (1 - o.lambd * eta) - eta * g
        eta = o.lr / (1 + o.lambd * o.lr * t) ** o.alpha
    return p


def adafactor(p, grads, o):
    rms = lambda x: np.sqrt(np.mean(x**2))  # noqa: E731
    v, rows, columns = np.zeros_like(p), 0, 0
    eps1 = np.finfo(p.dtype).eps if o.eps[0] is None else o.eps[0]
    for t, g in enumerate(grads, 1):
        g = -g if o.maximize else g
        new = t**o.beta2_decay
        if p.ndim > 1:
            rows = (1 - new) * rows + new * np.mean(g**2, -1, keepdims=True)
            columns = (1 - new) * columns + new * np.mean(g**2, -2, keepdims=True)
            v = rows * columns / np.maximum(np.mean(rows, -2, keepdims=True), eps1)
        else:
            v = (1 - new) * v + new * g**2
        update = g / np.maximum(np.sqrt(v), eps1)
        size = max(o.eps[1], rms(p)) * min(o.lr, t**-0.5)
        p = p * (1 - o.lr * o.weight_decay) - size * update / max(1, rms(update) / o.d)
    return p


CASES = [
    (optim.SGD, sgd, {}),
    (optim.SGD, sgd, {"lr": 0.1, "weight_decay": 0.1, "maximize": True}),
    (optim.SGD, sgd, {"lr": 0.1, "momentum": 0.9, "dampening": 0.3, "weight_decay": 0.1}),
    (optim.SGD, sgd, {"lr": 0.1, "momentum": 0.9, "nesterov": True, "foreach": True}),
    (optim.Adam, adam, {}),
    (optim.Adam, adam, {"lr": 0.1, "betas": (0.8, 0.9), "eps": 0.1, "weight_decay": 0.1, "fused": True}),
    (optim.Adam, adam, {"lr": 0.1, "amsgrad": True, "maximize": True, "capturable": True}),
    (optim.Adam, adam, {"lr": 0.1, "weight_decay": 0.1, "decoupled_weight_decay": True}),
    (optim.AdamW, adamw, {"lr": 0.1, "weight_decay": 0.1, "foreach": True}),
    (optim.Adamax, adamax, {"lr": 0.1, "betas": (0.8, 0.9), "eps": 0.1, "weight_decay": 0.1}),
    (optim.Adamax, adamax, {"maximize": True, "capturable": True}),
    (optim.NAdam, nadam, {"lr": 0.1, "weight_decay": 0.1, "momentum_decay": 0.1}),
    (optim.NAdam, nadam, {"weight_decay": 0.1, "decoupled_weight_decay": True, "capturable": True}),
    (optim.RAdam, radam, {"lr": 0.1, "betas": (0.8, 0.9), "weight_decay": 0.1}),
    (optim.RAdam, radam, {"weight_decay": 0.1, "decoupled_weight_decay": True, "capturable": True}),
    (optim.Adagrad, adagrad, {"lr": 0.1, "lr_decay": 0.1, "weight_decay": 0.1}),
    (optim.Adagrad, adagrad, {"initial_accumulator_value": 0.5, "eps": 0.1, "maximize": True}),
    (optim.Adadelta, adadelta, {"lr": 2.0, "rho": 0.8, "eps": 0.01, "weight_decay": 0.1}),
    (optim.Adadelta, adadelta, {"maximize": True, "capturable": True}),
    (optim.RMSprop, rmsprop, {"alpha": 0.8, "eps": 0.1, "weight_decay": 0.1}),
    (optim.RMSprop, rmsprop, {"momentum": 0.9, "centered": True, "maximize": True, "capturable": True}),
    (optim.Rprop, rprop, {}),
    (optim.Rprop, rprop, {"lr": 0.1, "etas": (0.6, 1.1), "step_sizes": (0.05, 0.2), "maximize": True}),
    (optim.ASGD, asgd, {"lr": 0.1, "lambd": 0.1, "alpha": 0.5, "weight_decay": 0.1}),
    (optim.ASGD, asgd, {"maximize": True, "capturable": True}),
    (optim.Adafactor, adafactor, {"lr": 0.5}),
    (optim.Adafactor, adafactor, {"eps": (0.1, 0.01), "d": 2.0, "weight_decay": 0.1, "beta2_decay": -0.5}),
]
CLASSES = list(dict.fromkeys(cls for cls, _, _ in CASES))


def case_id(value):
    if isinstance(value, dict):
        return ",".join(f"{k}={v}" for k, v in value.items()) or "default"
    return value.__name__ if inspect.isclass(value) else ""


def weights(*shapes, seed=0, **options):
    rng = np.random.default_rng(seed)
    return [torch.nn.Parameter(torch.tensor(rng.standard_normal(shape), **options)) for shape in shapes]


def set_grads(params, seed):
    rng = np.random.default_rng(seed)
    for p in params:
        p.grad = torch.tensor(rng.standard_normal(tuple(p.shape)), dtype=p.dtype)


def options_of(cls, given):
    defaults = {name: p.default for name, p in inspect.signature(cls).parameters.items()}
    return SimpleNamespace(**{**defaults, **given})


@pytest.fixture(autouse=True)
def a_cpu_with_device_graphs(monkeypatch):
    monkeypatch.setattr("flambeau_nnlib.optim.check.HOST", "none")


@pytest.mark.filterwarnings("ignore:Mean of empty slice", "ignore:invalid value encountered")
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("cls, reference, options", CASES, ids=case_id)
def test_formula(cls, reference, options, shape):
    rng = np.random.default_rng(1)
    [w] = weights(shape)
    start, grads = w.detach().numpy().copy(), [rng.standard_normal(shape) for _ in range(STEPS)]
    optimizer = cls([w], **options)
    for grad in grads:
        w.grad = torch.tensor(grad)
        assert optimizer.step() is None
    assert w.shape == shape
    expected = reference(start, grads, options_of(cls, options))
    tolerance = 1e-4 if options.get("capturable") else 1e-6  # capturable optimizers store the step in float32
    np.testing.assert_allclose(w.detach().numpy(), expected, rtol=tolerance, atol=tolerance)


def test_averages_of_asgd_start_after_t0():
    [w] = weights((3,))
    optimizer = optim.ASGD([w], lr=0.1, lambd=0, t0=2)
    path = []
    for step in range(8):
        set_grads([w], step)
        optimizer.step()
        path.append(w.detach().numpy().copy())
    np.testing.assert_allclose(optimizer.state[w]["ax"].numpy(), np.mean(path[3:], 0), rtol=1e-6)


@pytest.mark.parametrize("shape", [(3, 5), (5, 3), (4, 4)])
def test_muon_takes_orthogonal_steps(shape):
    [w] = weights(shape)
    before = w.detach().clone()
    optimizer = optim.Muon([w], lr=0.1, weight_decay=0.5)
    set_grads([w], 1)
    optimizer.step()
    step = (before * (1 - 0.1 * 0.5) - w.detach()).numpy() / (0.1 * max(1, shape[0] / shape[1]) ** 0.5)
    singular_values = np.linalg.svd(step, compute_uv=False)
    assert (abs(singular_values - 1) < 0.5).all()
    assert (step * w.grad.numpy()).sum() > 0  # the step is a descent direction


def test_muon_takes_matrices_only():
    with pytest.raises(ValueError, match=r"only supports 2D parameters .* size: torch\.Size"):
        optim.Muon(weights((3,)))


@pytest.mark.parametrize("cls", [optim.Adafactor, optim.Muon])
def test_complex_parameters_are_refused(cls):
    w = torch.nn.Parameter(torch.ones(2, 2, dtype=torch.complex64))
    w.grad = torch.ones(2, 2, dtype=torch.complex64)
    optimizer = cls([w])
    with pytest.raises(RuntimeError, match=f"{cls.__name__} does not support complex parameters"):
        optimizer.step()


COMPLEX_CASES = [case for case in CASES if case[1] is not adafactor and not case[2].get("fused")]


@pytest.mark.parametrize("cls, reference, options", COMPLEX_CASES, ids=case_id)
def test_complex_numbers_are_pairs(cls, reference, options):
    rng = np.random.default_rng(0)
    pairs = rng.standard_normal((STEPS + 1, 4, 2))
    numbers = pairs[..., 0] + 1j * pairs[..., 1]
    w, z = (torch.nn.Parameter(torch.tensor(x[0])) for x in (pairs, numbers))
    for p, grads in ((w, pairs[1:]), (z, numbers[1:])):
        optimizer = cls([p], **options)
        for grad in grads:
            p.grad = torch.tensor(grad)
            optimizer.step()
    np.testing.assert_allclose(torch.view_as_real(z.detach()).numpy(), w.detach().numpy(), rtol=1e-6, atol=1e-8)


# Common behaviour


def test_options_of_groups():
    a, b, c = weights((2,), (2,), (2,))
    optimizer = optim.SGD([{"params": a, "lr": 0.5}, {"params": [b], "momentum": 0.9, "name": "b"}], lr=0.1)
    optimizer.add_param_group({"params": (p for p in [c]), "lr": 1.0})
    assert [group["lr"] for group in optimizer.param_groups] == [0.5, 0.1, 1.0]
    assert [group["momentum"] for group in optimizer.param_groups] == [0, 0.9, 0]
    assert optimizer.param_groups[1]["name"] == "b"
    before = [p.detach().clone() for p in (a, b, c)]
    for p in (a, b, c):
        p.grad = torch.ones_like(p)
    optimizer.step()
    for p, start, lr in zip((a, b, c), before, (0.5, 0.1, 1.0), strict=True):
        np.testing.assert_allclose(p.detach().numpy(), start.numpy() - lr)
    assert list(optimizer.state) == [b]


def test_named_parameters():
    model = torch.nn.Linear(2, 3)
    optimizer = optim.Adam(model.named_parameters())
    assert optimizer.param_groups[0]["param_names"] == ["weight", "bias"]
    assert optimizer.param_groups[0]["params"][1] is model.bias
    other = optim.Adam(model.parameters())
    other.load_state_dict(optimizer.state_dict())
    assert other.param_groups[0]["param_names"] == ["weight", "bias"]
    optimizer.load_state_dict(optim.Adam(model.parameters()).state_dict())
    assert optimizer.param_groups[0]["param_names"] == ["weight", "bias"]
    with pytest.raises(ValueError, match="cannot add param group without names"):
        optimizer.add_param_group({"params": weights((1,))})
    with pytest.raises(ValueError, match="Some param names are missing"):
        optim.SGD([("w", model.weight), model.bias])


@pytest.mark.parametrize(
    "params, error, message",
    [
        (lambda w: [], ValueError, "optimizer got an empty parameter list"),
        (lambda w: w, TypeError, "should be an iterable of Tensors or dicts, but got"),
        (lambda w: [w, 1.0], TypeError, "can only optimize Tensors, but one of the params is float"),
        (lambda w: [w * 2], ValueError, "can't optimize a non-leaf Tensor"),
        (lambda w: [{"params": {w}}], TypeError, "need to be organized in ordered collections"),
        (lambda w: [{"params": [w]}, {"params": [w]}], ValueError, "appear in more than one parameter group"),
        (lambda w: [{"params": [w]}, [w]], TypeError, "param_group must be a dict, but got <class 'list'>"),
    ],
)
def test_parameters_that_are_refused(params, error, message):
    with pytest.raises(error, match=message):
        optim.SGD(params(weights((2,))[0]), lr=0.1)


def test_duplicate_parameters_warn():
    [w] = weights((2,))
    with pytest.warns(UserWarning, match="duplicate parameters"):
        optim.SGD([w, w], lr=0.1)


def test_required_options():
    class Plain(optim.Optimizer):
        pass

    required = optim.optimizer.required
    with pytest.raises(ValueError, match="didn't specify a value of required optimization parameter lr"):
        Plain(weights((1,)), {"lr": required})
    assert Plain([{"params": weights((1,)), "lr": 1.0}], {"lr": required}).param_groups[0]["lr"] == 1.0


@pytest.mark.parametrize("cls", [*CLASSES, optim.Muon, optim.LBFGS], ids=case_id)
@pytest.mark.parametrize("lr", [-0.1, "fast", "two"])
def test_learning_rates_that_are_refused(cls, lr):
    value = torch.ones(2) if lr == "two" else lr
    with pytest.raises(TypeError if lr == "fast" else ValueError, match=r"lr|[Ll]earning rate|not supported"):
        cls(weights((2, 2)), lr=value)


@pytest.mark.parametrize("cls", [*CLASSES, optim.Muon], ids=case_id)
@pytest.mark.parametrize("shape", [(), (1,)])
def test_a_tensor_as_learning_rate(cls, shape):
    results = []
    for lr in (0.25, torch.full(shape, 0.25)):
        [w] = weights((3, 2))
        optimizer = cls([w], lr=lr)
        for step in range(3):
            set_grads([w], step)
            optimizer.step()
        results.append(w.detach().numpy())
    np.testing.assert_allclose(*results, rtol=1e-12)


@pytest.mark.parametrize("cls", CLASSES, ids=case_id)
def test_parameters_without_gradient_stay(cls):
    a, b = weights((2,), (2,))
    before = b.detach().numpy().copy()
    optimizer = cls([a, b])
    set_grads([a], 0)
    optimizer.step()
    assert (b.detach().numpy() == before).all()
    set_grads([a, b], 1)
    optimizer.step()
    assert (b.detach().numpy() != before).all()


@pytest.mark.parametrize("cls", CLASSES, ids=case_id)
def test_closure(cls):
    [w] = weights((3,))
    optimizer = cls([w])

    def closure():
        optimizer.zero_grad()
        loss = (w**2).sum()
        loss.backward()
        return loss

    with torch.no_grad():
        loss = optimizer.step(closure)
    assert loss.requires_grad
    assert (w**2).sum().item() < loss.item()
    assert w.is_leaf and w.requires_grad


def test_zero_grad():
    a, b = weights((2,), (2,))
    optimizer = optim.SGD([a, b])
    (a * a).sum().backward(create_graph=True)
    grad = a.grad
    optimizer.zero_grad(set_to_none=False)
    assert a.grad is grad and not grad.requires_grad and grad.tolist() == [0.0, 0.0] and b.grad is None
    optimizer.zero_grad()
    assert a.grad is None


@pytest.mark.parametrize("cls, reference, options", CASES, ids=case_id)
def test_training_goes_on_from_checkpoints_and_copies(cls, reference, options):
    def groups(params):
        return [{"params": params[:2], "lr": 0.5}, {"params": params[2:]}]

    params = weights((3,), (2, 2), (), dtype=torch.float32)
    optimizer = cls(groups(params), **options)
    for step in range(4):
        set_grads(params[: 2 + step % 2], step)
        optimizer.step()
    loaded, pickled = (cls(groups(copy.deepcopy(params))) for _ in range(2))
    loaded.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    pickled.load_state_dict(pickle.loads(pickle.dumps(optimizer.state_dict())))
    others = [loaded, pickled, copy.deepcopy(optimizer), pickle.loads(pickle.dumps(optimizer))]
    for other in [optimizer, *others]:
        other_params = [p for group in other.param_groups for p in group["params"]]
        set_grads(other_params, 9)
        other.step()
        for actual, expected in zip(other_params, params, strict=True):
            assert (actual.detach().numpy() == expected.detach().numpy()).all()


def test_state_dict():
    a, b, c = weights((2,), (2,), (2,))
    optimizer = optim.Adam([{"params": [a, b]}, {"params": [c], "lr": 0.5}], amsgrad=True)
    set_grads([b], 0)
    optimizer.step()
    state_dict = optimizer.state_dict()
    assert [group["params"] for group in state_dict["param_groups"]] == [[0, 1], [2]]
    assert state_dict["param_groups"][1]["lr"] == 0.5
    assert list(state_dict["state"]) == [1]
    assert set(state_dict["state"][1]) == {"step", "exp_avg", "exp_avg_sq", "max_exp_avg_sq"}
    assert state_dict["state"][1]["step"].item() == 1.0


def test_a_loaded_state_is_in_the_dtype_of_the_parameters_and_copied_where_it_was_not():
    [w] = weights((2,))
    optimizer = optim.Adam([w])
    set_grads([w], 0)
    optimizer.step()
    other = optim.Adam([torch.nn.Parameter(torch.ones(2, dtype=torch.float32))])
    other.load_state_dict(optimizer.state_dict())
    [state] = other.state.values()
    assert state["exp_avg"].dtype == torch.float32
    assert state["step"].dtype == optimizer.state[w]["step"].dtype
    assert state["step"] is optimizer.state[w]["step"]
    state["exp_avg"].zero_()
    assert optimizer.state[w]["exp_avg"].abs().min() > 0
    same = optim.Adam([torch.nn.Parameter(torch.ones(2, dtype=w.dtype))])
    same.load_state_dict(optimizer.state_dict())
    [state] = same.state.values()
    assert all(value is optimizer.state[w][name] for name, value in state.items())


def test_checkpoints_of_older_versions():
    """In old state dicts, steps are Python numbers and some options are missing."""
    [w] = weights((2,))
    optimizer = optim.NAdam([w])
    set_grads([w], 0)
    optimizer.step()
    state_dict = optimizer.state_dict()
    [state] = state_dict["state"].values()
    state_dict["state"] = {0: {**state, "step": 1, "mu_product": state["mu_product"].item()}}
    for name in ("maximize", "foreach", "capturable", "differentiable", "decoupled_weight_decay"):
        del state_dict["param_groups"][0][name]
    other_w = copy.deepcopy(w)
    other = optim.NAdam([other_w])
    other.load_state_dict(copy.deepcopy(state_dict))
    assert isinstance(other.state[other_w]["step"], torch.Tensor)
    assert other.param_groups[0]["maximize"] is False and other.param_groups[0]["foreach"] is None
    for opt, p in ((optimizer, w), (other, other_w)):
        set_grads([p], 1)
        opt.step()
    np.testing.assert_allclose(other_w.detach().numpy(), w.detach().numpy(), rtol=1e-6)


def test_adamw_stays_adamw_with_a_checkpoint_of_adam():
    [w] = weights((2,))
    optimizer = optim.AdamW([w])
    optimizer.load_state_dict(optim.Adam([w]).state_dict())
    assert optimizer.param_groups[0]["decoupled_weight_decay"] is True


def test_checkpoints_that_do_not_fit():
    one, two = (optim.SGD(weights(*[(1,)] * n)) for n in (1, 2))
    with pytest.raises(ValueError, match="doesn't match the size of optimizer's group"):
        one.load_state_dict(two.state_dict())
    groups = optim.SGD([{"params": weights((1,))}, {"params": weights((1,))}])
    with pytest.raises(ValueError, match="different number of parameter groups"):
        one.load_state_dict(groups.state_dict())


def test_repr():
    optimizer = optim.Rprop([{"params": weights((1,))}, {"params": weights((1,)), "name": "head"}])
    group = """    capturable: False
    differentiable: False
    etas: (0.5, 1.2)
    foreach: None
    lr: 0.01
    maximize: False
"""
    sizes = "    step_sizes: (1e-06, 50)\n"
    assert repr(optimizer) == (f"Rprop (\nParameter Group 0\n{group}{sizes}\nParameter Group 1\n{group}    name: head\n{sizes})")


# Hooks


def test_step_hooks():
    optimizer = optim.SGD(weights((2,)), lr=0.1)
    calls = []
    handles = [
        optimizer.register_step_pre_hook(lambda opt, args, kwargs: calls.append("before")),
        optimizer.register_step_post_hook(lambda opt, args, kwargs: calls.append("after")),
        optim.optimizer.register_optimizer_step_pre_hook(lambda opt, args, kwargs: calls.append("before all")),
        optim.optimizer.register_optimizer_step_post_hook(lambda opt, args, kwargs: calls.append("after all")),
    ]
    optimizer.step(lambda: calls.append("step"))
    assert calls == ["before all", "before", "step", "after", "after all"]
    for handle in handles:
        handle.remove()
    optimizer.step()
    assert len(calls) == 5


def test_step_hooks_change_the_arguments():
    optimizer = optim.SGD(weights((2,)), lr=0.1)
    optimizer.register_step_pre_hook(lambda opt, args, kwargs: ((opt, lambda: 7), {}))
    assert optimizer.step() == 7
    optimizer.register_step_pre_hook(lambda opt, args, kwargs: "nonsense")
    with pytest.raises(RuntimeError, match=r"must return None or a tuple of .* but got nonsense"):
        optimizer.step()


def test_hooks_of_own_optimizers():
    class Mixin:
        def step(self):
            return "mixed in"

    class Mixed(Mixin, optim.Optimizer):
        pass

    class Mine(optim.SGD):
        def step(self, closure=None):
            return "mine"

    for optimizer, result in ((Mixed(weights((1,)), {}), "mixed in"), (Mine(weights((1,))), "mine")):
        calls = []
        optimizer.register_step_post_hook(lambda *args, calls=calls: calls.append(args))
        assert optimizer.step() == result
        assert calls == [(optimizer, (optimizer,), {})]


def test_state_dict_hooks():
    optimizer = optim.SGD(weights((2,)))
    calls = []
    optimizer.register_state_dict_pre_hook(lambda opt: calls.append("second"))
    optimizer.register_state_dict_pre_hook(lambda opt: calls.append("first"), prepend=True)
    optimizer.register_state_dict_post_hook(lambda opt, state_dict: {**state_dict, "extra": 1})
    saved = optimizer.state_dict()
    assert calls == ["first", "second"] and saved["extra"] == 1

    def faster(opt, state_dict):
        state_dict["param_groups"] = [{**group, "lr": 0.5} for group in state_dict["param_groups"]]

    optimizer.register_load_state_dict_pre_hook(faster)
    optimizer.register_load_state_dict_post_hook(lambda opt: calls.append(opt.param_groups[0]["lr"]))
    optimizer.load_state_dict(saved)
    assert calls[-1] == 0.5 and saved["param_groups"][0]["lr"] == 1e-3


# Closures and other step variants


@pytest.mark.parametrize(
    "cls, options",
    [
        (optim.SGD, {"weight_decay": 0.1}),
        (optim.Adam, {"amsgrad": True, "weight_decay": 0.1}),
        (optim.AdamW, {}),
        (optim.Adamax, {}),
        (optim.NAdam, {}),
        (optim.RAdam, {"betas": (0.5, 0.6)}),
        (optim.Adagrad, {}),
        (optim.Adadelta, {}),
        (optim.RMSprop, {"momentum": 0.5, "centered": True}),
        (optim.ASGD, {}),
    ],
    ids=case_id,
)
def test_gradients_flow_through_differentiable_steps(cls, options):
    """Gradients through three differentiable steps match finite differences."""

    def end(start):
        p = start.clone()
        optimizer = cls([p], lr=0.1, differentiable=True, **options)
        for _ in range(3):
            p.grad = p.clone().sin() + 2
            optimizer.step()
        return (p**2).sum()

    x = np.random.default_rng(0).standard_normal(4)
    start = torch.tensor(x, requires_grad=True)
    [grad] = torch.autograd.grad(end(start), [start])
    for i, nudge in enumerate(np.eye(4) * 1e-5):
        difference = (end(torch.tensor(x + nudge)) - end(torch.tensor(x - nudge))).item() / 2e-5
        assert grad[i].item() == pytest.approx(difference, rel=1e-4, abs=1e-6)


def test_gradients_flow_to_the_learning_rate():
    p = torch.tensor([1.0, -2.0], dtype=torch.float64)
    lr = torch.tensor(0.1, dtype=torch.float64, requires_grad=True)
    optimizer = optim.SGD([p], lr=lr, differentiable=True)
    p.grad = torch.tensor([3.0, 4.0], dtype=torch.float64)
    optimizer.step()
    p.sum().backward()
    assert lr.grad.item() == pytest.approx(-7.0)


def test_differentiable_and_foreach_do_not_mix():
    params = weights((2,))
    optimizer = optim.Adagrad(params, foreach=True, differentiable=True)
    set_grads(params, 0)
    with pytest.raises(AssertionError, match="_foreach ops don't support autograd"):
        optimizer.step()


def test_swapping_in_parameters_and_state():
    [w], [other] = weights((3,)), weights((3,), seed=5)
    optimizer, other_optimizer = optim.Adam([w], lr=0.1), optim.Adam([other], lr=0.5)
    for p, opt in ((w, optimizer), (other, other_optimizer)):
        set_grads([p], 0)
        opt.step()
    before, [group] = w.detach().numpy().copy(), optimizer.param_groups
    params = group["params"]
    [expected], expected_optimizer = copy.deepcopy(([other], other_optimizer))
    saved = other_optimizer.state_dict()
    with optim.swap_in_optimizer_params_and_state(optimizer, {"other": other}, saved):
        assert optimizer.param_groups[0] is group and group["lr"] == 0.5
        set_grads([other], 2)
        optimizer.step()
    set_grads([expected], 2)
    expected_optimizer.step()
    assert (other.detach().numpy() == expected.detach().numpy()).all()
    assert saved["state"][0]["step"].item() == 2.0
    assert optimizer.param_groups[0] is group and group["params"] is params and group["lr"] == 0.1
    assert (w.detach().numpy() == before).all() and optimizer.state[w]["step"].item() == 1.0


@pytest.mark.parametrize(
    "given, change, message",
    [
        (False, {}, "to match optimizer.param_groups ordering"),
        (True, {"state": []}, "to be a dict .* got list"),
        (True, {"state": {1: {}}}, r"got extra keys \[1\]"),
        (True, {"param_groups": []}, "different number of parameter groups"),
        (True, {"param_groups": [{"params": [0]}]}, "Keys only in live: .*'lr'"),
        (True, {"param_groups": [{"params": [0, 1]}]}, "group 0 has a different number of params"),
        (True, None, "requires initialized optimizer state"),
    ],
)
def test_swapping_in_what_does_not_fit(given, change, message):
    [w] = weights((3,))
    optimizer = optim.Adam([w], lr=0.1)
    if change is not None:
        set_grads([w], 0)
        optimizer.step()
    swapped = optim.swap_in_optimizer_params_and_state(
        optimizer, {"w": w} if given else {}, {**optimizer.state_dict(), **(change or {})}
    )
    with pytest.raises(RuntimeError, match=message), swapped:
        pass


# Names


def test_public_names():
    for module in (optim, optim.lr_scheduler, optim.swa_utils):
        for name in module.__all__:
            assert getattr(module, name).__doc__, name


def test_optimizers_do_not_warn():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for cls, _, options in CASES:
            params = weights((2, 2))
            set_grads(params, 0)
            cls(params, **options).step()


def test_a_wrapper_need_not_be_initialized():
    class Lookahead(optim.Optimizer):
        def __init__(self, inner):
            self.inner = inner

        def step(self, closure=None):
            return self.inner.step(closure)

    assert Lookahead(optim.SGD(weights((2,)), lr=0.5)).step(lambda: 7) == 7

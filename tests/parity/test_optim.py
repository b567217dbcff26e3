"""Optimizers and learning rate schedulers follow PyTorch's step by step."""

from __future__ import annotations

import copy
import inspect
import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch")
import flambeau  # noqa: E402

LIBRARIES = [flambeau, torch]
SHAPES = [(4, 3), (5,), (), (2, 3), (1,), (7,), (3, 1, 2)]
STEPS = 50
OPTIMIZERS = [name for name in torch.optim.__all__ if name in flambeau.optim.__all__ and name[0].isupper()]

# Optimizers and options, each tested with parameters of all shapes.
CASES = [
    ("SGD", {}),
    ("SGD", {"lr": 0.1, "weight_decay": 0.1}),
    ("SGD", {"lr": 0.1, "momentum": 0.9}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "dampening": 0.5, "weight_decay": 0.1, "maximize": True}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.1, "maximize": True}),
    ("SGD", {"foreach": True}),
    ("SGD", {"fused": True, "momentum": 0.9}),
    ("Adam", {}),
    ("Adam", {"lr": 0.1, "betas": (0.8, 0.9), "eps": 0.1, "weight_decay": 0.1}),
    ("Adam", {"lr": 0.1, "amsgrad": True, "maximize": True}),
    ("Adam", {"lr": 0.1, "weight_decay": 0.1, "decoupled_weight_decay": True}),
    ("Adam", {"lr": 0.1, "foreach": True}),
    ("Adam", {"lr": 0.1, "fused": True}),
    ("AdamW", {}),
    ("AdamW", {"lr": 0.1, "betas": (0.8, 0.9), "weight_decay": 0.1, "amsgrad": True, "maximize": True}),
    ("Adamax", {}),
    ("Adamax", {"lr": 0.1, "betas": (0.8, 0.9), "eps": 0.01, "weight_decay": 0.1, "maximize": True}),
    ("NAdam", {}),
    ("NAdam", {"lr": 0.1, "weight_decay": 0.1, "momentum_decay": 0.1, "maximize": True}),
    ("NAdam", {"lr": 0.1, "weight_decay": 0.1, "decoupled_weight_decay": True}),
    ("RAdam", {}),
    ("RAdam", {"lr": 0.1, "betas": (0.8, 0.9), "weight_decay": 0.1, "maximize": True}),
    ("RAdam", {"lr": 0.1, "weight_decay": 0.1, "decoupled_weight_decay": True}),
    ("Adagrad", {}),
    ("Adagrad", {"lr": 0.1, "lr_decay": 0.1, "weight_decay": 0.1, "initial_accumulator_value": 0.5}),
    ("Adagrad", {"lr": 0.1, "eps": 0.1, "maximize": True, "fused": True}),
    ("Adadelta", {}),
    ("Adadelta", {"lr": 0.5, "rho": 0.8, "eps": 0.01, "weight_decay": 0.1, "maximize": True}),
    ("RMSprop", {}),
    ("RMSprop", {"centered": True, "weight_decay": 0.1}),
    ("RMSprop", {"momentum": 0.9, "alpha": 0.8, "eps": 0.01, "maximize": True}),
    ("RMSprop", {"momentum": 0.9, "centered": True}),
    ("Rprop", {}),
    ("Rprop", {"lr": 0.1, "etas": (0.6, 1.1), "step_sizes": (0.01, 0.2), "maximize": True}),
    ("ASGD", {}),
    ("ASGD", {"lr": 0.1, "lambd": 0.01, "alpha": 0.5, "t0": 10, "weight_decay": 0.1, "maximize": True}),
    ("Adafactor", {}),
    ("Adafactor", {"lr": 0.5, "beta2_decay": -0.5, "eps": (1e-6, 1e-2), "d": 2.0, "weight_decay": 0.1}),
    ("Adafactor", {"maximize": True}),
]
CASES += [
    (name, {"lr": 0.05, "foreach": foreach})
    for name in OPTIMIZERS
    for foreach in (True, False)
    if "foreach" in inspect.signature(getattr(torch.optim, name)).parameters
]
COMPLEX = {
    "SGD",
    "Adam",
    "AdamW",
    "Adamax",
    "NAdam",
    "RAdam",
    "Adagrad",
    "Adadelta",
    "RMSprop",
    "Rprop",
    "ASGD",
}


def case_id(value):
    return value if isinstance(value, str) else ",".join(f"{k}={v}" for k, v in value.items()) or "default"


def random(shape, dtype, rng):
    x = rng.standard_normal(shape)
    return (x + 1j * rng.standard_normal(shape) if np.issubdtype(dtype, np.complexfloating) else x).astype(dtype)


def start(library, dtype="float64", seed=0):
    rng = np.random.default_rng(seed)
    return [library.nn.Parameter(library.tensor(random(shape, dtype, rng))) for shape in SHAPES]


def train(library, optimizer, params, steps=STEPS, seed=1, each_step=lambda: None):
    """Run optimizer steps with the gradient 0.1 * parameter + noise. In some steps, some gradients are None."""
    rng = np.random.default_rng(seed)
    for step in range(steps):
        for i, p in enumerate(params):
            noise = library.tensor(random(p.shape, p.detach().numpy().dtype, rng))
            p.grad = None if i < 3 and (step + i) % 11 == 10 else p.detach() * 0.1 + noise
        optimizer.step()
        each_step()


def assert_close(actual, expected, tolerance=1e-6):
    for a, e in zip(actual, expected, strict=True):
        np.testing.assert_allclose(a.detach().numpy(), e.detach().numpy(), rtol=tolerance, atol=tolerance)


def run(library, name, options, dtype="float64"):
    params = start(library, dtype)
    optimizer = getattr(library.optim, name)(params, **options)
    train(library, optimizer, params)
    return params, optimizer


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name, options", CASES, ids=case_id)
def test_trajectory(name, options, dtype):
    (mine, _), (theirs, _) = [run(library, name, options, dtype) for library in LIBRARIES]
    assert_close(mine, theirs)


@pytest.mark.parametrize("name, options", [case for case in CASES if case[0] in COMPLEX], ids=case_id)
def test_complex_trajectory(name, options):
    if options.get("fused"):
        options = {key: value for key, value in options.items() if key != "fused"}
    (mine, _), (theirs, _) = [run(library, name, options, "complex128") for library in LIBRARIES]
    assert_close(mine, theirs)


@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize("shape", [(), (1,)])
def test_tensor_lr(name, shape):
    if name in ("Optimizer", "LBFGS", "Muon", "SparseAdam"):
        return
    results = []
    for library in LIBRARIES:
        params = start(library)
        optimizer = getattr(library.optim, name)(params, lr=library.full(shape, 0.05, dtype=library.float64))
        train(library, optimizer, params)
        results.append(params)
    assert_close(*results)


def state_numpy(state):
    """Convert the tensors in an optimizer state to arrays."""
    if isinstance(state, dict):
        return {key: state_numpy(value) for key, value in state.items()}
    if isinstance(state, (list, tuple)):
        return [state_numpy(value) for value in state]
    return state.detach().numpy() if hasattr(state, "detach") else state


def converted(state, library):
    if isinstance(state, dict):
        return {key: converted(value, library) for key, value in state.items()}
    if isinstance(state, (list, tuple)):
        return type(state)(converted(value, library) for value in state)
    return library.tensor(state.detach().numpy()) if hasattr(state, "detach") else state


def kinds_in(state):
    """Return the structure of an optimizer state: keys, types, dtypes and shapes."""
    if isinstance(state, dict):
        return [(key, kinds_in(value)) for key, value in state.items()]
    if isinstance(state, (list, tuple)):
        return type(state)(map(kinds_in, state))
    if hasattr(state, "detach"):
        return str(state.dtype), tuple(state.shape), state.requires_grad
    return type(state)


@pytest.mark.parametrize("name, options", CASES, ids=case_id)
def test_state_dicts_have_the_same_entries(name, options):
    states = [run(library, name, options)[1].state_dict() for library in LIBRARIES]
    mine, theirs = map(state_numpy, states)
    assert kinds_in(states[0]) == kinds_in(states[1])
    assert mine["param_groups"] == theirs["param_groups"]
    assert mine["state"].keys() == theirs["state"].keys()
    for number, entries in theirs["state"].items():
        assert mine["state"][number].keys() == entries.keys()
        for key, value in entries.items():
            actual = mine["state"][number][key]
            assert actual.dtype == value.dtype and actual.shape == value.shape
            np.testing.assert_allclose(actual, value, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("source, target", [LIBRARIES, LIBRARIES[::-1]], ids=["to-torch", "from-torch"])
@pytest.mark.parametrize("name, options", CASES, ids=case_id)
def test_training_goes_on_from_the_other_state_dict(name, options, source, target):
    params, optimizer = run(source, name, options)
    others = [target.nn.Parameter(target.tensor(p.detach().numpy().copy())) for p in params]
    other = getattr(target.optim, name)(others, **options)
    other.load_state_dict(converted(copy.deepcopy(optimizer.state_dict()), target))
    train(source, optimizer, params, steps=5, seed=2)
    train(target, other, others, steps=5, seed=2)
    assert_close(others, params)


@pytest.mark.parametrize("options", [{}, {"line_search_fn": "strong_wolfe"}, {"history_size": 3, "lr": 0.5}], ids=case_id)
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_lbfgs(options, dtype):
    """Minimize the Rosenbrock function, with real and complex parameters."""
    losses, kinds = [], []
    for library in LIBRARIES:
        x, y = (library.nn.Parameter(library.tensor(np.array(v, dtype))) for v in ([-1.2, 0.3], [1.0, -0.5]))
        optimizer = library.optim.LBFGS([x, y], **options)

        def closure(library=library, x=x, y=y, optimizer=optimizer):
            optimizer.zero_grad()
            loss = ((1 - x).abs() ** 2 + 10 * (y - x**2).abs() ** 2).sum()
            loss.backward()
            return loss

        steps = [optimizer.step(closure).item() for _ in range(8)]
        counts = optimizer.state[x]
        losses.append([*steps, counts["n_iter"], counts["func_evals"], *x.detach().numpy(), *y.detach().numpy()])
        state = optimizer.state_dict()["state"][0]
        losses[-1].append(len(state["old_dirs"]))
        kinds.append(kinds_in(state))
    np.testing.assert_allclose(losses[0], losses[1], rtol=1e-6, atol=1e-6)
    assert kinds[0] == kinds[1]


@pytest.mark.parametrize("source, target", [LIBRARIES, LIBRARIES[::-1]], ids=["to-torch", "from-torch"])
def test_lbfgs_state_dict(source, target):
    def make(library, values):
        w = library.nn.Parameter(library.tensor(values))
        optimizer = library.optim.LBFGS([w], max_iter=3)

        def closure():
            optimizer.zero_grad()
            loss = (w - 1).pow(4).sum() + w.pow(2).sum()
            loss.backward()
            return loss

        return w, optimizer, closure

    w, optimizer, closure = make(source, np.array([3.0, -2.0]))
    optimizer.step(closure)
    other_w, other, other_closure = make(target, w.detach().numpy().copy())
    other.load_state_dict(converted(optimizer.state_dict(), target))
    assert set(other.state_dict()["state"][0]) == set(optimizer.state_dict()["state"][0])
    for _ in range(2):
        assert optimizer.step(closure).item() == pytest.approx(other.step(other_closure).item())
    assert_close([other_w], [w])


@pytest.mark.parametrize("options", [{}, {"lr": 0.1, "betas": (0.5, 0.9), "eps": 0.01, "maximize": True}], ids=case_id)
@pytest.mark.parametrize("padding", [None, 2])
def test_sparse_adam(options, padding):
    results = []
    for library in LIBRARIES:
        library.manual_seed(0)
        words = library.nn.Embedding(9, 3, padding_idx=padding, sparse=True, dtype=library.float64)
        optimizer = library.optim.SparseAdam(words.parameters(), **options)
        rng = np.random.default_rng(1)
        for _ in range(STEPS):
            optimizer.zero_grad()
            (words(library.tensor(rng.integers(0, 9, 4))) ** 2).sum().backward()
            optimizer.step()
        (state,) = optimizer.state_dict()["state"].values()
        results.append([words.weight, state["exp_avg"], state["exp_avg_sq"], library.tensor(state["step"])])
    assert_close(*results)


@pytest.mark.parametrize("options", [{"lr": 0.1, "momentum": 0.9, "weight_decay": 0.1}, {"lr": 0.1}], ids=case_id)
@pytest.mark.parametrize("name", ["SGD", "Adam", "Adamax", "NAdam", "RAdam", "Adagrad", "Adadelta", "RMSprop", "ASGD"])
def test_gradients_flow_through_differentiable_steps(name, options):
    """Compare gradients of the final parameters with respect to the initial ones and the scale of the gradients. PyTorch
    computes the bias corrections of differentiable steps in float32, so the tolerance is 1e-4.
    """
    steps = 1 if name == "Adamax" else 3  # PyTorch's Adamax raises an error in its second step
    options = {k: v for k, v in options.items() if k in inspect.signature(getattr(torch.optim, name)).parameters}
    results = []
    for library in LIBRARIES:
        rng = np.random.default_rng(0)
        first = library.tensor(rng.standard_normal(5), requires_grad=True)
        scale = library.tensor(2.0, dtype=library.float64, requires_grad=True)
        p = first.clone()
        optimizer = getattr(library.optim, name)([p], differentiable=True, **options)
        for _ in range(steps):
            p.grad = (scale * p.clone().sin() + library.tensor(rng.standard_normal(5))).clone()
            optimizer.step()
        results.append(library.autograd.grad(p.square().sum(), [first, scale]))
    assert_close(*results, tolerance=1e-4)


@pytest.mark.parametrize("name", ["SGD", "Adam"])
def test_gradients_flow_to_the_options(name):
    results = []
    for library in LIBRARIES:
        rng = np.random.default_rng(0)
        leaf = library.tensor(rng.standard_normal(5), requires_grad=True)
        p = leaf.clone()
        lr, decay, *betas = (library.tensor(v, dtype=library.float64, requires_grad=True) for v in (0.1, 0.2, 0.8, 0.9))
        options = {"betas": betas} if name == "Adam" else {}
        optimizer = getattr(library.optim, name)([p], lr=lr, weight_decay=decay, differentiable=True, **options)
        for _ in range(3):
            p.grad = library.tensor(rng.standard_normal(5))
            optimizer.step()
        results.append(library.autograd.grad(p.square().sum(), [lr, decay, *options.get("betas", [])]))
    assert_close(*results)


# Signatures and errors


@pytest.mark.parametrize("module", ["optim", "optim.lr_scheduler", "optim.swa_utils"])
def test_names_and_signatures(module):
    theirs, mine = torch, flambeau
    for part in module.split("."):
        theirs, mine = getattr(theirs, part), getattr(mine, part)
    for name in theirs.__all__:
        expected, actual = getattr(theirs, name), getattr(mine, name)
        if inspect.isclass(expected) or inspect.isfunction(expected):
            expected, actual = (list(inspect.signature(f).parameters.values()) for f in (expected, actual))
            if name == "ReduceLROnPlateau":
                actual = actual[: len(expected)]  # flambeau also accepts `verbose`, which PyTorch removed
            assert [(p.name, p.kind, p.default) for p in actual if p.kind != p.VAR_POSITIONAL] == [
                (p.name, p.kind, p.default) for p in expected if p.kind != p.VAR_POSITIONAL
            ]


@pytest.mark.parametrize("name", [name for name in OPTIMIZERS if name != "Optimizer"])
def test_repr(name):
    texts = []
    for library in LIBRARIES:
        first, second = (library.nn.Parameter(library.ones(2, 2)) for _ in range(2))
        groups = [{"params": [first]}] + [{"params": [second], "lr": 0.5, "extra": "x"}] * (name != "LBFGS")
        texts.append(repr(getattr(library.optim, name)(groups)))
    assert texts[0] == texts[1]


BAD_ARGUMENTS = [
    *((name, {"lr": value}) for name in OPTIMIZERS if name != "Optimizer" for value in (-1.0, "fast", "two")),
    *((name, {"weight_decay": -1.0}) for name in OPTIMIZERS if name not in ("Optimizer", "LBFGS", "Rprop")),
    *((name, {"eps": -1.0}) for name in ("Adam", "AdamW", "Adamax", "NAdam", "RAdam", "Adagrad", "Adadelta", "RMSprop")),
    *((name, {"betas": betas}) for name in ("Adam", "AdamW", "Adamax", "NAdam", "RAdam") for betas in ((1.0, 0.9), (0.9, -1.0))),
    *(
        (name, {"fused": True, **other})
        for name in ("SGD", "Adam", "AdamW", "Adagrad")
        for other in ({"foreach": True}, {"differentiable": True})
    ),
    ("SGD", {"momentum": -1.0}),
    ("SGD", {"nesterov": True}),
    ("SGD", {"nesterov": True, "momentum": 0.9, "dampening": 0.1}),
    ("SGD", {"beta": 0.1}),
    ("Adam", {"betas": (0, 0.9)}),
    ("Adam", {"lr": "tensor", "foreach": True}),
    ("NAdam", {"momentum_decay": -1.0}),
    ("Adagrad", {"lr_decay": -1.0}),
    ("Adagrad", {"initial_accumulator_value": -1.0}),
    ("Adadelta", {"rho": 1.5}),
    ("RMSprop", {"momentum": -1.0}),
    ("RMSprop", {"alpha": -1.0}),
    ("Rprop", {"etas": (1.5, 2.0)}),
    ("Adafactor", {"beta2_decay": 1.0}),
    ("Adafactor", {"eps": (-1.0, 1.0)}),
    ("Adafactor", {"eps": (1.0, -1.0)}),
    ("Adafactor", {"d": 0.5}),
    ("Muon", {"momentum": -1.0}),
    ("Muon", {"adjust_lr_fn": "other"}),
]


def error_of(call, *args, **kwargs):
    try:
        call(*args, **kwargs)
    except Exception as error:
        return type(error), str(error)
    raise AssertionError("no error")


@pytest.mark.parametrize("name, options", BAD_ARGUMENTS, ids=case_id)
def test_bad_arguments(name, options):
    errors = []
    for library in LIBRARIES:
        tensors = {"tensor": library.tensor(0.1), "two": library.ones(2)}
        given = {k: tensors.get(v, v) if isinstance(v, str) else v for k, v in options.items()}
        w = library.nn.Parameter(library.ones(2, 2))
        errors.append(error_of(getattr(library.optim, name), [w], **given))
    assert errors[0] == errors[1]


BAD_PARAMS = {
    "empty": lambda library: [],
    "tensor": lambda library: library.nn.Parameter(library.ones(2)),
    "number": lambda library: [1.0],
    "non-leaf": lambda library: [library.nn.Parameter(library.ones(2)) * 2],
    "set": lambda library: [{"params": {library.nn.Parameter(library.ones(2))}}],
    "mixed": lambda library: [{"params": [library.nn.Parameter(library.ones(2))]}, 1],
    "half-named": lambda library: [
        ("w", library.nn.Parameter(library.ones(2))),
        library.nn.Parameter(library.ones(2)),
    ],
    "named-and-unnamed": lambda library: [
        {"params": [("w", library.nn.Parameter(library.ones(2)))]},
        {"params": [library.nn.Parameter(library.ones(2))]},
    ],
    "shared": lambda library: [{"params": [w]} for w in [library.nn.Parameter(library.ones(2))] * 2],
}


@pytest.mark.parametrize("params", BAD_PARAMS.values(), ids=BAD_PARAMS.keys())
def test_bad_parameters(params):
    errors = [error_of(library.optim.SGD, params(library)) for library in LIBRARIES]
    assert errors[0] == errors[1]


@pytest.mark.parametrize(
    "params, name, options",
    [
        ([(2, 2), (2,)], "Muon", {}),
        ([(2, 2)], "LBFGS", {"line_search_fn": "armijo"}),
    ],
)
def test_errors_later_on(params, name, options):
    errors = []
    for library in LIBRARIES:
        weights = [library.nn.Parameter(library.ones(shape)) for shape in params]

        def use(make, weights=weights):
            optimizer = make(weights, **options)

            def closure():
                loss = sum(w.square().sum() for w in weights)
                loss.backward()
                return loss

            optimizer.step(closure)

        errors.append(error_of(use, getattr(library.optim, name)))
    assert errors[0] == errors[1]


def test_loading_what_does_not_fit():
    errors = []
    for library in LIBRARIES:
        a, b = (library.optim.SGD([library.nn.Parameter(library.ones(2)) for _ in range(n)]) for n in (1, 2))
        c = library.optim.SGD([{"params": [library.nn.Parameter(library.ones(2))]} for _ in range(2)])
        errors.append([error_of(a.load_state_dict, other.state_dict()) for other in (b, c)])
    assert errors[0] == errors[1]


SWAP_ERRORS = {
    "state": {"state": []},
    "tensor-key": {"state": {"tensor": {}}},
    "entry": {"state": {0: 1}},
    "groups": {"param_groups": {}},
    "more-groups": {"param_groups": [{}, {}]},
    "group": {"param_groups": [1]},
    "ids": {"param_groups": [{"params": ["w"]}]},
    "more-ids": {"param_groups": [{"params": [0, 1]}]},
    "keys": {"param_groups": [{"params": [0], "extra": 1}]},
    "extra-state": {"state": {0: {}, 7: {}}},
}


@pytest.mark.parametrize("change", [*SWAP_ERRORS.values(), "none", "params", "fresh"], ids=str)
def test_swapping_in_what_does_not_fit(change):
    errors = []
    for library in LIBRARIES:
        w = library.nn.Parameter(library.ones(2))
        optimizer = library.optim.SGD([w], momentum=0.9)
        if change != "fresh":
            w.sum().backward()
            optimizer.step()
        saved = {**optimizer.state_dict(), **(change if isinstance(change, dict) else {})}
        saved["state"] = (
            {w if k == "tensor" else k: v for k, v in saved["state"].items()}
            if isinstance(saved["state"], dict)
            else saved["state"]
        )
        params = {} if change == "params" else {"w": library.zeros(2)}

        def use(*args, swap=library.optim.swap_in_optimizer_params_and_state):
            with swap(*args):
                pass

        errors.append(error_of(use, optimizer, params, None if change == "none" else saved))
    assert errors[0] == errors[1]


# Learning rate schedulers

SCHEDULES = {
    "lambda": lambda o, s: s.LambdaLR(o, lambda epoch: 0.9**epoch),
    "lambdas": lambda o, s: s.LambdaLR(o, [lambda epoch: 0.9**epoch, lambda epoch: 1 / (1 + epoch)]),
    "multiplicative": lambda o, s: s.MultiplicativeLR(o, lambda epoch: 0.9),
    "step": lambda o, s: s.StepLR(o, 3, gamma=0.5),
    "multi_step": lambda o, s: s.MultiStepLR(o, [2, 5, 5, 11], gamma=0.5),
    "constant": lambda o, s: s.ConstantLR(o, factor=0.3, total_iters=4),
    "linear": lambda o, s: s.LinearLR(o, 0.2, 0.8, total_iters=6),
    "exponential": lambda o, s: s.ExponentialLR(o, 0.8),
    "polynomial": lambda o, s: s.PolynomialLR(o, total_iters=7, power=1.5),
    "cosine": lambda o, s: s.CosineAnnealingLR(o, T_max=5, eta_min=0.01),
    "restarts": lambda o, s: s.CosineAnnealingWarmRestarts(o, T_0=3, T_mult=2, eta_min=0.01),
    "restarts_1": lambda o, s: s.CosineAnnealingWarmRestarts(o, T_0=4),
    "cyclic": lambda o, s: s.CyclicLR(o, 0.01, 0.1, step_size_up=3, step_size_down=5),
    "cyclic_2": lambda o, s: s.CyclicLR(o, [0.01, 0.02], [0.1, 0.3], step_size_up=4, mode="triangular2"),
    "cyclic_exp": lambda o, s: s.CyclicLR(o, 0.01, 0.1, 4, mode="exp_range", gamma=0.9, cycle_momentum=False),
    "cyclic_fn": lambda o, s: s.CyclicLR(o, 0.01, 0.1, 4, scale_fn=lambda x: 0.7**x, scale_mode="iterations"),
    "one_cycle": lambda o, s: s.OneCycleLR(o, 0.5, total_steps=20),
    "one_cycle_3": lambda o, s: s.OneCycleLR(o, [0.5, 0.2], epochs=4, steps_per_epoch=5, three_phase=True, pct_start=0.4),
    "one_cycle_linear": lambda o, s: s.OneCycleLR(o, 0.5, 20, anneal_strategy="linear", cycle_momentum=False),
    "sequential": lambda o, s: s.SequentialLR(
        o, [s.ConstantLR(o, 0.1, 3), s.ExponentialLR(o, 0.9), s.StepLR(o, 2)], milestones=[4, 9]
    ),
    "sequential_cosine": lambda o, s: s.SequentialLR(
        o,
        [s.LinearLR(o, 0.1, total_iters=4), s.CosineAnnealingLR(o, 8), s.CosineAnnealingWarmRestarts(o, 3)],
        [4, 10],
    ),
    "chained": lambda o, s: s.ChainedScheduler([s.ConstantLR(o, 0.1, 3), s.ExponentialLR(o, 0.9), s.CosineAnnealingLR(o, 6)]),
    "sequences": lambda o, s: s.SequentialLR(
        o, [s.SequentialLR(o, [s.LinearLR(o, 0.5), s.StepLR(o, 3)], [4]), s.ExponentialLR(o, 0.5)], [9]
    ),
    "nested": lambda o, s: s.SequentialLR(
        o,
        [s.ChainedScheduler([s.LinearLR(o), s.ExponentialLR(o, 0.9)]), s.PolynomialLR(o, 9)],
        milestones=[5],
    ),
}
EPOCHS = 18


def scheduled(library, schedule, optimizer="SGD", lr=0.1):
    params = [library.nn.Parameter(library.ones(2)) for _ in range(2)]
    options = {"momentum": 0.9} if optimizer == "SGD" else {}
    groups = [{"params": params[:1]}, {"params": params[1:], "lr": lr * 2}]
    optimizer = getattr(library.optim, optimizer)(groups, lr=lr, **options)
    return optimizer, schedule(optimizer, library.optim.lr_scheduler)


def follow(optimizer, scheduler, epochs=EPOCHS):
    """Return the learning rates and momenta of each group in each epoch."""
    values = []
    for _ in range(epochs):
        for group, last in zip(optimizer.param_groups, scheduler.get_last_lr(), strict=True):
            assert float(group["lr"]) == float(last)
            values.append([float(group["lr"]), group.get("momentum", group.get("betas", [0])[0])])
        optimizer.step()
        scheduler.step()
    return np.array(values)


@pytest.mark.parametrize("optimizer", ["SGD", "Adam"])
@pytest.mark.parametrize("schedule", SCHEDULES.values(), ids=SCHEDULES.keys())
def test_schedule(schedule, optimizer):
    mine, theirs = [follow(*scheduled(library, schedule, optimizer)) for library in LIBRARIES]
    np.testing.assert_allclose(mine, theirs, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("schedule", SCHEDULES.values(), ids=SCHEDULES.keys())
def test_schedule_of_tensor_learning_rates(schedule):
    results = []
    for library in LIBRARIES:
        optimizer, scheduler = scheduled(library, schedule, lr=library.tensor(0.1, dtype=library.float64))
        tensors = [group["lr"] for group in optimizer.param_groups]
        results.append(follow(optimizer, scheduler))
        assert all(group["lr"] is lr for group, lr in zip(optimizer.param_groups, tensors, strict=True))
    np.testing.assert_allclose(*results, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("source, target", [LIBRARIES, LIBRARIES[::-1]], ids=["to-torch", "from-torch"])
@pytest.mark.parametrize("schedule", SCHEDULES.values(), ids=SCHEDULES.keys())
def test_schedule_goes_on_from_the_other_state_dict(schedule, source, target):
    optimizer, scheduler = scheduled(source, schedule)
    other_optimizer, other = scheduled(target, schedule)
    assert other.state_dict().keys() == scheduler.state_dict().keys()
    follow(optimizer, scheduler, 7)
    other.load_state_dict(copy.deepcopy(scheduler.state_dict()))
    other_optimizer.load_state_dict(optimizer.state_dict())
    np.testing.assert_allclose(follow(other_optimizer, other, 9), follow(optimizer, scheduler, 9), rtol=1e-12, atol=1e-15)


def stepped_by_number(library, schedule):
    optimizer, scheduler = scheduled(library, schedule)
    values = []
    for epoch in [3, 4, 9, 0, 7]:
        optimizer.step()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            scheduler.step(epoch)
        values.append(scheduler.get_last_lr())
    return values


CHAINABLE = {k: v for k, v in SCHEDULES.items() if not k.startswith(("seq", "chained", "nested"))}


@pytest.mark.parametrize("schedule", CHAINABLE.values(), ids=CHAINABLE.keys())
def test_steps_to_given_epochs(schedule):
    mine, theirs = [stepped_by_number(library, schedule) for library in LIBRARIES]
    np.testing.assert_allclose(mine, theirs, rtol=1e-12, atol=1e-15)


RESUMABLE = {
    "lambda": lambda o, s: s.LambdaLR(o, lambda epoch: 0.9**epoch, last_epoch=3),
    "multiplicative": lambda o, s: s.MultiplicativeLR(o, lambda epoch: 0.9, last_epoch=3),
    "step": lambda o, s: s.StepLR(o, 2, last_epoch=3),
    "multi_step": lambda o, s: s.MultiStepLR(o, [4, 6], last_epoch=3),
    "constant": lambda o, s: s.ConstantLR(o, total_iters=5, last_epoch=3),
    "linear": lambda o, s: s.LinearLR(o, 0.2, total_iters=6, last_epoch=3),
    "exponential": lambda o, s: s.ExponentialLR(o, 0.9, last_epoch=3),
    "polynomial": lambda o, s: s.PolynomialLR(o, 9, last_epoch=3),
    "cosine": lambda o, s: s.CosineAnnealingLR(o, 5, last_epoch=3),
    "restarts": lambda o, s: s.CosineAnnealingWarmRestarts(o, 3, last_epoch=3),
    "cyclic": lambda o, s: s.CyclicLR(o, 0.01, 0.1, 3, cycle_momentum=False, last_epoch=3),
}


@pytest.mark.parametrize("schedule", RESUMABLE.values(), ids=RESUMABLE.keys())
def test_resuming_at_an_epoch(schedule):
    results = []
    for library in LIBRARIES:
        optimizer, _ = scheduled(library, SCHEDULES["exponential"])
        results.append(follow(optimizer, schedule(optimizer, library.optim.lr_scheduler), 8))
    np.testing.assert_allclose(*results, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"mode": "max", "patience": 1},
        {"patience": 0, "cooldown": 2, "min_lr": 0.001},
        {"patience": 1, "threshold": 0.5, "threshold_mode": "abs", "min_lr": [0.01, 0.02]},
        {"mode": "max", "patience": 1, "threshold": 0.3, "threshold_mode": "abs", "factor": 0.5, "eps": 0.01},
    ],
    ids=case_id,
)
def test_plateaus(options):
    metrics = np.random.default_rng(0).standard_normal(40).cumsum() + 10
    results, states = [], []
    for library in LIBRARIES:
        optimizer, scheduler = scheduled(library, lambda o, s: s.ReduceLROnPlateau(o, **options))
        rates = []
        for metric in metrics:
            optimizer.step()
            scheduler.step(library.tensor(metric))
            rates.append(scheduler.get_last_lr())
        results.append(rates)
        states.append(scheduler.state_dict())
    assert results[0] == results[1]
    assert states[0] == states[1]


SCHEDULE_ERRORS = {
    "optimizer": lambda o, s: s.StepLR("optimizer", 1),
    "plateau optimizer": lambda o, s: s.ReduceLROnPlateau("optimizer"),
    "cyclic optimizer": lambda o, s: s.CyclicLR("optimizer", 0.1, 0.2),
    "lambdas": lambda o, s: s.LambdaLR(o, [len]),
    "not a function": lambda o, s: s.MultiplicativeLR(o, 0.9),
    "constant": lambda o, s: s.ConstantLR(o, 1.5),
    "linear start": lambda o, s: s.LinearLR(o, 0.0),
    "linear end": lambda o, s: s.LinearLR(o, 0.5, 1.5),
    "T_0": lambda o, s: s.CosineAnnealingWarmRestarts(o, 0),
    "T_mult": lambda o, s: s.CosineAnnealingWarmRestarts(o, 1, 0.5),
    "eta_min": lambda o, s: s.CosineAnnealingWarmRestarts(o, 1, 1, "0"),
    "negative epoch": lambda o, s: s.CosineAnnealingWarmRestarts(o, 1).step(-1),
    "base_lr": lambda o, s: s.CyclicLR(o, [0.1], 0.2),
    "cyclic mode": lambda o, s: s.CyclicLR(o, 0.1, 0.2, mode="square"),
    "factor": lambda o, s: s.ReduceLROnPlateau(o, factor=1.0),
    "mode": lambda o, s: s.ReduceLROnPlateau(o, mode="mean"),
    "threshold_mode": lambda o, s: s.ReduceLROnPlateau(o, threshold_mode="mean"),
    "min_lr": lambda o, s: s.ReduceLROnPlateau(o, min_lr=[0.1]),
    "no steps": lambda o, s: s.OneCycleLR(o, 0.1),
    "total_steps": lambda o, s: s.OneCycleLR(o, 0.1, total_steps=0),
    "epochs": lambda o, s: s.OneCycleLR(o, 0.1, epochs=0, steps_per_epoch=1),
    "steps_per_epoch": lambda o, s: s.OneCycleLR(o, 0.1, epochs=1, steps_per_epoch=1.5),
    "pct_start": lambda o, s: s.OneCycleLR(o, 0.1, 10, pct_start=1.5),
    "anneal_strategy": lambda o, s: s.OneCycleLR(o, 0.1, 10, anneal_strategy="exp"),
    "max_lr": lambda o, s: s.OneCycleLR(o, [0.1], 10),
    "too many steps": lambda o, s: [c.step() for c in [s.OneCycleLR(o, 0.1, 2)] for _ in range(3)],
    "none chained": lambda o, s: s.ChainedScheduler([]),
    "none in sequence": lambda o, s: s.SequentialLR(o, [], []),
    "milestones": lambda o, s: s.SequentialLR(o, [s.StepLR(o, 1)], [1]),
    "plateau chained": lambda o, s: s.ChainedScheduler([s.ReduceLROnPlateau(o)]),
    "plateau in sequence": lambda o, s: s.SequentialLR(o, [s.StepLR(o, 1), s.ReduceLROnPlateau(o)], [1]),
    "not a scheduler": lambda o, s: s.SequentialLR(o, ["schedule"], []),
    "bare": lambda o, s: s.LRScheduler(o),
}


@pytest.mark.parametrize("schedule", SCHEDULE_ERRORS.values(), ids=SCHEDULE_ERRORS.keys())
def test_schedules_refused(schedule):
    errors = [error_of(scheduled, library, schedule) for library in LIBRARIES]
    assert errors[0] == errors[1]


# Averaged models


@pytest.mark.parametrize(
    "options",
    [
        lambda u: {},
        lambda u: {"use_buffers": True},
        lambda u: {"avg_fn": u.get_ema_avg_fn(0.9)},
        lambda u: {"avg_fn": u.get_swa_avg_fn(), "use_buffers": True},
        lambda u: {"multi_avg_fn": u.get_ema_multi_avg_fn(0.9), "use_buffers": True},
        lambda u: {"multi_avg_fn": u.get_swa_multi_avg_fn()},
    ],
)
def test_averaged_model(options):
    results = []
    for library in LIBRARIES:
        rng = np.random.default_rng(0)
        model = library.nn.Sequential(library.nn.Linear(3, 2), library.nn.BatchNorm1d(2)).double()
        averaged = library.optim.swa_utils.AveragedModel(model, **options(library.optim.swa_utils))
        for _ in range(4):
            with library.no_grad():
                for p in model.parameters():
                    p.copy_(library.tensor(rng.standard_normal(tuple(p.shape))))
            model(library.tensor(rng.standard_normal((5, 3))))
            averaged.update_parameters(model)
        results.append(averaged.state_dict())
    assert results[0].keys() == results[1].keys()
    assert_close(results[0].values(), results[1].values())


def test_update_bn():
    results = []
    for library in LIBRARIES:
        rng = np.random.default_rng(0)
        model = library.nn.Sequential(library.nn.BatchNorm1d(3, momentum=0.3), library.nn.Identity()).eval()
        batches = [library.tensor(rng.standard_normal((4, 3)).astype("float32")) for _ in range(3)]
        library.optim.swa_utils.update_bn([(batch, 0) for batch in batches], model)
        assert not model.training and model[0].momentum == 0.3
        results.append(model.state_dict())
    assert_close(results[0].values(), results[1].values())


@pytest.mark.parametrize("options", [{}, {"anneal_epochs": 0}, {"anneal_epochs": 3, "anneal_strategy": "linear"}], ids=case_id)
def test_swalr(options):
    results = []
    for library in LIBRARIES:
        schedule = lambda o, s, u=library.optim.swa_utils: u.SWALR(o, swa_lr=[0.05, 0.01], **options)  # noqa: E731
        results.append(follow(*scheduled(library, schedule)))
    np.testing.assert_allclose(*results, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize(
    "options",
    [{"anneal_strategy": "exp"}, {"anneal_epochs": -1}, {"anneal_epochs": 1.5}, {"swa_lr": [1, 2, 3]}],
    ids=case_id,
)
def test_swalr_refused(options):
    errors = []
    for library in LIBRARIES:
        optimizer = library.optim.SGD([library.nn.Parameter(library.ones(1))])
        errors.append(error_of(library.optim.swa_utils.SWALR, optimizer, **{"swa_lr": 0.1, **options}))
    assert errors[0] == errors[1]

"""Compiled functions with `vmap`, derivatives or complex numbers, and compiled steps of all optimizers, match eager ones."""

from __future__ import annotations

import copy
import warnings

import pytest

import flambeau as torch
from flambeau import nn
from flambeau.func import functional_call, grad, hessian, jacfwd, jacrev, jvp, vjp, vmap
from flambeau.nn import functional as F
from flambeau.utils.checkpoint import checkpoint

CALLS = 6  # enough calls to run eagerly, capture, verify and replay
NET = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 2))
IMAGES = nn.Conv2d(1, 2, 3)


@pytest.fixture(autouse=True)
def _refusals_are_errors():
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="torch.compile: .* runs eagerly")
        yield


def assert_replayed(compiled) -> None:
    call = compiled.compiled
    assert call.reason is None
    assert any(entry.verified for entries in call.entries.values() for entry in entries)


def gradients_per_sample(x):
    params = {name: value.detach() for name, value in NET.named_parameters()}

    def loss(params, row):
        return functional_call(NET, params, (row[None],)).square().sum()

    return list(vmap(grad(loss), in_dims=(None, 0))(params, x).values())


def of_images(x):
    return vmap(lambda image: IMAGES(image[None, None])[0])(x.reshape(-1, 2, 2).repeat(1, 2, 2))


def of_parameters(x):
    params = dict(NET.named_parameters())
    return list(grad(lambda params: functional_call(NET, params, (x,)).square().sum())(params).values())


def nested(x):
    return vmap(lambda row: vmap(lambda a, b: a * b.sin(), in_dims=(0, None))(row, row).sum(0))(x)


def penalty_of_gradient(x):
    y = x.detach().requires_grad_()
    (gradient,) = torch.autograd.grad(NET(y).square().sum(), y, create_graph=True)
    return NET(x).sum() + (gradient.norm(dim=1) - 1).square().mean()


def of_own_function(x):
    _, pull = vjp(lambda rows: NET(rows).sin(), x)
    return pull(torch.ones(3, 2))[0]


TRANSFORMS = {
    "vmap": lambda x: vmap(lambda row: (row * row.softmax(0)).sum())(x),
    "vmap, other dimensions": lambda x: vmap(torch.outer, in_dims=(1, None), out_dims=1)(x, x[:, 0]),
    "vmap inside vmap": nested,
    "convolution": of_images,
    "gradients per sample": gradients_per_sample,
    "grad": lambda x: grad(lambda row: (row**3).sum())(x),
    "grad of parameters": of_parameters,
    "grad twice": lambda x: grad(lambda row: grad(lambda inner: (inner**3).sum())(row).sin().sum())(x),
    "jvp": lambda x: jvp(lambda rows: rows.sin() * rows, (x,), (torch.ones_like(x),)),
    "vjp": of_own_function,
    "jacrev": lambda x: jacrev(lambda rows: rows.sin() * rows.sum())(x),
    "jacfwd": lambda x: jacfwd(lambda rows: rows.sin() * rows.sum())(x),
    "hessian": lambda x: hessian(lambda rows: (rows**3).sum())(x[0]),
    "create_graph": penalty_of_gradient,
}


def rotated(x):
    """Apply a rotary position embedding through complex numbers."""
    pairs = torch.view_as_complex(x.reshape(3, 2, 2))
    angles = torch.polar(torch.ones(2), torch.arange(2.0))
    return torch.view_as_real(pairs * angles).flatten(1)


def written_complex(x):
    z = torch.complex(x, x.flip(0))
    z = z.clone()
    z[0] *= 1j
    z.real.add_(1)
    return z, z.conj() * z


COMPLEX = {
    "arithmetic": lambda x: (torch.complex(x, x * 2) ** 2 + 1j * x).abs(),
    "conj": lambda x: (lambda z: (z * z.conj()).real + z.mH.imag.T)(torch.complex(x, x.sin())),
    "a conjugate alone": lambda x: torch.complex(x, x + 1).conj(),
    "results": lambda x: (lambda z: (z * 2, z.conj(), z.real))(torch.complex(x, x + 1)),
    "fft": lambda x: torch.fft.ifft2(torch.fft.fft2(x) * torch.arange(4)).real,
    "rfft": lambda x: torch.fft.irfft(torch.fft.rfft(x) * (1 - 0.5j), n=4),
    "polar": lambda x: torch.polar(x.abs() + 1, x).angle(),
    "rotary positions": rotated,
    "written": written_complex,
    "linalg": lambda x: torch.linalg.eigvals(x @ x.T + torch.eye(3)).real.sort().values,
    "stft": lambda x: torch.stft(x.flatten(), 6, 2, window=torch.hann_window(6), return_complex=True).abs().log1p(),
}


def outcome(call, seed):
    """Return the results of a call, and the gradients of their squared sum."""
    torch.manual_seed(seed)
    x = torch.randn(3, 4, requires_grad=seed != 1)
    NET.zero_grad(), IMAGES.zero_grad()
    leaves, _ = torch.utils._pytree.tree_flatten(call(x))
    total = sum(((leaf * leaf).abs().sum() for leaf in leaves if leaf.requires_grad), torch.zeros(()))
    if total.requires_grad:
        total.backward()
    gradients = [parameter.grad for parameter in (x, *NET.parameters(), *IMAGES.parameters())]
    return leaves, gradients


@pytest.mark.parametrize("name", [*TRANSFORMS, *COMPLEX])
def test_transforms_and_complex_numbers(name):
    function = {**TRANSFORMS, **COMPLEX}[name]
    compiled = torch.compile(function)
    for seed in range(CALLS):
        expected, expected_gradients = outcome(function, seed)
        leaves, gradients = outcome(compiled, seed)
        for one, other in zip(expected, leaves, strict=True):
            assert torch.equal(one, other) and one.requires_grad == other.requires_grad and one.is_conj() == other.is_conj()
        for one, other in zip(expected_gradients, gradients, strict=True):
            assert (one is None) == (other is None) and (one is None or torch.equal(one, other))
    assert_replayed(compiled)


def test_lazily_conjugated_tensors_from_outside():
    held = torch.tensor([1 + 2j, 3 - 1j]).conj()
    compiled = torch.compile(lambda z: (z * held, held.real, z.conj()))
    for i in range(CALLS):
        z = (torch.randn(2) + i * 1j).conj()
        for one, other in zip(compiled(z), (z * held, held.real, z.conj()), strict=True):
            assert torch.equal(one, other) and one.is_conj() == other.is_conj()
    assert held.is_conj() and torch.equal(held.resolve_conj(), torch.tensor([1 - 2j, 3 + 1j]))
    assert_replayed(compiled)


OPTIMIZERS = {
    "Adadelta": {}, "Adagrad": {"lr_decay": 0.1}, "Adam": {"amsgrad": True}, "AdamW": {}, "Adafactor": {}, "Adamax": {}, "ASGD": {"t0": 3},
    "NAdam": {}, "RAdam": {}, "RMSprop": {"momentum": 0.9, "centered": True}, "Rprop": {}, "SGD": {"momentum": 0.9, "nesterov": True},
}  # fmt: skip


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizers(name):
    """Compiled optimizer steps match eager ones, also if the step count selects a branch, as in RAdam after five steps."""
    steps, networks = [], []
    for compiles in (False, True):
        net = copy.deepcopy(NET)
        optimizer = getattr(torch.optim, name)(net.parameters(), lr=0.01, **OPTIMIZERS[name])

        def step(x, net=net, optimizer=optimizer):
            optimizer.zero_grad()
            loss = net(x).square().mean()
            loss.backward()
            optimizer.step()
            return loss.detach()

        steps.append(torch.compile(step) if compiles else step)
        networks.append(net)
    for i in range(14):
        torch.manual_seed(i)
        x = torch.randn(3, 4)
        assert torch.equal(*(step(x) for step in steps))
        for one, other in zip(networks[0].parameters(), networks[1].parameters(), strict=True):
            assert torch.equal(one, other)
    assert_replayed(steps[1])
    assert len(steps[1].compiled.entries) == 1 and len(steps[1].compiled.programs) <= 2


@pytest.mark.parametrize("whole_step", [True, False])
def test_checkpoints_draw_the_same_random_numbers_again(whole_step):
    steps, networks = [], []
    for compiles in (False, True):
        net = copy.deepcopy(NET)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

        def loss_of(x, net=net):
            hidden = checkpoint(lambda x: F.dropout(net(x), 0.5), x, use_reentrant=False)
            return (hidden * hidden).mean()

        loss_of = torch.compile(loss_of) if compiles and not whole_step else loss_of

        def step(x, optimizer=optimizer, loss_of=loss_of):
            optimizer.zero_grad()
            loss = loss_of(x)
            loss.backward()
            optimizer.step()
            return loss.detach()

        steps.append(torch.compile(step) if compiles and whole_step else step)
        networks.append(net)
    results = []
    for step in steps:
        torch.manual_seed(0)
        results.append([step(torch.ones(3, 4)).item() for _ in range(CALLS)] + [torch.rand(1).item()])
    assert results[0] == results[1]
    for one, other in zip(networks[0].parameters(), networks[1].parameters(), strict=True):
        assert torch.equal(one, other)
    if whole_step:
        assert_replayed(steps[1])


def test_hooks_on_values_inside_a_step():
    seen = []

    def step(x, hook):
        y = x * x
        y.register_hook(hook)
        y.retain_grad()
        (y * y).sum().backward()
        return y.grad * 1

    compiled = torch.compile(step)
    for i in range(CALLS):
        results = []
        for call in (step, compiled):
            x = torch.full((3,), float(i)).requires_grad_()
            results.append((call(x, twice), x.grad))
        assert all(map(torch.equal, *results))
    assert_replayed(compiled)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # ignore the warning that the function runs eagerly
        remembering, remember = torch.compile(step), seen.append
        for count in range(2 * CALLS):
            remembering(torch.ones(3, requires_grad=True), remember)
            assert len(seen) == count + 1 and type(seen[-1].numpy()).__name__ == "ndarray"


def twice(grad):
    return grad * 2


def test_a_constant_may_be_looked_at():
    compiled = torch.compile(lambda x: x * torch.tensor(3.0).item() + (torch.ones(2) * 2)[1].item())
    for _ in range(CALLS):
        assert torch.equal(compiled(torch.ones(2)), torch.full((2,), 5.0))
    assert_replayed(compiled)


def test_a_constant_that_was_written_to_may_not():
    def function(x):
        total = torch.zeros(1)
        total += x
        return x * total.item()

    compiled = torch.compile(function)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for i in range(CALLS):
            assert compiled(torch.full((1,), float(i))) == i * i
    assert "looks at a value" in str(caught[0].message)

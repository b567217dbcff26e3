"""`torch.compile` on JAX: a recorded program is compiled as one XLA program."""

import warnings

import pytest
from flambeau_jax.program import CompiledProgram

import flambeau as torch
from flambeau import nn
from flambeau.nn import functional as F


def network(kind):
    if kind == "convolutions":
        return nn.Sequential(
            nn.Conv2d(1, 4, 3, bias=False),
            nn.BatchNorm2d(4),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Flatten(),
            nn.Dropout(0.2),
            nn.Linear(36, 5),
        )
    return nn.Sequential(nn.Flatten(), nn.Linear(64, 16), nn.Tanh(), nn.Linear(16, 5))


def trained(kind, optimizer, options, compiled):
    """Train some steps with a varying learning rate; return the losses, the parameters and the compiled function."""
    torch.manual_seed(0)
    with torch.device("jax"):
        model, x, y = network(kind), torch.randn(8, 1, 8, 8), torch.randint(5, (8,))
    stepper = getattr(torch.optim, optimizer)(model.parameters(), **options)

    def step(x, y):
        stepper.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        stepper.step()
        return loss.detach()

    run = torch.compile(step) if compiled else step
    losses = []
    for count in range(9):
        stepper.param_groups[0]["lr"] = 0.01 / (1 + count)
        losses.append(run(x, y).item())
    return torch.tensor(losses), [param.detach().cpu() for param in model.parameters()], run


@pytest.mark.parametrize("optimizer, options", [("SGD", {"momentum": 0.9}), ("Adam", {}), ("RMSprop", {})])
@pytest.mark.parametrize("kind", ["linear", "convolutions"])
def test_training_as_uncompiled(kind, optimizer, options):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        losses, params, step = trained(kind, optimizer, options, compiled=True)
    expected_losses, expected, _ = trained(kind, optimizer, options, compiled=False)
    torch.testing.assert_close(losses, expected_losses, rtol=1e-3, atol=1e-5)
    for ours, plain in zip(params, expected, strict=True):
        torch.testing.assert_close(ours, plain, rtol=1e-2, atol=1e-3)
    functions = [call.function for program in step.compiled.programs for call in program.calls]
    compiled = [function for function in functions if isinstance(function, CompiledProgram)]
    assert compiled and all(function.program is not None for function in compiled), "XLA could not compile it"


def test_functions_and_their_gradients():
    run = torch.compile(lambda x, w: (x @ w).tanh().sum(0), fullgraph=True)
    for seed in range(4):
        torch.manual_seed(seed)
        x = torch.randn(3, 4, device="jax", requires_grad=True)
        w = torch.randn(4, 2, device="jax", requires_grad=True)
        result = run(x, w)
        ours = torch.autograd.grad(result.sum(), (x, w))
        expected = torch.autograd.grad((x @ w).tanh().sum(), (x, w))
        for one, other in zip(ours, expected, strict=True):
            torch.testing.assert_close(one, other)
    assert all(program.body is not None for program in run.compiled.programs)


def test_a_tensor_of_the_host_is_written_to():
    count = torch.zeros(())

    def step(x):
        count.add_(1)
        return x * count.item()

    run = torch.compile(step)
    x = torch.ones(3, device="jax")
    assert [run(x)[0].item() for _ in range(5)] == [1, 2, 3, 4, 5]

"""Training steps compiled by `torch.compile`, compared with PyTorch's eager steps.

The networks are the same as in `networks.py`. Forward, backward and optimizer step are one function, compiled by flambeau.
PyTorch runs it eagerly, because its compiler requires a C++ compiler.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .networks import Network, classifier, lenet, linear_rnn, lstm, transformer, two_layer_net
from .workload import Make, Step, Workload

__all__ = ["WORKLOADS"]


def tiny_net(torch: Any) -> tuple[Any, Any, Callable[[Any], Any]]:
    """Layers 4-32-32-2 with batch 16, a typical size in reinforcement learning."""
    nn = torch.nn
    model = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 2))
    x, y, criterion = torch.randn(16, 4), torch.randn(16, 2), nn.MSELoss()
    return model, x, lambda output: criterion(output, y)


def digits_net(torch: Any) -> tuple[Any, Any, Callable[[Any], Any]]:
    """Layers 784-128-10 with batch 32."""
    nn = torch.nn
    return classifier(torch, nn.Sequential(nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10)), torch.randn(32, 784))


def compiled(torch: Any, function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function with flambeau. For PyTorch, return it unchanged."""
    if torch.__name__ == "torch":
        return function
    run: Callable[..., Any] = torch.compile(function, fullgraph=True)
    return run


def training_step(network: Network) -> Make:
    """Return a function that creates a compiled training step with SGD."""

    def make(torch: Any) -> Step:
        torch.manual_seed(0)
        model, x, loss_function = network(torch)
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)

        def step() -> Any:
            optimizer.zero_grad()
            loss = loss_function(model(x))
            loss.backward()
            optimizer.step()
            return loss.detach()

        for _ in range(4):  # creates the optimizer's state before compilation
            step()
        return compiled(torch, step)

    return make


def gelu_chain(torch: Any) -> Step:
    """GELU as elementwise operations, on four million elements."""
    torch.manual_seed(0)
    x = torch.randn(4_000_000)

    def chain(x: Any) -> Any:
        return 0.5 * x * (1 + torch.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))

    run = compiled(torch, chain)
    return lambda: run(x)


WORKLOADS = [
    Workload("compiled 4-32-32-2", training_step(tiny_net), 0.15, 0.15, training=True),
    Workload("compiled RNN of Linears", training_step(linear_rnn), 0.2, 0.2, training=True),
    Workload("compiled 784-128-10", training_step(digits_net), 0.5, 0.45, training=True),
    Workload("compiled 1000-100-10", training_step(two_layer_net), training=True),
    Workload("compiled LeNet", training_step(lenet), fast=0.5, training=True),
    Workload("compiled LSTM", training_step(lstm), training=True),
    Workload("compiled transformer", training_step(transformer), fast=0.5, training=True),
    Workload("compiled gelu chain of 4 million", gelu_chain, fast=0.2),
]

"""Single operations with sizes from real networks, whose time is dominated by the kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .workload import Make, Step, Workload

__all__ = ["WORKLOADS"]


def chain(torch: Any) -> Step:
    """`gelu(x * w + b)` on 4 million elements, forward and backward."""
    torch.manual_seed(0)
    x, w, b = (torch.randn(4_000_000).requires_grad_() for _ in range(3))
    return forward_backward(torch, lambda: torch.nn.functional.gelu(x * w + b), x, w, b)


def max_pool2d(*shape: int) -> Make:
    return on_input(shape, lambda torch, x: lambda: torch.nn.functional.max_pool2d(x, 2))


def max_pool2d_3x3(*shape: int) -> Make:
    return on_input(shape, lambda torch, x: lambda: torch.nn.functional.max_pool2d(x, 3, 2, 1))


def softmax(*shape: int) -> Make:
    return on_input(shape, lambda torch, x: lambda: torch.nn.functional.softmax(x, -1))


def cross_entropy(*shape: int) -> Make:
    def forward(torch: Any, x: Any) -> Step:
        labels = torch.randint(shape[1], shape[:1])
        return lambda: torch.nn.functional.cross_entropy(x, labels)

    return on_input(shape, forward)


def batch_norm(*shape: int) -> Make:
    def forward(torch: Any, x: Any, weight: Any, bias: Any) -> Step:
        mean, var = torch.zeros(shape[1]), torch.ones(shape[1])
        return lambda: torch.nn.functional.batch_norm(x, mean, var, weight, bias, training=True)

    return on_input(shape, forward, features=shape[1])


def layer_norm(*shape: int) -> Make:
    def forward(torch: Any, x: Any, weight: Any, bias: Any) -> Step:
        return lambda: torch.nn.functional.layer_norm(x, shape[-1:], weight, bias)

    return on_input(shape, forward, features=shape[-1])


def on_input(shape: tuple[int, ...], forward: Callable[..., Step], features: int = 0) -> Make:
    """Return a function that creates a forward and backward step on a random input, with weight and bias if `features` > 0."""

    def make(torch: Any) -> Step:
        torch.manual_seed(0)
        sizes = [shape, (features,), (features,)] if features else [shape]
        tensors = [torch.randn(size).requires_grad_() for size in sizes]
        return forward_backward(torch, forward(torch, *tensors), *tensors)

    return make


def forward_backward(torch: Any, forward: Step, *tensors: Any) -> Step:
    """Return a step that computes the gradients of `tensors` for a fixed output gradient and returns the first."""
    grad = torch.randn(forward().shape)

    def step() -> Any:
        for tensor in tensors:
            tensor.grad = None
        forward().backward(grad)
        return tensors[0].grad

    return step


def conv2d(what: str, inputs: int, outputs: int, size: int, kernel: int, stride: int, groups: int = 1) -> Make:
    """Return a function that creates a step: forward, data gradient or weight gradient of a convolution of 16 images."""

    def make(torch: Any) -> Step:
        torch.manual_seed(0)
        x, w = torch.randn(16, inputs, size, size), torch.randn(outputs, inputs // groups, kernel, kernel)
        differentiated = {"forward": [x, w], "data gradient": [x], "weight gradient": [w]}[what]
        for tensor in differentiated:
            tensor.requires_grad_()

        def forward() -> Any:
            return torch.nn.functional.conv2d(x, w, stride=stride, padding=kernel // 2, groups=groups)

        if what == "forward":
            return forward
        y = forward()
        grad = torch.randn(y.shape)
        return lambda: torch.autograd.grad(y, differentiated, grad, retain_graph=True)

    return make


def samples(family: str, *shape: int) -> Make:
    """Return a function that creates a step: samples of a distribution with parameters of this shape, and their gradients."""

    def make(torch: Any) -> Step:
        torch.manual_seed(0)
        concentration = torch.full(shape, 3.0, requires_grad=True)
        others = {"Gamma": [torch.ones(shape)], "Beta": [concentration], "Dirichlet": []}[family]
        distribution = getattr(torch.distributions, family)(concentration, *others)

        def step() -> Any:
            concentration.grad = None
            distribution.rsample().square().sum().backward()
            return concentration.grad

        return step

    return make


def counts(family: str, parameter: float) -> Make:
    """Return a function that creates a step: 100,000 Poisson values of this rate, or binomial ones of this number of trials."""

    def make(torch: Any) -> Step:
        torch.manual_seed(0)
        parameters = torch.full((100_000,), parameter)
        return {
            "poisson": lambda: torch.poisson(parameters),
            "binomial": lambda: torch.binomial(parameters, torch.full_like(parameters, 0.3)),
        }[family]

    return make


CONVOLUTIONS = [  # input channels, output channels, image size, kernel size, stride
    (64, 64, 32, 3, 1), (128, 128, 16, 3, 1), (256, 256, 8, 3, 1), (512, 512, 4, 3, 1), (64, 128, 32, 3, 2), (256, 512, 8, 3, 2),
    (64, 256, 32, 1, 1), (512, 512, 8, 1, 1), (64, 128, 32, 1, 2), (256, 512, 8, 1, 2),
]  # fmt: skip

# channels, size of the image, size of the kernel, stride
DEPTHWISE = [(32, 112, 3, 1), (96, 56, 3, 2), (192, 28, 5, 1), (576, 14, 5, 1), (96, 56, 7, 1)]
PARTS = ("forward", "data gradient", "weight gradient")

SAMPLES = [("Gamma", 100_000), ("Beta", 50_000), ("Dirichlet", 25_000, 4)]
COUNTS = [("poisson", 5.0), ("poisson", 50.0), ("binomial", 20.0), ("binomial", 200.0)]

WORKLOADS = [
    Workload("gelu(x * w + b), 4 million", chain, 6, 0.8),
    *(Workload(f"{make.__name__} {'x'.join(map(str, shape))}", make(*shape), 3, 0.8) for make, *shapes in [
        (max_pool2d, (64, 10, 24, 24), (32, 64, 32, 32)),
        (max_pool2d_3x3, (16, 64, 56, 56)),
        (batch_norm, (16, 64, 32, 32), (16, 256, 8, 8)),
        (layer_norm, (16, 64, 128), (32, 128, 512)),
        (softmax, (16, 8, 64, 64), (64, 1000)),
        (cross_entropy, (64, 10), (1024, 10000)),
    ] for shape in shapes),
    *(Workload(f"conv2d {kernel}x{kernel} stride {stride}, {inputs} to {outputs}, {size}x{size}, {what}",
               conv2d(what, inputs, outputs, size, kernel, stride), 1.2, 0.85)
      for inputs, outputs, size, kernel, stride in CONVOLUTIONS for what in PARTS),
    *(Workload(f"depthwise conv2d {kernel}x{kernel} stride {stride}, {channels}, {size}x{size}, {what}",
               conv2d(what, channels, channels, size, kernel, stride, channels), 4, 1.0)
      for channels, size, kernel, stride in DEPTHWISE for what in PARTS),
    *(Workload(f"{family} rsample and gradient, {'x'.join(map(str, shape))}", samples(family, *shape), 15, 2)
      for family, *shape in SAMPLES),
    *(Workload(f"{family}({parameter:g}), 100,000", counts(family, parameter), 40, 2) for family, parameter in COUNTS),
]  # fmt: skip

"""Threads that train, share a model, build graphs, load data, draw from one generator, and compile: no update is lost.

    python tests/robustness/thread_stress.py --seconds 60

Each case runs the same work in several threads, and compares the results with those of one thread. It works with and without the
GIL; free-threaded Python finds more. `test_thread_stress.py` runs each case once.
"""

from __future__ import annotations

import argparse
import sys
import sysconfig
import threading
import time
from collections.abc import Callable
from typing import Any

import flambeau as torch
from flambeau import nn
from flambeau.utils.data import DataLoader, TensorDataset

THREADS = 8


def in_threads(work: Callable[[int], Any]) -> list[Any]:
    """Call `work(number)` in each of `THREADS` threads at the same time; return the results in order, or raise the first error."""
    results: list[Any] = [None] * THREADS
    errors: list[BaseException] = []
    start = threading.Barrier(THREADS)

    def run(number: int) -> None:
        start.wait()
        try:
            results[number] = work(number)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(THREADS)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)  # seconds: with the GIL, threads also interrupt each other in the middle of an operation
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    if errors:
        raise errors[0]
    return results


def network(seed: int) -> nn.Module:
    """Return a small convolutional network with the weights of a seed."""
    generator = torch.Generator().manual_seed(seed)
    model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 36, 5))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.rand(parameter.shape, generator=generator) - 0.5)
    return model


def train(seed: int) -> list[list[float]]:
    """Train a network for a few steps and return its losses and the sums of its parameters."""
    generator, model = torch.Generator().manual_seed(seed), network(seed)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    losses = []
    for _ in range(3):
        images = torch.rand(6, 1, 8, 8, generator=generator)
        labels = torch.randint(5, (6,), generator=generator)
        loss = nn.functional.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return [losses, [parameter.sum().item() for parameter in model.parameters()]]


def assert_threads_train() -> None:
    """Each thread trains its own model, with the numbers of a single thread."""
    assert in_threads(train) == [train(seed) for seed in range(THREADS)]


def assert_threads_share_a_model() -> None:
    """Threads add gradients to the same parameters; the small integers make every sum exact."""
    torch.manual_seed(0)
    model = nn.Linear(200, 100)
    with torch.no_grad():
        model.weight.copy_(torch.randint(-2, 3, (100, 200)))
        model.bias.zero_()

    def batch(number: int) -> torch.Tensor:
        return ((torch.arange(400).view(2, 200) + number) % 3).float()

    def work(number: int) -> torch.Tensor:
        for _ in range(10):
            model(batch(number)).sum().backward()
        return model(batch(number)).detach()

    outputs = in_threads(work)
    total = 10 * sum(batch(number).sum(0) for number in range(THREADS))
    assert torch.equal(model.weight.grad, total.expand(100, 200))
    assert torch.equal(model.bias.grad, torch.full((100,), 20.0 * THREADS))
    assert all(torch.equal(output, batch(number) @ model.weight.detach().T) for number, output in enumerate(outputs))


def assert_threads_build_graphs() -> None:
    """Threads extend one graph, differentiate it twice, and use separate function transforms, modes and hooks."""
    x = torch.linspace(0.1, 1, 700, dtype=torch.float64, requires_grad=True)
    shared = x.exp() * x

    def work(number: int) -> torch.Tensor:
        called = []
        for _ in range(3):
            y = (shared * number).sin()
            y.register_hook(called.append)
            (slope,) = torch.autograd.grad(y.sum(), x, create_graph=True)
            (curvature,) = torch.autograd.grad(slope.sum(), x, retain_graph=True)
            with torch.no_grad():
                assert not (x * 2).requires_grad
            squares = torch.vmap(torch.func.grad(lambda value: (value * number) ** 2))(x.detach())
            assert torch.allclose(squares, 2 * number**2 * x.detach())
        assert len(called) == 3
        return curvature

    for number, curvature in enumerate(in_threads(work)):
        assert torch.equal(curvature, work(number))


def assert_threads_load_data() -> None:
    """Threads iterate over one dataset and one loader; each of them receives every sample once."""
    loader = DataLoader(TensorDataset(torch.arange(60), torch.arange(60) * 2), batch_size=7, shuffle=True)

    def work(number: int) -> list[int]:
        seen = []
        for _ in range(2):
            for first, second in loader:
                assert torch.equal(first * 2, second)
                seen += first.tolist()
        return sorted(seen)

    assert in_threads(work) == [sorted([*range(60)] * 2)] * THREADS


DRAWS: dict[str, Callable[[torch.Generator], torch.Tensor]] = {
    "rand": lambda generator: torch.rand(5, generator=generator),
    "float64": lambda generator: torch.rand(5, dtype=torch.float64, generator=generator),
    "few normal values": lambda generator: torch.randn(1, generator=generator),  # drawn in pairs
    "normal values": lambda generator: torch.randn(16, generator=generator),
    "exponential": lambda generator: torch.empty(3).exponential_(generator=generator),
    "integers": lambda generator: torch.randint(1 << 31, (3,), generator=generator),
    "permutation": lambda generator: torch.randperm(3000, generator=generator)[:1],
}


def assert_threads_draw_from_one_generator() -> None:
    """The draws of all threads are those of a single thread, in some order: none is lost, and none occurs twice."""
    for name, draw in DRAWS.items():
        count = 2 if name == "permutation" else 30
        generator = torch.Generator().manual_seed(3)

        def work(number: int, draw: Any = draw, generator: Any = generator, count: int = count) -> list[tuple[float, ...]]:
            return [tuple(draw(generator).tolist()) for _ in range(count)]

        drawn = sorted(values for results in in_threads(work) for values in results)
        generator.manual_seed(3)
        assert drawn == sorted(tuple(draw(generator).tolist()) for _ in range(count * THREADS)), name


def assert_threads_compile() -> None:
    """Threads call one compiled function and compile others, while the first threads still compute without compiling."""
    weight = torch.linspace(-1, 1, 40).view(8, 5).requires_grad_()

    def step(x: torch.Tensor) -> torch.Tensor:
        return ((x @ weight).relu() * 2 + 1).sum(1)

    shared = torch.compile(step)

    def work(number: int) -> list[torch.Tensor]:
        x = torch.linspace(-1, number, 24).view(3, 8)
        own = torch.compile(lambda x: step(x) * number)
        results = []
        for _ in range(5):
            assert torch.equal(step(x), (x @ weight).relu().mul(2).add(1).sum(1))
            results = [shared(x), own(x)]
            (slope,) = torch.autograd.grad(results[0].sum(), weight)
            results.append(slope)
        return results

    for number, (first, second, slope) in enumerate(in_threads(work)):
        expected = step(torch.linspace(-1, number, 24).view(3, 8))
        assert torch.allclose(first, expected) and torch.allclose(second, expected * number)
        assert torch.allclose(slope, torch.autograd.grad(expected.sum(), weight)[0])


CASES = {
    "train": assert_threads_train,
    "share a model": assert_threads_share_a_model,
    "build graphs": assert_threads_build_graphs,
    "load data": assert_threads_load_data,
    "draw from one generator": assert_threads_draw_from_one_generator,
    "compile": assert_threads_compile,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60, help="the time for all cases")
    parser.add_argument("--case", choices=CASES, help="run only this case")
    options = parser.parse_args()
    cases = {name: case for name, case in CASES.items() if options.case in (None, name)}
    for name, case in cases.items():
        end, rounds = time.monotonic() + options.seconds / len(cases), 0
        while rounds == 0 or time.monotonic() < end:
            case()
            rounds += 1
        print(f"{name}: {rounds} rounds")
    enabled = getattr(sys, "_is_gil_enabled", lambda: True)()
    build = "free-threaded" if sysconfig.get_config_var("Py_GIL_DISABLED") else "default"
    print(f"Python {sys.version.split()[0]}, {build} build, the GIL is {'on' if enabled else 'off'}")


if __name__ == "__main__":
    main()

"""Random functions return PyTorch's numbers for the same seed."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import flambeau as torch

# Expression -> its values after `manual_seed(7)`, recorded from PyTorch 2.13 on the CPU.
RECORDED = {
    "torch.rand(3)": [0.5349225, 0.1988032, 0.6592117],
    "torch.randn(3)": [-0.1467951, 0.7861413, 0.9468216],
    "torch.randn(20)[-3:]": [-0.5640067, -2.0564625, -0.3567225],
    "torch.rand(2, dtype=torch.float64)": [0.2793804, 0.2736937],
    "torch.randint(0, 100, (5,))": [15, 92, 21, 86, 83],
    "torch.randperm(6)": [3, 0, 1, 5, 2, 4],
    "torch.normal(1.0, 2.0, (3,))": [0.7064098, 2.5722826, 2.8936431],
    "torch.empty(3).uniform_(-1, 1)": [0.0698451, -0.6023936, 0.3184234],
    "torch.bernoulli(torch.full((8,), 0.3))": [0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 1.0, 0.0],
    "torch.empty(8).bernoulli_(0.3)": [1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0],
    "torch.multinomial(torch.tensor([1.0, 2.0, 3.0, 4.0]), 3)": [1, 3, 0],
    "torch.multinomial(torch.tensor([1.0, 2.0, 3.0, 4.0]), 6, replacement=True)": [1, 1, 3, 3, 3, 3],
    "torch.empty(3).exponential_()": [0.3276439, 0.3197835, 1.9811754],
    "torch.poisson(torch.full((5,), 4.0))": [6.0, 4.0, 1.0, 2.0, 6.0],
    "torch.empty(5, dtype=torch.int64).random_(50)": [15, 42, 21, 36, 33],
    "torch.nn.Linear(2, 2).weight": [[0.0493879, -0.4259566], [0.2251593, 0.2218764]],
    "torch.nn.Conv2d(1, 1, 2).bias": [-0.2672384],
    "torch.nn.LSTM(1, 1).weight_hh_l0.flatten()": [-0.5344769, -0.1498772, -0.5858279, 0.2594727],
    "torch.nn.Embedding(2, 2).weight": [[-0.1467951, 0.7861413], [0.9468216, -1.114344]],
    "torch.nn.functional.dropout(torch.ones(8), 0.4)": [1.6666666, 1.6666666, 0.0, 0.0, 0.0, 0.0, 1.6666666, 1.6666666],
    "torch.nn.functional.dropout(torch.tensor(3.0), 0.4)": 5.0,
    "torch.nn.functional.dropout(torch.ones(2).expand(3, 2), 0.4)": [[1.6666666, 1.6666666], [0.0, 0.0], [0.0, 0.0]],
    "torch.nn.functional.rrelu(-torch.ones(3), training=True)": [-0.1832043, -0.1820195, -0.3046027],
    "torch.nn.init.orthogonal_(torch.empty(2, 2))": [[-0.1532094, 0.9881938], [0.9881938, 0.1532094]],
}  # fmt: skip


@pytest.mark.parametrize(("call", "expected"), RECORDED.items())
def test_stream(call: str, expected: list[float]) -> None:
    torch.manual_seed(7)
    assert np.allclose(eval(call, {"torch": torch}).detach().numpy(), expected, rtol=2e-6, atol=1e-7)


def test_draws_continue() -> None:
    torch.manual_seed(3)
    both = torch.rand(10)
    torch.manual_seed(3)
    assert torch.equal(torch.cat([torch.rand(4), torch.rand(6)]), both)


def test_state_is_kept_and_restored() -> None:
    state = torch.get_rng_state()
    assert state.dtype is torch.uint8 and state.shape == (5056,)
    first = torch.randn(5)
    torch.set_rng_state(state)
    assert torch.equal(torch.randn(5), first)
    with torch.random.fork_rng():
        torch.rand(100)
    torch.set_rng_state(state)
    torch.randn(5)
    after = torch.rand(1)
    torch.set_rng_state(state)
    torch.randn(5)
    assert torch.equal(torch.rand(1), after)


def test_generators_are_independent() -> None:
    torch.manual_seed(1)
    default = torch.rand(3)
    torch.manual_seed(1)
    generator = torch.Generator().manual_seed(2)
    own = torch.rand(3, generator=generator)
    assert torch.equal(torch.rand(3), default) and not torch.equal(own, default)
    assert generator.initial_seed() == 2
    again = pickle.loads(pickle.dumps(generator))
    assert torch.equal(torch.rand(3, generator=again), torch.rand(3, generator=generator))
    with pytest.raises(TypeError):
        generator.set_state([1])


def test_in_place_samplers_keep_to_their_ranges() -> None:
    x = torch.empty(1000)
    assert x.uniform_(2, 3).min().item() >= 2 and x.max().item() < 3
    assert set(torch.empty(1000, dtype=torch.int64).random_(3).tolist()) == {0, 1, 2}
    assert abs(x.normal_(5, 0.1).mean().item() - 5) < 0.05
    assert x.geometric_(0.5).min().item() == 1 and x.exponential_(2.0).min().item() >= 0
    with pytest.raises(RuntimeError, match=r"uniform_ expects to return a \[from, to\) range"):
        x.uniform_(1, 0)
    with pytest.raises(RuntimeError, match="random_ expects 'from' to be less than 'to'"):
        torch.randint(3, 3, (1,))
    with pytest.raises(RuntimeError, match=r"normal expects std >= 0\.0"):
        x.normal_(0, -1)


def test_counts_with_infinite_parameters() -> None:
    inf = float("inf")
    assert torch.poisson(torch.tensor([inf, 0.0])).tolist() == [inf, 0]
    trials, chances = torch.tensor([inf, inf, inf, inf, 0.0, 4.0]), torch.tensor([0.25, 0.75, 1.0, 0.0, 0.5, 1.0])
    assert torch.binomial(trials, chances).tolist() == [inf, inf, inf, 0, 0, 4]
    many = torch.full((1000,), 5.0).index_fill_(0, torch.tensor([7]), inf)
    assert torch.poisson(many).isinf().nonzero().tolist() == [[7]]


def test_a_generator_knows_its_device() -> None:
    generator = torch.Generator()
    assert generator.device == torch.device("cpu") and isinstance(generator.device, torch.device)
    with pytest.raises(AttributeError):
        generator.device = torch.device("cpu")
    assert "device" in dir(torch.Generator)


def test_samples_have_a_place_in_the_graph() -> None:
    """A backward through a random sample gives its parameters zero gradients, and raises no error."""
    mean, std = torch.zeros(3, requires_grad=True), torch.ones(2, 3, requires_grad=True)
    for result, name in (
        (torch.normal(mean, std), "NormalBackward3"),
        (torch.normal(mean, 1.0), "NormalBackward1"),
        (torch.normal(0.0, std), "NormalBackward2"),
        (torch.poisson(std), "PoissonBackward0"),
        (torch.bernoulli(std), "BernoulliBackward0"),
    ):
        assert result.grad_fn.name() == name
        result.sum().backward()
    assert mean.grad.tolist() == [0, 0, 0] and not std.grad.any() and std.grad.shape == (2, 3)


def test_samples_of_a_batch_of_parameters() -> None:
    """Under vmap, either or both parameters of a distribution may be batched."""
    mean, std = torch.zeros(3, requires_grad=True), torch.ones(4, 3)
    for draw in (
        lambda rate: torch.normal(mean, rate),
        lambda rate: torch.normal(rate, 1.0),
        lambda rate: torch.normal(rate, rate),
        lambda rate: torch.poisson(rate),
        lambda rate: torch.poisson(mean),
        lambda rate: torch.bernoulli(mean),
    ):
        draws = torch.vmap(draw, randomness="different")(std)
        assert draws.shape == (4, 3) and (draws + 1).shape == (4, 3)
    draws = torch.vmap(lambda row: torch.normal(mean, row), randomness="different")(std)
    assert draws.std().item() > 0
    draws.sum().backward()
    assert mean.grad.tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("dtype", "bounds", "expected"),
    [
        ("float32", (-5, None), [8324959, 12887712, 1483302, 2213803]),
        ("float16", (3, None), [827, 1242, 1940, 699]),
        ("uint8", (0, None), [172, 47, 117, 192]),
        ("int16", (-300, 2), [-228, -131, -149, -4]),
        ("int64", (-5, None), [900450186894289445, 3969543146641149110, 1895649597198586609, 827948490035658077]),
        ("bool", (0, 2), [False, True, True, False]),
    ],
)
def test_random_integers_between_bounds(dtype, bounds, expected):
    """`random_` draws PyTorch's numbers. Without an upper bound, it draws up to the largest integer of the dtype."""
    torch.manual_seed(0)
    assert torch.empty(4, dtype=getattr(torch, dtype)).random_(*bounds).tolist() == expected


@pytest.mark.parametrize(
    ("dtype", "bounds", "message"),
    [
        ("uint8", (-1, 1), "from is out of bounds for unsigned char"),
        ("int16", (0, 70000), "to - 1 is out of bounds for short int"),
        ("bool", (0, 3), "to - 1 is out of bounds for bool"),
        ("float16", (0, 70000), "to - 1 is out of bounds for c10::Half"),
        ("float32", (3, 3), "expects 'from' to be less than 'to'"),
    ],
)
def test_random_refuses_bounds(dtype, bounds, message):
    with pytest.raises(RuntimeError, match=message):
        torch.empty(4, dtype=getattr(torch, dtype)).random_(*bounds)
    with pytest.raises(RuntimeError, match=message):
        torch.randint(*bounds, (4,), dtype=getattr(torch, dtype))
    with pytest.raises(RuntimeError, match=message):
        torch.randint_like(torch.empty(4, dtype=getattr(torch, dtype)), *bounds)


def test_normal_with_tensors_warns_when_it_resizes_out():
    mean = torch.ones(2, 3)
    with pytest.warns(UserWarning, match="was resized since it had shape"):
        assert torch.normal(mean, 1.0, out=torch.ones(5)).shape == (2, 3)
    out = torch.empty(0)
    assert torch.normal(mean, mean, out=out) is out and out.shape == (2, 3)


@pytest.mark.parametrize(
    "draw",
    [
        lambda out, p: out.bernoulli_(p),
        lambda out, p: torch.normal(p, 1.0, out=out),
        lambda out, p: torch.normal(0.0, p, out=out),
        lambda out, p: torch.normal(p, p, out=out),
    ],
)
def test_parameters_must_not_overlap_the_written_tensor(draw):
    memory = torch.full((6,), 0.5)
    with pytest.raises(RuntimeError, match="some elements of the input tensor and the written-to tensor"):
        draw(memory[1:], memory[:-1])
    assert memory.tolist() == [0.5] * 6
    draw(memory, memory)

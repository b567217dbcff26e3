"""Neural network functions in the `torch` namespace: results, graph nodes, errors and gradients as in PyTorch."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

theirs = pytest.importorskip("torch")

import flambeau as ours  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")


def numbers(torch, *shape, seed=0, grad=True):
    values = np.random.default_rng(seed).standard_normal(shape).astype("float32")
    return torch.tensor(values, requires_grad=grad)


def flat(made):
    return [each for one in made for each in flat(one)] if isinstance(made, (tuple, list)) else [made]


def outcome(call, torch):
    """Return the dtype, shape and values of each result and the gradient of each leaf, or the type of the error."""
    leaves = []

    def leaf(*shape, seed=0):
        leaves.append(numbers(torch, *shape, seed=seed))
        return leaves[-1]

    try:
        made = flat(call(torch, leaf))
    except (RuntimeError, TypeError, ValueError, IndexError, NotImplementedError) as error:
        return type(error).__name__
    shown = [(str(each.dtype), tuple(each.shape), each.detach().numpy()) for each in made]
    sums = [(each * torch.arange(1.0, each.numel() + 1).reshape(each.shape)).sum() for each in made if each.requires_grad]
    found = torch.autograd.grad(sum(sums), leaves, allow_unused=True) if sums and leaves else []
    return shown, [None if each is None else each.numpy() for each in found]


def assert_same(call):
    wanted, got = outcome(call, theirs), outcome(call, ours)
    if isinstance(wanted, str) or isinstance(got, str):
        assert got == wanted
        return
    assert [each[:2] for each in got[0]] == [each[:2] for each in wanted[0]]
    for mine, other in zip([each[2] for each in got[0]] + got[1], [each[2] for each in wanted[0]] + wanted[1], strict=True):
        assert (mine is None) == (other is None)
        if mine is not None:
            np.testing.assert_allclose(mine, other, 1e-3, 1e-4)


IMAGE = (1, 2, 4, 5)
CALLS = {
    "max_pool1d": lambda torch, x: torch.max_pool1d(x(2, 3, 7), 2), "max_pool1d of lists": lambda torch, x: torch.max_pool1d(x(3, 7), [3], [2], [1], [1], True),
    "max_pool1d_with_indices": lambda torch, x: torch.max_pool1d_with_indices(x(2, 3, 7), 3, padding=1),
    "max_pool2d": lambda torch, x: torch.max_pool2d(x(*IMAGE), 2), "unbatched": lambda torch, x: torch.max_pool2d(x(2, 4, 5), (2, 3), ()),
    "no stride": lambda torch, x: torch.max_pool2d(x(*IMAGE), 2, None), "a flag": lambda torch, x: torch.max_pool2d(x(*IMAGE), 2, ceil_mode=1),
    "dilated": lambda torch, x: torch.max_pool2d(input=x(*IMAGE), kernel_size=2, dilation=2, ceil_mode=True), "max_pool3d": lambda torch, x: torch.max_pool3d(x(2, 3, 4, 4), 2),
    "adaptive_max_pool1d": lambda torch, x: torch.adaptive_max_pool1d(x(2, 3, 7), 3), "of None": lambda torch, x: torch.adaptive_max_pool1d(x(2, 3, 7), None),
    "convolution": lambda torch, x: torch.convolution(x(2, 4, 6), x(6, 2, 3, seed=1), x(6, seed=2), [2], [1], [1], False, [0], 2),
    "transposed": lambda torch, x: torch.convolution(x(*IMAGE), x(2, 3, 2, 2, seed=1), None, (2, 1), (0, 1), (1,), True, (1, 0), 1),
    "convolution of volumes": lambda torch, x: torch.convolution(x(1, 1, 3, 3, 3), x(2, 1, 2, 2, 2), None, [1], [0], [1], False, [0], 1),
    "without a batch": lambda torch, x: torch.convolution(x(2, 4), x(2, 2, 3), None, [1], [0], [1], False, [0], 1),
    "an int": lambda torch, x: torch.convolution(x(1, 2, 4), x(2, 2, 3), None, 1, [0], [1], False, [0], 1),
    "a word": lambda torch, x: torch.convolution(x(1, 2, 4), x(2, 2, 3), None, [1], "same", [1], False, [0], 1),
    "too many": lambda torch, x: torch.convolution(x(1, 2, 4), x(2, 2, 3), None, [1, 1], [0], [1], False, [0], 1),
    "conv_tbc": lambda torch, x: torch.conv_tbc(x(4, 2, 3), x(2, 3, 5, seed=1), x(5, seed=2), 1),
    "without bias": lambda torch, x: torch.conv_tbc(x(4, 2, 3), x(2, 3, 5), None), "2 dims": lambda torch, x: torch.conv_tbc(x(4, 3), x(2, 3, 5), x(5)),
    "other channels": lambda torch, x: torch.conv_tbc(x(4, 2, 3), x(2, 4, 5), x(5)), "other bias": lambda torch, x: torch.conv_tbc(x(4, 2, 3), x(2, 3, 5), x(4)),
    "frobenius_norm": lambda torch, x: torch.frobenius_norm(x(3, 4, 2), 1), "of two": lambda torch, x: torch.frobenius_norm(x(3, 4, 2), (0, 1), True),
    "of all": lambda torch, x: torch.frobenius_norm(x(3, 4, 2), ()), "of three": lambda torch, x: torch.frobenius_norm(x(3, 4, 2), (0, 1, 2)),
    "without dim": lambda torch, x: torch.frobenius_norm(x(3)), "nuclear_norm": lambda torch, x: torch.nuclear_norm(x(3, 4)),
    "kept": lambda torch, x: torch.nuclear_norm(x(3, 4), True), "batched": lambda torch, x: torch.nuclear_norm(x(2, 3, 4)),
    "over dims": lambda torch, x: torch.nuclear_norm(x(2, 3, 4), (0, 2), True), "over one": lambda torch, x: torch.nuclear_norm(x(2, 3, 4), (1,)),
    "nuclear out": lambda torch, x: torch.nuclear_norm(numbers(torch, 3, 4, grad=False), keepdim=True, out=torch.empty(1, 1)),
    **{f"norm_except_dim {pow} {dim}": lambda torch, x, pow=pow, dim=dim: torch.norm_except_dim(x(2, 3, 4), pow, dim)
       for pow, dim in ((2, 0), (2, 1), (3, 2), (2, -1), (2, 3), (2.5, 0))},
    **{f"grid_sampler {modes}": lambda torch, x, modes=modes: torch.grid_sampler(x(*IMAGE), x(1, 3, 2, 2, seed=1) * 1.2, *modes)
       for modes in itertools.product((0, 1, 2), (0, 1, 2), (True, False))},
    "grid_sampler_2d": lambda torch, x: torch.grid_sampler_2d(x(*IMAGE), x(1, 3, 2, 2), 0, 0, False),
    "grid_sampler_3d": lambda torch, x: torch.grid_sampler_3d(x(1, 2, 3, 4, 2), x(1, 3, 2, 2, 3), 0, 1, False),
    "of a volume": lambda torch, x: torch.grid_sampler_2d(x(1, 2, 3, 4, 2), x(1, 3, 2, 2, 3), 0, 0, False),
    "of an image": lambda torch, x: torch.grid_sampler_3d(x(*IMAGE), x(1, 3, 2, 2), 0, 0, False),
    "cubic in three": lambda torch, x: torch.grid_sampler(x(1, 2, 3, 4, 2), x(1, 3, 2, 2, 3), 2, 0, False),
    "no corners": lambda torch, x: torch.grid_sampler(x(*IMAGE), x(1, 3, 2, 2), 0, 0, None),
    "affine_grid_generator": lambda torch, x: torch.affine_grid_generator(x(2, 2, 3), (2, 1, 3, 4), True),
    "of volumes": lambda torch, x: torch.affine_grid_generator(x(1, 3, 4), (1, 1, 3, 4, 2), False),
    "in one dimension": lambda torch, x: torch.affine_grid_generator(x(1, 2, 3), (1, 1, 2), True),
    "corners or not": lambda torch, x: torch.affine_grid_generator(x(1, 2, 3), (1, 1, 2, 2), None),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_calls(name):
    assert_same(CALLS[name])


ACTIVATIONS = {  # name in torch.nn.functional -> arguments after the tensor
    **dict.fromkeys(["celu", "hardshrink", "hardsigmoid", "hardswish", "hardtanh", "leaky_relu", "logsigmoid", "mish"], ()),
    **dict.fromkeys(["relu", "relu6", "rrelu", "selu", "silu", "softplus", "softshrink", "softsign", "tanhshrink"], ()),
    "elu": (2.0,), "threshold": (0.5, 2.0),
}  # fmt: skip


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_where_activations_bend_and_of_what_is_no_number(name):
    def result(torch):
        x = torch.tensor(
            [float("nan"), float("inf"), -float("inf"), 0.0, -0.0, -0.5, 0.5, 1.0, -1.0, -3.0, 3.0, 6.0], requires_grad=True
        )
        y = getattr(torch.nn.functional, name)(x, *ACTIVATIONS[name])
        return y.detach().numpy(), torch.autograd.grad(y.sum(), x)[0].numpy()

    np.testing.assert_allclose(result(ours), result(theirs), rtol=1e-5, atol=1e-6)


LOSSES = {
    "binary_cross_entropy_with_logits": lambda torch, x: (x(3, 4), x(3, 4, seed=1).sigmoid()),
    "kl_div": lambda torch, x: (x(3, 4), x(3, 4, seed=1).softmax(1)), "hinge_embedding_loss": lambda torch, x: (x(2), torch.tensor([1.0, -1])),
    "margin_ranking_loss": lambda torch, x: (x(2), x(2, seed=1), torch.tensor([1.0, -1])),
    "cosine_embedding_loss": lambda torch, x: (x(2, 3), x(2, 3, seed=1), torch.tensor([1.0, -1])),
    "triplet_margin_loss": lambda torch, x: (x(2, 3), x(2, 3, seed=1), x(2, 3, seed=2)),
}  # fmt: skip


@pytest.mark.parametrize("name", LOSSES)
def test_losses(name):
    """Losses in the `torch` namespace accept `reduction` only as an integer."""
    for options in ({}, *({"reduction": each} for each in (0, 1, 2, 3, -1, "mean", None))):
        assert_same(lambda torch, x, options=options: getattr(torch, name)(*LOSSES[name](torch, x), **options))
    if "margin" in name or "embedding" in name:
        for margin in (0.5, -0.5, 2):
            assert_same(lambda torch, x, margin=margin: getattr(torch, name)(*LOSSES[name](torch, x), margin, reduction=2))


def test_losses_have_their_options():
    for log_input, full in itertools.product((True, False), repeat=2):
        assert_same(
            lambda torch, x, flags=(log_input, full): torch.poisson_nll_loss(x(3).exp(), x(3, seed=1).exp() * 2, *flags, 1e-8, 1)
        )
    assert_same(lambda torch, x: torch.poisson_nll_loss(x(3), x(3)))
    assert_same(lambda torch, x: torch.kl_div(x(3), x(3, seed=1), 1, log_target=True))
    assert_same(lambda torch, x: torch.kl_div(x(3), x(3, seed=1), 1, True))
    assert_same(
        lambda torch, x: torch.binary_cross_entropy_with_logits(
            x(3, 2), torch.ones(3, 2), torch.arange(2.0), torch.full((2,), 3.0), 1
        )
    )
    assert_same(lambda torch, x: torch.binary_cross_entropy_with_logits(numbers(torch, 2, grad=False), torch.ones(3, 2)))
    assert_same(lambda torch, x: torch.triplet_margin_loss(x(2, 3), x(2, 3, seed=1), x(2, 3, seed=2), 1.0, 1.0, 1e-6, True, 2))


@pytest.mark.parametrize("mode", [0, 1, 2, 3])
def test_bags_of_embeddings(mode):
    for options in ((), (False, None, False, 1), (False, None, True), (False, None, False, -2)):
        assert_same(
            lambda torch, x, options=options: torch.embedding_bag(
                x(6, 2), torch.tensor([0, 1, 2, 3, 5, 1]), torch.tensor([0, 2, 2, 6]), False, mode, *options
            )
        )
    for indices, offsets in (([0, 1], [1]), ([0, 1], [0, 3]), ([0, 7], [0])):
        assert_same(
            lambda torch, x, indices=indices, offsets=offsets: torch.embedding_bag(
                x(6, 2), torch.tensor(indices), torch.tensor(offsets), mode=mode
            )
        )
    assert_same(
        lambda torch, x: torch.embedding_bag(
            x(6, 2), torch.tensor([0, 3, 3]), torch.tensor([0, 1]), False, mode, False, x(3, seed=1)
        )
    )
    assert_same(lambda torch, x: torch.embedding_bag(x(6, 2), torch.tensor([0, 3]).int(), torch.tensor([0, 1]).int(), True, mode))


@pytest.mark.parametrize("how", ["sum", "mean", "max", "min", "prod", "amax", "none"])
def test_segments(how):
    for options in ({}, {"initial": 2}, {"initial": -0.5}):
        assert_same(
            lambda torch, x, options=options: torch.segment_reduce(x(6, 2), how, lengths=torch.tensor([2, 1, 3]), **options)
        )
        assert_same(lambda torch, x, options=options: torch.segment_reduce(x(6), how, offsets=torch.tensor([0, 4, 6]), **options))
    assert_same(lambda torch, x: torch.segment_reduce(x(2, 6), how, lengths=torch.tensor([[2, 1, 3], [1, 1, 4]]), axis=-1))
    assert_same(lambda torch, x: torch.segment_reduce(numbers(torch, 6, grad=False), how, lengths=torch.tensor([2, 0, 4])))
    assert_same(
        lambda torch, x: torch.segment_reduce(numbers(torch, 6, grad=False), how, lengths=torch.tensor([2, 3]), unsafe=True)
    )


@pytest.mark.parametrize("given", [
    lambda torch: {}, lambda torch: {"indices": torch.tensor([0])}, lambda torch: {"lengths": torch.tensor([2, 3])},
    lambda torch: {"lengths": torch.tensor([-2, 8])}, lambda torch: {"lengths": [6]}, lambda torch: {"lengths": torch.tensor([6.0])},
    lambda torch: {"lengths": torch.tensor([6]), "axis": 1}, lambda torch: {"offsets": torch.tensor([0, 4, 2, 6])},
])  # fmt: skip
def test_refused_segments(given):
    assert_same(lambda torch, x: torch.segment_reduce(x(6), "sum", **given(torch)))
    assert_same(lambda torch, x: torch.segment_reduce(torch.arange(6), "sum", lengths=torch.tensor([6])))


GATES = {"lstm": 4, "gru": 3, "rnn_tanh": 1, "rnn_relu": 1}


def weights(x, gates, layers, directions, has_biases, input_size=3, size=4):
    made = []
    for number in range(layers * directions):
        width = input_size if number < directions else size * directions
        made += [x(gates * size, width, seed=number) * 0.5, x(gates * size, size, seed=number + 10) * 0.5]
        made += [x(gates * size, seed=number + 20), x(gates * size, seed=number + 30)] if has_biases else []
    return made


def state(name, x, count, batch=2, size=4):
    hidden = x(count, batch, size, seed=40)
    return (hidden, x(count, batch, size, seed=41)) if name == "lstm" else hidden


@pytest.mark.parametrize("name", GATES)
def test_recurrent_layers(name):
    for biases, both, batch_first in itertools.product((True, False), repeat=3):
        assert_same(
            lambda torch, x, b=biases, d=both, first=batch_first: getattr(torch, name)(
                x(2, 5, 3) if first else x(5, 2, 3),
                state(name, x, 2 + 2 * d),
                weights(x, GATES[name], 2, 1 + d, b),
                b,
                2,
                0.0,
                False,
                d,
                first,
            )
        )
    sizes = [2, 2, 2, 1, 1]
    for both in (True, False):
        assert_same(
            lambda torch, x, d=both: getattr(torch, name)(
                x(8, 3),
                torch.tensor(sizes),
                state(name, x, 2 + 2 * d),
                weights(x, GATES[name], 2, 1 + d, True),
                True,
                2,
                0.0,
                False,
                d,
            )
        )
    assert_same(
        lambda torch, x: getattr(torch, name)(
            input=x(5, 2, 3),
            hx=state(name, x, 1),
            params=weights(x, GATES[name], 1, 1, True),
            has_biases=True,
            num_layers=1,
            dropout=0.0,
            train=True,
            bidirectional=False,
            batch_first=False,
        )
    )


@pytest.mark.parametrize("name", GATES)
def test_refused_layers(name):
    def run(torch, x, *rest, hx=None, params=None):
        own = weights(x, GATES[name], 1, 1, True)
        return getattr(torch, name)(
            x(5, 2, 3), state(name, x, 1) if hx is None else hx(x), own if params is None else params(own), *rest
        )

    settings = (True, 1, 0.0, False, False, False)
    assert_same(lambda torch, x: run(torch, x, *settings[:-1]))
    assert_same(lambda torch, x: run(torch, x, *settings, 1))
    assert_same(lambda torch, x: run(torch, x, *settings, params=lambda own: own[:3]))
    assert_same(lambda torch, x: run(torch, x, 1, *settings[1:]))
    assert_same(lambda torch, x: run(torch, x, True, 1, 1.5, True, False, False, params=lambda own: own))
    assert_same(
        lambda torch, x: run(torch, x, *settings, hx=(lambda x: (x(1, 2, 4),)) if name == "lstm" else lambda x: [x(1, 2, 4)])
    )


@pytest.mark.parametrize("name", ["lstm_cell", "gru_cell", "rnn_tanh_cell", "rnn_relu_cell"])
def test_cells(name):
    gates = GATES[name.removesuffix("_cell")]

    def hidden(x, *shape):
        return (x(*shape, seed=5), x(*shape, seed=6)) if name == "lstm_cell" else x(*shape, seed=5)

    for given in ((0, 1, 2, 3), (0, 1), (0, 1, 2), (0, 1, None, 3)):

        def call(torch, x, given=given):
            own = weights(x, gates, 1, 1, True)
            return getattr(torch, name)(x(2, 3), hidden(x, 2, 4), *(None if each is None else own[each] for each in given))

        assert_same(call)
    assert_same(lambda torch, x: getattr(torch, name)(x(2, 2), hidden(x, 2, 4), *weights(x, gates, 1, 1, True)))
    assert_same(lambda torch, x: getattr(torch, name)(x(2, 3), hidden(x, 2, 5), *weights(x, gates, 1, 1, True)))
    assert_same(lambda torch, x: getattr(torch, name)(x(2, 3), hidden(x, 1, 4), *weights(x, gates, 1, 1, True)))
    assert_same(lambda torch, x: getattr(torch, name)(x(3), hidden(x, 4), *weights(x, gates, 1, 1, True)))


def test_a_projected_lstm():
    assert_same(
        lambda torch, x: torch.lstm(
            x(5, 2, 3),
            (x(1, 2, 2, seed=1), x(1, 2, 4, seed=2)),
            [x(16, 3, seed=3), x(16, 2, seed=4), x(16, seed=5), x(16, seed=6), x(2, 4, seed=7)],
            True,
            1,
            0.0,
            False,
            False,
            False,
        )
    )


def test_lstm_cells_have_two_states():
    for hidden in (lambda x: x(2, 4), lambda x: (x(2, 4),)):
        assert_same(lambda torch, x, hidden=hidden: torch.lstm_cell(x(2, 3), hidden(x), *weights(x, 4, 1, 1, True)))


def test_settings_of_autocast_and_of_anomaly_mode():
    found = []
    for torch in (ours, theirs):
        before = torch.get_autocast_dtype("cpu"), torch.get_autocast_dtype("cuda")
        with pytest.warns(DeprecationWarning) as caught:
            made = [torch.get_autocast_cpu_dtype(), torch.get_autocast_gpu_dtype(), torch.is_autocast_cpu_enabled()]
            torch.set_autocast_cpu_enabled(True)
            torch.set_autocast_cpu_dtype(torch.float16)
            torch.set_autocast_gpu_dtype(torch.bfloat16)
        torch.set_autocast_enabled(True)
        made += [
            torch.is_autocast_enabled("cpu"),
            torch.is_autocast_enabled(),
            torch.get_autocast_dtype("cpu"),
            torch.get_autocast_dtype("cuda"),
            torch.clear_autocast_cache(),
        ]
        for refused in (
            lambda torch=torch: torch.set_autocast_enabled("cpu", 1),
            lambda torch=torch: torch.set_autocast_dtype("cpu", "x"),
            lambda torch=torch: torch.set_anomaly_enabled(1),
            lambda torch=torch: torch.set_anomaly_enabled(mode=True),
        ):
            with pytest.raises(TypeError):
                refused()
        torch.set_autocast_enabled("cpu", False)
        torch.set_autocast_enabled("cuda", False)
        torch.set_autocast_dtype("cpu", before[0])
        torch.set_autocast_dtype("cuda", before[1])
        torch.set_anomaly_enabled(True, check_nan=False)
        made += [torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()]
        torch.set_anomaly_enabled(False)
        found.append([str(each) for each in made] + [str(each.message).partition(" (Trig")[0] for each in caught])
    assert found[0] == found[1]

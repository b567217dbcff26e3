"""`nn.functional` in flambeau and PyTorch: signatures, random streams, many arguments, and first and second gradients."""

from __future__ import annotations

import inspect
import itertools
import warnings

import numpy as np
import pytest

theirs = pytest.importorskip("torch")

import flambeau as ours  # noqa: E402
from flambeau.conformance.samples import families  # noqa: E402

warnings.filterwarnings("ignore", module="torch")
rng = np.random.default_rng(0)
WITHOUT_SIGNATURE = {
    "pool1d": "_with_indices",
    "pool2d": "_with_indices",
    "pool3d": "_with_indices",
}  # suffixes of PyTorch's internal dispatch functions


def normal(*shape):
    return np.random.default_rng(sum(shape) + len(shape)).standard_normal(shape)


def results(made):
    return [each for each in (made if isinstance(made, (tuple, list)) else (made,)) if each is not None]


def assert_agree(call, *arrays, second=True, tolerance=1e-9, seed=0):
    """Assert that results, gradients and, with `second`, second gradients agree."""
    found = []
    for torch in (ours, theirs):
        torch.manual_seed(seed)
        tensors = [torch.tensor(each) for each in arrays]
        leaves = [each.requires_grad_() for each in tensors if each.is_floating_point()]
        made = results(call(torch, *tensors))
        values = [each.detach().numpy() for each in made]
        differentiable = [each for each in made if each.requires_grad]
        weights = [torch.tensor(normal(*each.shape)).to(each.dtype) for each in differentiable]
        gradients = torch.autograd.grad(differentiable, leaves, weights, allow_unused=True, create_graph=second) if leaves else []
        values += [each.detach().numpy() if each is not None else None for each in gradients]
        if second and any(each is not None and each.requires_grad for each in gradients):
            energy = sum((each * each).sum() for each in gradients if each is not None)
            values += [None if each is None else each.numpy() for each in torch.autograd.grad(energy, leaves, allow_unused=True)]
        found.append(values)
    for got, wanted in itertools.zip_longest(*found):
        if got is None or wanted is None:  # a gradient of None is equivalent to zeros
            assert not np.any(got if wanted is None else wanted)
            continue
        assert got.dtype == wanted.dtype and got.shape == wanted.shape
        np.testing.assert_allclose(got, wanted, tolerance * 100, tolerance)


def assert_same_errors(call):
    """Assert that both libraries raise the same error, or neither raises one."""
    caught = []
    for torch in (ours, theirs):
        try:
            call(torch)
        except Exception as error:
            caught.append((type(error), str(error)))
        else:
            caught.append((None, ""))
    assert caught[0][0] is caught[1][0], caught
    return caught


# --- signatures ---------------------------------------------------------------------------------------------------


def signature_of(torch, name):
    function = getattr(torch.nn.functional, name)
    if torch is theirs and name.startswith(("max_pool", "adaptive_max_pool", "fractional_max_pool")) and name[-1] == "d":
        function = getattr(torch.nn.functional, name + "_with_indices")
    return [
        (each.name, str(each.default).replace("flambeau", "torch"), each.kind)
        for each in inspect.signature(function).parameters.values()
    ]


@pytest.mark.parametrize("name", sorted(ours.nn.functional.__all__))
def test_signatures(name):
    try:
        wanted = signature_of(theirs, name)
    except ValueError:  # builtin functions of PyTorch have no signature
        return
    assert signature_of(ours, name) == wanted


# --- random streams -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("call", [
    lambda torch, x: torch.nn.functional.dropout(x, 0.3), lambda torch, x: torch.nn.functional.alpha_dropout(x, 0.3, True),
    lambda torch, x: torch.nn.functional.feature_alpha_dropout(x, 0.3, True), lambda torch, x: torch.nn.functional.dropout2d(x, 0.3),
    lambda torch, x: torch.nn.functional.dropout3d(x, 0.3), lambda torch, x: torch.nn.functional.dropout1d(x[0, 0], 0.3),
    lambda torch, x: torch.nn.functional.rrelu(x, training=True), lambda torch, x: torch.nn.functional.gumbel_softmax(x, 0.7, dim=1),
    lambda torch, x: torch.nn.functional.gumbel_softmax(x, hard=True),
    lambda torch, x: torch.nn.functional.fractional_max_pool2d(x, 2, output_size=(3, 2), return_indices=True),
    lambda torch, x: torch.nn.functional.fractional_max_pool2d(x, (1, 2), output_ratio=(0.7, 0.5)),
    lambda torch, x: torch.nn.functional.fractional_max_pool3d(x.unsqueeze(0), 2, output_size=(1, 3, 2)),
])  # fmt: skip
def test_the_same_seed_gives_the_same(call):
    assert_agree(call, normal(2, 3, 6, 4), second=False)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
@pytest.mark.parametrize("name", ["dropout", "alpha_dropout"])
@pytest.mark.parametrize("view", [
    lambda x: x[0, 0], lambda x: x[0], lambda x: x[0].expand(5, 4), lambda x: x[:, :1].expand(3, 5), lambda x: x.t(), lambda x: x[:, 1:3],
    lambda x: x[:, None].expand(3, 2, 4).transpose(0, 1),
])  # fmt: skip
def test_dropout_of_any_view(view, name, dtype):
    for seed in range(5):
        found = []
        for torch in (ours, theirs):
            x = view(torch.tensor(normal(3, 4)).to(getattr(torch, dtype)))
            torch.manual_seed(seed)
            made = getattr(torch.nn.functional, name)(x, 0.3, True)
            found.append((made.double().tolist(), made.stride(), torch.rand(1).item()))
        np.testing.assert_array_equal(found[0][0], found[1][0])
        assert found[0][1:] == found[1][1:]


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_random_slopes_bit_for_bit(dtype):
    found = []
    for torch in (ours, theirs):
        torch.manual_seed(0)
        found.append(torch.nn.functional.rrelu(torch.full((100,), -1.0, dtype=getattr(torch, dtype)), training=True).tolist())
    assert found[0] == found[1]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize(("shape", "options"), [
    ((2, 3, 32, 29), {"kernel_size": 3, "output_ratio": (0.7, 0.5)}), ((2, 3, 9, 300), {"kernel_size": (2, 1), "output_size": (1, 120)}),
    ((3, 20, 33, 17), {"kernel_size": (2, 3, 1), "output_ratio": (0.5, 0.9, 0.3)}),
    ((2, 2, 20, 9, 17), {"kernel_size": 2, "output_size": (12, 1, 4)}),
])  # fmt: skip
@pytest.mark.parametrize("given", [False, True])
def test_fractional_windows(shape, options, dtype, given):
    n = len(options.get("output_size") or options["output_ratio"])
    for seed in range(5):
        found = []
        for torch in (ours, theirs):
            torch.manual_seed(seed)
            x = torch.tensor(normal(*shape)).to(getattr(torch, dtype))
            x.flatten()[::7] = float("nan")
            samples = torch.rand(shape[0] if len(shape) == n + 2 else 1, shape[-n - 1], n, dtype=x.dtype) if given else None
            pool = getattr(torch.nn.functional, f"fractional_max_pool{n}d")
            values, indices = pool(x, **options, return_indices=True, _random_samples=samples)
            found.append([values.float().numpy(), indices.numpy(), torch.rand(1).item()])
        for got, wanted in zip(*found, strict=True):
            np.testing.assert_array_equal(got, wanted)


def test_places_of_nan_in_adaptive_pooling():
    x = np.where(rng.random((1, 2, 7, 5)) < 0.3, np.nan, rng.integers(0, 3, (1, 2, 7, 5)))
    for sizes in ((3, 2), (2, 3), (1, 1), (7, 4)):
        assert_agree(
            lambda torch, x, sizes=sizes: torch.nn.functional.adaptive_max_pool2d(x, sizes, return_indices=True)[1],
            x,
            second=False,
        )


# --- convolution --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize(
    ("stride", "padding", "dilation", "groups"), [(1, 0, 1, 1), (2, 1, 1, 1), (1, 2, 2, 2), (3, 1, 2, 1), (1, 1, 1, 4)]
)
def test_convolution(n, stride, padding, dilation, groups):
    space = (7, 6, 5)[:n]
    weights = normal(8, 4 // groups, *(3, 2, 1)[:n])
    assert_agree(
        lambda torch, *x: getattr(torch.nn.functional, f"conv{n}d")(*x, stride, padding, dilation, groups),
        normal(2, 4, *space),
        weights,
        normal(8),
    )
    extra = max(stride, dilation) - 1
    assert_agree(
        lambda torch, *x: getattr(torch.nn.functional, f"conv_transpose{n}d")(*x, stride, padding, extra, groups, dilation),
        normal(2, 8, *(6, 5, 6)[:n]),
        weights,
        normal(4),
    )


@pytest.mark.parametrize(("channels", "outputs", "padding"), [(16, 16, 1), (17, 20, 0), (32, 16, 2)])
def test_convolution_in_single_precision(channels, outputs, padding):
    """These convolutions use Winograd's algorithm, which has larger rounding errors."""
    arrays = [each.astype(np.float32) for each in (normal(4, channels, 9, 12), normal(outputs, channels, 3, 3), normal(outputs))]
    assert_agree(lambda torch, *x: torch.nn.functional.conv2d(*x, padding=padding), *arrays, second=False, tolerance=2e-3)


@pytest.mark.parametrize("padding", ["same", "valid"])
@pytest.mark.parametrize("kernel", [(3, 3), (4, 2), (1, 5)])
def test_convolution_with_named_padding(padding, kernel):
    assert_agree(
        lambda torch, x, w: torch.nn.functional.conv2d(x, w, padding=padding, dilation=2 if kernel == (3, 3) else 1),
        normal(2, 3, 9, 8),
        normal(4, 3, *kernel),
    )


# --- pooling ------------------------------------------------------------------------------------------------------

_GEOMETRIES = [(2, None, 0, False), (3, 2, 1, False), (3, 2, 1, True), (2, 3, 0, True), (3, 1, 1, False)]


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize(("kernel", "stride", "padding", "ceil"), _GEOMETRIES)
def test_pooling(n, kernel, stride, padding, ceil):
    x = normal(2, 3, *(7, 9, 6)[:n])
    for rounded in (x, x.round()):  # rounded values have ties
        assert_agree(
            lambda torch, x: getattr(torch.nn.functional, f"max_pool{n}d")(x, kernel, stride, padding, 1, ceil, True), rounded
        )
    for counted in (True, False):
        assert_agree(
            lambda torch, x, c=counted: getattr(torch.nn.functional, f"avg_pool{n}d")(x, kernel, stride, padding, ceil, c), x
        )
    assert_agree(
        lambda torch, x: getattr(torch.nn.functional, f"lp_pool{n}d")(x, 3, kernel, stride, ceil), abs(x) + 0.1, second=False
    )


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("size", [1, 3, 5, 7])
def test_adaptive_pooling(n, size):
    x = normal(2, 3, *(7, 9, 6)[:n])
    assert_agree(lambda torch, x: getattr(torch.nn.functional, f"adaptive_avg_pool{n}d")(x, size), x)
    assert_agree(lambda torch, x: getattr(torch.nn.functional, f"adaptive_max_pool{n}d")(x, size, True), x)


def test_pooling_of_nan_and_infinity():
    x = normal(2, 3, 8, 8).round()
    x[0, 0, 1, 1] = np.nan
    x[1, 2] = -np.inf
    for arguments in ((2,), (3, 2, 1), (3, 1)):
        assert_agree(lambda torch, x, a=arguments: torch.nn.functional.max_pool2d(x, *a, return_indices=True), x, second=False)


# --- resampling and warping ---------------------------------------------------------------------------------------

_MODES = {
    3: ("nearest", "nearest-exact", "linear", "area"),
    4: ("nearest", "nearest-exact", "bilinear", "bicubic", "area"),
    5: ("nearest", "nearest-exact", "trilinear", "area"),
}
_SIZES = [
    {"size": 3},
    {"size": 11},
    {"size": 1},
    {"scale_factor": 2},
    {"scale_factor": 1.7},
    {"scale_factor": 0.6},
    {"scale_factor": 1.7, "recompute_scale_factor": True},
]


@pytest.mark.parametrize(("ndim", "mode"), [(ndim, mode) for ndim, modes in _MODES.items() for mode in modes])
@pytest.mark.parametrize("size", _SIZES, ids=str)
def test_interpolate(ndim, mode, size):
    x = normal(2, 2, *(7, 5, 4)[: ndim - 2])
    for align in (None, False, True) if mode.endswith("linear") or mode == "bicubic" else (None,):
        assert_agree(lambda torch, x, a=align: torch.nn.functional.interpolate(x, mode=mode, align_corners=a, **size), x)


@pytest.mark.parametrize("mode", ["bilinear", "bicubic", "lanczos"])
@pytest.mark.parametrize("size", [{"size": (3, 4)}, {"size": (11, 3)}, {"scale_factor": (1.7, 0.6)}], ids=str)
def test_interpolate_with_antialias(mode, size):
    assert_agree(lambda torch, x: torch.nn.functional.interpolate(x, mode=mode, antialias=True, **size), normal(2, 3, 13, 9))


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
@pytest.mark.parametrize("antialias", [True, False])
def test_interpolate_bytes_exactly(mode, antialias):
    for height, width in ((40, 50), (13, 300), (600, 17)):
        image = np.random.default_rng(height).integers(0, 256, (1, 3, height, width), dtype=np.uint8)
        for size in ((22, 22), (60, 9), (50, 131)):
            options = {"size": size, "mode": mode, "antialias": antialias}
            results = [lib.nn.functional.interpolate(lib.from_numpy(image), **options).numpy() for lib in (ours, theirs)]
            assert np.array_equal(*results), (height, width, size)


@pytest.mark.parametrize("mode", ["nearest", "nearest-exact"])
def test_nearest_neighbours_of_all_sizes(mode):
    for length, size in itertools.product(range(1, 30), range(1, 45)):
        places = [
            torch.nn.functional.interpolate(torch.arange(float(length)).reshape(1, 1, -1), size=size, mode=mode)
            .flatten()
            .tolist()
            for torch in (ours, theirs)
        ]
        assert places[0] == places[1], (length, size)


@pytest.mark.parametrize("align", [True, False])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
def test_grid_sample(mode, padding, align):
    assert_agree(
        lambda torch, x, g: torch.nn.functional.grid_sample(x, g, mode, padding, align),
        normal(2, 3, 5, 6),
        normal(2, 4, 3, 2) * 0.8,
        second=mode != "nearest",
    )
    if mode != "bicubic":
        assert_agree(
            lambda torch, x, g: torch.nn.functional.grid_sample(x, g, mode, padding, align),
            normal(2, 3, 5, 6, 4),
            normal(2, 4, 3, 2, 3) * 0.8,
            second=mode != "nearest",
        )
    assert_agree(lambda torch, t: torch.nn.functional.affine_grid(t, (2, 1, 4, 5), align), normal(2, 2, 3))
    assert_agree(lambda torch, t: torch.nn.functional.affine_grid(t, (2, 1, 4, 5, 3), align), normal(2, 3, 4))


@pytest.mark.parametrize("mode", ["constant", "reflect", "replicate", "circular"])
@pytest.mark.parametrize("padding", [(1, 2), (0, 3), (-1, 2), (1, 2, 3, 1), (0, 2, 1, 0), (1, 2, 3, 1, 2, 2)])
def test_padding(mode, padding):
    x = normal(2, 3, *(4, 5, 6)[-len(padding) // 2 :])
    assert_agree(lambda torch, x: torch.nn.functional.pad(x, padding, mode), x)
    assert_agree(lambda torch, x: torch.nn.functional.pad(x[0], padding, mode), x)


# --- attention, embedding, classes --------------------------------------------------------------------------------


@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize("case", ["self", "key is value", "separate"])
@pytest.mark.parametrize("mask", [None, "causal", "heads", "padding", "float padding"])
@pytest.mark.parametrize("extra", [False, True])
def test_multi_head_attention(need_weights, case, mask, extra):
    length, source, batch, heads, size = 4, 4 if case == "self" else 5, 3, 2, 8
    wide = 6 if case == "separate" else size
    padding = np.zeros((batch, source), bool)
    padding[0, 2:] = True
    masks = {"causal": normal(length, source) > 1, "heads": normal(batch * heads, length, source)}
    paddings = {"padding": padding, "float padding": normal(batch, source)}

    def call(torch, q, k, v, w, b, w_out, b_out, bias_k, bias_v, w_q, w_k, w_v):
        k, v = (q, q) if case == "self" else (k, k) if case == "key is value" else (k, v)
        return torch.nn.functional.multi_head_attention_forward(
            q,
            k,
            v,
            size,
            heads,
            None if case == "separate" else w,
            b,
            bias_k if extra else None,
            bias_v if extra else None,
            extra,
            0.0,
            w_out,
            b_out,
            key_padding_mask=torch.tensor(paddings[mask]) if mask in paddings else None,
            need_weights=need_weights,
            attn_mask=torch.tensor(masks[mask]) if mask in masks else None,
            use_separate_proj_weight=case == "separate",
            q_proj_weight=w_q,
            k_proj_weight=w_k,
            v_proj_weight=w_v,
            average_attn_weights=extra,
        )

    shapes = [
        (length, batch, size),
        (source, batch, wide),
        (source, batch, wide),
        (24, 8),
        (24,),
        (8, 8),
        (8,),
        (1, 1, 8),
        (1, 1, 8),
        (8, 8),
        (8, wide),
        (8, wide),
    ]
    assert_agree(call, *(normal(*shape) for shape in shapes), second=False)


def test_scaled_dot_product_attention():
    q, k, v = normal(2, 6, 4, 5), normal(2, 6, 3, 5), normal(2, 6, 3, 7)
    blocked = normal(4, 3) > 0
    blocked[1] = False
    for options in ({}, {"is_causal": True}, {"scale": 0.3}):
        assert_agree(lambda torch, *x, o=options: torch.nn.functional.scaled_dot_product_attention(*x, **o), q, k, v)
    assert_agree(lambda torch, *x: torch.nn.functional.scaled_dot_product_attention(*x, attn_mask=torch.tensor(blocked)), q, k, v)
    assert_agree(lambda torch, *x: torch.nn.functional.scaled_dot_product_attention(*x), q, k, v, normal(4, 3))
    assert_agree(lambda torch, *x: torch.nn.functional.scaled_dot_product_attention(*x, enable_gqa=True), q, k[:, :3], v[:, :3])


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("padding", [None, 2])
@pytest.mark.parametrize("last", [False, True])
def test_embedding_bag(mode, padding, last):
    indices, offsets = np.random.default_rng(0).integers(0, 5, 12), [0, 2, 2, 5, 10, *([12] if last else [])]
    assert_agree(
        lambda torch, w: torch.nn.functional.embedding_bag(
            torch.tensor(indices), w, torch.tensor(offsets), mode=mode, padding_idx=padding, include_last_offset=last
        ),
        normal(5, 3),
        second=False,
    )


@pytest.mark.parametrize("mode", ["sum", "mean"])
def test_embedding_bag_scaled_by_frequency(mode):
    """Compare with a sum of PyTorch's embedding, because its embedding_bag uses the frequency of a wrong index."""
    indices = np.random.default_rng(0).integers(0, 5, (4, 3))
    table, weights, found = normal(5, 3), normal(4, 3), []
    for torch in (ours, theirs):
        F, w = torch.nn.functional, torch.tensor(table, requires_grad=True)
        bags = (
            F.embedding_bag(torch.tensor(indices), w, mode=mode, scale_grad_by_freq=True)
            if torch is ours
            else getattr(F.embedding(torch.tensor(indices), w, scale_grad_by_freq=True), mode)(1)
        )
        (bags * torch.tensor(weights)).sum().backward()
        found.append((bags.detach().numpy(), w.grad.numpy()))
    for got, wanted in zip(*found, strict=True):
        np.testing.assert_allclose(got, wanted, 1e-12, 1e-12)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("smoothing", [0.0, 0.3])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("space", [(), (3, 2)])
def test_cross_entropy(reduction, smoothing, weighted, space):
    target = np.random.default_rng(0).integers(0, 4, (5, *space))
    weight = abs(normal(4))

    def call(torch, x, y):
        return torch.nn.functional.cross_entropy(
            x,
            y,
            torch.tensor(weight) if weighted else None,
            ignore_index=2 if y.dtype is torch.int64 else -100,
            reduction=reduction,
            label_smoothing=smoothing,
        )

    assert_agree(call, normal(5, 4, *space), target)
    assert_agree(call, normal(5, 4, *space), np.random.default_rng(1).random((5, 4, *space)))


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("zero_infinity", [False, True])
def test_ctc_loss(reduction, zero_infinity):
    for targets, given, wanted in (
        ([[1, 2, 2], [3, 1, 0]], [7, 6], [3, 2]),
        ([1, 2, 2, 3, 1], [7, 6], [3, 2]),
        ([[1, 2, 2], [3, 1, 0]], [7, 5], [0, 2]),
        ([[1, 2, 2], [3, 1, 0]], [7, 1], [3, 2]),
        ([[1, 2, 2], [3, 1, 0]], [0, 3], [2, 0]),
    ):
        assert_agree(
            lambda torch, x, t=targets, g=given, w=wanted: torch.nn.functional.ctc_loss(
                x, torch.tensor(t), torch.tensor(g), torch.tensor(w), 0, reduction, zero_infinity
            ),
            theirs.tensor(normal(7, 2, 4)).log_softmax(2).numpy(),
            second=False,
        )


# --- older names, and functions that write into their argument ----------------------------------------------------

WRITING = {
    "celu_": (0.7,),
    "elu_": (0.7,),
    "hardtanh_": (-0.3, 0.4),
    "leaky_relu_": (0.2,),
    "relu_": (),
    "rrelu_": (0.1, 0.3, True),
    "selu_": (),
    "threshold_": (0.1, 2.0),
}
OLDER = {
    "upsample": {"scale_factor": 2, "mode": "bilinear"},
    "upsample_bilinear": {"size": 5},
    "upsample_nearest": {"scale_factor": 2},
}


@pytest.mark.parametrize("name", WRITING)
def test_functions_that_write(name):
    def call(torch, x):
        written = x * 1
        assert getattr(torch.nn.functional, name)(written, *WRITING[name]) is written
        return written

    assert_agree(call, normal(3, 4), second=name != "celu_")  # PyTorch computes 1 / alpha of celu_ in float32


@pytest.mark.parametrize("name", OLDER)
@pytest.mark.filterwarnings("ignore:`nn")
def test_older_names(name):
    assert_agree(lambda torch, x: getattr(torch.nn.functional, name)(x, **OLDER[name]), normal(2, 3, 4, 5))


GROUPED = {  # name -> shapes of the two arguments; `offs` splits 2-d arguments into groups
    "rows": ((12, 8), (3, 8, 16)),
    "columns": ((3, 16, 8), (8, 24)),
    "products": ((16, 24), (24, 8)),
    "batches": ((3, 16, 8), (3, 8, 16)),
}


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("groups", GROUPED)
def test_grouped_products(groups, dtype):
    first, second = (normal(*shape) for shape in GROUPED[groups])
    ends = {"rows": [2, 5, 12], "columns": [8, 16, 24], "products": [8, 8, 24], "batches": None}[groups]
    found = []
    for torch in (ours, theirs):
        a, b = (torch.tensor(x, dtype=getattr(torch, dtype), requires_grad=True) for x in (first, second))
        result = torch.nn.functional.grouped_mm(a, b, offs=ends and torch.tensor(ends, dtype=torch.int32))
        result.float().square().sum().backward()
        found.append(
            [x.detach().float().numpy() for x in (result, a.grad, b.grad)] + [str(result.dtype).removeprefix("flambeau.")]
        )
    for mine, his in zip(*found, strict=True):
        if isinstance(mine, str):
            assert mine.rpartition(".")[2] == his.rpartition(".")[2]
        else:
            np.testing.assert_allclose(
                mine, his, rtol=1e-5 if dtype == "float32" else 3e-2, atol=1e-4 if dtype == "float32" else 0.3
            )


@pytest.mark.parametrize("recipe", ["TensorWise", "RowWise"])
def test_scaled_mm(recipe):
    def call(torch):
        functional = torch.nn.functional
        a, b = (torch.tensor(normal(rows, 32), dtype=torch.float32).to(torch.float8_e4m3fn) for rows in (16, 48))
        scales = [torch.tensor(2.0), torch.tensor(0.5)]
        if recipe == "RowWise":
            scales = [torch.linspace(1, 2, 16)[:, None], torch.linspace(3, 4, 48)[None]]
        kind = getattr(functional.ScalingType, recipe)
        result = functional.scaled_mm(a, b.t(), scales[0], kind, scales[1], kind)
        return str(result.dtype).removeprefix("flambeau").removeprefix("torch"), result.float().numpy()

    (dtype, result), (wanted_dtype, wanted) = map(call, (ours, theirs))
    assert dtype == wanted_dtype
    np.testing.assert_allclose(result, wanted, rtol=2**-7)


def test_no_function_is_left_out():
    """Each function of `nn.functional` has a sample or a test in this file."""
    sampled = {each.name.removeprefix("nn.functional.") for table in families().values() for each in table}
    here = {
        "fractional_max_pool2d",
        "fractional_max_pool3d",
        "gumbel_softmax",
        "multi_head_attention_forward",
        "fractional_max_pool2d_with_indices",
        "fractional_max_pool3d_with_indices",
        "native_channel_shuffle",
        "grouped_mm",
        "scaled_mm",
        "scaled_grouped_mm",  # tests/compat/test_library_names.py
        "ScalingType",
        "SwizzleType",
    }
    assert set(ours.nn.functional.__all__) <= sampled | here | set(WRITING) | set(OLDER)


# --- errors -------------------------------------------------------------------------------------------------------


def leaf(torch, *shape):
    return torch.ones(*shape, requires_grad=True)


@pytest.mark.parametrize("call", [
    lambda torch: torch.nn.functional.conv2d(torch.ones(2, 3, 5, 5), torch.ones(4, 4, 3, 3)),
    lambda torch: torch.nn.functional.conv2d(torch.ones(2, 3, 5, 5), torch.ones(4, 3, 6, 6)),
    lambda torch: torch.nn.functional.conv2d(torch.ones(5, 5), torch.ones(4, 3, 3, 3)),
    lambda torch: torch.nn.functional.conv2d(torch.ones(2, 3, 5, 5), torch.ones(4, 3, 3, 3), torch.ones(3)),
    lambda torch: torch.nn.functional.linear(torch.ones(3, 4), torch.ones(2, 5)),
    lambda torch: torch.nn.functional.linear(torch.ones(3, 4).double(), torch.ones(2, 4), torch.ones(2)),
    lambda torch: torch.nn.functional.max_pool2d(torch.ones(1, 2, 4, 4), 5),
    lambda torch: torch.nn.functional.max_pool2d(torch.ones(1, 2, 4, 4), 2, padding=2),
    lambda torch: torch.nn.functional.cross_entropy(torch.ones(3, 2), torch.tensor([0, 1, 2])),
    lambda torch: torch.nn.functional.cross_entropy(torch.ones(3, 2), torch.tensor([0, 1])),
    lambda torch: torch.nn.functional.nll_loss(torch.ones(2, 2), torch.ones(2)),
    lambda torch: torch.nn.functional.embedding(torch.tensor([5]), torch.ones(5, 2)),
    lambda torch: torch.nn.functional.softmax(torch.ones(2), 3),
    lambda torch: torch.nn.functional.softmax(torch.ones(2, dtype=torch.int64), 0),
    lambda torch: torch.nn.functional.layer_norm(torch.ones(2, 3), (4,)),
    lambda torch: torch.nn.functional.batch_norm(torch.ones(1, 3), None, None, training=True),
    lambda torch: torch.nn.functional.interpolate(torch.ones(1, 1, 2), mode="bilinear", size=2),
    lambda torch: torch.nn.functional.one_hot(torch.tensor([3]), 2),
    lambda torch: torch.nn.functional.dropout(torch.ones(2), 1.5),
    lambda torch: torch.nn.functional.pad(torch.ones(1, 2, 4), (4, 1), mode="reflect"),
    lambda torch: torch.nn.functional.pixel_shuffle(torch.ones(3, 2, 2), 2),
    lambda torch: torch.nn.functional.binary_cross_entropy(torch.tensor([1.5]), torch.tensor([1.0])),
    lambda torch: torch.nn.functional.multi_margin_loss(torch.ones(2, 2), torch.tensor([0, 1]), p=3),
    lambda torch: torch.nn.functional.fractional_max_pool2d(torch.ones(1, 2, 3, 6), 2, output_size=3),
    lambda torch: torch.nn.functional.fractional_max_pool2d(torch.ones(1, 2, 6, 6, 6), 2, output_size=3),
    lambda torch: torch.nn.functional.fractional_max_pool3d(torch.ones(1, 1, 2, 6, 6, 6), 2, output_size=3),
    lambda torch: torch.nn.functional.fractional_max_pool3d(torch.ones(1, 2, 3, 6, 4), 2, output_size=2),
    lambda torch: torch.nn.functional.ctc_loss(torch.ones(4, 1, 3), torch.tensor([[1, 2]]), (9,), (2,)),
    lambda torch: torch.nn.functional.ctc_loss(torch.ones(0, 1, 3), torch.tensor([[1, 2]]), (0,), (2,)),
    lambda torch: torch.nn.functional.ctc_loss(torch.ones(4, 1, 3), torch.tensor([[[1, 2]]]), (4,), (2,)),
    lambda torch: torch.nn.functional.ctc_loss(torch.ones(4, 1, 3), torch.tensor([[1, 2]] * 3), (4,), (2,)),
    lambda torch: torch.nn.functional.ctc_loss(torch.ones(4, 1, 3), torch.tensor([[1, 2]]), torch.tensor([4.0]), torch.tensor([2])),
    lambda torch: torch.nn.functional.ctc_loss(torch.ones(4, 1, 3), torch.tensor([[1, 2]]), (4,), (2,), reduction="all"),
    lambda torch: torch.nn.functional.scaled_dot_product_attention(*[torch.ones(2, 3, 4)] * 3, torch.ones(3, 3), is_causal=True),
    lambda torch: torch.nn.functional.scaled_dot_product_attention(*[torch.ones(2, 3, 4)] * 3, dropout_p=1.5),
    lambda torch: torch.nn.functional.scaled_dot_product_attention(*[torch.ones(3, 4)] * 3, enable_gqa=True),
    lambda torch: torch.nn.functional.embedding_bag(torch.tensor([[1, 2]]), torch.ones(4, 3), padding_idx=4),
    lambda torch: torch.nn.functional.embedding_bag(torch.tensor([[1, 2]]), torch.ones(4, 3, dtype=torch.int64)),
    lambda torch: torch.nn.functional.embedding_bag(torch.tensor([[1]]), torch.ones(4, 3), mode="sum", per_sample_weights=torch.tensor([[1]])),
    lambda torch: torch.nn.functional.binary_cross_entropy_with_logits(torch.ones(3), torch.tensor([0, 1, 1])),
    lambda torch: torch.nn.functional.soft_margin_loss(torch.ones(3), leaf(torch, 3)),
    lambda torch: torch.nn.functional.multi_margin_loss(torch.ones(1, 3), torch.tensor([1]), weight=leaf(torch, 3)),
    lambda torch: torch.nn.functional.nll_loss(torch.ones(1, 3), torch.tensor([1]), leaf(torch, 3)),
    lambda torch: torch.nn.functional.cross_entropy(torch.ones(1, 3, 2), torch.tensor([[1, 0]]), leaf(torch, 3)),
    lambda torch: torch.nn.functional.binary_cross_entropy(torch.ones(3), torch.ones(3), leaf(torch, 3)),
    lambda torch: torch.nn.functional.binary_cross_entropy_with_logits(torch.ones(3), torch.ones(3), pos_weight=leaf(torch, 3)),
    lambda torch: torch.nn.functional.batch_norm(torch.ones(2, 3), leaf(torch, 3), torch.ones(3)),
    lambda torch: torch.ones(2, 3).masked_fill(torch.ones(4, dtype=torch.bool), 0),
])  # fmt: skip
def test_messages(call):
    caught = assert_same_errors(call)
    assert caught[0] == caught[1]


IMAGE, LINE, VOLUME = (1, 2, 4, 4), (1, 2, 4), (1, 2, 4, 4, 4)
FLAGGED = {  # function -> (shapes of tensors, other arguments, names of bool arguments)
    **{f"{kind}_pool{len(shape) - 2}d": ((shape,), {"kernel_size": 2}, flags) for shape in (LINE, IMAGE, VOLUME)
       for kind, flags in (("max", ("ceil_mode", "return_indices")), ("avg", ("ceil_mode", "count_include_pad")))},
    "lp_pool2d": ((IMAGE,), {"norm_type": 2, "kernel_size": 2}, ("ceil_mode",)), "rrelu": (((2,),), {}, ("training",)),
    "interpolate": ((IMAGE,), {"size": 3, "mode": "bilinear"}, ("align_corners", "antialias", "recompute_scale_factor")),
    "grid_sample": ((IMAGE, (1, 2, 2, 2)), {}, ("align_corners",)), "affine_grid": (((1, 2, 3),), {"size": (1, 1, 2, 2)}, ("align_corners",)),
    "kl_div": (((2,), (2,)), {}, ("log_target",)), "poisson_nll_loss": (((2,), (2,)), {}, ("log_input", "full")),
    "gaussian_nll_loss": (((2,), (2,), (2,)), {}, ("full",)), "triplet_margin_loss": (((2, 2), (2, 2), (2, 2)), {}, ("swap",)),
    "scaled_dot_product_attention": ((LINE, LINE, LINE), {}, ("is_causal", "enable_gqa")), "dropout": ((LINE,), {}, ("training", "inplace")),
    "batch_norm": (((2, 3), (3,), (3,)), {}, ("training",)), "instance_norm": ((LINE,), {}, ("use_input_stats",)),
    "pairwise_distance": (((2, 2), (2, 2)), {}, ("keepdim",)), "gumbel_softmax": (((2, 3),), {}, ("hard",)), "relu": (((2,),), {}, ("inplace",)),
}  # fmt: skip


@pytest.mark.parametrize("name", FLAGGED)
def test_flags_are_true_or_false(name):
    """PyTorch's C++ functions reject non-bool flags; its Python functions accept any value."""
    shapes, options, flags = FLAGGED[name]
    for flag, value in itertools.product(flags, (1, 0, "x", None, 1.5, [True])):
        assert_same_errors(
            lambda torch, more=((flag, value),): getattr(torch.nn.functional, name)(
                *map(torch.ones, shapes), **options, **dict(more)
            )
        )


@pytest.mark.parametrize("flag", ["sparse", "scale_grad_by_freq", "include_last_offset"])
@pytest.mark.parametrize("value", [1, "x", None, 1.5])
def test_flags_of_embeddings(flag, value):
    def call(torch, function):
        return getattr(torch.nn.functional, function)(torch.tensor([[0, 1]]), torch.ones(3, 2), **{flag: value})

    assert_same_errors(lambda torch: call(torch, "embedding_bag"))
    if flag != "include_last_offset":
        assert_same_errors(lambda torch: call(torch, "embedding"))

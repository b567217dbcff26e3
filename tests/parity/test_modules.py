"""Every layer with its options in flambeau and PyTorch: a table of cases, and one test that compares all properties."""

from __future__ import annotations

import inspect
from typing import Any, NamedTuple

import numpy as np
import pytest

theirs = pytest.importorskip("torch")

import flambeau as ours  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")


class Given(NamedTuple):
    """An input that requires no gradient, such as a mask, a target or a probability."""

    values: np.ndarray

    @property
    def shape(self):
        return self.values.shape


class Built(NamedTuple):
    """A constructor argument that `make` creates separately for each library."""

    make: Any

    def __repr__(self):
        return "..."


class Case(NamedTuple):
    """A layer with its constructor arguments and call arguments."""

    name: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    inputs: tuple[Any, ...]
    call: dict[str, Any]

    def __str__(self):
        given = [*map(str, self.args), *(f"{key}={value}" for key, value in self.kwargs.items())]
        shapes = [str(getattr(each, "shape", "state")).replace(" ", "") for each in self.inputs]
        return f"{self.name}({', '.join(given)}){' '.join([*shapes, *self.call])}"


def reals(*shape, low=None, high=None):
    """Return normal random numbers, or uniform ones between `low` and `high`."""
    rng = np.random.default_rng([len(shape), *shape])
    return rng.standard_normal(shape) if low is None else rng.uniform(low, high, shape)


def integers(high, *shape):
    """Return random integers below `high`."""
    return np.random.default_rng([high, *shape]).integers(0, high, shape)


def random_mask(*shape):
    """Return a random bool mask. The first column is False, so that no row is fully masked."""
    made = np.random.default_rng(shape).random(shape) < 0.4
    made[..., 0] = False
    return Given(made)


CASES: list[Case] = []


def add_cases(names, *inputs, args=(), call=None, **kwargs):
    """Add a case for each name."""
    CASES.extend(Case(name, args, kwargs, inputs, call or {}) for name in names.split())


def add_spatial_cases(name, n, *args, more=(), call=None, **kwargs):
    """Add two cases of a layer with `n` spatial dimensions: called with a batch, and with a single item."""
    for lead in ((2, 4), (4,)):
        add_cases(f"{name}{n}d", reals(*lead, *(7, 6, 5)[:n]), *more, args=args, call=call, **kwargs)


# --- linear, convolution, padding ---------------------------------------------------------------------------------

for shape in ((2, 5, 3), (3,), (0, 3)):
    add_cases("Linear", reals(*shape), args=(3, 4))
    add_cases("Linear", reals(*shape), args=(3, 4), bias=False)
    add_cases("LazyLinear", reals(*shape), args=(4,))
add_cases("Bilinear", reals(5, 2), reals(5, 3), args=(2, 3, 4))
add_cases("Bilinear", reals(2), reals(3), args=(2, 3, 4), bias=False)
add_cases("Identity", reals(2, 3), args=(54, "anything"), unused=True)

for n in (1, 2, 3):
    for kwargs in (
        {},
        {"bias": False},
        {"stride": 2, "padding": 1},
        {"dilation": 2, "padding": 2, "groups": 2},
        {"groups": 4},
        {"padding": "same"},
        {"padding": "valid"},
        {"padding": "same", "dilation": 2, "padding_mode": "replicate"},
        *({"padding": 1, "padding_mode": mode, "stride": 2} for mode in ("circular", "reflect", "replicate")),
    ):
        add_spatial_cases("Conv", n, 4, 8, 3, **kwargs)
        add_spatial_cases("LazyConv", n, 8, 3, **kwargs)
    for kwargs in (
        {},
        {"bias": False, "groups": 2},
        {"stride": 2, "padding": 1, "output_padding": 1},
        {"dilation": 2},
        {"dilation": 2, "output_padding": 1, "padding": 1},
    ):
        add_spatial_cases("ConvTranspose", n, 4, 6, 3, **kwargs)
        add_spatial_cases("LazyConvTranspose", n, 6, 3, **kwargs)
    add_spatial_cases("ConvTranspose", n, 4, 6, 3, stride=2, call={"output_size": [16, 14, 12][:n]})
    for sides in (2, (0, 1, 2, 0, 1, 3)[: 2 * n]):
        for name in ("Reflection", "Replication", "Zero", "Circular"):
            add_spatial_cases(f"{name}Pad", n, sides)
        add_spatial_cases("ConstantPad", n, sides, 2.5)
add_cases("Conv2d", reals(2, 4, 7, 6), args=(4, 6, (3, 2), (2, 1), (1, 0), (1, 2)))

# --- pooling, folding, resampling ---------------------------------------------------------------------------------

for n in (1, 2, 3):
    for kwargs in ({}, {"stride": 1, "ceil_mode": True}, {"padding": 1}):
        add_spatial_cases("MaxPool", n, 2, **kwargs)
        add_spatial_cases("AvgPool", n, 2, **kwargs)
    add_spatial_cases("MaxPool", n, 2, return_indices=True, dilation=2)
    add_spatial_cases("AvgPool", n, 3, padding=1, count_include_pad=False)
    add_spatial_cases("AdaptiveAvgPool", n, 3)
    add_spatial_cases("AdaptiveMaxPool", n, 2, return_indices=True)
    for lead in ((2, 4), (4,)):
        add_cases(f"LPPool{n}d", reals(*lead, *(7, 6, 5)[:n], low=0.1, high=2), args=(2.5, 2), ceil_mode=n == 2)
        add_cases(
            f"MaxUnpool{n}d",
            reals(*lead, *(3,) * n),
            np.broadcast_to(np.arange(3**n).reshape((3,) * n), (*lead, *(3,) * n)),
            args=(2,),
        )
add_cases("AvgPool2d", reals(2, 4, 7, 6), args=(2,), divisor_override=3)
add_cases("AdaptiveAvgPool2d", reals(2, 4, 7, 6), args=((None, 4),))
add_cases("MaxUnpool2d", reals(1, 1, 2, 2), integers(25, 1, 1, 2, 2), args=(2,), call={"output_size": [5, 5]})
for lead in ((2, 4), (4,)):
    add_cases("FractionalMaxPool2d", reals(*lead, 7, 6), args=(2,), output_ratio=0.5)
    add_cases("FractionalMaxPool2d", reals(*lead, 7, 6), args=((2, 3),), output_size=(3, 2), return_indices=True)
    add_cases("FractionalMaxPool3d", reals(*lead, 7, 6, 5), args=(2,), output_size=2)
    add_cases("Unfold", reals(*lead, 7, 6), args=(3,), padding=1, stride=2)
    add_cases("Fold", reals(*lead[:-1], 12, 12), args=((4, 5), 2))
for n, modes in {
    1: ("nearest", "linear", "nearest-exact"),
    2: ("nearest", "bilinear", "bicubic", "area"),
    3: ("nearest", "trilinear"),
}.items():
    for mode in modes:
        add_cases("Upsample", reals(2, 4, *(7, 6, 5)[:n]), scale_factor=1.6, mode=mode)
        add_cases(
            "Upsample", reals(2, 4, *(7, 6, 5)[:n]), size=4, mode=mode, **({"align_corners": True} if "linear" in mode else {})
        )
add_cases("UpsamplingNearest2d UpsamplingBilinear2d", reals(2, 4, 7, 6), scale_factor=2)
add_cases("PixelShuffle", reals(2, 4, 7, 6), args=(2,))
add_cases("PixelUnshuffle", reals(2, 4, 8, 6), args=(2,))
add_cases("ChannelShuffle", reals(2, 4, 7, 6), args=(2,))
add_cases("Flatten", reals(2, 4, 7, 6))
add_cases("Flatten", reals(2, 4, 7, 6), start_dim=0, end_dim=2)
add_cases("Unflatten", reals(2, 4, 7, 6), args=(1, (2, -1)))

# --- activations --------------------------------------------------------------------------------------------------

X = reals(2, 4, 3, 5)
add_cases(
    "ReLU ReLU6 RReLU Sigmoid Hardsigmoid Tanh SiLU Mish Hardswish ELU CELU SELU GELU Hardshrink LeakyReLU LogSigmoid Softplus "
    "Softshrink PReLU Softsign Tanhshrink Hardtanh Softmax2d",
    X,
)
add_cases(
    "ReLU ReLU6 RReLU SiLU Mish Hardswish Hardsigmoid ELU CELU SELU LeakyReLU Hardtanh Dropout Dropout2d AlphaDropout FeatureAlphaDropout",
    X,
    inplace=True,
)
add_cases("Softmin Softmax LogSoftmax", X, dim=1)
add_cases("GLU", X, args=(1,))
add_cases("GELU", X, approximate="tanh")
add_cases("Hardtanh", X, args=(-0.3, 0.4))
add_cases("RReLU", X, args=(0.2, 0.9))
add_cases("ELU CELU", X, args=(0.5,))
add_cases("Softplus", X, args=(2.0, 1.0))
add_cases("Hardshrink Softshrink LeakyReLU", X, args=(0.3,))
add_cases("PReLU", X, args=(4, 0.1))
add_cases("Threshold", X, args=(0.1, 2.0))
add_cases("Dropout Dropout2d Dropout3d AlphaDropout FeatureAlphaDropout", X, args=(0.3,))
add_cases("Dropout1d", X[0], args=(0.3,))
add_cases("Dropout3d FeatureAlphaDropout", reals(2, 4, 3, 5, 2))

# --- normalization ------------------------------------------------------------------------------------------------

for n in (1, 2, 3):
    for kwargs in (
        {},
        {"affine": False},
        {"track_running_stats": False},
        {"momentum": None, "eps": 1e-3},
        {"momentum": 0.3},
        {"bias": False},
    ):
        add_cases(f"BatchNorm{n}d", reals(2, 4, *(7, 6, 5)[:n]), args=(4,), **kwargs)
        add_cases(f"LazyBatchNorm{n}d", reals(2, 4, *(7, 6, 5)[:n]), **kwargs)
        add_spatial_cases("InstanceNorm", n, 4, **kwargs)
        add_cases(f"LazyInstanceNorm{n}d", reals(2, 4, *(7, 6, 5)[:n]), **kwargs)
    add_spatial_cases("InstanceNorm", n, 4, affine=True, track_running_stats=True)
add_cases("BatchNorm1d", reals(5, 4), args=(4,))
add_cases("SyncBatchNorm", X, args=(4,))
for kwargs in ({}, {"elementwise_affine": False, "eps": 1e-2}, {"bias": False}):
    add_cases("LayerNorm", X, args=((3, 5),), **kwargs)
    add_cases("LayerNorm", X, args=(5,), **kwargs)
add_cases("RMSNorm", X, args=(5,))
add_cases("RMSNorm", X, args=([3, 5],), eps=1e-3, elementwise_affine=False)
for kwargs in ({}, {"affine": False}, {"eps": 1e-2}):
    add_cases("GroupNorm", X, args=(2, 4), **kwargs)
add_cases("LocalResponseNorm", X, args=(3,))
add_cases("CrossMapLRN2d", Given(X), args=(1,), alpha=0.5)  # for size 1, PyTorch lacks the gradient
for size in (2, 3, 4, 5, 7):
    add_cases("CrossMapLRN2d", X, args=(size,), alpha=0.5)

# --- embedding ----------------------------------------------------------------------------------------------------

add_cases("Embedding", integers(10, 3, 2), args=(10, 3))
add_cases("Embedding", integers(10, 3, 2), args=(10, 3), padding_idx=-1, max_norm=1.0, norm_type=1.0)
add_cases("Embedding", integers(10, 3, 2), args=(10, 3), scale_grad_by_freq=True)
for mode in ("sum", "mean", "max"):
    add_cases("EmbeddingBag", integers(10, 3, 2), args=(10, 3), mode=mode)
    add_cases("EmbeddingBag", integers(10, 6), Given(np.array([0, 2, 2])), args=(10, 3), mode=mode, padding_idx=2)
    add_cases("EmbeddingBag", integers(10, 6), Given(np.array([0, 2, 6])), args=(10, 3), mode=mode, include_last_offset=True)
add_cases(
    "EmbeddingBag",
    integers(10, 6),
    Given(np.array([0, 2])),
    args=(10, 3),
    mode="sum",
    max_norm=1.0,
    call={"per_sample_weights": reals(6)},
)

# --- recurrence ---------------------------------------------------------------------------------------------------

for name in ("RNN", "LSTM", "GRU"):
    for kwargs in (
        {},
        {"num_layers": 2, "bidirectional": True},
        {"batch_first": True, "bias": False, "num_layers": 2},
        {"num_layers": 3, "dropout": 0.5},
        {"bidirectional": True, "batch_first": True, "dropout": 0.3, "num_layers": 2},
    ):
        add_cases(name, reals(6, 3, 4), args=(4, 5), **kwargs)
        add_cases(name, reals(6, 4), args=(4, 5), **kwargs)
    states = [(reals(4, *batch, 5), reals(4, *batch, 5, low=-1, high=1)) for batch in ((3,), ())]
    for lead, state in zip(((6, 3), (6,)), states, strict=True):
        add_cases(name, reals(*lead, 4), state if name == "LSTM" else state[0], args=(4, 5, 2), bidirectional=True)
    for lead in ((3,), ()):
        state = reals(*lead, 5), reals(*lead, 5, low=-1, high=1)
        add_cases(f"{name}Cell", reals(*lead, 4), args=(4, 5))
        add_cases(f"{name}Cell", reals(*lead, 4), state if name == "LSTM" else state[0], args=(4, 5), bias=False)
add_cases("RNN", reals(6, 3, 4), args=(4, 5, 2), nonlinearity="relu")
add_cases("RNNCell", reals(3, 4), args=(4, 5), nonlinearity="relu")
for layers in (1, 2):
    add_cases("LSTM", reals(6, 3, 4), args=(4, 5, layers), proj_size=3, bidirectional=True)
    add_cases("LSTM", reals(6, 3, 4), (reals(layers, 3, 3), reals(layers, 3, 5)), args=(4, 5, layers), proj_size=3, bias=False)

# --- attention and transformers -----------------------------------------------------------------------------------

for kwargs in (
    {},
    {"bias": False, "dropout": 0.2},
    {"add_bias_kv": True, "add_zero_attn": True},
    {"kdim": 6, "vdim": 7},
    {"batch_first": True},
):
    first = kwargs.get("batch_first", False)
    q, k, v = (
        reals(*((3, length) if first else (length, 3)), size)
        for length, size in ((5, 8), (6, kwargs.get("kdim", 8)), (6, kwargs.get("vdim", 8)))
    )
    for call in (
        {},
        {"attn_mask": random_mask(5, 6), "average_attn_weights": False},
        {"key_padding_mask": random_mask(3, 6)},
        {"need_weights": False},
        {"attn_mask": random_mask(6, 5, 6)},
        {"attn_mask": Given(reals(5, 6)), "key_padding_mask": Given(reals(3, 6))},
    ):
        add_cases("MultiheadAttention", q, k, v, args=(8, 2), call=call, **kwargs)
    add_cases("MultiheadAttention", *(each[0] if first else each[:, 0] for each in (q, k, v)), args=(8, 2), **kwargs)
    add_cases(
        "MultiheadAttention",
        *(each[0] if first else each[:, 0] for each in (q, k, v)),
        args=(8, 2),
        call={"attn_mask": random_mask(2, 5, 6)},
        **kwargs,
    )

for kwargs in (
    {},
    {"batch_first": True, "norm_first": True, "activation": "gelu"},
    {"bias": False, "layer_norm_eps": 1e-3},
    {"dropout": 0.0, "activation": Built(lambda torch: torch.nn.functional.silu)},
):
    given = {"d_model": 8, "nhead": 2, "dim_feedforward": 16, **kwargs}
    x, memory = (reals(3, 5, 8), reals(3, 4, 8)) if "batch_first" in kwargs else (reals(5, 3, 8), reals(4, 3, 8))
    add_cases("TransformerEncoderLayer", x, **given)
    add_cases(
        "TransformerEncoderLayer", x, call={"src_mask": random_mask(5, 5), "src_key_padding_mask": random_mask(3, 5)}, **given
    )
    add_cases("TransformerDecoderLayer", x, memory, **given)
    add_cases(
        "TransformerDecoderLayer",
        x,
        memory,
        call={"tgt_mask": random_mask(5, 5), "memory_mask": random_mask(5, 4), "memory_key_padding_mask": random_mask(3, 4)},
        **given,
    )
    add_cases("TransformerEncoderLayer", reals(5, 8), **given)
    add_cases("TransformerDecoderLayer", reals(5, 8), reals(4, 8), **given)
    add_cases("Transformer", memory, x, num_encoder_layers=2, num_decoder_layers=1, **given)
    add_cases(
        "Transformer",
        memory,
        x,
        num_encoder_layers=1,
        num_decoder_layers=1,
        call={
            "tgt_mask": random_mask(5, 5),
            "src_key_padding_mask": random_mask(3, 4),
            "tgt_key_padding_mask": random_mask(3, 5),
        },
        **given,
    )
encoder = Built(lambda torch: torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True))
decoder = Built(lambda torch: torch.nn.TransformerDecoderLayer(8, 2, 16, batch_first=True))
norm = Built(lambda torch: torch.nn.LayerNorm(8))
for last in (None, norm):
    add_cases("TransformerEncoder", reals(3, 5, 8), args=(encoder, 2, last))
    add_cases("TransformerEncoder", reals(3, 5, 8), args=(encoder, 2, last), call={"src_key_padding_mask": random_mask(3, 5)})
    add_cases("TransformerDecoder", reals(3, 5, 8), reals(3, 4, 8), args=(decoder, 2, last), call={"tgt_mask": random_mask(5, 5)})
    add_cases(
        "TransformerDecoder",
        reals(3, 5, 8),
        reals(3, 4, 8),
        args=(decoder, 1, last),
        call={"tgt_is_causal": True, "tgt_mask": Built(lambda torch: torch.nn.Transformer.generate_square_subsequent_mask(5))},
    )

# --- losses and distances -----------------------------------------------------------------------------------------

A, B, POSITIVE = reals(3, 4), reals(3, 4, low=-1, high=1), reals(3, 4, low=0.1, high=0.9)
SIGNS, ONES = Given(np.array([[1.0, -1.0, 1.0, 1.0]] * 3)), Given(np.array([1.0, -1.0, 1.0]))
for reduction in ("mean", "sum", "none"):
    chosen: dict[str, Any] = {"reduction": reduction}
    add_cases(
        "MSELoss L1Loss SmoothL1Loss HuberLoss BCEWithLogitsLoss PoissonNLLLoss KLDivLoss MultiLabelSoftMarginLoss",
        A,
        Given(POSITIVE),
        **chosen,
    )
    add_cases("MSELoss L1Loss SmoothL1Loss HuberLoss", A[0, 0], Given(POSITIVE[0, 0]), **chosen)
    add_cases("BCELoss", POSITIVE, Given(reals(3, 4, low=0, high=1)), **chosen)
    add_cases("BCELoss", POSITIVE, Given(reals(3, 4, low=0, high=1)), weight=Built(lambda torch: torch.arange(4.0)), **chosen)
    add_cases("BCEWithLogitsLoss", A, Given(POSITIVE), pos_weight=Built(lambda torch: torch.arange(4.0)), **chosen)
    add_cases("BCEWithLogitsLoss", A, Given(POSITIVE), weight=Built(lambda torch: torch.arange(4.0)), **chosen)
    add_cases("SmoothL1Loss", A, B, beta=0.5, **chosen)
    add_cases("HuberLoss", A, B, delta=0.5, **chosen)
    add_cases("KLDivLoss", A, Given(np.log(POSITIVE)), log_target=True, **chosen)
    add_cases("PoissonNLLLoss", POSITIVE, Given(POSITIVE * 5), full=True, log_input=False, **chosen)
    for variance in (POSITIVE, POSITIVE[:, :1], POSITIVE[:, 0]):
        add_cases("GaussianNLLLoss", A, B, variance, full=variance is POSITIVE, **chosen)
    for classes, space in ((A, ()), (reals(3, 4, 2, 5), (2, 5)), (reals(3, 4, 2), (2,))):
        add_cases("CrossEntropyLoss NLLLoss", classes, integers(4, 3, *space), **chosen)
        add_cases(
            "CrossEntropyLoss NLLLoss",
            classes,
            integers(4, 3, *space),
            weight=Built(lambda torch: torch.arange(4.0) + 1),
            ignore_index=2,
            **chosen,
        )
        add_cases(
            "CrossEntropyLoss",
            classes,
            integers(4, 3, *space),
            weight=Built(lambda torch: torch.arange(4.0)),
            label_smoothing=0.2,
            **chosen,
        )
        add_cases("CrossEntropyLoss", classes, Given(reals(3, 4, *space, low=0, high=1)), label_smoothing=0.1, **chosen)
    add_cases("CrossEntropyLoss NLLLoss MultiMarginLoss", A[0], np.array(2), **chosen)
    add_cases("NLLLoss2d", reals(3, 4, 2, 5), integers(4, 3, 2, 5), **chosen)
    add_cases("HingeEmbeddingLoss SoftMarginLoss", A, SIGNS, **chosen)
    add_cases("HingeEmbeddingLoss", A, SIGNS, margin=0.3, **chosen)
    add_cases("MultiMarginLoss", A, integers(4, 3), p=2, margin=0.7, weight=Built(lambda torch: torch.arange(4.0)), **chosen)
    add_cases("MultiLabelMarginLoss", A, np.array([[1, 2, -1, 0], [0, -1, 1, 2], [3, 2, 1, 0]]), **chosen)
    add_cases("MultiLabelMarginLoss", A[0], np.array([1, 2, -1, 0]), **chosen)
    add_cases("MultiLabelSoftMarginLoss", A, Given(POSITIVE), weight=Built(lambda torch: torch.arange(4.0)), **chosen)
    add_cases("CosineEmbeddingLoss", A, B, ONES, margin=0.1, **chosen)
    add_cases("CosineEmbeddingLoss", A[0], B[0], Given(np.array(-1.0)), **chosen)
    add_cases("MarginRankingLoss", A[:, 0], B[:, 0], ONES, margin=0.1, **chosen)
    add_cases("TripletMarginLoss TripletMarginWithDistanceLoss", A, B, A + B + 0.3, swap=True, **chosen)
    add_cases("TripletMarginLoss", A, B, A - B + 0.3, p=1.0, margin=2.0, **chosen)
    add_cases(
        "TripletMarginWithDistanceLoss",
        A,
        B,
        A + B + 0.3,
        distance_function=Built(lambda torch: lambda x, y: (x - y).abs().sum(-1)),
        **chosen,
    )
    for targets, lengths in ((integers(3, 2, 2) + 1, (2, 1)), (integers(3, 3) + 1, (2, 1)), (np.array([[1, 1], [2, 3]]), (2, 0))):
        add_cases("CTCLoss", np.log(reals(6, 2, 4, low=0.1, high=0.9)), targets, np.array([6, 5]), np.array(lengths), **chosen)
    add_cases(
        "CTCLoss",
        np.log(reals(6, 4, low=0.1, high=0.9)),
        np.array([1, 2]),
        np.array(6),
        np.array(2),
        zero_infinity=True,
        **chosen,
    )
    add_cases("LinearCrossEntropyLoss", reals(3, 5), integers(4, 3), args=(5, 4), bias=True, **chosen)
for old in ({"size_average": False}, {"reduce": False}, {"size_average": True, "reduce": True}):
    add_cases("MSELoss L1Loss SmoothL1Loss BCEWithLogitsLoss KLDivLoss PoissonNLLLoss", A, Given(POSITIVE), **old)
    add_cases("CrossEntropyLoss NLLLoss", A, integers(4, 3), **old)
add_cases("KLDivLoss", A, Given(POSITIVE), reduction="batchmean")
add_cases("PairwiseDistance CosineSimilarity", A, B)
add_cases("PairwiseDistance", A[0], B[0])
add_cases("CosineSimilarity", A[0], B[0], dim=0)
add_cases("PairwiseDistance", A, B, p=1.5, keepdim=True)
add_cases("CosineSimilarity", A, B[:1], dim=0, eps=0.1)
for target in (np.array([1, 99, 40, 12, 9, 10, 50]), np.array([3, 4, 1, 0, 2, 9, 9])):
    add_cases("AdaptiveLogSoftmaxWithLoss", reals(7, 16), target, args=(16, 100, [10, 50]))
    add_cases("AdaptiveLogSoftmaxWithLoss", reals(7, 16), target, args=(16, 100, [10, 50]), div_value=2.0, head_bias=True)
add_cases("AdaptiveLogSoftmaxWithLoss", reals(16), np.array(77), args=(16, 100, [10, 50]))

# --- containers that are called -----------------------------------------------------------------------------------

add_cases(
    "Sequential",
    A,
    args=tuple(
        Built(make)
        for make in (
            lambda torch: torch.nn.Linear(4, 3),
            lambda torch: torch.nn.Dropout(0.3),
            lambda torch: torch.nn.BatchNorm1d(3),
        )
    ),
)
add_cases("DataParallel", A, args=(Built(lambda torch: torch.nn.Linear(4, 3)),))

NOT_CALLED = {"Container", "Module", "ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "RNNBase", "RNNCellBase"}


# PyTorch lacks the second derivatives of these layers; EmbeddingBag's is wrong with `scale_grad_by_freq`
TWICE_ONLY_HERE = {"CTCLoss", "CrossMapLRN2d", "EmbeddingBag", "Hardsigmoid", "MultiLabelMarginLoss", "MultiMarginLoss"}


# --- the test -----------------------------------------------------------------------------------------------------


def made_for(torch, value, dtype):
    """Convert an argument to the types of one library."""
    if isinstance(value, Built):
        value = value.make(torch)
        return value.to(dtype) if hasattr(value, "to") else value
    if isinstance(value, Given):
        return made_for(torch, value.values, dtype).detach()
    if isinstance(value, tuple):
        return tuple(made_for(torch, each, dtype) for each in value)
    if not isinstance(value, (np.ndarray, np.generic)):
        return value
    tensor = torch.tensor(np.array(value))
    return tensor.to(dtype).requires_grad_() if value.dtype.kind == "f" else tensor


def build(torch, case, dtype):
    """Create the layer, with `device=` and `dtype=` if it accepts them."""
    torch.manual_seed(0)
    cls = getattr(torch.nn, case.name)
    args = [made_for(torch, each, dtype) for each in case.args]
    kwargs = {key: made_for(torch, each, dtype) for key, each in case.kwargs.items()}
    takes_dtype = "dtype" in inspect.signature(cls).parameters or issubclass(cls, torch.nn.RNNBase)
    return cls(*args, **kwargs, **({"device": "cpu", "dtype": dtype} if takes_dtype else {}))


def tensors_in(value):
    if isinstance(value, (tuple, list)):
        return [each for item in value for each in tensors_in(item)]
    return [value] if hasattr(value, "requires_grad") else []


def plain(value):
    return None if value is None else value.detach().numpy(force=True)


def run(torch, layer, case, dtype, twice):
    """Return everything to compare: results, first and second gradients, the state dict, and the next random number."""
    torch.manual_seed(1)
    inputs = made_for(torch, case.inputs, dtype)
    call = {key: made_for(torch, each, dtype) for key, each in case.call.items()}
    leaves = [each for each in tensors_in([inputs, *call.values()]) if each.requires_grad]
    if case.kwargs.get("inplace"):
        inputs = tuple(each * 1 for each in inputs)
    results = tensors_in(layer(*inputs, **call))
    found = {"results": [plain(each) for each in results]}
    results = [each for each in results if each.requires_grad]
    leaves += layer.parameters()
    if results:
        energy = sum((each * each * made_for(torch, reals(*each.shape), each.dtype).detach()).mean() for each in results)
        first = torch.autograd.grad(energy, leaves, allow_unused=True, create_graph=twice)
        found["gradients"] = [plain(each) for each in first]
        if twice:
            energy = sum((each * each).sum() for each in first if each is not None)
            found["second gradients"] = [plain(each) for each in torch.autograd.grad(energy, leaves, allow_unused=True)]
    found["state"] = [plain(each) for each in layer.state_dict().values()]
    found["next random number"] = [plain(torch.rand(1))]
    return found


def assert_same(got, wanted, tolerance, what):
    assert len(got) == len(wanted), what
    for number, (a, b) in enumerate(zip(got, wanted, strict=True)):
        if a is None or b is None:  # a gradient of None is equivalent to zeros
            assert not np.any(a if b is None else b), f"{what} {number}: {a} here, {b} there"
            continue
        assert (a.shape, a.dtype) == (b.shape, b.dtype), f"{what} {number}"
        np.testing.assert_allclose(a, b, tolerance, tolerance, err_msg=f"{what} {number}")


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_layer(case, dtype):
    """Compare a layer. PyTorch is set to its `MATH` attention backend, because its fused attention has no second derivative."""
    with theirs.nn.attention.sdpa_kernel(theirs.nn.attention.SDPBackend.MATH):
        assert_module_agrees(case, dtype)


def assert_module_agrees(case, dtype):
    tolerance = {"float64": 1e-9, "float32": 1e-5}[dtype]
    mine, other = (build(torch, case, getattr(torch, dtype)) for torch in (ours, theirs))
    assert repr(mine) == repr(other)
    if case.name.startswith("Lazy"):
        for torch, layer in ((ours, mine), (theirs, other)):
            torch.manual_seed(0)
            layer(*made_for(torch, case.inputs, getattr(torch, dtype)))
        assert repr(mine) == repr(other) and type(mine).__name__ == type(other).__name__ == case.name.removeprefix("Lazy")
    assert_entries_agree(mine.state_dict(), other.state_dict(), tolerance)
    mine.load_state_dict({key: ours.tensor(plain(each)) for key, each in other.state_dict().items()})
    for training in (True, False):
        twice = dtype == "float64" and case.name not in TWICE_ONLY_HERE and not case.kwargs.get("scale_grad_by_freq")
        found = [
            run(torch, layer.train(training), case, getattr(torch, dtype), twice)
            for torch, layer in ((ours, mine), (theirs, other))
        ]
        for what in found[0]:
            assert_same(found[0][what], found[1][what], tolerance * (100 if what == "second gradients" else 1), what)
    other.load_state_dict({key: theirs.tensor(plain(each)) for key, each in mine.state_dict().items()})


def assert_entries_agree(mine, other, tolerance):
    """Assert that two state dicts have the same entries in the same order with the same values."""
    assert list(mine) == list(other)
    assert mine._metadata == other._metadata
    assert_same([plain(each) for each in mine.values()], [plain(each) for each in other.values()], tolerance, "initial values")


def modules_of(torch):
    named = {
        name: getattr(torch.nn, name) for name in getattr(torch.nn, "__all__", None) or dir(torch.nn) if not name.startswith("_")
    }
    return {name for name, each in named.items() if inspect.isclass(each) and issubclass(each, torch.nn.Module)}


def test_no_layer_is_left_out():
    assert modules_of(ours) == modules_of(theirs) == {case.name for case in CASES} | NOT_CALLED


@pytest.mark.parametrize("name", sorted(modules_of(theirs) - {"GRU", "LSTM", "RNN", "RNNBase"}))
@pytest.mark.parametrize("method", ["__init__", "forward"])
def test_signatures(name, method):
    found = [
        [
            (each.name, str(getattr(each.default, "__name__", each.default)), each.kind)
            for each in inspect.signature(getattr(getattr(torch.nn, name), method)).parameters.values()
        ]
        for torch in (ours, theirs)
    ]
    assert found[0] == found[1]


def test_channels_last():
    """Results of channels-last inputs are channels-last. Dropout draws its mask in the order of the elements in memory."""
    found = []
    for torch in (ours, theirs):
        torch.manual_seed(0)
        nn = torch.nn
        layers = [
            nn.Conv2d(3, 8, 3),
            nn.BatchNorm2d(8),
            nn.GELU(),
            nn.Dropout(0.3),
            nn.MaxPool2d(2),
            nn.Upsample(scale_factor=2),
            nn.ConvTranspose2d(8, 4, 3),
            nn.SiLU(),
            nn.Dropout2d(0.3),
            nn.Conv2d(4, 4, 1),
            nn.RReLU(),
        ]
        x = torch.tensor(reals(2, 3, 10, 9).astype("float32")).to(memory_format=torch.channels_last)
        for layer in layers:
            x = layer.to(memory_format=torch.channels_last)(x)
            found.append((type(layer).__name__, x.stride(), plain(x)))
    for (name, stride, values), (_, wanted_stride, wanted) in zip(
        found[: len(found) // 2], found[len(found) // 2 :], strict=True
    ):
        assert stride == wanted_stride, name
        np.testing.assert_allclose(values, wanted, 1e-4, 1e-4, err_msg=name)

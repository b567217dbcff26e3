"""Every layer against PyTorch's: printed form, initial values for a seed, state dict, outputs, gradients, errors."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import flambeau  # noqa: E402

pytest.importorskip("torch.nn.utils.prune")

pytestmark = pytest.mark.filterwarnings("ignore")
TOLERANCE = {"atol": 1e-5, "rtol": 1e-4}


def floats(*shape, low=None, high=None):
    """Random float32 values: normal, or uniform in [low, high]."""
    rng = np.random.default_rng(abs(hash(shape)) % 2**32)
    values = rng.standard_normal(shape) if low is None else rng.uniform(low, high, shape)
    return values.astype(np.float32)


def ints(*values):
    return np.array(values, dtype=np.int64)


class Fixed:
    """An input that gets no gradient."""

    def __init__(self, values):
        self.values = values


def to_library(library, value):
    if isinstance(value, tuple):
        return tuple(to_library(library, item) for item in value)
    if isinstance(value, Fixed):
        return library.tensor(value.values)
    if isinstance(value, np.ndarray):
        tensor = library.tensor(value)
        return tensor.requires_grad_() if value.dtype.kind == "f" else tensor
    return value


def tensors_in(value):
    if value is None or isinstance(value, (bool, int, float, str)):
        return []
    if isinstance(value, (tuple, list)):
        return [tensor for item in value for tensor in tensors_in(item)]
    return [value]


def build(library, name, args=(), kwargs=None):
    library.manual_seed(0)
    return getattr(library.nn, name)(*args, **(kwargs or {}))


def run(library, layer, inputs, call=None):
    """Outputs and all gradients, as NumPy arrays."""
    library.manual_seed(1)
    inputs = tuple(to_library(library, value) for value in inputs)
    outputs = tensors_in(layer(*inputs, **(call or {})))
    differentiable = [output for output in outputs if output.requires_grad]
    if differentiable:
        sum((output * output.detach().cos()).sum() for output in differentiable).backward()
    gradients = [tensor.grad for tensor in tensors_in(inputs)] + [param.grad for param in layer.parameters()]
    return [as_array(output) for output in outputs], [None if grad is None else as_array(grad) for grad in gradients]


def as_array(tensor):
    return tensor.detach().numpy()


def assert_same(ours, theirs):
    assert len(ours) == len(theirs)
    for our, their in zip(ours, theirs, strict=True):
        assert (our is None) == (their is None)
        if our is not None:
            assert our.shape == their.shape and our.dtype == their.dtype
            np.testing.assert_allclose(our, their, **TOLERANCE)


def check(name, args=(), kwargs=None, inputs=(), call=None, modes=(True, False), gradients=True):
    ours, theirs = build(flambeau, name, args, kwargs), build(torch, name, args, kwargs)
    assert repr(ours) == repr(theirs)
    our_state, their_state = ours.state_dict(), theirs.state_dict()
    assert list(our_state) == list(their_state)
    for key in our_state:
        np.testing.assert_allclose(as_array(our_state[key]), as_array(their_state[key]), atol=1e-6, err_msg=key)
    ours.load_state_dict({key: flambeau.tensor(as_array(value)) for key, value in their_state.items()})
    for training in modes:
        ours.train(training), theirs.train(training)
        our_outputs, our_gradients = run(flambeau, ours, inputs, to_call(flambeau, call))
        their_outputs, their_gradients = run(torch, theirs, inputs, to_call(torch, call))
        assert_same(our_outputs, their_outputs)
        if gradients:
            assert_same(our_gradients, their_gradients)
    for key, value in ours.state_dict().items():  # running statistics have moved alike
        np.testing.assert_allclose(as_array(value), as_array(theirs.state_dict()[key]), err_msg=key, **TOLERANCE)


def to_call(library, call):
    return {key: to_library(library, value) for key, value in (call or {}).items()}


X1, X2, X3 = floats(2, 4, 9), floats(2, 4, 9, 8), floats(2, 4, 5, 6, 7)
SPATIAL = {1: X1, 2: X2, 3: X3}


@pytest.mark.parametrize("args", [(3, 4), (3, 4, False), (1, 1)])
def test_linear(args):
    check("Linear", args, inputs=(floats(2, 5, args[0]),))
    check("Linear", args, inputs=(floats(0, args[0]),))


def test_bilinear():
    check("Bilinear", (2, 3, 4), inputs=(floats(5, 2), floats(5, 3)))


@pytest.mark.parametrize("dims", [1, 2, 3])
@pytest.mark.parametrize(
    "kwargs",
    [
        {},
        {"stride": 2, "padding": 1, "dilation": 2, "groups": 2},
        {"padding": "same", "bias": False},
        {"padding": "valid"},
        {"padding": 1, "padding_mode": "circular"},
        {"padding": "same", "dilation": 2, "padding_mode": "replicate"},
        {"padding": 1, "padding_mode": "reflect"},
    ],
)
def test_convolution(dims, kwargs):
    check(f"Conv{dims}d", (4, 6, 3), kwargs, (SPATIAL[dims],), modes=(True,))


@pytest.mark.parametrize("dims", [1, 2, 3])
@pytest.mark.parametrize(
    "kwargs", [{}, {"stride": 2, "padding": 1, "output_padding": 1, "groups": 2, "bias": False}, {"dilation": 2}]
)
def test_transposed_convolution(dims, kwargs):
    check(f"ConvTranspose{dims}d", (4, 6, 3), kwargs, (SPATIAL[dims],), modes=(True,))


def test_transposed_convolution_with_output_size():
    check("ConvTranspose2d", (4, 6, 3), {"stride": 2}, (floats(1, 4, 5, 6),), call={"output_size": [12, 13]})


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_pooling(dims):
    x = SPATIAL[dims]
    for kwargs in ({}, {"stride": 1, "ceil_mode": True}, {"padding": 1}):
        check(f"MaxPool{dims}d", (2,), kwargs, (x,), modes=(True,))
        check(f"AvgPool{dims}d", (2,), kwargs, (x,), modes=(True,))
    check(f"MaxPool{dims}d", (2,), {"return_indices": True, "dilation": 2}, (x,), modes=(True,))
    check(f"AvgPool{dims}d", (3,), {"padding": 1, "count_include_pad": False}, (x,), modes=(True,))
    check(f"LPPool{dims}d", (2, 2), {}, (np.abs(x),), modes=(True,))
    check(f"AdaptiveAvgPool{dims}d", (2,), {}, (x,), modes=(True,))
    check(f"AdaptiveMaxPool{dims}d", (2,), {"return_indices": True}, (x,), modes=(True,))


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_unpooling(dims):
    pool = getattr(torch.nn.functional, f"max_pool{dims}d")
    x = torch.tensor(SPATIAL[dims][..., : SPATIAL[dims].shape[-1] // 2 * 2])
    values, indices = pool(x, 2, return_indices=True)
    check(f"MaxUnpool{dims}d", (2,), {}, (values.numpy(), indices.numpy()), {"output_size": list(x.shape[2:])}, (True,))


def test_fractional_pooling():
    check("FractionalMaxPool2d", (2,), {"output_ratio": 0.5}, (X2,), modes=(True,))
    check("FractionalMaxPool3d", (2,), {"output_size": 2, "return_indices": True}, (X3,), modes=(True,))


ACTIVATIONS = [
    ("ReLU", ()),
    ("ReLU6", ()),
    ("RReLU", ()),
    ("Hardtanh", (-2, 2)),
    ("Sigmoid", ()),
    ("Hardsigmoid", ()),
    ("Tanh", ()),
    ("SiLU", ()),
    ("Mish", ()),
    ("Hardswish", ()),
    ("ELU", (0.7,)),
    ("CELU", (0.7,)),
    ("SELU", ()),
    ("GLU", (1,)),
    ("GELU", ()),
    ("GELU", ("tanh",)),
    ("Hardshrink", ()),
    ("LeakyReLU", ()),
    ("LogSigmoid", ()),
    ("Softplus", (2.0, 1.0)),
    ("Softshrink", ()),
    ("PReLU", (4,)),
    ("Softsign", ()),
    ("Tanhshrink", ()),
    ("Softmin", (1,)),
    ("Softmax", (1,)),
    ("Softmax2d", ()),
    ("LogSoftmax", (1,)),
    ("Threshold", (0.1, 2.0)),
    ("Identity", ()),
    ("Dropout", ()),
    ("Dropout2d", ()),
    ("AlphaDropout", ()),
    ("FeatureAlphaDropout", ()),
    ("Flatten", ()),
    ("Unflatten", (1, (2, 2))),
]


@pytest.mark.parametrize(("name", "args"), ACTIVATIONS)
def test_activation(name, args):
    check(name, args, inputs=(X2,))


def test_dropout_of_channels():
    check("Dropout1d", (0.3,), inputs=(X1,))
    check("Dropout3d", (0.3,), inputs=(X3,))


@pytest.mark.parametrize(
    "kwargs",
    [
        {},
        {"affine": True},
        {"affine": True, "bias": False},
        {"affine": False, "track_running_stats": False},
        {"track_running_stats": True, "momentum": 0.3},
        {"track_running_stats": True, "momentum": None},
    ],
)
@pytest.mark.parametrize("dims", [1, 2, 3])
def test_batch_and_instance_norm(dims, kwargs):
    check(f"BatchNorm{dims}d", (4,), kwargs, (SPATIAL[dims],))
    check(f"InstanceNorm{dims}d", (4,), kwargs, (SPATIAL[dims],))


def test_other_norms():
    check("BatchNorm1d", (4,), inputs=(floats(5, 4),))
    check("InstanceNorm2d", (4,), inputs=(X2[0],))
    check("SyncBatchNorm", (4,), inputs=(X2,))
    for kwargs in ({}, {"elementwise_affine": False}, {"bias": False}):
        check("LayerNorm", ((9, 8),), kwargs, (X2,))
    check("LayerNorm", (8,), inputs=(X2,))
    check("RMSNorm", (8,), inputs=(X2,))
    check("RMSNorm", ((9, 8),), {"eps": 1e-3, "elementwise_affine": False}, (X2,))
    for kwargs in ({}, {"affine": False}, {"bias": False}):
        check("GroupNorm", (2, 4), kwargs, (X2,))
    check("LocalResponseNorm", (3,), inputs=(X2,))


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 7])
def test_cross_map_lrn(size):
    # PyTorch's own gradient of this layer is not the derivative of its output
    check("CrossMapLRN2d", (size,), {"alpha": 0.5}, (Fixed(floats(2, 6, 3, 2)),), gradients=False)


LAZY = ["Linear", "Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d"]
LAZY += ["BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d"]


@pytest.mark.parametrize("name", LAZY)
def test_lazy(name):
    args = {"Linear": (5,)}.get(name, (6, 3) if name.startswith("Conv") else ())
    x = SPATIAL[int(name[-2]) if name.endswith("d") else 1]
    ours, theirs = build(flambeau, f"Lazy{name}", args), build(torch, f"Lazy{name}", args)
    assert repr(ours) == repr(theirs)
    outputs = []
    for library, layer in ((flambeau, ours), (torch, theirs)):
        library.manual_seed(2)
        outputs.append(as_array(layer(library.tensor(x))))
    np.testing.assert_allclose(*outputs, **TOLERANCE)
    assert repr(ours) == repr(theirs) and type(ours).__name__ == name


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_padding(dims):
    x, sides = SPATIAL[dims], tuple(range(2 * dims))
    for name in ("Replication", "Zero", "Circular"):
        for padding in (1, sides):
            if name != "Circular" or max(sides) <= min(x.shape[2:]):
                check(f"{name}Pad{dims}d", (padding,), inputs=(x,), modes=(True,))
    check(f"ReflectionPad{dims}d", (2,), inputs=(x,), modes=(True,))
    check(f"ConstantPad{dims}d", (sides, 2.5), inputs=(x,), modes=(True,))


def test_rearranging():
    check("PixelShuffle", (2,), inputs=(X2,), modes=(True,))
    check("PixelUnshuffle", (2,), inputs=(floats(1, 2, 4, 4),), modes=(True,))
    check("ChannelShuffle", (2,), inputs=(X2,), modes=(True,))
    check("Unfold", (3,), {"padding": 1, "stride": 2}, (X2,), modes=(True,))
    check("Fold", ((4, 5), 2), inputs=(floats(1, 12, 12),), modes=(True,))


@pytest.mark.parametrize(
    "kwargs",
    [
        {"scale_factor": 2},
        {"size": (5, 6), "mode": "bilinear"},
        {"scale_factor": (2, 3.5), "mode": "bicubic", "align_corners": True},
        {"size": 3, "mode": "area"},
    ],
)
def test_upsample(kwargs):
    check("Upsample", (), kwargs, (X2,), modes=(True,))


def test_upsample_2d():
    check("UpsamplingNearest2d", (), {"scale_factor": 2}, (X2,), modes=(True,))
    check("UpsamplingBilinear2d", (), {"size": 3}, (X2,), modes=(True,))


def test_embedding():
    indices = ints([1, 2], [3, 3])
    check("Embedding", (10, 3), inputs=(indices,))
    check("Embedding", (10, 3, -1, 1.0), {"scale_grad_by_freq": True, "norm_type": 1}, (ints([1, 2], [3, 9]),))
    for mode in ("sum", "mean", "max"):
        check("EmbeddingBag", (10, 3), {"mode": mode}, (indices,))
        check("EmbeddingBag", (10, 3), {"mode": mode, "padding_idx": 2}, (ints(1, 2, 3, 9), ints(0, 2)))
    weights = {"per_sample_weights": floats(4)}
    check("EmbeddingBag", (10, 3), {"mode": "sum", "max_norm": 1.0}, (ints(1, 2, 3, 9), ints(0, 2)), weights)
    check("EmbeddingBag", (10, 3), {"include_last_offset": True}, (ints(1, 2, 3, 9), ints(0, 2, 4)))


@pytest.mark.parametrize("name", ["RNN", "LSTM", "GRU"])
@pytest.mark.parametrize(
    "kwargs",
    [
        {},
        {"num_layers": 2, "bidirectional": True},
        {"batch_first": True, "bias": False, "num_layers": 2},
        {"num_layers": 3, "dropout": 0.5},
    ],
)
def test_recurrent(name, kwargs):
    check(name, (4, 5), kwargs, (floats(6, 3, 4),))
    check(name, (4, 5), kwargs, (floats(6, 4),), modes=(True,))


def test_recurrent_variants():
    check("RNN", (4, 5, 2, "relu"), inputs=(floats(6, 3, 4),))
    check("LSTM", (4, 5), {"proj_size": 3, "num_layers": 2, "bidirectional": True, "bias": False}, (floats(6, 3, 4),))
    check("LSTM", (4, 5, 2), inputs=(floats(6, 3, 4), (floats(2, 3, 5), floats(2, 3, 5))))
    check("GRU", (4, 5, 2), inputs=(floats(6, 3, 4), floats(2, 3, 5)))
    check("GRU", (4, 5, 2), inputs=(floats(6, 4), floats(2, 5)))


@pytest.mark.parametrize("name", ["RNN", "LSTM", "GRU"])
@pytest.mark.parametrize(("lengths", "enforce_sorted"), [([5, 3, 3, 1], True), ([3, 1, 5, 3], False)])
def test_packed_sequences(name, lengths, enforce_sorted):
    results = []
    for library in (flambeau, torch):
        layer = build(library, name, (4, 5), {"num_layers": 2, "bidirectional": True, "dropout": 0.2})
        utils = library.nn.utils.rnn
        packed = utils.pack_padded_sequence(library.tensor(floats(5, 4, 4)), lengths, enforce_sorted=enforce_sorted)
        library.manual_seed(3)
        output, state = layer(packed)
        padded, found = utils.pad_packed_sequence(output, batch_first=True, padding_value=-1.0, total_length=7)
        results.append([as_array(t) for t in tensors_in([packed, output, state, padded, found])])
    assert_same(*results)


def test_cells():
    for name in ("RNNCell", "LSTMCell", "GRUCell"):
        check(name, (4, 5), inputs=(floats(3, 4),), modes=(True,))
        check(name, (4, 5), {"bias": False}, (floats(4),), modes=(True,))
    check("RNNCell", (4, 5), {"nonlinearity": "relu"}, (floats(3, 4),), modes=(True,))
    check("LSTMCell", (4, 5), inputs=(floats(4), (floats(5), floats(5))), modes=(True,))


@pytest.mark.parametrize(
    "kwargs",
    [{}, {"bias": False}, {"add_bias_kv": True, "add_zero_attn": True}, {"kdim": 6, "vdim": 7}, {"batch_first": True}],
)
def test_attention(kwargs):
    batch, length = (5, 3) if kwargs.get("batch_first") else (3, 5)
    query, key, value = floats(5, 3, 8), floats(5, 3, kwargs.get("kdim", 8)), floats(5, 3, kwargs.get("vdim", 8))
    check("MultiheadAttention", (8, 2), kwargs, (query, key, value))
    hidden = Fixed(np.triu(np.ones((length, length), bool), 1))
    check("MultiheadAttention", (8, 2), kwargs, (query, key, value), {"attn_mask": hidden, "average_attn_weights": False})
    padding = np.zeros((batch, length), bool)
    padding[1:, -1] = True
    check("MultiheadAttention", (8, 2), kwargs, (query, key, value), {"key_padding_mask": Fixed(padding)})
    check("MultiheadAttention", (8, 2), kwargs, (query[0], key[0], value[0]))


@pytest.mark.parametrize(
    "kwargs", [{}, {"batch_first": True, "norm_first": True, "activation": "gelu"}, {"bias": False}, {"dropout": 0.0}]
)
def test_transformer(kwargs):
    settings = {"d_model": 8, "nhead": 2, "dim_feedforward": 16, **kwargs}
    x, memory = floats(5, 3, 8), floats(5, 3, 8) * 2
    check("TransformerEncoderLayer", (), settings, (x,))
    check("TransformerDecoderLayer", (), settings, (x, memory))
    check("Transformer", (), {"num_encoder_layers": 2, "num_decoder_layers": 2, **settings}, (x, memory))


@pytest.mark.parametrize("batch_first", [True, False])
@pytest.mark.parametrize("training", [True, False])
def test_encoder_with_padding(batch_first, training):
    padding = np.array([[0, 0, 0, 0, 1], [0, 0, 0, 1, 1], [0, 0, 0, 0, 0]], bool)
    results = []
    for library in (flambeau, torch):
        layer = build(library, "TransformerEncoderLayer", (8, 2, 16), {"batch_first": batch_first})
        encoder = library.nn.TransformerEncoder(layer, 2, library.nn.LayerNorm(8)).train(training)
        x = library.tensor(floats(3, 5, 8) if batch_first else floats(5, 3, 8))
        library.manual_seed(4)
        outputs = [encoder(x, src_key_padding_mask=library.tensor(padding))]
        outputs.append(encoder(x, mask=library.nn.Transformer.generate_square_subsequent_mask(5)))
        with library.no_grad():
            outputs.append(encoder(x, src_key_padding_mask=library.tensor(padding)))
            outputs.append(encoder(x, src_key_padding_mask=library.tensor(padding[:, ::-1].copy())))
        results.append([as_array(output) for output in outputs])
    assert_same(*results)


PROBABILITIES = floats(3, 4, low=0.1, high=0.9)
SIGNS = Fixed(np.array([1.0, -1.0, 1.0], np.float32))
CLASSES = ints(1, 2, 0)
LOSSES = [
    ("MSELoss", {}, (floats(3, 4), floats(3, 4) * 2)),
    ("L1Loss", {"reduction": "sum"}, (floats(3, 4), floats(3, 4) * 2)),
    ("SmoothL1Loss", {"beta": 0.5}, (floats(3, 4), floats(3, 4) * 2)),
    ("HuberLoss", {"delta": 0.5}, (floats(3, 4), floats(3, 4) * 2)),
    ("CrossEntropyLoss", {"label_smoothing": 0.1}, (floats(3, 4), CLASSES)),
    ("CrossEntropyLoss", {"ignore_index": 2, "reduction": "none"}, (floats(3, 4), CLASSES)),
    ("CrossEntropyLoss", {}, (floats(3, 4), Fixed(PROBABILITIES))),
    ("NLLLoss", {}, (floats(3, 4), CLASSES)),
    ("NLLLoss2d", {}, (floats(1, 4, 3), ints([1, 2, 0]))),
    ("BCELoss", {}, (PROBABILITIES, Fixed(PROBABILITIES))),
    ("BCEWithLogitsLoss", {"reduction": "none"}, (floats(3, 4), Fixed(PROBABILITIES))),
    ("KLDivLoss", {"reduction": "batchmean"}, (floats(3, 4), Fixed(PROBABILITIES))),
    ("PoissonNLLLoss", {"full": True}, (floats(3, 4), Fixed(PROBABILITIES * 5))),
    ("GaussianNLLLoss", {"full": True}, (floats(3, 4), floats(3, 4) * 2, PROBABILITIES)),
    ("HingeEmbeddingLoss", {}, (floats(3), SIGNS)),
    ("SoftMarginLoss", {}, (floats(3), SIGNS)),
    ("MultiMarginLoss", {"p": 2, "margin": 0.7}, (floats(3, 4), CLASSES)),
    ("MultiLabelMarginLoss", {}, (floats(3, 4), ints([1, 2, -1, 0], [0, -1, 1, 2], [3, 2, 1, 0]))),
    ("MultiLabelSoftMarginLoss", {}, (floats(3, 4), Fixed(PROBABILITIES))),
    ("CosineEmbeddingLoss", {"margin": 0.1}, (floats(3, 4), floats(3, 4) * 2 + 1, SIGNS)),
    ("MarginRankingLoss", {"margin": 0.1}, (floats(3), floats(3) * 2, SIGNS)),
    ("TripletMarginLoss", {"swap": True}, (floats(3, 4), floats(3, 4) * 2, floats(3, 4) + 1)),
    ("TripletMarginWithDistanceLoss", {}, (floats(3, 4), floats(3, 4) * 2, floats(3, 4) + 1)),
    ("CTCLoss", {}, (np.log(floats(6, 2, 4, low=0.1, high=0.9)), ints([1, 2], [3, 1]), ints(6, 5), ints(2, 1))),
    ("PairwiseDistance", {}, (floats(3, 4), floats(3, 4) * 2)),
    ("CosineSimilarity", {}, (floats(3, 4), floats(3, 4) * 2 + 1)),
    ("MSELoss", {"size_average": False}, (floats(3, 4), floats(3, 4) * 2)),
    ("MSELoss", {"reduce": False}, (floats(3, 4), floats(3, 4) * 2)),
]


@pytest.mark.parametrize(("name", "kwargs", "inputs"), LOSSES)
def test_loss(name, kwargs, inputs):
    check(name, (), kwargs, inputs, modes=(True,))


def test_linear_cross_entropy():
    check("LinearCrossEntropyLoss", (5, 7), {"bias": True}, (floats(3, 5), CLASSES), modes=(True,))
    assert repr(flambeau.nn.LinearCrossEntropyOptions()) == repr(torch.nn.LinearCrossEntropyOptions())


def test_adaptive_softmax():
    args = (16, 100, [10, 50])
    check("AdaptiveLogSoftmaxWithLoss", args, {}, (floats(7, 16), ints(1, 99, 40, 12, 9, 10, 50)), modes=(True,))
    check("AdaptiveLogSoftmaxWithLoss", args, {"head_bias": True}, (floats(16), np.array(77)), modes=(True,))
    ours, theirs = build(flambeau, "AdaptiveLogSoftmaxWithLoss", args), build(torch, "AdaptiveLogSoftmaxWithLoss", args)
    x = floats(9, 16)
    for method in ("log_prob", "predict"):
        result = getattr(ours, method)(flambeau.tensor(x)), getattr(theirs, method)(torch.tensor(x))
        np.testing.assert_allclose(*(as_array(value) for value in result), **TOLERANCE)


def test_containers_print_alike():
    def network(nn):
        return nn.Sequential(
            nn.ModuleList([nn.Linear(2, 2), nn.Linear(2, 2), nn.ReLU(inplace=True)]),
            nn.ModuleDict({"a": nn.Conv2d(1, 2, 3), "b": nn.ModuleList()}),
            nn.ParameterList([nn.Parameter(nn.Linear(2, 3).weight.data), 3]),
            nn.ParameterDict({"z": nn.Linear(1, 1).bias, "a": None}),
        )

    ours, theirs = network(flambeau.nn), network(torch.nn)
    assert repr(ours) == repr(theirs)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    assert [name for name, _ in ours.named_modules()] == [name for name, _ in theirs.named_modules()]


ERRORS = [
    lambda lib: lib.nn.Conv2d(3, 4, 3, groups=2),
    lambda lib: lib.nn.Conv2d(4, 3, 3, groups=2),
    lambda lib: lib.nn.Conv2d(4, 4, 3, stride=2, padding="same"),
    lambda lib: lib.nn.Dropout(1.5),
    lambda lib: lib.nn.Linear(2, 3)(lib.ones(4, 5)),
    lambda lib: lib.nn.LSTM(2, 3)(lib.ones(4, 5, 6)),
    lambda lib: lib.nn.LSTM(2, 3)(lib.ones(4)),
    lambda lib: lib.nn.GRU(2, 3)(lib.ones(4, 5, 2), lib.ones(1, 5, 4)),
    lambda lib: lib.nn.LSTM(2, 3, proj_size=3),
    lambda lib: lib.nn.RNN(2, 3, nonlinearity="x"),
    lambda lib: lib.nn.GRU(2, 3, proj_size=1),
    lambda lib: lib.nn.RNN(2, 3, bias=1),
    lambda lib: lib.nn.BatchNorm2d(3)(lib.ones(2, 3)),
    lambda lib: lib.nn.BatchNorm1d(3)(lib.ones(1, 3)),
    lambda lib: lib.nn.InstanceNorm1d(3, affine=True)(lib.ones(2, 4, 5)),
    lambda lib: lib.nn.GroupNorm(2, 3),
    lambda lib: lib.nn.MultiheadAttention(5, 2),
    lambda lib: lib.nn.MultiheadAttention(0, 2),
    lambda lib: lib.nn.Embedding(3, 2, padding_idx=3),
    lambda lib: lib.nn.Hardtanh(2, 1),
    lambda lib: lib.nn.Softmax2d()(lib.ones(2)),
    lambda lib: lib.nn.Unflatten(1, 3),
    lambda lib: lib.nn.ConvTranspose2d(1, 1, 3, padding_mode="reflect"),
    lambda lib: lib.nn.ConvTranspose2d(1, 1, 3, stride=2)(lib.ones(1, 1, 4, 4), [20, 20]),
    lambda lib: lib.nn.FractionalMaxPool2d(2),
    lambda lib: lib.nn.AdaptiveLogSoftmaxWithLoss(4, 5, [3, 2]),
    lambda lib: lib.nn.AdaptiveLogSoftmaxWithLoss(4, 5, [2])(lib.ones(2, 4), lib.tensor([0, 7])),
    lambda lib: lib.nn.TransformerEncoderLayer(4, 2, activation="tanh"),
    lambda lib: lib.nn.Transformer(4, 2)(lib.ones(3, 2, 4), lib.ones(3, 1, 4)),
    lambda lib: lib.nn.Sequential(lib.nn.ReLU())[3],
    lambda lib: lib.nn.Sequential().__add__([lib.nn.ReLU()]),
    lambda lib: lib.nn.ModuleList(3),
    lambda lib: lib.nn.ModuleDict([(1, 2, 3)]),
    lambda lib: lib.nn.ParameterList(lib.ones(2)),
    lambda lib: lib.nn.Linear(2, 2).register_parameter("weight.x", None),
    lambda lib: lib.nn.Linear(2, 2).register_parameter("forward", None),
    lambda lib: lib.nn.Linear(2, 2).register_buffer("", None),
    lambda lib: lib.nn.Linear(2, 2).register_buffer("x", 3),
    lambda lib: lib.nn.Linear(2, 2).add_module("x", 3),
    lambda lib: lib.nn.Linear(2, 2).register_parameter("x", lib.ones(2)),
    lambda lib: lib.nn.Linear(2, 2).register_parameter(3, None),
    lambda lib: setattr(lib.nn.Linear(2, 2), "weight", lib.ones(2)),
    lambda lib: setattr(lib.nn.Sequential(lib.nn.ReLU()), "0", 3),
    lambda lib: setattr(lib.nn.BatchNorm1d(2), "running_mean", 3),
    lambda lib: lib.nn.Linear(2, 2).nothing,
    lambda lib: lib.nn.Module()(1),
    lambda lib: lib.nn.Module(1),
    lambda lib: lib.nn.Module(a=1),
    lambda lib: lib.nn.Linear(2, 2).train("yes"),
    lambda lib: lib.nn.Linear(2, 2).to(lib.int64),
    lambda lib: lib.nn.Linear(2, 2).get_submodule("x.y"),
    lambda lib: lib.nn.Linear(2, 2).get_parameter("training"),
    lambda lib: lib.nn.Linear(2, 2).get_buffer("weight"),
    lambda lib: lib.nn.Linear(2, 2).set_submodule("", lib.nn.ReLU()),
    lambda lib: lib.nn.Linear(2, 2).load_state_dict([1]),
    lambda lib: lib.nn.Linear(2, 2).load_state_dict({"weight": lib.ones(3, 3), "extra": lib.ones(1)}),
    lambda lib: lib.nn.Sequential(lib.nn.Linear(1, 1)).load_state_dict({"0.weight": 3, "0.bias": lib.ones(1), "1.x": 2}),
    lambda lib: lib.nn.utils.rnn.pack_padded_sequence(lib.ones(3, 2), [1, 2]),
    lambda lib: lib.nn.utils.rnn.pack_padded_sequence(lib.ones(3, 2), [2, 0]),
    lambda lib: lib.nn.utils.rnn.pack_padded_sequence(lib.ones(3, 2), [2]),
    lambda lib: lib.nn.utils.remove_weight_norm(lib.nn.Linear(1, 1)),
    lambda lib: lib.nn.utils.prune.l1_unstructured(lib.nn.Linear(1, 1), "weight", amount=2),
    lambda lib: lib.nn.utils.prune.l1_unstructured(lib.nn.Linear(1, 1), "weight", amount=1.5),
    lambda lib: lib.nn.utils.parametrize.register_parametrization(lib.nn.Linear(1, 1), "x", lib.nn.ReLU()),
    lambda lib: lib.nn.init.xavier_uniform_(lib.ones(3)),
    lambda lib: lib.nn.init.kaiming_normal_(lib.ones(3, 3), mode="x"),
    lambda lib: lib.nn.init.calculate_gain("x"),
    lambda lib: lib.nn.init.eye_(lib.ones(3)),
    lambda lib: lib.nn.init.dirac_(lib.ones(3)),
]


@pytest.mark.parametrize("number", range(len(ERRORS)))
def test_errors(number):
    with pytest.raises(Exception) as theirs:
        ERRORS[number](torch)
    with pytest.raises(type(theirs.value)) as ours:
        ERRORS[number](flambeau)
    assert normalized(ours.value) == normalized(theirs.value)


def normalized(error):
    """The message without the name of the library."""
    return str(error).replace("flambeau_nnlib.", "torch.").replace("flambeau.", "torch.")


INITIALIZERS = [
    ("uniform_", (4, 5), (-1.0, 2.0)),
    ("normal_", (4, 5), (1.0, 2.0)),
    ("trunc_normal_", (4, 5), ()),
    ("trunc_normal_", (4, 5), (0.0, 1.0, 1.0, 3.0)),
    ("constant_", (4, 5), (2.0,)),
    ("ones_", (4, 5), ()),
    ("zeros_", (4, 5), ()),
    ("eye_", (4, 5), ()),
    ("dirac_", (4, 2, 3), (2,)),
    ("xavier_uniform_", (4, 5, 3), (2.0,)),
    ("xavier_normal_", (4, 5, 3), (2.0,)),
    ("kaiming_uniform_", (4, 5), (0.1, "fan_out")),
    ("kaiming_normal_", (4, 5), (0.0, "fan_in", "relu")),
    ("orthogonal_", (4, 5, 3), (2.0,)),
    ("orthogonal_", (6, 2), ()),
    ("sparse_", (10, 5), (0.3,)),
]


@pytest.mark.parametrize(("name", "shape", "args"), INITIALIZERS)
def test_init(name, shape, args):
    results = []
    for library in (flambeau, torch):
        library.manual_seed(5)
        results.append(as_array(getattr(library.nn.init, name)(library.empty(shape), *args)))
    np.testing.assert_allclose(*results, **TOLERANCE)


def spectral(lib):
    return lib.nn.utils.spectral_norm(lib.nn.Linear(4, 3))


UTILITIES = [
    lambda lib: lib.nn.utils.weight_norm(lib.nn.Linear(4, 3)),
    lambda lib: lib.nn.utils.weight_norm(lib.nn.Conv1d(4, 3, 2), dim=None),
    spectral,
    lambda lib: lib.nn.utils.remove_spectral_norm(spectral(lib)),
    lambda lib: lib.nn.utils.parametrizations.weight_norm(lib.nn.Linear(4, 3)),
    lambda lib: lib.nn.utils.parametrizations.spectral_norm(lib.nn.Linear(4, 3)),
    lambda lib: lib.nn.utils.parametrizations.spectral_norm(lib.nn.ConvTranspose1d(4, 3, 2)),
    lambda lib: lib.nn.utils.parametrizations.orthogonal(lib.nn.Linear(4, 3)),
    lambda lib: lib.nn.utils.parametrizations.orthogonal(lib.nn.Linear(4, 4)),
    lambda lib: lib.nn.utils.parametrizations.orthogonal(lib.nn.Linear(4, 4), orthogonal_map="cayley"),
    lambda lib: lib.nn.utils.prune.l1_unstructured(lib.nn.Linear(4, 3), "weight", amount=0.4),
    lambda lib: lib.nn.utils.prune.random_unstructured(lib.nn.Linear(4, 3), "weight", amount=5),
    lambda lib: lib.nn.utils.prune.ln_structured(lib.nn.Linear(4, 3), "weight", amount=1, n=2, dim=0),
    lambda lib: lib.nn.utils.prune.random_structured(lib.nn.Linear(4, 3), "weight", amount=0.5, dim=1),
    lambda lib: lib.nn.utils.prune.remove(
        lib.nn.utils.prune.l1_unstructured(
            lib.nn.utils.prune.ln_structured(lib.nn.Linear(4, 3), "weight", amount=1, n=2, dim=0), "weight", amount=0.5
        ),
        "weight",
    ),
]


@pytest.mark.parametrize("number", range(len(UTILITIES)))
def test_utilities(number):
    results, keys, shown = [], [], []
    for library in (flambeau, torch):
        library.manual_seed(6)
        layer = UTILITIES[number](library)
        inputs = (floats(5, 4),) if isinstance(layer, library.nn.Linear) else (X1,)
        outputs, gradients = run(library, layer, inputs)
        keys.append(list(layer.state_dict()))
        shown.append(repr(layer))
        results.append(outputs + gradients + [as_array(value) for value in layer.state_dict().values()])
    assert keys[0] == keys[1] and shown[0] == shown[1]
    assert_same(*results)


def test_backward_hooks_see_the_same():
    results = []
    for library in (flambeau, torch):
        seen = []

        def note(module, grad_input, grad_output, seen=seen):
            seen.extend(None if grad is None else as_array(grad) for grad in (*grad_input, *grad_output))

        layer = build(library, "Linear", (3, 2))
        layer.register_full_backward_hook(note)
        layer.register_full_backward_pre_hook(lambda module, grad_output: (grad_output[0] * 2,))
        run(library, layer, (floats(4, 3),))
        results.append(seen)
    assert_same(*results)

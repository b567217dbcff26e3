"""Neural-network operations as functions.

>>> import flambeau as torch
>>> import flambeau.nn.functional as F
>>> F.relu(torch.tensor([-1.0, 1.0]))
tensor([0., 1.])
"""

from __future__ import annotations

from flambeau import bilinear, conv1d, conv2d, conv3d, conv_transpose1d, conv_transpose2d, conv_transpose3d
from flambeau.extension import open_to_overrides, private_names
from flambeau.extension.functions import linear

from . import activation, attention, distance, loss, margin_loss, matrix, normalization, padding, pooling, vision, warping
from . import dropout as dropping
from . import embedding as embeddings
from .activation import *  # noqa: F403
from .attention import *  # noqa: F403
from .distance import *  # noqa: F403
from .dropout import *  # noqa: F403
from .embedding import *  # noqa: F403
from .loss import *  # noqa: F403
from .margin_loss import *  # noqa: F403
from .matrix import *  # noqa: F403
from .normalization import *  # noqa: F403
from .padding import *  # noqa: F403
from .pooling import *  # noqa: F403
from .vision import *  # noqa: F403
from .warping import *  # noqa: F403

__all__ = ["bilinear", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "linear"]
for _module in (
    activation,
    attention,
    distance,
    dropping,
    embeddings,
    loss,
    margin_loss,
    matrix,
    normalization,
    padding,
    pooling,
    vision,
    warping,
):
    __all__ += _module.__all__

__getattr__ = private_names(__name__)

# Those that PyTorch compiles, which do not bind as methods.
NATIVE = frozenset({
    "adaptive_avg_pool1d", "avg_pool1d", "avg_pool2d", "avg_pool3d", "bilinear", "celu_", "channel_shuffle", "conv1d",
    "conv2d", "conv3d", "conv_tbc", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "cosine_similarity",
    "elu_", "gelu", "hardshrink", "hardtanh_", "leaky_relu_", "linear", "logsigmoid", "native_channel_shuffle",
    "one_hot", "pairwise_distance", "pdist", "pixel_shuffle", "pixel_unshuffle", "prelu", "relu_", "rrelu_",
    "scaled_dot_product_attention", "selu_", "softplus", "softshrink", "threshold_",
})  # fmt: skip
open_to_overrides(globals(), __all__, NATIVE)

"""Operations used by layers, in addition to those of the `torch` namespace."""

from __future__ import annotations

from ..operations.activation import (
    celu,
    celu_,
    elu,
    elu_,
    gelu,
    glu,
    hardshrink,
    hardsigmoid,
    hardsigmoid_,
    hardswish,
    hardswish_,
    hardtanh,
    hardtanh_,
    leaky_relu,
    leaky_relu_,
    logsigmoid,
    mish,
    mish_,
    prelu,
    relu6,
    relu6_,
    relu_,
    rrelu,
    rrelu_,
    selu,
    selu_,
    silu,
    silu_,
    softplus,
    softshrink,
    threshold,
    threshold_,
)
from ..operations.attention import (
    attention,
    can_use_attention,
    fused_attention,
    has_fused_attention,
    has_half_attention,
)
from ..operations.conversion import (
    in_format_of,
)
from ..operations.ctc import (
    ctc_loss,
)
from ..operations.embedding import (
    check_offsets,
    embedding_renorm_,
    one_hot,
    padding_row,
)
from ..operations.embedding import (
    embedding_of_bags as embedding_bag,
)
from ..operations.folding import (
    fold,
    unfold,
)
from ..operations.linear import (
    linear,
)
from ..operations.loss import (
    binary_cross_entropy,
    check_reduction,
    cross_entropy,
    huber_loss,
    mse_loss,
    nll_loss,
    reduced,
    reduction_of,
    smooth_l1_loss,
    soft_margin_loss,
)
from ..operations.loss import (
    cross_entropy_of_logits as binary_cross_entropy_with_logits,
)
from ..operations.padding import (
    pad,
)
from ..operations.pooling import (
    adaptive_avg_pool,
    adaptive_max_pool,
    avg_pool2d,
    avg_pool3d,
    check_places,
    max_of_windows,
    max_pool,
    per_dimension,
    require_elements,
    window_sizes,
)
from ..operations.recurrent import (
    elman_layer,
    gru_layer,
    lstm_layer,
)
from ..operations.resampling import (
    resample,
    weighted_pixels,
)
from ..operations.views.views import (
    tied,
    with_tied_gradient,
)

__all__ = [
    "adaptive_avg_pool",
    "adaptive_max_pool",
    "attention",
    "avg_pool2d",
    "avg_pool3d",
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "can_use_attention",
    "celu",
    "celu_",
    "check_offsets",
    "check_places",
    "check_reduction",
    "cross_entropy",
    "ctc_loss",
    "elman_layer",
    "elu",
    "elu_",
    "embedding_bag",
    "embedding_renorm_",
    "fold",
    "fused_attention",
    "gelu",
    "glu",
    "gru_layer",
    "hardshrink",
    "hardsigmoid",
    "hardsigmoid_",
    "hardswish",
    "hardswish_",
    "hardtanh",
    "hardtanh_",
    "has_fused_attention",
    "has_half_attention",
    "huber_loss",
    "in_format_of",
    "leaky_relu",
    "leaky_relu_",
    "linear",
    "logsigmoid",
    "lstm_layer",
    "max_of_windows",
    "max_pool",
    "mish",
    "mish_",
    "mse_loss",
    "nll_loss",
    "one_hot",
    "pad",
    "padding_row",
    "per_dimension",
    "prelu",
    "reduced",
    "reduction_of",
    "relu6",
    "relu6_",
    "relu_",
    "require_elements",
    "resample",
    "rrelu",
    "rrelu_",
    "selu",
    "selu_",
    "silu",
    "silu_",
    "smooth_l1_loss",
    "soft_margin_loss",
    "softplus",
    "softshrink",
    "threshold",
    "threshold_",
    "tied",
    "unfold",
    "weighted_pixels",
    "window_sizes",
    "with_tied_gradient",
]

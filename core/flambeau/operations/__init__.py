"""All operations: a file or a package for each family, named as in `flambeau.conformance.samples`.

Importing this package registers every operation in the tables of `flambeau.engine.calls.tables`.

Rules: an operation is one record (`op`) or one function built from others (`composite`), with its derivative, dtypes, names
and properties next to it.  Forward functions use the array API standard only; derivative rules use only `F` and the
standard's operators (`docs/derivative_rules.md`).  Implementations, rules and files may change freely as long as the
conformance samples pass on NumPy and on array-api-strict.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from typing import Any

from ..engine.calls.dispatch import require_tensors
from ..engine.calls.facts import Kind, register
from ..engine.calls.overriding import routed_method
from ..engine.calls.tables import PUBLIC
from ..engine.tensors.tensor import Tensor
from . import (  # noqa: F401  # each registers its own
    activation,
    arithmetic,
    attention,
    blocks,
    comparison,
    complex,
    conversion,
    convolution,
    ctc,
    cumulative,
    differences,
    distance,
    dropout,
    einsum,
    embedding,
    fake_quantization,
    fft,
    folding,
    joining,
    linear,
    loss,
    matrix,
    memory,
    normalization,
    padding,
    pointwise,
    pooling,
    recurrent,
    reductions,
    resampling,
    sampling,
    scatter,
    scatter_reduce,
    segments,
    shuffling,
    softmax,
    sorting,
    statistics,
    trigonometry,
    variance,
)
from .creation import from_data, from_shape, ranges  # noqa: F401
from .indexing import gather, masks, subscripts  # noqa: F401
from .linalg import torch_names as _linalg  # noqa: F401
from .signal import torch_names as _signal  # noqa: F401
from .special import bessel, error_function, gamma, logarithms, polynomials  # noqa: F401
from .views import in_place, selecting, writes  # noqa: F401

# `Tensor` methods that PyTorch offers as functions of the `torch` namespace as well: `torch.exp_(x)` is `x.exp_()`.
METHODS_AS_FUNCTIONS = (
    "abs_", "acos_", "acosh_", "addmv_", "arccos_", "arccosh_", "arcsin_", "arcsinh_", "arctan_", "arctanh_", "as_strided_",
    "asin_", "asinh_", "atan_", "atanh_", "ceil_", "clamp_", "clamp_max_", "clamp_min_", "clip_", "conj_physical_", "cos_",
    "cosh_", "deg2rad_", "detach", "detach_", "erf_", "erfc_", "exp2_", "exp_", "expm1_", "fill_", "fix_", "floor_", "frac_",
    "gcd_", "get_device", "i0_", "index_put_", "is_distributed", "is_same_size",
    "is_signed", "lcm_", "ldexp_", "log10_", "log1p_", "log2_",
    "log_", "logit_", "nan_to_num_", "neg_", "negative_", "rad2deg_", "reciprocal_", "resize_as_", "round_", "rsqrt_",
    "sigmoid_", "sin_", "sinc_", "sinh_", "slice_inverse", "sqrt_", "square_", "tan_", "tanh_", "trunc_", "xlogy_", "zero_",
)  # fmt: skip


def _function(name: str) -> Callable[..., Any]:
    method = getattr(Tensor, name)

    def function(input: Tensor, *args: Any, **kwargs: Any) -> Any:
        require_tensors(name, input=input)
        return (routed_method(input, name) if input._key.wraps else method)(input, *args, **kwargs)

    update_wrapper(function, method)
    del function.__wrapped__  # type: ignore[attr-defined]  # set by update_wrapper; its signature has `self`
    return function


PUBLIC.update({name: _function(name) for name in METHODS_AS_FUNCTIONS})
register("detach", {"kind": Kind.VIEW})
register("get_device", {"kind": Kind.QUERY})
register("is_signed", {"kind": Kind.QUERY})

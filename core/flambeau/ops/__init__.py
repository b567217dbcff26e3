"""All operations, by family.  Importing this package fills the table in ``flambeau.op``."""

from __future__ import annotations

from . import (  # noqa: F401
    activation,
    adaptive_pooling,
    arithmetic,
    blocks,
    comparison,
    complex,
    conversion,
    convolution,
    distance,
    dropping,
    error_function,
    indexing,
    joining,
    linear,
    loss,
    matrix,
    memory,
    normalization,
    padding,
    pointwise,
    pooling,
    reductions,
    sampling,
    scatter,
    softmax,
    sorting,
    statistics,
    views,
)

"""All operations, by family.  Importing this package fills the table in ``flambeau.op``."""

from __future__ import annotations

from . import (  # noqa: F401
    arithmetic,
    comparison,
    conversion,
    indexing,
    joining,
    matrix,
    memory,
    pointwise,
    reductions,
    sampling,
    sorting,
    views,
)

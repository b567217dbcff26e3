"""Sparse weights: sparsifiers, which mask the weights of a model, and schedulers of their sparsity."""

from .parametrization import *
from .parametrization import __all__ as _parametrization_names
from .schedulers import *
from .schedulers import __all__ as _scheduler_names
from .sparsifiers import *
from .sparsifiers import __all__ as _sparsifier_names

__all__ = [*_parametrization_names, *_scheduler_names, *_sparsifier_names]

"""Neural networks, optimizers, data loading and distributions for flambeau."""

import sys as _sys

import flambeau as _flambeau  # noqa: F401 (registers the former names of these modules, which old pickles contain)

_running = getattr(_sys.modules.get("IPython"), "get_ipython", lambda: None)()
if _running is not None:  # in a notebook
    from .notebooks import register as _register

    _register(_running.display_formatter)

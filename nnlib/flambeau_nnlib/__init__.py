"""Neural networks, optimizers, data loading and distributions for flambeau."""

import flambeau as _flambeau  # noqa: F401 (registers the former names of these modules, which old pickles contain)

"""Settings of `torch._functorch`.  They can be set, keep their values, and have no effect; other names can be set as well."""

from __future__ import annotations

from flambeau.extension.settings import make_patch

__all__ = ["patch"]

patch = make_patch(__name__)

activation_memory_budget = 1.0
debug_assert = False
donated_buffer = False
enable_autograd_cache = True
functionalize_rng_ops = False
max_dist_from_bw = 1000
recompute_views = False
unlift_effect_tokens = False

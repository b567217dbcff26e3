"""Settings of `torch.compiler.config`.  They can be set, keep their values, and have no effect; other names can be set."""

from __future__ import annotations

from flambeau.extension.settings import make_patch

__all__ = ["patch"]

patch = make_patch(__name__)

dynamic_sources = ""
force_disable_caches = False
job_id: str | None = None
unbacked_sources = ""

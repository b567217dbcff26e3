"""Transforms of calls: forward mode, batching, lazy views, and recorded steps.

Entry points: `forward_ad` (tangents), `batching` (`vmap`), `conjugate_views` (`conj()` without a copy) and `capture` (record
steps and replay them).

Rules: a transform registers its hooks in `engine.calls.transform_hooks` when it is loaded, and does not slow down
calls while it is unused.  Operations have no special rules for transforms: forward mode differentiates their vjp rules, and
batching and capture run their forward functions on other kinds of arrays.
"""

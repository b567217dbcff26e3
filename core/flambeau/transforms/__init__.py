"""Transforms of calls: forward mode, batching, lazy views, and recorded steps.

Entry points: `forward_ad` (tangents), `batching` (`vmap`), `conjugate_views` (`conj()` without a copy) and `capture` (record
steps and replay them).

Rules: a transform registers its hooks in `engine.calls.transform_hooks` when it is loaded, and costs calls nothing while
unused.
No operation has a rule for a transform: forward mode differentiates derivative rules, and batching and capture run forward
functions on other kinds of array.
"""

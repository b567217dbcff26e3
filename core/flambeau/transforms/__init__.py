"""Transforms of calls: forward mode, batching, lazy views, and recorded steps.

Entry points: `forward_ad` (tangents), `batching` (`vmap`), `conjugate_views` (`conj()` without a copy) and `capture` (steps
that are recorded and replayed).  Must stay true: a transform registers its hooks in `engine.calls.transform_hooks` when it is
loaded, and costs a call nothing while it is not in use.  No operation has a rule for a transform: forward mode differentiates
derivative rules, batching and capture run forwards on other arrays.
"""

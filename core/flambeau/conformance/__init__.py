"""The conformance kit: whether all of flambeau works on a backend.

`python -m flambeau conformance NAME` runs it.  In a plugin's tests::

    import pytest
    from flambeau.conformance import FAMILIES, run

    @pytest.mark.parametrize("family", FAMILIES)
    def test_conformance(family):
        (found,) = run("mylibrary", [family])
        assert not found.failures, "\\n".join(found.failures)
"""

from __future__ import annotations

from .kit import FAMILIES, Family, main, run

__all__ = ["FAMILIES", "Family", "main", "run"]

"""The conformance kit: checks that all of flambeau works on a backend.

`python -m flambeau conformance NAME` runs it.  In a plugin's tests::

    import pytest
    from flambeau.conformance import FAMILIES, run

    @pytest.mark.parametrize("family", FAMILIES)
    def test_conformance(family):
        (result,) = run("mylibrary", [family])
        assert not result.failures, "\\n".join(result.failures)
"""

from __future__ import annotations

from .command import main
from .kit import FAMILIES, Family, run

__all__ = ["FAMILIES", "Family", "main", "run"]

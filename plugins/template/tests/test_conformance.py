"""All of flambeau on this backend."""

import pytest

from flambeau.conformance import FAMILIES, run


@pytest.mark.parametrize("family", FAMILIES)
def test_conformance(family):
    (found,) = run("mylibrary", [family])
    assert not found.failures, "\n".join(found.failures)

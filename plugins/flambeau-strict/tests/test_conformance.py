"""All of flambeau on this backend."""

import pytest

from flambeau.conformance import run


@pytest.mark.parametrize("family", run("strict"), ids=lambda family: family.name)
def test_conformance(family):
    assert not family.failures, "\n".join(family.failures)

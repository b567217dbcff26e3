"""All of flambeau on this backend."""

import pytest

from flambeau.conformance import FAMILIES, run


@pytest.mark.parametrize("family", FAMILIES)
def test_conformance(family):
    (report,) = run("mylibrary", [family])
    assert not report.failures, "\n".join(report.failures)

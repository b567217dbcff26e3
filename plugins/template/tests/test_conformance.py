"""Run the conformance kit on this backend; `exceptions.txt` lists expected failures."""

from pathlib import Path

import pytest

from flambeau.conformance import FAMILIES, run

EXCEPTIONS = Path(__file__).with_name("exceptions.txt")


@pytest.mark.parametrize("family", FAMILIES)
def test_conformance(family):
    (found,) = run("mylibrary", [family], exceptions=EXCEPTIONS)
    assert not found.failures, "\n".join(found.failures)

"""The conformance kit: whether all of flambeau works on a backend.

``python -m flambeau conformance NAME`` runs it.  In a plugin's tests::

    from flambeau.conformance import main

    def test_conformance():
        assert main("my_backend") == 0
"""

from __future__ import annotations

from .kit import Family, main, run

__all__ = ["Family", "main", "run"]

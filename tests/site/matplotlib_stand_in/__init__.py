"""A stand-in for matplotlib, which no registry has for Pyodide: its figures are empty pictures."""

from __future__ import annotations

rcParams: dict[str, object] = {}

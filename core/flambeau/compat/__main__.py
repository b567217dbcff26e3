"""Write `docs/private_names.md` from `table.py`: `python -m flambeau.compat [FILE]`.  `--check` only compares them."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from .table import MODULES, NAMES

__all__ = ["document", "main"]

_HEADING = """# Private names of PyTorch that libraries use

Each name is where PyTorch has it and behaves as there. The second column names libraries and programs that use it; it gives
examples, not a list of everything that was tried. `python -m flambeau.compat` writes this page from the table in
`core/flambeau/compat/table.py`, and `tests/compat/test_private_names.py` looks up each name.
"""


def document() -> str:
    """Return the Markdown text of `docs/private_names.md`: a table of modules and a table of names."""
    return f"{_HEADING}\n## Modules\n\n{_rows('module', MODULES)}\n## Names\n\n{_rows('name', NAMES)}"


def _rows(kind: str, table: Mapping[str, tuple[str, str]]) -> str:
    rows = "".join(f"| `{name}` | {users} |\n" for name, (_, users) in table.items())
    return f"| {kind} | used by |\n|---|---|\n{rows}"


def main(arguments: list[str]) -> int:
    """Write the Markdown file, or with `--check` compare it with the table.  Return the exit status."""
    paths = [argument for argument in arguments if argument != "--check"]
    path = Path(paths[0] if paths else "docs/private_names.md")
    if path.exists() and path.read_text(encoding="utf-8") == document():
        return 0
    if "--check" in arguments:
        print(f"{path} is out of date: run `python -m flambeau.compat`")
        return 1
    path.write_text(document(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Follow a guide in a copy of the project: write its code blocks into files and run its commands."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
COPIED = ["core", "backends", "nnlib", "vision", "plugins", "tests", "docs", "pyproject.toml", "tox.ini", "README.md", "LICENSE"]
PACKAGES = ["core", "backends", "nnlib", "vision"]
LEFT_OUT = shutil.ignore_patterns("__pycache__", ".*_cache", "*.egg-info", "build", "dist", ".tox", ".hypothesis", ".venv")


def copy_project(folder: Path) -> Path:
    """Copy the project's sources, tests and configuration into `folder`, without .git and caches."""
    for name in COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, ignore=LEFT_OUT)
        else:
            shutil.copy(ROOT / name, folder / name)
    return folder


def steps(guide: str) -> list[tuple[str, str]]:
    """Return `(path, text)` of each code block that a guide writes into a file."""
    return re.findall(r"^In `([^`]+)`:\n\n```python\n(.*?)```", guide, re.DOTALL | re.MULTILINE)


def read(name: str) -> str:
    """Return the text of a file in `docs`."""
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


def commands() -> list[str]:
    """Return the shell commands in docs/operations.md and docs/derivative_rules.md, without trailing comments."""
    sections = [("operations.md", "**6. The commands.**"), ("derivative_rules.md", "## How to test a rule")]
    found = []
    for name, heading in sections:
        section = read(name).partition(heading)[2].partition("\n## ")[0]
        for block in re.findall(r"```text\n(.*?)```", section, re.DOTALL):
            found += [re.sub(r"\s+#.*", "", line.strip()) for line in block.splitlines() if line.strip()]
    return list(dict.fromkeys(found))


def add_block(path: Path, block: str) -> None:
    """Insert the imports of a code block after the file's imports, and append the rest."""
    text = path.read_text(encoding="utf-8")
    imports = "".join(f"{ast.unparse(node)}\n" for node in ast.parse(block).body if isinstance(node, ast.ImportFrom))
    lines = text.splitlines(keepends=True)
    end = max((node.end_lineno or 0 for node in ast.parse(text).body if isinstance(node, ast.ImportFrom)), default=0)
    rest = re.sub(r"^from .*\n+", "", block, flags=re.MULTILINE)
    path.write_text("".join([*lines[:end], imports, *lines[end:], "\n\n", rest]), encoding="utf-8")


def run(command: str, folder: Path, *, built: bool = False) -> str:
    """Run a shell command in `folder` and return its output. Packages are imported from `folder` unless `built`."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("TOX_", "PYTEST_"))}
    environment |= {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": "" if built else os.pathsep.join(str(folder / name) for name in PACKAGES),
        "FLAMBEAU_BACKEND": "numpy",
        "MPLBACKEND": "Agg",
    }
    done = subprocess.run(["bash", "-c", command], cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"$ {command}\n{done.stdout[-6000:]}{done.stderr[-3000:]}"
    return done.stdout

"""MkDocs hooks that make the site's Python cells run in the browser: scripts, settings, and an archive of flambeau."""

from __future__ import annotations

import gzip
import html
import importlib.metadata
import io
import json
import re
import zipfile
from pathlib import Path
from posixpath import relpath
from textwrap import indent
from typing import Any

import array_api_compat
import pluggy
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

import flambeau
import flambeau_backends
import flambeau_nnlib
import flambeau_vision
from flambeau.version import flambeau_version

HERE = Path(__file__).parent
# Not named .gz, because some web servers declare such files as encoded, and browsers then decompress them.
ARCHIVE = "assets/run-packages.bin"
PACKAGES = [flambeau, flambeau_backends, flambeau_nnlib, flambeau_vision, array_api_compat, pluggy]
_LEFT_OUT = re.compile(r"__pycache__|\.pyi$|\.cuh?$|\.so$|^flambeau_backends/cupy/")  # the browser has no CUDA
_TIME = (2020, 1, 1, 0, 0, 0)  # a constant, so that equal sources give equal archives
_EXAMPLES = "<!-- examples -->"
_FILE = re.compile(r"^( *)<!-- file (\S+) -->$", re.MULTILINE)


def on_files(files: Files, config: Any) -> Files:
    """Add the archive and the settings."""
    settings = {"pyodide": config.extra["pyodide"], "packages": Path(ARCHIVE).name}
    files.append(File.generated(config, "assets/run-settings.js", content=f"window.FLAMBEAU_RUN = {json.dumps(settings)}\n"))
    files.append(File.generated(config, ARCHIVE, content=archive()))
    return files


def on_page_markdown(markdown: str, page: Page, config: Any, files: Files) -> str:
    """Insert the examples into the playground, and files into pages that show them."""
    markdown = _FILE.sub(lambda found: indent(_file(found[2]), found[1]), markdown)
    return markdown.replace(_EXAMPLES, "\n".join(_example(path) for path in sorted(HERE.glob("playground/*.py"))))


def _file(name: str) -> str:
    path = HERE.parents[1] / name
    return f"```{path.suffix[1:]}\n{path.read_text(encoding='utf-8')}```"


def _example(path: Path) -> str:
    # the first line is a docstring with the name of the example; a blank line would end the block of HTML
    title, _, source = path.read_text(encoding="utf-8").partition("\n")
    name = html.escape(title.strip('"').rstrip("."))
    return f'<script type="text/plain" data-name="{name}">\n{source.strip()}\n</script>'


def on_page_content(content: str, page: Page, config: Any, files: Files) -> str:
    """Load the scripts on pages with cells."""
    if 'class="cell' not in content and 'id="playground-editor"' not in content:
        return content
    folder = relpath("assets", Path(page.file.dest_uri).parent.as_posix())
    return (
        f'{content}\n<link rel="stylesheet" href="{folder}/run.css">\n'
        f'<script src="{folder}/run-settings.js"></script>\n<script src="{folder}/run.js"></script>'
    )


def archive() -> bytes:
    """Return a ZIP file of flambeau, of its pure Python dependencies, and of the module that runs cells.

    The whole file is compressed by gzip, which makes it a quarter smaller than compressing each of its files.
    """
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as packed:
        for package in PACKAGES:
            root = Path(package.__path__[0])
            for path in sorted(root.rglob("*")):
                name = path.relative_to(root.parent).as_posix()
                if path.is_file() and not _LEFT_OUT.search(name):
                    packed.writestr(zipfile.ZipInfo(name, _TIME), path.read_bytes())
        for name, version in _versions().items():
            metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
            packed.writestr(zipfile.ZipInfo(f"{name}-{version}.dist-info/METADATA", _TIME), metadata)
        packed.writestr(zipfile.ZipInfo("flambeau_site_cells.py", _TIME), (HERE / "cells.py").read_bytes())
    return gzip.compress(content.getvalue(), mtime=0)


def _versions() -> dict[str, str]:
    versions = {name: importlib.metadata.version(name) for name in ("array_api_compat", "pluggy")}
    return {"flambeau": flambeau_version, **versions}

"""MkDocs hooks, called during the build: add the reference, run the notebooks, and link names in backticks."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

sys.path.insert(0, str(Path(__file__).parent))
import gallery
import notebooks
import reference

from flambeau.version import flambeau_version

ROOT = Path(__file__).parents[2]
FROM_THE_ROOT = {"project/changelog.md": "CHANGELOG.md", "project/security.md": "SECURITY.md"}

_pages: dict[str, str] = {}
_links: dict[str, str] = {}
_scripts: dict[str, str] = {}
_pictures: dict[str, bytes] = {}
_notebooks: dict[str, notebooks.Executed] = {}


def on_config(config: Any) -> Any:
    """Generate the reference, and add it to the navigation."""
    _pages.clear()
    _links.clear()
    _notebooks.clear()
    written = reference.write()
    _pages.update(written.pages)
    _links.update(written.links)
    _scripts["assets/names.js"] = written.names_script
    for section in config.nav:
        if "Reference" in section:
            section["Reference"] = written.navigation
    programs = gallery.write(run=os.environ.get("FLAMBEAU_SITE_NOTEBOOKS") != "0")
    _pages.update(programs.pages)
    _pictures.update(programs.pictures)
    for section in config.nav:
        if "Examples" in section:
            section["Examples"] = programs.navigation
    config.extra["version"] = flambeau_version
    config.copyright = f"flambeau {flambeau_version}"
    return config


def on_files(files: Files, config: Any) -> Files:
    """Add the generated pages, and the notebooks with their pictures."""
    for path, text in _pages.items():
        files.append(File.generated(config, path, content=text))
    for path, text in _scripts.items():
        files.append(File.generated(config, path, content=text))
    for path, picture in _pictures.items():
        files.append(File.generated(config, path, content=picture))
    for path, source in FROM_THE_ROOT.items():
        text = (ROOT / source).read_text(encoding="utf-8").replace("](docs/", "](../")
        files.append(File.generated(config, path, content=text))
    sources = {
        file.src_uri: file.content_string
        for file in files.documentation_pages()
        if file.src_uri.startswith(("learn/", "start/", "inside/")) and "```python" in file.content_string
    }
    if os.environ.get("FLAMBEAU_SITE_NOTEBOOKS") != "0":
        _notebooks.update(notebooks.execute(sources))
    for executed in _notebooks.values():
        for path, content in executed.files.items():
            files.append(File.generated(config, path, content=content))
    return files


def on_page_markdown(markdown: str, page: Page, config: Any, files: Files) -> str:
    """Return a page with the output of its notebook cells, and with links to the reference."""
    uri = page.file.src_uri
    if uri in _notebooks:
        markdown = _notebooks[uri].markdown
    if uri.startswith("learn/"):
        markdown = notebooks.set_beside(markdown)
    if uri == "index.md":
        markdown = markdown.replace("{version}", flambeau_version)
    return _with_links(markdown, uri) + _edit_link(uri)


def _edit_link(uri: str) -> str:
    """Return a line with the file of a page, which links to the repository if FLAMBEAU_SITE_REPOSITORY is its address."""
    source = FROM_THE_ROOT.get(uri, f"docs/{uri}")
    if uri in _pages or not (ROOT / source).exists():
        return ""
    repository = os.environ.get("FLAMBEAU_SITE_REPOSITORY", "")
    link = f"[Edit this page]({repository}/edit/main/{source})" if repository else f"Edit this page: `{source}`"
    return f"\n\n{link}\n{{ .edit }}\n"


_FENCE = re.compile(r"^( *)(`{3,}|~{3,}).*?^\1\2 *$", re.DOTALL | re.MULTILINE)
_NAME = re.compile(r"(?<![\[`\w])`(?:torch\.|flambeau\.)?([A-Za-z_][\w.]*)(?:\([^`)]*\))?`(?![\]`])")


def _with_links(markdown: str, uri: str) -> str:
    """Link names in backticks to the reference, except in headings, code and links."""
    parts, end = [], 0
    for fence in _FENCE.finditer(markdown):
        parts += [_line_by_line(markdown[end : fence.start()], uri), fence[0]]
        end = fence.end()
    return "".join([*parts, _line_by_line(markdown[end:], uri)])


def _line_by_line(text: str, uri: str) -> str:
    def link(match: re.Match[str]) -> str:
        target = _links.get(match[1])
        if target is None or target == uri or ("." not in match[1] and not match[0].startswith("`torch.")):
            return match[0]
        return f"[{match[0]}]({os.path.relpath(target, os.path.dirname(uri) or '.')})"

    lines = text.split("\n")
    return "\n".join(
        line if line.lstrip().startswith(("#", "<")) or line.startswith("    ") else _NAME.sub(link, line) for line in lines
    )

"""Run the notebooks of the site, which are Markdown files, and insert the output of each cell after it."""

from __future__ import annotations

import base64
import os
import re
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import jupytext
from cells import FIGURE_STYLE
from nbclient import NotebookClient

# A hidden first cell of each notebook.
_BEFORE = f"""\
import warnings as _warnings
_warnings.filterwarnings("ignore", message="IProgress")
import matplotlib_inline.backend_inline as _inline
_inline.set_matplotlib_formats("svg")
import matplotlib as _matplotlib
_matplotlib.rcParams.update({FIGURE_STYLE})
"""
_ENVIRONMENT = {
    **os.environ,
    "MPLBACKEND": "module://matplotlib_inline.backend_inline",
    "OMP_NUM_THREADS": "1",
    "PYDEVD_DISABLE_FILE_VALIDATION": "1",
}
_ANSI = re.compile(r"\x1b\[[0-9;]*m")
_ADDRESS = re.compile(r"0x[0-9a-f]{6,}")  # addresses differ between builds
_HAN = re.compile(r"[\u3400-\u9fff]")


@dataclass
class Executed:
    """An executed notebook: its page, and the files that belong to it, by path."""

    markdown: str
    files: dict[str, bytes | str] = field(default_factory=dict)


def execute(sources: Mapping[str, str]) -> dict[str, Executed]:
    """Run notebooks, two in parallel. An exception ends the build, unless its cell is tagged `raises-exception`."""
    with ThreadPoolExecutor(2) as pool:
        return dict(zip(sources, pool.map(_execute, sources, sources.values()), strict=True))


def _execute(uri: str, source: str) -> Executed:
    notebook = jupytext.reads(source, "md")
    as_file = jupytext.writes(notebook, "ipynb")
    name = os.path.splitext(os.path.basename(uri))[0]
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    notebook.cells.insert(0, type(cells[0])(cell_type="code", source=_BEFORE, metadata={}, outputs=[], execution_count=None))
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    start = time.perf_counter()
    client = NotebookClient(notebook, timeout=120, extra_arguments=["--log-level=ERROR"])
    try:
        client.execute(env=_ENVIRONMENT)
    except Exception as error:
        raise RuntimeError(f"{uri}: {error}") from error
    seconds = time.perf_counter() - start
    executed = Executed("")
    executed.files[uri.removesuffix(".md") + ".ipynb"] = as_file
    parts = []
    for cell in notebook.cells[1:]:
        if cell.cell_type == "code":
            if cell.source.strip() and "hide-input" not in cell.metadata.get("tags", []):
                raises = " .raises" if "raises-exception" in cell.metadata.get("tags", []) else ""
                parts.append(f"``` {{ .python .cell{raises} }}\n{cell.source}\n```")
            parts += _outputs(cell.outputs, uri, name, executed)
        else:
            parts.append(cell.source)
    link = f"[{name}.ipynb]({name}.ipynb)"
    note = f"*This page is a notebook, run in {seconds:.0f} s when the site was built: {link}*\n{{ .notebook }}"
    title, _, rest = "\n\n".join(parts).partition("\n")
    executed.markdown = f"{title}\n\n{note}\n{rest}\n"
    return executed


def _outputs(outputs: list[Any], uri: str, name: str, executed: Executed) -> list[str]:
    parts, printed = [], ""
    for output in outputs:
        if output.output_type == "stream":
            printed += output.text
            continue
        if printed:
            parts.append(_printed(printed))
            printed = ""
        if output.output_type == "error":
            parts.append(_printed(f"{output.ename}: {_ANSI.sub('', output.evalue)}"))
            continue
        data = output.data
        if "image/svg+xml" in data or "image/png" in data:
            kind = "svg" if "image/svg+xml" in data else "png"
            content = data["image/svg+xml"] if kind == "svg" else base64.b64decode(data["image/png"])
            picture = f"{name}-{len(executed.files)}.{kind}"
            executed.files[f"{os.path.dirname(uri)}/{picture}"] = content
            title = output.metadata.get("alt", "") or "A picture that the cell above draws"
            parts.append(f"![{title}]({picture}){{ .drawn }}")
        elif "text/html" in data:
            parts.append(f'<div class="shown">\n{_unindented(data["text/html"])}\n</div>')
        elif "text/plain" in data:
            parts.append(_printed(data["text/plain"]))
    if printed:
        parts.append(_printed(printed))
    return parts


def _printed(text: str) -> str:
    text = _ADDRESS.sub("0x...", _ANSI.sub("", text).rstrip())
    return f"``` {{ .text .printed }}\n{text}\n```"


def _unindented(html: str) -> str:
    """Remove blank lines from HTML, because Markdown ends an HTML block at a blank line."""
    return "\n".join(line for line in html.splitlines() if line.strip())


def set_beside(markdown: str) -> str:
    """Place each Chinese block quote next to the English paragraph before it, in two columns."""
    blocks = re.split(r"\n\n(?=\S)", markdown)
    result: list[str] = []
    for block in blocks:
        if block.startswith(">") and _HAN.search(block) and result:
            chinese = re.sub(r"^> ?", "", block, flags=re.MULTILINE)
            english = result.pop()
            result.append(
                '<div class="beside" markdown>\n\n<div markdown>\n\n'
                f'{english}\n\n</div>\n\n<div lang="zh-Hans" markdown>\n\n{chinese}\n\n</div>\n\n</div>'
            )
        else:
            result.append(block)
    return "\n\n".join(result)

"""Generate the pages of the reference from the imported packages: signatures, docstrings, and backends that pass the checks."""

from __future__ import annotations

import ast
import functools
import inspect
import json
import os
import re
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import examples
import formulas
import griffe
import programs
import reference_pages

import flambeau as torch
from flambeau.cli.stubs import typed_signature
from flambeau.engine.calls.tables import OPS

ROOT = Path(__file__).parents[2]


@dataclass
class Written:
    """The pages by path, the page of each name, a script with those pages, and the entries of the navigation."""

    pages: dict[str, str] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)
    names_script: str = ""
    navigation: list[Any] = field(default_factory=list)


@dataclass
class Entry:
    """A public name, and the text below its heading."""

    name: str  # as programs write it after `torch.`
    member: Any
    short: str = ""
    text: str = ""
    path: str = ""  # the page of the name, such as "reference/torch.exp.md"


class Undocumented(Exception):
    """Public names without a docstring."""


def write() -> Written:
    """Generate all pages.

    Raises:
        Undocumented: a public class or function has no docstring.
    """
    written = Written()
    missing: list[str] = []
    owners: dict[str, str] = {}
    index = ["# Reference\n", _ABOUT]
    for section, pages in reference_pages.SECTIONS.items():
        entries_of_section: list[Any] = []
        index.append(f"\n## {section}\n")
        for page in pages:
            path = f"reference/{page.file}.md"
            entries = [_entry(name, member, missing) for name, member in reference_pages.members(page)]
            for entry in entries:
                entry.path = _path(entry, owners)
                if entry.path not in written.pages:
                    written.links.setdefault(entry.name, entry.path)
                    written.pages[entry.path] = _name_page(entry, page)
            written.pages[path] = _page(page, entries)
            entries_of_section.append({page.title: path})
            index.append(f"- [{page.title}]({page.file}.md): {_first_sentence(page.about)}")
        written.navigation.append({section: entries_of_section})
    if missing:
        raise Undocumented("add a docstring to these public names: " + ", ".join(sorted(missing)))
    written.pages["reference/index.md"] = "\n".join(index) + "\n"
    for name in ("commands", "environment"):
        written.pages[f"reference/{name}.md"] = getattr(programs, name)()
    written.navigation[:0] = ["reference/index.md", {"Commands": "reference/commands.md"},
                              {"Environment variables": "reference/environment.md"}]  # fmt: skip
    written.names_script = names_script(written.links)
    _alias_links(written.links)
    return written


_ABOUT = """\
Every public name has a page, such as [`torch.exp`](torch.exp.md), with its parameters, its result, the errors it raises, and an
example. The output of examples is real.
Examples assume `import flambeau as torch` and `import flambeau.nn.functional as F`; names mean the same as in PyTorch.

*Checked on* lists the backends that passed the conformance kit's samples of a function: values, derivatives, dtypes, views and
`out=` are compared with a reference in NumPy. See [the backends](../backends.md) for dates and versions.
"""


def names_script(links: dict[str, str]) -> str:
    """Return the script that defines `FLAMBEAU_NAMES`, the page of each name, for the search."""
    full = {reference_pages.full_name(name): target.removesuffix(".md") + ".html" for name, target in links.items()}
    ordered = sorted(full, key=lambda name: (name.startswith("torchvision."), name.count("."), name))
    return f"window.FLAMBEAU_NAMES = {json.dumps({name: full[name] for name in ordered})}\n"


def _alias_links(links: dict[str, str]) -> None:
    """Add links for shorter names that texts use, such as `F.relu` for `nn.functional.relu`."""
    for name, target in list(links.items()):
        for long, short in (("nn.functional.", "F."), ("utils.data.", ""), ("nn.functional.", "functional.")):
            if name.startswith(long):
                links.setdefault(short + name.removeprefix(long), target)


# --- a page -------------------------------------------------------------------------------------------------------


def _page(page: reference_pages.Page, entries: list[Entry]) -> str:
    lines = [f"# {page.title}\n", page.about.strip() + "\n"]
    if page.module:
        lines.append(f"`import {page.module}`{{ .import }}\n")
    groups = reference_pages.groups(page, entries)
    for title, members in groups.items():
        if title:
            lines.append(f"\n## {title}\n")
        lines += ["| name | |", "|---|---|"]
        lines += [f"| [`{_shown(entry.name, page)}`]({_file(entry)}) | {_cell(entry.short)} |" for entry in members]
        lines.append("")
    return "\n".join(lines) + "\n"


def _name_page(entry: Entry, page: reference_pages.Page) -> str:
    """Return the page of one name.  The search ranks it above pages that only mention the name."""
    title = reference_pages.full_name(entry.name).replace("_", "\\_")
    head = f"---\nsearch:\n  boost: 3\n---\n\n# {title} {{ .name }}\n"
    return f"{head}\n[{page.title}]({page.file}.md)\n\n{entry.text}\n"


def _path(entry: Entry, owners: dict[str, str]) -> str:
    """Return the path of a name's page.  `owners` maps paths in lower case to names: some file systems ignore case."""
    name = reference_pages.full_name(entry.name)
    path = f"reference/{name}.md"
    return path if owners.setdefault(path.lower(), name) == name else f"reference/{name}-class.md"


def _file(entry: Entry) -> str:
    return entry.path.removeprefix("reference/")


def _shown(name: str, page: reference_pages.Page) -> str:
    return name.removeprefix(page.prefix)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


# --- an entry -----------------------------------------------------------------------------------------------------


def _entry(name: str, member: Any, missing: list[str]) -> Entry:
    entry = Entry(name, member)
    documented = inspect.isclass(member) or callable(member) or isinstance(member, (property, ModuleType))
    if (
        name in reference_pages.CONSTANTS
        or not documented
        or isinstance(member, (torch.dtype, torch.memory_format, torch.layout))
    ):
        entry.short = reference_pages.CONSTANTS.get(name) or _constant(member)
        entry.text = entry.short
        return entry
    docstring = inspect.getdoc(member) if member.__doc__ else None
    if not docstring and name in reference_pages.NOTES:
        docstring = reference_pages.NOTES[name]
    if not docstring:
        missing.append(name)
        return entry
    entry.short = _first_sentence(docstring)
    parts = [_signature_block(name, member), formulas.formula(name), _docstring(docstring)]
    if ">>>" not in docstring:
        parts.append(examples.example(name))
    if inspect.isclass(member):
        parts += _methods(name, member)
    parts += [_notes(name, member), _source(name, member)]
    entry.text = "\n\n".join(filter(None, parts))
    return entry


def _constant(member: Any) -> str:
    if isinstance(member, torch.dtype):
        return f"The dtype `{member}`."
    return f"`{member!r}`" if len(repr(member)) < 80 else f"A {type(member).__name__}."


def _first_sentence(text: str) -> str:
    paragraph = " ".join(text.strip().split("\n\n")[0].split())
    match = re.match(r".*?\.(?=\s|$)", paragraph)
    sentence = match[0] if match else paragraph
    return re.sub(r"\s*::?$", ".", sentence)


def _signature_block(name: str, member: Any) -> str:
    if isinstance(member, property):
        return ""
    text = signature_text(name, member)
    return f"``` {{ .python .signature }}\n{text}\n```" if text else ""


def signature_text(name: str, member: Any, prefix: str | None = None) -> str:
    """Return `torch.name(parameters) -> result`, on several lines if it is long; empty if there is no signature."""
    try:
        known = inspect.isclass(member) or prefix is not None
        signature = inspect.signature(member) if known else typed_signature(member, _operator(name))
    except (ValueError, TypeError):
        return ""
    method = name.startswith("Tensor.") and not inspect.isclass(member)
    parameters = [p for p in signature.parameters.values() if p.name not in reference_pages.HIDDEN_PARAMETERS]
    if method and parameters and not isinstance(inspect.getattr_static(torch.Tensor, name.partition(".")[2], None), staticmethod):
        parameters = parameters[1:]
    returns = "" if inspect.isclass(member) or signature.return_annotation is inspect.Signature.empty else (
        f" -> {_annotation(signature.return_annotation)}")  # fmt: skip
    shown = _parameters(parameters)
    head = prefix if prefix is not None else reference_pages.spelled(name)
    line = f"{head}({', '.join(shown)}){returns}"
    if len(line) <= 84:
        return line
    return f"{head}(\n" + "".join(f"    {parameter},\n" for parameter in shown) + f"){returns}"


def _operator(name: str) -> str:
    """Return the name of the operator of a function, such as `fft_fft` for `fft.fft`."""
    module, _, function = name.rpartition(".")
    return f"{module}_{function}" if module in ("fft", "linalg", "special") else function


def _parameters(parameters: Iterable[inspect.Parameter]) -> list[str]:
    shown, starred, before = [], False, None
    for parameter in parameters:
        if before is inspect.Parameter.POSITIONAL_ONLY and parameter.kind is not before:
            shown.append("/")
        if parameter.kind is parameter.VAR_POSITIONAL:
            starred = True
        elif parameter.kind is parameter.KEYWORD_ONLY and not starred:
            shown.append("*")
            starred = True
        before = parameter.kind
        text = "*" if parameter.kind is parameter.VAR_POSITIONAL else "**" if parameter.kind is parameter.VAR_KEYWORD else ""
        text += parameter.name
        annotated = parameter.annotation is not inspect.Parameter.empty
        if annotated:
            text += f": {_annotation(parameter.annotation)}"
        if parameter.default is not inspect.Parameter.empty:
            default = _default(parameter.default)
            text += f" = {default}" if annotated else f"={default}"
        shown.append(text)
    return shown


def _annotation(annotation: Any) -> str:
    text = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", None) or str(annotation)
    return re.sub(r"\b(?:flambeau|flambeau_nnlib|typing|collections\.abc|builtins)\.(?:\w+\.)*(?=[A-Z])", "", text)


def _default(value: Any) -> str:
    text = repr(value)
    if text.startswith("<"):
        text = getattr(value, "__name__", "...")
    return text


def _docstring(docstring: str) -> str:
    """Convert a docstring in Google style to Markdown."""
    parts = []
    for part in griffe.Docstring(docstring, lineno=1).parse("google", warnings=False):
        kind = part.kind.value
        if kind == "text":
            parts.append(_prose(part.value))
        elif kind in ("parameters", "other parameters", "attributes"):
            parts.append(_definitions("Parameters" if "param" in kind else "Attributes", [
                (item.name, item.annotation, item.description) for item in part.value]))  # fmt: skip
        elif kind in ("raises", "warns"):
            parts.append(_definitions(kind.capitalize(), [(item.annotation, None, item.description) for item in part.value]))
        elif kind in ("returns", "yields"):
            described = ((f"`{item.annotation}`: " if item.annotation else "") + item.description for item in part.value)
            parts.append(f"**{kind.capitalize()}:** " + _prose(" ".join(described)))
        elif kind == "examples":
            parts += [
                _prose(value) if part_kind.value == "text" else f"```pycon\n{value}\n```" for part_kind, value in part.value
            ]
        elif kind == "admonition":
            title = part.title or part.value.annotation.capitalize()
            body = _prose(inspect.cleandoc(part.value.description))
            parts.append(body if title in ("Example", "Examples", "Doctest") else f"**{title}**\n\n{body}")
        else:
            raise ValueError(f"docs/site/reference.py cannot render the docstring section {kind!r}")
    return "\n\n".join(parts)


def _definitions(title: str, items: list[tuple[str, Any, str]]) -> str:
    lines = [f"**{title}**\n"]
    for name, annotation, description in items:
        shown = f"`{name}`" + (f" ({annotation})" if annotation else "")
        described = _prose(description).replace("\n", "\n    ")
        lines.append(f"{shown}\n:   {described}\n")
    return "\n".join(lines)


def _prose(text: str) -> str:
    """Convert the text of a docstring to Markdown, with fences around doctests and literal blocks."""
    text = inspect.cleandoc(text)
    blocks = []
    for block in re.split(r"\n\s*\n", text):
        first = block.lstrip()
        if first.startswith(">>>"):
            code = re.sub(r"  # doctest:[^\n]*", "", inspect.cleandoc(block)).replace("<BLANKLINE>", "")
            blocks.append(f"```pycon\n{code}\n```")
        elif block.startswith("    ") and blocks:
            blocks.append(f"```python\n{inspect.cleandoc(block)}\n```")
        elif "\n>>>" in block:
            head, _, code = block.partition("\n>>>")
            blocks += [head, _prose(f">>>{code}")]
        else:
            blocks.append(re.sub(r"(?<!\n)\n(- )", r"\n\n\1", re.sub(r" ?::$", ":", block), count=1))
    merged: list[str] = []
    for block in blocks:
        if block.startswith("```python\n") and merged and merged[-1].startswith("```python\n"):
            merged[-1] = merged[-1].removesuffix("\n```") + "\n\n" + block.removeprefix("```python\n")
        else:
            merged.append(block)
    return "\n\n".join(merged).replace("<http", "&lt;http")


def _methods(name: str, cls: type) -> list[str]:
    """Return the section of the public methods and properties that a class defines, without inherited ones."""
    parts = []
    for method_name, value in vars(cls).items():
        if method_name.startswith("_") or method_name in reference_pages.METHODS_OF_ALL or name == "Tensor":
            continue
        function = value.__func__ if isinstance(value, (staticmethod, classmethod)) else value
        if not (inspect.isfunction(function) or isinstance(function, property)):
            continue
        docstring = inspect.getdoc(function)
        if not docstring:
            continue
        if isinstance(function, property):
            parts.append(f"`{method_name}`{{ .member }}\n:   " + _docstring(docstring).replace("\n", "\n    "))
            continue
        text = signature_text(method_name, getattr(cls, method_name), prefix=method_name)
        text = re.sub(r"\(\s*self(?:,\s*)?", "(", text, count=1) if text.startswith(f"{method_name}(") else text
        text = " ".join(text.split()).replace("( ", "(").replace(", )", ")")
        text = text or f"{method_name}(...)"
        parts.append(f"`{text}`{{ .member }}\n:   " + _docstring(docstring).replace("\n", "\n    "))
    return ["**Methods**", "\n\n".join(parts)] if parts else []


def _defining(name: str, member: Any) -> Any:
    """Return the object whose source defines a name: for an operation, the forward function of its record."""
    record = OPS.get(name) if "." not in name else None
    return record.forward if record is not None else inspect.unwrap(member) if callable(member) else member


def _notes(name: str, member: Any) -> str:
    """Return a line with the source file, and the backends on which the samples passed."""
    lines = []
    checked = examples.checked_on(name)
    if checked:
        lines.append(f"Checked on: {checked}")
    place = source_file(name, member)
    if place:
        lines.append(f"Code: `{place}`")
    return (
        "<small class='notes'>" + " · ".join(re.sub(r"`([^`]*)`", r"<code>\1</code>", line) for line in lines) + "</small>"
        if lines
        else ""
    )


def _source(name: str, member: Any) -> str:
    """Return the source code of a name in a collapsed block. For an operation, this is its record, with the derivatives."""
    place = source_file(name, member)
    if place is None:
        return ""
    defining = _defining(name, member)
    try:
        lines, number = inspect.getsourcelines(defining)
    except (OSError, TypeError):
        return ""
    if inspect.isfunction(defining) and defining.__name__ == "<lambda>":
        lines, number = _statement(ROOT / place, number)
    if len(lines) > 80:
        lines = [*lines[:80], "...\n"]
    code = textwrap.indent(textwrap.dedent("".join(lines)).rstrip(), "    ")
    return f'??? source "Source: {place}, line {number}"\n\n    ```python\n{code}\n    ```' + _source_link(place, number)


def _statement(path: Path, number: int) -> tuple[list[str], int]:
    """Return the lines of the statement at a line of a file, and its first line number."""
    statement = _statements(path)[number]
    text = path.read_text(encoding="utf-8").splitlines(keepends=True)
    return text[statement.lineno - 1 : statement.end_lineno], statement.lineno


@functools.cache
def _statements(path: Path) -> dict[int, ast.stmt]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {line: statement for statement in tree.body for line in range(statement.lineno, (statement.end_lineno or 0) + 1)}


def _source_link(place: str, number: int) -> str:
    repository = os.environ.get("FLAMBEAU_SITE_REPOSITORY", "")
    return f"\n\n    [In the repository]({repository}/blob/main/{place}#L{number})" if repository else ""


def source_file(name: str, member: Any) -> str | None:
    """Return the path of the file that defines a name; for an operation, the file of its record."""
    try:
        path = Path(inspect.getsourcefile(_defining(name, member)) or "")
    except TypeError:
        return None
    if path.name == "codegen.py":
        return None
    for folder, package in (("core", "flambeau"), ("nnlib", "flambeau_nnlib"), ("vision", "flambeau_vision")):
        if package in path.parts:  # wherever it is installed
            place = Path(folder, *path.parts[len(path.parts) - 1 - path.parts[::-1].index(package) :])
            return place.as_posix() if (ROOT / place).exists() else None
    return None

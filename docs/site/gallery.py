"""Pages of the programs in `examples/`, with the pictures that they draw and what they print during the build."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples"


@dataclass(frozen=True)
class Example:
    """A program of the gallery.

    Args:
        title: the heading of its page.
        options: arguments of the run whose pictures are shown; a name that ends in .png is a picture.
        requires: a package that the build lacks. The page then shows a picture from docs/assets, drawn by an earlier run.
    """

    title: str
    options: tuple[str, ...] = ("--plot", "plot.png")
    requires: str = ""


GALLERY = {
    "digits": Example("Handwritten digits"),
    "detector": Example("Object detection", ("--epochs", "4", "--plot", "plot.png")),
    "vae": Example("A variational autoencoder", ("--image", "digits.png", "--plot", "plot.png")),
    "dcgan": Example("A generative adversarial network", ("--image", "digits.png", "--plot", "plot.png")),
    "transformer": Example("A transformer encoder"),
    "char_rnn": Example("Text from an LSTM"),
    "generate": Example("Text from a language model"),
    "policy_gradient": Example("Reinforcement learning"),
    "hogwild": Example("Training without locks"),
    "compare": Example("The same losses as PyTorch", requires="PyTorch"),
    "ddp_on_dask": Example("Data-parallel training on Dask", requires="Dask"),
}


@dataclass
class Gallery:
    """Pages and pictures by path, and the entries of the navigation."""

    pages: dict[str, str] = field(default_factory=dict)
    pictures: dict[str, bytes] = field(default_factory=dict)
    navigation: list[dict[str, str]] = field(default_factory=list)


def write(run: bool = True) -> Gallery:
    """Write the pages of all examples. Run the examples, two in parallel, unless `run` is false.

    Raises:
        LookupError: a program in `examples/` is not in `GALLERY`, or the other way round.
        RuntimeError: a program failed.
    """
    present = {path.stem for path in EXAMPLES.glob("*.py") if '__name__ == "__main__"' in path.read_text(encoding="utf-8")}
    if present != GALLERY.keys():
        raise LookupError(f"programs that are only in examples/ or only in docs/site/gallery.py: {present ^ GALLERY.keys()}")
    gallery = Gallery()
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(2) as pool:
        runnable = [name for name, example in GALLERY.items() if run and not example.requires]
        slowest_first = sorted(runnable, key=["detector", "policy_gradient"].__contains__, reverse=True)
        printed = dict(zip(slowest_first, pool.map(lambda name: _run(name, Path(folder)), slowest_first), strict=True))
        for picture in sorted(Path(folder).glob("*.png")):
            gallery.pictures[f"examples/{picture.name}"] = picture.read_bytes()
    cards = []
    for name, example in GALLERY.items():
        pictures = [path.removeprefix("examples/") for path in gallery.pictures if path.startswith(f"examples/{name}-")]
        if example.requires:
            drawn = f"assets/example-{name}.svg"
            pictures = [f"../{drawn}"] if (EXAMPLES.parent / "docs" / drawn).exists() else []
        gallery.pages[f"examples/{name}.md"] = _page(name, example, pictures, printed.get(name, ""))
        gallery.navigation.append({example.title: f"examples/{name}.md"})
        cards.append(_card(name, example, pictures))
    gallery.pages["examples/index.md"] = _INDEX + '<div class="gallery" markdown>\n\n' + "\n\n".join(cards) + "\n\n</div>\n"
    gallery.navigation.insert(0, {"Gallery": "examples/index.md"})
    return gallery


_INDEX = """\
# Examples

Programs that train a network in seconds to half a minute on a laptop. Pictures and printed text come from runs during the build
of this site. The programs are written for PyTorch; `python -m flambeau` runs them.

"""


def _run(name: str, folder: Path) -> str:
    """Run an example, with its pictures in `folder` as `name-FILE.png`. Return what it prints."""
    options = [str(folder / f"{name}-{option}") if option.endswith(".png") else option for option in GALLERY[name].options]
    command = [sys.executable, "-W", "ignore", "-m", "flambeau", EXAMPLES / f"{name}.py", *options]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "MPLBACKEND": "Agg", "COLUMNS": "100"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=folder, timeout=1500)
    if done.returncode:
        raise RuntimeError(f"examples/{name}.py: {done.stderr}")
    return re.sub(r"^(plotted|wrote|.*\bwritten) .*\n?", "", done.stdout, flags=re.MULTILINE).rstrip()


def _parts(name: str) -> tuple[str, str, str]:
    """Return the docstring of an example in two parts, sentences and commands, and its code."""
    text = (EXAMPLES / f"{name}.py").read_text(encoding="utf-8")
    docstring = ast.get_docstring(ast.parse(text)) or ""
    blocks = re.split(r"\n\s*\n", docstring)
    commands = [line.strip() for block in blocks for line in block.splitlines() if re.match(r"\s*(python|pip) ", line)]
    sentences = [block for block in blocks if not re.match(r"\s*(python|pip) ", block)]
    return "\n\n".join(sentences), "\n".join(f"$ {command}" for command in commands), text


def _page(name: str, example: Example, pictures: list[str], printed: str) -> str:
    sentences, commands, code = _parts(name)
    lines = [f"# {example.title}", sentences, f"```console\n{commands}\n```"]
    lines += [f"![A picture that the program draws]({picture}){{ .drawn }}" for picture in pictures]
    if example.requires and pictures:
        lines.append(f"The picture is from an earlier run, because this program requires {example.requires}.")
    if printed:
        lines.append(f"It prints\n\n``` {{ .text .printed }}\n{printed}\n```")
    lines.append(f"## Code\n\n`examples/{name}.py`\n\n```python\n{code}```")
    return "\n\n".join(lines) + "\n"


def _card(name: str, example: Example, pictures: list[str]) -> str:
    picture = f"![]({pictures[0]})" if pictures else ""
    sentences, _, _ = _parts(name)
    about = " ".join(sentences.split("\n\n")[0].split())
    return f"<div markdown>\n\n[{picture}**{example.title}**]({name}.md)\n\n{about}\n\n</div>"

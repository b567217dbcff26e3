"""Following docs/plugins.md from an empty folder produces the template plugin, which works."""

from __future__ import annotations

import inspect
import os
import re
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs" / "plugins.md").read_text(encoding="utf-8")
BLOCK = re.compile(
    r"^(?:In `([^`]+)`(?:, at the end of the (class|entry points))?:\n\n)?```(console|python|text|toml)\n(.*?)```",
    re.DOTALL | re.MULTILINE,
)
TEMPLATE, LATER = GUIDE.split("## 5. Make it fast")
KERNELS = re.findall(r"^\| `(\w+)` \| `([^`]*)`", GUIDE, re.MULTILINE)


def write(path: Path, text: str, place: str) -> None:
    """Write a code block to a file. If the file exists, insert the block at the end of a class or table, or append it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        path.write_text(text, encoding="utf-8")
        return
    before, after = path.read_text(encoding="utf-8"), ""
    if place == "class":
        before, after = before.split("\n\n\n_backend", 1)
        before, after = f"{before}\n\n", f"\n\n_backend{after}"
    elif place == "entry points":
        before, after = before.split("\n\n[project.optional-dependencies]", 1)
        before, after = f"{before}\n", f"\n[project.optional-dependencies]{after}"
    else:
        before = f"{before}\n\n"
    path.write_text(before + text + after, encoding="utf-8")


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., str]:
    """Return a function that runs a shell command in the plugin's folder, in a virtual environment without downloads."""
    for library in ("hatchling", "editables", "array_api_strict"):
        pytest.importorskip(library)
    home = tmp_path_factory.mktemp("guide")
    subprocess.run([sys.executable, "-m", "venv", home / "venv"], check=True)
    packages = Path(sysconfig.get_path("purelib", "venv", {"base": str(home / "venv")}))
    packages.joinpath("all.pth").write_text(sysconfig.get_path("purelib"), encoding="utf-8")
    folder = home / "flambeau-mylibrary"
    folder.mkdir()
    offline = {"PIP_NO_INDEX": "1", "PIP_NO_DEPS": "1", "PIP_NO_BUILD_ISOLATION": "0", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    environment = {
        **os.environ, **offline, "PATH": f"{home / 'venv' / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "XDG_CACHE_HOME": str(home / "caches"), "FLAMBEAU_BACKEND": "",
    }  # fmt: skip

    def run(line: str) -> str:
        done = subprocess.run(["bash", "-c", line], cwd=folder, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"$ {line}\n{done.stdout}{done.stderr}"
        return done.stdout

    run.folder = folder  # type: ignore[attr-defined]
    return run


@pytest.fixture(scope="module")
def outputs(shell: Callable[..., str]) -> dict[str, str]:
    """Run the steps that build the template; return the output of each console command."""
    return follow(TEMPLATE, shell)


def follow(guide: str, shell: Callable[..., str]) -> dict[str, str]:
    """Write the files and run the commands of a part of the guide; return the output of each command."""
    found = {}
    for path, place, language, block in BLOCK.findall(guide):
        if path:
            write(shell.folder / path, block, place)  # type: ignore[attr-defined]
        for line in block.splitlines() if language == "console" else ():
            found[line.removeprefix("$ ")] = shell(line.removeprefix("$ "))
    return found


@pytest.fixture(scope="module")
def files(shell: Callable[..., str], outputs: dict[str, str]) -> dict[str, str]:
    """The files of the plugin after the steps that build the template, as {path: text}."""
    return read(shell.folder)  # type: ignore[attr-defined]


@pytest.fixture(scope="module")
def later(shell: Callable[..., str], files: dict[str, str]) -> None:
    """Run the other steps, for libraries that need them."""
    follow(LATER, shell)


def read(folder: Path) -> dict[str, str]:
    """Return the text files in a folder as {path: text}."""
    return {
        path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted(folder.rglob("*"))
        if path.suffix in (".py", ".toml", ".txt") and "__pycache__" not in path.parts
    }


def test_what_comes_out_is_the_template(files: dict[str, str]) -> None:
    optional = "src/flambeau_mylibrary/namespace.py"
    assert optional in files
    assert {path: text for path, text in files.items() if path != optional} == read(ROOT / "plugins" / "template")


def test_every_line_says_what_it_should(outputs: dict[str, str]) -> None:
    install, backends, use, conformance, tests = outputs
    assert install.startswith("pip install") and "mylibrary-0.1.0" in outputs[install]
    assert "  mylibrary  flambeau_mylibrary (flambeau-mylibrary 0.1.0)\n" in outputs[backends]
    assert outputs[use] == "mylibrary:0\n"
    assert re.search(r"^all +\d{4} +0 ", outputs[conformance], re.MULTILINE), outputs[conformance]
    assert "1 passed" in outputs[tests]


def test_functions_with_other_arguments(shell: Callable[..., str], files: dict[str, str]) -> None:
    code = (
        "import flambeau_mylibrary as plugin; from flambeau_mylibrary import namespace; plugin.MyBackend.xp = namespace; "
        "import flambeau as torch; x = torch.tensor([1.0, 3.0, 2.0], device='mylibrary'); "
        "print(x.sort(descending=True).values.tolist(), x.exp().shape, torch.backend.find('mylibrary').xp.sort.__module__)"
    )
    assert shell(f'python -c "{code}"') == "[3.0, 2.0, 1.0] torch.Size([3]) flambeau_mylibrary.namespace\n"


def test_kernels_and_the_mutable_library_work(shell: Callable[..., str], later: None) -> None:
    code = (
        "import flambeau as torch; x = torch.tensor([-1., 2.], device='mylibrary'); "
        "print(torch.relu(x).tolist(), torch.backend.find('mylibrary').kernels['relu'].__module__)"
    )
    assert shell(f'python -c "{code}"') == "[0.0, 2.0] flambeau_mylibrary\n"
    shell("pip install -e '.[test]'")  # a new entry point
    found = shell("python -m flambeau conformance mymutable tensors views autograd indexing scatter training --quick")
    assert re.search(r"^all +\d{3} +0 +0 +0 ", found, re.MULTILINE), found


@pytest.mark.parametrize(("name", "arguments"), KERNELS)
def test_kernels_take_these_arguments(name: str, arguments: str) -> None:
    from flambeau.extension import forward_of

    assert ", ".join([*inspect.signature(forward_of(name)).parameters][1:]) == arguments

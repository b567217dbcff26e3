"""Following docs/plugins.md from an empty folder produces the template plugin, which works."""

from __future__ import annotations

import inspect
import os
import re
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs" / "plugins.md").read_text(encoding="utf-8")
STEPS = re.findall(
    r"^(?:In `([^`]+)`(, at the end of the class)?:\n\n)?```(?:console|python|text|toml)\n(.*?)```",
    GUIDE,
    re.DOTALL | re.MULTILINE,
)
KERNELS = re.findall(r"^\| `(\w+)` \| `([^`]*)`", GUIDE, re.MULTILINE)


def write(path: Path, text: str, inside: bool) -> None:
    """Write a code block to a file. If the file exists, append the block, or insert it into the last class if `inside`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        path.write_text(text, encoding="utf-8")
    elif inside:
        before, after = path.read_text(encoding="utf-8").split("\n\n\n_backend", 1)
        path.write_text(f"{before}\n\n{text}\n\n_backend{after}", encoding="utf-8")
    else:
        path.write_text(f"{path.read_text(encoding='utf-8')}\n\n{text}", encoding="utf-8")


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
    """Run all steps of the guide; return the output of each console command."""
    found = {}
    for path, inside, block in STEPS:
        if path:
            write(shell.folder / path, block, bool(inside))  # type: ignore[attr-defined]
        for line in () if path else block.splitlines():
            found[line.removeprefix("$ ")] = shell(line.removeprefix("$ "))
    return found


def test_what_comes_out_is_the_template(shell: Callable[..., str], outputs: dict[str, str]) -> None:
    def files(folder: Path) -> Iterator[tuple[str, str]]:
        for path in sorted(folder.rglob("*")):
            if path.suffix in (".py", ".toml", ".txt") and "__pycache__" not in path.parts:
                yield path.relative_to(folder).as_posix(), path.read_text(encoding="utf-8")

    assert dict(files(shell.folder)) == dict(files(ROOT / "plugins" / "template"))  # type: ignore[attr-defined]


def test_every_line_says_what_it_should(outputs: dict[str, str]) -> None:
    install, backends, use, conformance, tests = outputs
    assert install.startswith("pip install") and "mylibrary-0.1.0" in outputs[install]
    assert (
        "  mylibrary  flambeau_mylibrary (flambeau-mylibrary 0.1.0)\n" in outputs[backends]
        and "  mymutable " in outputs[backends]
    )
    assert outputs[use] == "mylibrary:0\n"
    assert re.search(r"^all +\d{4} +0 ", outputs[conformance], re.MULTILINE), outputs[conformance]
    assert "1 passed" in outputs[tests]


def test_kernels_and_the_mutable_library_work(shell: Callable[..., str], outputs: dict[str, str]) -> None:
    code = (
        "import flambeau as torch; x = torch.tensor([-1., 2.], device='mylibrary'); "
        "print(torch.relu(x).tolist(), torch.backend.find('mylibrary').kernels['relu'].__module__)"
    )
    assert shell(f'python -c "{code}"') == "[0.0, 2.0] flambeau_mylibrary\n"
    found = shell("python -m flambeau conformance mymutable tensors views autograd indexing scatter training --quick")
    assert re.search(r"^all +\d{3} +0 +0 +0 ", found, re.MULTILINE), found


@pytest.mark.parametrize(("name", "arguments"), KERNELS)
def test_kernels_take_these_arguments(name: str, arguments: str) -> None:
    from flambeau.extension import forward_of

    assert ", ".join([*inspect.signature(forward_of(name)).parameters][1:]) == arguments

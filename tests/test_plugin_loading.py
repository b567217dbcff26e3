"""Plugins as they are found and loaded: what is wrong with one is said by name, and harms nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

GOOD = """
import numpy
from flambeau.backend import Backend, hookimpl
class Mine(Backend):
    name = device_type = "mine"
    xp, array_type, mutable = numpy, numpy.ndarray, False
@hookimpl
def flambeau_backend(name):
    return Mine() if name == "mine" else None
"""


@pytest.fixture
def plugin(tmp_path: Path) -> Callable[..., str]:
    """Install a plugin `mine` made of this code, run flambeau on an argument list, and return what it said."""

    def install_and_run(code: str, *args: str, group: str = "flambeau.backends", check: bool = True, **variables: str) -> str:
        info = tmp_path / "flambeau_mine-2.5.dist-info"
        info.mkdir(exist_ok=True)
        info.joinpath("METADATA").write_text(
            "Metadata-Version: 2.1\nName: flambeau-mine\nVersion: 2.5\n"
            "Requires-Dist: array-of-mine>=7\nRequires-Dist: pytest; extra == 'test'\n"
        )
        info.joinpath("entry_points.txt").write_text(f"[{group}]\nmine = flambeau_of_mine\n")
        tmp_path.joinpath("flambeau_of_mine.py").write_text(code)
        path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
        environment = {**os.environ, "PYTHONPATH": path, "FLAMBEAU_BACKEND": "", **variables}
        done = subprocess.run([sys.executable, *(args or ("-c", USE))], env=environment, capture_output=True, text=True)
        assert not check or done.returncode == 0, done.stderr
        return done.stdout + done.stderr

    return install_and_run


USE = """
import flambeau as torch
x = torch.ones(2, device="mine", requires_grad=True)
(x * 3).sum().backward()
print(x.device, x.grad.tolist())
"""


def test_a_good_one_works(plugin: Callable[..., str]) -> None:
    assert plugin(GOOD) == "mine:0 [3.0, 3.0]\n"


def test_it_is_listed_but_not_imported(plugin: Callable[..., str]) -> None:
    listed = plugin("raise SystemError('imported')", "-m", "flambeau", "backends")
    assert "  mine       flambeau_of_mine (flambeau-mine 2.5)\n" in listed and "* numpy " in listed
    assert plugin("raise SystemError('imported')", "-c", "import flambeau; print(flambeau.ones(1))") == "tensor([1.])\n"


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("import a_library_that_is_not_there",
         "could not be imported: ModuleNotFoundError: No module named 'a_library_that_is_not_there'; it needs array-of-mine>=7"),
        ("from flambeau.backend import SomethingOfTheFuture", "could not be imported: ImportError: cannot import name 'Something"),
        ("1 / 0", "could not be imported: ZeroDivisionError: division by zero"),
        ("", "'mine' gives no backend of that name"),
        (GOOD.replace("return Mine() if", "return 'mine' if"), "'mine' gives a str, not a flambeau.backend.Backend"),
        (GOOD.replace("(name)", "(name, version)"), "'mine' was made for another version of flambeau: Plugin 'mine' for hook"),
        (GOOD.replace("@hookimpl", "@hookimpl\ndef flambeau_new(name): pass\n@hookimpl"),
         "'mine' was made for another version of flambeau: unknown hook 'flambeau_new' in plugin"),
        (GOOD.replace("xp, array_type,", "_x, _y,"), "the backend of flambeau plugin 'mine' has no xp, array_type"),
        (GOOD.replace("return Mine() if", "return absent if"), "'mine' failed in flambeau_backend: NameError: name 'absent' is not"),
        (GOOD.replace('"mine"\n', '"cuda"\n'), "'mine' wants devices of type 'cuda', which are those of the cupy backend"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("selected", [True, False])
def test_what_is_wrong_is_said_by_name(plugin: Callable[..., str], code: str, said: str, selected: bool) -> None:
    use = "import flambeau; flambeau.ones(1)" if selected else "import flambeau; flambeau.backend.find('mine')"
    found = plugin(code, "-c", use, check=False, FLAMBEAU_BACKEND="mine" if selected else "")
    assert found.splitlines()[-1].startswith("RuntimeError: ") and said in found and "flambeau plugin 'mine'" in found


def test_a_broken_one_takes_nothing_else_down(plugin: Callable[..., str]) -> None:
    found = plugin("1 / 0", "-c", "import flambeau; print(flambeau.ones(1))", group="flambeau.plugins")
    assert "UserWarning: flambeau plugin 'mine' (flambeau-mine 2.5) could not be imported: ZeroDivisionError" in found
    assert "tensor([1.])" in found


@pytest.mark.parametrize("hook", ["flambeau_kernels(backend)", "flambeau_inplace_kernels(backend)", "flambeau_report_header()"])
def test_one_that_fails_later_takes_nothing_else_down(plugin: Callable[..., str], hook: str) -> None:
    code = f"from flambeau.backend import hookimpl\n@hookimpl\ndef {hook}: 1 / 0"
    use = "import flambeau, flambeau.launching.env; print(flambeau.zeros(2).exp_()); print(flambeau.launching.env.report())"
    found = plugin(code, "-c", use, group="flambeau.plugins")
    assert f"UserWarning: flambeau plugin 'mine' failed in {hook.partition('(')[0]}: ZeroDivisionError: division" in found
    assert "tensor([1., 1.])" in found and "default device:" in found


def test_collectives_that_fail(plugin: Callable[..., str]) -> None:
    code = GOOD + "@hookimpl\ndef flambeau_collectives(device_type): 1 / 0"
    use = "import flambeau; flambeau.nn.DataParallel(flambeau.nn.Identity(), ['mine', 'mine'])(flambeau.ones(2))"
    found = plugin(code, "-c", use, check=False)
    assert "UserWarning: flambeau plugin 'mine' failed in flambeau_collectives: ZeroDivisionError: division by zero" in found
    assert "RuntimeError: there are no collectives for devices of type 'mine'" in found


def test_two_of_one_name(plugin: Callable[..., str], tmp_path: Path) -> None:
    for distribution, version, name in (("flambeau-yours", "1.0", "mine"), ("flambeau-theirs", "0.5", "numpy")):
        info = tmp_path / f"{distribution.replace('-', '_')}-{version}.dist-info"
        info.mkdir()
        info.joinpath("METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\n")
        info.joinpath("entry_points.txt").write_text(f"[flambeau.backends]\n{name} = other_module\n")
    listed = plugin(GOOD, "-m", "flambeau", "backends")
    assert "* numpy      flambeau_backends.numpy; also called so: other_module (flambeau-theirs 0.5)\n" in listed
    assert "(flambeau-mine 2.5)" in listed and "(flambeau-yours 1.0)" in listed and listed.count("also called so") == 2
    found = plugin(GOOD, check=False)
    assert "RuntimeError: several flambeau plugins are called 'mine', of which only one can be installed: flambeau-" in found
    assert plugin(GOOD, "-c", "import flambeau; print(flambeau.ones(1))") == "tensor([1.])\n"


def test_a_selection_of_nothing_is_listed_as_such(plugin: Callable[..., str]) -> None:
    listed = plugin(GOOD, "-m", "flambeau", "backends", check=False, FLAMBEAU_BACKEND="absent")
    assert "  mine " in listed and "FLAMBEAU_BACKEND selects 'absent', which is none of these\n" in listed
    assert "* mine " in plugin(GOOD, "-m", "flambeau", "backends", FLAMBEAU_BACKEND="mine:0")


def test_a_kernel_pack(plugin: Callable[..., str]) -> None:
    code = """
from flambeau.backend import hookimpl
@hookimpl
def flambeau_kernels(backend):
    return {"exp": lambda array: array + 40} if backend.name == "numpy" else None
@hookimpl
def flambeau_report_header():
    return "the pack of mine"
"""
    use = (
        "import flambeau, flambeau.launching.env; print(flambeau.zeros(2).exp().tolist()); print(flambeau.launching.env.report())"
    )
    found = plugin(code, "-c", use, group="flambeau.plugins")
    assert found.startswith("[40.0, 40.0]\n") and "the pack of mine" in found
    assert plugin(code, "-c", use, group="flambeau.plugins", FLAMBEAU_PLUGINS="").startswith("[1.0, 1.0]\n")


def test_a_kernel_that_no_operation_has_is_warned_of(plugin: Callable[..., str]) -> None:
    code = """
from flambeau.backend import hookimpl
@hookimpl
def flambeau_kernels(backend):
    return dict.fromkeys(("exp", "linalg_det", "lion_step", "fused_dropout", "exq"), lambda array: array)
"""
    found = plugin(code, "-c", "import flambeau; flambeau.zeros(2).exp()", group="flambeau.plugins")
    assert "UserWarning: a kernel pack for the numpy backend has a kernel 'exq', but there is no operation of that name" in found
    assert found.count("UserWarning") == 1


def test_the_backends_own_kernels_are_of_operations() -> None:
    import flambeau

    backend = flambeau.backend.find("numpy")
    assert backend.unknown_kernels(backend.kernels) == []


def test_plugins_can_be_left_out(plugin: Callable[..., str]) -> None:
    listing = ("-m", "flambeau", "backends")
    assert "mine" in plugin(GOOD, *listing, FLAMBEAU_PLUGINS="other, mine")
    for names in ("", "other"):
        assert "mine" not in plugin(GOOD, *listing, FLAMBEAU_PLUGINS=names)
    found = plugin(GOOD, "-c", "import flambeau; flambeau.ones(1)", check=False, FLAMBEAU_PLUGINS="", FLAMBEAU_BACKEND="mine")
    assert "unknown flambeau backend 'mine'; installed: cupy, numpy (FLAMBEAU_PLUGINS leaves out all others)." in found


def test_the_conformance_kit_on_an_installed_backend(plugin: Callable[..., str]) -> None:
    found = plugin(GOOD, "-m", "flambeau", "conformance", "mine", "creation", "autograd")
    rows = [line.split() for line in found.splitlines()]
    assert rows[0] == ["family", "passed", "failed", "seconds"]
    assert [row[:1] + row[2:3] for row in rows[1:]] == [["creation", "0"], ["autograd", "0"], ["all", "0"]]


def test_the_conformance_kit_finds_what_is_wrong(plugin: Callable[..., str]) -> None:
    code = GOOD + "Mine.kernels = {'exp': lambda array: array + 1, 'neg': lambda array: numpy.negative(array, out=array)}\n"
    found = plugin(code, "-W", "ignore", "-m", "flambeau", "conformance", "mine", "pointwise", check=False)
    failed = [line for line in found.splitlines() if line.startswith("FAILED ")]
    for name in ("exp", "neg"):
        assert any(line.startswith(f"FAILED {name} [pointwise-") and line.count(": ") for line in failed), found
    assert not any(line.startswith("FAILED sin ") for line in failed)

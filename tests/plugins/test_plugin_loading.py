"""Finding and loading plugins: errors name the plugin, and flambeau and other plugins work despite a broken one."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from flambeau.backend import hookimpl
from flambeau.conformance.kit import Check, attempt

pytestmark = pytest.mark.slow

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
    """Return a function that installs code as the plugin `mine`, runs flambeau with arguments, and returns the output."""

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
        caches = {"FLAMBEAU_BACKEND": "", "XDG_CACHE_HOME": str(tmp_path / "caches")}
        environment = {**os.environ, "PYTHONPATH": path, **caches, **variables}
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


def test_it_is_listed_with_what_it_has_and_lacks(plugin: Callable[..., str]) -> None:
    def listed(name: str) -> str:
        whole = plugin(POOR, "-m", "flambeau", "backends")
        return " ".join(whole[whole.index(f" {name} ") :].split())

    assert listed("mine").startswith("mine flambeau_of_mine (flambeau-mine 2.5) library mine: ")
    for said in ("devices mine:0 dtypes bool, uint8, int8,", " lacking uint16, uint32, uint64, ", ", float64, ",
                 " on the CPU random numbers, bytes as another dtype, linalg_eig",
                 " conformance not run yet: python -m flambeau conformance mine "):  # fmt: skip
        assert said in listed("mine"), listed("mine")
    assert "dtypes bool, uint8" in listed("numpy") and "on the CPU nothing" in listed("numpy")


def test_one_that_cannot_be_imported_is_listed_with_the_reason(plugin: Callable[..., str]) -> None:
    listed = plugin("raise SystemError('imported')", "-m", "flambeau", "backends")
    assert "  mine       flambeau_of_mine (flambeau-mine 2.5)\n" in listed and "* numpy " in listed
    said = " ".join(listed.split())
    assert "(flambeau-mine 2.5) could not be imported: SystemError: imported; it needs array-of-mine>=7" in said
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
    use = "import flambeau, flambeau.cli.env; print(flambeau.zeros(2).exp_()); print(flambeau.cli.env.report())"
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
    assert "* numpy      flambeau_backends.numpy; the same name is used by other_module (flambeau-theirs 0.5)\n" in listed
    assert "(flambeau-mine 2.5)" in listed and "(flambeau-yours 1.0)" in listed and listed.count("the same name is used by") == 2
    found = plugin(GOOD, check=False)
    assert "RuntimeError: several flambeau plugins are called 'mine'; uninstall all except one of: flambeau-" in found
    assert plugin(GOOD, "-c", "import flambeau; print(flambeau.ones(1))") == "tensor([1.])\n"


def test_a_selection_of_nothing_is_listed_as_such(plugin: Callable[..., str]) -> None:
    listed = plugin(GOOD, "-m", "flambeau", "backends", check=False, FLAMBEAU_BACKEND="absent")
    assert (
        "  mine " in listed
        and "FLAMBEAU_BACKEND: unknown flambeau backend 'absent'. Installed: cupy, mine, numpy. Other backends are plugins"
        in listed
    )
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
    use = "import flambeau, flambeau.cli.env; print(flambeau.zeros(2).exp().tolist()); print(flambeau.cli.env.report())"
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
    assert flambeau.backend.upper_layers.unknown_kernels(backend.kernels) == []


def test_plugins_can_be_left_out(plugin: Callable[..., str]) -> None:
    listing = ("-m", "flambeau", "backends")
    assert "mine" in plugin(GOOD, *listing, FLAMBEAU_PLUGINS="other, mine")
    for names in ("", "other"):
        assert "mine" not in plugin(GOOD, *listing, FLAMBEAU_PLUGINS=names)
    found = plugin(GOOD, "-c", "import flambeau; flambeau.ones(1)", check=False, FLAMBEAU_PLUGINS="", FLAMBEAU_BACKEND="mine")
    assert "unknown flambeau backend 'mine'. Installed: cupy, numpy (FLAMBEAU_PLUGINS leaves out all others)." in found


def test_the_conformance_kit_on_an_installed_backend(plugin: Callable[..., str]) -> None:
    found = plugin(GOOD, "-m", "flambeau", "conformance", "mine", "creation", "autograd")
    rows = [line.split() for line in found.splitlines()]
    assert rows[0] == ["family", "passed", "failed", "skipped", "expected", "seconds"]
    assert [row[:1] + row[2:3] for row in rows[1:]] == [["creation", "0"], ["autograd", "0"], ["all", "0"]]


def test_the_conformance_kit_finds_what_is_wrong(plugin: Callable[..., str]) -> None:
    code = GOOD + "Mine.kernels = {'exp': lambda array: array + 1, 'neg': lambda array: numpy.negative(array, out=array)}\n"
    found = plugin(code, "-W", "ignore", "-m", "flambeau", "conformance", "mine", "pointwise", check=False)
    failed = [line for line in found.splitlines() if line.startswith("FAILED ")]
    for name in ("exp", "neg"):
        assert any(line.startswith(f"FAILED {name} [pointwise-") and line.count(": ") for line in failed), found
    assert not any(line.startswith("FAILED sin ") for line in failed)
    wrong = next(line for line in failed if line.startswith("FAILED exp [pointwise-") and " values: " in line)
    numbers = re.search(r"expected ([-\d.e]+) at \[0, 0\], found ([-\d.e]+); 6 of 6 elements differ, by at most ", wrong)
    assert numbers, wrong
    causes = found[found.index("failures, by cause:") :].splitlines()
    assert [line.strip() for line in causes if line.startswith("       exp (values")] == ["exp (values, shapes, vmap)"]
    assert "failures, by cause:" in found and "see where: python -m flambeau conformance mine FAMILY --traceback" in found


def test_the_list_says_when_the_conformance_kit_last_passed(plugin: Callable[..., str], tmp_path: Path) -> None:
    whole = GOOD.replace("import numpy\n", "import array_api_compat.numpy as numpy\n")  # fully conforms to the array API standard

    def said() -> str:
        listed = plugin(whole, "-m", "flambeau", "backends")
        return " ".join(listed[listed.index("  mine ") : listed.index("* numpy")].split())

    record = tmp_path / "caches" / "flambeau" / "conformance" / "mine.json"
    assert said().endswith("conformance not run yet: python -m flambeau conformance mine")
    found = plugin(whole, "-W", "ignore", "-m", "flambeau", "conformance", "mine", "--quick", "--jobs", "2")
    checks = next(line.split()[1] for line in found.splitlines() if line.startswith("all "))
    assert re.search(
        rf"conformance quick run passed on \d{{4}}-\d\d-\d\d: {checks} checks, .*\d s; mine: array_api_compat.numpy ", said()
    ), said()
    assert "on the CPU random numbers, bytes as another dtype, " in said()
    record.write_text(record.read_text().replace('"failed": 0', '"failed": 3'))
    assert "; quick run failed on " in said()


CUT_OFF = """
import os, time
def cut_off(*arrays):
    deadline = time.monotonic() + 300  # what was checked reaches the journal by way of another thread
    while open({journal!r}).read().count('"passed"') <= 40 and time.monotonic() < deadline:
        time.sleep(0.05)
    os.kill(os.getppid(), 9)
Mine.kernels = {{'logical_or': cut_off}}
"""


def test_a_run_that_was_cut_off_goes_on_where_it_stopped(plugin: Callable[..., str], tmp_path: Path) -> None:
    journal = tmp_path / "caches" / "flambeau" / "conformance" / "mine.jsonl"
    cut_off = GOOD + CUT_OFF.format(journal=str(journal))
    command = ("-m", "flambeau", "conformance", "mine", "creation", "comparison", "--quick", "--resume")
    plugin(cut_off, *command, check=False)
    before = journal.read_text().splitlines()
    assert sum('"passed"' in line for line in before) > 40 and sum('["creation", ' in line for line in before) > 20
    found = plugin(GOOD, *command)
    rows = [line.split() for line in found.splitlines()]
    assert [row[0] for row in rows] == ["family", "creation", "comparison", "all"] and {row[2] for row in rows[1:]} == {"0"}
    assert found.replace(" ", "") and not journal.exists()
    whole = plugin(GOOD, *command[:-1])
    assert [row[:5] for row in rows] == [line.split()[:5] for line in whole.splitlines()]


CRASHING = """
import os, time
def in_half(do, function):
    def kernel(array, other):
        if array.dtype == numpy.float16: do()
        return function(array, other)
    return kernel
def refuse():
    assert numpy.pi > 4
def once():
    crashed = os.environ['XDG_CACHE_HOME'] + '/crashed'
    if not os.path.exists(crashed):
        open(crashed, 'w').close()
        os._exit(4)
Mine.kernels = {
    'maximum': in_half(lambda: os._exit(3), numpy.maximum),
    'minimum': in_half(lambda: time.sleep(600), numpy.minimum),
    'ge': in_half(refuse, numpy.greater_equal),
    'le': in_half(once, numpy.less_equal),
}
"""


def test_the_conformance_kit_survives_crashes_and_says_what_is_expected(plugin: Callable[..., str], tmp_path: Path) -> None:
    tmp_path.joinpath("exceptions.txt").write_text("# known\nmaximum *\nsin [pointwise-*] values\n")
    options = (
        "--quick",
        "--limit",
        "4",
        "--exceptions",
        str(tmp_path / "exceptions.txt"),
        "--summary",
        str(tmp_path / "found.md"),
    )
    found = plugin(GOOD + CRASHING, "-m", "flambeau", "conformance", "mine", "comparison", *options, check=False)
    lines = found.splitlines()
    assert not any(line.startswith("FAILED maximum ") for line in lines)
    assert any(line.startswith("FAILED minimum ") and line.endswith(" values: no result within 4 s") for line in lines), found
    repeated = [line for line in lines if line.startswith("REPEATED ")]
    assert len(repeated) == 1 and repeated[0].startswith("REPEATED le ")
    assert repeated[0].endswith(" values: its process ended with exit code 4 at the first attempt")
    assert any(line.startswith("FAILED ge ") and "(arguments: [2, 3] float16, " in line for line in lines), found
    passed, failed, _, expected = map(int, next(line for line in lines if line.startswith("comparison ")).split()[1:5])
    assert passed > 40 and failed >= 2 and expected == 1
    summary = tmp_path.joinpath("found.md").read_text()
    assert summary.startswith("# Conformance of mine\n") and f"| comparison | {passed} | {failed} |" in summary
    assert "## Declared exceptions" in summary and "its process ended with exit code 3" in summary


def test_a_failure_always_says_something() -> None:
    def fail() -> None:
        raise AssertionError

    def fail_in_several_lines() -> None:
        assert (
            len("ab")
            == 3
        )  # fmt: skip

    assert attempt(Check("a check", fail), "cpu").reason.startswith("AssertionError: in fail: raise AssertionError")
    said = attempt(Check("a check", fail_in_several_lines), "cpu").reason
    assert said.startswith(
        ("AssertionError: in fail_in_several_lines: assert", "AssertionError: assert 2 == 3")
    )  # pytest rewrites assertion messages, unless its rewriting is off


def test_a_check_that_needs_an_extra_is_skipped_and_says_so() -> None:
    def fail() -> None:
        raise RuntimeError("this needs SciPy: pip install scipy")

    assert attempt(Check("a check", fail), "cpu").outcome == "skipped"


def test_the_conformance_kit_says_what_families_there_are(plugin: Callable[..., str]) -> None:
    for arguments in (("mine", "--help"), ("mine", "no_such_family")):
        assert "nn layers, training" in " ".join(plugin(GOOD, "-m", "flambeau", "conformance", *arguments, check=False).split())


MADE_OF_PYTORCH = GOOD.replace("import numpy\n", "import torch as numpy\n")
LAZILY_MADE_OF_PYTORCH = GOOD.replace("import numpy\n", "").replace(
    "class Mine(Backend):", "def made():\n  import torch as numpy\n  class Mine(Backend):"
).replace("    name = dev", "      name = dev").replace("    xp, arr", "      xp, arr").replace(
    "@hookimpl", "  return Mine()\n@hookimpl"
).replace("return Mine() if", "return made() if")  # fmt: skip


@pytest.mark.parametrize("code", [MADE_OF_PYTORCH, LAZILY_MADE_OF_PYTORCH], ids=["imports", "imports in the hook"])
def test_one_made_of_pytorch_in_a_program_whose_torch_is_flambeau(plugin: Callable[..., str], tmp_path: Path, code: str) -> None:
    """In a plugin, `import torch` imports the installed PyTorch, while in the program it imports flambeau."""
    tmp_path.joinpath("torch").mkdir()
    tmp_path.joinpath("torch", "__init__.py").write_text(
        "from numpy import *\nfrom numpy import ndarray, bool\nimport torch.part\n"
    )
    tmp_path.joinpath("torch", "part.py").write_text("")
    program = (
        USE.replace("import flambeau as torch", "import torch, torch.nn") + "import torch.nn.functional; print(torch.__file__)"
    )
    said = plugin(code, "-m", "flambeau", "-c", program)
    assert said.startswith("mine:0 [3.0, 3.0]\n") and said.endswith("flambeau/__init__.py\n"), said


MUTABLE = GOOD.replace("mutable = numpy, numpy.ndarray, False", "mutable = numpy, numpy.ndarray, True")


def test_a_mutable_one_has_to_be_a_mutable_backend(plugin: Callable[..., str]) -> None:
    assert "has `mutable = True`: subclass flambeau.backend.MutableBackend instead of Backend" in plugin(MUTABLE, check=False)
    said = plugin(MUTABLE.replace("Backend", "MutableBackend"), check=False)
    assert "flambeau plugin 'mine' failed in flambeau_backend: TypeError: Can't instantiate abstract class Mine" in said
    for method in ("as_strided", "data_ptr", "root", "shares_memory", "strides"):
        assert method in said


def test_methods_work_under_their_deprecated_names(plugin: Callable[..., str]) -> None:
    """The deprecated hook `compiled` of a backend still receives the functions to compile."""
    old = GOOD.replace(
        "@hookimpl",
        "    def compiled(self, name, function):\n        return lambda *args: print(name) or function(*args)\n@hookimpl",
    )
    said = plugin(old, "-W", "default", "-c", "import flambeau; flambeau.ones(1, device='mine').exp()")
    assert "exp\n" in said and "DeprecationWarning: Backend.compiled is now called compile_forward: Mine defines compiled" in said


def test_a_plugin_of_two_names_is_registered_once() -> None:
    import flambeau.engine.devices.plugins as registry

    class Plugin:
        @staticmethod
        @hookimpl
        def flambeau_report_header() -> str:
            return "said once"

    module = Plugin()
    first = registry.register("once", module)
    try:
        assert registry.register("twice", module) is first
        assert registry.plugins().hook.flambeau_report_header().count("said once") == 1
    finally:
        registry.plugins().unregister(first)


POOR = """
import types
import numpy
from flambeau.backend import Backend, hookimpl

class DType:
    "Some libraries' dtypes refuse to be compared with what is no dtype."
    def __init__(self, raw): self.raw = numpy.dtype(raw)
    def __hash__(self): return hash(self.raw)
    def __eq__(self, other):
        if not isinstance(other, DType): raise TypeError(f"DType compared with {other!r}")
        return self.raw == other.raw

class Array(numpy.ndarray):
    dtype = property(lambda self: DTYPES[self.view(numpy.ndarray).dtype.name])
    def __format__(self, how): return f"Array(data: {self.tolist()}, dtype={self.dtype.raw})"
    def __array_finalize__(self, other): pass

class Namespace:
    "float32 at most, no hypot, and not hashable."
    __hash__ = None
    def __eq__(self, other): return self is other
    def __getattr__(self, name):
        if name in LACKING or not hasattr(numpy, name): raise AttributeError(name)
        if name == "linalg": return types.SimpleNamespace(matmul=self.matmul)
        value = DTYPES.get(name) or getattr(numpy, name)
        if isinstance(value, DType) or not callable(value): return value
        def call(*args, **kwargs):
            args, kwargs = plain(args), {key: plain(value) for key, value in kwargs.items()}
            result = value(*args, **kwargs)
            return rewrapped(result.astype(numpy.uint32) if name in ("argsort", "searchsorted", "argmax") else result)
        return call

def plain(value):
    if isinstance(value, DType): return value.raw
    if isinstance(value, numpy.ndarray): return value.view(numpy.ndarray)
    return type(value)(map(plain, value)) if type(value) in (list, tuple) else value

def rewrapped(value):
    if type(value) in (list, tuple): return type(value)(map(rewrapped, value))
    if not isinstance(value, (numpy.ndarray, numpy.generic)): return value
    value = numpy.asarray(value)
    narrow = {"float64": "float32", "complex128": "complex64"}.get(value.dtype.name)
    return (value.astype(narrow) if narrow else value).view(Array)

LACKING = {"float64", "complex128", "hypot", "uint64", "__array_namespace_info__"}
DTYPES = {name: DType(name) for name in ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "complex64")}

class Mine(Backend):
    name = device_type = "mine"
    xp, array_type = Namespace(), Array
    def to_host(self, array): return array.view(numpy.ndarray)

@hookimpl
def flambeau_backend(name): return _mine if name == "mine" else None
_mine = Mine()
"""

PROGRAM = """
import warnings
import flambeau as torch
def same(function, *tensors, **options):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        results = [function(*[tensor.to(place) for tensor in tensors]) for place in ("cpu", "mine", "mine")]
    for result in results[1:]:
        assert result.device.type == "mine" and result.dtype == results[0].dtype, (result.device, result.dtype)
        torch.testing.assert_close(result.cpu(), results[0], **options)
    return [str(warning.message) for warning in caught]
x, y = torch.tensor([0.5, 1.5, -2.0]), torch.tensor([2.0, -3.0, 0.25])
assert same(torch.exp, x) == [] and same(torch.add, x, y) == [] and same(torch.mul, x.half(), y.half()) == []
assert same(torch.complex, x, y) == []
(said,) = same(torch.hypot, x, y)
assert said.startswith("hypot is computed on the CPU, and copied: the library of the mine backend has no hypot"), said
(said,) = same(torch.special.bessel_j0, x)
assert said.startswith("special_bessel_j0 is computed on the CPU") and "has no float64" in said, said
(said,) = same(torch.linalg.inv, torch.tensor([[2.0, 1.0], [1.0, 3.0]]))
assert "the library of the mine backend has no linalg.inv" in said, said
same(torch.hash_tensor, x) if torch.uint64 in torch.ones(1, device="mine")._key.backend.dtypes else None
for make in (torch.hann_window, torch.fft.fftfreq, torch.fft.rfftfreq, lambda n, device: torch.logspace(0, 2, n, device=device)):
    torch.testing.assert_close(make(5, device="mine").cpu(), make(5, device="cpu"), rtol=0, atol=0)
torch.nn.functional.rrelu(x.to("mine"), training=True)
z = torch.vmap(torch.exp)(x.to("mine"))
assert z.device.type == "mine" and (x.to("mine") > 0).nonzero().tolist() == [[0], [1]]
written = x.to("mine").clone()
written[torch.tensor([2], device="mine")] = 7
written.view(3, 1)[0].mul_(2)
assert written.tolist() == [1, 1.5, 7]
assert x.to("mine").argmax().dtype is torch.int64 and x.to("mine").argmax().item() == 1
try:
    x.to("mine").double()
except RuntimeError as error:
    said = str(error)
assert "the mine backend has no torch.float64" in said and "torch.float32" in said and ".cpu()" in said, said
try:
    x.to("mine")[torch.tensor([0, 9], device="mine")]
except IndexError as error:
    said = str(error)
assert said == "index 9 is out of bounds for dimension 0 with size 3", said
asking = {
    "double": lambda: x.to("mine").double(), "to": lambda: x.to("mine", torch.float64), "sum": lambda: x.to("mine").sum(dtype=torch.double),
    "float_power": lambda: torch.float_power(x.to("mine"), 2), "zeros": lambda: torch.zeros(2, dtype=torch.double, device="mine"),
    "tensor": lambda: torch.tensor([1.0], dtype=torch.double, device="mine"),
}
for name, call in asking.items():
    try:
        call()
    except RuntimeError as error:
        assert str(error).startswith(name + "(): the mine backend has no torch.float64"), (name, error)
    else:
        raise AssertionError(name)
print("done")
"""


def test_a_library_without_double_precision_and_other_things(plugin: Callable[..., str]) -> None:
    assert plugin(POOR, "-c", PROGRAM) == "done\n"


def test_checks_that_need_a_dtype_which_the_library_lacks_are_skipped(plugin: Callable[..., str]) -> None:
    found = plugin(POOR, "-W", "ignore", "-m", "flambeau", "conformance", "mine", "conversion", "--quick")
    assert "skipped: no float64\n" in found and "skipped: no complex128 or float64\n" in found, found

"""`python -m flambeau` runs programs with flambeau imported as torch, and otherwise behaves as `python`."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest

pytestmark = pytest.mark.slow

LAUNCHER = ("-m", "flambeau")
FAKE_TORCH = {
    "torch/__init__.py": "import sys; raise SystemExit('the wrong torch: ' + __file__)",
    "torchvision.py": "raise SystemExit('the wrong torchvision')",
}
FACTS = """
import os, sys
print(sys.argv, sys.path[0], __name__, sys.modules["__main__"].__dict__ is globals())
print(sorted(globals()), __package__, __spec__ and __spec__.name)
print(getattr(__loader__, "__name__", type(__loader__)))
print(globals().get("__file__"), globals().get("__cached__"), os.getcwd(), type(__builtins__))
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Change into an empty folder; return a function that writes files into it."""
    monkeypatch.chdir(tmp_path)

    def write(files):
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(textwrap.dedent(text))
        return tmp_path

    return write


def run(*args, stdin="", **options):
    command = [sys.executable, *args]
    return subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=600, **options)


def flambeau(*args, stdin="", **options):
    """Run `python -m flambeau ...`, assert success and return its standard output."""
    result = run(*LAUNCHER, *args, stdin=stdin, **options)
    assert result.returncode == 0, result.stderr
    return result.stdout


def assert_same_as_python(*args, stdin="", **options):
    expected, got = run(*args, stdin=stdin, **options), run(*LAUNCHER, *args, stdin=stdin, **options)
    assert (got.returncode, got.stdout, got.stderr) == (expected.returncode, expected.stdout, expected.stderr)
    return got


# --- which torch ---


@pytest.mark.parametrize(
    "statements",
    [
        "import torch, flambeau; assert torch is flambeau",
        "import torchvision, flambeau_vision; assert torchvision is flambeau_vision",
        "import sys, torch; assert all('wrong' not in str(m) for m in sys.modules.values())",
        "import importlib, torch; assert importlib.import_module('torch.version') is torch.version",
        "import torch; assert [int(n) for n in torch.__version__.split('.')[:2]] >= [2, 0]",
        "import torch; assert (2, 0) <= torch.__version__ < '3' and '2.2' < torch.__version__",
        "from torch import version; from torch.version import cuda; assert version.cuda is cuda is None",
    ],
)
def test_torch_is_flambeau_even_where_another_torch_is_installed(folder, statements):
    path = folder(FAKE_TORCH | {"deep/prog.py": statements, "deep/torch.py": "raise SystemExit('wrong')"})
    environment = os.environ | {"PYTHONPATH": f"{path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}
    flambeau("deep/prog.py", env=environment)
    flambeau("-c", statements, env=environment)


def test_modules_of_the_program_get_it_too(folder):
    folder(FAKE_TORCH | {"my.py": "import torch", "prog.py": "import my, flambeau; print(my.torch is flambeau)"})
    assert flambeau("prog.py") == "True\n"


def test_the_launcher_affects_nothing_else(folder):
    folder(
        {
            "torch.py": "name = 'mine'",
            "prog.py": """
        import subprocess, sys
        print(subprocess.run([sys.executable, "-c", "import torch; print(torch.name)"]).returncode)
    """,
        }
    )
    assert flambeau("prog.py") == "mine\n0\n"


def test_install_as_torch(folder):
    folder(FAKE_TORCH)
    code = "import flambeau; {}flambeau.install_as_torch(); import torch.version; print(torch is flambeau, torch.Tensor)"
    assert run("-c", code.format("")).stdout == "True <class 'torch.Tensor'>\n"
    assert run("-c", code.format("flambeau.install_as_torch();")).stdout == "True <class 'torch.Tensor'>\n"


def test_install_as_torch_refuses_once_pytorch_is_imported(folder):
    folder({"torch.py": ""})
    result = run("-c", "import torch, flambeau; flambeau.install_as_torch()")
    assert "ImportError: cannot alias 'torch' to 'flambeau': <module 'torch' from" in result.stderr


# --- everything else is as under python ---


def test_script(folder):
    folder({"sub/prog.py": FACTS, "sub/link/x": ""})
    assert_same_as_python("sub/prog.py", "a", "--b", "-c", "env")
    assert_same_as_python("./sub/prog.py")
    assert_same_as_python("sub/link/../prog.py")
    assert_same_as_python(os.path.abspath("sub/prog.py"))
    assert_same_as_python("prog.py", cwd="sub")
    os.symlink("../prog.py", "sub/link/other.py")
    assert_same_as_python("sub/link/other.py")


def test_module_and_package(folder):
    folder({"mod.py": FACTS, "pkg/__init__.py": "", "pkg/__main__.py": FACTS, "pkg/tool.py": FACTS})
    for name in ("mod", "pkg", "pkg.tool", "nothing", "pkg.nothing"):
        assert_same_as_python("-m", name, "a", "--b")
    assert_same_as_python("-mmod", "a")


def test_code(folder):
    folder({})
    assert_same_as_python("-c", FACTS, "a", "-m", "--help")
    assert_same_as_python("-cimport sys; print(sys.argv)", "a")


def test_standard_input(folder):
    folder({})
    assert_same_as_python("-", "a", "--b", stdin=FACTS)
    assert_same_as_python("-", stdin="1/0")


def test_folder_and_zip_archive(folder):
    import zipfile

    folder({"app/__main__.py": FACTS + "import friend", "app/friend.py": "print(__file__)"})
    with zipfile.ZipFile("app.zip", "w") as archive:
        archive.writestr("__main__.py", FACTS)
    assert_same_as_python("app", "a")
    assert_same_as_python("app.zip", "a")
    os.mkdir("empty")
    assert_same_as_python("empty")


@pytest.mark.parametrize(
    "ending",
    [
        "",
        "import sys; sys.exit()",
        "import sys; sys.exit(3)",
        "import sys; sys.exit('goodbye')",
        "raise SystemExit(True)",
        "import os; os._exit(4)",
        "import atexit; atexit.register(print, 'last words'); 1/0",
        "raise KeyboardInterrupt",
        "import sys; sys.excepthook = lambda *error: print('mine', error[0], error[2].tb_lineno); 1/0",
    ],
)
def test_exit_status(folder, ending):
    folder({"prog.py": f"print('x')\n{ending}"})
    assert_same_as_python("prog.py")


@pytest.mark.parametrize(
    "program",
    [
        "def f():\n    1/0\nf()",
        "def f(:\n    pass",
        "try:\n    1/0\nexcept ZeroDivisionError as e:\n    raise ValueError('x') from e",
        "try:\n    1/0\nexcept ZeroDivisionError:\n    {}['key']",
        "raise ExceptionGroup('several', [ValueError(1), TypeError(2)])",
        "import nothing",
        "import threading\nt = threading.Thread(target=lambda: 1/0, name='t')\nt.start()\nt.join()",
        "import warnings\nwarnings.warn('old', DeprecationWarning)",
        "# -*- coding: latin-1 -*-\nprint(len('\xe9'))",
        "x: int = 1\nprint(__annotations__)",
    ],
)
def test_tracebacks_show_the_program_only(folder, program):
    path = folder({})
    (path / "prog.py").write_text(program, encoding="latin-1")
    assert_same_as_python("prog.py")
    assert_same_as_python("-m", "prog")


def test_traceback_through_flambeau_keeps_its_frames(folder):
    folder({"prog.py": "import torch\ntorch.install_as_torch(1)"})
    stderr = run(*LAUNCHER, "prog.py").stderr
    assert stderr.startswith("Traceback (most recent call last):\n  File ") and stderr.count("File ") == 1


@pytest.mark.parametrize("name", ["missing.py", "sub/missing.py"])
def test_missing_file(folder, name):
    folder({})
    assert assert_same_as_python(name).returncode == 2


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
def test_interrupt(folder):
    folder({"prog.py": "import time\nprint('ready', flush=True)\ntime.sleep(60)"})
    command, pipe = [sys.executable, *LAUNCHER, "prog.py"], subprocess.PIPE
    child = subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True)
    assert child.stdout.readline() == "ready\n"
    time.sleep(0.1)
    child.send_signal(signal.SIGINT)
    _, stderr = child.communicate(timeout=300)
    assert child.returncode == -signal.SIGINT
    assert stderr.endswith("KeyboardInterrupt\n") and stderr.count("File ") == 1


def test_pickles_and_late_threads_see_the_program_as_main(folder):
    folder(
        {
            "prog.py": """
        import atexit, pickle, sys, threading, time
        class Thing: pass
        def later():
            time.sleep(0.2)
            print(type(pickle.loads(pickle.dumps(Thing()))) is Thing, sys.modules["__main__"].Thing is Thing)
        atexit.register(later)
        threading.Thread(target=later).start()
    """
        }
    )
    assert_same_as_python("prog.py")


def test_safe_path(folder):
    folder({"prog.py": "import sys; print(sys.path)", "sub/x": ""})
    assert_same_as_python("prog.py", env=os.environ | {"PYTHONSAFEPATH": "1"})


# --- multiprocessing ---

WORKERS = """
import multiprocessing, os, sys
import torch

def work(queue):
    import torchvision
    queue.put((torch.__spec__.name, torchvision.__spec__.name, __name__, sys.argv))
    if len(sys.argv) == 2:
        sys.argv.append("grandchild")
        start(queue)

def start(queue):
    child = multiprocessing.Process(target=work, args=(queue,))
    child.start()
    child.join()
    assert child.exitcode == 0, child.exitcode

if __name__ == "__main__":
    method = sys.argv[1]
    multiprocessing.set_start_method(method)
    queue = multiprocessing.Queue()
    start(queue)
    print([queue.get()[:2] for _ in range(2)])
"""


@pytest.mark.parametrize("method", __import__("multiprocessing").get_all_start_methods())
def test_multiprocessing_children_see_it(folder, method):
    folder(FAKE_TORCH | {"prog.py": WORKERS, "pkg/__init__.py": "", "pkg/tool.py": WORKERS})
    expected = [("flambeau", "flambeau_vision")] * 2
    assert flambeau("prog.py", method) == f"{expected}\n"
    assert flambeau("-m", "pkg.tool", method) == f"{expected}\n"


def test_process_pool(folder):
    folder(
        FAKE_TORCH
        | {
            "prog.py": """
        from concurrent.futures import ProcessPoolExecutor
        from multiprocessing import get_context
        import torch

        def name(_):
            return torch.__spec__.name

        if __name__ == "__main__":
            with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
                print(set(pool.map(name, range(4))))
    """
        }
    )
    assert flambeau("prog.py") == "{'flambeau'}\n"


def test_traceback_of_a_child(folder):
    folder(
        {
            "prog.py": """
        import multiprocessing
        def work():
            1/0
        if __name__ == "__main__":
            child = multiprocessing.get_context("spawn").Process(target=work, name="child")
            child.start()
            child.join()
            print(child.exitcode)
    """
        }
    )
    assert_same_as_python("prog.py")


# --- the commands ---


def test_version_and_help():
    assert flambeau("--version").startswith("flambeau ")
    assert flambeau("--help") == flambeau("-h") == flambeau()
    assert "python -m flambeau prog.py" in flambeau("--help")


def test_env(folder):
    folder({"env": "raise SystemExit('the file called env ran')"})
    lines = dict(line.split(":", 1) for line in flambeau("env").splitlines())
    for name in ("flambeau", "PyTorch API", "Python", "backend", "backends", "devices", "threads"):
        assert lines[name].strip()
    assert sys.version.split()[0] in lines["Python"]


def test_env_names_the_selected_backend_and_all_devices():
    environment = os.environ | {"FLAMBEAU_BACKEND": "numpy", "FLAMBEAU_CPU_DEVICES": "3"}
    lines = dict(line.split(":", 1) for line in flambeau("env", env=environment).splitlines())
    assert "numpy" in lines["backend"] and "cpu:2" in lines["devices"]


def test_backends():
    environment = os.environ | {"FLAMBEAU_BACKEND": "numpy"}
    lines = flambeau("backends", env=environment).splitlines()
    assert [line.split()[1] for line in lines if line.startswith("*")] == ["numpy"]
    assert any(line.split()[:1] == ["cupy"] for line in lines)


@pytest.mark.parametrize("args", [("--nonsense",), ("-c",), ("-m",), ("env", "extra")])
def test_bad_command_line(args):
    result = run(*LAUNCHER, *args)
    assert result.returncode == 2
    assert args[0] in result.stderr and "usage: python -m flambeau" in result.stderr


def test_libraries_switches_are_modules(folder):
    folder(
        {
            "prog.py": """
        import torch
        import torch.backends.cudnn as cudnn
        import torch.backends.mps, torch.backends.mkl, torch.backends.openmp, torch.backends.cuda, torch.backends.cpu
        from torch.backends import cudnn as again

        cudnn.benchmark = True
        cudnn.deterministic = True
        print(torch.backends.cudnn.benchmark, again is cudnn is torch.backends.cudnn)
        with torch.backends.cudnn.flags(enabled=False):
            print(cudnn.enabled, cudnn.benchmark, torch.backends.mps.is_available())
        print(cudnn.enabled, cudnn.benchmark, cudnn.deterministic)
    """
        }
    )
    assert flambeau("prog.py") == "True True\nFalse False False\nTrue True True\n"

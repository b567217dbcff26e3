"""The build of the C kernels: without a compiler, its variants, and for free-threaded Python."""

from __future__ import annotations

import os
import platform
import runpy
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[1]


def test_without_a_compiler_one_sentence_says_what_to_install(tmp_path: Path) -> None:
    code = "import runpy, sys; from pathlib import Path; runpy.run_path(sys.argv[1])['build'](Path(sys.argv[2]))"
    done = subprocess.run(
        [sys.executable, "-c", code, FOLDER / "c" / "build.py", tmp_path / "_kernels.so"],
        capture_output=True, text=True, timeout=600, env=os.environ | {"CC": "no-such-compiler"},
    )  # fmt: skip
    assert done.returncode == 1 and done.stdout == ""
    assert done.stderr == (
        "flambeau-fast requires a C compiler: install gcc (12 or newer) or clang, or set CC to one "
        "(no-such-compiler was not found)\n"
    )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif((sys.platform, platform.machine()) != ("linux", "x86_64"), reason="requires Linux on x86-64")
def test_the_library_contains_a_variant_for_amx_if_the_compiler_supports_it(tmp_path: Path) -> None:
    import flambeau_fast._kernels as library

    variants = runpy.run_path(str(FOLDER / "c" / "build.py"))["_variants"]
    assert list(variants("cc")) == ["amx", "avx512_bf16", "avx512", "avx2", "plain"]
    assert b"\xc4\xe2\x4a\x5c\xc4" in Path(library.__file__).read_bytes()  # tdpbf16ps %tmm6,%tmm4,%tmm0
    compiler = tmp_path / "cc"  # rejects the options for AMX
    compiler.write_text('#!/bin/sh\ncase "$*" in *-mamx*) exit 1 ;; *) echo x86_64-linux-gnu ;; esac\n', encoding="utf-8")
    compiler.chmod(0o755)
    assert list(variants(str(compiler))) == ["avx512_bf16", "avx512", "avx2", "plain"]


@pytest.mark.skipif(not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="requires free-threaded Python")
def test_the_library_does_not_enable_the_gil() -> None:
    code = "import sys, flambeau_fast._kernels; print(sys._is_gil_enabled())"
    # PYTHON_GIL would override what modules declare
    environment = {name: value for name, value in os.environ.items() if name != "PYTHON_GIL"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600, env=environment)
    assert (done.stdout, done.stderr) == ("False\n", "")

"""Run the test suite, the conformance kit and the benchmarks on a GPU.

    python benchmarks/on_gpu.py                     all parts; the table is written to docs/cuda-benchmarks.md
    python benchmarks/on_gpu.py --only conformance  one part: tests, conformance or benchmarks

Requires CuPy, pytest and, for the benchmarks, PyTorch for CUDA. flambeau need not be installed. All parts run even if one
fails; the exit status is then 1.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
PARTS = {
    "tests": ["-m", "pytest", "-q"],
    "conformance": ["-m", "flambeau", "conformance", "cupy"],
    "benchmarks": ["benchmarks/compare.py", "--backends", "cupy", "--markdown", "docs/cuda-benchmarks.md"],
}


def environment() -> dict[str, str]:
    """Return the environment of all parts: flambeau from this source tree, with the backend `cupy`."""
    sources = [str(ROOT / folder) for folder in ("core", "backends", "nnlib", "vision")]
    path = os.pathsep.join(filter(None, [*sources, os.environ.get("PYTHONPATH")]))
    return {**os.environ, "PYTHONPATH": path, "FLAMBEAU_BACKEND": "cupy"}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=PARTS, help="run only this part")
    args = parser.parse_args()
    look = "import flambeau as torch; torch.cuda.init(); print(torch.cuda.get_device_name())"
    if subprocess.run([sys.executable, "-c", look], cwd=ROOT, env=environment(), check=False).returncode:
        return 1
    failed = []
    for name in [args.only] if args.only else PARTS:
        print(f"--- {name}", flush=True)
        if subprocess.run([sys.executable, *PARTS[name]], cwd=ROOT, env=environment(), check=False).returncode:
            failed.append(name)
    print(f"--- failed: {', '.join(failed)}" if failed else "--- all passed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

"""Install a plugin into this environment and run its tests: `python plugins/check.py plugins/flambeau-NAME [ARGUMENT ...]`.

A plugin is skipped, with a message, if its library has no distribution for this Python version or machine, or finds no device.
If the first argument is `conformance`, the conformance kit runs with the other arguments, instead of the tests.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

USE = "import flambeau, sys; flambeau.ones(1, device=flambeau.backend.find(sys.argv[1]).device_type).sum().item()"


def main(folder: Path, arguments: list[str]) -> int:
    """Install and test the plugin; return the exit code, 0 if skipped."""
    name = folder.name.removeprefix("flambeau-")
    installed = run("-m", "pip", "install", f"{folder}[test]")
    if installed.returncode and "No matching distribution found" in installed.stderr:
        return skipped(name, installed.stderr)
    if installed.returncode:
        sys.stderr.write(installed.stderr)
        return installed.returncode
    used = run("-c", USE, name)
    if used.returncode:
        return skipped(name, used.stderr)
    command = ["-m", "pytest", *arguments]
    if arguments[:1] == ["conformance"]:
        declared = folder / "tests" / "exceptions.txt"
        exceptions = ["--exceptions", str(declared)] if declared.exists() else []
        command = ["-m", "flambeau", "conformance", name, *exceptions, *arguments[1:]]
    return subprocess.run([sys.executable, *command], cwd=folder, check=False).returncode


def run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *command], capture_output=True, text=True, check=False)


def skipped(name: str, reason: str) -> int:
    said = [line for line in reason.splitlines() if line.strip()]
    print(
        f"SKIPPED {name} on Python {sys.version.split()[0]}, nothing was run: {said[-1] if said else 'no reason given'}",
        flush=True,
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve(), sys.argv[2:]))

"""Writes the reference's pages of commands and environment variables."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

__all__ = ["commands", "environment"]

ROOT = Path(__file__).parents[2]

# A command, and what is said of it beside its own help.
COMMANDS = {
    "flambeau": "What `python -m flambeau` does; the command `flambeau` is the same.",
    "flambeau env": "Versions, backends, devices and threads: what a report of an error should contain.",
    "flambeau backends": "The backends that can be selected, what each has and lacks, and its last runs of the conformance kit.",
    "flambeau summary": "The layers of a model, with shapes, numbers of parameters, and memory.",
    "flambeau inspect": "The tensors of files of any format that `torch.load` or `torch.save` knows, and how two files differ.",
    "flambeau convert": "A file of tensors in another format: PyTorch's, safetensors, or NumPy's.",
    "flambeau export": "A model for ONNX, for NumPy alone, or as an exported program: see [models for elsewhere](../export.md).",
    "flambeau conformance": "Whether all of flambeau works on a backend: see [plugins](../plugins.md).",
    "flambeau.distributed.run": "Several processes of one program: see [beyond one process](../distributed.md).",
}
WITHOUT_HELP = {"flambeau env", "flambeau backends"}

# ruff: noqa: E501
# Variables of flambeau's own, then those of others that it reads.
OWN = {
    "FLAMBEAU_BACKEND": "`NAME` or `NAME:INDEX`, by default `numpy`. The backend, and with it the default device.",
    "FLAMBEAU_PLUGINS": "Names with commas between them. Only these installed plugins are loaded; if it is set and empty, none.",
    "FLAMBEAU_CPU_DEVICES": "A number, by default 1. So many virtual CPU devices, for programs for several devices.",
    "FLAMBEAU_AS_TORCH": "`1` makes `torch` and `torchvision` mean flambeau in every Python process: see "
    "[where flambeau is torch](../as_torch.md).",
    "FLAMBEAU_WINOGRAD": "`0` makes convolutions on NumPy use products instead of Winograd's method, whose rounding errors are about "
    "ten times as large. It is slower.",
    "FLAMBEAU_JOB_SECRET": "The secret that the processes of a job share: see [beyond one process](../distributed.md).",
    "FLAMBEAU_HOST_ID": "What two processes have in common that can share memory. Set it where two hosts cannot be told apart, or "
    "containers of one host cannot share memory.",
    "FLAMBEAU_LAUNCHER": "Set by the launcher for the processes that it starts. Programs do not set it.",
    "FLAMBEAU_CONFORMANCE": "`quick` or `full` in the processes of the conformance kit, which sets it: plugins may compile less.",
    "FLAMBEAU_SHARED_MEMORY_KEEPER": "Where the process is that removes shared memory which nobody uses any more. Set by flambeau for "
    "child processes.",
    "FLAMBEAU_TORCH_DEVICE": "Of the plugin `flambeau-torch`: PyTorch's device, by default `cpu`.",
    "FLAMBEAU_FAST_LEAST": "Of the kernel pack `flambeau-fast`: the least number of elements for which all of its kernels are used. "
    "For tests.",
    "FLAMBEAU_FAST_CPU": "Of the same: `avx2` or `plain` (SSE4, NEON), to use its kernels for such a processor.",
}  # fmt: skip
OTHERS = {
    "CUDA_VISIBLE_DEVICES": "Which CUDA devices a process sees.",
    "OMP_NUM_THREADS": "How many threads NumPy's libraries and flambeau use; also `OPENBLAS_NUM_THREADS`, `MKL_NUM_THREADS`.",
    "XDG_CACHE_HOME": "Where what can be made again is kept: by default `~/.cache`. Downloads of `torch.hub`, the records of the "
    "conformance kit, compiled programs of JAX.",
    "XDG_STATE_HOME": "Where the secret of a user's jobs is kept: by default `~/.local/state`.",
    "TORCH_HOME": "Where `torch.hub` keeps its downloads instead.",
    "GITHUB_TOKEN": "Sent to GitHub by `torch.hub`, if it is set.",
    "TORCH_FORCE_WEIGHTS_ONLY_LOAD": "`1` makes `torch.load` refuse all but tensors and plain values, whatever a program says.",
    "TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD": "`1` makes `torch.load` execute what files ask for. See [security](../project/security.md).",
    "TORCH_DISTRIBUTED_DEBUG": "`DETAIL` compares the shapes of collectives between processes, too.",
    "MASTER_ADDR": "With `MASTER_PORT`, `RANK` and `WORLD_SIZE`: where the processes of a job meet, and who this one is.",
    "LOCAL_RANK": "With `LOCAL_WORLD_SIZE`: the same within one host. Set by launchers.",
    "TORCHELASTIC_RUN_ID": "With other variables of this prefix: what the launcher tells the processes that it starts.",
}


def commands() -> str:
    """The page of commands, with what each of them prints as its help."""
    lines = ["# Commands\n"]
    for command, about in COMMANDS.items():
        module, *rest = command.split()
        lines += [f"## python -m {command} {{ #{'-'.join([module, *rest])} }}\n", about + "\n"]
        if command not in WITHOUT_HELP:
            lines.append(f"```text\n{_help(module, rest)}\n```\n")
    return "\n".join(lines)


def _help(module: str, rest: list[str]) -> str:
    environment = {**os.environ, "COLUMNS": "100"}
    done = subprocess.run(
        [sys.executable, "-m", module, *rest, "--help"], capture_output=True, text=True, check=True, env=environment, timeout=60
    )
    return done.stdout.strip()


def environment() -> str:
    """The page of environment variables.

    Raises:
        LookupError: the code reads a variable of flambeau's own that the page does not have, or the other way round.
    """
    read = {
        name
        for folder in ("core", "backends", "nnlib", "vision", "plugins")
        for path in (ROOT / folder).rglob("*.p*")
        if path.suffix in (".py", ".pth") and "tests" not in path.parts
        for name in re.findall(r"FLAMBEAU_[A-Z]+(?:_[A-Z]+)*", path.read_text(encoding="utf-8"))
    }
    if read != OWN.keys():
        raise LookupError(
            f"environment variables that only the code or only docs/site/programs.py has: {sorted(read ^ OWN.keys())}"
        )
    lines = [
        "# Environment variables\n",
        "They are read when flambeau is imported or the part that they concern is first used.\n",
    ]
    lines += ["## Of flambeau\n", *_table(OWN), "\n## Of others\n", *_table(OTHERS)]
    return "\n".join(lines) + "\n"


def _table(variables: dict[str, str]) -> list[str]:
    return [line for name, about in variables.items() for line in (f"`{name}`", f":   {about}\n")]

"""`python -m flambeau_fast`: compile every loop ahead of time, so that no program has to wait, and print what is available."""

from __future__ import annotations

import time

from . import flambeau_inplace_kernels, flambeau_kernels, onednn
from .samples import calls


def compile_all() -> int:
    """Call every kernel once; returns how many there are."""
    from flambeau_backends.numpy import NumpyBackend

    backend = NumpyBackend()
    kernels, in_place = flambeau_kernels(backend) or {}, flambeau_inplace_kernels(backend) or {}
    for call in calls():
        (in_place if call.in_place else kernels)[call.name](*call.args, **call.options)
    return len(kernels) + len(in_place)


def main() -> None:
    start = time.perf_counter()
    print(f"{compile_all()} kernels are compiled, {time.perf_counter() - start:.0f} s")
    print("oneDNN: " + ("found" if onednn.available() else "not found; matrix products and convolutions are NumPy's own"))


if __name__ == "__main__":
    main()

"""`python -m flambeau_fast`: print which kernel variant this processor uses, and call each kernel once."""

from __future__ import annotations

import time

from . import flambeau_inplace_kernels, flambeau_kernels, flambeau_report_header
from .samples import calls


def call_all() -> int:
    """Call every kernel once, and return the number of kernels."""
    from flambeau_backends.numpy import NumpyBackend

    backend = NumpyBackend()
    kernels, in_place = flambeau_kernels(backend) or {}, flambeau_inplace_kernels(backend) or {}
    for call in calls():
        (in_place if call.in_place else kernels)[call.name](*call.args, **call.options)
    return len(kernels) + len(in_place)


def main() -> None:
    start = time.perf_counter()
    print(f"{flambeau_report_header()}; {call_all()} operations work, {time.perf_counter() - start:.1f} s")


if __name__ == "__main__":
    main()

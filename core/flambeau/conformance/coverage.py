"""Print the coverage of the sample tables, as the table in `docs/operations.md`: `python -m flambeau.conformance.coverage`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import flambeau as torch

from . import samples as _samples
from .checks import CHECKS, takes_out
from .samples import families
from .samples.sample import Sample, find, find_or_none

__all__ = ["table"]


def _in_place(sample: Sample) -> bool:
    method = sample.name.removeprefix("Tensor.")
    return sample.inplace and (hasattr(torch.Tensor, f"{method}_") or find_or_none(torch, f"{sample.name}_") is not None)


COLUMNS: dict[str, Callable[[Sample], bool]] = {
    "operations": lambda sample: True,
    "first, second derivatives": CHECKS["second_gradients"],
    "forward mode": CHECKS["forward_mode"],
    "vmap": CHECKS["vmap"],
    "mixed dtypes": CHECKS["promotion"],
    "in place": _in_place,
    "`out=`": lambda sample: takes_out(find(torch, sample.name)) and not sample.name.endswith("_"),
}


def table() -> str:
    """Return a table: for each family and column, the number of operations whose samples check that property."""
    lines = [f"| family | {' | '.join(COLUMNS)} |", f"|---|{'---:|' * len(COLUMNS)}"]
    every: list[Sample] = []
    for name, samples in families().items():
        every += samples
        lines.append(_row(f"`{name}`: {_about(name)}", samples))
    return "\n".join([*lines, _row("all", every), ""])


def _about(family: str) -> str:
    """Return the docstring of a sample module up to the first punctuation mark."""
    text = (getattr(_samples, family).__doc__ or "").strip().splitlines()[0]
    return text.partition(".")[0].partition(";")[0].partition(":")[0].lower()


def _row(title: str, samples: Sequence[Sample]) -> str:
    counts = [len({sample.name for sample in samples if holds(sample)}) for holds in COLUMNS.values()]
    return f"| {title} | {' | '.join(map(str, counts))} |"


if __name__ == "__main__":
    print(table(), end="")

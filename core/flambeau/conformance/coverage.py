"""What the sample table covers, as the table in `docs/operations.md`: `python -m flambeau.conformance.coverage`."""

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
    """For each family, of how many operations its samples show that they have what the column says."""
    lines = [f"| family | {' | '.join(COLUMNS)} |", f"|---|{'---:|' * len(COLUMNS)}"]
    every: list[Sample] = []
    for name, found in families().items():
        every += found
        lines.append(_row(f"`{name}`: {_about(name)}", found))
    return "\n".join([*lines, _row("all", every), ""])


def _about(family: str) -> str:
    """The family's own words, to the first stop."""
    text = (getattr(_samples, family).__doc__ or "").strip().splitlines()[0]
    return text.partition(".")[0].partition(";")[0].partition(":")[0].lower()


def _row(title: str, found: Sequence[Sample]) -> str:
    counts = [len({each.name for each in found if holds(each)}) for holds in COLUMNS.values()]
    return f"| {title} | {' | '.join(map(str, counts))} |"


if __name__ == "__main__":
    print(table(), end="")

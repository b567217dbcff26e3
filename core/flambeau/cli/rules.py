"""Print the functions that derivative rules can call as `F.name`: `python -m flambeau.cli.rules`.

The output is the two tables in `docs/derivative_rules.md`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any

from ..engine.calls.tables import FORMULAS, OPS
from ..engine.tape.tensor_class import RECORDED

__all__ = ["main", "tables"]

LOADED_LATER = ("fft", "linalg", "special", "sparse", "signal", "nested")
DIFFERENT = frozenset({"addmm", "bincount", "kthvalue", "mode", "squeeze", "std_mean", "var", "var_mean", "view_dtype"})
"""Operations whose arguments differ from those of the public function of the same name.  Rules cannot call them."""


def tables() -> str:
    """Return two Markdown tables by family: operations and formulas with their arguments, and composite functions by name."""
    for name in LOADED_LATER:
        import_module(f"flambeau.{name}")
    every = sorted(vars(RECORDED).keys() - DIFFERENT)
    direct = [name for name in every if name in OPS or name in FORMULAS]
    composites = [name for name in every if name not in OPS and name not in FORMULAS]
    return f"{_table(direct, _with_arguments)}\n{_table(composites, lambda name: name)}"


def _table(names: Iterable[str], shown: Callable[[str], str]) -> str:
    rows: dict[str, list[str]] = {}
    for name in names:
        rows.setdefault(_family(name), []).append(f"`{shown(name)}`")
    lines = [f"| `{family}` | {', '.join(rows[family])} |" for family in sorted(rows)]
    return "\n".join(["| family | functions |", "|---|---|", *lines, ""])


def _definition(name: str) -> Callable[..., Any]:
    """Return the Python function that defines an operation, formula or composite function."""
    if name in OPS:
        return OPS[name].forward
    return FORMULAS[name] if name in FORMULAS else inspect.unwrap(getattr(RECORDED, name))


def _family(name: str) -> str:
    """Return the module that defines a function, without "flambeau.operations."; "aliases" for a second name of an operation."""
    module = _definition(name).__module__
    return "aliases" if module == "flambeau" else module.removeprefix("flambeau.").removeprefix("operations.")


def _with_arguments(name: str) -> str:
    """Return the name of a function with the arguments that its kernel takes, as in "add(x1, x2)"."""
    parameters = inspect.signature(_definition(name)).parameters
    names = (*OPS[name].tensor_names, *OPS[name].kernel_params) if name in OPS else [*parameters][1:]
    return f"{name}({', '.join(_declaration(parameters[each]) for each in names)})"


def _declaration(parameter: inspect.Parameter) -> str:
    default: Any = parameter.default
    return parameter.name if default is inspect.Parameter.empty else f"{parameter.name}={default!r}"


def main() -> None:
    """Print the tables."""
    print(tables(), end="")


if __name__ == "__main__":
    main()

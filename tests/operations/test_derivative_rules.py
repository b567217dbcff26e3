"""In docs/derivative_rules.md, wrong rules fail as described, the corrected rules pass, and the tables are complete."""

from __future__ import annotations

import ast
import inspect
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import flambeau as torch
from flambeau.cli import rules
from flambeau.engine.calls.tables import FORMULAS, OPS
from flambeau.engine.tape.tensor_class import RECORDED

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "derivative_rules.md").read_text(encoding="utf-8")
MISTAKES = dict(
    re.findall(
        r"^\*\*([^*]+)\.\*\*[^\n]*\n(?:[^\n]+\n)*\n```python\n((?:values|forward) = .*?)```", PAGE, re.DOTALL | re.MULTILINE
    )
)

BACKEND = '''
"""A backend on array-api-strict, with nothing that the standard leaves open."""
import array_api_strict
import numpy
from flambeau.backend import Backend, hookimpl

array_api_strict.set_array_api_strict_flags(boolean_indexing=False, data_dependent_shapes=False, enabled_extensions=())


class Standard(Backend):
    name = device_type = "standard"
    xp = array_api_strict
    array_type = type(array_api_strict.zeros(()))

    def to_host(self, array):
        return numpy.asarray(array)


backend = Standard()


@hookimpl
def flambeau_backend(name):
    return backend if name == "standard" else None
'''

PROGRAM = '''
"""Run rules: for each, the gradients and errors of a plain backward, a differentiable one, and `gradcheck`."""
import json, math, sys
import numpy
import flambeau as torch
from flambeau.engine.calls.op import op

VALUES = [-0.5, 0.25, 0.75, 1.5]


def gradients(function, values, device, create_graph):
    x = torch.tensor(values).to(torch.complex128 if type(values[0]) is complex else torch.float64).to(device).requires_grad_()
    y = function(x)
    loss = (y.abs() ** 2).sum() if create_graph or y.is_complex() else y.sum()  # of a sum, `g` is a read-only view of one number
    (first,) = torch.autograd.grad(loss, x, create_graph=create_graph)
    if create_graph:
        (first,) = torch.autograd.grad((first.abs() ** 2).sum(), x)
    return torch.view_as_real(first).tolist() if first.is_complex() else first.tolist()


def checked(function, values, device, create_graph):
    x = torch.tensor(values).to(torch.complex128 if type(values[0]) is complex else torch.float64).requires_grad_()
    return torch.autograd.gradcheck(function, (x,)) and torch.autograd.gradgradcheck(function, (x,))


RUNS = {
    "NumPy": (gradients, "cpu", False),
    "create_graph": (gradients, "cpu", True),
    "array-api-strict": (gradients, "standard", False),
    "create_graph on array-api-strict": (gradients, "standard", True),
    "gradcheck": (checked, "cpu", True),
}


def outcomes(name, scope, rule):
    function = op(name, scope["forward"], input=rule, public=False, method=False, out=False)
    found = {}
    for run, (compute, device, create_graph) in RUNS.items():
        try:
            found[run] = compute(function, scope.get("values", VALUES), device, create_graph)
        except Exception as error:
            found[run] = f"{type(error).__name__}: {error}"
    return found


found = {}
for index, (title, code) in enumerate(json.loads(sys.argv[1]).items()):
    scope = {"torch": torch, "numpy": numpy, "math": math}
    exec(code, scope)
    found[title] = [outcomes(f"{kind}_{index}", scope, scope[kind]) for kind in ("wrong", "right")]
print(json.dumps(found))
'''


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[dict[str, Any]]]:
    """For each mistake in the document, the results of the functions `wrong` and `right`."""
    pytest.importorskip("array_api_strict")
    folder = tmp_path_factory.mktemp("rules")
    (folder / "standard_backend.py").write_text(BACKEND, encoding="utf-8")
    metadata = folder / "standard_backend-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: standard-backend\nVersion: 1.0\n", encoding="utf-8")
    (metadata / "entry_points.txt").write_text("[flambeau.backends]\nstandard = standard_backend\n", encoding="utf-8")
    path = os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, "PYTHONPATH": path, "FLAMBEAU_BACKEND": "numpy"}
    environment.pop("FLAMBEAU_PLUGINS", None)
    command = [sys.executable, "-W", "ignore", "-c", PROGRAM, json.dumps(MISTAKES)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_mistakes_are_found() -> None:
    assert len(MISTAKES) == PAGE.count("\nwrong = ") >= 10


@pytest.mark.parametrize("title", MISTAKES)
def test_wrong_rule_fails_as_the_page_says(title: str, found: dict[str, list[dict[str, Any]]]) -> None:
    run, error, message = re.search(r"^wrong = .*  # ([\w -]+): (\w+): (.+)$", MISTAKES[title], re.MULTILINE).groups()
    outcome = found[title][0][run]
    assert isinstance(outcome, str) and outcome.startswith(f"{error}: ") and message in outcome, outcome


@pytest.mark.parametrize("title", MISTAKES)
def test_right_rule_passes_everywhere(title: str, found: dict[str, list[dict[str, Any]]]) -> None:
    outcomes = found[title][1]
    assert outcomes["gradcheck"] is True
    for run in ("NumPy", "create_graph"):
        strict = "array-api-strict" if run == "NumPy" else f"{run} on array-api-strict"
        assert torch.tensor(outcomes[run]).allclose(torch.tensor(outcomes[strict])), outcomes


# --- the tables ---------------------------------------------------------------------------------------------------


def test_tables_list_every_function() -> None:
    """Runs in a subprocess, where no test has defined operations."""
    command = [sys.executable, "-m", "flambeau.cli.rules"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    start = PAGE.index("## Functions of `F`")
    listed = {
        entry for row in re.findall(r"^\| `[\w.]+` \| (`.*) \|$", PAGE[start:], re.MULTILINE) for entry in row.split("`, `")
    }
    wanted = {entry for row in re.findall(r"^\| `[\w.]+` \| (`.*) \|$", printed, re.MULTILINE) for entry in row.split("`, `")}
    difference = {entry.strip("`") for entry in listed} ^ {entry.strip("`") for entry in wanted}
    assert not difference, f"print the tables again (python -m flambeau.cli.rules): {sorted(difference)}"


def test_every_listed_function_is_found() -> None:
    rules.tables()
    numbers = [torch.zeros(1, dtype=dtype)._key.F for dtype in (torch.float64, torch.int64)]
    for name in vars(RECORDED).keys() - rules.DIFFERENT:
        if name in OPS or name in FORMULAS:
            assert any(_has(F, name) for F in numbers), name


def _has(F: Any, name: str) -> bool:
    try:
        return callable(getattr(F, name))
    except NotImplementedError:  # `F` is of a dtype that the operation does not support
        return False


RENAMED = {"add_level", "drop_level", "complex", "is_complex", "pow", "split"}  # same arguments, different parameter names


def test_rules_call_records_with_the_arguments_of_public_functions() -> None:
    """An operation's record and public function have the same parameters, so that rules work with and without `create_graph`."""
    rules.tables()
    different = set()
    for name, record in OPS.items():
        public = [*inspect.signature(getattr(RECORDED, name)).parameters] if hasattr(RECORDED, name) else []
        arguments = [*record.tensor_names, *record.kernel_params]
        if public[: len(arguments)] != arguments:
            different.add(name)
    assert different - RENAMED == rules.DIFFERENT


def test_rules_use_listed_functions_only() -> None:
    rules.tables()
    for path in sorted((ROOT / "core" / "flambeau" / "operations").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "F":
                assert hasattr(RECORDED, node.attr) and node.attr not in rules.DIFFERENT, (
                    f"{path.name}:{node.lineno}: F.{node.attr}"
                )

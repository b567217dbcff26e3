"""Follow "Adding one" in docs/operations.md in a copy of the project, and run its commands.

The tox commands are tested in `tests/guides`.
"""

from __future__ import annotations

import re
from pathlib import Path

import guides
import pytest

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

GUIDE = guides.read("operations.md")
STEPS = guides.steps(GUIDE)
COMMANDS = [command for command in guides.commands() if not command.startswith("tox")]

PROGRAM = """
import doctest
import flambeau as torch
from flambeau.conformance.checks import CHECKS, Checker
from flambeau.conformance.samples import families

layer = torch.nn.Squareplus(b=1.0)
x = torch.randn(5, requires_grad=True)
layer(x).sum().backward()
assert torch.allclose(layer(x), (x + (x * x + 1).sqrt()) / 2)
assert torch.allclose(x.grad, (x / (x * x + 1).sqrt() + 1).detach() / 2)
assert "b=1.0" in repr(layer)

squareplus = torch.nn.functional.squareplus
ragged = torch.nested.nested_tensor([x.detach(), x.detach()[:2]], layout=torch.jagged)
assert squareplus(ragged).unbind()[1].equal(squareplus(x.detach()[:2]))
assert squareplus(x.to("meta")).shape == (5,)
with torch.autocast("cpu"):
    assert squareplus(x).dtype == torch.float32

(sample,) = [each for each in families()["activation"] if each.name == "nn.functional.squareplus"]
checker = Checker()
for check, suits in CHECKS.items():
    if suits(sample):
        getattr(checker, check)(sample)
assert torch.zeros(1)._key["squareplus"][0].__module__ == "flambeau_backends.numpy.kernels"
for shown in (torch.nn.functional.squareplus, torch.nn.Squareplus):
    doctest.run_docstring_examples(shown, {"torch": torch}, name=shown.__name__)
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project after steps 1 to 5 of the guide."""
    folder = guides.copy_project(tmp_path_factory.mktemp("project"))
    for path, block in STEPS:
        guides.add_block(folder / path, block)
    return folder


def test_the_operation_works(project: Path) -> None:
    assert len(STEPS) == 7
    (project / "program.py").write_text(PROGRAM, encoding="utf-8")
    printed = guides.run("python program.py", project)
    assert not printed, printed  # doctest prints only failed examples


def test_there_are_commands() -> None:
    assert len(COMMANDS) == 4


@pytest.mark.parametrize("command", COMMANDS)
def test_command_runs_as_printed(command: str, project: Path) -> None:
    printed = guides.run(command, project)
    if "cli.stubs" in command:
        guides.run("python -m flambeau.cli.stubs --check", project)
    elif "pytest" in command:
        assert re.search(r"\d+ passed", printed), printed
    else:
        rows = dict(re.findall(r"^\| (`\w+`): [^|]*\| (\d+) \|", GUIDE, re.MULTILINE))
        assert f" | {int(rows['`activation`']) + 1} | " in printed

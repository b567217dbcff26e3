"""Run the tox commands of the operation guides in a copy of the project. Run with `tox -e guides`."""

from __future__ import annotations

from pathlib import Path

import guides
import pytest

pytestmark = pytest.mark.timeout(1800)

GUIDE = guides.read("operations.md")
COMMANDS = [command for command in guides.commands() if command.startswith("tox")]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project to which the guide's operation is added, formatted and with sorted imports."""
    folder = guides.copy_project(tmp_path_factory.mktemp("project"))
    for path, block in guides.steps(GUIDE):
        guides.add_block(folder / path, block)
    guides.run("ruff check --quiet --fix --select I001 . && ruff format --quiet .", folder)
    return folder


def test_there_are_commands() -> None:
    assert any(command.startswith("tox -e strict") for command in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_command_runs_as_printed(command: str, project: Path) -> None:
    printed = guides.run(command, project, built=True)
    assert "congratulations :)" in printed and "SKIPPED" not in printed, printed

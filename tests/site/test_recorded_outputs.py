"""Run every cell of the pages in Start and Learn in Chromium, and compare its output with the one that the build recorded.

`differences.txt` lists the cells whose output differs, with reasons. A listed cell whose output is equal fails the test, unless
its reason begins with "sometimes".
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
DOCS = HERE.parents[1] / "docs"
PAGES = [
    path.relative_to(DOCS).with_suffix("").as_posix()
    for folder in ("start", "learn")
    for path in sorted((DOCS / folder).glob("*.md"))
    if "```python" in path.read_text(encoding="utf-8")
]

# [output that the build recorded, number of recorded pictures] of each cell
RECORDED_OUTPUTS = """
return [...document.querySelectorAll('.cell.highlight')].map(cell => {
  const found = []
  for (let next = cell.nextElementSibling.nextElementSibling; next; next = next.nextElementSibling) {
    if (!next.matches('.printed, .shown, .drawn') && !next.querySelector(':scope > img.drawn')) break
    found.push(next)
  }
  const printed = found.filter(each => each.matches('.printed'))
  return [printed.map(each => each.textContent).join('\\n'), found.length - printed.length]
})
"""
# the same of one cell that ran
OUTPUT = """
const output = document.querySelectorAll('.run-output')[arguments[0]]
const printed = [...output.querySelectorAll('.printed')].map(each => each.textContent)
return [printed.join('\\n'), output.querySelectorAll('.drawn, .shown').length]
"""


def _differences(page: str) -> dict[int, str]:
    """Return the reasons why cells of a page differ, by number. "needs NAME" is left out if Pyodide's folder has that wheel."""
    reasons = {}
    for line in (HERE / "differences.txt").read_text(encoding="utf-8").splitlines():
        cell, mark, reason = line.partition("  # ")
        name, _, number = cell.partition(" ")
        package = re.match(r"needs (\w+)$", reason)
        available = package and any(Path(os.environ["FLAMBEAU_PYODIDE"]).glob(f"{package[1]}-*.whl"))
        if mark and name == page and not available:
            reasons[int(number)] = reason
    return reasons


def _normalized(text: str) -> str:
    """Remove addresses, temporary folders, durations, and white space, in which `repr` differs from Jupyter."""
    text = re.sub(r"0x(\.\.\.|[0-9a-f]+)|/tmp/tmp\w+", "", re.sub(r"\s", "", text))
    return re.sub(r"[\d.,]+(ns|µs|ms|s)", "", text)


def _equal(recorded: tuple[str, int], output: tuple[str, int]) -> bool:
    """Whether the texts and the numbers of pictures are equal. The build records the last line of a traceback."""
    texts = [_normalized(text) for text, _ in (recorded, output)]
    head, traceback, _ = texts[1].partition("Traceback(mostrecentcalllast)")
    last = texts[0].removeprefix(head)
    same = last != "" and texts[1].endswith(last) if traceback else texts[0] == texts[1]
    return same and recorded[1] == output[1]


@pytest.mark.pyodide
@pytest.mark.parametrize("page", PAGES)
def test_cells_print_what_the_build_recorded(
    browser: Any, serve: Callable[..., str], page: str, counts: list[tuple[int, int]]
) -> None:
    from selenium.webdriver.support.wait import WebDriverWait

    browser.get(f"{serve()}/{page}.html")
    expected, different = _differences(page), {}
    recorded = browser.execute_script(RECORDED_OUTPUTS)
    for index, cell in enumerate(recorded):
        browser.execute_script("document.querySelectorAll('.run-button')[arguments[0]].click()", index)
        WebDriverWait(browser, 900, 0.2).until(lambda driver: driver.execute_script("return !document.querySelector('.running')"))
        output = browser.execute_script(OUTPUT, index)
        if not _equal(cell, output):
            different[index + 1] = f"recorded {cell[1]} pictures and\n{cell[0]}\n\n{output[1]} pictures and\n{output[0]}"
    counts.append((len(recorded) - len(different), len(recorded)))
    unexpected = [f"cell {number}: {about}" for number, about in different.items() if number not in expected]
    assert not unexpected, "\n".join(unexpected)
    always = {number for number, reason in expected.items() if not reason.startswith("sometimes")}
    assert always <= different.keys(), "these cells print what the build recorded: remove them from differences.txt"

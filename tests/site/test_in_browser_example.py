"""The page of `examples/in_browser` in Chromium: a picture that the reader chooses is classified."""

from __future__ import annotations

import gzip
import shutil
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from run_program import run_program

import flambeau as torch
from flambeau_vision.datasets import UCIDigits

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples/in_browser"
ADDRESS = "https://cdn.jsdelivr.net/pyodide/v314.0.7/full/"
STATUS = "document.querySelector('[role=status]').textContent"


def _write_bitmap(path: Path, grey: torch.Tensor) -> None:
    """Write an image of integers from 0 to 255 and shape `(H, W)`, where W is a multiple of 4, as a BMP file."""
    height, width = grey.shape
    rows = grey.flip(0).unsqueeze(-1).expand(-1, -1, 3).to(torch.uint8).contiguous().numpy().tobytes()
    header = struct.pack("<2sIIIIiiHHIIiiII", b"BM", 54 + len(rows), 0, 54, 40, width, height, 1, 24, 0, len(rows), 0, 0, 0, 0)
    path.write_bytes(header + rows)


def _wait(browser: Any, condition: str, seconds: float) -> None:
    from selenium.webdriver.support.wait import WebDriverWait

    WebDriverWait(browser, seconds, 0.1).until(lambda driver: driver.execute_script(f"return {condition}"))


@pytest.fixture(scope="module")
def page(browser: Any, serve: Callable[..., str], tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The page, with a network that the example trains and Python from the server."""
    folder = tmp_path_factory.mktemp("in_browser")
    address = serve(folder)
    assert "accuracy" in run_program(EXAMPLE / "train.py", folder=folder)
    packages = gzip.decompress((ROOT / "build/site/assets/run-packages.bin").read_bytes())
    (folder / "packages.zip").write_bytes(packages)
    shutil.copy(EXAMPLE / "net.py", folder)
    html = (EXAMPLE / "index.html").read_text(encoding="utf-8")
    assert ADDRESS in html
    (folder / "index.html").write_text(html.replace(ADDRESS, "./pyodide/"), encoding="utf-8")
    browser.get(f"{address}/index.html")
    _wait(browser, f"{STATUS}.startsWith('Choose') || {STATUS}.includes('could not')", 300)
    return browser


def _choose(page: Any, path: Path) -> str:
    page.execute_script(f"{STATUS} = ''")
    page.find_element("css selector", "input").send_keys(str(path))
    _wait(page, f"{STATUS} !== ''", 30)
    return page.execute_script(f"return {STATUS}")


@pytest.mark.pyodide
@pytest.mark.parametrize("light_ink", [False, True])
def test_digits_are_read(page: Any, tmp_path: Path, light_ink: bool) -> None:
    """Held-out digits, enlarged and in a larger picture."""
    assert page.execute_script(f"return {STATUS}").startswith(("Choose", "It is"))
    digits = UCIDigits(train=False)
    right = 0
    for index in range(10):
        large = digits.data[index].float().repeat_interleave(20, 0).repeat_interleave(20, 1)
        picture = torch.nn.functional.pad(large, (60, 100, 40, 40))
        path = tmp_path / f"{index}.bmp"
        _write_bitmap(path, picture if light_ink else 255 - picture)
        right += _choose(page, path) == f"It is a {digits.targets[index]}."
    assert right >= 8
    chances = page.execute_script("return [...document.querySelectorAll('meter')].map(each => each.value)")
    assert len(chances) == 10 and abs(sum(chances) - 1) < 1e-5


@pytest.mark.pyodide
def test_file_that_is_no_picture(page: Any, tmp_path: Path) -> None:
    path = tmp_path / "text.png"
    path.write_text("text", encoding="utf-8")
    assert "could not be decoded" in _choose(page, path)

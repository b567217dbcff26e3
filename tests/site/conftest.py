"""A browser, and the built site on a local web server. Without a built site or a browser, these tests fail."""

from __future__ import annotations

import functools
import hashlib
import http.server
import io
import json
import os
import shutil
import threading
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

SITE = Path(__file__).parents[2] / "build/site"
ARCHIVE = "run-packages.bin"
PYODIDE = "FLAMBEAU_PYODIDE"
STAND_IN = "matplotlib-0.0.0-py3-none-any.whl"
STAND_IN_FOLDER = Path(__file__).parent / "matplotlib_stand_in"
CHECKED_WITH_PYODIDE = pytest.StashKey[bool]()
_RECORDED = pytest.StashKey[list[tuple[int, int]]]()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_RECORDED] = []


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect the tests that run Python in the browser, unless a folder with Pyodide is set."""
    if os.environ.get(PYODIDE):
        return
    left_out = [item for item in items if item.get_closest_marker("pyodide")]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]
        config.stash[CHECKED_WITH_PYODIDE] = False


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    if not config.stash.get(CHECKED_WITH_PYODIDE, True):
        terminalreporter.write_line(f"NOT CHECKED: code in the browser. Set {PYODIDE} (docs/project/site.md).")
    counts = config.stash[_RECORDED]
    if counts:
        equal, cells = (sum(numbers) for numbers in zip(*counts, strict=True))
        terminalreporter.write_line(
            f"{equal} of {cells} cells print in the browser what the build recorded, on {len(counts)} pages"
        )


def stand_in_wheel() -> bytes:
    """Return a wheel of the folder `matplotlib_stand_in`, with constant times."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as wheel:
        for path in sorted(STAND_IN_FOLDER.glob("*.py")):
            wheel.writestr(zipfile.ZipInfo(f"matplotlib/{path.name}", (2020, 1, 1, 0, 0, 0)), path.read_bytes())
        metadata = zipfile.ZipInfo("matplotlib-0.0.0.dist-info/METADATA", (2020, 1, 1, 0, 0, 0))
        wheel.writestr(metadata, "Metadata-Version: 2.1\nName: matplotlib\nVersion: 0.0.0\n")
    return content.getvalue()


def lock_with_matplotlib(pyodide: Path) -> bytes:
    """Return Pyodide's table of packages. If the wheel of matplotlib is missing in the folder, it names the stand-in."""
    table = json.loads((pyodide / "pyodide-lock.json").read_text(encoding="utf-8"))
    entry = table["packages"]["matplotlib"]
    if not (pyodide / entry["file_name"]).exists():
        entry |= {"file_name": STAND_IN, "depends": ["numpy"], "sha256": hashlib.sha256(stand_in_wheel()).hexdigest()}
    return json.dumps(table).encode()


@pytest.fixture
def counts(request: pytest.FixtureRequest) -> list[tuple[int, int]]:
    """The list to which test_recorded_outputs.py adds (equal cells, cells) of each page, for the summary."""
    return request.config.stash[_RECORDED]


class _Handler(http.server.SimpleHTTPRequestHandler):
    """Serves the site, Pyodide's folder below /pyodide/, and settings that name it."""

    pyodide = "../pyodide/"
    isolated = True  # whether pages may share memory with their workers
    matplotlib = True  # whether Pyodide has matplotlib, or else its stand-in

    def translate_path(self, path: str) -> str:
        pyodide = os.environ.get(PYODIDE)
        if pyodide and path.startswith("/pyodide/"):
            return str(Path(pyodide) / Path(path).name)
        return super().translate_path(path)

    def do_GET(self) -> None:
        if self.path.endswith("/run-settings.js"):
            settings = {"pyodide": self.pyodide, "packages": ARCHIVE}
            self._send(f"window.FLAMBEAU_RUN = {json.dumps(settings)}".encode(), "text/javascript")
        elif self.matplotlib and self.path == "/pyodide/pyodide-lock.json":
            self._send(lock_with_matplotlib(Path(os.environ[PYODIDE])), "application/json")
        elif not self.matplotlib and self.path.startswith("/pyodide/matplotlib-"):
            self.send_error(404)
        elif self.path == f"/pyodide/{STAND_IN}":
            self._send(stand_in_wheel(), "application/zip")
        else:
            super().do_GET()

    def _send(self, content: bytes, kind: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def end_headers(self) -> None:
        if self.isolated:
            self.send_header("Cross-Origin-Opener-Policy", "same-origin")
            self.send_header("Cross-Origin-Embedder-Policy", "require-corp")
        super().end_headers()

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture(scope="session")
def serve() -> Iterator[Callable[..., str]]:
    """A function that serves a folder, by default the site, with attributes of the handler, and returns its address."""
    if not (SITE / "start/playground.html").exists():
        pytest.fail("build/site is missing: run tox -e docs first")
    servers: list[http.server.ThreadingHTTPServer] = []

    def start(directory: Path = SITE, **attributes: object) -> str:
        handler = functools.partial(type("Handler", (_Handler,), attributes), directory=str(directory))
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        servers.append(server)
        return f"http://127.0.0.1:{server.server_address[1]}"

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    from selenium import webdriver

    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if chromium is None or driver is None:
        pytest.fail("chromium or chromedriver is missing")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--window-size=1280,900"):
        options.add_argument(argument)
    started = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    started.set_script_timeout(600)
    yield started
    started.quit()

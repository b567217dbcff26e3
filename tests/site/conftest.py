"""A browser, and the built site on a local web server. Without a built site or a browser, these tests fail."""

from __future__ import annotations

import functools
import http.server
import json
import os
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

SITE = Path(__file__).parents[2] / "build/site"
PYODIDE = "FLAMBEAU_PYODIDE"
CHECKED_WITH_PYODIDE = pytest.StashKey[bool]()


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


class _Handler(http.server.SimpleHTTPRequestHandler):
    """Serves the site, Pyodide's folder below /pyodide/, and settings that name it."""

    pyodide = "../pyodide/"
    isolated = True  # whether pages may share memory with their workers

    def translate_path(self, path: str) -> str:
        pyodide = os.environ.get(PYODIDE)
        if pyodide and path.startswith("/pyodide/"):
            return str(Path(pyodide) / Path(path).name)
        return super().translate_path(path)

    def do_GET(self) -> None:
        if self.path.endswith("/run-settings.js"):
            settings = {"pyodide": self.pyodide, "packages": "run-packages.zip"}
            content = f"window.FLAMBEAU_RUN = {json.dumps(settings)}".encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/javascript")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)
        else:
            super().do_GET()

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

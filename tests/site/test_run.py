"""Code cells of the built site in Chromium: buttons, editing, links, messages; with Pyodide, what the cells print."""

from __future__ import annotations

import base64
import re
import zlib
from collections.abc import Callable
from typing import Any

import pytest

Serve = Callable[..., str]


@pytest.fixture(scope="module")
def address(serve: Serve) -> str:
    return serve()


def _text(browser: Any, selector: str) -> str:
    return browser.execute_script(f"return document.querySelector({selector!r})?.textContent ?? ''")


def _wait(browser: Any, condition: str, seconds: float = 20) -> None:
    from selenium.webdriver.support.wait import WebDriverWait

    WebDriverWait(browser, seconds, 0.1).until(lambda driver: driver.execute_script(f"return {condition}"))


def _write(browser: Any, text: str) -> None:
    """Replace the playground's code."""
    browser.execute_script(
        "const code = document.querySelector('.cell code'); code.focus(); getSelection().selectAllChildren(code);"
        "document.execCommand('insertText', false, arguments[0])",
        text,
    )


def _run(browser: Any, seconds: float = 300) -> str:
    """Press the playground's button, and return the output when the run has ended."""
    browser.execute_script("document.querySelector('.run-button').click()")
    _wait(browser, "!document.querySelector('.run-button.running')", seconds)
    return _text(browser, ".run-output")


@pytest.mark.parametrize("page", ["learn/tensors", "learn/classifier", "start/first-network"])
def test_every_cell_has_a_button(browser: Any, address: str, page: str) -> None:
    browser.get(f"{address}/{page}.html")
    cells, buttons = browser.execute_script(
        "return [document.querySelectorAll('.cell.highlight').length, document.querySelectorAll('.cell .run-button').length]"
    )
    assert cells == buttons > 4


def test_page_without_cells_loads_no_script(browser: Any, address: str) -> None:
    browser.get(f"{address}/learn/index.html")
    assert browser.execute_script("return window.FLAMBEAU_RUN === undefined")


def test_code_from_a_link_is_shown_and_not_run(browser: Any, address: str) -> None:
    compressed = zlib.compressobj(wbits=-15)
    text = 'print("你好")\n'
    fragment = base64.urlsafe_b64encode(compressed.compress(text.encode()) + compressed.flush()).decode().rstrip("=")
    browser.get("about:blank")
    browser.get(f"{address}/start/playground.html#code={fragment}")
    _wait(browser, "document.querySelector('.cell code').textContent.includes('print')")
    assert _text(browser, ".cell code") == text
    assert "Code from a link" in _text(browser, ".cell .run-status")
    assert _text(browser, ".run-output") == ""


def test_damaged_link(browser: Any, address: str) -> None:
    browser.get("about:blank")
    browser.get(f"{address}/start/playground.html#code=AAAA")
    _wait(browser, "document.querySelector('.run-choices .run-status').textContent !== ''")
    assert "cannot be read" in _text(browser, ".run-choices .run-status")


def test_link_holds_the_code(browser: Any, address: str) -> None:
    browser.get(f"{address}/start/playground.html")
    _write(browser, "x = 1")
    browser.execute_script("document.querySelector('.run-link').click()")
    _wait(browser, "location.hash.startsWith('#code=')")
    fragment = browser.current_url.partition("#code=")[2]
    compressed = base64.urlsafe_b64decode(fragment + "=" * (-len(fragment) % 4))
    assert zlib.decompress(compressed, wbits=-15) == b"x = 1"


def test_keys(browser: Any, address: str) -> None:
    """Enter keeps the indentation; Tab indents after an edit, and leaves the block after Escape."""
    from selenium.webdriver.common.keys import Keys

    browser.get(f"{address}/start/playground.html")
    _write(browser, "for x in y:")
    code = browser.find_element("css selector", ".cell code")
    code.send_keys(Keys.ENTER, "a", Keys.ENTER, Keys.TAB, "b")
    assert _text(browser, ".cell code").rstrip("\n") == "for x in y:\n    a\n        b"
    code.send_keys(Keys.ESCAPE, Keys.TAB)
    assert browser.execute_script("return document.activeElement.matches('.run-button')")


def test_reset_restores_code_and_output(browser: Any, address: str) -> None:
    browser.get(f"{address}/learn/tensors.html")
    original = _text(browser, ".cell code")
    _write(browser, "1 + 1")
    browser.execute_script("document.querySelector('.run-reset').click()")
    assert _text(browser, ".cell code") == original
    assert browser.execute_script("return document.querySelector('.run-reset').hidden")


def test_message_without_python(browser: Any, serve: Serve) -> None:
    browser.get(f"{serve(pyodide='http://127.0.0.1:9/')}/start/playground.html")
    output = _run(browser, 30)
    assert "Python could not be loaded from http://127.0.0.1:9/" in output and "network connection" in output


@pytest.mark.pyodide
def test_output_and_traceback(browser: Any, address: str) -> None:
    browser.get(f"{address}/start/playground.html")
    _write(browser, "import flambeau as torch\nx = torch.ones(2, requires_grad=True)\nprint('a')\n(2 * x).sum()")
    assert _run(browser) == "a\ntensor(4., grad_fn=<SumBackward0>)\n"
    _write(browser, "x = torch.zeros(2)\nx @ torch.zeros(3)")
    output = _run(browser)
    assert 'File "block 1", line 2, in <module>' in output and "x @ torch.zeros(3)" in output
    assert "RuntimeError" in output and "flambeau_site_cells" not in output


HTML = """\
class Shown:
    def _repr_html_(self):
        return "<p>text</p><div style='height:300px'></div><iframe srcdoc='inner'></iframe><script>try { parent.changed = 1 } catch {}</script>"
Shown()"""


@pytest.mark.pyodide
def test_html_is_shown_in_a_frame(browser: Any, address: str) -> None:
    """Scripts and frames of the output work, as `flambeau.watch` needs, and cannot change the page."""
    browser.get(f"{address}/start/playground.html")
    _write(browser, HTML)
    _run(browser)
    _wait(browser, "document.querySelector('.run-output iframe').clientHeight > 400")
    browser.switch_to.frame(browser.find_element("css selector", ".run-output iframe"))
    assert _text(browser, "p") == "text" and browser.execute_script("return document.querySelector('iframe') !== null")
    browser.switch_to.default_content()
    assert browser.execute_script("return window.changed === undefined")


@pytest.mark.pyodide
def test_picture_is_drawn(browser: Any, address: str) -> None:
    browser.get(f"{address}/start/playground.html")
    _write(
        browser,
        'class Shown:\n    def _repr_svg_(self):\n        return \'<svg xmlns="http://www.w3.org/2000/svg" width="40"/>\'\nShown()',
    )
    _run(browser)
    _wait(browser, "document.querySelector('.run-output img.drawn').naturalWidth === 40")


@pytest.mark.pyodide
@pytest.mark.parametrize("shown", ["", "plt.show()"])
def test_plot_is_drawn(browser: Any, address: str, shown: str) -> None:
    browser.get(f"{address}/start/playground.html")
    _write(browser, f"import matplotlib.pyplot as plt\nplt.plot([1, 2])\n{shown}\nNone")
    assert _run(browser) == ""
    _wait(browser, "document.querySelectorAll('.run-output img.drawn').length === 1")
    assert browser.execute_script("return document.querySelector('.run-output img.drawn').naturalWidth > 0")


@pytest.mark.pyodide
def test_message_without_matplotlib(browser: Any, serve: Serve) -> None:
    browser.get(f"{serve(matplotlib=False)}/start/playground.html")
    _write(browser, "import matplotlib.pyplot as plt")
    output = _run(browser)
    assert "matplotlib could not be loaded from Pyodide's address." in output and "No module named 'matplotlib'" in output


@pytest.mark.pyodide
def test_model_larger_than_the_memory(browser: Any, address: str) -> None:
    """A tensor that 32 bits cannot address, and tensors that together exceed the memory: Python goes on afterwards."""
    browser.get(f"{address}/start/playground.html")
    _write(browser, "import flambeau as torch\ntorch.nn.Linear(30000, 30000)")
    output = _run(browser)
    assert "Traceback" in output and "can't allocate memory: an array of size (30000, 30000) exceeds" in output
    _write(browser, "try:\n    tensors = [torch.empty(2**28) for _ in range(5)]\nexcept MemoryError as error:\n    print(error)")
    output = _run(browser)
    assert "can't allocate memory" in output and "GiB" in output
    _write(browser, "1 + 1")
    assert _run(browser) == "2\n"


@pytest.mark.pyodide
@pytest.mark.parametrize("isolated", [True, False])
def test_interrupt(browser: Any, serve: Serve, isolated: bool) -> None:
    """Shared memory keeps the variables; without it, the worker ends and the page says so."""
    browser.get(f"{serve(isolated=isolated)}/start/playground.html")
    assert browser.execute_script("return crossOriginIsolated") is isolated
    _write(browser, "x = 1")
    _run(browser)
    _write(browser, "while True: x += 1")
    browser.execute_script("document.querySelector('.run-button').click()")
    _wait(browser, "document.querySelector('.cell .run-status').textContent.startsWith('Running')")
    browser.execute_script("document.querySelector('.run-button').click()")
    _wait(browser, "!document.querySelector('.run-button.running')")
    assert ("KeyboardInterrupt" if isolated else "Variables are lost") in _text(browser, ".run-output")
    _write(browser, "print(x > 1)")
    assert ("True" if isolated else "NameError") in _run(browser)


@pytest.mark.pyodide
def test_earlier_cells_run_first(browser: Any, address: str) -> None:
    """The first two cells print what the build recorded, and the third, whose button is pressed, shows a picture."""
    browser.get(f"{address}/learn/autograd.html")

    def texts(selector: str) -> list[str]:
        """Return the first two outputs, without addresses, and without white space, in which `repr` differs from Jupyter."""
        script = "return [...document.querySelectorAll(arguments[0])].slice(0, 2).map(each => each.textContent)"
        return [re.sub(r"\s|0x(\.\.\.|[0-9a-f]+)", "", text) for text in browser.execute_script(script, selector)]

    recorded = texts(".printed")
    browser.execute_script("document.querySelectorAll('.run-button')[2].click()")
    _wait(browser, "document.querySelectorAll('.cell .run-status')[2].textContent.endsWith(' s')", 300)
    assert all(recorded) and texts(".run-output") == recorded
    assert browser.execute_script("return document.querySelectorAll('.run-output')[2].querySelector('.drawn, .shown') !== null")

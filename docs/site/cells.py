"""Run cells of a notebook in one namespace. The site's pages run this module in the browser, in Pyodide."""

from __future__ import annotations

import ast
import base64
import inspect
import io
import linecache
import sys
import time
import traceback
import types
from collections.abc import Callable
from typing import Any

Send = Callable[[str, str], None]  # receives "text", "html", "svg" (in base64) or "error", and the content

# Transparent pictures with grey text, readable in light and dark mode.
_GREY = "#7d8590"
FIGURE_STYLE = {
    "figure.facecolor": "none", "axes.facecolor": "none", "savefig.facecolor": "none", "savefig.bbox": "tight",
    "text.color": _GREY, "axes.labelcolor": _GREY, "axes.edgecolor": _GREY, "xtick.color": _GREY, "ytick.color": _GREY,
    "axes.titlesize": "medium", "axes.spines.top": False, "axes.spines.right": False, "font.size": 9, "svg.fonttype": "none",
    "font.family": "sans-serif", "legend.frameon": False, "svg.hashsalt": "flambeau",
}  # fmt: skip
_FLUSH_SECONDS = 0.1


async def run(source: str, name: str, namespace: dict[str, Any], send: Send) -> bool:
    """Run a cell and send what it prints, draws and returns. Return whether it ended without an exception.

    Args:
        source: Python code, in which `await` is allowed outside functions. The value of a last expression is sent, unless the
            line ends with a semicolon.
        name: the name of the cell in tracebacks.
        namespace: the global variables, which all cells share.
        send: called with the kind of an output and its content, in order.
    """
    printed = _Printed(send)
    before = sys.stdout, sys.stderr
    sys.stdout = sys.stderr = printed
    try:
        value = await _evaluate(source, name, namespace)
        _send_figures(printed)
        if value is not None:
            _send_value(value, printed)
    except BaseException as error:  # also KeyboardInterrupt and SystemExit
        printed.flush()
        send("error", _traceback(error, name))
        return False
    finally:
        printed.flush()
        sys.stdout, sys.stderr = before
    return True


async def _evaluate(source: str, name: str, namespace: dict[str, Any]) -> Any:
    # tracebacks and inspect.getsource read the cell's source from here
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    tree = ast.parse(source, name)
    last = tree.body[-1] if tree.body else None
    shown = isinstance(last, ast.Expr) and not source.rstrip().endswith(";")
    if shown:
        tree.body.pop()
    await _execute(compile(tree, name, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT), namespace)
    if not shown:
        return None
    assert isinstance(last, ast.Expr)
    return await _execute(compile(ast.Expression(last.value), name, "eval", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT), namespace)


async def _execute(code: types.CodeType, namespace: dict[str, Any]) -> Any:
    result = eval(code, namespace)
    return await result if code.co_flags & inspect.CO_COROUTINE else result


def _send_value(value: Any, printed: _Printed) -> None:
    """Send a value as a picture or as HTML if it has the methods of notebooks for them, otherwise its `repr`."""
    for kind, method in (("svg", "_repr_svg_"), ("html", "_repr_html_")):
        content = None if isinstance(value, type) or not hasattr(value, method) else getattr(value, method)()
        if content is not None:
            printed.flush()
            printed.send(kind, base64.b64encode(content.encode()).decode() if kind == "svg" else content)
            return
    printed.write(repr(value) + "\n")


def _traceback(error: BaseException, name: str) -> str:
    """Format an exception, without the frames of this module."""
    formatted = traceback.TracebackException.from_exception(error)
    own = [index for index, frame in enumerate(formatted.stack) if frame.filename == __file__]
    if own:
        formatted.stack = traceback.StackSummary.from_list(formatted.stack[own[-1] + 1 :])
    return "".join(formatted.format())


class _Printed(io.TextIOBase):
    """A text stream that sends what is written to it, ten times per second at most."""

    def __init__(self, send: Send) -> None:
        self.send = send
        self._parts: list[str] = []
        self._sent = 0.0

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self._parts.append(text)
        if time.monotonic() - self._sent > _FLUSH_SECONDS:
            self.flush()
        return len(text)

    def flush(self) -> None:
        if self._parts:
            self.send("text", "".join(self._parts))
            self._parts.clear()
        self._sent = time.monotonic()


def _send_figures(printed: _Printed) -> None:
    """Send the open figures of matplotlib as SVG, and close them."""
    pyplot: Any = sys.modules.get("matplotlib.pyplot")
    if pyplot is None:
        return
    printed.flush()
    for number in pyplot.get_fignums():
        picture = io.BytesIO()
        pyplot.figure(number).savefig(picture, format="svg")
        printed.send("svg", base64.b64encode(picture.getvalue()).decode())
    pyplot.close("all")


def prepare_figures() -> None:
    """Set the style of matplotlib's figures, and let `show` send them as output of the running cell."""
    import matplotlib.pyplot

    def show(*args: Any, **kwargs: Any) -> None:
        if isinstance(sys.stdout, _Printed):
            _send_figures(sys.stdout)

    matplotlib.pyplot.switch_backend("agg")  # a worker has no window
    matplotlib.rcParams.update(FIGURE_STYLE)
    matplotlib.pyplot.show = show

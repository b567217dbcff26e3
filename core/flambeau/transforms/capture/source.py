"""Generate the source of a program: one line of Python for each call; a name is deleted after its last use."""

from __future__ import annotations

import itertools
import keyword
import linecache
import re
from collections.abc import Callable, Sequence
from types import MethodType
from typing import Any

from .recorder import CHECK, Call, Recorder, Reference, references_in

__all__ = ["CheckFailed", "Source"]

_numbers = itertools.count()


class CheckFailed(RuntimeError):
    """Raised if a check in a replay differs from the recorded result."""


class Source:
    """Recorded calls as the source of a Python function.

    Args:
        recorder: the recorder of the calls.
        calls: the calls.
        inputs: the input values.
        outputs: the values to return.
        name: the name of the function.

    Attributes:
        code: the source.
        run: the function.
        calls: the calls, except those folded into constants.
    """

    recorder: Recorder
    name: str
    inputs: list[Reference]
    outputs: list[Reference]
    folded: set[Reference]
    calls: list[Call]

    def __init__(
        self, recorder: Recorder, calls: Sequence[Call], inputs: Sequence[Reference], outputs: Sequence[Reference], name: str
    ) -> None:
        self.recorder, self.calls, self.name = recorder, list(calls), name
        self.inputs, self.outputs = list(inputs), list(outputs)
        self.namespace: dict[str, Any] = {"CheckFailed": CheckFailed, "wrap": _wrap(recorder)}
        self.names: dict[Reference, str] = {}
        self.code: str = self._source()
        self.run: Callable[[Sequence[Any]], tuple[Any, ...]] = self._compiled()

    def _source(self) -> str:
        for number, reference in enumerate(self.inputs):
            self.names[reference] = f"a{number}"
        self._fold_constants()
        dictionaries = sorted(
            {reference for call in self.calls for reference in references_in((call.args, call.kwargs))}
            & self.recorder.shared_dictionaries() - set(self.inputs),
            key=lambda reference: reference.index,
        )
        last_use = {
            reference: number
            for number, call in enumerate(self.calls)
            for reference in (*references_in((call.args, call.kwargs)), *references_in(call.results))
        }
        kept = set(self.outputs)
        lines = [f"def {self.name}(inputs):"]
        if self.inputs:
            lines.append(f"    {', '.join(self.names[reference] for reference in self.inputs)}, = inputs")
        for number, reference in enumerate(dictionaries):
            self.names[reference] = f"shared{number}"
            lines.append(f"    shared{number} = {{}}")
        for number, call in enumerate(self.calls):
            lines.append(f"    {self.line(call)}")
            over = [
                self.names[reference]
                for reference in dict.fromkeys((*references_in((call.args, call.kwargs)), *references_in(call.results)))
                if last_use[reference] == number and reference not in kept and reference not in self.folded
            ]
            if over:
                lines.append(f"    del {', '.join(over)}")
        results = "".join(f"{self.names[reference]}, " for reference in self.outputs)
        lines.append(f"    return ({results.rstrip()})")
        return "\n".join(lines) + "\n"

    def _fold_constants(self) -> None:
        """Constant folding: compute results of constants once, unless their memory is written to, or is an input or output."""
        group = self.recorder.group
        exposed = {group(reference) for call in self.calls for reference in call.writes}
        exposed |= {group(reference) for reference in (*self.inputs, *self.outputs)}
        calls, self.folded = [], set[Reference]()
        for call in self.calls:
            if call.constant is None or group(call.results) in exposed:
                calls.append(call)
            else:
                self.folded.add(call.results)
                self.names[call.results] = self._global("constant", call.constant)
        self.calls = calls

    def line(self, call: Call) -> str:
        arguments = [self._text(argument) for argument in call.args]
        arguments += [f"{name}={self._text(value)}" for name, value in call.kwargs.items()]
        expression = f"{self._function(call)}({', '.join(arguments)})"
        if call.scalars and type(call.results) is Reference:
            expression = f"wrap({expression})"
        if call.kind == CHECK:
            return f"if {expression} is not {call.expected!r}: raise CheckFailed({call.name!r})"
        if call.results is None:
            return expression
        assignment = f"{self._target(call.results)} = {expression}"
        if call.scalars and type(call.results) is not Reference:
            names = [self.names[reference] for reference in call.scalars]
            assignment += "".join(f"; {name} = wrap({name})" for name in names)
        return assignment

    def _target(self, results: Any) -> str:
        if results is None:
            return "_"
        if type(results) is Reference:
            name = self.names.get(results)
            if name is None:
                name = self.names[results] = f"v{len(self.names)}"
            return name
        inner = ", ".join(map(self._target, results))
        return f"({inner},)" if len(results) == 1 else f"({inner})"

    def _function(self, call: Call) -> str:
        base = re.sub(r"\W", "_", call.name).strip("_") or "kernel"
        base = f"{base}_" if keyword.iskeyword(base) or base in ("wrap", "inputs", self.name) else base
        return self._global(base, call.function)

    def _global(self, base: str, value: Any) -> str:
        """Return the name of a value in the function's namespace; add it if missing."""
        for number in itertools.count():
            name = f"{base}_{number}" if number else base
            found = self.namespace.setdefault(name, value)
            if found is value or (type(value) is MethodType and found == value):
                return name
        raise AssertionError

    def _text(self, value: Any) -> str:
        kind = type(value)
        if kind is Reference:
            return self.names[value]
        if value is None or kind in (bool, int, str) or (kind is float and value - value == 0):
            return repr(value)
        if kind is tuple:
            return f"({', '.join(map(self._text, value))}{',' if len(value) == 1 else ''})"
        if kind is list:
            return f"[{', '.join(map(self._text, value))}]"
        if kind is dict and all(type(key) is str for key in value):
            return "{" + ", ".join(f"{key!r}: {self._text(item)}" for key, item in value.items()) + "}"
        if kind is slice:
            return f"slice({self._text(value.start)}, {self._text(value.stop)}, {self._text(value.step)})"
        if value is ...:
            return "..."
        return self._global(
            "c" if not hasattr(value, "__name__") else re.sub(r"\W", "_", value.__name__).strip("_") or "c", value
        )

    def _compiled(self) -> Callable[[Sequence[Any]], tuple[Any, ...]]:
        filename = f"<flambeau graph {next(_numbers)}>"
        linecache.cache[filename] = len(self.code), None, self.code.splitlines(keepends=True), filename
        exec(compile(self.code, filename, "exec"), self.namespace)
        run: Callable[[Sequence[Any]], tuple[Any, ...]] = self.namespace[self.name]
        return run


def _wrap(recorder: Recorder) -> Callable[[Any], Any]:
    """Return the function that converts library scalars to arrays."""
    host = recorder.host
    return recorder.backend.wrap if host is None or recorder.backend.scalar_types else host.wrap

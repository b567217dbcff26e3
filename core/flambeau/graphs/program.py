"""Programs: recorded calls as a Python function of arrays.

The calls that are needed stand in the order in which they were made, one line each, so that writes and draws of random numbers
keep theirs.  A name is deleted after its last use.
"""

from __future__ import annotations

import itertools
import keyword
import linecache
import re
from collections.abc import Callable, Iterable, Sequence
from types import MethodType
from typing import Any

from .passes import checks_first, merged, needed_calls, without_copies
from .recorder import CHECK, EFFECT, Call, Recorder, Reference, references_in

__all__ = ["CheckFailed", "Program"]

_numbers = itertools.count()


class CheckFailed(RuntimeError):
    """A comparison of values came out differently from when the program was recorded."""


class Program:
    """A function of arrays, made of recorded calls.

    Args:
        recorder: what the calls belong to.
        calls: the calls.
        inputs: the values that are given.
        outputs: the values that are wanted.
        stays: further values whose memory is seen from outside, so that writes to it are needed.
        name: what the function is called.

    Attributes:
        code: the source, which can be read.
        run: the function: the inputs' values, in a sequence, to a tuple of those of the outputs.
        calls: the calls that are needed.
    """

    def __init__(
        self,
        recorder: Recorder,
        calls: Sequence[Call],
        inputs: Sequence[Reference],
        outputs: Sequence[Reference],
        stays: Iterable[Reference] = (),
        name: str = "step",
    ) -> None:
        self.recorder, self.inputs, self.outputs, self.name = recorder, list(inputs), list(outputs), name
        self.dictionaries = recorder.shared_dictionaries()
        calls, merged_values = merged(recorder, needed_calls(recorder, calls, outputs, stays), outputs)
        calls = checks_first(recorder, calls)
        self.calls, copied_values = without_copies(recorder, calls, inputs, outputs)
        self.renamed = merged_values | copied_values  # values that are not made, by what stands in their place
        self.namespace: dict[str, Any] = {"CheckFailed": CheckFailed, "wrap": recorder.backend.wrap}
        self.names: dict[Reference, str] = {}
        self.code = self._source()
        self.run: Callable[[Sequence[Any]], tuple[Any, ...]] = self._compiled()

    # --- the source ---

    def _source(self) -> str:
        for number, reference in enumerate(self.inputs):
            self.names[reference] = f"a{number}"
        self._fold_constants()
        dictionaries = sorted(
            {reference for call in self.calls for reference in references_in((call.args, call.kwargs))}
            & self.dictionaries - set(self.inputs),
            key=lambda reference: reference.index,
        )
        last_use = {
            self._meant(reference): number
            for number, call in enumerate(self.calls)
            for reference in (*references_in((call.args, call.kwargs)), *references_in(call.results))
        }
        kept = {self._meant(reference) for reference in self.outputs}
        lines = [f"def {self.name}(inputs):"]
        if self.inputs:
            lines.append(f"    {', '.join(self.names[reference] for reference in self.inputs)}, = inputs")
        for number, reference in enumerate(dictionaries):
            self.names[reference] = f"shared{number}"
            lines.append(f"    shared{number} = {{}}")
        for number, call in enumerate(self.calls):
            lines.append(f"    {self._line(call)}")
            over = [
                self.names[reference]
                for reference in dict.fromkeys(
                    self._meant(reference)
                    for reference in (*references_in((call.args, call.kwargs)), *references_in(call.results))
                )
                if last_use[reference] == number and reference not in kept and reference not in self.folded
            ]
            if over:
                lines.append(f"    del {', '.join(over)}")
        results = "".join(f"{self.names[self._meant(reference)]}, " for reference in self.outputs)
        lines.append(f"    return ({results.rstrip()})")
        return "\n".join(lines) + "\n"

    def _meant(self, reference: Reference) -> Reference:
        """What a value is called by, if a copy was left out."""
        while reference in self.renamed:
            reference = self.renamed[reference]
        return reference

    def _fold_constants(self) -> None:
        """Compute once what depends on constants alone, unless it is written to or seen from outside."""
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

    def _line(self, call: Call) -> str:
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
        """A name in the function's namespace that holds a value."""
        for number in itertools.count():
            name = f"{base}_{number}" if number else base
            found = self.namespace.setdefault(name, value)
            if found is value or (type(value) is MethodType and found == value):
                return name
        raise AssertionError

    def _text(self, value: Any) -> str:
        kind = type(value)
        if kind is Reference:
            return self.names[self._meant(value)]
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

    @property
    def checks_before_effects(self) -> bool:
        """Whether all checks come before the first write or draw, so that nothing has been done when one fails."""
        kinds = [call.kind == CHECK for call in self.calls if call.kind == CHECK or call.kind == EFFECT or call.writes]
        return kinds == sorted(kinds, reverse=True)

    # --- to look at ---

    def table(self) -> list[tuple[str, str, str]]:
        """A row for each call: kind, name, and the line of source."""
        return [(call.kind, call.name, self._line(call)) for call in self.calls]

    def print_tabular(self) -> None:
        """Print a row for each call: kind, name, and the line of source."""
        rows = [("kind", "name", "line"), *self.table()]
        widths = [max(len(row[column]) for row in rows) for column in range(2)]
        for kind, name, line in rows:
            print(f"{kind:{widths[0]}}  {name:{widths[1]}}  {line}")

    def __repr__(self) -> str:
        return f"Program({self.name}: {len(self.inputs)} inputs, {len(self.calls)} calls, {len(self.outputs)} outputs)"

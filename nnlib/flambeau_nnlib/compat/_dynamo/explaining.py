"""`torch._dynamo.explain`: report which graphs `torch.compile` captures from a call, or why it captures none."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable
from typing import Any

from flambeau import nn

from ...compile.compiler.compiling import CompiledFunction

__all__ = ["ExplainOutput", "GraphCompileReason", "explain"]

_CALLS = 3  # up to two warm-up calls, then the captured one


@dataclasses.dataclass
class GraphCompileReason:
    """The reason why a call runs eagerly.

    Args:
        reason: the reason as text.
        user_stack: stack frames in the user's code; always empty, because a call is captured either as a whole or not at all.
        graph_break: always True.
    """

    reason: str
    user_stack: list[Any] = dataclasses.field(default_factory=list)
    graph_break: bool = True


@dataclasses.dataclass
class ExplainOutput:
    """The result of `torch._dynamo.explain`.

    Args:
        graphs: the captured forward and backward programs; each has its source as `code`.
        graph_count: the number of programs.
        graph_break_count: 1 if the call runs eagerly, else 0.
        break_reasons: the reasons why the call runs eagerly.
        op_count: the number of kernel calls in the programs.
        ops_per_graph: the names of the kernels, for each program.
        out_guards, compile_times: not measured, always None.
    """

    graphs: list[Any]
    graph_count: int
    graph_break_count: int
    break_reasons: list[GraphCompileReason]
    op_count: int
    ops_per_graph: list[list[str]] | None = None
    out_guards: list[Any] | None = None
    compile_times: str | None = None

    def __str__(self) -> str:
        lines = [f"Graph Count: {self.graph_count}", f"Graph Break Count: {self.graph_break_count}", f"Op Count: {self.op_count}"]
        lines.append("Break Reasons:")
        for number, broken in enumerate(self.break_reasons, 1):
            lines += [f"  Break Reason {number}:", f"    Reason: {broken.reason}", "    User Stack:"]
        lines.append("Ops per Graph:")
        for number, names in enumerate(self.ops_per_graph or (), 1):
            lines += [f"  Ops {number}:", *(f"    {name}" for name in names)]
        return "\n".join(lines) + "\n"


def explain(f: Callable[..., Any], *extra_args: Any, **extra_kwargs: Any) -> Any:
    """Call a function like `torch.compile`, up to three times, and report which graphs were captured.

    Args:
        f: the function or module.
        extra_args, extra_kwargs: its arguments. Without arguments, `explain(f)` returns a function to call with them.

    Returns:
        An `ExplainOutput`, which can be printed.

    >>> torch._dynamo.explain(lambda x: x.sin() + 1)(torch.ones(2)).graph_break_count
    0
    """

    def inner(*args: Any, **kwargs: Any) -> ExplainOutput:
        name = getattr(f, "__name__", type(f).__name__)
        compiled = CompiledFunction(f.forward if isinstance(f, nn.Module) else f, name)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the report contains the reason, so the warning is not needed
            for _ in range(_CALLS):
                compiled(*args, **kwargs)
                if compiled.programs or compiled.reason is not None:
                    break
        programs = compiled.programs
        names = [[call.name for call in program.calls] for program in programs]
        reasons = [GraphCompileReason(compiled.reason)] if compiled.reason is not None else []
        return ExplainOutput(programs, len(programs), len(reasons), reasons, sum(map(len, names)), names)

    return inner(*extra_args, **extra_kwargs) if extra_args or extra_kwargs else inner

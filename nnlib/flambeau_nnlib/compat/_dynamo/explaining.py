"""`torch._dynamo.explain`: what `torch.compile` makes of a call, or why it makes nothing of it."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable
from typing import Any

from flambeau import nn

from ...compile.compiler.compiling import CompiledFunction

__all__ = ["ExplainOutput", "GraphCompileReason", "explain"]

_CALLS = 3  # the first ones may only warm up


@dataclasses.dataclass
class GraphCompileReason:
    """Why a call runs eagerly.

    Args:
        reason: in words.
        user_stack: where in the program; nothing, as a call is captured as a whole or not at all.
        graph_break: that it is so.
    """

    reason: str
    user_stack: list[Any] = dataclasses.field(default_factory=list)
    graph_break: bool = True


@dataclasses.dataclass
class ExplainOutput:
    """What has been captured of a call.

    Args:
        graphs: the programs, forward and backward; each has its source in `code`.
        graph_count: how many there are.
        graph_break_count: 1 where the call runs eagerly, else 0.
        break_reasons: why it does.
        op_count: how many calls of kernels the programs have.
        ops_per_graph: their names, program by program.
        out_guards, compile_times: not measured: None.
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
    """Call a function as `torch.compile` would, up to three times, and say what was captured.

    Args:
        f: the function, or module.
        extra_args, extra_kwargs: its arguments; where there are none, a function of them is given back.

    Returns:
        An `ExplainOutput`, which prints.

    >>> torch._dynamo.explain(lambda x: x.sin() + 1)(torch.ones(2)).graph_break_count
    0
    """

    def inner(*args: Any, **kwargs: Any) -> ExplainOutput:
        name = getattr(f, "__name__", type(f).__name__)
        compiled = CompiledFunction(f.forward if isinstance(f, nn.Module) else f, name)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that it runs eagerly is what is asked
            for _ in range(_CALLS):
                compiled(*args, **kwargs)
                if compiled.programs or compiled.reason is not None:
                    break
        programs = compiled.programs
        names = [[call.name for call in program.calls] for program in programs]
        reasons = [GraphCompileReason(compiled.reason)] if compiled.reason is not None else []
        return ExplainOutput(programs, len(programs), len(reasons), reasons, sum(map(len, names)), names)

    return inner(*extra_args, **extra_kwargs) if extra_args or extra_kwargs else inner

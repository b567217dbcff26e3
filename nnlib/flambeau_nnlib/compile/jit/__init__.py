"""`torch.jit`: scripts run as Python, traces run their recorded operators; archives of PyTorch can be loaded and run.

>>> @torch.jit.script
... def half(x):
...     return x / 2
>>> half(torch.ones(2))
tensor([0.5000, 0.5000])
"""

from __future__ import annotations

from flambeau.extension import private_names

from . import _saving
from ._async import Future, fork, wait
from ._decorators import (
    Attribute,
    Final,
    annotate,
    enable_onednn_fusion,
    export,
    ignore,
    interface,
    is_scripting,
    isinstance,
    onednn_fusion_enabled,
    script_if_tracing,
    set_fusion_strategy,
    strict_fusion,
    unused,
)
from ._decorators import script_if_tracing as _script_if_tracing  # noqa: F401
from ._decorators import unwrap_optional as _unwrap_optional  # noqa: F401
from ._freeze import freeze, optimize_for_inference, optimized_execution
from ._freeze import run_frozen_optimizations as run_frozen_optimizations
from ._loading import load
from ._saving import save
from ._script import (
    CompilationUnit,
    Error,
    RecursiveScriptModule,
    ScriptFunction,
    ScriptModule,
    ScriptWarning,
    script,
    script_method,
)
from ._trace import TopLevelTracedModule, TracerWarning, TracingCheckError, is_tracing, trace, trace_module

__all__ = [
    "Attribute", "CompilationUnit", "Error", "Final", "Future", "RecursiveScriptModule", "ScriptFunction", "ScriptModule",
    "ScriptWarning", "TopLevelTracedModule", "TracerWarning", "TracingCheckError", "annotate", "enable_onednn_fusion", "export",
    "export_opnames", "fork", "freeze", "ignore", "interface", "is_scripting", "is_tracing", "isinstance", "load",
    "onednn_fusion_enabled", "optimize_for_inference", "optimized_execution", "save", "script", "script_if_tracing",
    "script_method", "set_fusion_strategy", "strict_fusion", "trace", "trace_module", "unused", "wait",
]  # fmt: skip

# Modules of this package cannot import these functions, because they are imported before the package is complete. They call
# them as `torch.jit._text_of` etc.
_content_of, _graph_of, _text_of = (
    _saving.content_of,
    _saving.graph_of,
    _saving.text_of,
)


__getattr__ = private_names(__name__)


def export_opnames(m: ScriptModule) -> list[str]:
    """Return the operators that the code of a module calls, as saved by `torch.jit.save`.

    Args:
        m: a module returned by `load`, `trace` or `script`.

    Raises:
        RuntimeError: the module cannot be written as TorchScript.
    """
    import re

    from ._saving import code_of

    text = "".join(content.decode() for path, content in code_of(m).items() if path.endswith(".py"))
    return sorted({f"aten::{name}" for name in re.findall(r"(?<![\w.])torch\.(\w+)\(", text)})

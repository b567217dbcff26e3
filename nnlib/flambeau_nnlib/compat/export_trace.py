"""`torch.export._trace`: the function behind `torch.export.export`."""

from __future__ import annotations

from typing import Any

from flambeau import nn

from ..compile.export import ExportedProgram, export

__all__ = ["_export"]


def _export(
    mod: nn.Module,
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    dynamic_shapes: Any = None,
    *,
    strict: bool = True,
    preserve_module_call_signature: tuple[str, ...] = (),
    pre_dispatch: bool = False,
    prefer_deferred_runtime_asserts_over_guards: bool = False,
) -> ExportedProgram:
    """Call `torch.export.export`.

    Args:
        mod, args, kwargs, dynamic_shapes, strict, preserve_module_call_signature: see `torch.export.export`.
        pre_dispatch: ignored, as all programs are recorded before autograd and other transformations.
        prefer_deferred_runtime_asserts_over_guards: see `torch.export.export`.
    """
    return export(
        mod,
        args,
        kwargs,
        dynamic_shapes=dynamic_shapes,
        strict=strict,
        preserve_module_call_signature=preserve_module_call_signature,
        prefer_deferred_runtime_asserts_over_guards=prefer_deferred_runtime_asserts_over_guards,
    )

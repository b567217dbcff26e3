"""`torch.compile` and `torch.compiler`.

Invariant: a compiled function returns bitwise the same results as the original function. A call is replayed only while
    everything it depends on is unchanged (`dependencies`, and the guards of `flambeau.extension.capture`). Otherwise the
    function runs normally and is captured again.

>>> double = torch.compile(lambda x: 2 * x)
>>> double(torch.ones(1)), double(torch.ones(1))
(tensor([2.]), tensor([2.]))
"""

from __future__ import annotations

import importlib.util

from flambeau.extension.capture import register_own_folder

from .compiling import OptimizedModule, compile
from .errors import InvalidBackend
from .settings import (
    allow_in_graph,
    assume_constant_result,
    cudagraph_mark_step_begin,
    disable,
    get_default_backend,
    is_compiling,
    is_dynamo_compiling,
    is_exporting,
    keep_portable_guards_unsafe,
    keep_tensor_guards_unsafe,
    list_backends,
    load_cache_artifacts,
    load_compiled_function,
    nested_compile_region,
    reset,
    save_cache_artifacts,
    set_default_backend,
    set_enable_guard_collectives,
    set_stance,
    skip_all_guards_unsafe,
    skip_guard_on_all_nn_modules_unsafe,
    skip_guard_on_globals_unsafe,
    skip_guard_on_inbuilt_nn_modules_unsafe,
    substitute_in_graph,
    wrap_numpy,
)

__all__ = [
    "InvalidBackend", "OptimizedModule", "allow_in_graph", "assume_constant_result", "compile", "cudagraph_mark_step_begin",
    "disable", "get_default_backend", "is_compiling", "is_dynamo_compiling", "is_exporting", "keep_portable_guards_unsafe",
    "keep_tensor_guards_unsafe", "list_backends", "load_cache_artifacts", "load_compiled_function", "nested_compile_region",
    "reset", "save_cache_artifacts", "set_default_backend", "set_enable_guard_collectives", "set_stance",
    "skip_all_guards_unsafe", "skip_guard_on_all_nn_modules_unsafe", "skip_guard_on_globals_unsafe",
    "skip_guard_on_inbuilt_nn_modules_unsafe", "substitute_in_graph", "wrap_numpy",
]  # fmt: skip

for _package in ("flambeau_nnlib", "flambeau_vision", "flambeau_backends", "pluggy"):
    _found = importlib.util.find_spec(_package)
    for _folder in (_found.submodule_search_locations or ()) if _found else ():
        register_own_folder(_folder)

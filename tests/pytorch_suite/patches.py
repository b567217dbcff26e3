"""Substitutions in the suite's files while they are imported."""

from __future__ import annotations

import re

# Functions that run while a file is being imported: missing names in their bodies become `Missing` as well.
RUN_AT_IMPORT = {"build_constructor_arg_db", "generate_tensor_like_override_tests", "generate_tests"}

# (end of the file's path, regular expression, replacement)
_SUBSTITUTIONS = [
    # The suite's own helpers, on both sides.
    ("", r"torch\.testing\._internal", "suite_internal"),
    ("", r"torch\.testing\._comparison import", "suite_comparison import"),
    ("", r"torch\.testing\._legacy import", "suite_legacy import"),
    # Switches of PyTorch's C++ side.
    (
        "_internal/common_utils.py",
        r"def cppProfilingFlagsToProfilingMode\(\):\n",
        "def cppProfilingFlagsToProfilingMode():\n    return ProfilingMode.SIMPLE\n",
    ),
    ("_internal/common_utils.py", r"\nfunc_call = (?s:.*?)ScriptMethod\.__call__ = prof_meth_call[^\n]*\n", "\n"),
    ("_internal/common_utils.py", r"guard = torch\._C\._DisableFuncTorch\(\)[^\n]*", "guard = None"),
    # No test is skipped because a library is missing.
    ("", r"torch\._C\.has_(lapack|openmp)", "True"),
    ("", r"torch\._C\.has_(mkl|spectral|mkldnn)\b", "True"),
    ("_internal/common_utils.py", r"TEST_MKL = torch\.backends\.mkl\.is_available\(\)", "TEST_MKL = True"),
    ("_internal/common_utils.py", r"torch\.onnx\.producer_version", "'none'"),
    # The lists of OpInfos are empty: their tests are not made, instead of raising an error.
    ("_internal/common_device_type.py", r"raise ValueError\('An empty op_list was passed to @ops\.[^\n]*\n[^\n]*\n", "return\n"),
    (
        "_internal/common_utils.py",
        r"raise ValueError\(f?'An empty arg_values was passed to @parametrize\.[^\n]*\n[^\n]*\n",
        "return\n",
    ),
    (
        "_internal/jit_utils.py",
        r"torch\._C\._jit_(set_emit_hooks|clear_class_registry|pass_lint|[gs]et_inline_everything_mode)\([^\n]*\)",
        "None",
    ),
    ("_internal/common_jit.py", r"torch\._C\._jit_assert_is_instance\([^\n]*\)", "None"),
    (
        "functorch/test_vmap.py",
        r"torch\._C\.(_debug_only_\w+_vmap_fallback_\w+)\(",
        "__import__('standins').maybe('torch._C.\\g<1>')(",
    ),
    (
        "functorch/common_utils.py",
        r"torch\._C\.(_functorch\._\w+_vmap_fallback_enabled)\(",
        "__import__('standins').maybe('torch._C.\\g<1>')(",
    ),
    (
        "test/test_sparse_csr.py",
        r"torch\.(_validate_sparse_compressed_tensor_args)\(",
        "__import__('standins').maybe('torch.\\g<1>')(",
    ),
    ("test/test_module_init.py", r"namespace\.modules\.__all__", "getattr(getattr(namespace, 'modules', None), '__all__', ())"),
    # Functions are chosen by the name of their first argument instead of its annotation.
    (
        "test/test_fx.py",
        r"if isinstance\(param\.annotation, type\) and issubclass\(param\.annotation, torch\.Tensor\):",
        "if arg in ('input', 'input1', 'x1', 'query', 'anchor', 'theta', 'tensor'):",
    ),
    ("test/test_fx.py", r"= getattr\(torch\.nn\.functional, name\)\n", "= getattr(torch.nn.functional, name, None)\n"),
    ("_internal/jit_utils.py", r"torch\.jit\.CompilationUnit\(", "__import__('standins').compilation_unit("),
    ("_internal/jit_utils.py", r"def clear_class_registry\(\):\n", "def clear_class_registry():\n    return\n"),
    (
        "_internal/jit_utils.py",
        r"_nested_map\(lambda t: isinstance\(t, torch\.Tensor\), fn\)\(input\)",
        "__import__('standins').map_tensors(fn, input)",
    ),
    ("_internal/jit_utils.py", r"torch\.jit\.optimized_execution\(", "__import__('standins').optimized_execution("),
    ("test/test_fx.py", r"torch\.ops\.load_library\([^\n]*\)\n", "pass\n"),
    # Marks of single OpInfos.
    (
        "functorch/common_utils.py",
        r"\ndef (opsToleranceOverride|skipOps)\(([^\n]*)\):\n",
        "\n\ndef \\g<1>(\\g<2>):\n    return lambda fn: fn\n",
    ),
    # Later releases have more functions and argument types than the suite knows.
    ("test/test_overrides.py", r"assert len\(untested_funcs\) == 0[^\n]*\n", "pass\n"),
    ("test/test_overrides.py", r"elif t == '(c10::List<c10::optional<Tensor>>)':", "elif t.startswith('c10::List<'):"),
    ("test/test_overrides.py", r"elif t == 'c10::string_view':", "elif t.endswith('string_view'):"),
    ("test/test_overrides.py", r"raise RuntimeError\(f\"Unsupported argument type [^\n]*\n", "func_args.append(1)\n"),
    (
        "test/test_overrides.py",
        r"ret = func\(\*func_args, \*\*kwargs\)",
        "ret = __import__('standins').call_on_instance(func, func_args, kwargs)",
    ),
    # Private helpers and names that PyTorch has removed.
    (
        "test/common_nn.py",
        r"from torch\.autograd\.gradcheck import get_numerical_jacobian, iter_tensors",
        "from gradients import jacobian_of_2019 as get_numerical_jacobian, iter_tensors",
    ),
    (
        "_internal/common_nn.py",
        r"from torch\.autograd\.gradcheck import _get_numerical_jacobian, _iter_tensors",
        "from gradients import jacobian_of_1_13 as _get_numerical_jacobian, iter_tensors as _iter_tensors",
    ),
    ("", r"(torch\.autograd\.)?kineto_available\(\)", "True"),
    ("", r"from torch\.testing import randn_like", "from torch import randn_like"),
    ("", r"torch\.testing\.rand", "torch.rand"),
    ("test/common_utils.py", r"torch\._C\._jit_[a-z_]+\([^\n]*\)\n", "None\n"),
]


def apply(name: str, source: str) -> str:
    """Return the source of a file after all substitutions for it."""
    for end, pattern, replacement in _SUBSTITUTIONS:
        if name.endswith(end):
            source = re.sub(pattern, lambda match, text=replacement: match.expand(text) if r"\g" in text else text, source)
    return source

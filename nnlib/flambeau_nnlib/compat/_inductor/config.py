"""Settings of PyTorch's compiler back end.  They can be set, keep their values, and have no effect.

The names and defaults are those that programs change; other names can be set as well.
"""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

from flambeau.extension.settings import make_patch

__all__ = ["MODES", "get_config_copy", "patch"]

patch = make_patch(__name__)

# {mode of `torch.compile`: the settings that it changes}.
MODES: dict[str, dict[str, Any]] = {
    "default": {},
    "lite": {
        "fallback_by_default": True,
        "selective_decompose": True,
        "reorder_for_peak_memory": False,
        "reorder_for_compute_comm_overlap": False,
        "triton.reorder_for_reducing_graph_partitions": False,
        "use_pre_grad_passes": False,
        "use_joint_graph_passes": False,
        "use_post_grad_passes": False,
        "use_dce": False,
        "allow_buffer_reuse": False,
    },
    "reduce-overhead": {"triton.cudagraphs": True},
    "max-autotune-no-cudagraphs": {"max_autotune": True, "coordinate_descent_tuning": True},
    "max-autotune": {"max_autotune": True, "triton.cudagraphs": True, "coordinate_descent_tuning": True},
}

aggressive_fusion = False
allow_buffer_reuse = True
always_keep_tensor_constants = False
assert_indirect_indexing = True
b2b_gemm_pass = False
batch_fusion = True
benchmark_fusion = False
benchmark_kernel = False
combo_kernels = False
compile_threads = 2
comprehensive_padding = True
conv_1x1_as_mm = False
coordinate_descent_check_all_directions = False
coordinate_descent_search_radius = 1
coordinate_descent_tuning = False
cpp_cache_precompile_headers = True
cpp_wrapper = False
dce = False
debug = False
decompose_mem_bound_mm = False
deterministic = False
disable_cpp_codegen = False
disable_progress = True
emulate_precision_casts = False
epilogue_fusion = True
epilogue_fusion_first = False
fallback_by_default = False
fallback_random = False
force_fuse_int_mm_with_mul = False
force_layout_optimization = False
freezing = False
freezing_discard_parameters = False
fx_graph_cache = True
fx_graph_remote_cache = None
graph_partition = True
group_fusion = False
implicit_fallbacks = True
inplace_buffers = True
joint_custom_post_pass = None
joint_custom_pre_pass = None
joint_graph_constant_folding = True
keep_output_stride = True
layout_optimization = True
loop_ordering_after_fusion = True
max_autotune = False
max_autotune_conv_backends = "ATEN,TRITON"
max_autotune_gemm = False
max_autotune_gemm_backends = "ATEN,TRITON,CPP"
max_autotune_gemm_search_space = "DEFAULT"
max_autotune_pointwise = False
max_fusion_size = 64
memory_planning = False
mixed_mm_choice = "heuristic"
nan_asserts = False
online_softmax = True
pattern_matcher = True
permute_fusion = False
pick_loop_orders = True
post_grad_custom_post_pass = None
post_grad_custom_pre_pass = None
pre_grad_custom_pass = None
profile_bandwidth = False
profiler_mark_wrapper_call = False
prologue_fusion = True
realize_opcount_threshold = None
realize_reads_threshold = 4
reorder_for_compute_comm_overlap = False
reorder_for_locality = True
reorder_for_peak_memory = True
scalar_asserts = True
selective_decompose = False
shape_padding = True
size_asserts = True
split_cat_fx_passes = True
split_reductions = True
static_weight_shapes = True
unroll_reductions_threshold = 8
use_dce = True
use_fast_math = False
use_joint_graph_passes = True
use_mixed_mm = True
use_post_grad_passes = True
use_pre_grad_passes = True
verbose_progress = False
worker_start_method = "subprocess"

aot_inductor = SimpleNamespace(
    debug_compile=False, force_mmap_weights=False, output_path="", package=False, package_constants_in_so=True,
    use_runtime_constant_folding=False,
)  # fmt: skip
cpp = SimpleNamespace(
    dynamic_threads=False, enable_concat_linear=False, enable_kernel_profile=False, enable_unsafe_math_opt_flag=False,
    min_chunk_size=512, simdlen=None, threads=-1, weight_prepack=True,
)  # fmt: skip
cuda = SimpleNamespace(arch=None, compile_opt_level="-O1", cuda_cxx=None, use_fast_math=False, version=None)
eager_numerics = SimpleNamespace(disable_ftz=False, division_rounding=False, use_pytorch_libdevice=False)
trace = SimpleNamespace(debug_dir=None, enabled=False, fx_graph=True, graph_diagram=False, output_code=True)
triton = SimpleNamespace(
    autotune_at_compile_time=None, autotune_cublasLt=True, autotune_pointwise=True, cooperative_reductions=False,
    cudagraph_skip_dynamic_graphs=False, cudagraph_support_input_mutation=True, cudagraph_trees=True, cudagraphs=False,
    dense_indexing=False, descriptive_names="original_aten", max_tiles=None, multi_kernel=0, persistent_reductions=True,
    prefer_nd_tiling=False, reorder_for_reducing_graph_partitions=True, store_cubin=False, tiling_prevents_pointwise_fusion=True,
    tiling_prevents_reduction_fusion=True, unique_kernel_names=True, use_block_ptr=False,
)  # fmt: skip

_OTHER = {"MODES", "annotations"}


def get_config_copy() -> dict[str, Any]:
    """Return all settings by name; the names in a section begin with its name, as in `triton.cudagraphs`."""
    settings: dict[str, Any] = {}
    for name, value in vars(sys.modules[__name__]).items():
        if isinstance(value, SimpleNamespace):
            settings |= {f"{name}.{key}": member for key, member in vars(value).items()}
        elif not (name.startswith("_") or name in _OTHER or isinstance(value, (type, ModuleType)) or _is_own(value)):
            settings[name] = value
    return settings


def _is_own(value: Any) -> bool:
    """Whether a value is a function of this module, not a setting."""
    return getattr(value, "__module__", None) in (__name__, make_patch.__module__, "typing")

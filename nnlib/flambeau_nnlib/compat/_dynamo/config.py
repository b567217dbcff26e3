"""Settings of PyTorch's compiler.  They can be set, keep their values, and have no effect.

The names and defaults are those that programs change; other names can be set as well.

>>> from flambeau._dynamo import config
>>> with config.patch(verbose=True):
...     config.verbose
True
>>> config.verbose
False
"""

from __future__ import annotations

from flambeau.extension.settings import make_patch

__all__ = ["cache_size_limit", "patch", "recompile_limit", "suppress_errors", "verbose"]

patch = make_patch(__name__)

accumulated_cache_size_limit = 256
accumulated_recompile_limit = 256
allow_rnn = False
allow_unspec_int_on_nn_module = False
assume_static_by_default = True
automatic_dynamic_shapes = True
cache_size_limit = 8
capture_dynamic_output_shape_ops = False
capture_func_transforms = True
capture_scalar_outputs = False
compiled_autograd = False
disable = False
dynamic_shapes = True
error_on_recompile = False
fail_on_recompile_limit_hit = False
force_parameter_static_shapes = True
guard_nn_modules = True
inline_inbuilt_nn_modules = True
log_level = 30
optimize_ddp: bool | str = True
raise_on_ctx_manager_usage = True
recompile_limit = 8
repro_after = None
repro_level = 2
skip_fsdp_guards = True
skip_fwd_side_effects_in_bwd_under_checkpoint = False
skip_nnmodule_hook_guards = True
specialize_float = False
specialize_int = False
suppress_errors = False
trace_autograd_ops = False
trace_numpy = True
verbose = False

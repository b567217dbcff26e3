"""Operator schemas declare the same arguments as in PyTorch: names, order, and which are keyword-only or optional."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest

import flambeau.extension.schemas
import flambeau.nn.functional
from flambeau.extension.schemas import namespace_of, schemas

torch = pytest.importorskip("torch")

# Functions whose options or results differ from those of PyTorch's operators of the same name.
OTHER_OPERATORS = {
    "adaptive_max_pool2d", "adaptive_max_pool3d", "elu", "elu_", "embedding_bag", "fractional_max_pool2d",
    "fractional_max_pool3d", "gradient", "histogram", "max_pool2d_with_indices", "max_pool3d_with_indices", "max_unpool2d",
    "max_unpool3d", "nonzero", "random", "randint_like", "sparse_bsc_tensor", "sparse_bsr_tensor", "sparse_compressed_tensor",
    "sparse_coo_tensor", "sparse_csc_tensor", "sparse_csr_tensor", "stft", "swapdims", "to_sparse", "uniform",
}  # fmt: skip
# Functions and methods that PyTorch also registers for TorchScript, with other arguments.
FOR_SCRIPTS = {
    "__getitem__", "_assert_async", "_assert_scalar", "backward", "broadcast_shapes", "cpu", "cuda", "has_torch_function", "initial_seed",
    "is_autocast_cpu_enabled", "is_autocast_enabled", "is_contiguous", "result_type", "seed", "set", "set_", "size", "stride",
    "tensor",
}  # fmt: skip
# Operators whose argument names differ from PyTorch's: they are those of the public function.
OTHER_NAMES = {
    "_fused_sdp_choice", "_has_compatible_shallow_copy_type", "_nested_view_from_buffer", "_to_copy", "atleast_1d", "atleast_2d", "atleast_3d", "chalf", "grid_sampler",
    "grid_sampler_2d", "grid_sampler_3d", "gru_cell", "lstm_cell", "resize", "resize_", "resize_as", "resize_as_sparse",
    "resize_as_sparse_", "rnn_relu_cell", "rnn_tanh_cell", "smm", "special_airy_ai", "special_multigammaln",
    "special_polygamma", "special_scaled_modified_bessel_k0", "special_scaled_modified_bessel_k1", "special_softmax",
    "special_spherical_bessel_j0",
}  # fmt: skip
REFUSED = {  # operators that only raise an error, whatever their arguments are
    "_flash_attention_forward", "_scaled_dot_product_efficient_attention",
    "_scaled_dot_product_flash_attention", "_scaled_grouped_mm", "_weight_int4pack_mm_with_scales_and_zeros",
    "cudnn_batch_norm", "miopen_batch_norm",
}  # fmt: skip
EXCEPTIONS = OTHER_OPERATORS | FOR_SCRIPTS | OTHER_NAMES | REFUSED


def declared():
    """Return PyTorch's schemas: operator name -> overload name -> schema."""
    found = defaultdict(dict)
    for schema in torch._C._jit_get_all_schemas():
        if schema.name.startswith("aten::"):
            found[schema.name.removeprefix("aten::")][schema.overload_name] = schema
    return found


def arguments(schema):
    return [(each.name, each.kwarg_only, each.has_default_value()) for each in schema.arguments]


OPERATORS = declared()


COMPARED = sorted(name for name in OPERATORS.keys() - EXCEPTIONS if schemas(name))


def test_number_of_compared_operators():
    assert len(COMPARED) >= 941


@pytest.mark.parametrize("name", COMPARED)
def test_arguments(name):
    for schema in schemas(name):
        assert schema.overload_name in OPERATORS[name], sorted(OPERATORS[name])
        assert arguments(schema) == arguments(OPERATORS[name][schema.overload_name])


def test_namespaces():
    """Only operators of PyTorch are in the namespace `aten`, and all of them are."""
    file = Path(flambeau.extension.schemas.__file__).with_name("aten_operators.txt")
    assert set(file.read_text().split()) == set(OPERATORS)
    assert namespace_of("add") == "aten" and namespace_of("squareplus") == "flambeau"

"""Private names that two or more libraries use (`tests/ecosystem/census.py`): results, and refusals where nothing can be done."""

from __future__ import annotations

import logging
import math

import pytest
from flambeau.ao.quantization import decomposed  # noqa: F401  # the namespace's definition

import flambeau as torch


def test_gradients_as_operators():
    x = torch.tensor([[0.5, -1.0, 2.0], [1.0, 0.0, -2.0]], requires_grad=True)
    gradient = torch.tensor([[1.0, 2.0, -1.0], [0.5, 1.0, 3.0]])
    for name, argument in (("silu", x), ("sigmoid", x.sigmoid())):
        function = getattr(torch.nn.functional, name)
        (expected,) = torch.autograd.grad(function(x), x, gradient)
        torch.testing.assert_close(getattr(torch.ops.aten, f"{name}_backward")(gradient, argument).detach(), expected)


def test_layer_norm_as_operators():
    x, weight = torch.arange(6.0).view(2, 3).requires_grad_(), torch.tensor([1.0, 2.0, -1.0], requires_grad=True)
    bias, gradient = torch.zeros(3, requires_grad=True), torch.tensor([[1.0, 2.0, -1.0], [0.5, 1.0, 3.0]])
    output, mean, rstd = torch.ops.aten.native_layer_norm(x, [3], weight, bias, 1e-5)
    assert mean.tolist() == [[1.0], [4.0]] and rstd.flatten().tolist() == pytest.approx([1.2247, 1.2247], abs=1e-4)
    expected = torch.autograd.grad(output, [x, weight, bias], gradient)
    found = torch.ops.aten.native_layer_norm_backward(gradient, x, [3], mean, rstd, weight, bias, [True, True, True])
    torch.testing.assert_close([each.detach() for each in found], list(expected), atol=1e-5, rtol=1e-4)
    skipped = torch.ops.aten.native_layer_norm_backward(gradient, x, [3], mean, rstd, None, None, [False, True, True])
    assert skipped == (None, None, None)


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("mask", [(True, True, True), (False, True, False), (True, False, True), (False, False, False)])
def test_the_gradient_of_convolution_as_an_operator(mask, transposed):
    torch.manual_seed(0)
    x, weight, bias = torch.randn(2, 4, 7, 6), torch.randn(4, 2, 3, 3), torch.randn(4)
    for tensor in (x, weight, bias):
        tensor.requires_grad_()
    geometry = ((2, 1), (1, 2), (1, 1), transposed, (0, 0), 2)
    output = torch.ops.aten.convolution(x, weight, bias, *geometry)
    gradient = torch.randn(output.shape)
    expected = torch.autograd.grad(output, [x, weight, bias], gradient)
    found = torch.ops.aten.convolution_backward(gradient, x, weight, [4], *geometry, mask)
    for given, ours, wanted in zip(mask, found, expected, strict=True):
        assert (ours is not None) is given
        if given:
            torch.testing.assert_close(ours.detach(), wanted, atol=1e-4, rtol=1e-4)


def test_batch_norm_and_dropout_as_operators():
    x, mean, var = torch.arange(6.0).view(2, 3), torch.zeros(3), torch.ones(3)
    output, saved, rstd = torch.ops.aten._native_batch_norm_legit(x, None, None, mean, var, True, 0.1, 1e-5)
    assert saved.tolist() == [1.5, 2.5, 3.5] and mean.tolist() == pytest.approx([0.15, 0.25, 0.35])
    assert output[0].tolist() == pytest.approx([-1.0] * 3, abs=1e-4) and rstd.tolist() == pytest.approx([2 / 3] * 3, abs=1e-4)
    output, saved, rstd = torch.ops.aten._native_batch_norm_legit_no_training(x, None, None, mean * 0, var * 0 + 1, 0.1, 0.0)
    assert output.tolist() == x.tolist() and saved.numel() == rstd.numel() == 0
    dropped, mask = torch.ops.aten.native_dropout(torch.ones(200), 0.5, True)
    assert torch.equal(dropped, 2.0 * mask) and 50 < mask.sum() < 150
    assert torch.ops.aten.native_dropout(x, 0.5, False)[1].all()


@pytest.mark.parametrize("name", ["cudnn_batch_norm", "_flash_attention_forward", "_scaled_dot_product_flash_attention"])
def test_kernels_for_gpus_are_refused(name):
    with pytest.raises(NotImplementedError, match=name):
        getattr(torch.ops.aten, name)(torch.ones(1))


def test_decomposed_quantization():
    ops, x = torch.ops.quantized_decomposed, torch.tensor([[-1.0, 0.0, 2.0], [4.0, 8.0, 100.0]])
    quantized = ops.quantize_per_tensor(x, 0.5, 3, -128, 127, torch.int8)
    assert quantized.tolist() == [[1, 3, 7], [11, 19, 127]]
    assert ops.dequantize_per_tensor.default(quantized, 0.5, 3, -128, 127, torch.int8).tolist() == [[-1, 0, 2], [4, 8, 62]]
    scales, zeros = torch.tensor([0.5, 4.0]), torch.tensor([0, 1])
    quantized = ops.quantize_per_channel.default(x, scales, zeros, 0, -128, 127, torch.int8)
    assert quantized.tolist() == [[-2, 0, 4], [2, 3, 26]]
    values = ops.dequantize_per_channel.default(quantized, scales, zeros, 0, -128, 127, torch.int8)
    assert values.tolist() == [[-1, 0, 2], [4, 8, 100]]
    scale, zero = ops.choose_qparams.tensor(x, 0, 255, 1e-9, torch.uint8)
    assert scale.item() == pytest.approx(101 / 255) and zero.item() == 3
    assert scale.shape == (1,) and scale.dtype == torch.float64
    assert scale.item() == (torch.tensor(101.0) / 255).item()  # computed in float32
    assert ops.choose_qparams_symmetric.tensor(x, -128, 127, 1e-9, torch.int8)[0].item() == pytest.approx(100 / 127.5)
    with pytest.raises(AssertionError, match="uint8"):
        ops.dequantize_per_tensor(quantized, 0.5, 3, 0, 255, torch.uint8)


def test_decomposed_quantization_of_rows_and_groups():
    from flambeau.ao.quantization.fx._decomposed import quantize_per_token

    ops, x = torch.ops.quantized_decomposed, torch.tensor([[-1.0, 0.0, 2.0, 0.6], [4.0, 8.0, 100.0, -3.0]])
    scales, zeros = ops.choose_qparams_per_token(x, torch.int8)
    torch.testing.assert_close(scales, torch.tensor([[2 / 127], [100 / 127]]))
    assert zeros.tolist() == [[0], [0]]
    with pytest.raises(Exception, match="uint8"):
        ops.choose_qparams_per_token(x, torch.uint8)
    scales, zeros = ops.choose_qparams_per_token_asymmetric(x, torch.int8)
    torch.testing.assert_close(scales, torch.tensor([[3 / 255], [103 / 255]], dtype=torch.float64), rtol=1e-6, atol=0)
    assert zeros.tolist() == [[-43], [-121]]
    quantized = ops.quantize_per_token(x, scales, zeros, -128, 127, torch.int8)
    assert quantized.tolist() == [[-128, -43, 127, 8], [-111, -101, 127, -128]]
    values = ops.dequantize_per_token(quantized, scales, zeros, -128, 127, torch.int8, torch.float32)
    torch.testing.assert_close(values, x, atol=0.3, rtol=0)

    with pytest.raises(AssertionError, match="num_tokens: 2 zero_points"):
        quantize_per_token(x, scales, zeros[0], -128, 127, torch.int8)

    scales, zeros = torch.tensor([[0.5, 1.0], [2.0, 4.0]]), torch.tensor([[0, 1], [2, 3]])
    quantized = ops.quantize_per_channel_group(x, scales, zeros, -128, 127, torch.int8, 2)
    assert quantized.tolist() == [[-2, 0, 3, 2], [4, 6, 28, 2]]
    arguments = (-128, 127, torch.int8, 2, torch.float32)
    assert ops.dequantize_per_channel_group(quantized, scales, zeros, *arguments).tolist() == [[-1, 0, 2, 1], [4, 8, 100, -4]]
    assert ops.dequantize_per_channel_group(quantized, scales, None, *arguments).tolist() == [[-1, 0, 3, 2], [8, 12, 112, 8]]
    for message, tensor, size in (("> 1", x, 1), ("divisible", x, 3), ("2-dimensional", x[0], 2), ("NaNs", x * torch.nan, 2)):
        with pytest.raises(AssertionError, match=message):
            ops.quantize_per_channel_group(tensor, scales, zeros, -128, 127, torch.int8, size)


def test_packed_attention_is_attention_in_each_sequence():
    from flambeau.nn.attention.varlen import varlen_attn

    q, k, v = (torch.randn(5, 2, 4) for _ in range(3))
    found = varlen_attn(q, k, v, torch.tensor([0, 2, 5]), None, 3, 3, window_size=(-1, 0))
    for part in (slice(0, 2), slice(2, 5)):
        one = (x[part].transpose(0, 1) for x in (q, k, v))
        expected = torch.nn.functional.scaled_dot_product_attention(*one, is_causal=True)
        torch.testing.assert_close(found[part], expected.transpose(0, 1))


def test_hooks_on_saved_tensors_as_a_stack():
    hooks, seen = torch._C._autograd, []
    hooks._push_saved_tensors_default_hooks(lambda t: seen.append(t.shape) or t, lambda t: t)
    try:
        assert hooks._top_saved_tensors_default_hooks(False) is not None
        x = torch.ones(3, requires_grad=True)
        y = x * x
    finally:
        hooks._pop_saved_tensors_default_hooks()
    y.sum().backward()
    assert seen and x.grad.tolist() == [2.0] * 3 and hooks._top_saved_tensors_default_hooks(False) is None


def test_questions_about_the_dispatcher():
    has = torch._C._dispatch_has_kernel_for_dispatch_key
    assert has("aten::relu", "CPU") and has("aten::relu", torch._C.DispatchKey.Meta) and not has("aten::unknown", "CPU")
    assert torch._C._dispatch_key_for_device("cuda") == "CUDA" and "relu(Tensor self)" in torch._C._dispatch_dump("aten::relu")
    keys = torch._C.DispatchKeySet(torch._C.DispatchKey.CPU) | torch._C.DispatchKeySet(torch._C.DispatchKey.Meta)
    assert keys.has(torch._C.DispatchKey.Meta) and not keys.has(torch._C.DispatchKey.CUDA)


def test_modes_are_inactive_inside_disable_torch_function():
    class Counting(torch.overrides.TorchFunctionMode):
        calls = 0

        def __torch_function__(self, func, types, args=(), kwargs=None):
            self.calls += 1
            return func(*args, **(kwargs or {}))

    with Counting() as mode:
        torch.ones(2).exp()
        before = mode.calls
        with torch._C.DisableTorchFunction():
            torch.ones(2).exp()
        assert mode.calls == before > 0


def test_modules_can_be_imported_from_their_packages():
    from flambeau.compiler import config
    from flambeau.distributed.fsdp import _flat_param
    from flambeau.distributed.tensor.experimental import _attention

    from flambeau.distributed import _symmetric_memory, pipelining

    assert config.unbacked_sources == "" and _symmetric_memory.get_backend("cpu") is None and pipelining.SplitPoint.END.value == 2
    assert _attention._cp_options.convert_to_f32 and _flat_param.FlatParamHandle.__name__ == "FlatParamHandle"


def test_settings_keep_their_values():
    from flambeau._functorch import config

    with config.patch(donated_buffer=True):
        assert config.donated_buffer is True
    assert config.donated_buffer is False
    torch._C._accelerator_setAllocatorSettings("expandable_segments:True")
    assert torch._C._accelerator_getAllocatorSettings() == "expandable_segments:True"
    torch._logging.set_logs(dynamo=logging.ERROR)
    assert logging.getLogger("torch._dynamo").level == logging.ERROR


def test_devices_that_are_missing():
    assert not torch.mtia.is_available() and torch.cuda._lazy_call(lambda: 1 / 0) is None
    for make in (torch.xpu.Stream, torch.xpu.Event, torch.xpu.current_stream):
        with pytest.raises(AssertionError, match="XPU"):
            make()
    for call in (torch.cuda.cudart, torch.cuda.memory._record_memory_history):
        with pytest.raises(AssertionError, match="CUDA"):
            call()


def test_classes_that_are_refused_can_be_compared_with():
    from flambeau.distributed._shard.sharded_tensor import ShardedTensor
    from flambeau.package import PackageImporter, sys_importer

    assert not isinstance(torch.ones(1), ShardedTensor) and sys_importer.import_module("math") is math
    for refused in (PackageImporter, ShardedTensor):
        with pytest.raises(NotImplementedError, match="not supported"):
            refused()


def test_checkpoints_know_the_device_of_their_arguments():
    from flambeau.utils.checkpoint import _get_autocast_kwargs, _infer_device_type

    assert _infer_device_type(torch.ones(1)) == "cuda" and _infer_device_type([torch.ones(1, device="meta")]) == "meta"
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert _get_autocast_kwargs("cpu")[1] == {"enabled": True, "dtype": torch.bfloat16, "cache_enabled": True}

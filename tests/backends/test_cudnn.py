"""cuDNN calls of the CuPy backend, on a stand-in that computes each operation by its definition (`standins/with_cudnn`)."""

from __future__ import annotations

import pytest
from standin import run

pytestmark = pytest.mark.slow

PRELUDE = """
        def compare(call, *tensors, atol=1e-4):
            found = []
            for device in ("cpu", "cuda"):
                leaves = [each.detach().clone().to(device).requires_grad_() for each in tensors]
                with recorded() as log:
                    made = call(*leaves)
                    (made * made).sum().backward()
                found.append([made.detach().cpu(), *(each.grad.cpu() for each in leaves)])
            for a, b in zip(*found):
                assert a.shape == b.shape and torch.allclose(a.float(), b.float(), atol=atol, rtol=1e-3), (a, b)
            return [each for each in log if isinstance(each, tuple) and each[0].startswith("cudnn")]
"""
ALL = ["cudnn conv_fprop", "cudnn conv_dgrad", "cudnn conv_wgrad"]


def test_convolution() -> None:
    run(
        PRELUDE
        + f"""
        ALL = {ALL}
        def names(*args):
            return [each[0] for each in compare(*args)]
        assert names(lambda x, w, b: F.conv2d(x, w, b, 2, 1, groups=2), randn(2, 4, 7, 8), randn(6, 2, 3, 3), randn(6)) == ALL
        assert names(lambda x, w: F.conv1d(x, w, dilation=2), randn(2, 4, 9), randn(3, 4, 2)) == ALL
        transposed = names(lambda x, w: F.conv_transpose2d(x, w, stride=2, padding=1, output_padding=1), randn(2, 4, 5, 6),
                           randn(4, 3, 3, 3))
        assert sorted(transposed) == sorted(ALL)
        # what there is no engine for is computed another way
        assert names(lambda x, w: F.conv3d(x, w), randn(1, 2, 4, 4, 3), randn(3, 2, 2, 3, 2)) == ALL[1:]
        assert names(lambda x, w: F.conv2d(x, w), randn(2, 4, 7, 8).double(), randn(6, 4, 3, 3).double()) == []
        assert names(lambda x, w: F.conv2d(x, w), randn(0, 4, 7, 8), randn(6, 4, 3, 3)) == []
        with torch.backends.cudnn.flags(enabled=False):
            assert names(lambda x, w: F.conv2d(x, w), randn(2, 4, 7, 8), randn(6, 4, 3, 3)) == []
        # the result lies in memory as the input does
        x = randn(2, 4, 7, 8, device="cuda").to(memory_format=torch.channels_last)
        assert F.conv2d(x, randn(6, 4, 3, 3, device="cuda")).is_contiguous(memory_format=torch.channels_last)
    """,
        cudnn=True,
    )


def test_switches_choose_engines() -> None:
    run(
        PRELUDE
        + """
        def notes(dtype=torch.float32):
            return compare(lambda x, w: F.conv2d(x, w), randn(2, 4, 7, 8).to(dtype), randn(6, 4, 3, 3).to(dtype), atol=0.5)[0][1:]
        cudnn = torch.backends.cudnn
        assert cudnn.is_available() and cudnn.version() == 91002
        assert notes() == ()
        with cudnn.flags(enabled=True, allow_tf32=False):
            assert notes() == ("TENSOR_CORE",) and notes(torch.float16) == ()
        with cudnn.flags(enabled=True, deterministic=True):
            assert notes() == ("NONDETERMINISTIC",)
    """,
        cudnn=True,
    )


def test_layer_norm() -> None:
    run(
        PRELUDE
        + """
        used = compare(lambda x, w, b: F.layer_norm(x, (5,), w, b), randn(3, 4, 5), randn(5), randn(5))
        assert [each[0] for each in used] == ["cudnn layernorm", "cudnn layernorm_backward"]
        assert compare(lambda x: F.layer_norm(x, (5,)), randn(3, 4, 5)) == []
        assert compare(lambda x, w, b: F.group_norm(x, 2, w, b), randn(3, 4, 5), randn(4), randn(4)) == []
    """,
        cudnn=True,
    )


def test_attention() -> None:
    run(
        PRELUDE
        + """
        attend = F.scaled_dot_product_attention
        inputs = [randn(2, 3, 4, 8).half() for _ in range(3)]
        for options in ({}, {"is_causal": True}, {"scale": 0.3}):
            used = compare(lambda *qkv: attend(*qkv, **options), *inputs, atol=2e-2)
            assert [each[0] for each in used] == ["cudnn sdpa", "cudnn sdpa_backward"]
        assert compare(lambda *qkv: attend(*qkv), *(each.float() for each in inputs)) == []
        with torch.backends.cuda.sdp_kernel(enable_cudnn=False):
            assert compare(lambda *qkv: attend(*qkv), *inputs, atol=2e-2) == []
        with torch.backends.cudnn.flags(enabled=False):  # the kernel without cuDNN
            assert compare(lambda *qkv: attend(*qkv, is_causal=True), *inputs, atol=2e-2) == []
        q, k, v = (each.cuda().requires_grad_() for each in inputs)
        slope, = torch.autograd.grad(attend(q, k, v, is_causal=True).float().square().sum(), q, create_graph=True)
        assert torch.autograd.grad(slope.float().sum(), k)[0].isfinite().all()
    """,
        cudnn=True,
    )

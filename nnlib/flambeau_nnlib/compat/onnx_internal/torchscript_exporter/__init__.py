"""`torch.onnx._internal.torchscript_exporter`: settings and types of PyTorch's exporter that is based on TorchScript."""

from . import _globals, jit_utils

__all__ = ["_globals", "jit_utils"]

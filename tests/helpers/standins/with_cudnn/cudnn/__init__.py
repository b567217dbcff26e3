"""A stand-in for the cuDNN frontend: graphs of one operation, computed on the host with flambeau's NumPy backend."""

from __future__ import annotations

import ctypes
import enum

import numpy as np
from cupy._runtime import LOG

import flambeau as torch

data_type = enum.Enum("data_type", "FLOAT HALF BFLOAT16")
heur_mode = enum.Enum("heur_mode", "A B FALLBACK")
numerical_note = enum.Enum("numerical_note", "TENSOR_CORE NONDETERMINISTIC")
norm_forward_phase = enum.Enum("norm_forward_phase", "INFERENCE TRAINING")
_DTYPES = {data_type.FLOAT: np.dtype(np.float32), data_type.HALF: np.dtype(np.float16)}
F = torch.nn.functional


class cudnnGraphNotSupportedError(Exception):
    pass


class Handle:
    stream = 0


def backend_version():
    return 91002


def create_handle():
    return Handle()


def set_stream(handle, stream):
    handle.stream = stream


class Tensor:
    def __init__(self, dim=None, stride=None, data_type=None):
        self.dim, self.stride, self.data_type, self.is_output = dim, stride, data_type, False

    def set_output(self, value):
        self.is_output = value
        return self

    def set_dim(self, dim):
        self.dim = dim
        return self

    def set_stride(self, stride):
        self.stride = stride
        return self

    def set_data_type(self, kind):
        self.data_type = kind
        return self

    def at(self, address):
        """Return the array that this tensor describes at a memory address."""
        dtype = _DTYPES[self.data_type]
        extent = 1 + sum((n - 1) * s for n, s in zip(self.dim, self.stride, strict=True))
        memory = (ctypes.c_char * (extent * dtype.itemsize)).from_address(address)
        return np.ndarray(self.dim, dtype, memory, strides=[step * dtype.itemsize for step in self.stride])


class pygraph:
    def __init__(self, *, io_data_type, intermediate_data_type, compute_data_type, handle):
        assert isinstance(handle, Handle) and compute_data_type is data_type.FLOAT
        self.unwanted = []

    def tensor(self, *, dim, stride, data_type):
        return Tensor(dim, stride, data_type)

    def tensor_scalar(self, value, kind):
        return value

    def deselect_numeric_notes(self, notes):
        self.unwanted += notes

    def validate(self):
        self.built = ["validate"]

    def build_operation_graph(self):
        self.built.append("operations")

    def create_execution_plans(self, modes):
        self.built.append("plans")

    def check_support(self):
        if self.operation == "conv_fprop" and len(self.inputs["image"].dim) == 5:
            raise cudnnGraphNotSupportedError("the stand-in for cuDNN does not support 3-d convolutions")

    def build_plans(self):
        assert self.built == ["validate", "operations", "plans"]

    def get_workspace_size(self):
        return 16

    def execute(self, pointers, workspace, handle):
        LOG.append((f"cudnn {self.operation}", *(note.name for note in self.unwanted)))
        given = {
            name: torch.tensor(np.ascontiguousarray(each.at(pointers[each]))).float() if isinstance(each, Tensor) else each
            for name, each in self.inputs.items()
        }
        for tensor, value in zip(self.outputs, _OPERATIONS[self.operation](self.outputs, **given), strict=True):
            assert tensor.is_output
            tensor.at(pointers[tensor])[...] = value.detach().numpy().reshape(tensor.dim)


def _operation(name, count):
    def add(self, **inputs):
        self.operation, self.inputs, self.outputs = name, inputs, [Tensor() for _ in range(count)]
        return self.outputs[0] if count == 1 else self.outputs

    setattr(pygraph, name, add)


def _convolve(image, weight, pre_padding, post_padding, stride, dilation):
    assert pre_padding == post_padding
    convolve = {4: F.conv2d, 5: F.conv3d}[image.ndim]
    return convolve(image, weight, None, stride, pre_padding, dilation, image.shape[1] // weight.shape[1])


@torch.enable_grad()
def _gradients(call, grad, *tensors):
    leaves = [each.requires_grad_() for each in tensors]
    return torch.autograd.grad(call(*leaves), leaves, grad)


def _layernorm(outputs, norm_forward_phase, input, scale, bias, epsilon):
    mean, variance = input.mean(1, keepdim=True), input.var(1, correction=0, keepdim=True)
    inverse = (variance + epsilon).rsqrt()
    return (input - mean) * inverse * scale + bias, mean, inverse


def _attend(q, k, v, attn_scale, use_causal_mask):
    scores = q @ k.mT * attn_scale
    if use_causal_mask:
        scores = scores.masked_fill(torch.ones(scores.shape[-2:]).triu(1).bool(), -float("inf"))
    return scores.softmax(-1) @ v, scores.logsumexp(-1, keepdim=True)


_OPERATIONS = {
    "conv_fprop": lambda outputs, image, weight, **steps: [_convolve(image, weight, **steps)],
    "conv_dgrad": lambda outputs, loss, filter, **steps: _gradients(
        lambda x: _convolve(x, filter, **steps), loss, torch.zeros(outputs[0].dim)),
    "conv_wgrad": lambda outputs, image, loss, **steps: _gradients(
        lambda w: _convolve(image, w, **steps), loss, torch.zeros(outputs[0].dim)),
    "layernorm": _layernorm,
    "layernorm_backward": lambda outputs, grad, input, scale, mean, inv_variance: _gradients(
        lambda x, w, b: _layernorm(None, None, x, w, b, 1e-5)[0], grad, input, scale, torch.zeros(scale.shape)),
    "sdpa": lambda outputs, generate_stats, **given: _attend(**given),
    "sdpa_backward": lambda outputs, q, k, v, o, dO, stats, **options: _gradients(
        lambda *qkv: _attend(*qkv, **options)[0], dO, q, k, v),
}  # fmt: skip
for _name, _count in {
    "conv_fprop": 1,
    "conv_dgrad": 1,
    "conv_wgrad": 1,
    "layernorm": 3,
    "layernorm_backward": 3,
    "sdpa": 2,
    "sdpa_backward": 3,
}.items():
    _operation(_name, _count)

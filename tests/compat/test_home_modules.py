"""The modules that PyTorch shows as `__module__` of its classes and functions: printed, imported from, and found in pickles."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

pytestmark = pytest.mark.slow

# PyTorch's `__module__`, and the public names of objects with it.
EXPECTED = {
    "torch": "Tag FloatType TensorType Value FileCheck PyTorchFileReader Event Stream compile cond promote_types get_autocast_dtype "
    "sparse_coo_tensor sparse_csr_tensor quantize_per_tensor",
    "torch._C": "Generator",
    "torch._C._autograd": "profiler.DeviceType",
    "torch._C._distributed_c10d": "distributed.FileStore distributed.HashStore distributed.TCPStore distributed.GradBucket "
    "distributed.Reducer distributed.Logger distributed.BuiltinCommHookType",
    "torch._C._profiler": "profiler.ProfilerActivity",
    "torch._C._linalg": "linalg.inv linalg.svd",
    "torch._higher_order_ops.while_loop": "while_loop",
    "torch.accelerator.graphs": "accelerator.Graph",
    "torch.accelerator.memory": "accelerator.memory_allocated",
    "torch.ao.nn.quantized.dynamic.modules.linear": "ao.nn.quantized.dynamic.Linear",
    "torch.ao.nn.quantized.dynamic.modules.rnn": "ao.nn.quantized.dynamic.LSTM ao.nn.quantized.dynamic.GRUCell",
    "torch.ao.pruning.sparsifier.base_sparsifier": "ao.pruning.BaseSparsifier",
    "torch.autograd": "autograd.backward autograd.grad",
    "torch.autograd.grad_mode": "no_grad inference_mode autograd.set_multithreading_enabled autograd.enforce_grad_layout_policy",
    "torch.autograd.anomaly_mode": "autograd.detect_anomaly",
    "torch.compiler": "compiler.disable compiler.is_compiling",
    "torch.cpu.amp.autocast_mode": "cpu.amp.autocast",
    "torch.cuda": "cuda.FloatTensor cuda.FloatStorage cuda.StreamContext cuda.current_stream cuda.utilization",
    "torch.cuda.green_contexts": "cuda.GreenContext",
    "torch.cuda.memory": "cuda.memory_allocated cuda.list_gpu_processes",
    "torch.cuda.sparse": "cuda.sparse.FloatTensor",
    "torch.cuda.streams": "cuda.Stream cuda.Event cuda.ExternalStream",
    "torch.distributed": "distributed.DistError distributed.is_available",
    "torch.distributed.distributed_c10d": "distributed.Backend distributed.ProcessGroup distributed.ReduceOp distributed.Work "
    "distributed.Store distributed.PrefixStore distributed.P2POp distributed.AllreduceOptions distributed.all_reduce "
    "distributed.all_gather_object distributed.init_process_group distributed.GroupName distributed.send",
    "torch.distributed.elastic.multiprocessing.api": "distributed.elastic.multiprocessing.Std",
    "torch.distributed.fsdp": "distributed.fsdp.FSDPModule distributed.fsdp.fully_shard distributed.fsdp.MixedPrecisionPolicy",
    "torch.distributed.pipelining.schedules": "distributed.pipelining.Schedule1F1B",
    "torch.distributed.rendezvous": "distributed.rendezvous",
    "torch.distributed.rpc.api": "distributed.rpc.RRef",
    "torch.distributed.tensor": "distributed.tensor.DTensor distributed.tensor.distribute_tensor distributed.tensor.zeros",
    "torch.distributions.transforms": "distributions.AffineTransform",
    "torch.export": "export.export export.save",
    "torch.func": "func.vmap func.grad func.functional_call",
    "torch.fx._symbolic_trace": "fx.symbolic_trace",
    "torch.fx.graph": "fx.graph.CodeGen",
    "torch.jit": "jit.Future futures.Future jit.CompilationUnit jit.annotate",
    "torch.jit._script": "jit.ScriptModule jit.Attribute jit.script",
    "torch.jit._serialization": "jit.load jit.save",
    "torch.masked._ops": "masked.sum masked.softmax",
    "torch.masked.maskedtensor.core": "masked.MaskedTensor",
    "torch.nested": "nested.nested_tensor",
    "torch.nn.attention.flex_attention": "nn.attention.flex_attention.BlockMask nn.attention.flex_attention.flex_attention",
    "torch.nn.modules.activation": "nn.Softmax nn.MultiheadAttention",
    "torch.nn.modules.loss": "nn.L1Loss nn.TripletMarginLoss nn.LinearCrossEntropyLoss nn.modules.loss._Loss",
    "torch.nn.modules.module": "nn.Module nn.modules.module.register_module_forward_hook",
    "torch.nn.modules.pooling": "nn.AdaptiveAvgPool2d nn.modules.pooling._AdaptiveAvgPoolNd",
    "torch.nn.parameter": "nn.Parameter",
    "torch.optim": "optim.Adafactor optim.Muon",
    "torch.optim.lr_scheduler": "optim.lr_scheduler.OneCycleLR optim.lr_scheduler.LRScheduler",
    "torch.package.importer": "package.Importer",
    "torch.profiler.profiler": "profiler.profile profiler.ProfilerAction profiler.schedule",
    "torch.return_types": "return_types.max return_types.linalg_eigh return_types.sort_out",
    "torch.serialization": "save load serialization.register_package",
    "torch.signal.windows.windows": "signal.windows.hann",
    "torch.sparse": "sparse.FloatTensor sparse.as_sparse_gradcheck sparse.sum",
    "torch.testing._comparison": "testing.assert_close",
    "torch.testing._creation": "testing.make_tensor",
    "torch.torch_version": "torch_version.TorchVersion",
    "torch.utils._pytree": "utils._pytree.TreeSpec utils._pytree.register_pytree_node",
    "torch.utils.benchmark.utils.timer": "utils.benchmark.Timer",
    "torch.utils.benchmark.utils.common": "utils.benchmark.Measurement",
    "torch.utils.checkpoint": "utils.checkpoint.checkpoint utils.checkpoint.CheckpointPolicy",
    "torch.utils.data.dataloader": "utils.data.DataLoader",
    "torch.utils.data.datapipes.iter.grouping": "utils.data.datapipes.iter.Batcher",
    "torch.xpu.streams": "xpu.Event xpu.Stream",
}  # fmt: skip

PROGRAM = """
import importlib, json, pickle, sys, torch

expected = {name: module for module, names in json.load(sys.stdin).items() for name in names.split()}
problems = []
for name, module in expected.items():
    space, _, attribute = f"torch.{name}".rpartition(".")
    value = getattr(importlib.import_module(space), attribute)
    if value.__module__ != module:
        problems.append(f"{name} is in {value.__module__}, not in {module}")
    elif pickle.loads(pickle.dumps(value)) != value or b"flambeau" in pickle.dumps(value):
        problems.append(f"a pickle does not contain {name} as in PyTorch")
    elif isinstance(value, type) and getattr(importlib.import_module(module), value.__name__) is not value:
        problems.append(f"{module} has another {value.__name__}")
print(json.dumps(problems))
"""


def run(program: str, **keywords: Any) -> str:
    command = [sys.executable, "-m", "flambeau", "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600, env={**os.environ}, **keywords)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_classes_and_functions_are_shown_with_pytorchs_modules_and_found_there() -> None:
    assert json.loads(run(PROGRAM, input=json.dumps(EXPECTED))) == []


def test_named_tuples_are_pickled_under_pytorchs_name() -> None:
    program = """
import pickle, torch
values = torch.tensor([[1.0, 3.0]]).max(1)
data = pickle.dumps(values, 2)
print(b"ctorch.return_types\\nmax" in data, pickle.loads(data).indices.tolist(), type(values))
"""
    assert run(program) == "True [1] <class 'torch.return_types.max'>\n"


# Pickles of functions, written by PyTorch 2.13.
PICKLES = {
    "torch.abs": "cbuiltins\ngetattr\n(ctorch._C\n_VariableFunctionsClass\nVabs\ntR.",
    "torch.linalg.inv": "ctorch._C._linalg\nlinalg_inv\n.",
    "torch.fft.rfft": "ctorch._C._fft\nfft_rfft\n.",
    "torch.special.erfcx": "ctorch._C._special\nspecial_erfcx\n.",
    "torch.nn.functional.gelu": "ctorch._C._nn\ngelu\n.",
    "torch.nn.functional.logsigmoid": "ctorch._C._nn\nlog_sigmoid\n.",
}


def test_pickles_of_pytorchs_compiled_functions() -> None:
    program = """
import json, pickle, sys, torch
print([name for name, data in json.load(sys.stdin).items() if pickle.loads(data.encode()) != eval(name)])
"""
    assert run(program, input=json.dumps(PICKLES)) == "[]\n"


def test_pickles_of_tensors_contain_pytorchs_names() -> None:
    program = """
import copy, pickle, torch
class Labelled(torch.Tensor):
    pass
x = torch.arange(6.0).reshape(2, 3)
parameter = torch.nn.Parameter(x.clone())
noted = torch.nn.Parameter(x.clone())
noted.note = "seen"
kinds = dict(tensor=x, view=x.T[1:], half=x.bfloat16(), unsigned=x.to(torch.uint16), meta=x.to("meta"), sparse=x.to_sparse(),
             csr=x.to_sparse_csr(), nested=torch.nested.nested_tensor([x[0], x[1, :2]]), parameter=parameter, noted=noted,
             subclass=x.as_subclass(Labelled), storage=x.storage(), untyped=x.untyped_storage(), layer=torch.nn.Linear(2, 3),
             layout=torch.sparse_coo)
for name, value in kinds.items():
    data = pickle.dumps(value)
    found = pickle.loads(data)
    if b"flambeau" in data or repr(found) != repr(value) or repr(copy.deepcopy(value)) != repr(value):
        print(name)
print(pickle.loads(pickle.dumps(noted)).note, pickle.loads(b"ctorch.serialization\\n_get_layout\\n(Vtorch.sparse_csr\\ntR."))
"""
    assert run(program) == "seen torch.sparse_csr\n"


def test_missing_names_of_the_compiled_modules() -> None:
    program = """
import torch
print([hasattr(getattr(torch._C, f"_{name}"), other) for name in ("linalg", "fft", "special", "nn")
       for other in ("inv", "__path__", "linear_", "linalg_no")])
"""
    assert "True" not in run(program)


def test_types_of_sparse_tensors_on_cuda() -> None:
    """On a machine without CUDA, as PyTorch."""
    program = """
import torch
x = torch.eye(2).to_sparse()
print(torch.cuda.sparse.FloatTensor, isinstance(x, torch.sparse.FloatTensor), isinstance(x, torch.cuda.sparse.FloatTensor))
if not torch.cuda.is_available():
    try:
        torch.cuda.sparse.FloatTensor(2, 3)
    except TypeError as error:
        print(error)
"""
    shown, _, refused = run(program).partition("\n")
    assert shown == "<class 'torch.cuda.sparse.FloatTensor'> True False"
    assert refused in ("", "type torch.cuda.sparse.FloatTensor not available. Torch not compiled with CUDA enabled.\n")

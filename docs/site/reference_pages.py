"""The pages of the reference, and the public names that each of them documents."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import flambeau as torch
from flambeau.engine.calls.tables import OPS

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Page:
    """A page of the reference.

    Args:
        file: the name of the page, without folder and suffix.
        title: the heading.
        about: the text below the heading.
        module: the module whose public names are documented.
        files: document only names defined in these files (names without suffix) or packages of `operations`.
    """

    file: str
    title: str
    about: str
    module: str = ""
    files: str = ""

    @property
    def prefix(self) -> str:
        if self.module in ("", "flambeau"):
            return ""
        return self.module.replace("flambeau_vision", "torchvision").removeprefix("flambeau.") + "."


def _of(module: str, about: str) -> Page:
    """Return the page of a module, under its public name."""
    if module.startswith("flambeau_vision"):
        title = module.replace("flambeau_vision", "torchvision")
    else:
        title = module.replace("flambeau", "torch", 1)
    return Page(title.replace("torch.", "", 1) if title != "torch" else "torch", title, about, module)


def _nn(file: str, title: str, about: str, files: str) -> Page:
    """Return a page of classes of `torch.nn` from these files; without files, of all classes that are not on another page."""
    return Page(file, title, about, "flambeau.nn", files)


SECTIONS: dict[str, list[Page]] = {
    "torch": [
        Page(
            "creation",
            "Creating tensors",
            "Create tensors from data, sizes or random numbers.",
            files="creation sampling signal dlpack random construction",
        ),
        Page(
            "pointwise",
            "Elementwise functions",
            "Arithmetic, mathematical functions of each element, and comparisons.",
            files="arithmetic pointwise trigonometry comparison complex special activation operations conversion",
        ),
        Page(
            "reductions",
            "Reductions, statistics and sorting",
            "Sums, extremes, statistics and sorting along dimensions.",
            files="reductions variance cumulative statistics differences sorting",
        ),
        Page(
            "views",
            "Shapes, views, indexing and joining",
            "Change the shape of tensors, select parts of them, and join them.",
            files="views indexing joining scatter blocks memory shuffling resampling",
        ),
        Page(
            "matrix",
            "Matrices",
            "Products, solvers and decompositions. `torch.linalg` has most of them as well.",
            files="matrix linalg einsum linear fft products distance",
        ),
        Page(
            "neural",
            "Neural network functions in torch",
            "Functions of `torch.nn.functional` that are also in `torch`.",
            files="softmax convolution normalization pooling dropout embedding loss ctc padding attention "
            "recurrent folding compiled recurrence",
        ),
        Page(
            "torch",
            "Everything else in torch",
            "Dtypes, devices, gradient modes, random generators, serialization, settings and types.",
            module="flambeau",
        ),
        Page(
            "tensor",
            "torch.Tensor",
            "The class of all tensors. Methods that are also functions of `torch` are documented there; the function's first "
            "argument is the tensor. A method whose name ends in `_` writes its result into the tensor.",
        ),
        _of("flambeau.linalg", "Linear algebra."),
        _of("flambeau.fft", "Discrete Fourier transforms."),
        _of("flambeau.special", "Special functions."),
        _of("flambeau.signal.windows", "Window functions for signal processing."),
        _of("flambeau.sparse", "Sparse tensors."),
        _of("flambeau.nested", "Nested tensors: batches of tensors of different sizes."),
        _of("flambeau.masked", "Reductions of elements selected by a mask."),
        _of("flambeau.random", "Random generators."),
        _of("flambeau.quasirandom", "Quasi-random (low-discrepancy) sequences."),
    ],
    "Gradients": [
        _of("flambeau.autograd", "Reverse-mode differentiation."),
        _of("flambeau.autograd.functional", "Jacobians, Hessians, and their products with vectors."),
        _of("flambeau.autograd.forward_ad", "Forward-mode differentiation."),
        _of("flambeau.autograd.graph", "The recorded graph: nodes, hooks, and hooks on saved tensors."),
        _of("flambeau.autograd.profiler", "Profiling of the time of a program."),
        _of("flambeau.func", "Function transforms: `grad`, `vmap`, `jacrev` and others."),
        _of("flambeau.profiler", "Profiling over several steps, and traces."),
    ],
    "Neural networks": [
        _nn(
            "nn",
            "torch.nn: modules and containers",
            "`Module`, containers, parameters, and layers that are not on the other pages.",
            "",
        ),
        _nn(
            "nn.linear",
            "torch.nn: linear layers and embeddings",
            "Linear layers, and embeddings of indices.",
            "linear sparse flatten",
        ),
        _nn(
            "nn.convolution",
            "torch.nn: convolution",
            "Convolutions, padding, upsampling and folding.",
            "conv fold upsampling pixelshuffle channelshuffle padding",
        ),
        _nn("nn.pooling", "torch.nn: pooling", "Maximum and average pooling over windows.", "pooling adaptive_pooling"),
        _nn(
            "nn.activation",
            "torch.nn: activations and dropout",
            "Activation functions, softmax and dropout.",
            "activation softmax dropout",
        ),
        _nn(
            "nn.normalization",
            "torch.nn: normalization",
            "Batch, layer, group and instance normalization.",
            "batchnorm instancenorm normalization",
        ),
        _nn(
            "nn.sequences",
            "torch.nn: sequences",
            "Recurrent layers, attention and transformers.",
            "rnn rnn_cells attention transformer",
        ),
        _nn(
            "nn.losses",
            "torch.nn: losses and distances",
            "Loss functions and distances between outputs and targets.",
            "loss margin_loss adaptive distance linear_cross_entropy",
        ),
        _of("flambeau.nn.functional", "Layers and losses as functions."),
        _of("flambeau.nn.init", "Initialization of parameters."),
        _of("flambeau.nn.attention", "Selection of the attention kernel, and flexible attention."),
        _of("flambeau.nn.attention.flex_attention", "Attention with a user-defined function of its scores."),
        _of("flambeau.nn.attention.bias", "Attention masks that are not stored as tensors."),
        _of("flambeau.nn.utils", "Gradient clipping, parameters as one vector, and weight normalization."),
        _of("flambeau.nn.utils.parametrizations", "Parametrizations of weights: normalized and orthogonal."),
        _of("flambeau.nn.utils.parametrize", "Parameters computed from other parameters."),
        _of("flambeau.nn.utils.prune", "Pruning: masks that keep weights at zero."),
        _of("flambeau.nn.utils.rnn", "Sequences of different lengths."),
        _of("flambeau.optim", "Optimizers."),
        _of("flambeau.optim.lr_scheduler", "Learning rate schedules."),
        _of("flambeau.optim.swa_utils", "Averaging of weights over training steps."),
        _of("flambeau.amp", "Automatic mixed precision."),
        _of("flambeau.distributions", "Probability distributions."),
        _of("flambeau.distributions.transforms", "Invertible transformations of random variables."),
        _of("flambeau.distributions.constraints", "Constraints on parameters and values of distributions."),
        _of("flambeau.distributions.kl", "Kullback-Leibler divergences between distributions."),
    ],
    "Data and vision": [
        _of("flambeau.utils.data", "Data sets, samplers and loaders."),
        _of("flambeau_vision.datasets", "Data sets of images."),
        _of("flambeau_vision.models", "Image classification networks."),
        _of("flambeau_vision.models.detection", "Object detection networks."),
        _of("flambeau_vision.models.segmentation", "Semantic segmentation networks."),
        _of("flambeau_vision.models.optical_flow", "Optical flow networks."),
        _of("flambeau_vision.models.video", "Video classification networks."),
        _of("flambeau_vision.models.quantization", "Quantizable networks."),
        _of("flambeau_vision.models.feature_extraction", "Outputs of intermediate layers."),
        _of("flambeau_vision.io", "Reading and writing of images and videos."),
        _of("flambeau_vision.tv_tensors", "Tensor subclasses for images, boxes, masks and videos."),
        _of("flambeau_vision.transforms", "Image transforms."),
        _of("flambeau_vision.transforms.functional", "Image transforms as functions."),
        _of("flambeau_vision.transforms.v2", "Transforms of images together with boxes, masks and videos."),
        _of("flambeau_vision.transforms.v2.functional", "The transforms of `transforms.v2` as functions."),
        _of("flambeau_vision.ops", "Operations on boxes and regions."),
        _of("flambeau_vision.utils", "Image grids, and drawing of boxes, masks and key points."),
    ],
    "Programs as data": [
        _of("flambeau.compiler", "Settings of compiled steps; see [how they work](../compile.md)."),
        _of("flambeau.export", "Programs as graphs without Python code; see [exporting models](../export.md)."),
        _of("flambeau.onnx", "Export to the ONNX format."),
        _of("flambeau.fx", "Symbolic tracing, and transformation of graphs."),
        _of("flambeau.jit", "Tracing, scripting, and TorchScript archives."),
        _of("flambeau.transforms.capture", "Recording of the kernels that a call runs."),
        _of("flambeau.library", "Registration of custom operators."),
        _of("flambeau.overrides", "Overriding of functions by subclasses and modes (`__torch_function__`)."),
    ],
    "Processes and devices": [
        _of("flambeau.multiprocessing", "Processes with shared tensors."),
        _of("flambeau.distributed", "Process groups and collectives; see [beyond one process](../distributed.md)."),
        _of("flambeau.distributed.device_mesh", "Meshes of devices."),
        _of("flambeau.distributed.tensor", "`DTensor`: tensors distributed over processes."),
        _of("flambeau.distributed.tensor.parallel", "Tensor-parallel layers."),
        _of("flambeau.distributed.fsdp", "`fully_shard`: parameters distributed over processes."),
        _of("flambeau.distributed.checkpoint", "Checkpoints written by several processes."),
        _of("flambeau.distributed.checkpoint.state_dict", "State dicts of distributed models and optimizers."),
        _of("flambeau.distributed.rpc", "Remote procedure calls."),
        _of("flambeau.distributed.optim", "Optimizers with state distributed over processes."),
        _of("flambeau.distributed.algorithms.join", "Training with different amounts of data per process."),
        _of("flambeau.nn.parallel", "Data parallelism over devices and processes."),
        _of("flambeau.cuda", "CUDA devices; see [CUDA](../cuda.md)."),
        _of("flambeau.accelerator", "The available accelerator, independent of its type."),
        _of("flambeau.cpu", "The CPU as a device."),
        _of("flambeau.mps", "Apple's devices, which flambeau does not support (see the plugin for MLX)."),
        _of("flambeau.xpu", "Intel's devices, which flambeau does not support (see the plugin for dpnp)."),
        _of("flambeau.backends", "Settings of backends and their libraries."),
        _of("flambeau.backends.cuda", "Settings of CUDA's libraries."),
        _of("flambeau.backends.cudnn", "Settings of cuDNN."),
        _of("flambeau.futures", "Results of asynchronous operations."),
    ],
    "Files and tools": [
        _of("flambeau.serialization", "Saving and loading of tensors, and restrictions on file contents."),
        _of("flambeau.hub", "Models and weights from repositories."),
        _of("flambeau.utils", "Utilities."),
        _of("flambeau.utils.checkpoint", "Activation checkpointing: recomputation in the backward, to save memory."),
        _of("flambeau.utils.benchmark", "Timing of code."),
        _of("flambeau.utils.flop_counter", "Counts of floating-point operations."),
        _of("flambeau.utils.tensorboard", "Curves and pictures for TensorBoard."),
        _of("flambeau.utils.pictures", "Pictures of graphs."),
        _of("flambeau.utils.hooks", "Handles of removable hooks."),
        _of("flambeau.utils.module_tracker", "The module whose `forward` is running."),
        _of("flambeau.utils.collect_env", "Information for bug reports."),
        _of("flambeau.utils.dlpack", "Exchange of tensors with other libraries by DLPack."),
        _of("flambeau.utils.model_zoo", "Download of weights."),
        _of("flambeau.utils.cpp_extension", "PyTorch's C++ extensions, which flambeau does not load."),
        _of("flambeau.testing", "Comparison of tensors in tests."),
        _of("flambeau.types", "Type aliases."),
    ],
    "For authors": [
        _of("flambeau.extension", "Interfaces for authors of layers, functions and kernels; see [operations](../operations.md)."),
        _of("flambeau.backend", "Interfaces of an array library's backend; see [plugins](../plugins.md)."),
        _of("flambeau.array_api", "The namespace of the array API standard; see [its page](../array_api.md)."),
        _of("flambeau.conformance", "The kit that checks a backend."),
        _of("flambeau.legacy.nn", "Layers of the Lua-style `legacy.nn`, with hand-written gradients."),
        _of("flambeau.legacy.optim", "Optimizers of `legacy.optim`, as functions."),
    ],
}

CONSTANTS = {
    "e": "Euler's number.", "pi": "The number pi.", "inf": "Infinity.", "nan": "Not a number.",
    "newaxis": "`None`; as an index, it adds a dimension.",
    "array_api.newaxis": "`None`; as an index, it adds a dimension.",
    "__version__": "The version of PyTorch whose API flambeau implements.",
    "default_generator": "The generator of random functions that are called without one.",
    "types.FileLike": "The type of file arguments: a path or an open file.",
    "utils.cpp_extension.CUDA_HOME": "The folder of CUDA's tools; always `None`.",
    "utils.cpp_extension.ROCM_HOME": "The folder of ROCm's tools; always `None`.",
    "backends.cudnn.benchmark_limit": "Accepted for compatibility; it has no effect.",
}  # fmt: skip

NOTES = {
    "ops": "Operators by namespace and name, as in `torch.ops.aten.add.Tensor`: see `torch.library`.",
    "multiprocessing.get_all_start_methods": "Return the names of the available start methods.",
    "multiprocessing.get_context": "Return a context with the functions of this module for one start method.",
    "multiprocessing.get_start_method": "Return the start method of processes.",
    "multiprocessing.set_start_method": "Set the start method of processes; allowed once in a program.",
    "multiprocessing.AuthenticationError": "Python's `multiprocessing.AuthenticationError`.",
    "multiprocessing.BufferTooShort": "Python's `multiprocessing.BufferTooShort`.",
    "multiprocessing.Process": "Python's `multiprocessing.Process`.",
    "multiprocessing.ProcessError": "Python's `multiprocessing.ProcessError`.",
    "multiprocessing.TimeoutError": "Python's `multiprocessing.TimeoutError`.",
}

HIDDEN_PARAMETERS = {"_"}
METHODS_OF_ALL = {"forward", "extra_repr", "reset_parameters"}


def spelled(name: str) -> str:
    """Return a name as programs write it."""
    return name if name.startswith("torchvision.") else f"torch.{name}" if name[0].islower() or name == "Tensor" else name


def full_name(name: str) -> str:
    """Return a name with `torch.` or `torchvision.` before it."""
    return name if name.startswith("torchvision.") else f"torch.{name}"


# --- names of a page --------------------------------------------------------------------------------------------------


def members(page: Page) -> Iterable[tuple[str, Any]]:
    """Return the entries of a page: each name without the prefix `torch.`, and its object."""
    if page.file == "tensor":
        return _tensor_members()
    if page.module == "flambeau.nn":
        return _layers(page)
    if page.files:
        stems = set(page.files.split())
        return [(name, getattr(torch, name)) for name in sorted(torch.__all__, key=str.lower) if file_of(name) in stems]
    if page.module == "flambeau":
        placed = {stem for other in SECTIONS["torch"] for stem in other.files.split()}
        return [(name, getattr(torch, name)) for name in sorted(torch.__all__, key=str.lower) if file_of(name) not in placed]
    module = importlib.import_module(page.module)
    names = [name for name in module.__all__ if not isinstance(getattr(module, name), ModuleType)]
    return [(page.prefix + name, getattr(module, name)) for name in names]


def _layers(page: Page) -> list[tuple[str, Any]]:
    elsewhere = {stem for other in SECTIONS["Neural networks"] if other.module == page.module for stem in other.files.split()}
    found = []
    for name in torch.nn.__all__:
        member = getattr(torch.nn, name)
        stem = getattr(member, "__module__", "").rpartition(".")[2]
        wanted = stem in page.files.split() if page.files else stem not in elsewhere
        if wanted and not isinstance(member, ModuleType):
            found.append((page.prefix + name, member))
    return found


def file_of(name: str) -> str:
    """Return the file, or the package of `operations`, that defines a function of `torch`; empty if it is not a function."""
    member, record = getattr(torch, name), OPS.get(name)
    if inspect.isclass(member) or not callable(member) or isinstance(member, (torch.dtype, torch.layout)):
        return ""
    try:
        path = Path(inspect.getsourcefile(record.forward if record is not None else inspect.unwrap(member)) or "")
    except TypeError:
        return "pointwise"
    own = ("operations", "sparse", "utils", "nn", "transforms", "random.py")
    if path.stem == "codegen":  # an alias of an operation
        return next((file_of(other.name) for other in OPS.values() if name in other.aliases), "pointwise")
    if "operations" in path.parts:
        family = path.with_suffix("").parts[path.parts.index("operations") + 1]
        return "operations" if family == "__init__" else family
    return path.stem if path.parent.name in own else ""


def _tensor_members() -> list[tuple[str, Any]]:
    """Return the members of Tensor that are not also functions of `torch`."""
    found = [("Tensor", torch.Tensor)]
    for name in sorted(dir(torch.Tensor), key=str.lower):
        if name.startswith("_") or name in torch.__all__:
            continue
        member = inspect.getattr_static(torch.Tensor, name)
        member = member.__func__ if isinstance(member, (staticmethod, classmethod)) else member
        if name.endswith("_") and name[:-1] in torch.__all__ and (member.__doc__ or "").startswith("In-place form of"):
            continue
        if inspect.isroutine(member) or isinstance(member, property) or hasattr(member, "__get__"):
            found.append((f"Tensor.{name}", member if isinstance(member, property) else getattr(torch.Tensor, name)))
    return found


# --- headings of a page ----------------------------------------------------------------------------------------------


def groups(page: Page, entries: list[Any]) -> dict[str, list[Any]]:
    """Group the entries of a page by heading. Long pages have one heading for each defining file."""
    if page.file == "tensor":
        properties = [entry for entry in entries if isinstance(entry.member, property)]
        others = [entry for entry in entries if entry not in properties]
        return {"": others[:1], "Attributes": properties, "Methods without a function of the same name": others[1:]}
    if len(entries) < 40:
        return {"": entries}
    grouped: dict[str, list[Any]] = {}
    for entry in entries:
        grouped.setdefault(_group(entry), []).append(entry)
    if len(grouped) > len(entries) / 2:
        return {"": entries}
    return grouped


def _group(entry: Any) -> str:
    """Return the heading of an entry: the first words of its module's docstring."""
    member = entry.member
    if isinstance(member, torch.dtype):
        return "Dtypes"
    if entry.name.endswith(("Tensor", "Storage")) and inspect.isclass(member):
        return "Classes of tensors and storages"
    record = OPS.get(entry.name)
    function = record.forward if record is not None else inspect.unwrap(member) if callable(member) else None
    module = inspect.getmodule(function) if function is not None else None
    if module is None or not module.__doc__ or "codegen" in (module.__name__ or ""):
        return "Others"
    words = module.__doc__.strip().splitlines()[0]
    for mark in (":", ".", ";", ",", " ("):
        words = words.partition(mark)[0]
    return words.strip() if len(words) < 50 else module.__name__.rpartition(".")[2].replace("_", " ").capitalize()

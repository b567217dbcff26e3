"""On which page of the reference each public name stands."""

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
        file: its name, without folder and suffix.
        title: its heading.
        about: what stands below it.
        module: the module whose public names it shows.
        files: only what these files define, by their names without suffix, and these packages of `operations`.
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
    """The page of a module under its public name."""
    if module.startswith("flambeau_vision"):
        title = module.replace("flambeau_vision", "torchvision")
    else:
        title = module.replace("flambeau", "torch", 1)
    return Page(title.replace("torch.", "", 1) if title != "torch" else "torch", title, about, module)


def _nn(file: str, title: str, about: str, files: str) -> Page:
    """A page of the classes of `torch.nn`: those from these files, or all that are on no other page."""
    return Page(file, title, about, "flambeau.nn", files)


SECTIONS: dict[str, list[Page]] = {
    "torch": [
        Page(
            "creation",
            "Creating tensors",
            "Tensors from data, from sizes, and of random numbers.",
            files="creation sampling signal dlpack random construction",
        ),
        Page(
            "pointwise",
            "Element by element",
            "Arithmetic, functions of each element, and comparison.",
            files="arithmetic pointwise comparison complex special activation operations conversion",
        ),
        Page(
            "reductions",
            "Reductions, statistics and sorting",
            "Functions that take many elements to fewer, or put them in order.",
            files="reductions statistics sorting",
        ),
        Page(
            "views",
            "Shapes, views, indexing and joining",
            "Other shapes of the same elements, parts of them, and wholes of parts.",
            files="views indexing joining scatter blocks memory shuffling resampling",
        ),
        Page(
            "matrix",
            "Matrices",
            "Products, solvers and decompositions; most of them stand in `torch.linalg`, too.",
            files="matrix linalg einsum linear fft products distance",
        ),
        Page(
            "neural",
            "Functions of neural networks in torch",
            "`torch.nn.functional` has them all; these are those that `torch` has, too.",
            files="softmax convolution normalization pooling dropout embedding loss ctc padding attention "
            "recurrent folding compiled recurrence",
        ),
        Page(
            "torch",
            "Everything else in torch",
            "Dtypes, devices, gradient modes, random generators, files, settings and types.",
            module="flambeau",
        ),
        Page(
            "tensor",
            "torch.Tensor",
            "The class of all tensors. Methods that are functions of `torch`, too, are described there; "
            "a method's first argument is the tensor itself. A method whose name ends in `_` writes its result into the tensor.",
        ),
        _of("flambeau.linalg", "Linear algebra."),
        _of("flambeau.fft", "Discrete Fourier transforms."),
        _of("flambeau.special", "Special functions."),
        _of("flambeau.signal.windows", "Windows for signals."),
        _of("flambeau.sparse", "Sparse tensors."),
        _of("flambeau.nested", "Batches of tensors that differ in size."),
        _of("flambeau.masked", "Reductions of the elements that a mask selects."),
        _of("flambeau.random", "Random generators."),
        _of("flambeau.quasirandom", "Sequences that fill a cube evenly."),
    ],
    "Gradients": [
        _of("flambeau.autograd", "Derivatives by reverse mode."),
        _of("flambeau.autograd.functional", "Jacobians, Hessians and products with them."),
        _of("flambeau.autograd.forward_ad", "Derivatives by forward mode."),
        _of("flambeau.autograd.graph", "The recorded graph: nodes, hooks, and where values are saved."),
        _of("flambeau.autograd.profiler", "Where the time of a program goes."),
        _of("flambeau.func", "Transforms of functions: `grad`, `vmap`, `jacrev` and others."),
        _of("flambeau.profiler", "Profiles over several steps."),
    ],
    "Neural networks": [
        _nn(
            "nn",
            "torch.nn: modules and containers",
            "The class of all modules, containers, parameters, and what stands nowhere else.",
            "",
        ),
        _nn(
            "nn.linear",
            "torch.nn: linear layers and embeddings",
            "Products with learned matrices, and rows of learned tables.",
            "linear sparse flatten",
        ),
        _nn(
            "nn.convolution",
            "torch.nn: convolution",
            "Convolutions, and what changes the size of images.",
            "conv fold upsampling pixelshuffle channelshuffle padding",
        ),
        _nn("nn.pooling", "torch.nn: pooling", "The largest, or the mean, of each window.", "pooling adaptive_pooling"),
        _nn(
            "nn.activation",
            "torch.nn: activations and dropout",
            "Functions of each element, softmax, and dropout.",
            "activation softmax dropout",
        ),
        _nn(
            "nn.normalization",
            "torch.nn: normalization",
            "Means of 0 and variances of 1, over a batch or over features.",
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
            "How far outputs are from what they should be.",
            "loss margin_loss adaptive distance linear_cross_entropy",
        ),
        _of("flambeau.nn.functional", "The functions behind the layers."),
        _of("flambeau.nn.init", "First values of parameters."),
        _of("flambeau.nn.attention", "Which computation attention uses, and flexible attention."),
        _of("flambeau.nn.attention.flex_attention", "Attention with a function that changes its scores."),
        _of("flambeau.nn.attention.bias", "Masks of attention that are not written out."),
        _of("flambeau.nn.utils", "Gradients within bounds, parameters as one vector, and weights with norms."),
        _of("flambeau.nn.utils.parametrizations", "Weights with a norm, or orthogonal ones."),
        _of("flambeau.nn.utils.parametrize", "Weights that are computed from others."),
        _of("flambeau.nn.utils.prune", "Weights that are kept at zero."),
        _of("flambeau.nn.utils.rnn", "Sequences of different lengths."),
        _of("flambeau.optim", "Optimizers."),
        _of("flambeau.optim.lr_scheduler", "Learning rates that change."),
        _of("flambeau.optim.swa_utils", "Averages of weights."),
        _of("flambeau.amp", "Mixed precision."),
        _of("flambeau.distributions", "Probability distributions."),
        _of("flambeau.distributions.transforms", "Invertible functions of random variables."),
        _of("flambeau.distributions.constraints", "Which values a parameter may have."),
        _of("flambeau.distributions.kl", "Divergences between distributions."),
    ],
    "Data and vision": [
        _of("flambeau.utils.data", "Data sets, samplers and loaders."),
        _of("flambeau_vision.datasets", "Data sets of images."),
        _of("flambeau_vision.models", "Networks for images."),
        _of("flambeau_vision.models.detection", "Networks that find objects."),
        _of("flambeau_vision.models.segmentation", "Networks that give each pixel a class."),
        _of("flambeau_vision.models.optical_flow", "Networks that see motion."),
        _of("flambeau_vision.models.video", "Networks for videos."),
        _of("flambeau_vision.models.quantization", "Networks in int8."),
        _of("flambeau_vision.models.feature_extraction", "What layers in a network return."),
        _of("flambeau_vision.io", "Files of images and videos."),
        _of("flambeau_vision.tv_tensors", "Tensors that know what they are: images, boxes, masks, videos."),
        _of("flambeau_vision.transforms", "Transforms of images."),
        _of("flambeau_vision.transforms.functional", "The functions behind the transforms."),
        _of("flambeau_vision.transforms.v2", "Transforms of images with boxes, masks and videos."),
        _of("flambeau_vision.transforms.v2.functional", "The functions behind these."),
        _of("flambeau_vision.ops", "Operations on boxes and regions."),
        _of("flambeau_vision.utils", "Grids of images, and drawings on them."),
    ],
    "Programs as data": [
        _of("flambeau.compiler", "Compiled steps; see [how they work](../compile.md)."),
        _of("flambeau.export", "Programs without their Python; see [models for elsewhere](../export.md)."),
        _of("flambeau.onnx", "Models for other runtimes."),
        _of("flambeau.fx", "Programs as graphs that other programs change."),
        _of("flambeau.jit", "`torch.jit`, and archives that it has written."),
        _of("flambeau.transforms.capture", "The record of a call at the level of kernels."),
        _of("flambeau.library", "Operators of one's own by name."),
        _of("flambeau.overrides", "Classes and modes that change what functions do."),
    ],
    "Processes and devices": [
        _of("flambeau.multiprocessing", "Processes that share tensors."),
        _of("flambeau.distributed", "Groups of processes; see [beyond one process](../distributed.md)."),
        _of("flambeau.distributed.device_mesh", "Devices in rows and columns."),
        _of("flambeau.distributed.tensor", "Tensors in parts on several processes."),
        _of("flambeau.distributed.tensor.parallel", "Layers in parts on several processes."),
        _of("flambeau.distributed.fsdp", "Parameters in parts on several processes."),
        _of("flambeau.distributed.checkpoint", "Checkpoints that many processes write."),
        _of("flambeau.distributed.checkpoint.state_dict", "State dicts of models and optimizers in parts."),
        _of("flambeau.distributed.rpc", "Calls of functions in other processes."),
        _of("flambeau.distributed.optim", "Optimizers whose state is spread over processes."),
        _of("flambeau.distributed.algorithms.join", "Processes with different amounts of data."),
        _of("flambeau.nn.parallel", "Modules on several devices."),
        _of("flambeau.cuda", "CUDA devices; see [CUDA](../cuda.md)."),
        _of("flambeau.accelerator", "Whatever accelerator there is."),
        _of("flambeau.cpu", "The CPU as a device."),
        _of("flambeau.mps", "Apple's devices, of which there are none here."),
        _of("flambeau.xpu", "Intel's devices, of which there are none here."),
        _of("flambeau.backends", "Settings of the libraries below."),
        _of("flambeau.backends.cuda", "Settings of CUDA's libraries."),
        _of("flambeau.backends.cudnn", "Settings of cuDNN."),
        _of("flambeau.futures", "Results that are still to come."),
    ],
    "Files and tools": [
        _of("flambeau.serialization", "What may be in a file of tensors, and how it is read."),
        _of("flambeau.hub", "Models from repositories."),
        _of("flambeau.utils", "Small tools."),
        _of("flambeau.utils.checkpoint", "Values that are computed again in backward, to save memory."),
        _of("flambeau.utils.benchmark", "Measurements of time."),
        _of("flambeau.utils.flop_counter", "Counts of operations."),
        _of("flambeau.utils.tensorboard", "Curves and pictures for TensorBoard."),
        _of("flambeau.utils.pictures", "Pictures of graphs."),
        _of("flambeau.utils.hooks", "Hooks that can be removed."),
        _of("flambeau.utils.module_tracker", "Which module is running."),
        _of("flambeau.utils.collect_env", "What a report of an error should contain."),
        _of("flambeau.utils.dlpack", "Exchange with other libraries."),
        _of("flambeau.utils.model_zoo", "Weights from the network."),
        _of("flambeau.utils.cpp_extension", "PyTorch's extensions in C++, which flambeau does not load."),
        _of("flambeau.testing", "Comparison of tensors in tests."),
        _of("flambeau.types", "Names of types."),
    ],
    "For authors": [
        _of("flambeau.extension", "What layers, functions and kernels are written with; see [operations](../operations.md)."),
        _of("flambeau.backend", "What an array library's backend is made of; see [plugins](../plugins.md)."),
        _of("flambeau.array_api", "The array API standard; see [its page](../array_api.md)."),
        _of("flambeau.conformance", "The kit that checks a backend."),
        _of("flambeau.legacy.nn", "The layers of 2017, with gradients by hand."),
        _of("flambeau.legacy.optim", "The optimizers of 2017, as functions."),
    ],
}

CONSTANTS = {
    "e": "Euler's number.", "pi": "The number pi.", "inf": "Infinity.", "nan": "Not a number.",
    "newaxis": "`None`, which adds a dimension where it stands in an index.",
    "array_api.newaxis": "`None`, which adds a dimension where it stands in an index.",
    "__version__": "The version of PyTorch's API that flambeau has.",
    "default_generator": "The generator that functions use when they are given none.",
    "types.FileLike": "What files can be given as: a path, or an open file.",
    "utils.cpp_extension.CUDA_HOME": "Where CUDA's tools are: `None`.",
    "utils.cpp_extension.ROCM_HOME": "Where ROCm's tools are: `None`.",
    "backends.cudnn.benchmark_limit": "Accepted; there is nothing that it limits.",
}  # fmt: skip

NOTES = {
    "ops": "Operators by namespace and name, as in `torch.ops.aten.add.Tensor`: see `torch.library`.",
    "multiprocessing.get_all_start_methods": "The names of the ways in which processes can be started here.",
    "multiprocessing.get_context": "The same functions for one way of starting processes.",
    "multiprocessing.get_start_method": "The way in which processes are started.",
    "multiprocessing.set_start_method": "Set the way in which processes are started, once in a program.",
    "multiprocessing.AuthenticationError": "Python's `multiprocessing.AuthenticationError`.",
    "multiprocessing.BufferTooShort": "Python's `multiprocessing.BufferTooShort`.",
    "multiprocessing.Process": "Python's `multiprocessing.Process`.",
    "multiprocessing.ProcessError": "Python's `multiprocessing.ProcessError`.",
    "multiprocessing.TimeoutError": "Python's `multiprocessing.TimeoutError`.",
}

HIDDEN_PARAMETERS = {"_"}
METHODS_OF_ALL = {"forward", "extra_repr", "reset_parameters"}


def spelled(name: str) -> str:
    """A name as programs write it."""
    return name if name.startswith("torchvision.") else f"torch.{name}" if name[0].islower() or name == "Tensor" else name


# --- which names --------------------------------------------------------------------------------------------------


def members(page: Page) -> Iterable[tuple[str, Any]]:
    """The names of a page, with what follows `torch.` in programs, and what they are."""
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
    """The file, or the package of `operations`, that defines a function of `torch`; empty for what is no function."""
    member, record = getattr(torch, name), OPS.get(name)
    if inspect.isclass(member) or not callable(member) or isinstance(member, (torch.dtype, torch.layout)):
        return ""
    try:
        path = Path(inspect.getsourcefile(record.forward if record is not None else inspect.unwrap(member)) or "")
    except TypeError:
        return "pointwise"
    own = ("operations", "sparse", "utils", "nn", "transforms", "random.py")
    if path.stem == "codegen":  # another name of a record
        return next((file_of(other.name) for other in OPS.values() if name in other.aliases), "pointwise")
    if "operations" in path.parts:
        family = path.with_suffix("").parts[path.parts.index("operations") + 1]
        return "operations" if family == "__init__" else family
    return path.stem if path.parent.name in own else ""


def _tensor_members() -> list[tuple[str, Any]]:
    """What only Tensor has: methods that are functions as well are described there."""
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


# --- in which groups ----------------------------------------------------------------------------------------------


def groups(page: Page, entries: list[Any]) -> dict[str, list[Any]]:
    """The entries under headings: long pages are divided by the files that define them."""
    if page.file == "tensor":
        properties = [entry for entry in entries if isinstance(entry.member, property)]
        others = [entry for entry in entries if entry not in properties]
        return {"": others[:1], "Attributes": properties, "Methods that only Tensor has": others[1:]}
    if len(entries) < 40:
        return {"": entries}
    grouped: dict[str, list[Any]] = {}
    for entry in entries:
        grouped.setdefault(_group(entry), []).append(entry)
    if len(grouped) > len(entries) / 2:
        return {"": entries}
    return grouped


_PLAIN = {"": "Constants and types"}


def _group(entry: Any) -> str:
    """The heading of an entry: what the file that defines it says it holds."""
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

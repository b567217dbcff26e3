"""The sample table is complete: every public operation has samples, and vmap batches each without a loop."""

from __future__ import annotations

import gc
import inspect
import re
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import flambeau as torch
from flambeau import operations
from flambeau.conformance import coverage
from flambeau.conformance.checks import CHECKS, Checker
from flambeau.conformance.samples import families
from flambeau.conformance.samples.sample import Sample, find, find_or_none
from flambeau.engine.calls.tables import OPS, PUBLIC
from flambeau.engine.calls.transform_hooks import LOOPED
from flambeau.operations import METHODS_AS_FUNCTIONS

SAMPLES = [sample for table in families().values() for sample in table]
NAMES = {sample.name for sample in SAMPLES}
MODULES = ("linalg", "fft", "special", "signal.windows", "nn.functional")

# Operations without samples, and the files that test them.
WITHOUT_SAMPLES = {
    "tests/operations/test_random.py, tests/parity/test_random_stream.py: results are random": (
        "bernoulli binomial multinomial normal poisson rand rand_like randint randint_like randn randn_like randperm _standard_gamma "
        "_sample_dirichlet Tensor.cauchy_ Tensor.exponential_ Tensor.geometric_ Tensor.log_normal_ Tensor.random_ Tensor.uniform_ "
        "nn.functional.gumbel_softmax nn.functional.fractional_max_pool2d nn.functional.fractional_max_pool3d "
        "nn.functional.fractional_max_pool2d_with_indices nn.functional.fractional_max_pool3d_with_indices"),
    "tests/engine/test_tensor.py: elements are not initialised": (
        "empty empty_like empty_permuted empty_strided Tensor.new Tensor.new_empty Tensor.new_empty_strided"),
    "tests/engine/test_tensor.py: memory of other libraries, files, and buffers": (
        "from_numpy from_dlpack frombuffer from_file Tensor.numpy Tensor.tolist Tensor.item"),
    "tests/engine/test_tensor.py: what is known of a tensor, its memory and its device, and no computation": (
        "result_type Tensor.const_data_ptr Tensor.cuda Tensor.data_ptr Tensor.dim_order Tensor.element_size Tensor.get_device "
        "Tensor.is_pinned Tensor.is_set_to Tensor.is_shared Tensor.pin_memory Tensor.record_stream Tensor.set_ Tensor.share_memory_ "
        "Tensor.size Tensor.storage Tensor.storage_offset Tensor.storage_type Tensor.stride Tensor.to_device Tensor.untyped_storage "
        "Tensor.resize Tensor.resize_as Tensor.to_dense hash_tensor Tensor.bfloat16"),
    "tests/engine/test_engine.py: the history of a tensor, and no computation": (
        "Tensor.backward Tensor.register_hook Tensor.register_post_accumulate_grad_hook Tensor.reinforce Tensor.requires_grad_ "
        "Tensor.retain_grad Tensor.as_subclass Tensor.module_load Tensor.slice_inverse Tensor.is_distributed"),
    "tests/engine/test_tensor.py: the argument is a function": "Tensor.apply_ Tensor.map_ Tensor.map2_",
    "tests/engine/test_tensor.py: takes first-class dimensions": "Tensor.index",
    "tests/layouts/test_sparse.py: methods of sparse tensors": (
        "Tensor.ccol_indices Tensor.coalesce Tensor.col_indices Tensor.crow_indices Tensor.dense_dim Tensor.indices Tensor.is_coalesced Tensor.resize_as_sparse_ "
        "Tensor.row_indices Tensor.smm Tensor.sparse_dim Tensor.sparse_mask Tensor.sparse_resize_ Tensor.sparse_resize_and_clear_ Tensor.sspaddmm "
        "Tensor.to_sparse Tensor.to_sparse_bsc Tensor.to_sparse_bsr Tensor.to_sparse_coo Tensor.to_sparse_csc Tensor.to_sparse_csr Tensor.values"
    ),
    "tests/operations/test_float8.py: of dtypes that the table does not have": "_scaled_mm",
    "tests/compat/test_library_names.py: of float8 dtypes": "nn.functional.scaled_mm nn.functional.scaled_grouped_mm",
    "tests/operations/test_complex32.py: of a dtype that the table does not have": "Tensor.chalf",
    "tests/nn/test_transformer.py: tested as a layer": "nn.functional.multi_head_attention_forward",
    "tests/operations/test_linalg.py: of old, other names of what linalg has": "symeig gels btrifact btrisolve",
    "tests/operations/test_segments.py: takes no double precision, in which differences could be taken": "_grouped_mm nn.functional.grouped_mm",
    "tests/operations/test_linalg.py: removed, and raise": "eig solve lstsq matrix_rank",
}  # fmt: skip
EXCEPTIONS = {name for names in WITHOUT_SAMPLES.values() for name in names.split()}


def plain(function: Any) -> Any:
    return inspect.unwrap(function)


def public_operations() -> dict[str, Any]:
    """Return all functions of `torch` and its modules, and all other tensor methods, by name."""
    functions = PUBLIC.keys() - set(METHODS_AS_FUNCTIONS)  # without functions that only call a method
    found = {name: getattr(torch, name) for name in functions}
    for path in MODULES:
        module = find(torch, path)
        for name in module.__all__:
            if callable(getattr(module, name)) and not isinstance(getattr(module, name), type):
                found[f"{path}.{name}"] = getattr(module, name)
    for name in dir(torch.Tensor):
        if name[0] != "_" and callable(getattr(torch.Tensor, name)) and not {name, name.rstrip("_")} & functions:
            found[f"Tensor.{name}"] = getattr(torch.Tensor, name)
    return found


def test_every_public_operation_has_samples() -> None:
    """Aliases, and in-place variants of sampled operations, need no samples."""
    sampled = {id(plain(find(torch, name))) for name in NAMES}
    missing = []
    for name, function in public_operations().items():
        base = name.removesuffix("_")
        known = name in NAMES or id(plain(function)) in sampled or (name != base and _is_sampled(base, sampled))
        if not known and name not in EXCEPTIONS:
            missing.append(name)
    assert not missing


def _is_sampled(base: str, sampled: set[int]) -> bool:
    return base in NAMES or id(plain(find_or_none(torch, base))) in sampled


def test_exceptions_are_public_operations_without_samples() -> None:
    operations = public_operations()
    assert not EXCEPTIONS - operations.keys()
    assert not EXCEPTIONS & NAMES


# --- families -------------------------------------------------------------------------------------------------------

ELSEWHERE = {  # operations whose samples are in another family than their definition, and why
    "Tensor.mul_": "the sample writes through a view that an index has made",
    "special.softmax": "the function of `torch`, under a second name",
    "special.log_softmax": "the function of `torch`, under a second name",
}


def family_of(name: str) -> str | None:
    """Return the file or package of `operations` that defines an operation, or None for other packages."""
    found = plain(find(torch, name))
    records = [record for record in OPS.values() if record.function is found]
    defined = inspect.unwrap(records[0].forward) if records else getattr(found, "__func__", found)
    code = getattr(defined, "__code__", None)
    path = Path(code.co_filename) if code is not None else Path()
    own = Path(operations.__file__).parent
    return path.relative_to(own).with_suffix("").parts[0] if path.is_relative_to(own) else None


def test_operations_are_defined_in_the_family_of_their_samples() -> None:
    """Each sample family is named after the file or package of `operations` that defines its operations."""
    own = Path(operations.__file__).parent
    assert {name for name in families() if not ((own / f"{name}.py").exists() or (own / name / "__init__.py").exists())} == set()
    found = {sample.name: (family, family_of(sample.name)) for family, table in families().items() for sample in table}
    wrong = {name: places for name, places in found.items() if places[1] not in (None, places[0])}
    assert wrong.keys() == ELSEWHERE.keys(), wrong
    defined = [family for _, family in found.values() if family is not None]
    assert len(defined) > len(found) / 2


# --- documentation --------------------------------------------------------------------------------------------------

GUIDE = Path(__file__).parents[2] / "docs" / "operations.md"


def test_the_table_of_what_is_covered_is_true() -> None:
    """The table in the guide matches the output of `python -m flambeau.conformance.coverage`."""
    assert (
        GUIDE.read_text(encoding="utf-8").partition("<!-- python -m flambeau.conformance.coverage -->\n")[2] == coverage.table()
    )


def test_the_guide_shows_code_as_it_is() -> None:
    """Python blocks in the guide, except examples and templates, are copies of source lines of `operations`."""
    source = "\n".join(path.read_text(encoding="utf-8") for path in Path(operations.__file__).parent.rglob("*.py"))
    guide = GUIDE.read_text(encoding="utf-8").partition("## Adding one")[0]
    blocks = [block for block in re.findall(r"```python\n(.*?)```", guide, re.S) if ">>>" not in block]
    assert len(blocks) > 2
    for block in blocks:
        missing = [line for line in block.splitlines() if line.strip() and line not in source]
        assert not missing


# --- batches --------------------------------------------------------------------------------------------------------

CHECKER = Checker()
DIFFERENT_SHAPES = {  # the shape of the result depends on values, so vmap does not support these
    "argwhere", "masked_select", "nonzero", "unique", "unique_consecutive", "Tensor.__getitem__", "Tensor.__setitem__",
}  # fmt: skip
# operations that vmap computes in a loop, such as helpers of embedding_bag(mode="max") and repeat_interleave
LOOPS = {"_max_of_bags", "_repeat_positions", "histc", "histogram", "histogramdd"}


def test_which_operations_are_called_for_each_member_of_a_batch() -> None:
    assert set(LOOPED) == LOOPS


def steps(sample: Sample, size: int) -> Counter[str]:
    """Count the calls of library functions during vmap over a batch of `size`."""
    call, examples = CHECKER.examples(sample, size)
    batch = [torch.stack(tensors) for tensors in zip(*examples, strict=True)]
    counted: Counter[str] = Counter()

    def count(frame: Any, event: str, argument: Any) -> None:
        # `forget` is not counted: weak references call it at any time
        if event == "call" and "flambeau" in frame.f_code.co_filename and frame.f_code.co_name != "forget":
            counted[f"{frame.f_code.co_filename}:{frame.f_code.co_name}"] += 1

    torch.vmap(call)(*batch)  # fill the caches, so that the counted call does not
    gc.disable()  # the garbage collector could call functions of objects that other tests have left
    sys.setprofile(count)
    try:
        torch.vmap(call)(*batch)
    finally:
        sys.setprofile(None)
        gc.enable()
    return counted


def uses_loop(sample: Sample) -> bool:
    name = sample.name
    return (
        name in LOOPS
        or name.endswith("embedding_bag")
        or (name == "repeat_interleave" and any(input.dtype == "int64" for input in sample.inputs))
    )


@pytest.mark.parametrize("family", families())
def test_batches_take_as_many_steps_whatever_their_size(family: str) -> None:
    wrong = []
    for number, sample in enumerate(families()[family]):
        if CHECKS["vmap"](sample) and not uses_loop(sample) and CHECKER.dtypes(sample):
            few, many = steps(sample, 2), steps(sample, 5)
            if few != many:
                wrong.append(f"{family}-{number} {sample.name}: {(many - few).most_common(3)}")
    assert not wrong


def test_samples_without_batches_are_those_that_are_listed() -> None:
    refused = {sample.name for sample in SAMPLES if not sample.vmap and sample.inputs}
    one_value = {
        name
        for name in refused
        if name.startswith(("is_", "Tensor.is_", "numel", "Tensor.dim", "Tensor.nelement", "Tensor.ndim"))
    }
    memory = {"Tensor.resize_", "Tensor.resize_as_", "embedding_renorm_"}  # these resize storages, or write to an embedding table
    random = {"svd_lowrank", "pca_lowrank"}  # these start from random matrices, so vmap requires `randomness`
    assert refused - one_value == DIFFERENT_SHAPES | memory | random | {"ctc_loss"}

"""The test suites of other libraries: their sources, the selected tests and their options.

The tests match the installed version of a library. They are taken from its sdist on PyPI, or from a tag of its repository if
the sdist has no tests. Sources are cached in `ECOSYSTEM_SOURCES/NAME-VERSION`, and an existing folder (such as a checkout) is
used as it is.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Suite:
    """The test suite of a library.

    Args:
        tests: the pytest arguments, relative to `folder`: files, folders or test names.
        repository: the repository with the tests, if the sdist has none. `{version}` in `tag` is replaced.
        folder: the working directory of pytest, relative to the sources.
        left_out: files and test names (`file::name`) that are not run, each with the reason.
        options: further pytest options, such as `-k`.
        copied: run in a copy of the folder without these names, so that the installed library is tested instead of the sources.
        added: files to write into that copy: their text, or a path to copy.
        installed: the tests are part of the installed package; they are named by `--pyargs` and run in an empty folder.
        environment: environment variables to set.
        known: known failures and their reasons, printed in the table.
    """

    tests: tuple[str, ...] = ("tests",)
    repository: str = ""
    tag: str = "v{version}"
    folder: str = "."
    left_out: dict[str, str] = field(default_factory=dict)
    options: tuple[str, ...] = ()
    copied: tuple[str, ...] = ()
    added: dict[str, str | Path] = field(default_factory=dict)
    installed: bool = False
    environment: dict[str, str] = field(default_factory=dict)
    known: str = ""


# A conftest for suites with hypothesis: few, reproducible examples and no deadline.
FEW_EXAMPLES = """
from hypothesis import settings
settings.register_profile("few", max_examples=4, deadline=None, derandomize=True)
settings.load_profile("few")
"""

SUITES = {
    "accelerate": Suite(
        tests=tuple(
            f"tests/test_{name}.py"
            for name in (
                "accelerator",
                "big_modeling",
                "compile",
                "data_loader",
                "dataclasses",
                "grad_sync",
                "hooks",
                "kwargs_handlers",
                "logging",
                "memory_utils",
                "metrics",
                "modeling_utils",
                "offload",
                "optimizer",
                "scheduler",
                "state_checkpointing",
                "tracking",
                "utils",
            )
        ),
        repository="https://github.com/huggingface/accelerate",
        copied=("src",),
        environment={"HF_HUB_OFFLINE": "1"},
    ),
    "botorch": Suite(
        tests=(
            "test/acquisition",
            "test/generation",
            "test/optim",
            "test/posteriors",
            "test/sampling",
            "test/utils",
            "test/test_fit.py",
        ),
        repository="https://github.com/pytorch/botorch",
        tag="main",
        left_out={
            "test/sampling/test_get_sampler.py::TestGetSampler::test_get_sampler": "a covariance matrix of 22,000 rows",
        },
        copied=("botorch", "botorch_community"),
        known="`qKnowledgeGradient.evaluate`, which calls `view` on a result whose memory order differs with NumPy",
    ),
    "captum": Suite(
        tests=tuple(f"tests/{part}" for part in ("attr", "concept", "metrics", "module", "robust", "utils")),
        repository="https://github.com/pytorch/captum",
        tag="master",
        left_out={
            "tests/attr/test_llm_attr.py": "needs openai's and Hugging Face's libraries",
        },
        copied=("captum",),
    ),
    "diffusers": Suite(
        tests=(
            "tests/schedulers",
            "tests/others",
            "tests/models/test_activations.py",
            "tests/models/test_layers_utils.py",
        ),
        repository="https://github.com/huggingface/diffusers",
        left_out={"tests/others/test_check_copies.py": "reads the sources"},
        copied=("src",),
        environment={"HF_HUB_OFFLINE": "1"},
    ),
    "e3nn": Suite(
        tests=(
            *(f"tests/nn/{part}_test.py" for part in ("activation", "batchnorm", "dropout", "extract", "fc", "gate", "normact")),
            *(f"tests/o3/{part}_test.py" for part in ("irreps", "linear", "rotation", "wigner")),
            "tests/util",
        ),
        copied=("e3nn",),
        known="`torch.jit.script` accepts code that TorchScript rejects",
    ),
    "einops": Suite(tests=("einops/tests",), environment={"EINOPS_TEST_BACKENDS": "numpy,torch"}),
    "gpytorch": Suite(
        tests=("test",),
        left_out={
            "test/examples": "a quarter of an hour of training",
        },
        copied=("gpytorch",),
        known="ONNX export of a model that reads the value of a buffer (one test)",
    ),
    "hummingbird_ml": Suite(
        tests=tuple(
            f"tests/test_sklearn_{part}.py"
            for part in (
                "clustering",
                "decision_tree_converter",
                "decomposition",
                "feature_union",
                "gbdt_converter",
                "imputer_converter",
                "kneighbors",
                "linear_converter",
                "mlp_converter",
                "nb_converter",
                "normalizer_converter",
                "pipeline",
                "scaler_converter",
                "sv_converter",
            )
        ),
        repository="https://github.com/microsoft/hummingbird",
        copied=("hummingbird",),
    ),
    "keras": Suite(
        tests=("keras/src/layers/activations", "keras/src/layers/attention"),
        repository="https://github.com/keras-team/keras",
        options=("-o", "python_files=*_test.py", "-o", "addopts="),
        environment={"KERAS_BACKEND": "torch"},
    ),
    "kornia": Suite(tests=("tests/color", "tests/losses"), repository="https://github.com/kornia/kornia", copied=("kornia",)),
    "lightning": Suite(
        tests=("tests_fabric",),
        repository="https://github.com/Lightning-AI/pytorch-lightning",
        tag="{version}",
        folder="tests",
        left_out={
            "tests_fabric/graveyard": "for TPUs",
            "tests_fabric/accelerators/test_xla.py": "for TPUs",
            "tests_fabric/strategies/test_deepspeed.py": "needs deepspeed",
            "tests_fabric/strategies/test_fsdp_integration.py": "for several GPUs",
            "tests_fabric/strategies/test_model_parallel_integration.py": "for several GPUs",
            "tests_fabric/strategies/launchers/test_multiprocessing_integration.py": "minutes of processes",
            "tests_fabric/strategies/test_ddp_integration.py": "minutes of processes",
            "tests_fabric/plugins/precision/test_amp_integration.py": "minutes of processes",
            "tests_fabric/plugins/precision/test_bitsandbytes.py": "for GPUs",
            "tests_fabric/utilities/test_distributed.py::test_collective_operations": "minutes of processes",
            "tests_fabric/plugins/collectives/test_torch_collective.py::test_two_groups": "minutes of processes",
            "tests_fabric/plugins/collectives/test_torch_collective.py::test_default_process_group": "minutes of processes",
            "tests_fabric/plugins/collectives/test_torch_collective.py::test_collectives_distributed": "minutes of processes",
        },
        options=("-m", "not cloud", "-k", "not spawn and not fork and not compile"),
        known="`utils.rename_privateuse1_backend`",
        copied=("tests_pytorch",),
    ),
    "linear_operator": Suite(tests=("test",), copied=("linear_operator",)),
    "opt_einsum": Suite(tests=("opt_einsum/tests",), options=("-p", "no:benchmark")),
    "optimum_quanto": Suite(
        tests=("test/library", "test/nn", "test/quantize", "test/tensor"),
        options=("-k", "not compile"),
    ),
    "mmengine": Suite(
        tests=tuple(
            f"tests/{part}"
            for part in (
                "test_data",
                "test_evaluator",
                "test_optim/test_scheduler/test_lr_scheduler.py",
                "test_structures",
            )
        ),
        repository="https://github.com/open-mmlab/mmengine",
        copied=("mmengine",),
        known="counts of operators in traces (the tests `test_analysis`: 40 of 42)",
    ),
    "monai": Suite(
        tests=("tests/losses", "tests/networks/blocks", "tests/networks/layers", "tests/networks/nets"),
        repository="https://github.com/Project-MONAI/MONAI",
        tag="{version}",
        options=("-k", "not cuda and not test_script_save and (losses or blocks or layers or test_script)"),
        copied=("monai",),
        known="saving scripts with einops' layers, or with an unsupported mode of `interpolate`",
    ),
    "opacus": Suite(
        tests=("opacus/tests",),
        left_out={
            **{
                f"opacus/tests/multigpu_{name}_test.py": "for several GPUs"
                for name in ("adaptive_clipping", "gradcheck", "precision")
            },
            "opacus/tests/multidevice_optimizer_test.py": "for several GPUs",
            "opacus/tests/distributed_poisson_test.py": "minutes of processes",
            "opacus/tests/accountants_test.py": "minutes of numerical integration, which is NumPy's",
            "opacus/tests/accounting_noise_multiplier_test.py": "the same",
            "opacus/tests/batch_memory_manager_test.py": "minutes of training",
            "opacus/tests/gradient_accumulation_test.py": "minutes of training",
            "opacus/tests/privacy_engine_test.py": "minutes of training",
            "opacus/tests/privacy_engine_validation_test.py": "minutes of training",
            "opacus/tests/dp_layers/dp_rnn_test.py": "minutes of recurrent layers",
            "opacus/tests/grad_samples/dp_rnn_test.py": "the same",
        },
        options=("-o", "python_files=*_test.py"),
        copied=("benchmarks",),
        added={"conftest.py": FEW_EXAMPLES},
    ),
    "safetensors": Suite(
        tests=("tests/test_pt_comparison.py", "tests/test_pt_model.py", "tests/test_simple.py"),
        repository="https://github.com/huggingface/safetensors",
        folder="bindings/python",
        copied=("py_src",),
    ),
    "skorch": Suite(
        tests=(
            *(
                f"skorch/tests/test_{part}.py"
                for part in ("classifier", "dataset", "history", "regressor", "scoring", "setter", "toy", "utils")
            ),
            *(f"skorch/tests/callbacks/test_{part}.py" for part in ("lr_scheduler", "regularization", "scoring", "training")),
        ),
        left_out={"skorch/tests/test_history.py::TestDistributedHistoryMultiprocessing": "minutes of processes"},
        options=("-o", "addopts="),
    ),
    "pyro_ppl": Suite(
        tests=(
            "tests/nn",
            "tests/optim",
            "tests/params",
            "tests/poutine",
            *(f"tests/test_{part}.py" for part in ("generic", "primitives", "settings", "util")),
            *(
                f"tests/ops/test_{part}.py"
                for part in ("arrowhead", "indexing", "integrator", "linalg", "newton", "provenance", "special", "stats")
            ),
            *(f"tests/ops/test_{part}.py" for part in ("streaming", "tensor_utils", "welford")),
            *(
                f"tests/distributions/test_{part}.py"
                for part in ("haar", "kl", "lkj", "omt_mvn", "pickle", "rejector", "spanning_tree", "zero_inflated")
            ),
            *(f"tests/infer/test_{part}.py" for part in ("abstract_infer", "initialization", "inspect", "util")),
            *(f"tests/infer/mcmc/test_{part}.py" for part in ("mcmc_util", "valid_models")),
        ),
        repository="https://github.com/pyro-ppl/pyro",
        tag="{version}",
        copied=("pyro",),
    ),
    "ptflops": Suite(
        tests=("tests/common_test.py",),
        repository="https://github.com/sovrasov/flops-counter.pytorch",
        copied=("ptflops",),
    ),
    "pypose": Suite(
        repository="https://github.com/pypose/pypose",
        copied=("pypose",),
        known="a test that expects `jacfwd` to lose the Lie type",
    ),
    "pytorch_metric_learning": Suite(
        tests=("tests/losses", "tests/miners", "tests/distances", "tests/reducers", "tests/regularizers"),
        repository="https://github.com/KevinMusgrave/pytorch-metric-learning",
        left_out={"tests/losses/test_cross_batch_memory.py": "minutes of training"},
        copied=("src",),
        environment={"TEST_DEVICE": "cpu", "TEST_DTYPES": "float32,float64"},
    ),
    "scipy": Suite(
        tests=("--pyargs", *(f"scipy.{part}" for part in ("_lib", "cluster", "differentiate", "fft", "special"))),
        options=("-k", "torch"),
        installed=True,
        environment={"SCIPY_ARRAY_API": '["torch"]'},
    ),
    "segmentation_models_pytorch": Suite(
        tests=("tests/test_losses.py", "tests/test_preprocessing.py", "tests/test_base.py", "tests/base"),
        repository="https://github.com/qubvel-org/segmentation_models.pytorch",
        copied=("segmentation_models_pytorch",),
        environment={"HF_HUB_OFFLINE": "1"},
    ),
    "stable_baselines3": Suite(copied=("stable_baselines3",)),
    "transformers": Suite(
        tests=("tests/test_tiny_models.py",),
        copied=("src", "docs"),
        added={
            "tests/__init__.py": "",
            "tests/test_tiny_models.py": HERE / "transformers_tiny_models.py",
            "tests/generation/test_utils.py": "class GenerationTesterMixin: pass\n",  # stands in for a class that the sdist lacks
            "tests/exporters/test_export.py": "class ExportTesterMixin: pass\n",
        },
        environment={"HF_HUB_OFFLINE": "1"},
    ),
    "tensordict": Suite(
        tests=(
            "memmap",
            "nn",
            "tensorclass",
            *(f"tensordict/test_{part}.py" for part in ("errors", "generic", "lazy", "misc", "nontensor")),
        ),
        repository="https://github.com/pytorch/tensordict",
        tag="v0.14.0",
        folder="test",
        options=("-k", "not compile"),
        known="memory-mapped nested tensors; `torch.unbind(td, 0)`, whose `dim` is not passed on",
    ),
    "timm": Suite(
        left_out={
            "tests/test_models.py": "thousands of models",
            "tests/optim/test_optim.py": "many minutes: each optimizer, compiled and not",
            "tests/test_sweep.py": "a script that the sdist lacks",
            "tests/test_sweep_fuzz.py": "a script that the sdist lacks",
            "tests/test_train_resume.py": "a script that the sdist lacks",
        },
        copied=("timm",),
    ),
    "torch_geometric": Suite(
        tests=("test/test_edge_index.py", "test/test_index.py", "test/nn/aggr", "test/nn/dense", "test/nn/norm", "test/utils"),
        repository="https://github.com/pyg-team/pytorch_geometric",
        tag="{version}",
        copied=("torch_geometric",),
        known="`torch.jit.script` accepts code that TorchScript rejects; `is_shared()` is false for tensors of workers",
    ),
    "torchao": Suite(
        tests=(
            *(f"test/{part}" for part in ("core", "dtypes", "quantization", "test_low_bit_optim.py", "test_utils.py")),
            *(f"test/{part}" for part in ("integration/test_integration.py", "prototype/test_quantized_training.py")),
        ),
        repository="https://github.com/pytorch/ao",
        left_out={"test/quantization/pt2e": "quantization of exported graphs"},
        copied=("torchao", "third_party"),
        known="`torchao.quantization.pt2e`, which a file with six tests imports; the source code of compiled functions; "
        "`torch.quantize_per_channel`",
    ),
    "torchdata": Suite(
        tests=(
            *(f"test/nodes/test_{part}.py" for part in ("adapters", "batch", "loader")),
            *(f"test/stateful_dataloader/test_{part}.py" for part in ("incremental_state", "sampler")),
        ),
        repository="https://github.com/pytorch/data",
        copied=("torchdata",),
    ),
    "torchinfo": Suite(
        repository="https://github.com/TylerYep/torchinfo",
        left_out={"tests/torchinfo_xl_test.py": "needs models that are downloaded"},
        options=("--no-output",),
        copied=("torchinfo",),
    ),
    "torchmetrics": Suite(
        tests=(
            *(f"unittests/{part}" for part in ("bases", "clustering", "nominal", "pairwise", "regression", "shape", "wrappers")),
            "unittests/classification/test_ranking.py",
        ),
        repository="https://github.com/Lightning-AI/torchmetrics",
        folder="tests",
        left_out={"unittests/bases/test_ddp.py": "processes", "unittests/regression/test_kendall.py": "minutes of SciPy"},
        options=("-k", "not ddp and not plot"),
        copied=("integrations",),
    ),
    "vit_pytorch": Suite(copied=("vit_pytorch",)),
    "zuko": Suite(
        tests=tuple(f"tests/test_{part}.py" for part in ("bayesian", "nn", "transforms", "utils")),
        repository="https://github.com/probabilists/zuko",
        tag="{version}",
        copied=("zuko",),
    ),
    "xarray": Suite(
        tests=(
            "--pyargs",
            "xarray.tests.test_array_api",
            "xarray.tests.test_duck_array_ops",
            "xarray.tests.test_duck_array_wrapping",
        ),
        installed=True,
    ),
}


@dataclass(frozen=True)
class Outcome:
    """The outcome of one test."""

    passed: bool
    skipped: bool
    reason: str


Results = dict[str, Outcome]


def variables(on_flambeau: bool, more: dict[str, str] | None = None) -> dict[str, str]:
    """Return the environment variables of a program that runs on flambeau or PyTorch, as do its child processes. A single
    thread is used, because only results are compared.
    """
    fixed = {"FLAMBEAU_AS_TORCH": str(int(on_flambeau)), "TOKENIZERS_PARALLELISM": "false", "OMP_NUM_THREADS": "1"}
    return {**os.environ, **fixed, **(more or {})}


def run_suite(suite: Suite, library: str, version: str, python: str, *, on_flambeau: bool) -> Results:
    """Run a library's own tests with the given interpreter; return the outcome of each test."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) if suite.installed else sources(suite, library, version) / suite.folder
        if suite.copied:
            folder = Path(shutil.copytree(folder, Path(scratch) / "copy", ignore=shutil.ignore_patterns(*suite.copied)))
        for name, text in suite.added.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text.read_text(encoding="utf-8") if isinstance(text, Path) else text, encoding="utf-8")
        record = Path(scratch) / "outcomes"
        environment = variables(on_flambeau, {**suite.environment, "ECOSYSTEM_OUTCOMES": str(record)})
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, (str(HERE), environment.get("PYTHONPATH"))))
        command = [python, *(["-m", "flambeau"] if on_flambeau else []), "-m", "pytest", "-p", "record_outcomes", "-q"]
        command += ["-p", "no:cacheprovider", "--continue-on-collection-errors", "--timeout=300", "-W", "ignore", *suite.options]
        command += [f"--deselect={test}" if "::" in test else f"--ignore={test}" for test in suite.left_out]
        done = subprocess.run([*command, *suite.tests], cwd=folder, env=environment, check=False, capture_output=True, text=True)
        if not record.exists():
            print(done.stdout[-3000:], done.stderr[-3000:], file=sys.stderr)
            return {}
        lines = record.read_text(encoding="utf-8").splitlines()
    results: Results = {}
    for test, outcome in map(json.loads, lines):
        if test not in results or results[test].passed:  # a test with subtests has passed if all of them have passed
            results[test] = Outcome(**outcome)
    return results


def sources(suite: Suite, library: str, version: str) -> Path:
    """Return the folder with a library's sources. Missing sources are downloaded from PyPI or from its repository."""
    kept = Path(os.environ.get("ECOSYSTEM_SOURCES") or Path(tempfile.gettempdir()) / "flambeau-ecosystem-sources")
    folder = kept / f"{library}-{version}"
    if folder.exists():
        return folder
    kept.mkdir(parents=True, exist_ok=True)
    if suite.repository:
        tag = suite.tag.format(version=version)
        subprocess.run(["git", "clone", "--quiet", "--depth=1", f"--branch={tag}", suite.repository, str(folder)], check=True)
        return folder
    with tempfile.TemporaryDirectory(dir=kept) as scratch:
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", f"--no-binary={library}", f"--dest={scratch}"]
        subprocess.run([*pip, f"{library}=={version}"], check=True)
        archive = next(Path(scratch).glob("*.tar.gz"))
        with tarfile.open(archive) as packed:
            packed.extractall(Path(scratch) / "unpacked", filter="data")
        next((Path(scratch) / "unpacked").iterdir()).rename(folder)
    return folder

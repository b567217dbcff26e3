"""The programs in documents/ run block by block and print the results in their comments."""

from __future__ import annotations

import pickle
import re
import sys
import tarfile
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from documents.corrections import GIVEN, MISSPELLED
from run_program import run_program

import flambeau

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent

NAMES = sorted(path.stem for path in (HERE / "documents").glob("*.md"))
NEEDS_CUDA = ("torch.cuda.FloatTensor(1)", "net.cuda(index)")


def blocks(name: str) -> list[str]:
    """Return the programs of a document, with misspellings corrected and omitted code inserted."""
    text = (HERE / "documents" / f"{name}.md").read_text(encoding="utf-8").expandtabs(4)
    for document, written, meant, _ in MISSPELLED:
        if document == name:
            assert written in text, f"no longer in the document: {written!r}"
            text = text.replace(written, meant)
    for document, before, supplied in GIVEN:
        if document == name:
            assert before in text, f"no longer in the document: {before!r}"
            text = text.replace(before, f"{supplied}\n{before}", 1)
    return re.findall(r"```\S+\n(.*?)```", text, re.DOTALL)


def run(name: str, folder: Path, prelude: str = "") -> str:
    """Run a document's blocks as one program with `python -m flambeau`; return its output."""
    parts = [each for each in blocks(name) if flambeau.cuda.is_available() or not any(cuda in each for cuda in NEEDS_CUDA)]
    program = folder / f"{name}.py"
    marked = [f"print('--- block {index}')\n{part}" for index, part in enumerate(parts)]
    program.write_text(prelude + "\n".join(marked), encoding="utf-8")
    return run_program(program, folder=folder)


def test_every_document_is_here() -> None:
    assert NAMES == ["notes", "reference", "sixty_minutes", "summary", "two_layer_net"]


def test_notes(tmp_path: Path) -> None:
    printed = run("notes", tmp_path)
    assert "torch.Size([5, 7])" in printed
    assert "3.5000" in printed and "7.5000" in printed
    assert "tensor([[4.5000, 4.5000],\n        [4.5000, 4.5000]])" in printed
    assert "(conv1): Conv2d(1, 10, kernel_size=(5, 5), stride=(1, 1))" in printed
    assert "Inside Conv2d forward" in printed and "Inside class:Conv2d" in printed
    assert "input size: torch.Size([1, 10, 12, 12])" in printed
    assert "grad_input size: torch.Size([1, 10, 12, 12])" in printed


def test_sixty_minutes(tmp_path: Path) -> None:
    printed = run("sixty_minutes", tmp_path)
    assert "torch.Size([4, 4]) torch.Size([16]) torch.Size([2, 8])" in printed
    assert "grad_fn=<MulBackward0>) tensor(27., grad_fn=<MeanBackward0>)" in printed
    assert "(fc3): Linear(in_features=84, out_features=10, bias=True)" in printed
    assert "grad_fn=<MseLossBackward0>" in printed


def test_two_layer_net(tmp_path: Path) -> None:
    printed = run("two_layer_net", tmp_path)
    for block in printed.split("--- block")[1:]:
        steps = re.findall(r"^(\d+) (?:tensor\()?([-+.e\d]+)", block, re.MULTILINE)
        assert [int(step) for step, _ in steps] == list(range(500))
        assert float(steps[-1][1]) < 1e-3 * float(steps[0][1])


def test_summary(tmp_path: Path) -> None:
    # its loaders' workers are not started under `if __name__ == "__main__"`, which Python 3.14 requires by default
    fork = "import multiprocessing\nmultiprocessing.set_start_method('fork')\n" if sys.platform == "linux" else ""
    printed = run("summary", tmp_path, fork + _local_cifar10(tmp_path))
    assert re.search(r"<AddBackward0 object at 0x[0-9a-f]+>", printed)
    assert "tensor([[4.5000, 4.5000],\n        [4.5000, 4.5000]])" in printed
    losses = [float(loss) for _, loss in re.findall(r"^(\d+) ([-+.e\d]+)$", printed, re.MULTILINE)]
    assert len(losses) == 500 and losses[-1] < 1e-3 * losses[0]


def test_reference(tmp_path: Path) -> None:
    assert "True" in run("reference", tmp_path, _local_resnet18(tmp_path))


# --- what the documents download ----------------------------------------------------------------------------------


def _local_cifar10(folder: Path) -> str:
    """Write a small CIFAR-10 archive; return code that makes the dataset class accept its checksum."""
    import hashlib

    rng = np.random.default_rng(0)
    (folder / "data").mkdir()
    archive, sums = folder / "data" / "cifar-10-python.tar.gz", {}
    with tarfile.open(archive, "w:gz") as tar:

        def put(name: str, content: object) -> None:
            data = pickle.dumps(content, protocol=2)
            sums[name] = hashlib.md5(data).hexdigest()
            info = tarfile.TarInfo(f"cifar-10-batches-py/{name}")
            info.size = len(data)
            tar.addfile(info, BytesIO(data))

        for name in (*(f"data_batch_{i}" for i in range(1, 6)), "test_batch"):
            pixels = rng.integers(0, 256, (20, 3072), dtype=np.uint8)
            put(name, {"data": pixels, "labels": rng.integers(0, 10, 20).tolist()})
        put("batches.meta", {"label_names": [f"class{i}" for i in range(10)]})
    tgz = hashlib.md5(archive.read_bytes()).hexdigest()
    return (
        "import torchvision.datasets as _d\n"
        f"_d.CIFAR10.tgz_md5 = {tgz!r}\n_sums = {sums!r}\n"
        "_d.CIFAR10.train_list = [[name, _sums[name]] for name, _ in _d.CIFAR10.train_list]\n"
        "_d.CIFAR10.test_list = [[name, _sums[name]] for name, _ in _d.CIFAR10.test_list]\n"
        "_d.CIFAR10.meta = {**_d.CIFAR10.meta, 'md5': _sums['batches.meta']}\n"
    )


def _local_resnet18(folder: Path) -> str:
    """Return code that writes ResNet-18 weights to the download cache."""
    return (
        "import os, torch as _t, torchvision.models as _m\n"
        f"os.environ['TORCH_HOME'] = {str(folder / 'home')!r}\n"
        "_folder = os.path.join(_t.hub.get_dir(), 'checkpoints')\n"
        "os.makedirs(_folder)\n"
        "_url = _m.ResNet18_Weights.DEFAULT.url\n"
        "_t.save(_m.resnet18().state_dict(), os.path.join(_folder, os.path.basename(_url)))\n"
    )


@pytest.mark.parametrize("entry", MISSPELLED, ids=lambda entry: entry[1][:30])
def test_corrections_are_needed(entry: tuple[str, str, str, str]) -> None:
    """Each correction still matches text of its document."""
    assert entry[1] != entry[2] and entry[3]

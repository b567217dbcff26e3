"""Checkpoints as safetensors files, as in Hugging Face transformers: `model.safetensors`, or several files with an index."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import flambeau as torch
from flambeau.futures import Future

from .filesystem import FileSystemReader, FileSystemWriter, _StorageInfo
from .metadata import ChunkStorageMetadata, Metadata, MetadataIndex, TensorProperties, TensorStorageMetadata
from .planner import LoadPlan, LoadPlanner, SavePlan, SavePlanner, WriteItemType
from .storage import WriteResult

__all__ = ["HuggingFaceStorageReader", "HuggingFaceStorageWriter", "QuantizedHuggingFaceStorageReader"]

INDEX = "model.safetensors.index.json"


class HuggingFaceStorageWriter(FileSystemWriter):
    """Write tensors to safetensors files, one or several per process, with an index.

    Args:
        path: the folder.
        fqn_to_index_mapping: file number of each tensor, from 1; default: one file.
        thread_count, save_distributed, enable_consolidation, consolidated_output_path, staging_dir: accepted for compatibility.

    Raises:
        CheckpointException: while saving, an entry is not a tensor, or a tensor is sharded.
    """

    def __init__(
        self, path: Any, fqn_to_index_mapping: dict[str, int] | None = None, thread_count: int = 1, **options: Any
    ) -> None:
        super().__init__(path)
        self.files = fqn_to_index_mapping or {}

    def write_data(self, plan: SavePlan, planner: SavePlanner) -> Future[list[WriteResult]]:
        """Write the tensors of a plan."""
        by_file: dict[int, dict[str, Any]] = {}
        for item in plan.items:
            if item.type is WriteItemType.BYTE_IO or item.tensor_data is None:
                raise ValueError(f"safetensors files contain tensors only, but {item.index.fqn} is not a tensor")
            if item.tensor_data.chunk.sizes != item.tensor_data.size:
                raise ValueError(f"{item.index.fqn} is sharded: pass full tensors, see StateDictOptions(full_state_dict=True)")
            tensor: Any = planner.resolve_data(item)
            by_file.setdefault(self.files.get(item.index.fqn, 1), {})[item.index.fqn] = tensor.cpu().contiguous()
        results, count = [], max(self.files.values(), default=1)
        for number, tensors in by_file.items():
            rank = plan.storage_data.prefix
            name = f"model-{number:05}-of-{count:05}{rank if rank != '__0_' else ''}.safetensors"
            _save_file(tensors, Path(self.path) / name)
            for fqn, tensor in tensors.items():
                size = tensor.numel() * tensor.itemsize
                results.append(WriteResult(MetadataIndex(fqn, [0] * tensor.ndim), size, _StorageInfo(name, 0, size)))
        future: Future[list[WriteResult]] = Future()
        future.set_result(results)
        return future

    def finish(self, metadata: Metadata, results: list[list[WriteResult]]) -> None:
        """Write the index file."""
        places = {one.index.fqn: one.storage_data.relative_path for several in results for one in several}
        total = sum(one.size_in_bytes for several in results for one in several)
        index = {"metadata": {"total_size": total}, "weight_map": dict(sorted(places.items()))}
        temporary = self.fs.concat_path(self.path, f"{INDEX}.tmp")
        with self.fs.create_stream(temporary, "w") as file:
            json.dump(index, file, indent=2)
        self.fs.rename(temporary, self.fs.concat_path(self.path, INDEX))


def _save_file(tensors: dict[str, Any], path: Path) -> None:
    from safetensors.numpy import save

    path.write_bytes(save({name: tensor.detach().numpy() for name, tensor in tensors.items()}, metadata={"format": "pt"}))


class HuggingFaceStorageReader(FileSystemReader):
    """Read the tensors of all safetensors files in a folder.

    Args:
        path: the folder.
        thread_count: accepted for compatibility.
    """

    def __init__(self, path: Any, thread_count: int = 1) -> None:
        super().__init__(path)

    def read_metadata(self, *args: Any, **kwargs: Any) -> Metadata:
        """Read the headers of all files. Raise FileNotFoundError if the folder has no safetensors file."""
        entries: dict[str, Any] = {}
        places: dict[Any, Any] = {}
        files = sorted(Path(self.path).glob("*.safetensors"))
        if not files:
            raise FileNotFoundError(f"There are no safetensors files in {self.path}")
        for file in files:
            for name, (shape, dtype) in _header(file).items():
                origin, size = torch.Size([0] * len(shape)), torch.Size(shape)
                entries[name] = TensorStorageMetadata(TensorProperties(dtype), size, [ChunkStorageMetadata(origin, size)])
                places[MetadataIndex(name, origin)] = _StorageInfo(file.name, 0, 0)
        return Metadata(entries, storage_data=places)

    def read_data(self, plan: LoadPlan, planner: LoadPlanner) -> Future[None]:
        """Read the items of a plan, file by file."""
        by_file: dict[str, list[Any]] = {}
        for item in plan.items:
            by_file.setdefault(self.storage_data[item.storage_index].relative_path, []).append(item)
        for name, items in by_file.items():
            tensors = torch.load(Path(self.path) / name)
            for item in items:
                tensor = self.prepared(tensors, item.storage_index.fqn)
                for dim, (start, length) in enumerate(zip(item.storage_offsets, item.lengths, strict=True)):
                    tensor = tensor.narrow(dim, start, length)
                target = planner.resolve_tensor(item)
                with torch.no_grad():
                    target.copy_(tensor)
                planner.commit_tensor(item, target)
        future: Future[None] = Future()
        future.set_result(None)
        return future

    def prepared(self, tensors: dict[str, Any], name: str) -> Any:
        """Return a tensor of a file."""
        return tensors[name]


class QuantizedHuggingFaceStorageReader(HuggingFaceStorageReader):
    """Read safetensors files of block-quantized tensors; the scales of tensor NAME are in `NAME_scale_inv`.

    Args:
        path: the folder.
        thread_count: accepted for compatibility.
        target_dtype: dtype of the dequantized tensors.
        block_size: number of rows and columns of a block.
    """

    def __init__(self, path: Any, thread_count: int = 1, target_dtype: Any = None, block_size: int = 128) -> None:
        super().__init__(path, thread_count)
        self.target_dtype, self.block_size = target_dtype or torch.float32, block_size

    def read_metadata(self, *args: Any, **kwargs: Any) -> Metadata:
        """Read the headers of all files, without the scales."""
        metadata = super().read_metadata()
        entries = {name: entry for name, entry in metadata.state_dict_metadata.items() if not name.endswith("_scale_inv")}
        return Metadata(entries, storage_data=metadata.storage_data)

    def prepared(self, tensors: dict[str, Any], name: str) -> Any:
        """Return a tensor of a file, dequantized: each block is multiplied by its scale."""
        tensor, scales = tensors[name], tensors.get(f"{name}_scale_inv")
        if scales is None:
            return tensor
        rows, columns = tensor.shape
        wide = scales.repeat_interleave(self.block_size, 0)[:rows].repeat_interleave(self.block_size, 1)[:, :columns]
        return tensor.to(self.target_dtype) * wide.to(self.target_dtype)


_DTYPES = {
    "F64": torch.float64, "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16, "I64": torch.int64,
    "I32": torch.int32, "I16": torch.int16, "I8": torch.int8, "U8": torch.uint8, "BOOL": torch.bool,
    "F8_E4M3": torch.float8_e4m3fn, "F8_E5M2": torch.float8_e5m2,
}  # fmt: skip


def _header(path: Path) -> dict[str, tuple[list[int], Any]]:
    """Read the shapes and dtypes in a safetensors file, which starts with the length of its header in 8 bytes."""
    with path.open("rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
    return {name: (one["shape"], _DTYPES[one["dtype"]]) for name, one in header.items() if name != "__metadata__"}

"""Default planners: each chunk is written by one process, and read by the processes that need it."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any

import flambeau as torch
from flambeau import Tensor

from ..tensor import DTensor, Partial
from ..tensor._dtensor_spec import local_shape_and_offset
from .metadata import (
    STATE_DICT_TYPE,
    BytesStorageMetadata,
    ChunkStorageMetadata,
    Metadata,
    MetadataIndex,
    StorageMeta,
    TensorProperties,
    TensorStorageMetadata,
)
from .nested import flatten_state_dict, set_element, unflatten_state_dict
from .planner import (
    BytesIOWriteData,
    LoadItemType,
    LoadPlan,
    LoadPlanner,
    ReadItem,
    SavePlan,
    SavePlanner,
    TensorWriteData,
    WriteItem,
    WriteItemType,
)

__all__ = ["DefaultLoadPlanner", "DefaultSavePlanner"]


def _chunk(tensor: Tensor) -> ChunkStorageMetadata:
    """Return the offsets and sizes of the chunk of a tensor that this process holds."""
    if not isinstance(tensor, DTensor):
        return ChunkStorageMetadata(torch.Size([0] * tensor.ndim), tensor.shape)
    if any(isinstance(placement, Partial) for placement in tensor.placements):
        raise ValueError("Any checkpointing related operations are not supported for DTensor with partial placements!")
    sizes, offsets = local_shape_and_offset(tensor.shape, tensor.device_mesh, tensor.placements)
    return ChunkStorageMetadata(torch.Size(offsets), torch.Size(sizes))


def _local(tensor: Any) -> Tensor:
    return tensor.to_local() if isinstance(tensor, DTensor) else tensor


# --- saving -----------------------------------------------------------------------------------------------------------


class DefaultSavePlanner(SavePlanner):
    """Each process writes its chunks. If several processes hold a chunk, the one with the least data writes it.

    Args:
        flatten_state_dict: whether dictionaries and lists inside the state are saved entry by entry.
        flatten_sharded_tensors: accepted for compatibility.
        dedup_replicated_tensors: accepted for compatibility.
        dedup_save_to_lowest_rank: whether the lowest rank that holds a chunk writes it.
        enable_plan_caching: accepted for compatibility.
    """

    def __init__(
        self,
        flatten_state_dict: bool = True,
        flatten_sharded_tensors: bool = True,
        dedup_replicated_tensors: bool | None = None,
        dedup_save_to_lowest_rank: bool = False,
        enable_plan_caching: bool = False,
    ) -> None:
        self.flatten_state_dict, self.dedup_save_to_lowest_rank = flatten_state_dict, dedup_save_to_lowest_rank
        self.state_dict: STATE_DICT_TYPE = {}
        self.mappings: dict[str, Any] = {}

    def set_up_planner(
        self, state_dict: STATE_DICT_TYPE, storage_meta: StorageMeta | None = None, is_coordinator: bool = False
    ) -> None:
        """Store the state to save."""
        if self.flatten_state_dict:
            state_dict, self.mappings = flatten_state_dict(state_dict)
        self.state_dict, self.is_coordinator = state_dict, is_coordinator

    def create_local_plan(self) -> SavePlan:
        """Plan to write all local chunks and all entries that are not tensors."""
        items = []
        for name, value in self.state_dict.items():
            if isinstance(value, Tensor):
                chunk = _chunk(value)
                data = TensorWriteData(chunk, TensorProperties.create_from_tensor(value), value.shape)
                kind = WriteItemType.SHARD if isinstance(value, DTensor) else WriteItemType.TENSOR
                if 0 not in chunk.sizes or 0 in value.shape:
                    items.append(WriteItem(MetadataIndex(name, chunk.offsets), kind, tensor_data=data))
            else:
                items.append(WriteItem(MetadataIndex(name), WriteItemType.BYTE_IO, BytesIOWriteData(0)))
        return SavePlan(items, planner_data=self.mappings or None)

    def create_global_plan(self, all_plans: list[SavePlan]) -> tuple[list[SavePlan], Metadata]:
        """Assign each chunk to one process, and build the metadata of the checkpoint."""
        plans = self._deduplicate(all_plans)
        entries: dict[str, Any] = {}
        kept = []
        for plan in plans:
            items = []
            for item in plan.items:
                data = item.tensor_data
                if data is None:
                    entries[item.index.fqn] = BytesStorageMetadata()
                    items.append(item)
                    continue
                entry = entries.setdefault(item.index.fqn, TensorStorageMetadata(data.properties, data.size, []))
                if entry.size != data.size:
                    raise ValueError(f"{item.index.fqn}: {list(entry.size)} in one process and {list(data.size)} in another")
                items.append(replace(item, index=MetadataIndex(item.index.fqn, item.index.offset, len(entry.chunks))))
                entry.chunks.append(data.chunk)
            kept.append(replace(plan, items=items))
        mappings = {name: path for plan in all_plans for name, path in (plan.planner_data or {}).items()}
        return kept, Metadata(entries, mappings or None)

    def _deduplicate(self, plans: list[SavePlan]) -> list[SavePlan]:
        """Remove duplicates from the plans of all processes, so that only one process writes each chunk."""
        holders: dict[MetadataIndex, list[int]] = {}
        sizes: dict[MetadataIndex, int] = {}
        for rank, plan in enumerate(plans):
            for item in plan.items:
                holders.setdefault(item.index, []).append(rank)
                sizes[item.index] = item.tensor_storage_size() or 1
        loads, chosen = [0] * len(plans), {}
        for index, ranks in sorted(holders.items(), key=lambda pair: len(pair[1])):
            lowest = self.dedup_save_to_lowest_rank or index.offset is None
            rank = ranks[0] if lowest else min(ranks, key=lambda one: loads[one])
            chosen[index] = rank
            loads[rank] += sizes[index]
        return [
            replace(plan, items=[item for item in plan.items if chosen[item.index] == rank]) for rank, plan in enumerate(plans)
        ]

    def finish_plan(self, new_plan: SavePlan) -> SavePlan:
        """Store this process's final plan."""
        self.plan = new_plan
        return new_plan

    def resolve_data(self, write_item: WriteItem) -> Tensor | io.BytesIO:
        """Return a tensor chunk, or another object serialized by `torch.save`."""
        value = self.transform_object(write_item, self.lookup_object(write_item.index))
        return value  # type: ignore[no-any-return]

    def lookup_object(self, index: MetadataIndex) -> Any:
        """Return the value that an entry of the state has in this process."""
        return self.state_dict[index.fqn]

    def transform_object(self, write_item: WriteItem, object: Any) -> Any:
        """Convert a value to the form that is written: the local tensor, or the bytes of `torch.save`."""
        if write_item.type is WriteItemType.BYTE_IO:
            file = io.BytesIO()
            torch.save(object, file)
            file.seek(0)
            return file
        return _local(object).detach()


# --- loading ----------------------------------------------------------------------------------------------------------


class DefaultLoadPlanner(LoadPlanner):
    """Each process reads the chunks that overlap its part of each tensor, into the memory of the tensor.

    Args:
        flatten_state_dict: whether dictionaries and lists inside the state are loaded entry by entry.
        flatten_sharded_tensors: accepted for compatibility.
        allow_partial_load: whether entries missing in the checkpoint stay unchanged.

    Raises:
        RuntimeError: in `create_local_plan`, an entry is missing in the checkpoint.
        ValueError: in `create_local_plan`, a tensor has a different shape in the checkpoint.
    """

    def __init__(
        self, flatten_state_dict: bool = True, flatten_sharded_tensors: bool = True, allow_partial_load: bool = False
    ) -> None:
        self.flatten_state_dict, self.allow_partial_load = flatten_state_dict, allow_partial_load
        self.original_state_dict: STATE_DICT_TYPE = {}
        self.mappings: dict[str, Any] = {}

    def set_up_planner(self, state_dict: STATE_DICT_TYPE, metadata: Metadata | None = None, is_coordinator: bool = False) -> None:
        """Store the state to fill."""
        self.original_state_dict, self.metadata = state_dict, metadata
        if self.flatten_state_dict:
            state_dict, self.mappings = flatten_state_dict(state_dict)
        self.state_dict, self.is_coordinator = state_dict, is_coordinator

    def create_local_plan(self) -> LoadPlan:
        """Plan to read all chunks that overlap this process's parts."""
        assert self.metadata is not None
        known, items = self.metadata.state_dict_metadata, []
        missing = [name for name in self.state_dict if name not in known]
        if missing and not self.allow_partial_load:
            raise RuntimeError(f"Missing key in checkpoint state_dict: {missing[0]}.")
        for name, value in self.state_dict.items():
            if name in missing:
                continue
            entry = known[name]
            if isinstance(entry, BytesStorageMetadata):
                place, nothing = MetadataIndex(name), torch.Size((0,))
                items.append(ReadItem(LoadItemType.BYTE_IO, place, nothing, place, nothing, nothing))
            elif isinstance(value, Tensor):
                if entry.size != value.shape:
                    raise ValueError(
                        f"Size mismatch between saved {entry.size} and current: {value.shape} for {name}",
                    )
                items += _overlaps(name, entry, _chunk(value))
            else:
                raise ValueError(f"{name} is a tensor in the checkpoint, but a {type(value).__name__} in the state to load")
        return LoadPlan(items)

    def create_global_plan(self, global_plan: list[LoadPlan]) -> list[LoadPlan]:
        """Return the plans unchanged."""
        return global_plan

    def finish_plan(self, central_plan: LoadPlan) -> LoadPlan:
        """Return the plan unchanged."""
        return central_plan

    def load_bytes(self, read_item: ReadItem, value: io.BytesIO) -> None:
        """Put an object that is not a tensor into the state."""
        name = read_item.dest_index.fqn
        found = torch.load(value)  # with the default of `weights_only`, so that a checkpoint runs no code
        self.state_dict[name] = found
        if self.flatten_state_dict:
            set_element(self.original_state_dict, self.mappings[name], found)

    def resolve_tensor(self, read_item: ReadItem) -> Tensor:
        """Return the region of a tensor to read into."""
        tensor = _local(self.state_dict[read_item.dest_index.fqn]).detach()
        for dim, (start, length) in enumerate(zip(read_item.dest_offsets, read_item.lengths, strict=True)):
            tensor = tensor.narrow(dim, start, length)
        return tensor

    def commit_tensor(self, read_item: ReadItem, tensor: Tensor) -> None:
        """Do nothing: the region is a view of the tensor in the state."""


def _overlaps(name: str, entry: TensorStorageMetadata, part: ChunkStorageMetadata) -> list[ReadItem]:
    """Return the items to read: the overlaps of a tensor's chunks in the checkpoint with `part`."""
    items = []
    for index, chunk in enumerate(entry.chunks):
        starts = [max(a, b) for a, b in zip(part.offsets, chunk.offsets, strict=True)]
        stops = [min(a + m, b + n) for a, m, b, n in zip(part.offsets, part.sizes, chunk.offsets, chunk.sizes, strict=True)]
        lengths = [stop - start for start, stop in zip(starts, stops, strict=True)]
        if any(length <= 0 for length in lengths):
            continue
        items.append(
            ReadItem(
                LoadItemType.TENSOR,
                MetadataIndex(name, part.offsets),
                torch.Size(start - offset for start, offset in zip(starts, part.offsets, strict=True)),
                MetadataIndex(name, chunk.offsets, index),
                torch.Size(start - offset for start, offset in zip(starts, chunk.offsets, strict=True)),
                torch.Size(lengths),
            )
        )
    return items


class _EmptyStateDictLoadPlanner(DefaultLoadPlanner):
    """Load all entries of a checkpoint, or those that start with one of `keys`, into an empty dictionary."""

    def __init__(self, keys: set[str] | None = None, *args: Any, **kwargs: Any) -> None:
        self.keys = keys
        super().__init__(*args, **kwargs)

    def set_up_planner(self, state_dict: STATE_DICT_TYPE, metadata: Metadata | None = None, is_coordinator: bool = False) -> None:
        """Fill the dictionary with empty tensors to read into."""
        assert metadata is not None and not state_dict
        flat: dict[str, Any] = {}
        for name, entry in metadata.state_dict_metadata.items():
            if self.keys is None or any(name == key or name.startswith(f"{key}.") for key in self.keys):
                flat[name] = (
                    torch.empty(entry.size, dtype=entry.properties.dtype) if isinstance(entry, TensorStorageMetadata) else None
                )
        paths = {name: (metadata.planner_data or {}).get(name, (name,)) for name in flat}
        state_dict.update(unflatten_state_dict(flat, paths))
        self.original_state_dict, self.metadata, self.is_coordinator = state_dict, metadata, is_coordinator
        self.state_dict, self.mappings = flat, paths

"""Collective operations, which all processes of a group must call together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

from flambeau import Tensor

from .engine import Communicator
from .group import ProcessGroup, Work
from .reduction import ReduceOp
from .world import get_group_rank, group_of

__all__ = [
    "all_gather",
    "all_gather_coalesced",
    "all_gather_into_tensor",
    "all_gather_single",
    "all_reduce",
    "all_reduce_coalesced",
    "all_to_all",
    "all_to_all_single",
    "barrier",
    "broadcast",
    "gather",
    "monitored_barrier",
    "reduce",
    "reduce_scatter",
    "reduce_scatter_single",
    "reduce_scatter_tensor",
    "scatter",
    "supports_complex",
]


def supports_complex(reduceOp: ReduceOp) -> bool:
    """Whether this reduce operation can reduce complex tensors."""
    return reduceOp.name in ("SUM", "AVG", "PREMUL_SUM")


Many = Sequence[Tensor]


def run_in(
    group: Any, async_op: bool, collective: Callable[[ProcessGroup, Communicator], Any], name: str = "", *tensors: Tensor
) -> Work | None:
    """Run a collective in a group, and wait for it unless `async_op`. Do nothing if this process is not in the group."""
    process_group = group_of(group)
    if process_group is None:
        return None
    told = f"{name}({', '.join(f'{list(tensor.shape)} {tensor.dtype}' for tensor in tensors)})" if name else ""
    work = process_group.run(lambda communicator: collective(process_group, communicator), async_op, told)
    return work if async_op else None


def root_in(group: Any, rank: int | None, group_rank: int | None, default: int = 0) -> int:
    """Return the group rank of the process given by its global rank or by its rank in the group."""
    process_group = group_of(group)
    if rank is not None and group_rank is not None:
        raise ValueError("Can't specify both group_src/group_dst and src/dst")
    if process_group is None:
        return -1
    if group_rank is not None:
        return group_rank
    return get_group_rank(process_group, process_group.ranks[default] if rank is None else rank)


def broadcast(
    tensor: Tensor, src: int | None = None, group: Any = None, async_op: bool = False, group_src: int | None = None
) -> Work | None:
    """Overwrite the tensor of every process with the tensor of rank `src`."""
    root = root_in(group, src, group_src)

    def collective(process_group: ProcessGroup, communicator: Communicator) -> list[Tensor]:
        with process_group.written(tensor) as flat:
            communicator.broadcast(flat, root)
        return [tensor]

    return run_in(group, async_op, collective, "broadcast", tensor)


def all_reduce(tensor: Tensor, op: ReduceOp = ReduceOp.SUM, group: Any = None, async_op: bool = False) -> Work | None:
    """Reduce the tensors of all processes in place. The result is bitwise identical in every process.

    Args:
        tensor: input and output, of the same shape and dtype in every process.
        op: the reduce operation.
        group: the process group; default: all processes.
        async_op: return immediately with a `Work` to wait for.
    """
    return all_reduce_coalesced([tensor], op, group, async_op)


def all_reduce_coalesced(tensors: Many, op: ReduceOp = ReduceOp.SUM, group: Any = None, async_op: bool = False) -> Work | None:
    """Apply `all_reduce` to each of several tensors."""

    def collective(process_group: ProcessGroup, communicator: Communicator) -> list[Tensor]:
        for tensor in tensors:
            with process_group.written(tensor) as flat:
                communicator.all_reduce(flat, op)
        return list(tensors)

    return run_in(group, async_op, collective, f"all_reduce {op.name}", *tensors)


def reduce(
    tensor: Tensor,
    dst: int | None = None,
    op: ReduceOp = ReduceOp.SUM,
    group: Any = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """Reduce the tensors of all processes, and write the result to the tensor of rank `dst`."""
    root = root_in(group, dst, group_dst)

    def collective(process_group: ProcessGroup, communicator: Communicator) -> list[Tensor]:
        with process_group.written(tensor) as flat:
            communicator.reduce(flat, op, root)
        return [tensor]

    return run_in(group, async_op, collective, f"reduce {op.name} to {root}", tensor)


def all_gather(tensor_list: Many, tensor: Tensor, group: Any = None, async_op: bool = False) -> Work | None:
    """Fill `tensor_list`, in every process, with the tensors of all processes in rank order."""

    def collective(process_group: ProcessGroup, communicator: Communicator) -> Many:
        with process_group.written(*tensor_list) as outputs:
            communicator.all_gather(_listed(outputs), process_group.flat(tensor))
        return tensor_list

    return run_in(group, async_op, collective, "all_gather", tensor)


def _listed(flats: Tensor | list[Tensor]) -> list[Tensor]:
    return flats if isinstance(flats, list) else [flats]


def all_gather_coalesced(
    output_tensor_lists: Sequence[Many], input_tensor_list: Many, group: Any = None, async_op: bool = False
) -> Work | None:
    """Apply `all_gather` to several tensors; `output_tensor_lists[rank]` receives the tensors of that rank."""

    def collective(process_group: ProcessGroup, communicator: Communicator) -> None:
        for position, tensor in enumerate(input_tensor_list):
            with process_group.written(*(tensors[position] for tensors in output_tensor_lists)) as outputs:
                communicator.all_gather(_listed(outputs), process_group.flat(tensor))

    return run_in(group, async_op, collective, "all_gather", *input_tensor_list)


def all_gather_into_tensor(output_tensor: Tensor, input_tensor: Tensor, group: Any = None, async_op: bool = False) -> Work | None:
    """Gather the tensors of all processes into one tensor, concatenated or stacked along dimension 0."""

    def collective(process_group: ProcessGroup, communicator: Communicator) -> list[Tensor]:
        _check_whole("output", output_tensor, "input", input_tensor, process_group.size())
        with process_group.written(output_tensor) as whole:
            communicator.all_gather(_parts(whole, process_group.size()), process_group.flat(input_tensor))
        return [output_tensor]

    return run_in(group, async_op, collective, "all_gather", input_tensor)


all_gather_single = all_gather_into_tensor


def _parts(flat: Tensor, count: int) -> list[Tensor]:
    return list(flat.split(flat.numel() // count)) if flat.numel() else [flat] * count


def _check_whole(whole_name: str, whole: Tensor, part_name: str, part: Tensor, size: int) -> None:
    if whole.numel() != part.numel() * size:
        raise ValueError(
            f"{whole_name} tensor size must be equal to world_size times {part_name} tensor size, got {whole.numel()} elements, "
            f"{size} processes and {part.numel()} elements"
        )


def gather(
    tensor: Tensor,
    gather_list: Many | None = None,
    dst: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """Fill `gather_list` of rank `dst` with the tensors of all processes."""
    root = root_in(group, dst, group_dst)
    check_list("gather_list", gather_list, group, root)

    def collective(process_group: ProcessGroup, communicator: Communicator) -> Many | None:
        with process_group.written(*gather_list or ()) as outputs:
            communicator.gather(_listed(outputs), process_group.flat(tensor), root)
        return gather_list

    return run_in(group, async_op, collective, f"gather to {root}", tensor)


def scatter(
    tensor: Tensor,
    scatter_list: Many | None = None,
    src: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:
    """Copy `scatter_list[i]` of rank `src` to `tensor` of rank i."""
    root = root_in(group, src, group_src)
    check_list("scatter_list", scatter_list, group, root)

    def collective(process_group: ProcessGroup, communicator: Communicator) -> list[Tensor]:
        with process_group.written(tensor) as flat:
            communicator.scatter(flat, [process_group.flat(part) for part in scatter_list or ()], root)
        return [tensor]

    return run_in(group, async_op, collective, f"scatter from {root}", tensor)


def check_list(name: str, tensors: Any, group: Any, root: int) -> None:
    """Raise ValueError unless the root rank passes a list and the other ranks pass none."""
    process_group = group_of(group)
    if process_group is None:
        return
    if process_group.rank() == root and not tensors:
        raise ValueError(f"Argument ``{name}`` must be specified on the root rank.")
    if process_group.rank() != root and tensors:
        raise ValueError(f"Argument ``{name}`` must NOT be specified on non-root ranks.")


def reduce_scatter(
    output: Tensor, input_list: Many, op: ReduceOp = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """Reduce the lists of all processes elementwise, and write entry i of the result to `output` of rank i."""

    def collective(process_group: ProcessGroup, communicator: Communicator) -> list[Tensor]:
        with process_group.written(output) as flat:
            parts = [process_group.flat(part) for part in input_list]
            if flat.numel() and flat.data_ptr() == parts[process_group.rank()].data_ptr():  # the output is one of the inputs
                parts[process_group.rank()] = flat.clone()
            communicator.reduce_scatter(flat, parts, op)
        return [output]

    return run_in(group, async_op, collective, f"reduce_scatter {op.name}", output)


def reduce_scatter_tensor(
    output: Tensor, input: Tensor, op: ReduceOp = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """Split `input` into equal parts, and apply `reduce_scatter` to them."""
    process_group = group_of(group)
    if process_group is None:
        return None
    _check_whole("input", input, "output", output, process_group.size())
    return reduce_scatter(output, _parts(process_group.flat(input), process_group.size()), op, process_group, async_op)


reduce_scatter_single = reduce_scatter_tensor


def all_to_all(output_tensor_list: Many, input_tensor_list: Many, group: Any = None, async_op: bool = False) -> Work | None:
    """Send `input_tensor_list[i]` to rank i, and fill `output_tensor_list[i]` with the tensor received from rank i."""

    def collective(process_group: ProcessGroup, communicator: Communicator) -> Many:
        with process_group.written(*output_tensor_list) as outputs:
            communicator.all_to_all(_listed(outputs), [process_group.flat(tensor) for tensor in input_tensor_list])
        return output_tensor_list

    return run_in(group, async_op, collective, "all_to_all")


def all_to_all_single(
    output: Tensor,
    input: Tensor,
    output_split_sizes: Sequence[int] | None = None,
    input_split_sizes: Sequence[int] | None = None,
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    """Split a tensor along dimension 0, into equal parts or by the given sizes, and apply `all_to_all` to the parts."""
    process_group = group_of(group)
    if process_group is None:
        return None

    def parts(tensor: Tensor, sizes: Sequence[int] | None) -> Many:
        return tensor.split(list(sizes)) if sizes else tensor.chunk(process_group.size())

    return all_to_all(parts(output, output_split_sizes), parts(input, input_split_sizes), process_group, async_op)


def barrier(group: Any = None, async_op: bool = False, device_ids: Any = None, timeout: timedelta | None = None) -> Work | None:
    """Wait until all processes of the group have called `barrier`."""
    return run_in(group, async_op, lambda _, communicator: communicator.barrier(timeout), "barrier")


def monitored_barrier(group: Any = None, timeout: timedelta | None = None, wait_all_ranks: bool = False) -> None:
    """Call `barrier`. After the timeout, the error names a rank that has not called it."""
    barrier(group, timeout=timeout)

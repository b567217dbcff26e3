"""PowerSGD: gradients are approximated by a product of two thin matrices before they are sent (Vogels et al., 2019,
arXiv:1905.13727).

The approximation error is added to the next step's gradients (error feedback). The power iteration starts with the
matrix of the last step (warm start), so one iteration is enough.
"""

from __future__ import annotations

import math
from typing import Any

import flambeau as torch
from flambeau import Tensor

__all__ = ["PowerSGDState", "batched_powerSGD_hook", "powerSGD_hook"]


class PowerSGDState:
    """State of the PowerSGD hooks, kept between steps.

    Args:
        process_group: the processes; None for all.
        matrix_approximation_rank: number of columns of the thin matrices.
        start_powerSGD_iter: number of steps with uncompressed averaging; at least 2 with error feedback or warm start,
            which would otherwise diverge in the first compressed steps.
        min_compression_rate: matrices are compressed only if that reduces their size by this factor.
        use_error_feedback: whether to add the approximation error of each step to the next step's gradients.
        warm_start: whether each power iteration starts with the last step's matrix.
        orthogonalization_epsilon: added to the norms of columns before dividing by them.
        random_seed: seed of the first matrices, the same in all processes.
        compression_stats_logging_frequency, batch_tensors_with_same_shape: accepted for compatibility.

    Raises:
        ValueError: `start_powerSGD_iter` is too small.
    """

    def __init__(
        self,
        process_group: Any,
        matrix_approximation_rank: int = 1,
        start_powerSGD_iter: int = 1000,
        min_compression_rate: float = 2,
        use_error_feedback: bool = True,
        warm_start: bool = True,
        orthogonalization_epsilon: float = 0,
        random_seed: int = 0,
        compression_stats_logging_frequency: int = 10_000,
        batch_tensors_with_same_shape: bool = False,
    ) -> None:
        if (use_error_feedback or warm_start) and start_powerSGD_iter <= 1:
            raise ValueError(
                "Expect `start_powerSGD_iter` > 1 if `use_error_feedback` or `warm_start` is enabled, because PowerSGD can only "
                "be applied after the first two iterations in DDP."
            )
        self.process_group, self.matrix_approximation_rank = process_group, matrix_approximation_rank
        self.start_powerSGD_iter, self.min_compression_rate = start_powerSGD_iter, min_compression_rate
        self.use_error_feedback, self.warm_start = use_error_feedback, warm_start
        self.orthogonalization_epsilon = orthogonalization_epsilon
        self.rng = torch.Generator().manual_seed(random_seed)
        self.iter = 0
        self.error_dict: dict[int, Tensor] = {}
        self.q_memory_dict: dict[tuple[int, int], Tensor] = {}

    def maybe_increase_iter(self, bucket: Any) -> None:
        """Count a step if `bucket` is the last bucket of the step."""
        self.iter += bucket.is_last()


def powerSGD_hook(state: PowerSGDState, bucket: Any) -> Any:
    """Average a bucket; compress each large matrix in it separately and send the rest uncompressed."""
    gradients = bucket.gradients()
    matrices = [gradient.reshape(gradient.shape[0], -1) for gradient in gradients if gradient.dim() > 1]
    rank = state.matrix_approximation_rank
    small = {id(matrix) for matrix in matrices if _gains(matrix, rank) < state.min_compression_rate}
    compressed = [matrix for matrix in matrices if id(matrix) not in small]
    rest = [g.reshape(-1) for g in gradients if g.dim() <= 1] + [m.reshape(-1) for m in matrices if id(m) in small]
    return _average(state, bucket, compressed, rest)


def batched_powerSGD_hook(state: PowerSGDState, bucket: Any) -> Any:
    """Average a bucket compressed as one square matrix: faster than `powerSGD_hook`, but less accurate."""
    buffer = bucket.buffer()
    side = math.ceil(math.sqrt(buffer.numel()))
    square = torch.zeros(side * side, dtype=buffer.dtype, device=buffer.device)
    square[: buffer.numel()] = buffer
    future = _average(state, bucket, [square.view(side, side)], [], square)
    return future.then(lambda done: buffer.copy_(done.value()[: buffer.numel()]))


def _gains(matrix: Tensor, rank: int) -> float:
    """Return the factor by which compression reduces the size of a matrix."""
    rows, columns = matrix.shape
    return matrix.numel() / max(1, (rows + columns) * min(rows, columns, rank))


def _average(state: PowerSGDState, bucket: Any, matrices: list[Tensor], rest: list[Tensor], whole: Tensor | None = None) -> Any:
    """Average a bucket, given views of it: `matrices` are sent compressed, and `rest` uncompressed."""
    buffer = bucket.buffer() if whole is None else whole
    group, size = state.process_group, torch.distributed.get_world_size(state.process_group)
    future: Any = torch.futures.Future()
    if state.iter < state.start_powerSGD_iter:
        state.maybe_increase_iter(bucket)
        work = torch.distributed.all_reduce(buffer.div_(size), group=group, async_op=True)
        return work.get_future().then(lambda done: done.value()[0])
    index = bucket.index()
    given = None
    if state.use_error_feedback:
        if index in state.error_dict:
            buffer.add_(state.error_dict[index])
        given = buffer.clone()
    if rest:
        flat = torch.cat(rest).div_(size)
        torch.distributed.all_reduce(flat, group=group)
        for view, part in zip(rest, flat.split([view.numel() for view in rest]), strict=True):
            view.copy_(part)
            if given is not None:  # error feedback: uncompressed gradients have no approximation error
                _same_place(given, buffer, view).copy_(part)
    for place, matrix in enumerate(matrices):
        _approximate(state, (index, place), matrix, size)
    if given is not None:
        state.error_dict[index] = given.sub_(buffer)
    state.maybe_increase_iter(bucket)
    future.set_result(buffer)
    return future


def _same_place(other: Tensor, whole: Tensor, view: Tensor) -> Tensor:
    """`view` is a view of `whole`. Return the elements of `other` at the same offsets."""
    start = (view.data_ptr() - whole.data_ptr()) // whole.element_size()
    return other[start : start + view.numel()]


def _approximate(state: PowerSGDState, key: tuple[int, int], matrix: Tensor, size: int) -> None:
    """Overwrite a matrix with an approximation of its average over the processes: a product of two thin matrices."""
    rank = min(*matrix.shape, state.matrix_approximation_rank)
    q = state.q_memory_dict.get(key)
    if q is None or not state.warm_start:
        q = torch.randn(matrix.shape[1], rank, generator=state.rng).to(matrix)
    q = _orthogonal(q, state.orthogonalization_epsilon)
    p = matrix @ q
    torch.distributed.all_reduce(p, group=state.process_group)
    p = _orthogonal(p, state.orthogonalization_epsilon)
    q = matrix.t() @ p
    torch.distributed.all_reduce(q, group=state.process_group)
    q /= size
    state.q_memory_dict[key] = q
    matrix.copy_(p @ q.t())


def _orthogonal(matrix: Tensor, epsilon: float) -> Tensor:
    """Orthonormalize the columns: by QR, or by Gram-Schmidt if `epsilon` is not 0."""
    if not epsilon:
        q: Tensor = torch.linalg.qr(matrix.float())[0]
        return q.to(matrix.dtype)
    result = matrix.clone()
    for column in range(result.shape[1]):
        vector = result[:, column]
        vector /= vector.norm() + epsilon
        if column + 1 < result.shape[1]:
            others = result[:, column + 1 :]
            others -= vector.unsqueeze(1) * (vector @ others)
    return result

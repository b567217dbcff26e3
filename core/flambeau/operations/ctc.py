"""Connectionist temporal classification: the likelihood of a label sequence, summed over its alignments.

Graves et al. (2006), "Connectionist temporal classification: labelling unsegmented sequence data with RNNs".  A path visits
the labels in order, with an optional blank before, between and after them; positions number these labels and blanks.  For
each time and position, `alpha` is the log-probability of all paths up to that position, `beta` that of all paths from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..engine.calls.dispatch import require_flags, whole_numbers
from ..engine.calls.facts import Autocast, Kind
from ..engine.calls.op import op
from ..engine.calls.tables import PUBLIC
from ..engine.tensors.tensor import Tensor
from ..engine.values import dtypes
from .creation.from_data import tensor
from .loss import check_reduction

__all__ = ["ctc_loss"]


# --- the recursions -----------------------------------------------------------------------------------------------


def _lattice(xp: Any, log_probs: Any, labels: Any) -> Any:
    """Return the log-probability of the label at each position: `(time, batch, position)`."""
    time = log_probs.shape[0]
    index = xp.broadcast_to(xp.expand_dims(labels, axis=0), (time, *labels.shape))
    return xp.take_along_axis(log_probs, index, axis=2)


def _advance(xp: Any, before: Any, skip_mask: Any, direction: int) -> Any:
    """Move one time step forward (`direction` 1) or back (-1): stay, move on, or skip a blank between labels."""
    places = before.shape[1]
    gap = xp.full((before.shape[0], 2), -xp.inf, dtype=before.dtype)
    if direction > 0:
        around = xp.concat([gap, before], axis=1)
        move, skip = around[:, 1 : places + 1], around[:, :places] + skip_mask
    else:
        around = xp.concat([before, gap], axis=1)
        move, skip = around[:, 1 : places + 1], around[:, 2:] + skip_mask
    largest = xp.maximum(xp.maximum(before, move), skip)
    finite = xp.maximum(largest, xp.asarray(xp.finfo(before.dtype).min, dtype=before.dtype))
    total = xp.exp(before - finite) + xp.exp(move - finite) + xp.exp(skip - finite)
    return largest + xp.log(xp.maximum(total, xp.ones_like(total)))  # `total` < 1 only if all three are -inf


def _skip_mask(xp: Any, labels: Any, direction: int, dtype: Any) -> Any:
    """Return 0 where a path may skip the blank between two labels, because they are different; -inf elsewhere."""
    batch, places = labels.shape
    none = xp.zeros((batch, min(2, places)), dtype=xp.bool)
    differs = xp.logical_and(labels[:, 2:] != labels[:, :-2], xp.arange(max(places - 2, 0)) % 2 == 1)
    skips = xp.concat([none, differs] if direction > 0 else [differs, none], axis=1)
    return xp.where(skips, xp.zeros((), dtype=dtype), xp.asarray(-xp.inf, dtype=dtype))


def _ends(xp: Any, labels: Any, target_lengths: Any, dtype: Any) -> Any:
    """Return 0 at the two positions where a path may end (last label, last blank), -inf elsewhere."""
    places = xp.arange(labels.shape[1])
    last = xp.expand_dims(2 * target_lengths, axis=1)
    at_end = (places == last) | ((places == last - 1) & (last > 0))
    return xp.where(at_end, xp.zeros((), dtype=dtype), xp.asarray(-xp.inf, dtype=dtype))


def _alphas(xp: Any, lattice: Any, labels: Any) -> list[Any]:
    starts = xp.arange(labels.shape[1]) < 2
    current = xp.where(starts, lattice[0, ...], xp.asarray(-xp.inf, dtype=lattice.dtype))
    skip_mask, alphas = _skip_mask(xp, labels, 1, lattice.dtype), [current]
    for t in range(1, lattice.shape[0]):
        current = _advance(xp, current, skip_mask, 1) + lattice[t, ...]
        alphas.append(current)
    return alphas


def _betas(xp: Any, lattice: Any, labels: Any, input_lengths: Any, target_lengths: Any) -> list[Any]:
    ends, skip_mask = _ends(xp, labels, target_lengths, lattice.dtype), _skip_mask(xp, labels, -1, lattice.dtype)
    nowhere = xp.asarray(-xp.inf, dtype=lattice.dtype)
    lengths = xp.expand_dims(input_lengths, axis=1)
    current = xp.full(labels.shape, -xp.inf, dtype=lattice.dtype)
    betas = []
    for t in range(lattice.shape[0] - 1, -1, -1):
        onward = xp.where(lengths - 1 == t, ends, xp.where(lengths - 1 > t, _advance(xp, current, skip_mask, -1), nowhere))
        current = onward + lattice[t, ...]
        betas.append(current)
    return betas[::-1]


def _log_sum(xp: Any, values: Any) -> Any:
    largest = xp.max(values, axis=-1, keepdims=True)
    safe = xp.where(xp.isfinite(largest), largest, xp.zeros_like(largest))
    total = xp.sum(xp.exp(values - safe), axis=-1)
    return xp.squeeze(largest, axis=-1) + xp.log(xp.where(total > 0, total, xp.ones_like(total)))


def _ctc_forward(xp: Any, log_probs: Any, labels: Any, input_lengths: Any, target_lengths: Any, /, zero_infinity: bool) -> Any:
    """Return the negative log-likelihood of each label sequence; inf if the input is too short for it."""
    batch = labels.shape[0]
    ends = _ends(xp, labels, target_lengths, log_probs.dtype)
    empty = xp.where(target_lengths == 0, xp.zeros((), dtype=log_probs.dtype), xp.asarray(-xp.inf, dtype=log_probs.dtype))
    alphas = xp.stack(_alphas(xp, _lattice(xp, log_probs, labels), labels), axis=1)
    last = xp.clip(input_lengths - 1, 0, None)
    index = xp.broadcast_to(xp.reshape(last, (batch, 1, 1)), (batch, 1, labels.shape[1]))
    at_end = xp.squeeze(xp.take_along_axis(alphas, index, axis=1), axis=1)
    return -xp.where(input_lengths == 0, empty, _log_sum(xp, at_end + ends))


def _ctc_backward_forward(
    xp: Any, input: Any, log_probs: Any, labels: Any, input_lengths: Any, target_lengths: Any, nll: Any, /, zero_infinity: bool
) -> Any:
    """Return the gradient with respect to logits whose log-softmax is `log_probs`: `exp(log_probs) - posterior`."""
    time, _, classes = log_probs.shape
    lattice = _lattice(xp, log_probs, labels)
    alphas = xp.stack(_alphas(xp, lattice, labels), axis=0)
    betas = xp.stack(_betas(xp, lattice, labels, input_lengths, target_lengths), axis=0)
    impossible = xp.reshape(nll == xp.inf, (1, -1, 1))
    nll = xp.where(impossible, xp.zeros((), dtype=nll.dtype), xp.reshape(nll, (1, -1, 1)))
    shares = xp.exp(alphas + betas - lattice + nll)
    shares = xp.where(alphas + betas == -xp.inf, xp.zeros((), dtype=shares.dtype), shares)
    chosen = xp.astype(xp.expand_dims(labels, axis=2) == xp.arange(classes), shares.dtype)
    posterior = xp.permute_dims(xp.matmul(xp.permute_dims(shares, (1, 0, 2)), chosen), (1, 0, 2))
    running = xp.expand_dims(xp.arange(time), axis=1) < input_lengths
    slopes = (xp.exp(log_probs) - posterior) * xp.reshape(input, (1, -1, 1))
    slopes = xp.where(impossible, xp.asarray(0.0 if zero_infinity else xp.nan, dtype=slopes.dtype), slopes)
    return xp.where(xp.expand_dims(running, axis=2), slopes, xp.zeros((), dtype=slopes.dtype))


_ctc = op(
    "ctc_loss", _ctc_forward,
    kind=Kind.LOSS, autocast={"cpu": Autocast.FLOAT32}, keeps_dtype=("labels", "input_lengths", "target_lengths"), public=False,
    method=False, out=False,
    log_probs=lambda F, g, log_probs, labels, input_lengths, target_lengths, out, zero_infinity: F.ctc_loss_backward(
        g, log_probs, labels, input_lengths, target_lengths, out, zero_infinity),
    schema=(
        "ctc_loss.IntList(Tensor log_probs, Tensor targets, int[] input_lengths, int[] target_lengths, int blank=0, int "
        "reduction=1, bool zero_infinity=False) -> Tensor",
        "ctc_loss.Tensor(Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor target_lengths, int blank=0, int "
        "reduction=1, bool zero_infinity=False) -> Tensor",
    ),
)  # fmt: skip


def _refuse(F: Any, g: Any) -> Any:
    raise RuntimeError("derivative for aten::_ctc_loss_backward is not implemented")


op(
    "ctc_loss_backward", _ctc_backward_forward,
    kind=Kind.LOSS, keeps_dtype=("labels", "input_lengths", "target_lengths"), public=False,
    method=False,
    out=False, input=_refuse, log_probs=_refuse,
)  # fmt: skip


# --- arguments ----------------------------------------------------------------------------------------------------

_CONTEXT = "(while checking arguments for ctc_loss_allocate_outputs)"


def _as_list(name: str, lengths: Any) -> list[int]:
    if isinstance(lengths, Tensor):
        if lengths.dtype.category != dtypes.INTEGER:
            raise RuntimeError(f"{name} must be integral")
        values: list[int] = lengths.reshape(-1).tolist()
        return values
    if not isinstance(lengths, (tuple, list)):
        raise TypeError(f"ctc_loss(): argument '{name}' must be tuple of ints, not {type(lengths).__name__}")
    return list(whole_numbers(name, lengths))


def _check(log_probs: Tensor, targets: Tensor, input_lengths: Sequence[int], target_lengths: Sequence[int], blank: int) -> None:
    if not log_probs.numel():
        raise RuntimeError("log_probs tensor must not be empty")
    if log_probs.ndim != 3:
        raise RuntimeError(
            f"Expected 2- or 3-dimensional tensor, but got {log_probs.ndim}-dimensional tensor for argument #1 "
            f"'log_probs' {_CONTEXT}"
        )
    time, batch, classes = log_probs.shape
    if not 1 <= targets.ndim <= 2:
        raise RuntimeError(
            f"Expected 1 to 2 dimensions, but got {targets.ndim}-dimensional tensor for argument #2 'targets' {_CONTEXT}"
        )
    if targets.ndim == 2 and targets.shape[0] != batch:
        raise RuntimeError(
            f"Expected tensor to have size {batch} at dimension 0, but got size {targets.shape[0]} for argument "
            f"#2 'targets' {_CONTEXT}"
        )
    if log_probs.dtype not in (dtypes.float32, dtypes.float64):
        raise NotImplementedError(f"\"ctc_loss_cpu\" not implemented for '{log_probs.dtype.legacy_name}'")
    if not 0 <= blank < classes:
        raise RuntimeError("blank must be in label range")
    for name, lengths in (("input_lengths", input_lengths), ("target_lengths", target_lengths)):
        if len(lengths) != batch:
            raise RuntimeError(f"{name} must be of size batch_size")
        if lengths and min(lengths) < 0:
            raise RuntimeError(f"Expected {name} to have value at least 0, but got value {min(lengths)} {_CONTEXT}")
    if input_lengths and max(input_lengths) > time:
        raise RuntimeError(f"Expected input_lengths to have value at most {time}, but got value {max(input_lengths)} {_CONTEXT}")
    if targets.ndim == 1 and sum(target_lengths) != targets.shape[0]:
        raise RuntimeError(
            f"Expected tensor to have size {sum(target_lengths)} at dimension 0, but got size {targets.shape[0]} for "
            f"argument #2 'targets' {_CONTEXT}"
        )
    if targets.ndim == 2 and target_lengths and max(target_lengths) > targets.shape[1]:
        raise RuntimeError(
            f"Expected tensor to have size at least {max(target_lengths)} at dimension 1, but got size "
            f"{targets.shape[1]} for argument #2 'targets' {_CONTEXT}"
        )


def _with_blanks(targets: Tensor, lengths: Sequence[int], blank: int, classes: int) -> list[list[int]]:
    """Insert blanks around the labels of each target, and pad all targets with blanks to the same length."""
    if not targets._key.backend.has_data:
        return [[blank] * (2 * max(lengths, default=0) + 1)] * len(lengths)
    rows: list[Any] = targets.long().tolist()
    if targets.ndim == 1:
        flat = iter(rows)
        rows = [[next(flat) for _ in range(length)] for length in lengths]
    longest = max(lengths, default=0)
    extended = []
    for row, length in zip(rows, lengths, strict=True):
        labels = [*row[:length], *[blank] * (longest - length)]
        for label in labels:
            if not 0 <= label < classes:
                raise IndexError(f"Target {label} is out of bounds.")
        extended.append([blank, *(symbol for label in labels for symbol in (label, blank))])
    return extended


def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """Return the negative log-likelihood of label sequences; see `torch.nn.functional.ctc_loss`."""
    batched = log_probs.ndim != 2
    if not batched:
        log_probs, targets = log_probs.unsqueeze(1), targets.reshape(1, -1)
    if isinstance(input_lengths, Tensor) is not isinstance(target_lengths, Tensor):
        raise TypeError("ctc_loss(): input_lengths and target_lengths must both be Tensors, or both tuples of ints")
    input_lengths, target_lengths = _as_list("input_lengths", input_lengths), _as_list("target_lengths", target_lengths)
    check_reduction(reduction)
    require_flags("ctc_loss", zero_infinity=zero_infinity)
    _check(log_probs, targets, input_lengths, target_lengths, blank)

    def on_device(values: Any) -> Tensor:
        return tensor(values, dtype=dtypes.int64, device=log_probs.device)

    labels = _with_blanks(targets, target_lengths, blank, log_probs.shape[2])
    losses = _ctc(log_probs, on_device(labels), on_device(input_lengths), on_device(target_lengths), zero_infinity)
    if zero_infinity:
        losses = losses.where(losses != float("inf"), 0.0)
    if reduction == "mean":
        return (losses / on_device(target_lengths).clamp_min(1)).mean()
    if reduction == "sum":
        return losses.sum()
    return losses if batched else losses.squeeze(0)


def ctc_loss_of_torch(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: int = 0,
    zero_infinity: bool = False,
) -> Tensor:
    """Compute the negative log-likelihood of label sequences; see `torch.nn.functional.ctc_loss`.

    Args:
        log_probs: log-probabilities `(T, N, C)` or `(T, C)`.
        targets: labels `(N, S)`, or all concatenated in one vector.
        input_lengths: the lengths of the inputs, at most `T`: a tensor `(N,)` or a sequence.
        target_lengths: the lengths of the targets: a tensor `(N,)` or a sequence.
        blank: the label for blank.
        reduction: 0 for none; 1 for the mean, after each loss has been divided by the length of the target; 2 for the sum.
        zero_infinity: whether infinite losses, and their gradients, are replaced by 0.

    >>> log_probs = torch.tensor([0.5, 0.5]).log().expand(2, 1, 2)
    >>> torch.ctc_loss(log_probs, torch.tensor([[1]]), (2,), (1,))
    tensor([0.2877])
    """
    if not isinstance(reduction, int) or reduction not in (0, 1, 2):
        raise TypeError(f"ctc_loss(): argument 'reduction' must be 0, 1 or 2, not {reduction!r}")
    names = ("none", "mean", "sum")
    return ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, names[reduction], zero_infinity)


ctc_loss_of_torch.__name__ = ctc_loss_of_torch.__qualname__ = "ctc_loss"
PUBLIC["ctc_loss"] = ctc_loss_of_torch

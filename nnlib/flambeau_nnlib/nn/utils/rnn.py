"""Batches of sequences of different lengths, padded to one length or packed without padding."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, Self

import flambeau as torch
from flambeau import Tensor
from flambeau.extension import declare, open_to_overrides

__all__ = [
    "PackedSequence",
    "invert_permutation",
    "pack_padded_sequence",
    "pack_sequence",
    "pad_packed_sequence",
    "pad_sequence",
    "unpack_sequence",
    "unpad_sequence",
]


class _PackedFields(NamedTuple):
    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None
    unsorted_indices: Tensor | None


class PackedSequence(_PackedFields):
    """The steps of a batch of sequences, longest sequence first: step 0 of all, step 1 of those that have one, ...

    `pack_sequence` and `pack_padded_sequence` create it; recurrent layers accept and return it.

    Args:
        data: the concatenated steps, of shape `(total number of steps, *)`.
        batch_sizes: the number of sequences that have each step, a non-increasing int64 vector on the CPU.
        sorted_indices: the position in the batch of each sorted sequence; None if the batch was sorted.
        unsorted_indices: the position of each batch sequence in sorted order; None to compute it from `sorted_indices`.

    Raises:
        ValueError: `batch_sizes` is not on the CPU.

    Example:
        >>> packed = pack_sequence([torch.tensor([1, 2, 3]), torch.tensor([4])])
        >>> packed.data, packed.batch_sizes
        (tensor([1, 4, 2, 3]), tensor([2, 1, 1]))
    """

    def __new__(
        cls,
        data: Tensor,
        batch_sizes: Tensor | None = None,
        sorted_indices: Tensor | None = None,
        unsorted_indices: Tensor | None = None,
    ) -> Self:
        if batch_sizes is None:
            if not (isinstance(data, (list, tuple)) and len(data) == 2):
                raise AssertionError("Expected data to be a list or tuple of length 2")
            data, batch_sizes = data
        elif batch_sizes.device.type != "cpu":
            raise ValueError(
                "batch_sizes should always be on CPU. Instances of PackedSequence should never be created manually. "
                "They should be instantiated by functions like pack_sequence and pack_padded_sequences in nn.utils.rnn."
            )
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def _map(self, fn: Callable[[Tensor], Tensor]) -> Self:
        """Apply `fn` to the data, and move the indices to the device of the result."""
        data = fn(self.data)
        if data is self.data:
            return self
        indices = (index if index is None else index.to(data.device) for index in self[2:])
        return type(self)(data, self.batch_sizes, *indices)

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Move or convert the data as `Tensor.to` does."""
        return self._map(lambda data: data.to(*args, **kwargs))

    def cuda(self, *args: Any, **kwargs: Any) -> Self:
        """Move to a CUDA device."""
        return self._map(lambda data: data.cuda(*args, **kwargs))

    def cpu(self) -> Self:
        """Move to the CPU."""
        return self._map(lambda data: data.cpu())

    def double(self) -> Self:
        """Convert to float64."""
        return self.to(torch.float64)

    def float(self) -> Self:
        """Convert to float32."""
        return self.to(torch.float32)

    def half(self) -> Self:
        """Convert to float16."""
        return self.to(torch.float16)

    def long(self) -> Self:
        """Convert to int64."""
        return self.to(torch.int64)

    def int(self) -> Self:
        """Convert to int32."""
        return self.to(torch.int32)

    def short(self) -> Self:
        """Convert to int16."""
        return self.to(torch.int16)

    def char(self) -> Self:
        """Convert to int8."""
        return self.to(torch.int8)

    def byte(self) -> Self:
        """Convert to uint8."""
        return self.to(torch.uint8)

    def pin_memory(self) -> Self:
        """Copy to page-locked memory."""
        indices = (index if index is None else index.pin_memory() for index in self[2:])
        return type(self)(self.data.pin_memory(), self.batch_sizes, *indices)

    @property
    def is_cuda(self) -> bool:
        return self.data.is_cuda

    def is_pinned(self) -> bool:
        """Whether the data is in page-locked memory."""
        return self.data.is_pinned()


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """Return the inverse of a permutation.

    Args:
        permutation: a vector that contains each of 0, ..., n - 1 once; None returns None.

    Example:
        >>> invert_permutation(torch.tensor([2, 0, 1]))
        tensor([1, 2, 0])
    """
    if permutation is None:
        return None
    positions = torch.arange(permutation.numel(), device=permutation.device)
    return torch.empty_like(permutation).scatter_(0, permutation, positions)


def pack_padded_sequence(
    input: Tensor, lengths: Tensor | Sequence[int], batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """Pack a padded batch of sequences, so that a recurrent layer does no work for the padding.

    Args:
        input: the batch, of shape `(T, B, *)`, or `(B, T, *)` with `batch_first`: T steps, B sequences.
        lengths: the lengths of the B sequences, a list or a tensor on the CPU.
        batch_first: whether the batch is the first dimension.
        enforce_sorted: require non-increasing lengths, as ONNX does; False sorts the sequences and restores the order later.

    Raises:
        RuntimeError: a length is not in 1, ..., T, or the lengths are not sorted although `enforce_sorted` is set.

    Example:
        >>> padded = torch.tensor([[1, 2, 0], [4, 5, 6]])
        >>> pack_padded_sequence(padded, [2, 3], batch_first=True, enforce_sorted=False).data
        tensor([4, 1, 5, 2, 6])
    """
    lengths = torch.as_tensor(lengths, dtype=torch.int64)
    sorted_indices = None
    if not enforce_sorted:
        _check_lengths(input.transpose(0, 1) if batch_first else input, lengths)
        lengths, sorted_indices = torch.sort(lengths, descending=True)
        sorted_indices = sorted_indices.to(input.device)
        input = input.index_select(0 if batch_first else 1, sorted_indices)
    data, batch_sizes = _pack_padded_sequence(input, lengths, batch_first)
    return PackedSequence(data, batch_sizes, sorted_indices)


@declare(
    "_pack_padded_sequence", schema="_pack_padded_sequence(Tensor input, Tensor lengths, bool batch_first) -> (Tensor, Tensor)"
)
def _pack_padded_sequence(input: Tensor, lengths: Tensor, batch_first: bool) -> tuple[Tensor, Tensor]:
    """Return the data and the batch sizes of the packed batch; the lengths must be sorted.  Graphs contain this operator."""
    if batch_first:
        input = input.transpose(0, 1)
    _check_lengths(input, lengths)
    if (lengths[1:] > lengths[:-1]).any():
        raise RuntimeError(
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass "
            "`enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to sidestep this requirement "
            "if you do not need ONNX exportability."
        )
    is_step = torch.arange(int(lengths[0])).unsqueeze(1) < lengths
    return input[: is_step.shape[0]][is_step.to(input.device)], is_step.sum(1)


def _check_lengths(input: Tensor, lengths: Tensor) -> None:
    if lengths.device.type != "cpu" or lengths.dim() != 1:
        raise RuntimeError(
            "'lengths' argument should be a 1D CPU int64 tensor, "
            f"but got {lengths.dim()}D {lengths.device} {lengths.dtype} tensor"
        )
    if input.numel() == 0:
        raise RuntimeError("Cannot pack empty tensors.")
    if lengths.numel() != input.size(1):
        raise RuntimeError(
            f"Expected `len(lengths)` to be equal to batch_size, but got {lengths.numel()} (batch_size={input.size(1)})"
        )
    if int(lengths.min()) <= 0:
        raise RuntimeError("Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0")
    if int(lengths.max()) > input.size(0):
        raise RuntimeError(f"Expected all lengths to be at most the padded length {input.size(0)}, but got {int(lengths.max())}")


def pad_packed_sequence(
    sequence: PackedSequence,
    batch_first: bool = False,
    padding_value: float = 0.0,
    total_length: int | None = None,
) -> tuple[Tensor, Tensor]:
    """Convert a packed batch to a padded batch; the inverse of `pack_padded_sequence`.

    Args:
        sequence: the packed batch.
        batch_first: return the batch as the first dimension.
        padding_value: the value after the end of each sequence.
        total_length: the number of steps T to pad to; None for the length of the longest sequence.

    Returns:
        the padded sequences, of shape `(T, B, *)`, or `(B, T, *)` with `batch_first`, and their lengths, of shape `(B,)`.

    Raises:
        ValueError: `total_length` is less than the length of the longest sequence.

    Example:
        >>> pad_packed_sequence(pack_sequence([torch.tensor([1, 2]), torch.tensor([3])]), batch_first=True)
        (tensor([[1, 2],
                [3, 0]]), tensor([2, 1]))
    """
    data, batch_sizes, _, unsorted_indices = sequence
    longest = batch_sizes.size(0)
    if total_length is None:
        total_length = longest
    elif total_length < longest:
        raise ValueError(
            "Expected total_length to be at least the length of the longest sequence in input, "
            f"but got total_length={total_length} and max sequence length being {longest}"
        )
    padded, lengths = _pad_packed_sequence(data, batch_sizes, batch_first, padding_value, total_length)
    if unsorted_indices is not None:
        padded = padded.index_select(0 if batch_first else 1, unsorted_indices)
        lengths = lengths[unsorted_indices.cpu()]
    return padded, lengths


@declare(
    "_pad_packed_sequence",
    schema="_pad_packed_sequence(Tensor data, Tensor batch_sizes, bool batch_first, Scalar padding_value, SymInt total_length)"
    " -> (Tensor, Tensor)",
)
def _pad_packed_sequence(
    data: Tensor, batch_sizes: Tensor, batch_first: bool, padding_value: float, total_length: int
) -> tuple[Tensor, Tensor]:
    """Return the padded batch, of `total_length` steps, and the lengths.  Graphs contain this operator."""
    longest, batch = batch_sizes.size(0), int(batch_sizes[0])
    is_step = torch.arange(batch) < batch_sizes.unsqueeze(1)
    padded = data.new_full((max(total_length, longest), batch, *data.shape[1:]), padding_value)
    padded[:longest][is_step.to(data.device)] = data
    return (padded.transpose(0, 1) if batch_first else padded), is_step.sum(0)


def pad_sequence(
    sequences: Tensor | Iterable[Tensor],
    batch_first: bool = False,
    padding_value: float = 0.0,
    padding_side: str = "right",
) -> Tensor:
    """Pad tensors to one length and stack them.

    Args:
        sequences: the tensors, of shapes `(L, *)` that differ only in L.
        batch_first: whether the result has the batch as its first dimension.
        padding_value: the value that shorter sequences are filled with.
        padding_side: `"right"` to pad after the end of sequences, `"left"` to pad before their start.

    Returns:
        a tensor of shape `(T, B, *)`, or `(B, T, *)` with `batch_first`, T being the largest L.

    Raises:
        RuntimeError: there are no sequences, or `padding_side` is neither "right" nor "left".

    Example:
        >>> pad_sequence([torch.tensor([1, 2]), torch.tensor([3])], batch_first=True)
        tensor([[1, 2],
                [3, 0]])
    """
    if not isinstance(sequences, Iterable):
        raise RuntimeError(f"pad_sequence: Expected iterable for input sequences, but got arg of type: {type(sequences)}")
    if padding_side not in ("left", "right"):
        raise RuntimeError("Expected padding_side to be one of left or right")
    sequences = list(sequences)
    if not sequences:
        raise RuntimeError("received an empty list of sequences")
    longest = max(sequence.size(0) for sequence in sequences)

    def pad(sequence: Tensor) -> Tensor:
        if sequence.size(0) == longest:
            return sequence
        filler = sequence.new_full((longest - sequence.size(0), *sequence.shape[1:]), padding_value)
        return torch.cat([sequence, filler] if padding_side == "right" else [filler, sequence])

    return torch.stack([pad(sequence) for sequence in sequences], dim=0 if batch_first else 1)


def unpad_sequence(padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False) -> list[Tensor]:
    """Return the list of tensors of a padded batch, without the padding, which must be on the right.

    Args:
        padded_sequences: the batch, of shape `(T, B, *)`, or `(B, T, *)` with `batch_first`.
        lengths: the lengths of the B sequences.
        batch_first: whether the batch is the first dimension.

    Example:
        >>> unpad_sequence(torch.tensor([[1, 2], [3, 0]]), torch.tensor([2, 1]), batch_first=True)
        [tensor([1, 2]), tensor([3])]
    """
    if not batch_first:
        padded_sequences = padded_sequences.transpose(0, 1)
    return [row[: int(length)] for row, length in zip(padded_sequences, lengths, strict=True)]


def pack_sequence(sequences: Sequence[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Pack tensors of different lengths.

    Args:
        sequences: the tensors, of shapes `(L, *)` that differ only in L.
        enforce_sorted: require non-increasing lengths, as ONNX does; False sorts the sequences and restores the order later.

    Raises:
        RuntimeError: a tensor has no steps, or the lengths are not sorted although `enforce_sorted` is set.

    Example:
        >>> pack_sequence([torch.tensor([1]), torch.tensor([2, 3])], enforce_sorted=False).sorted_indices
        tensor([1, 0])
    """
    lengths = torch.as_tensor([sequence.size(0) for sequence in sequences])
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """Return the list of tensors of a packed batch, in the order given to `pack_sequence`.

    Args:
        packed_sequences: the packed batch.

    Example:
        >>> unpack_sequence(pack_sequence([torch.tensor([1, 2]), torch.tensor([3])]))
        [tensor([1, 2]), tensor([3])]
    """
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)


_OPERATORS = ("_pack_padded_sequence", "_pad_packed_sequence")
open_to_overrides(globals(), ("pad_sequence",))
open_to_overrides(globals(), _OPERATORS, native=_OPERATORS, module="flambeau")

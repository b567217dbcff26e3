"""Einstein summation, computed as matrix products of pairs of operands.

The computation depends only on the equation and the shapes.  It is planned once with placeholders (`Planned`), and the plan
is cached.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from math import prod
from typing import Any

from ..engine.calls.facts import Autocast, Kind, Linearity
from ..engine.calls.op import composite
from ..engine.calls.overriding import may_override, offered_as
from ..engine.tensors.tensor import Tensor
from .matrix import unchecked_bmm, unchecked_mm

__all__ = ["einsum"]

Label = Any  # a letter; for a dimension of the ellipsis, a negative integer (-1 for the last)
Labels = list[Label]
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def _normalize_arguments(equation: Any, *operands: Any) -> tuple[Any, ...]:
    """Return the arguments as PyTorch passes them to `__torch_function__`: an equation, then each operand."""
    given: Sequence[Any] = operands
    if isinstance(equation, Tensor):
        equation, given = _arguments(equation, operands)
    elif len(operands) == 1 and isinstance(operands[0], (list, tuple)) and may_override(operands[0]):
        given = operands[0]
    return equation, *given


@composite(
    method=False,
    kind=Kind.PRODUCT,
    linearity=Linearity.EACH,
    autocast={"cuda": Autocast.FAST},
    schema="einsum(str equation, Tensor[] tensors, *, int[]? path=None) -> Tensor",
    home="torch.functional",
)
@offered_as(_normalize_arguments)
def einsum(equation: Any, *operands: Tensor | Sequence[Tensor] | Sequence[int]) -> Tensor:
    """Compute an Einstein summation: `equation` labels dimensions by letters; labels missing in the result are summed over.

    Operands are separate arguments or one list.  Without an equation, each operand is followed by a list of label numbers (or
    `...`), and the last argument is an optional list for the result.  More than two operands are multiplied from left to right,
    or in the order found by `opt_einsum` if that package is installed.

    Args:
        equation: the labels of the dimensions of each operand, separated by commas, and after `->` those of the result, by
            default the labels that occur once in alphabetical order; `...` is any number of dimensions. The first operand if
            there is no equation.
        *operands: the tensors.

    Raises:
        RuntimeError: the equation is malformed, or does not fit the operands.

    >>> torch.einsum("ij,jk->ik", torch.eye(2), torch.tensor([[1.0, 2], [3, 4]]))
    tensor([[1., 2.],
            [3., 4.]])
    """
    equation, tensors = _arguments(equation, operands)
    shapes = tuple([tuple(tensor._array.shape) for tensor in tensors])
    steps, result = _plan(equation, shapes, path_options.enabled, path_options.strategy)
    _check_dtypes(tensors)
    for compute, places in steps:
        tensors.append(compute(*[tensors[place] for place in places]))
    return tensors[result]


# --- the plan -----------------------------------------------------------------------------------------------------


class Planned:
    """A placeholder for a tensor: its shape and its index (`place`) in the list of all operands and intermediate results.

    `line` has an entry for each tensor of that list: None for an operand; for a result, the function that computes it and the
    indices of its arguments.
    """

    line: list[Any]
    place: int
    shape: tuple[int, ...]

    __slots__ = ("line", "place", "shape")

    def __init__(self, line: list[Any], place: int, shape: Sequence[int]) -> None:
        self.line, self.place, self.shape = line, place, tuple(shape)

    def _append_step(self, shape: Sequence[int], compute: Callable[..., Tensor], *others: Planned) -> Planned:
        self.line.append((compute, (self.place, *[other.place for other in others])))
        return Planned(self.line, len(self.line) - 1, shape)

    def permute(self, dims: list[int]) -> Planned:
        return self._append_step([self.shape[dim] for dim in dims], lambda tensor: tensor.permute(dims))

    def reshape(self, shape: tuple[int, ...]) -> Planned:
        return self if shape == self.shape else self._append_step(shape, lambda tensor: tensor.reshape(shape))

    def diagonal(self, first: int, second: int) -> Planned:
        """Replace dimension `first` by the diagonal of dimensions `first` and `second`, and remove `second`."""
        shape = self.shape[:second] + self.shape[second + 1 :]
        return self._append_step(shape, lambda tensor: tensor.diagonal(0, first, second).movedim(-1, first))

    def sum(self, dims: list[int]) -> Planned:
        return self._append_step(self._without(dims), lambda tensor: tensor.sum(dims))

    def squeeze(self, dims: list[int]) -> Planned:
        return self._append_step(self._without(dims), lambda tensor: tensor.squeeze(tuple(dims)))

    def _without(self, dims: list[int]) -> list[int]:
        return [size for dim, size in enumerate(self.shape) if dim not in dims]

    def insert_dims(self, kept: list[bool]) -> Planned:
        """Insert a dimension of size 1 wherever `kept` is False."""
        sizes = iter(self.shape)
        index = tuple(slice(None) if keep else None for keep in kept)
        return self._append_step([next(sizes) if keep else 1 for keep in kept], lambda tensor: tensor[index])

    def multiply(self, other: Planned) -> Planned:
        shape = [b if a == 1 else a for a, b in zip(self.shape, other.shape, strict=True)]
        return self._append_step(shape, lambda a, b: a * b, other)

    def matmul(self, other: Planned) -> Planned:
        """Multiply two matrices, or two batches of matrices."""
        return self._append_step(
            (*self.shape[:-1], other.shape[-1]), unchecked_mm if len(self.shape) == 2 else unchecked_bmm, other
        )


_Operand = tuple[Planned, Labels]  # a pair: an operand or intermediate result, and the labels of its dimensions


@lru_cache(256)
def _plan(equation: str, shapes: tuple[tuple[int, ...], ...], *path: Any) -> tuple[list[Any], int]:
    """Return the steps, each a function and the indices of its arguments, and the index of the result.

    `path` holds the options that determine the order of the products.  It is only needed as a part of the cache key.
    """
    terms, result = _parsed(equation, len(shapes))
    line: list[Any] = [None] * len(shapes)
    operands = [Planned(line, place, shape) for place, shape in enumerate(shapes)]
    labelled = [_labelled(operand, labels) for operand, labels in zip(operands, terms, strict=True)]
    output = _output(terms, result, labelled)
    _check_sizes(labelled)
    order = output + sorted(_used(labelled).difference(output), key=str)
    labelled = [_permute_to(*operand, order) for operand in labelled]
    for pair in _path(labelled, output):
        second, first = (labelled.pop(index) for index in sorted(pair, reverse=True))
        labelled.append(_contract(first, second, _used(labelled).union(output), order))
    last = _sum_unneeded(*labelled[0], set(output))[0]
    return line[len(shapes) :], last.place


# --- reading the arguments ----------------------------------------------------------------------------------------


def _arguments(equation: Any, operands: tuple[Any, ...]) -> tuple[str, list[Tensor]]:
    """Return the equation and the operands, from a call with or without an equation."""
    if isinstance(equation, str):
        tensors = list(operands[0]) if len(operands) == 1 and isinstance(operands[0], (list, tuple)) else list(operands)
        if not tensors:
            raise _missing_operands_error()
        for position, tensor in enumerate(tensors):
            if not isinstance(tensor, Tensor):
                raise TypeError(f"expected Tensor as element {position} in argument 1, but got {type(tensor).__name__}")
        return equation, tensors
    if not isinstance(equation, Tensor):
        raise TypeError(f"einsum(): argument 'equation' (position 1) must be str, not {type(equation).__name__}")
    interleaved = (equation, *operands)
    if len(interleaved) < 2:
        raise _missing_operands_error()
    result = interleaved[-1] if len(interleaved) % 2 else None
    pairs = interleaved[: len(interleaved) // 2 * 2]
    text = ",".join(map(_sublist, pairs[1::2]))
    return (text if result is None else f"{text}->{_sublist(result)}"), list(pairs[::2])


def _missing_operands_error() -> ValueError:
    return ValueError(
        "einsum(): must specify the equation string and at least one operand, or at least one operand and its subscripts list"
    )


def _sublist(numbers: Sequence[Any]) -> str:
    for number in numbers:
        if number is not Ellipsis and not 0 <= number < 52:
            raise ValueError("einsum(): subscript in subscript list is not within the valid range [0, 52)")
    return "".join("..." if number is Ellipsis else _LETTERS[number] for number in numbers)


def _parsed(equation: str, count: int) -> tuple[list[Labels], Labels | None]:
    """Parse the labels of each operand, and of the result if given; `...` becomes Ellipsis."""
    left, arrow, right = equation.partition("->")
    parts = left.split(",")
    if len(parts) != count:
        raise RuntimeError(
            f"einsum(): {'more' if count > len(parts) else 'fewer'} operands were provided than specified in the equation"
        )
    terms, start = [], 0
    for index, part in enumerate(parts):
        terms.append(list(_letters(part, start, f"operand {index}")))
        start += len(part) + 1
    return terms, list(_letters(right, start + 1, "output")) if arrow else None


def _letters(text: str, start: int, where: str) -> Iterator[Label]:
    index, seen = 0, False
    while index < len(text):
        letter = text[index]
        if letter == ".":
            if text[index : index + 3] != "..." or seen:
                hint = " (...)" if where == "output" else ""
                problem = "for which an ellipsis was already found" if seen else f"that is not part of any ellipsis{hint}"
                raise RuntimeError(f"einsum(): found '.' for {where} {problem}")
            seen = True
            yield Ellipsis
            index += 2
        elif letter in _LETTERS:
            yield letter
        elif letter != " ":
            raise RuntimeError(
                f"einsum(): invalid subscript given at index {start + index} in the equation string, subscripts "
                "must be in [a-zA-Z]"
            )
        index += 1


def _labelled(tensor: Planned, labels: Labels) -> _Operand:
    """Return an operand and one label per dimension; dimensions with the same label are replaced by their diagonal."""
    index, ndim, named = tensor.place, len(tensor.shape), len(labels) - (Ellipsis in labels)
    if named > ndim or (named < ndim and Ellipsis not in labels):
        missing = "" if Ellipsis in labels else " and no ellipsis was given"
        relation = "is more than" if Ellipsis in labels else "does not match"
        raise RuntimeError(
            f"einsum(): the number of subscripts in the equation ({named}) {relation} the number of dimensions "
            f"({ndim}) for operand {index}{missing}"
        )
    full: Labels = []
    for label in labels:
        full += range(named - ndim, 0) if label is Ellipsis else [label]
    position = 0
    while position < len(full):
        first = full.index(full[position])
        if first == position:
            position += 1
            continue
        if tensor.shape[first] != tensor.shape[position]:
            raise RuntimeError(
                f"einsum(): subscript {full[position]} is repeated for operand {index} but the sizes don't match, "
                f"{tensor.shape[position]} != {tensor.shape[first]}"
            )
        tensor = tensor.diagonal(first, position)
        del full[position]
    return tensor, full


def _output(terms: Sequence[Labels], result: Labels | None, labelled: Sequence[_Operand]) -> Labels:
    every = [label for labels in terms for label in labels]
    under_ellipsis = sorted({label for _, labels in labelled for label in labels if isinstance(label, int)})
    if result is None:  # labels that occur once, in alphabetical order
        return under_ellipsis + sorted(label for label in every if label is not Ellipsis and every.count(label) == 1)
    output: Labels = []
    for label in result:
        if label is Ellipsis:
            output += under_ellipsis
            continue
        if label in output:
            raise RuntimeError(f"einsum(): output subscript {label} appears more than once in the output")
        if label not in every:
            raise RuntimeError(f"einsum(): output subscript {label} does not appear in the equation for any input operand")
        output.append(label)
    return output


def _used(labelled: Sequence[_Operand]) -> set[Label]:
    return {label for _, labels in labelled for label in labels}


def _check_sizes(labelled: Sequence[_Operand]) -> None:
    sizes: dict[Label, int] = {}
    for index, (tensor, labels) in enumerate(labelled):
        for label, size in zip(labels, tensor.shape, strict=True):
            known = sizes.get(label, 1)
            if size != known and 1 not in (size, known):
                named = f"subscript {label}" if isinstance(label, str) else "ellipsis dimension"
                raise RuntimeError(
                    f"einsum(): {named} has size {size} for operand {index} which does not broadcast with "
                    f"previously seen size {known}"
                )
            sizes[label] = max(size, known) if 0 not in (size, known) else 0


def _check_dtypes(tensors: Sequence[Tensor]) -> None:
    for tensor in tensors[1:]:
        if tensor.dtype is not tensors[0].dtype:
            raise RuntimeError(f"expected scalar type {tensors[0].dtype.legacy_name} but found {tensor.dtype.legacy_name}")


class PathOptions:
    """Options of `torch.backends.opt_einsum`: whether that package searches the order of products, and its strategy."""

    enabled = True
    strategy = "auto"


path_options = PathOptions()


def _path(labelled: Sequence[_Operand], output: Labels) -> list[tuple[int, ...]]:
    """Return the indices of the operands to multiply in each step; each product is appended to the list of operands."""
    count = len(labelled)
    path = _cheapest_path(labelled, output) if count > 2 else None
    if path is not None:
        return path
    return [(0, 1), *((0, left) for left in range(count - 2, 0, -1))] if count > 1 else []


def _cheapest_path(labelled: Sequence[_Operand], output: Labels) -> list[tuple[int, ...]] | None:
    if not path_options.enabled:
        return None
    try:
        from opt_einsum import contract_path, get_symbol
    except ImportError:
        return None
    symbols: dict[Label, str] = {}
    parts = [
        "".join(symbols.setdefault(label, get_symbol(len(symbols))) for label in labels)
        for labels in (*(labels for _, labels in labelled), output)
    ]
    equation = f"{','.join(parts[:-1])}->{parts[-1]}"
    shapes = (tensor.shape for tensor, _ in labelled)
    return contract_path(equation, *shapes, shapes=True, optimize=path_options.strategy)[0]  # type: ignore[no-any-return]  # opt_einsum is untyped


# --- products of pairs --------------------------------------------------------------------------------------------


def _contract(first: _Operand, second: _Operand, needed: set[Label], order: Labels) -> _Operand:
    """Multiply two operands and sum over the labels not in `needed`; the result's labels are sorted by `order`."""
    a, b = _without_ones(first, second), _without_ones(second, first)
    shared = set(a[1]) & set(b[1])
    a, b = _sum_unneeded(*a, needed | shared), _sum_unneeded(*b, needed | shared)
    batch = [label for label in order if label in shared and label in needed]
    summed = [label for label in order if label in shared and label not in needed]
    if not summed:
        labels = [label for label in order if label in a[1] or label in b[1]]
        return _expand_to_labels(*a, labels).multiply(_expand_to_labels(*b, labels)), labels
    rows = [label for label in order if label in a[1] and label not in shared]
    columns = [label for label in order if label in b[1] and label not in shared]
    others = [label for label in order if label not in {*batch, *summed, *rows}]
    # swap the operands so that the product's labels are in order
    if rows and others and order.index(others[-1]) < order.index(rows[0]):
        a, b, rows, columns = b, a, columns, rows
    left, right = _permute_to(*a, [*batch, *rows, *summed])[0], _permute_to(*b, [*batch, *summed, *columns])[0]
    cuts = len(batch), len(batch) + len(rows), len(batch) + len(summed)
    shape = (*left.shape[: cuts[1]], *right.shape[cuts[2] :])
    many, m = prod(left.shape[: cuts[0]]), prod(left.shape[cuts[0] : cuts[1]])
    inner, n = prod(left.shape[cuts[1] :]), prod(right.shape[cuts[2] :])
    if batch:
        product = left.reshape((many, m, inner)).matmul(right.reshape((many, inner, n)))
    else:
        product = left.reshape((m, inner)).matmul(right.reshape((inner, n)))
    return _permute_to(product.reshape(shape), [*batch, *rows, *columns], order)


def _expand_to_labels(tensor: Planned, labels: Labels, order: Labels) -> Planned:
    """Return the operand with one dimension per label in `order`, of size 1 if the operand lacks the label."""
    return tensor.insert_dims([label in labels for label in order])


def _without_ones(operand: _Operand, other: _Operand) -> _Operand:
    """Drop dimensions of size 1 that would be broadcast against a longer dimension of the other operand."""
    tensor, labels = operand
    sizes = dict(zip(other[1], other[0].shape, strict=True))
    dropped = [i for i, label in enumerate(labels) if tensor.shape[i] == 1 and sizes.get(label, 1) != 1]
    if not dropped:
        return operand
    return tensor.squeeze(dropped), [label for i, label in enumerate(labels) if i not in dropped]


def _sum_unneeded(tensor: Planned, labels: Labels, needed: set[Label]) -> _Operand:
    dims = [i for i, label in enumerate(labels) if label not in needed]
    if not dims:
        return tensor, labels
    summed = tensor.sum(dims)
    return summed, [label for label in labels if label in needed]


def _permute_to(tensor: Planned, labels: Labels, order: Labels) -> _Operand:
    """Permute the operand's dimensions to `order`."""
    arranged = [label for label in order if label in labels]
    return (tensor if labels == arranged else tensor.permute([labels.index(label) for label in arranged])), arranged

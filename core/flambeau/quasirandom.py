"""Sobol sequences: `torch.quasirandom.SobolEngine`, points that fill a cube more evenly than random ones.

The direction numbers are those of Joe and Kuo (2008), from the table that SciPy ships; PyTorch has the same.
"""

from __future__ import annotations

from typing import Any

import flambeau as torch
from flambeau import Tensor

__all__ = ["SobolEngine"]


class SobolEngine:
    """A generator of a Sobol sequence, scrambled if asked.

    Args:
        dimension: how many coordinates a point has, from 1 to `MAXDIM`.
        scramble: whether the sequence is shuffled as a whole, by a random shift and random triangular matrices over the field
            of two elements (Matousek, 1998; Owen, 1998), so that its points stay as even but are unbiased.
        seed: of that randomness; None draws it from the default generator.

    Raises:
        ValueError: the dimension is out of range.
        ImportError: SciPy is not installed.

    Example:
        >>> torch.quasirandom.SobolEngine(2).draw(3)  # doctest: +SKIP
        tensor([[0.0000, 0.0000],
                [0.5000, 0.5000],
                [0.7500, 0.2500]])
    """

    MAXBIT = 30
    MAXDIM = 21201

    def __init__(self, dimension: int, scramble: bool = False, seed: int | None = None) -> None:
        if dimension < 1 or dimension > self.MAXDIM:
            raise ValueError(f"Supported range of dimensionality for SobolEngine is [1, {self.MAXDIM}]")
        self.seed = seed
        self.scramble = scramble
        self.dimension = dimension
        self.sobolstate = _direction_numbers(dimension, self.MAXBIT)
        if scramble:
            self._scramble()
        else:
            self.shift = torch.zeros(dimension, dtype=torch.long)
        self.quasi = self.shift.clone()
        self._first_point = (self.quasi / 2**self.MAXBIT).reshape(1, -1)
        self.num_generated = 0

    def _scramble(self) -> None:
        generator = None
        if self.seed is not None:
            generator = torch.Generator()
            generator.manual_seed(self.seed)
        bits = torch.randint(2, (self.dimension, self.MAXBIT), generator=generator)
        self.shift = bits @ 2 ** torch.arange(self.MAXBIT)
        matrices = torch.randint(2, (self.dimension, self.MAXBIT, self.MAXBIT), generator=generator).tril()
        torch.diagonal(matrices, dim1=-2, dim2=-1).fill_(1)
        places = torch.arange(self.MAXBIT - 1, -1, -1)  # a row of bits begins with the highest
        numbers = (self.sobolstate.unsqueeze(1) >> places.unsqueeze(1)) & 1
        scrambled = (matrices.double() @ numbers.double()).long() & 1  # sums of at most 30 ones are exact, and fast, in float64
        self.sobolstate = (scrambled << places.unsqueeze(1)).sum(1)

    def _points(self, first: int, count: int) -> Tensor:
        """Return `count` points, starting with number `first`, as integers."""
        if first + count > 2**self.MAXBIT:
            raise RuntimeError(f"SobolEngine: a sequence has {2**self.MAXBIT} points, but number {first + count} was asked for")
        # The numbers are in the order of the Gray code, so this is what each binary digit of a point's number contributes.
        digits = self.sobolstate.int()
        digits[:, 1:] ^= self.sobolstate[:, :-1].int()
        low = (count - 1).bit_length()
        offsets = torch.zeros(1, self.dimension, dtype=torch.int)
        for digit in range(low):
            offsets = torch.cat([offsets, offsets ^ digits[:, digit]])
        blocks = []
        for block in range(first >> low, ((first + count - 1) >> low) + 1):
            start, begin = self.shift.int(), block << low
            for digit in range(low, self.MAXBIT):
                if block >> (digit - low) & 1:
                    start = start ^ digits[:, digit]
            blocks.append(offsets[max(first - begin, 0) : first + count - begin] ^ start)
        return blocks[0] if len(blocks) == 1 else torch.cat(blocks)

    def draw(self, n: int = 1, out: Tensor | None = None, dtype: torch.dtype | None = None) -> Tensor:
        """The next `n` points.

        Args:
            n: how many, at least one.
            out: where to write them.
            dtype: float32 or float64; without it, the default dtype.

        Shape:
            - Output: `(n, dimension)`.

        Raises:
            RuntimeError: `n` is not positive, or there are no more points.
            NotImplementedError: the dtype is another.
        """
        if n < 1:
            raise RuntimeError(f"Trying to create tensor with negative dimension {n - 1}: [{n - 1}, {self.dimension}]")
        dtype = torch.get_default_dtype() if dtype is None else dtype
        if dtype not in (torch.float32, torch.float64) and (n > 1 or self.num_generated):
            raise NotImplementedError(f"\"_sobol_engine_draw\" not implemented for '{_NAMES.get(dtype, dtype)}'")
        points = self._points(self.num_generated, n)
        result = points.to(dtype) * 2.0**-self.MAXBIT
        if self.num_generated == 0:
            result[0] = self._first_point[0]  # in the default dtype since the beginning: of 24 bits where that is float32
        self.num_generated += n
        self.quasi = points[-1].long()
        return result if out is None else out.resize_as_(result).copy_(result)

    def draw_base2(self, m: int, out: Tensor | None = None, dtype: torch.dtype | None = None) -> Tensor:
        """The next `2**m` points, so that those drawn until then are balanced.

        Raises:
            ValueError: with those drawn before, they would not be a power of 2.
        """
        n = 2**m
        total = self.num_generated + n
        if total & (total - 1):
            raise ValueError(
                "The balance properties of Sobol' points require n to be a power of 2. "
                f"{self.num_generated} points have been previously generated, then: "
                f"n={self.num_generated}+2**{m}={total}. If you still want to do this, please use "
                "'SobolEngine.draw()' instead."
            )
        return self.draw(n=n, out=out, dtype=dtype)

    def reset(self) -> SobolEngine:
        """Return to the first point."""
        self.quasi = self.shift.clone()
        self.num_generated = 0
        return self

    def fast_forward(self, n: int) -> SobolEngine:
        """Skip `n` points."""
        self.num_generated += n
        if self.num_generated > 0:
            self.quasi = self._points(self.num_generated - 1, 1)[0].long()
        return self

    def __repr__(self) -> str:
        options = [f"dimension={self.dimension}"]
        options += ["scramble=True"] if self.scramble else []
        options += [] if self.seed is None else [f"seed={self.seed}"]
        return f"{type(self).__name__}({', '.join(options)})"


_NAMES: dict[Any, str] = {torch.half: "Half", torch.bfloat16: "BFloat16", torch.long: "Long", torch.int: "Int"}  # in messages


def _direction_numbers(dimension: int, bits: int) -> Tensor:
    """A row of direction numbers for each dimension, `(dimension, bits)`."""
    try:
        from scipy.stats import qmc
    except ImportError as error:
        raise ImportError(
            "SobolEngine takes its direction numbers from SciPy, which is not installed: pip install 'flambeau[quasirandom]'"
        ) from error
    table = qmc.Sobol(dimension, scramble=False, bits=bits)._sv
    return torch.from_numpy(table.astype("int64"))

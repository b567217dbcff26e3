"""`torch.quasirandom.SobolEngine`: Sobol sequences, whose points fill a cube more evenly than random points.

The direction numbers are those of Joe and Kuo (2008), as in PyTorch.  They are read from SciPy's table.
"""

from __future__ import annotations

from typing import Any

import flambeau as torch
from flambeau import Tensor

__all__ = ["SobolEngine"]


class SobolEngine:
    """A generator of a Sobol sequence, optionally scrambled.

    Args:
        dimension: the number of coordinates of a point, from 1 to `MAXDIM`.
        scramble: whether to scramble the sequence by a random shift and random triangular matrices over the field of two
            elements (Matousek, 1998; Owen, 1998).  The mean over scrambled points is unbiased, and the
            points are as evenly distributed as without scrambling.
        seed: the seed for scrambling; None uses the default generator.

    Raises:
        ValueError: the dimension is out of range.
        ImportError: SciPy is not installed.

    Example:
        >>> torch.quasirandom.SobolEngine(2).draw(3)  # doctest: +SKIP
        tensor([[0.0000, 0.0000],
                [0.5000, 0.5000],
                [0.7500, 0.2500]])
    """

    shift: Tensor
    sobolstate: Tensor
    num_generated: int
    quasi: Tensor

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
        places = torch.arange(self.MAXBIT - 1, -1, -1)  # each number is a row of bits, highest bit first
        numbers = (self.sobolstate.unsqueeze(1) >> places.unsqueeze(1)) & 1
        scrambled = (matrices.double() @ numbers.double()).long() & 1  # float64 is faster than int64, and exact here
        self.sobolstate = (scrambled << places.unsqueeze(1)).sum(1)

    def _points(self, first: int, count: int) -> Tensor:
        """Return `count` points, starting with number `first`, as integers."""
        if first + count > 2**self.MAXBIT:
            raise RuntimeError(f"SobolEngine: a sequence has {2**self.MAXBIT} points, but {first + count} are required")
        # Points are in Gray code order: point n is the XOR of `digits[:, d]` over the binary digits d of n that are 1.
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
        """Return the next `n` points.

        Args:
            n: the number of points, at least 1.
            out: the tensor for the result.
            dtype: float32 or float64; by default, the default dtype.

        Shape:
            - Output: `(n, dimension)`.

        Raises:
            RuntimeError: `n` is not positive, or exceeds the number of remaining points.
            NotImplementedError: the dtype is not float32 or float64.
        """
        if n < 1:
            raise RuntimeError(f"Trying to create tensor with negative dimension {n - 1}: [{n - 1}, {self.dimension}]")
        dtype = torch.get_default_dtype() if dtype is None else dtype
        if dtype not in (torch.float32, torch.float64) and (n > 1 or self.num_generated):
            raise NotImplementedError(f"\"_sobol_engine_draw\" not implemented for '{_NAMES.get(dtype, dtype)}'")
        points = self._points(self.num_generated, n)
        result = points.to(dtype) * 2.0**-self.MAXBIT
        if self.num_generated == 0:
            result[0] = self._first_point[0]  # computed in the default dtype: float32 rounds it to 24 bits, as in PyTorch
        self.num_generated += n
        self.quasi = points[-1].long()
        return result if out is None else out.resize_as_(result).copy_(result)

    def draw_base2(self, m: int, out: Tensor | None = None, dtype: torch.dtype | None = None) -> Tensor:
        """Return the next `2**m` points.

        The points are evenly distributed only if their total number is a power of 2.

        Raises:
            ValueError: the total number of points drawn would not be a power of 2.
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


# {dtype: its name in PyTorch's messages}.
_NAMES: dict[Any, str] = {torch.half: "Half", torch.bfloat16: "BFloat16", torch.long: "Long", torch.int: "Int"}


def _direction_numbers(dimension: int, bits: int) -> Tensor:
    """Return SciPy's table of direction numbers, which define the Sobol sequence, of shape `(dimension, bits)`."""
    try:
        from scipy.stats import qmc
    except ImportError as error:
        raise ImportError("SobolEngine requires SciPy for its direction numbers: pip install scipy") from error
    table = qmc.Sobol(dimension, scramble=False, bits=bits)._sv
    return torch.from_numpy(table.astype("int64"))

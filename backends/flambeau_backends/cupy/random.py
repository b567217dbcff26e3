"""PyTorch's CUDA random stream: the same seed gives the same uniform, normal and integer values.

Philox 4x32-10 (Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3") is counter-based: each thread computes its
words from the seed, the thread's number and the offset, so seed and offset are the complete state.  As in PyTorch, the assignment
of elements to threads depends on the device.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import cupy
import numpy as np

from flambeau_backends.numpy import random as host

from .source import BLOCK, launch

__all__ = ["Generator"]

Shape = Sequence[int]
DEFAULT_SEED = host.DEFAULT_SEED
_WORDS = 4  # number of 32-bit random words that a GPU thread computes at a time
_WIDE_SPAN = 1 << 28  # ranges of integers from this size use 64 bits: the remainder of 32 bits would be too uneven


class Generator:
    """A random generator on one device.  Samplers take a shape and a dtype and return a new array on that device."""

    def __init__(self, index: int = 0, seed: int = DEFAULT_SEED) -> None:
        self.index = index
        self.manual_seed(seed)

    # --- seed and state ---

    def manual_seed(self, seed: int) -> Generator:
        """Restart the random stream from `seed`."""
        if not -(2**63) <= seed < 2**64:
            raise ValueError("Overflow when unpacking long long")
        self._seed, self._offset = seed % 2**64, 0
        return self

    def seed(self) -> int:
        """Restart the stream from a seed of the operating system, and return the seed."""
        self.manual_seed(int.from_bytes(os.urandom(8), "little") >> 11)
        return self._seed

    def initial_seed(self) -> int:
        """Return the seed from which the stream started."""
        return self._seed

    def get_offset(self) -> int:
        """Return the number of words that each thread has used."""
        return self._offset

    def set_offset(self, offset: int) -> None:
        """Move to another position in the stream."""
        if offset % _WORDS:
            raise RuntimeError("offset must be a multiple of 4")
        self._offset = offset

    def get_state(self) -> np.ndarray:
        """Return seed and offset as 16 bytes."""
        return np.array([self._seed, self._offset], np.uint64).view(np.uint8)

    def set_state(self, state: np.ndarray) -> None:
        """Continue from a state returned by `get_state`, here or in PyTorch."""
        if state.size not in (8, 16):
            raise RuntimeError("RNG state is wrong size")
        fields = np.ascontiguousarray(state, np.uint8).view(np.uint64)
        self._seed, self._offset = int(fields[0]), int(fields[1]) if len(fields) > 1 else 0

    def clone(self) -> Generator:
        """Return an independent generator in the same state."""
        copy = Generator(self.index, self._seed)
        copy._offset = self._offset
        return copy

    # --- launching ---

    @cached_property
    def _most_blocks(self) -> int:
        properties = cupy.cuda.runtime.getDeviceProperties(self.index)
        return int(properties["multiProcessorCount"]) * (int(properties["maxThreadsPerMultiProcessor"]) // BLOCK)

    def _run(self, instance: str, count: int, drawn: int, out: Any, *parameters: Any) -> Any:
        """Run a kernel in which each thread fills `drawn` elements of `out` at a time, and advance the offset."""
        if count:
            blocks = min(self._most_blocks, -(-count // BLOCK))
            state = np.uint64(self._seed), np.uint64(self._offset)
            launch(instance, count, (out, np.int64(count), *state, *parameters), blocks=blocks)
            self._offset += ((count - 1) // (BLOCK * blocks * drawn) + 1) * _WORDS
        return out

    def _draw(self, shape: Shape, dtype: Any, distribution: str, a: float, b: float = 0.0) -> Any:
        dtype, real = np.dtype(dtype), np.dtype(np.float64 if np.dtype(dtype) == np.float64 else np.float32)
        with cupy.cuda.Device(self.index):
            out = cupy.empty(shape, real)
            name, drawn = ("double", 2) if real == np.float64 else ("float", 4)
            self._run(f"draw<{name}, {distribution}>", math.prod(shape), drawn, out, real.type(a), real.type(b))
            return out.astype(dtype, copy=False)

    def _host(self) -> host.Generator:
        """Return a CPU generator seeded from this stream, for samplers that are sequential."""
        seed = self.integers((1,), np.int64, 0, 2**62)
        return host.Generator(int(seed[0]))

    def _from_host(self, array: np.ndarray) -> Any:
        with cupy.cuda.Device(self.index):
            return cupy.asarray(array)

    # --- samplers ---

    def uniform(self, shape: Shape, dtype: Any, low: float = 0.0, high: float = 1.0) -> Any:
        """Draw from the uniform distribution on `[low, high)`; for a complex dtype, draw the real and imaginary parts."""
        dtype = np.dtype(dtype)
        if dtype.kind == "c":
            return self.uniform((*shape, 2), f"f{dtype.itemsize // 2}", low, high).view(dtype)[..., 0]
        if not low <= high:
            raise RuntimeError(f"uniform_ expects to return a [from, to) range, but found from={low:g} > to={high:g}")
        return self._draw(shape, dtype, "UNIFORM", low, high)

    def normal(self, shape: Shape, dtype: Any, mean: float = 0.0, std: float = 1.0, *, contiguous: bool = True) -> Any:
        """Draw normal values; for a complex dtype, the real and imaginary parts each have half of the variance."""
        dtype = np.dtype(dtype)
        if dtype.kind == "c":
            return self.normal((*shape, 2), f"f{dtype.itemsize // 2}", mean, std / math.sqrt(2)).view(dtype)[..., 0]
        return self._draw(shape, dtype, "NORMAL", mean, std)

    def log_normal(self, shape: Shape, dtype: Any, mean: float = 1.0, std: float = 2.0) -> Any:
        """Draw from the log-normal distribution: the exponential of normal values."""
        with cupy.cuda.Device(self.index):
            return cupy.exp(self.normal(shape, dtype, mean, std))

    def exponential(self, shape: Shape, dtype: Any, rate: float = 1.0) -> Any:
        """Draw from the exponential distribution with mean `1 / rate`."""
        if rate <= 0:
            raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={rate:g}")
        return self._draw(shape, dtype, "EXPONENTIAL", rate)

    def cauchy(self, shape: Shape, dtype: Any, median: float = 0.0, sigma: float = 1.0) -> Any:
        """Draw from the Cauchy distribution around the median."""
        if sigma <= 0:
            raise RuntimeError(f"cauchy_ expects sigma > 0.0, but found sigma={sigma:g}")
        with cupy.cuda.Device(self.index):
            return median + sigma * cupy.tan(math.pi * (self.uniform(shape, dtype) - 0.5))

    def geometric(self, shape: Shape, dtype: Any, p: float) -> Any:
        """Draw the number of trials until the first success, each with probability `p`."""
        if not 0 < p < 1:
            raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p:g}")
        with cupy.cuda.Device(self.index):
            waits = cupy.ceil(cupy.log(1 - self.uniform(shape, np.float32)) / math.log1p(-p))
            return cupy.maximum(waits, 1).astype(dtype)

    def bernoulli(self, shape: Shape, dtype: Any, p: Any = 0.5) -> Any:
        """Draw 1 with probability `p` (a number or an array), else 0."""
        if isinstance(p, (np.ndarray, cupy.ndarray)):
            with cupy.cuda.Device(self.index):
                return (self._draw(shape, np.float32, "UNIFORM", 0.0, 1.0) < cupy.asarray(p)).astype(dtype)
        if not 0 <= p <= 1:
            raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p:g}")
        return self._draw(shape, np.float32, "BERNOULLI", p).astype(dtype, copy=False)

    def dropout(self, input: Any, keep: float) -> tuple[Any, Any]:
        """Apply dropout; return the result, and the mask scaled by `1 / keep`."""
        out, noise = cupy.empty_like(input), cupy.empty_like(input)
        name = "double" if input.dtype == np.float64 else "float"
        self._run(f"dropout<{name}>", input.size, _WORDS, out, input, noise, np.float32(keep))
        return out, noise

    def integers(self, shape: Shape, dtype: Any, low: int | None = None, high: int | None = None) -> Any:
        """Draw integers from `[low, high)`; by default, `low` is 0 and `high - 1` is the largest integer of the dtype."""
        dtype = np.dtype(dtype)
        largest = 1 if dtype.kind == "b" else np.iinfo(dtype).max if dtype.kind in "iu" else 1 << np.finfo(dtype).nmant + 1
        low, high = 0 if low is None else low, largest + 1 if high is None else high
        if low >= high:
            raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
        wide = high - low >= _WIDE_SPAN
        with cupy.cuda.Device(self.index):
            out = cupy.empty(shape, np.int64)
            span = np.uint64((high - low) % 2**64)
            self._run(f"draw_integers<{str(wide).lower()}>", math.prod(shape), 2 if wide else 4, out, span, np.int64(low))
            return out.astype(dtype, copy=False)

    def permutation(self, n: int, dtype: Any) -> Any:
        """Return a random permutation of the integers below `n`, by sorting random keys."""
        with cupy.cuda.Device(self.index):
            return cupy.argsort(self.integers((n,), np.int64)).astype(dtype, copy=False)

    def multinomial(self, probs: np.ndarray, num_samples: int, replacement: bool = False) -> Any:
        """Draw indices with probabilities proportional to the weights in each row."""
        return self._from_host(self._host().multinomial(probs, num_samples, replacement))

    def poisson(self, rates: np.ndarray) -> Any:
        """Draw a Poisson count for each rate."""
        return self._from_host(self._host().poisson(rates))

    def binomial(self, count: np.ndarray, prob: np.ndarray) -> Any:
        """Draw the number of successes in `count` trials of probability `prob`."""
        return self._from_host(self._host().binomial(count, prob))

    def gamma(self, alpha: np.ndarray) -> Any:
        """Draw a gamma value of unit scale for each shape parameter."""
        return self._from_host(self._host().gamma(alpha))

    def dirichlet(self, alpha: np.ndarray) -> Any:
        """Draw from the Dirichlet distribution of each row of concentrations."""
        return self._from_host(self._host().dirichlet(alpha))

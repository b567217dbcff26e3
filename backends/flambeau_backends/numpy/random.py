"""PyTorch's CPU random stream, implemented with NumPy: the same seed gives the same values.

One engine, MT19937 (Matsumoto & Nishimura 1998, "Mersenne Twister"), provides 32-bit words for every sampler.  To match PyTorch,
samplers use the same number of words per value and the same formulas (for normal values, see `box_muller`):

- `uniform` and `integers` use one word per value, two if it needs more bits;
- `bernoulli`, `exponential`, `geometric` and `cauchy` transform a float64 (two words) for each value;
- `normal` transforms blocks of 16 values, or pairs if there are fewer values or the target is not contiguous;
- `poisson`, `binomial` and `gamma` use rejection (`rejection.py`): each value starts in the stream where the previous one ended.

Samplers take a shape and a NumPy dtype and return a new array.  Invalid parameters raise PyTorch's errors.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence

import numpy as np

from flambeau.engine.values.forking import new_lock

from . import box_muller, rejection
from .constants import number
from .error_state import without_warnings
from .word_buffer import MANY, WordBuffer, singles

__all__ = ["Generator"]

Shape = Sequence[int]
Uniform = Callable[[], float]

DEFAULT_SEED = 67280421310721
_WORD = 2**32 - 1  # mask of the 32 bits of a word
_SINGLE, _LONG, _WORD_TYPE = np.dtype(np.float32), np.dtype(np.int64), np.dtype(np.uint32)
_FEW_VALUES = 100  # number of values by rejection up to which a loop in Python takes less time than copying the engine's state
_FEW_STEPS = 200  # number of steps of a shuffle up to which a Python loop is faster
_CHUNK = 2**15  # values drawn at a time, so that temporaries stay in the processor's cache

# A float64 uses the low 53 bits of two words; a float32 (see `word_buffer.singles`) the low 24 bits of one.
_MASK_53, _SCALE_53 = np.array(2**53 - 1, np.uint64), np.array(2.0**-53)

# Layout of PyTorch's `get_rng_state()`: the fields of a C structure, including gaps.
_STATE = np.dtype(
    {
        "names": ["seed", "left", "seeded", "next", "key", "spare", "has_spare"],
        "formats": ["<u8", "<i4", "<i4", "<u8", ("<u8", 624), "<f8", "<i4"],
        "offsets": [0, 8, 12, 16, 24, 5024, 5040],
        "itemsize": 5056,
    }
)


class Generator:
    """A stream of random numbers equal to that of `torch.Generator` on the CPU.

    >>> Generator().manual_seed(0).uniform((3,), "float32").tolist()
    [0.49625658988952637, 0.7682217955589294, 0.08847743272781372]
    """

    def __init__(self, seed: int = DEFAULT_SEED) -> None:
        self._words = WordBuffer()
        self._pairs = new_lock()  # for `_spare`, while normal values are drawn in pairs
        self.manual_seed(seed)

    # --- seed and state ---

    def manual_seed(self, seed: int) -> Generator:
        """Restart the stream. The engine uses the low 32 bits; negative seeds are taken modulo 2**64."""
        seed = int(seed)
        if not -(2**63) <= seed < 2**64:
            raise ValueError("Overflow when unpacking long long")
        self._seed = seed % 2**64
        self._words.seed(self._seed & _WORD)
        self._spare: float | None = None  # the second normal value of a pair, kept for the next call
        return self

    def seed(self) -> int:
        """Restart the stream from a seed of the operating system, and return the seed."""
        self.manual_seed(int.from_bytes(os.urandom(8), "little"))
        return self._seed

    def initial_seed(self) -> int:
        """Return the seed from which the stream started."""
        return self._seed

    def get_state(self) -> np.ndarray:
        """Return the complete state, in PyTorch's layout of 5056 bytes."""
        key, used = self._words.state
        fresh = used == 624 and key[0] == self._seed & _WORD  # seeded, but nothing drawn yet
        state = np.zeros(1, _STATE)
        state["seed"], state["seeded"], state["key"] = self._seed, 1, key
        state["left"], state["next"] = 625 - used, 0 if fresh else used
        if self._spare is not None:
            state["spare"], state["has_spare"] = self._spare, 1
        return state.view(np.uint8)

    def set_state(self, state: np.ndarray) -> None:
        """Continue from a state returned by `get_state`, here or in PyTorch."""
        if state.size != _STATE.itemsize:
            raise RuntimeError(
                f"Expected a CPUGeneratorImplState of size {_STATE.itemsize} but found the input RNG state "
                f"size to be {state.size}"
            )
        fields = np.ascontiguousarray(state, np.uint8).view(_STATE)[0]
        left, used = int(fields["left"]), int(fields["next"])
        if not (fields["seeded"] == 1 and 0 < left <= 624 and used <= 624):
            raise RuntimeError("Invalid mt19937 state")
        self._seed = int(fields["seed"])
        key = fields["key"].astype(np.uint32)
        self._words.state = key, 624 if left == 1 else used
        self._spare = float(fields["spare"]) if fields["has_spare"] else None

    def clone(self) -> Generator:
        """Return an independent generator in the same state."""
        copy = Generator()
        copy.set_state(self.get_state())
        return copy

    # --- uniform and integer values ---

    def uniform(self, shape: Shape, dtype: np.dtype, low: float = 0.0, high: float = 1.0) -> np.ndarray:
        """Draw from the uniform distribution on `[low, high)`; for a complex dtype, draw the real and imaginary parts."""
        if dtype is _SINGLE and low == 0.0 and high == 1.0 and (count := math.prod(shape)) <= MANY:
            return self._words.uniform(count).reshape(shape)
        dtype = np.dtype(dtype)
        if dtype.kind in _COMPLEX_KINDS:
            return _as_complex(self.uniform((*shape, 2), _real(dtype), low, high), dtype)
        if not low <= high:
            raise RuntimeError(f"uniform_ expects to return a [from, to) range, but found from={low:g} > to={high:g}")
        draw = self._doubles if dtype.itemsize == 8 else self._floats
        if (low, high) == (0, 1) and dtype.itemsize > 2:
            return _in_chunks(draw, shape, dtype)

        def draw_between(count: int) -> np.ndarray:
            unit = draw(count)
            start = unit.dtype.type(low)
            values = _cast(_fused_multiply_add(unit, unit.dtype.type(high) - start, start), dtype)
            values[values == dtype.type(high)] = low  # rounding may return `high`, which is excluded
            return values

        return _in_chunks_quietly(draw_between, shape, dtype)

    def integers(self, shape: Shape, dtype: np.dtype, low: int | None = None, high: int | None = None) -> np.ndarray:
        """Draw integers from `[low, high)`, in any dtype.

        Without `high`, the upper limit is the dtype's largest integer, or for floats the limit up to which all integers are
        representable.  Without both, draw from 0 to that limit, as `random_()` does.
        """
        if dtype is _LONG and low == 0 and high is not None and 0 < high < 2**28 and (count := math.prod(shape)) <= MANY:
            return np.remainder(self._words.take(count), number(high, _WORD_TYPE)).astype(np.int64).reshape(shape)
        return self._integers(shape, np.dtype(dtype), low, high)

    @without_warnings
    def _integers(self, shape: Shape, dtype: np.dtype, low: int | None, high: int | None) -> np.ndarray:
        if low is None:
            wide = dtype.itemsize == 8
            low, high = 0, _largest_integer(dtype) + 1
        else:
            low, high = _bounds(low, high, dtype)
            wide = high - low >= 2**28  # as in PyTorch: for large ranges, the remainder of 32 bits would be too uneven
        span = high - low
        take = self._words.take_wide if wide else self._words.take
        return _in_chunks(lambda count: _remainder(take(count), span).astype(np.int64) + low, shape, dtype)

    def permutation(self, n: int, dtype: np.dtype) -> np.ndarray:
        """Return a random permutation of the integers below `n` (Fisher & Yates 1938; Durstenfeld 1964)."""
        if n <= _FEW_STEPS:
            return np.array(_shuffled(n, self._words.take(max(n - 1, 0)).tolist())).astype(dtype, copy=False)
        steps = np.arange(n, dtype=np.int64)
        targets = steps.copy()
        targets[:-1] += self._words.take(max(n - 1, 0)) % np.arange(n, 1, -1, dtype=np.uint32)
        return _swap_all(steps, targets).astype(dtype, copy=False)

    # --- choices ---

    def bernoulli(self, shape: Shape, dtype: np.dtype, p: float | np.ndarray = 0.5) -> np.ndarray:
        """Draw 1 with probability `p`, else 0.  An array of probabilities is compared with uniform values of its precision."""
        if isinstance(p, np.ndarray):
            if not ((p >= 0) & (p <= 1)).all():
                raise RuntimeError("Expected p_in >= 0 && p_in <= 1 to be true, but got false.")
            draw = self._doubles if p.dtype == np.float64 else self._floats
            unit = draw(math.prod(shape)).reshape(shape)
            return (unit < p.astype(unit.dtype, copy=False)).astype(dtype)
        if not 0 <= p <= 1:
            raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p:g}")
        below = np.uint64(math.ceil(p * 2**53))  # the number of integers k >= 0 with k * 2**-53 < p
        return _in_chunks(lambda count: self._words.take_wide(count) & _MASK_53 < below, shape, dtype)

    @without_warnings
    def multinomial(self, probs: np.ndarray, num_samples: int, replacement: bool = False) -> np.ndarray:
        """Draw indices (int64) with probabilities proportional to the weights in each row of `probs`.

        With replacement, invert the cumulative distribution.  Without, take the largest quotients of weight and exponential
        noise (Efraimidis & Spirakis 2006).
        """
        if probs.ndim not in (1, 2):
            raise RuntimeError("prob_dist must be 1 or 2 dim")
        if num_samples <= 0:
            raise RuntimeError("cannot sample n_sample <= 0 samples")
        if not replacement and num_samples > probs.shape[-1]:
            raise RuntimeError("cannot sample n_sample > prob_dist.size(-1) samples without replacement")
        shape = (*probs.shape[:-1], num_samples)
        if probs.shape[0] == 0:
            return np.empty(shape, np.int64)
        if not ((probs >= 0) & (probs < np.inf)).all():
            raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
        if not (probs > 0).any(-1).all():
            raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")
        rows = probs.reshape(-1, probs.shape[-1])
        pick = self._choose_with_replacement if replacement and num_samples > 1 else self._choose_distinct
        return pick(rows, num_samples).reshape(shape)

    def _choose_with_replacement(self, rows: np.ndarray, num_samples: int) -> np.ndarray:
        cumulative = np.cumsum(rows, axis=1, dtype=np.float32 if rows.dtype.itemsize == 2 else None)
        cumulative /= cumulative[:, -1:]
        cumulative[:, -1] = 1
        points = self._doubles(len(rows) * num_samples).reshape(len(rows), num_samples)
        pairs = zip(cumulative.astype(float), points, strict=True)
        return np.stack([np.searchsorted(row, at) for row, at in pairs])

    def _choose_distinct(self, rows: np.ndarray, num_samples: int) -> np.ndarray:
        race = -(rows / self.exponential(rows.shape, rows.dtype)).astype(float)
        if num_samples == 1:
            return race.argmin(1)
        best = np.argpartition(race, num_samples - 1, axis=1)[:, :num_samples]
        ranks = np.argsort(np.take_along_axis(race, best, 1), axis=1)
        return np.take_along_axis(best, ranks, 1)

    # --- continuous distributions by inversion ---

    @without_warnings
    def exponential(self, shape: Shape, dtype: np.dtype, rate: float = 1.0) -> np.ndarray:
        """Draw from the exponential distribution with mean `1 / rate`."""
        if not rate > 0:
            raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={rate:g}")
        log1p = _function("log1p", dtype)
        return _in_chunks(lambda count: log1p(-self._doubles(count)) * (-1 / rate), shape, dtype)

    @without_warnings
    def geometric(self, shape: Shape, dtype: np.dtype, p: float) -> np.ndarray:
        """Draw the number of trials until the first success, each with probability `p`."""
        if not 0 < p < 1:
            raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p:g}")
        return _in_chunks(lambda count: np.ceil(np.log(self._doubles(count)) / math.log1p(-p)), shape, dtype)

    @without_warnings
    def cauchy(self, shape: Shape, dtype: np.dtype, median: float = 0.0, sigma: float = 1.0) -> np.ndarray:
        """Draw from the Cauchy distribution around `median` with half-width `sigma`."""
        if not sigma > 0:
            raise RuntimeError(f"cauchy_ expects sigma > 0.0, but found sigma={sigma:g}")
        tan = _function("tan", dtype)
        return _in_chunks(lambda count: median + sigma * tan(math.pi * (self._doubles(count) - 0.5)), shape, dtype)

    # --- normal values ---

    def normal(
        self,
        shape: Shape,
        dtype: np.dtype,
        mean: float | np.ndarray = 0.0,
        std: float | np.ndarray = 1.0,
        *,
        contiguous: bool = True,
    ) -> np.ndarray:
        """Draw normal values (Box & Muller 1958); for a complex dtype, both parts have half of the variance.

        Arrays of means and standard deviations shift and scale standard normal values.  `contiguous=False` gives the values that
        PyTorch draws for a tensor that is not contiguous.
        """
        if dtype is _SINGLE and contiguous and type(mean) is type(std) is float and mean == 0.0 and std == 1.0:
            count = math.prod(shape)
            if 16 <= count <= MANY:
                return self._words.normal(tuple(shape), count)
        dtype = np.dtype(dtype)
        is_standard = type(mean) is float and mean == 0 and type(std) is float and std == 1
        draw = self._normal if is_standard and dtype.itemsize > 2 else self._normal_quietly  # standard values cannot overflow
        return draw(shape, dtype, mean, std, contiguous)

    def _normal(
        self, shape: Shape, dtype: np.dtype, mean: float | np.ndarray, std: float | np.ndarray, contiguous: bool
    ) -> np.ndarray:
        if isinstance(mean, np.ndarray) or isinstance(std, np.ndarray):
            return self._normal_around(shape, dtype, mean, std)
        if not std >= 0:
            raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")
        if dtype.kind in _COMPLEX_KINDS:
            parts = self.normal((*shape, 2), _real(dtype), mean, std / math.sqrt(2), contiguous=contiguous)
            return _as_complex(parts, dtype)
        if contiguous and math.prod(shape) >= 16:
            return self._normal_blocks(shape, dtype, mean, std)
        return _in_chunks(lambda count: _shift(self._normal_pairs(count, dtype), mean, std), shape, dtype)

    _normal_quietly = without_warnings(_normal)

    @without_warnings
    def log_normal(self, shape: Shape, dtype: np.dtype, mean: float = 1.0, std: float = 2.0) -> np.ndarray:
        """Draw from the log-normal distribution: the exponential of normal values."""
        if not std > 0:
            raise RuntimeError(f"log_normal_ expects std > 0.0, but found std={std:g}")
        return _in_chunks(lambda count: np.exp(_shift(self._normal_pairs(count, dtype), mean, std)), shape, dtype)

    def _normal_around(self, shape: Shape, dtype: np.dtype, mean: float | np.ndarray, std: float | np.ndarray) -> np.ndarray:
        if isinstance(std, np.ndarray):
            if std.dtype.kind == "c":
                raise RuntimeError("normal expects standard deviation to be non-complex")
            if not (std >= 0).all():
                raise RuntimeError("normal expects all elements of std >= 0.0")
            values = self.normal(shape, dtype)
            values *= std
        else:
            values = self.normal(shape, dtype, 0.0, std)
        values += mean
        return values

    def _normal_blocks(self, shape: Shape, dtype: np.dtype, mean: float, std: float) -> np.ndarray:
        """Draw blocks of 16 values; if the last block is incomplete, the last 16 values are drawn again, as in PyTorch."""
        draw = self._doubles if dtype.itemsize == 8 else self._floats

        def block(count: int) -> np.ndarray:
            return _shift(_box_muller(draw(count)), mean, std)

        n = math.prod(shape)
        remainder = n % 16
        if n <= MANY and dtype.itemsize == 4:  # the same result as below, in a single draw
            return _shift(self._words.normal((n,), n), mean, std).reshape(shape)
        if dtype is _SINGLE and box_muller.draw is not None:
            values = np.empty(n - remainder, dtype)
            self._words.advance(lambda key, used: box_muller.draw(values, key, used))
            if std != 1 or mean != 0:
                for start in range(0, len(values), _CHUNK):
                    values[start : start + _CHUNK] = _shift(values[start : start + _CHUNK], mean, std)
        else:
            values = _in_chunks(block, (n - remainder,), dtype)
        if remainder:
            if dtype.itemsize > 2:  # PyTorch also draws the incomplete block, except in 16 bits
                draw(remainder)
            values = np.concatenate([values[: n - 16], _cast(block(16), dtype)])
        return values.reshape(shape)

    def _normal_pairs(self, count: int, dtype: np.dtype) -> np.ndarray:
        """Draw standard normal float64 values in pairs; the second value of an incomplete pair is kept for the next call.

        `dtype` is the dtype to which the caller casts the values; it selects the precision of the logarithm.
        """
        with self._pairs:
            waiting = [] if self._spare is None else [self._spare]
            uniforms = self._doubles(2 * ((count - len(waiting) + 1) // 2))
            if count < 16:  # a Python loop is faster
                uniform = iter(uniforms.tolist()).__next__
                return np.array([self._next_normal(uniform) for _ in range(count)])
            log1p = _function("log1p", dtype)
            radius, angle = np.sqrt(-2 * log1p(-uniforms[1::2])), 2 * math.pi * uniforms[::2]
            values = np.stack([radius * np.cos(angle), radius * np.sin(angle)], 1)
            values = np.concatenate([waiting, values.ravel()])
            self._spare = float(values[count]) if len(values) > count else None
            return values[:count]

    def _next_normal(self, uniform: Uniform) -> float:
        """Draw one standard normal float64 value, from the same pairs as `_normal_pairs`."""
        value, self._spare = self._spare, None
        if value is None:
            angle = 2 * math.pi * uniform()
            radius = math.sqrt(-2 * math.log1p(-uniform()))
            value, self._spare = radius * math.cos(angle), radius * math.sin(angle)
        return value

    # --- distributions by rejection ---

    @without_warnings
    def poisson(self, rates: np.ndarray) -> np.ndarray:
        """Draw a Poisson count for each rate, in the dtype of `rates`."""
        if not (rates >= 0).all():
            raise RuntimeError("invalid Poisson rate, expected rate to be non-negative")
        counts = np.where(np.isinf(rates), np.inf, 0)
        live = (rates > 0) & np.isfinite(rates)
        counts[live] = self._by_rejection("poisson", rates[live])
        return _cast(counts, rates.dtype)

    @without_warnings
    def binomial(self, count: np.ndarray, prob: np.ndarray) -> np.ndarray:
        """Draw the number of successes in `count` trials of probability `prob`, two arrays of the same shape and dtype."""
        flip = prob > 0.5
        chance = np.where(flip, 1 - prob, prob)
        live = (count > 0) & (chance > 0) & np.isfinite(count)
        n, p = count[live], chance[live]
        deviation, mode = np.sqrt(n * p * (1 - p)), np.floor((n + 1) * p)
        log_miss = np.log1p(-p.astype(float)).astype(p.dtype)
        hits = np.where(np.isnan(prob), np.nan, np.zeros(count.shape))
        hits[live] = self._by_rejection("binomial", n, p, n * p, deviation, mode, p / (1 - p), log_miss)
        hits = np.where(count > 0, np.where(flip, count - hits, hits), 0)
        return np.where(np.isinf(count) & (prob > 0), np.inf, hits).astype(count.dtype)

    @without_warnings
    def gamma(self, alpha: np.ndarray) -> np.ndarray:
        """Draw gamma values of unit scale, one for each shape parameter `alpha`, in its dtype.

        Results are at least the smallest normal number, never zero.
        """
        return np.maximum(self._gamma(alpha).astype(alpha.dtype), np.finfo(alpha.dtype).tiny)

    @without_warnings
    def dirichlet(self, alpha: np.ndarray) -> np.ndarray:
        """Draw points on the simplex, one for each row of concentrations: gamma values divided by their sum."""
        weights = np.maximum(self._gamma(alpha.astype(float)), np.finfo(float).tiny)
        share = weights / weights.sum(-1, keepdims=alpha.ndim > 0)
        one = alpha.dtype.type(1)
        return np.clip(share.astype(alpha.dtype), np.finfo(alpha.dtype).tiny, np.nextafter(one, 0 * one))

    def _gamma(self, alpha: np.ndarray) -> np.ndarray:
        values, live = np.where(alpha >= 0, 0.0, np.nan), alpha > 0
        alpha = alpha[live]
        small = alpha < 1  # drawn with alpha + 1, then scaled by a power of a uniform value
        d = np.where(small, alpha + 1, alpha) - _THIRD
        boosts = np.where(small, 1 / alpha, 0)
        values[live] = self._by_rejection("gamma", d, boosts)
        return values

    def _by_rejection(self, sampler: str, *parameters: np.ndarray) -> np.ndarray:
        """Draw a float64 value by a sampler of `rejection` for each element of its parameters, which are vectors."""
        vectors = [vector.astype(float) for vector in parameters]
        count = len(vectors[0])
        with self._pairs:
            if rejection.draw is not None and count > _FEW_VALUES and all(np.isfinite(vector).all() for vector in vectors):
                values = np.empty(count)

                def fill(key: np.ndarray, used: int) -> int:
                    used, self._spare = rejection.draw(sampler, values, vectors, key, used, self._spare)
                    return used

                self._words.advance(fill)
                return values
            stream = rejection.Stream(count, self._doubles, self._spare)
            rejection.SAMPLERS[sampler](stream, *(vector.tolist() for vector in vectors))
            self._spare = stream.spare
        return np.array(stream.values)

    # --- words and uniforms ---

    def _floats(self, count: int) -> np.ndarray:
        """Draw float32 from [0, 1), 24 bits each."""
        return singles(self._words.take(count))

    def _doubles(self, count: int) -> np.ndarray:
        """Draw float64 from [0, 1), 53 bits each."""
        bits = self._words.take_wide(count)
        bits &= _MASK_53
        return bits.view(np.int64) * _SCALE_53


# --- algorithms ---

_THIRD = np.float32(1 / 3)  # PyTorch rounds this constant to float32


def _box_muller(unit: np.ndarray) -> np.ndarray:
    """Convert uniform values to normal ones in place, in blocks of eight radii and eight angles."""
    eight = np.dtype((np.void, 8 * unit.itemsize))  # eight values, copied as one item
    halves = unit.view(eight).reshape(-1, 2)
    radius, angle = (halves[:, side].copy().view(unit.dtype) for side in (0, 1))
    box_muller.radii(radius)
    for side, direction in enumerate(box_muller.directions(angle)):
        direction *= radius
        halves[:, side] = direction.view(eight)
    return unit


def _shift(values: np.ndarray, mean: float, std: float) -> np.ndarray:
    """Return `values * std + mean`, rounded once, in place if possible."""
    if std != 1 and mean != 0:
        return _fused_multiply_add(values, values.dtype.type(std), values.dtype.type(mean))
    if std != 1:
        values *= std
    values += mean  # also if `mean` is 0, because adding 0 turns -0 into 0
    return values


def _shuffled(n: int, words: list[int]) -> list[int]:
    """Shuffle the integers below `n`: swap each except the last with itself or a later one, chosen by its random word."""
    places = list(range(n))
    for step, word in enumerate(words):
        target = step + word % (n - step)
        places[step], places[target] = places[target], places[step]
    return places


def _swap_all(steps: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Return `steps` after swapping elements `i` and `targets[i]` (never less than `i`) for each `i` in turn.

    This is computed without a loop over steps.  After step i, element i is final: it is the number that position `targets[i]`
    held before that step.  If an earlier step had the same target, the last such step k moved to it the number that position k
    held before step k; otherwise the target still holds its own number.  The number that position k held before step k came in
    the same way from the last earlier step with target k.  The loop follows these links to the end.
    """
    order = np.sort(targets << 32 | steps)  # by target, then by step
    target, step = order >> 32, order & _WORD
    again = np.flatnonzero(target[1:] == target[:-1])
    earlier = np.full(len(steps), -1)  # the last earlier step with the target of this step
    earlier[step[again + 1]] = step[again]
    last = np.full(len(steps), -1)  # the last step before k with target k
    last[target] = step
    last = np.where(last == steps, earlier, last)
    origin = np.where(last < 0, steps, last)
    while not np.array_equal(origin, further := origin[origin]):
        origin = further
    return np.where(earlier < 0, targets, origin[earlier])


# --- arithmetic ---


def _in_chunks(draw: Callable[[int], np.ndarray], shape: Shape, dtype: np.dtype) -> np.ndarray:
    """Return an array of `shape` filled by `draw(count)`, chunk by chunk."""
    n, dtype = math.prod(shape), np.dtype(dtype)
    if n == 0:
        return np.empty(shape, dtype)
    if n <= _CHUNK:
        return _cast(draw(n), dtype).reshape(shape)
    out = np.empty(n, dtype)
    for start in range(0, n, _CHUNK):
        part = out[start : start + _CHUNK]
        part[...] = _cast(draw(part.size), dtype)
    return out.reshape(shape)


_in_chunks_quietly = without_warnings(_in_chunks)


def _cast(values: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Cast to `dtype`; 16-bit floats are rounded from float32, as in PyTorch."""
    if dtype.itemsize == 2 and _is_float(dtype):
        return values.astype(np.float32, copy=False).astype(dtype)
    return values.astype(dtype, copy=False)


def _fused_multiply_add(x: np.ndarray, scale: np.floating, shift: np.floating) -> np.ndarray:
    """Return `x * scale + shift` rounded once, like the fused multiply-add instruction that PyTorch uses.

    float32 is computed in float64. float64 adds the rounding errors of product (Dekker 1971) and sum.
    """
    if x.dtype == np.float32:
        return (x * np.float64(scale) + np.float64(shift)).astype(np.float32)
    product = x * scale
    (x_high, x_low), (scale_high, scale_low) = _split(x), _split(scale)
    error = x_high * scale_high - product + x_high * scale_low + x_low * scale_high + x_low * scale_low
    total = product + shift
    added = total - product
    return total + ((product - (total - added)) + (shift - added) + error)


def _split(x: np.ndarray | np.floating) -> tuple[np.ndarray | np.floating, np.ndarray | np.floating]:
    """Split `x` into a sum of two numbers with half the digits each (Veltkamp 1968)."""
    shifted = x * (2.0**27 + 1)
    high = shifted - (shifted - x)
    return high, x - high


def _remainder(words: np.ndarray, span: int) -> np.ndarray:
    """Return `words % span`; in NumPy, a division by a constant is far faster than a remainder."""
    if span == 2**64:
        return words
    divisor = words.dtype.type(span)
    return words - words // divisor * divisor


def _bounds(low: int, high: int | None, dtype: np.dtype) -> tuple[int, int]:
    """Return the range of integers to draw; for floats it is narrowed so that rounded values stay inside."""
    if high is None:
        if low == -(2**63):
            return 0, 2**64  # every 64-bit word, reinterpreted as signed
        high = _largest_integer(dtype) + 1
    if low >= high:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    if _is_float(dtype):
        above, below = dtype.type(low + 1), dtype.type(high - 1)
        if int(above) < low:
            low = int(np.nextafter(above, dtype.type(np.inf)))
        if int(below) >= high:
            high = int(np.nextafter(below, dtype.type(-np.inf)))
    return low, high


def _largest_integer(dtype: np.dtype) -> int:
    """Return the largest integer of a dtype; for floats, the limit up to which all integers are representable."""
    if _is_float(dtype):
        return 2 ** {"bfloat16": 8, "float16": 11, "float32": 24, "float64": 53}[dtype.name]
    return 1 if dtype.kind == "b" else np.iinfo(dtype).max


def _function(name: str, dtype: np.dtype) -> Callable[[np.ndarray], np.ndarray]:
    """Return a float64 function whose results the caller casts to `dtype`.

    On some processors, NumPy's logarithm and tangent differ in the last digit from the C library's, which PyTorch calls.  A cast
    to a smaller dtype hides the difference; for float64, `math` is called for each element.
    """
    if np.dtype(dtype).itemsize < 8:
        return getattr(np, name)
    exact = getattr(math, name)
    return lambda values: np.fromiter(map(exact, values.tolist()), float, values.size)


def _is_float(dtype: np.dtype) -> bool:
    return dtype.kind in "fV"  # kind V: bfloat16 of ml_dtypes


_COMPLEX_KINDS = ("c", "W")  # "W" is the kind of complex32


def _real(dtype: np.dtype) -> np.dtype:
    return np.dtype(f"f{dtype.itemsize // 2}")


def _as_complex(parts: np.ndarray, dtype: np.dtype) -> np.ndarray:
    return parts.view(dtype)[..., 0]

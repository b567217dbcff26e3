"""Random shapes, memory layouts and values for measurements. Equal seeds give the same results as in PyTorch."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import flambeau as torch

__all__ = ["FuzzedParameter", "FuzzedTensor", "Fuzzer", "ParameterAlias"]

_ATTEMPTS = 1000  # maximum number of draws until the parameters satisfy all constraints


class FuzzedParameter:
    """A random number that serves as a parameter of tensors.

    Args:
        name: the name of the parameter, which tensors refer to.
        minval: the minimum.
        maxval: the maximum. If both limits are ints, the parameter is an int.
        distribution: `"uniform"`, `"loguniform"`, or a dict from each possible value to its probability.
        strict: whether to draw this parameter only once, even if the others are drawn again to satisfy constraints.

    Raises:
        AssertionError: the distribution is unknown, or its probabilities are negative or do not sum to 1.

    Example:
        >>> import numpy
        >>> FuzzedParameter("n", 1, 10, "uniform").sample(numpy.random.RandomState(0))
        6
    """

    def __init__(
        self,
        name: str,
        minval: float | None = None,
        maxval: float | None = None,
        distribution: str | dict[Any, float] | None = None,
        strict: bool = False,
    ) -> None:
        if not isinstance(distribution, dict):
            if distribution not in ("loguniform", "uniform"):
                raise AssertionError(f"Unknown distribution: {distribution}")
        elif any(probability < 0 for probability in distribution.values()):
            raise AssertionError("Probabilities cannot be negative")
        elif abs(sum(distribution.values()) - 1) > 1e-5:
            raise AssertionError("Distribution is not normalized")
        elif minval is not None or maxval is not None:
            name = "minval" if minval is not None else "maxval"
            raise AssertionError(f"When passing a custom distribution, '{name}' must be None")
        self._name, self._minval, self._maxval, self._distribution = name, minval, maxval, distribution
        self.strict = strict

    @property
    def name(self) -> str:
        return self._name

    def sample(self, state: Any) -> Any:
        """Draw a value with the generator `state`, a `numpy.random.RandomState`."""
        low, high, distribution = self._minval, self._maxval, self._distribution
        if isinstance(distribution, dict):
            return list(distribution)[state.choice(len(distribution), p=tuple(distribution.values()))]
        assert low is not None and high is not None
        if distribution == "loguniform":
            return min(max(int(2 ** state.uniform(low=math.log2(low), high=math.log2(high))), low), high)
        if isinstance(low, int) and isinstance(high, int):
            return int(state.randint(low=low, high=high + 1))
        return state.uniform(low=low, high=high)


class ParameterAlias:
    """An alias of another parameter, used as a value of a `FuzzedParameter` distribution.

    Args:
        alias_to: the name of the other parameter.

    Example:
        >>> ParameterAlias("rows")
        ParameterAlias[alias_to: rows]
    """

    def __init__(self, alias_to: str) -> None:
        self.alias_to = alias_to

    def __repr__(self) -> str:
        return f"ParameterAlias[alias_to: {self.alias_to}]"


class FuzzedTensor:
    """A random tensor whose sizes depend on parameters.

    Args:
        name: the name of the tensor.
        size: the sizes: ints or names of parameters.
        steps: the tensor is a slice of a larger one, with these steps in its dimensions; 1 by default.
        probability_contiguous: the probability that the dimensions are not permuted in memory.
        min_elements: the minimum number of elements. Parameters that violate a limit are drawn again.
        max_elements: the maximum number of elements.
        max_allocation_bytes: the maximum size in memory.
        dim_parameter: the name of a parameter that gives the number of dimensions.
        roll_parameter: unused, as in PyTorch.
        dtype: the dtype of the tensor.
        cuda: whether to create the tensor on the CUDA device.
        tensor_constructor: creates the tensor from `size`, `dtype` and all parameters as keyword arguments.

    Example:
        >>> fuzzer = Fuzzer([FuzzedParameter("n", 2, 8, "uniform")], [FuzzedTensor("x", ("n", 3))], seed=0)
        >>> [(parameters["n"], tuple(tensors["x"].shape)) for tensors, _, parameters in fuzzer.take(2)]
        [(7, (7, 3)), (6, (6, 3))]
    """

    def __init__(
        self,
        name: str,
        size: tuple[str | int, ...],
        steps: tuple[str | int, ...] | None = None,
        probability_contiguous: float = 0.5,
        min_elements: int | None = None,
        max_elements: int | None = None,
        max_allocation_bytes: int | None = None,
        dim_parameter: str | None = None,
        roll_parameter: str | None = None,
        dtype: torch.dtype = torch.float32,
        cuda: bool = False,
        tensor_constructor: Callable[..., torch.Tensor] | None = None,
    ) -> None:
        self._name, self._size, self._steps = name, size, steps
        self._probability_contiguous = probability_contiguous
        self._min_elements, self._max_elements = min_elements, max_elements
        self._max_allocation_bytes = max_allocation_bytes
        self._dim_parameter = dim_parameter
        self._dtype, self._cuda = dtype, cuda
        self._tensor_constructor = tensor_constructor or self.default_tensor_constructor

    @property
    def name(self) -> str:
        return self._name

    @staticmethod
    def default_tensor_constructor(size: Sequence[int], dtype: torch.dtype, **kwargs: Any) -> torch.Tensor:
        """Return random numbers in [0, 1), or random integers from 1 to 126 for integer dtypes."""
        if dtype.is_floating_point or dtype.is_complex:
            return torch.rand(*size, dtype=dtype, device="cpu")
        return torch.randint(1, 127, size=size, dtype=dtype, device="cpu")

    def _make_tensor(self, params: dict[str, Any], state: Any) -> tuple[torch.Tensor, dict[str, Any]]:
        size, steps, allocation = self._get_size_and_steps(params)
        tensor = self._tensor_constructor(size=allocation, dtype=self._dtype, **params)
        if self._cuda:
            tensor = tensor.cuda()
        plain = list(range(len(size)))
        order = plain
        if state.rand() > self._probability_contiguous:
            while len(size) > 1 and list(order) == plain:
                order = state.permutation(tensor.dim())
            permuted = tensor.permute(tuple(int(dim) for dim in order)).contiguous()
            tensor = permuted.permute(tuple(sorted(plain, key=lambda position: order[position])))
        tensor = tensor[tuple(slice(0, n * step, step) for n, step in zip(size, steps, strict=True))]
        return tensor, {
            "numel": int(tensor.numel()),
            "order": order,
            "steps": steps,
            "is_contiguous": tensor.is_contiguous(),
            "dtype": str(self._dtype),
        }

    def _get_size_and_steps(self, params: dict[str, Any]) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
        """Return the sizes, the steps, and the sizes of the larger tensor that is sliced with these steps."""
        dim = len(self._size) if self._dim_parameter is None else params[self._dim_parameter]

        def resolved(values: Sequence[str | int]) -> tuple[int, ...]:
            numbers = tuple(params.get(value, value) for value in values)[:dim]  # type: ignore[arg-type]
            return numbers + (1,) * (dim - len(numbers))

        size, steps = resolved(self._size), resolved(self._steps or ())
        return size, steps, tuple(n * step for n, step in zip(size, steps, strict=True))

    def satisfies_constraints(self, params: dict[str, Any]) -> bool:
        """Whether a tensor with these parameters is within the limits on elements and bytes."""
        size, _, allocation = self._get_size_and_steps(params)
        elements = math.prod(map(int, size))
        if elements < 0:
            raise AssertionError("Computed number of elements is negative")
        nbytes = math.prod(map(int, allocation)) * self._dtype.itemsize
        return (
            (self._max_elements is None or elements <= self._max_elements)
            and (self._min_elements is None or elements >= self._min_elements)
            and (self._max_allocation_bytes is None or nbytes <= self._max_allocation_bytes)
        )


class Fuzzer:
    """Draw random parameters and create tensors from them.

    Args:
        parameters: the parameters, or lists of them.
        tensors: the tensors, or lists of them.
        constraints: functions that take the dict of parameters. All must return True, else the parameters are drawn again.
        seed: the seed of all random numbers, including those of `torch`. By default a random seed.

    Raises:
        ValueError: a parameter and a tensor have the same name.

    Example:
        >>> fuzzer = Fuzzer([FuzzedParameter("n", 1, 100, "loguniform")], [], [lambda p: p["n"] % 2 == 0], seed=1)
        >>> [parameters["n"] for _, _, parameters in fuzzer.take(3)], fuzzer.rejection_rate
        ([4, 2, 4], 0.5714285714285714)
    """

    def __init__(
        self,
        parameters: Sequence[FuzzedParameter | Sequence[FuzzedParameter]],
        tensors: Sequence[FuzzedTensor | Sequence[FuzzedTensor]],
        constraints: Sequence[Callable[[dict[str, Any]], bool]] | None = None,
        seed: int | None = None,
    ) -> None:
        import numpy as np

        self._seed = int(np.random.RandomState().randint(0, 2**32 - 1, dtype=np.int64)) if seed is None else seed
        self._parameters: list[FuzzedParameter] = _flatten(parameters, FuzzedParameter)
        self._tensors: list[FuzzedTensor] = _flatten(tensors, FuzzedTensor)
        self._constraints = constraints or ()
        names = {parameter.name for parameter in self._parameters} & {tensor.name for tensor in self._tensors}
        if names:
            raise ValueError(f"Duplicate names in parameters and tensors: {names}")
        self._rejections = self._total_generated = 0

    def take(self, n: int) -> Iterator[tuple[dict[str, torch.Tensor], dict[str, dict[str, Any]], dict[str, Any]]]:
        """Draw `n` times. Yield the tensors by name, their properties by name, and the parameters."""
        import numpy as np

        state = np.random.RandomState(self._seed)
        torch.manual_seed(int(state.randint(low=0, high=2**63, dtype=np.int64)))
        for _ in range(n):
            params = self._generate(state)
            made = {tensor.name: tensor._make_tensor(params, state) for tensor in self._tensors}
            yield {name: pair[0] for name, pair in made.items()}, {name: pair[1] for name, pair in made.items()}, params

    @property
    def rejection_rate(self) -> float:
        """The fraction of drawn parameter sets that violated a constraint."""
        return self._rejections / self._total_generated if self._total_generated else 0.0

    def _generate(self, state: Any) -> dict[str, Any]:
        strict: dict[str, Any] = {}
        for _ in range(_ATTEMPTS):
            params = {}
            for parameter in self._parameters:
                if not parameter.strict:
                    params[parameter.name] = parameter.sample(state)
                    continue
                if parameter.name not in strict:
                    strict[parameter.name] = parameter.sample(state)
                params[parameter.name] = strict[parameter.name]
            params = _resolve_aliases(params)
            self._total_generated += 1
            fits = all(constraint(params) for constraint in self._constraints)
            if fits and all(tensor.satisfies_constraints(params) for tensor in self._tensors):
                return params
            self._rejections += 1
        raise ValueError("Failed to generate a set of valid parameters.")


def _flatten(values: Sequence[Any], cls: type) -> list[Any]:
    return [item for value in values for item in ([value] if isinstance(value, cls) else value)]


def _resolve_aliases(params: dict[str, Any]) -> dict[str, Any]:
    """Replace aliases by the values of their parameters."""
    resolved = {}
    for name, value in params.items():
        seen = set()
        while isinstance(value, ParameterAlias):
            if value.alias_to in seen:
                raise ValueError(f"ParameterAlias cycle detected\n{params}")
            seen.add(value.alias_to)
            value = params[value.alias_to]
        resolved[name] = value
    return resolved

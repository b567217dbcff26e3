"""Random tensors, and tensors filled with random numbers."""

from __future__ import annotations

import inspect
import math
from collections.abc import Sequence
from typing import Any

from ..engine.calls.arguments import Number, as_float, as_int, as_python, check, types_of
from ..engine.calls.dispatch import require_dtype
from ..engine.calls.facts import FACTORY_OPTIONS, Kind, declare, register
from ..engine.calls.node_names import merge_nodes
from ..engine.calls.op import composite, op
from ..engine.calls.outputs import check_memory, resize
from ..engine.calls.overriding import handle_torch_function, may_override, relevant
from ..engine.calls.record import Out
from ..engine.calls.signatures import add_args, with_args
from ..engine.calls.tables import PUBLIC
from ..engine.calls.transform_hooks import hooks
from ..engine.devices.devices import DispatchKey, dispatch_key
from ..engine.devices.state import state
from ..engine.devices.warning import warn
from ..engine.tape.transforming import open_batches
from ..engine.tensors.memory_format import memory_order
from ..engine.tensors.tensor import Tensor, wrap
from ..engine.values import dtypes
from ..engine.values.dtypes import dtype as Dtype
from ..engine.values.promotion import DTYPES
from ..random import Generator, raw_generator
from .creation.from_shape import checked_shape, empty_like, publish_factory
from .creation.options import LIKE_ARGS, OPTION_ARGS, SIZE_ARGS, dtype_of_out, finish, key_for
from .views.views import tied

_FLOATING = (dtypes.FLOATING, dtypes.COMPLEX)
GENERATOR_ARGS = "    generator: the random number generator; None for the default generator of the device."


def _sampled(array: Any, key: DispatchKey) -> Tensor:
    """Convert an array from a generator to a tensor on the device of `key`."""
    if open_batches():
        return hooks.batches.sampled(array, key)
    array = array if type(array) is key.array_type else key.backend.from_host(array, key.device.index or 0)
    return wrap(array, key)


def _factory(name: str, doc: str, sampler: str) -> Any:
    def factory(
        *size: Any,
        generator: Generator | None = None,
        out: Tensor | None = None,
        dtype: Dtype | None = None,
        layout: Any = None,
        device: Any = None,
        requires_grad: bool | None = False,
        pin_memory: bool | None = False,
    ) -> Tensor:
        key = key_for(dtype, device, dtype_of_out(out))
        if key.dtype.category not in _FLOATING or key.dtype in dtypes.FLOAT8:
            raise NotImplementedError(f"\"{_KERNEL[name]}\" not implemented for '{key.dtype.legacy_name}'")
        shape = checked_shape(name, size)
        return finish(draw(key, shape, generator), requires_grad, out, pin_memory)

    def draw(key: DispatchKey, shape: tuple[int, ...], generator: Generator | None = None) -> Tensor:
        return _sampled(getattr(raw_generator(generator, key.device), sampler)(shape, key.raw_dtype), key)

    args = f"{GENERATOR_ARGS}\n{SIZE_ARGS}"
    return publish_factory(name, doc, args, factory, draw, Kind.RANDOM)


_KERNEL = {"rand": "check_uniform_bounds", "randn": "normal_kernel_cpu"}


rand = _factory(
    "rand",
    """Return random numbers from the uniform distribution on [0, 1).

    >>> _ = torch.manual_seed(0); torch.rand(2)
    tensor([0.4963, 0.7682])
    """,
    "uniform",
)
randn = _factory(
    "randn",
    """Return random numbers from the normal distribution with mean 0 and variance 1.

    >>> torch.randn(2, 3).shape
    torch.Size([2, 3])
    """,
    "normal",
)


def _like(name: str, fill: str) -> None:
    def like(
        input: Tensor,
        *,
        generator: Generator | None = None,
        dtype: Dtype | None = None,
        layout: Any = None,
        device: Any = None,
        requires_grad: bool | None = False,
        memory_format: Any = None,
        pin_memory: bool | None = False,
    ) -> Tensor:
        target = _to_fill(input, dtype=dtype, device=device, memory_format=memory_format)
        result = getattr(target, fill)(generator=generator)
        return finish(result, requires_grad, pin_memory=pin_memory)

    doc = f"Call `torch.{name}` with the shape, dtype, device and memory order of `input`."
    publish_factory(f"{name}_like", doc, f"{GENERATOR_ARGS}\n{LIKE_ARGS}", like, kind=Kind.RANDOM)


_like("rand", "uniform_")
_like("randn", "normal_")


@declare(
    kind=Kind.RANDOM,
    schema=(
        "randint(SymInt high, SymInt[] size, *, ScalarType? dtype=4, Layout? layout=None, Device? device=None, bool? "
        "pin_memory=None) -> Tensor",
        "randint.low(SymInt low, SymInt high, SymInt[] size, *, ScalarType? dtype=4, Layout? layout=None, Device? "
        "device=None, bool? pin_memory=None) -> Tensor",
    ),
)
@with_args(OPTION_ARGS)
def randint(
    low: int | None = None,
    high: Any = None,
    size: Sequence[int] | None = None,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: Dtype | None = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool | None = False,
    pin_memory: bool | None = False,
) -> Tensor:
    """Draw integers uniformly from `[low, high)`, by default from 0: `randint(high, size)` or `randint(low, high, size)`.

    Args:
        low: the smallest integer; None for 0.
        high: the bound above the largest integer.
        size: the shape of the result.
        generator: the random number generator; None for the default generator of the device.
        out: a tensor that the result is written to.
        dtype: the dtype of the result; None for int64.

    Raises:
        RuntimeError: `low` is not below `high`, or the dtype cannot represent both.

    >>> _ = torch.manual_seed(0); torch.randint(10, (3,))
    tensor([4, 9, 3])
    """
    if size is None:
        if high is None:
            raise TypeError("randint() received an invalid combination of arguments: size is missing")
        if isinstance(high, (tuple, list)):
            low, high, size = 0, low, high
        else:
            raise TypeError("randint(): argument 'size' must be tuple of ints")
    elif high is None:
        low, high = None, low
    low, high = as_int("randint", "low", 0 if low is None else low), as_int("randint", "high", high)
    key = key_for(dtype, device, dtype_of_out(out) or dtypes.int64)
    _check_random_bounds(key.dtype, low, high)
    shape = checked_shape("randint", (size,))
    array = raw_generator(generator, key.device).integers(shape, key.raw_dtype, low, high)
    return finish(_sampled(array, key), requires_grad, out, pin_memory)


def _check_random_bounds(dtype: Dtype, low: int, high: int | None) -> None:
    """Raise RuntimeError unless `low < high` and `dtype` can represent both `low` and `high - 1`."""
    if dtype.category == dtypes.COMPLEX:
        raise RuntimeError("check_random_bounds handles only integral, floating-point and boolean types")
    if high is not None and low >= high:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    limits = dtypes.finfo(dtype) if dtype.is_floating_point else dtypes.iinfo(dtype) if dtype is not dtypes.bool_ else None
    least, most = (0, 1) if limits is None else (limits.min, limits.max)
    for name, bound in (("from", low), ("to - 1", low if high is None else high - 1)):
        if not least <= bound <= most:
            raise RuntimeError(f"{name} is out of bounds for {dtypes.c_name(dtype)}")
        digits = 0 if dtype.category != dtypes.FLOATING else 1 - round(math.log2(dtypes.finfo(dtype).eps))
        if digits and abs(bound) > 2**digits:
            warn(
                f"{name} is out of bounds [-(2^{digits}), 2^{digits}]. Due to precision limitations {dtypes.c_name(dtype)} can "
                "support discrete uniform distribution only within this range. This warning will become an error in version "
                "1.7 release, please fix the code in advance"
            )


@declare(kind=Kind.RANDOM)
@with_args(LIKE_ARGS)
def randint_like(
    input: Tensor,
    low: int | Tensor | None = None,
    high: int | None = None,
    *,
    generator: Generator | None = None,
    dtype: Dtype | None = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool | None = False,
    memory_format: Any = None,
    pin_memory: bool | None = False,
) -> Tensor:
    """Call `torch.randint` with the shape, dtype, device and memory order of `input`.

    Args:
        low: the smallest integer; None for 0. A single argument is `high`.
        high: the bound above the largest integer.
        generator: the random number generator; None for the default generator of the device.

    Raises:
        RuntimeError: `low` is not below `high`, or the dtype cannot represent both.

    >>> torch.randint_like(torch.ones(2, 3), 10).shape
    torch.Size([2, 3])
    """
    result = _to_fill(input, dtype=dtype, device=device, memory_format=memory_format)
    if low is None and high is None:
        raise TypeError('randint_like() missing 1 required positional arguments: "high"')
    if high is None and isinstance(low, Tensor):
        if low.ndim:
            raise RuntimeError("high must be a scalar tensor and on CPU")
        low = int(low)
    bounds = tuple(as_int("randint_like", "high", bound) for bound in ((0, low) if high is None else (low or 0, high)))
    _check_random_bounds(result.dtype, *bounds)
    return finish(result.random_(*bounds, generator=generator), requires_grad, pin_memory=pin_memory)


@declare(
    kind=Kind.RANDOM,
    schema=(
        "randperm(SymInt n, *, ScalarType? dtype=4, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
    ),
)
@with_args(OPTION_ARGS)
def randperm(
    n: int,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: Dtype | None = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool | None = False,
    pin_memory: bool | None = False,
) -> Tensor:
    """Return the integers from 0 to `n - 1` in random order (Fisher-Yates shuffle).

    Args:
        n: the number of integers.
        generator: the random number generator; None for the default generator of the device.
        out: a tensor that the result is written to.
        dtype: the dtype of the result; None for int64.

    Raises:
        RuntimeError: `n` is negative, or too large for the dtype.

    >>> torch.randperm(4).sort().values
    tensor([0, 1, 2, 3])
    """
    key = key_for(dtype, device, dtype_of_out(out) or dtypes.int64)
    if n < 0:
        raise RuntimeError(f"n must be non-negative, got{n}")
    if key.dtype.category != dtypes.COMPLEX and n > _largest_count(key.dtype) + 1:
        raise RuntimeError(f"n is too large for result tensor type: '{dtypes.c_name(key.dtype)}'")
    array = raw_generator(generator, key.device).permutation(n, key.raw_dtype)
    return finish(_sampled(array, key), requires_grad, out, pin_memory)


def _largest_count(dtype: Dtype) -> float:
    """Return the largest integer up to which `dtype` has all integers."""
    if dtype.category == dtypes.FLOATING:
        return 2 / dtypes.finfo(dtype).eps
    return 1 if dtype is dtypes.bool_ else dtypes.iinfo(dtype).max


for _function in (randint, randint_like, randperm):
    PUBLIC[_function.__name__] = _function


# --- distributions with parameters ----------------------------------------------------------------------------------


@declare(
    kind=Kind.RANDOM,
    schema=(
        "normal.Tensor_float(Tensor mean, float std=1., *, Generator? generator=None) -> Tensor",
        "normal.float_Tensor(float mean, Tensor std, *, Generator? generator=None) -> Tensor",
        "normal.Tensor_Tensor(Tensor mean, Tensor std, *, Generator? generator=None) -> Tensor",
        f"normal.float_float(float mean, float std, SymInt[] size, *, Generator? generator=None, {FACTORY_OPTIONS}) -> Tensor",
    ),
)
@with_args(OPTION_ARGS)
def normal(
    mean: Tensor | Number = 0.0,
    std: Tensor | Number = 1.0,
    size: Sequence[int] | None = None,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: Dtype | None = None,
    device: Any = None,
    requires_grad: bool | None = False,
    layout: Any = None,
    pin_memory: bool | None = False,
) -> Tensor:
    """Draw normal numbers with a mean and a standard deviation given as numbers (with `size`) or as tensors.

    Args:
        mean: the mean: a number, or a tensor of one mean for each element.
        std: the standard deviation: a number, or a tensor that can be broadcast with `mean`.
        size: the shape of the result, if `mean` and `std` are numbers.
        generator: the random number generator; None for the default generator of the device.
        out: a tensor that the result is written to.
        dtype: the dtype of the result, if `mean` and `std` are numbers; None for the default dtype.

    Raises:
        RuntimeError: a standard deviation is negative.

    >>> torch.normal(torch.zeros(2, 3), 1.0).shape
    torch.Size([2, 3])
    """
    if size is not None and not (isinstance(mean, (int, float)) and isinstance(std, (int, float))):
        check("normal", {"mean": "float", "std": "float"}, {"mean": mean, "std": std})
        mean, std = float(mean), float(std)
    if not isinstance(mean, Tensor) and not isinstance(std, Tensor):
        if size is None:
            raise TypeError("normal() received an invalid combination of arguments - got (float, float): size is missing")
        if std < 0:
            raise RuntimeError(f"normal expects std >= 0.0, but found std {float(std)}")
        key = key_for(dtype, device, dtype_of_out(out))
        if key.dtype.category not in _FLOATING:
            raise NotImplementedError(f"\"normal_kernel_cpu\" not implemented for '{key.dtype.legacy_name}'")
        array = raw_generator(generator, key.device).normal(checked_shape("normal", (size,)), key.raw_dtype, mean, std)
        return finish(_sampled(array, key), requires_grad, out, pin_memory)
    for parameter in (mean, std):
        if isinstance(parameter, Tensor):
            require_dtype("normal_kernel_cpu", parameter, "inexact")
            _lift_parameter(parameter)
    if isinstance(std, Tensor):
        if std.is_complex():
            raise RuntimeError("normal expects standard deviation to be non-complex")
        if std.numel() and std._key.backend.extremes(std._array)[0] < 0:
            raise RuntimeError("normal expects all elements of std >= 0.0")
    elif std < 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {float(std)}")
    if out is not None:
        check_memory(Out(0), out, (mean, std))
    like = mean if isinstance(mean, Tensor) else std
    from ..engine.calls.dispatch import common_shape

    shape = common_shape(*(parameter.shape for parameter in (mean, std) if isinstance(parameter, Tensor)))
    unit = raw_generator(generator, like.device).normal(shape, like._key.raw_dtype)
    sample = _sampled(unit, like._key) * _detach(std) + _detach(mean)
    parameters = [parameter for parameter in (mean, std) if isinstance(parameter, Tensor)]
    name = f"NormalBackward{3 if len(parameters) == 2 else 1 if like is mean else 2}"
    if out is not None and out.shape != sample.shape and out.dtype is sample.dtype:
        resize(out, sample, row_major=True)  # with a warning, unlike factories
    return finish(_record_sample(sample, name, *parameters), requires_grad, out, pin_memory)


def _detach(value: Any) -> Any:
    return value.detach() if isinstance(value, Tensor) else value


PUBLIC["normal"] = normal


def lift_to_batch(input: Tensor) -> Tensor:
    """Add the batch dimensions of all active `vmap` levels to a tensor that will be filled with random numbers."""
    return hooks.batches.lift(input, open_batches())


def _to_fill(input: Tensor, *, dtype: Any, device: Any, memory_format: Any) -> Tensor:
    """Return a new tensor like `input` to be filled with random numbers, batched at all active `vmap` levels."""
    if not open_batches():
        return empty_like(input, dtype=dtype, device=device, memory_format=memory_format)
    # a copy is stored in the order of the whole batch, which is also the order of the random numbers
    return lift_to_batch(input.detach().to(dtype=dtype, device=device, copy=True, memory_format=memory_format))


def _lift_parameter(parameter: Tensor) -> Tensor:
    """Add the batch dimensions of all active `vmap` levels to a parameter, because its sample has them all."""
    return hooks.batches.lift_parameter(parameter) if open_batches() else parameter


def _for_sampler(parameter: Tensor) -> Any:
    """Return the parameter's array for a generator, copied to the host unless the backend has no data."""
    backend = parameter._key.backend
    return backend.to_host(parameter._array) if backend.has_data else parameter._array


def _drawn_like(input: Tensor, sampler: str, generator: Generator | None, *args: Any) -> Tensor:
    input = _lift_parameter(input)
    return _sampled(getattr(raw_generator(generator, input.device), sampler)(_for_sampler(input), *args), input._key)


def _record_sample(sample: Tensor, name: str, *parameters: Tensor) -> Tensor:
    """Record that a sample depends on the parameters of its distribution.

    As in PyTorch, the derivatives are zeros, and not undefined.
    """
    for parameter in parameters:
        sample = tied(sample, parameter)
    sample = merge_nodes(sample, name, parameters)
    if state.forward_levels:
        for parameter in parameters:
            if hooks.forward.has_tangent([parameter]):
                sample = sample + hooks.forward.along(lambda tensor: tensor.new_zeros(tensor.shape), parameter)
    return sample


@composite(
    out=Out.CONVERTED,
    kind=Kind.POINTWISE,
    random=True,
    schema=(
        "bernoulli(Tensor self, *, Generator? generator=None) -> Tensor",
        "bernoulli.p(Tensor self, float p, *, Generator? generator=None) -> Tensor",
        "bernoulli.Tensor(Tensor self, Tensor p, *, Generator? generator=None) -> Tensor",
    ),
)
def bernoulli(input: Tensor, p: Any = None, *, generator: Generator | None = None) -> Tensor:
    """Draw 0 or 1 for each element; the probability of 1 is the element, or `p` if given.

    Args:
        input: a tensor of probabilities; with `p`, only its shape and dtype are used.
        p: the probability for all elements: a number, or a tensor that can be broadcast to the shape of `input`.
        generator: the random number generator; None for the default one of the device.
        out: a tensor that the result is written to.

    Raises:
        RuntimeError: a probability is not in [0, 1].

    >>> torch.bernoulli(torch.tensor([0.0, 1.0]))
    tensor([0., 1.])
    """
    if p is not None or open_batches():
        sample = lift_to_batch(_lift_parameter(input).new_empty(input.shape))
        return _record_sample(sample.bernoulli_(input if p is None else p, generator=generator), "BernoulliBackward0", input)
    _check_probability(input)
    raw = raw_generator(generator, input.device)
    sample = raw.bernoulli(input._array.shape, input._key.raw_dtype, _for_sampler(input))
    return _record_sample(_sampled(sample, input._key), "BernoulliBackward0", input)


def _check_probability(p: Tensor) -> None:
    require_dtype("bernoulli_tensor_cpu_p_", p, "floating")
    low, high = p._key.backend.extremes(p._array) if p.numel() else (0, 1)
    if p._key.backend.has_data and not (low >= 0 and high <= 1):
        raise RuntimeError("Expected p_in >= 0 && p_in <= 1 to be true, but got false.")


@composite(out=Out.OWN_DTYPE, kind=Kind.OTHER, random=True)
def multinomial(input: Tensor, num_samples: int, replacement: bool = False, *, generator: Generator | None = None) -> Tensor:
    """Draw indices with probabilities proportional to each row of `input`, by default without replacement.

    Args:
        num_samples: the number of indices for each row.
        replacement: whether an index may be drawn several times.
        generator: the random number generator; None for the default generator of the device.

    Raises:
        RuntimeError: a weight is negative, infinite or NaN, or too few weights are nonzero.

    >>> torch.multinomial(torch.tensor([0.0, 1.0]), 3, replacement=True)
    tensor([1, 1, 1])
    """
    if input.ndim not in (1, 2):
        raise RuntimeError("prob_dist must be 1 or 2 dim")
    if input.dtype.category != dtypes.FLOATING:
        raise RuntimeError(f"multinomial only supports floating-point dtypes for input, got: {input.dtype.legacy_name}")
    if num_samples <= 0:
        raise RuntimeError("cannot sample n_sample <= 0 samples")
    if not replacement and num_samples > input.shape[-1]:
        raise RuntimeError("cannot sample n_sample > prob_dist.size(-1) samples without replacement")
    input = _lift_parameter(input)
    key = dispatch_key(dtypes.int64, input.device)
    raw = raw_generator(generator, input.device)
    return _sampled(raw.multinomial(_for_sampler(input), num_samples, replacement), key)


@composite(kind=Kind.POINTWISE, random=True, schema="poisson(Tensor self, Generator? generator=None) -> Tensor")
def poisson(input: Tensor, generator: Generator | None = None) -> Tensor:
    """Draw numbers from the Poisson distributions with the rates `input`.

    Args:
        generator: the random number generator; None for the default generator of the device.

    Raises:
        RuntimeError: a rate is negative.

    >>> torch.poisson(torch.tensor([0.0, 0.0]))
    tensor([0., 0.])
    """
    if input.numel() and input._key.backend.extremes(input._array)[0] < 0:
        raise RuntimeError("invalid Poisson rate, expected rate to be non-negative")
    return _record_sample(_drawn_like(input, "poisson", generator), "PoissonBackward0", input)


@composite(
    method=False,
    kind=Kind.POINTWISE,
    random=True,
    schema=("binomial(Tensor count, Tensor prob, Generator? generator=None) -> Tensor"),
)
def binomial(count: Tensor, prob: Tensor, generator: Generator | None = None) -> Tensor:
    """Draw numbers of successes in `count` trials, each with the probability `prob`.

    Args:
        count: a floating-point tensor of numbers of trials.
        prob: a tensor of probabilities with the dtype of `count` that can be broadcast to its shape.
        generator: the random number generator; None for the default one of the device.

    >>> torch.binomial(torch.tensor([10.0, 10.0]), torch.tensor([0.0, 1.0]))
    tensor([ 0., 10.])
    """
    return _drawn_like(count, "binomial", generator, _for_sampler(_lift_parameter(prob).expand(count.shape)))


@composite(
    method=False, kind=Kind.POINTWISE, random=True, schema=("_standard_gamma(Tensor self, Generator? generator=None) -> Tensor")
)
def _standard_gamma(input: Tensor, generator: Generator | None = None) -> Tensor:
    """Draw numbers from the gamma distributions with the shape parameters `input` and rate 1."""
    sample = _drawn_like(input.detach(), "gamma", generator)
    return _gamma_sample(input, sample._array) if _is_differentiated(input) else sample


def _is_differentiated(input: Tensor) -> bool:
    return input.requires_grad or (state.forward_levels > 0 and hooks.forward.has_tangent([input]))


@composite(
    method=False, kind=Kind.OTHER, random=True, schema=("_sample_dirichlet(Tensor self, Generator? generator=None) -> Tensor")
)
def _sample_dirichlet(input: Tensor, generator: Generator | None = None) -> Tensor:
    """Draw vectors from the Dirichlet distributions with the concentrations `input`."""
    sample = _drawn_like(input.detach(), "dirichlet", generator)
    return _dirichlet_sample(input, sample._array) if _is_differentiated(input) else sample


_gamma_sample = op(
    "gamma_sample", lambda xp, input, /, sample: sample,
    kind=Kind.POINTWISE, public=False, method=False, out=False,
    grad_fn="StandardGammaBackward0",
    input=lambda F, g, input, out: g * F.standard_gamma_grad(input, out),
)  # fmt: skip
_dirichlet_sample = op(
    "dirichlet_sample", lambda xp, input, /, sample: sample,
    kind=Kind.OTHER, public=False, method=False, out=False,
    grad_fn="DirichletBackward0",
    input=lambda F, g, input, out: F.dirichlet_grad(out, input, F.sum(input, (-1,), True)) * (g - F.sum(g * out, (-1,), True)),
)  # fmt: skip


# --- in place -----------------------------------------------------------------------------------------------------


def _refusal(name: str, dtype: Dtype) -> Exception:
    if name in ("cauchy", "exponential"):
        return RuntimeError(
            f"{name.capitalize()} distribution is a continuous probability distribution. dtype must be a "
            f"floating point but you specified {dtype.legacy_name}"
        )
    return NotImplementedError(f"\"{name}\" not implemented for '{dtype.legacy_name}'")


def _fill(name: str, doc: str, sample: Any, accepts: str = "floating", overloads: Sequence[str] = ()) -> None:
    """Define `Tensor.name_(parameters)`, which overwrites the elements with samples.

    `overloads` lists the schemas as "overload: parameters" in ATen notation.  If it is empty, the schema follows from the
    parameters of `sample`.
    """

    def method(self: Tensor, *args: Any, generator: Generator | None = None, **kwargs: Any) -> Tensor:
        from ..engine.calls.inplace import check_writable

        try:
            check_writable(self)
            if self.dtype.category not in DTYPES[accepts] or self.dtype in dtypes.FLOAT8:
                raise _refusal(name.rstrip("_"), self.dtype)
            if open_batches():
                return self._overwrite(hooks.batches.filled(self, name, args, {**kwargs, "generator": generator}))
            raw = raw_generator(generator, self.device)
            order = memory_order(self)
            shape = tuple(self._array.shape[d] for d in order)
            values = _sampled(sample(raw, self, shape, order, *args, **kwargs), self._key)
        except Exception:
            overriding = relevant([*args, *kwargs.values()])
            if may_override(overriding):
                return handle_torch_function(method, overriding, self, *args, generator=generator, **kwargs)  # type: ignore[no-any-return]  # an override may return anything
            check(name, types_of(method), signature.bind_partial(self, *args, **kwargs).arguments)
            raise
        back = sorted(range(len(order)), key=order.__getitem__)
        return self._overwrite(values if order == tuple(back) == tuple(range(len(order))) else values.permute(back))

    method.__name__ = method.__qualname__ = name
    method.__doc__ = add_args(doc, GENERATOR_ARGS)
    parts = [text.partition(":") for text in overloads]
    schemas = tuple(
        f"{name}{'.' * bool(overload)}{overload}(Tensor(a!) self,{parameters} *, Generator? generator=None) -> Tensor(a!)"
        for overload, _, parameters in parts
    )
    register(name, {"kind": Kind.POINTWISE, "random": True, "schema": schemas})
    signature = _filling_signature(method, sample)
    method.__signature__ = signature  # type: ignore[attr-defined]  # a function has attributes
    setattr(Tensor, name, method)


def _filling_signature(method: Any, sample: Any) -> inspect.Signature:
    """Return the signature of `method` with `*args` replaced by the parameters of the distribution, taken from `sample`."""
    outer = inspect.signature(method)
    tensor, _, generator, _ = outer.parameters.values()
    own = list(inspect.signature(sample).parameters.values())[4:]
    last = [p for p in own if p.kind is p.VAR_KEYWORD]
    return outer.replace(parameters=[tensor, *(p for p in own if p not in last), generator, *last])


def _from_argument(name: str, named: dict[str, Any], default: Any) -> Any:
    """Return `named["from"]`; `from` is a Python keyword, so it cannot be the name of a parameter."""
    value = named.pop("from", default)
    if named:
        raise TypeError(f"{name}() got an unexpected keyword argument '{next(iter(named))}'")
    return value


def _uniform(
    raw: Any, tensor: Tensor, shape: Any, order: Any, low: float = 0.0, high: float = 1.0, *, to: Any = None, **named: Any
) -> Any:
    low = as_float("uniform_", "from", _from_argument("uniform_", named, low))
    high = as_float("uniform_", "to", high if to is None else to)
    if low > high:
        raise RuntimeError(f"uniform_ expects to return a [from, to) range, but found from={low} > to={high}")
    largest = dtypes.finfo(tensor.dtype.to_real()).max
    for name, bound in (("from", low), ("to", high)):
        if abs(bound) > largest:
            raise RuntimeError(f"{name} is out of bounds for {dtypes.c_name(tensor.dtype.to_real())}")
    if high - low > largest:
        raise RuntimeError(
            f"uniform_ expects to-from <= std::numeric_limits<{tensor.dtype.legacy_name}>::max(), but found to={high} and "
            f"from={low} which result in to-from to exceed the limit"
        )
    return raw.uniform(shape, tensor._key.raw_dtype, low, high)


def _normal(raw: Any, tensor: Tensor, shape: Any, order: Any, mean: float = 0.0, std: float = 1.0) -> Any:
    mean, std = as_float("normal_", "mean", mean), as_float("normal_", "std", std)
    if std < 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std}")
    return raw.normal(shape, tensor._key.raw_dtype, mean, std, contiguous=tensor.is_contiguous())


def _random(raw: Any, tensor: Tensor, shape: Any, order: Any, *bounds: Any, to: Any = None, **named: Any) -> Any:
    """Sample integers for `random_()`, `random_(to)` and `random_(from, to)`, where `to` may be None."""
    if len(bounds) > 2:
        raise TypeError(f"random_() takes at most 2 positional arguments, but got {len(bounds)}")
    low = bounds[0] if len(bounds) == 2 or (bounds and to is not None) else None
    high = bounds[-1] if bounds and to is None else to
    high = as_python(high)
    low = as_python(_from_argument("random_", named, 0 if low is None and high is not None else low))
    if low is not None:
        _check_random_bounds(tensor.dtype, low, high)
    return raw.integers(shape, tensor._key.raw_dtype, low, high)


def _exponential(raw: Any, tensor: Tensor, shape: Any, order: Any, lambd: float = 1.0) -> Any:
    return raw.exponential(shape, tensor._key.raw_dtype, as_float("exponential_", "lambd", lambd))


def _geometric(raw: Any, tensor: Tensor, shape: Any, order: Any, p: float) -> Any:
    return raw.geometric(shape, tensor._key.raw_dtype, as_float("geometric_", "p", p))


def _cauchy(raw: Any, tensor: Tensor, shape: Any, order: Any, median: float = 0.0, sigma: float = 1.0) -> Any:
    median, sigma = as_float("cauchy_", "median", median), as_float("cauchy_", "sigma", sigma)
    return raw.cauchy(shape, tensor._key.raw_dtype, median, sigma)


def _log_normal(raw: Any, tensor: Tensor, shape: Any, order: Any, mean: float = 1.0, std: float = 2.0) -> Any:
    mean, std = as_float("log_normal_", "mean", mean), as_float("log_normal_", "std", std)
    return raw.log_normal(shape, tensor._key.raw_dtype, mean, std)


def _bernoulli_fill(raw: Any, tensor: Tensor, shape: Any, order: Any, p: Any = 0.5) -> Any:
    if isinstance(p, Tensor):
        check_memory(Out(0), tensor, (p,))
        p = _for_sampler(p.expand(tensor.shape).permute(order))
    elif not 0 <= p <= 1:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p}")
    return raw.bernoulli(shape, tensor._key.raw_dtype, p)


_fill(
    "uniform_",
    """Fill with uniform random numbers from `[from, to)`.

    Args:
        low: the lower bound, by position; its keyword is `from`.
        high, to: the upper bound, by position or by keyword.
    """,
    _uniform,
    "inexact",
    [": float from=0, float to=1,"],
)
_fill(
    "normal_",
    """Fill with normal random numbers.

    Args:
        mean: the mean.
        std: the standard deviation, not negative.
    """,
    _normal,
    "inexact",
    [": float mean=0, float std=1,"],
)
_fill(
    "random_",
    """Fill with random integers from `[from, to)`, `[0, to)`, or the range of the dtype.

    Args:
        *bounds: `to`, or `from` and `to`; nothing for the range of the dtype.
        to: the upper bound, by keyword.
    """,
    _random,
    "real",
    [":", "to: int to,", "from: int from, int? to,"],
)
_fill(
    "bernoulli_",
    """Fill with 1 with probability `p`, else 0.

    Args:
        p: the probability: a number, or a tensor that can be broadcast to the shape of `self`.
    """,
    _bernoulli_fill,
    "real",
    ["Tensor: Tensor p,", "float: float p=0.5,"],
)
_fill(
    "exponential_",
    """Fill with exponential random numbers.

    Args:
        lambd: the rate, the inverse of the mean.
    """,
    _exponential,
)
_fill(
    "geometric_",
    """Fill with geometric random numbers: trials up to the first success.

    Args:
        p: the probability of success of a trial.
    """,
    _geometric,
    "real numbers",
)
_fill(
    "cauchy_",
    """Fill with Cauchy random numbers.

    Args:
        median: the median.
        sigma: the half width of the density at half of its maximum.
    """,
    _cauchy,
)
_fill(
    "log_normal_",
    """Fill with numbers whose logarithms are normal random numbers.

    Args:
        mean, std: the mean and the standard deviation of the logarithms.
    """,
    _log_normal,
)

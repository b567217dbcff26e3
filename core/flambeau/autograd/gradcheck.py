"""`gradcheck` and `gradgradcheck`: compare derivatives with finite differences."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ..engine.calls.tables import PUBLIC
from ..engine.tape.tensor_class import RECORDED as F
from ..engine.tensors.tensor import Tensor
from ..engine.values import dtypes
from ..operations.creation.from_shape import zeros, zeros_like
from ..operations.sampling import rand
from ..random import Generator
from ..transforms import forward_ad
from ..transforms.batching.vmap import vmap
from .backward import grad
from .function import Function

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]

Tensors = Sequence[Any]  # arguments or results of the function under test; may contain values that are not tensors


class GradcheckError(RuntimeError):
    """Raised by `gradcheck` and `gradgradcheck` if a derivative is wrong."""


def gradcheck(
    func: Callable[..., Any],
    inputs: Any,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Compare the derivatives of `func` at `inputs` with central differences; return True if they agree.

    Args:
        func: takes tensors and returns a tensor or several.
        inputs: a tensor or a tuple; those that require grad should be float64 or complex128.
        eps: the step of the differences.
        atol, rtol: the tolerances, as in `torch.allclose`.
        raise_exception: raise an error if the check fails, instead of returning False.
        nondet_tol: the largest accepted difference between two backward passes.
        check_undefined_grad: check that an output without a gradient counts as one with a zero gradient.
        check_grad_dtypes: check that gradients have the dtypes of their inputs.
        check_batched_grad, check_batched_forward_grad: also check the derivatives under `torch.vmap`.
        check_forward_ad, check_backward_ad: which modes of differentiation to check.
        fast_mode: compare one random projection of the Jacobian instead of the full Jacobian.
        masked: has no effect; in PyTorch it concerns sparse tensors.

    Raises:
        GradcheckError: a derivative is wrong.
        ValueError: no input requires grad.

    >>> x = torch.linspace(0, 1, 3, dtype=torch.float64, requires_grad=True)
    >>> torch.autograd.gradcheck(torch.sin, x)
    True
    """
    assert check_forward_ad or check_backward_ad, "Expected at least one of check_forward_ad or check_backward_ad to be True"
    assert check_backward_ad or not check_batched_grad, "Setting check_batched_grad=True requires check_backward_ad to be True"
    assert check_forward_ad or not check_batched_forward_grad, (
        "Setting check_batched_forward_grad=True requires check_forward_ad to be True"
    )
    check = _Check(func, _as_tuple(inputs), eps, atol, rtol, nondet_tol, check_grad_dtypes, fast_mode)
    try:
        if check_backward_ad:
            check.backward()
        if check_forward_ad:
            check.forward()
        if check_batched_forward_grad:
            check.batched_forward()
        if check_backward_ad:
            if check_batched_grad:
                check.batched_backward()
            check.proportional_to_grad_output()
            if check_undefined_grad:
                check.undefined_gradients()
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(
    func: Callable[..., Any],
    inputs: Any,
    grad_outputs: Any = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """Check the second derivatives of `func` by `gradcheck` of its gradient.

    Args:
        func: takes tensors and returns a tensor or several.
        inputs: a tensor or a tuple; those that require grad should be float64 or complex128.
        grad_outputs: weights of the outputs; random by default.
        gen_non_contig_grad_outputs: make the random weights non-contiguous.
        check_rev_over_rev, check_fwd_over_rev: whether to differentiate the gradient in reverse mode, and in forward mode.
        eps, atol, rtol, raise_exception, nondet_tol: as for `gradcheck`.
        check_undefined_grad, check_grad_dtypes, check_batched_grad, fast_mode, masked: as for `gradcheck`.

    >>> x = torch.linspace(0, 1, 3, dtype=torch.float64, requires_grad=True)
    >>> torch.autograd.gradgradcheck(torch.sin, x)
    True
    """
    assert check_fwd_over_rev or check_rev_over_rev, (
        "Expected at least one of check_fwd_over_rev or check_rev_over_rev to be True"
    )
    assert check_rev_over_rev or not check_undefined_grad, (
        "Setting check_undefined_grad=True requires check_rev_over_rev to be True"
    )
    inputs = _as_tuple(inputs)
    weights = (
        _as_tuple(grad_outputs)
        if grad_outputs is not None
        else tuple(_random_weight(output, gen_non_contig_grad_outputs) for output in _differentiable(func(*inputs)))
    )
    requires_grad = [isinstance(tensor, Tensor) and tensor.requires_grad for tensor in (*inputs, *weights)]

    def gradient(*args: Any) -> tuple[Any, ...]:
        leaves = [arg.requires_grad_() if flag else arg for arg, flag in zip(args, requires_grad, strict=True)]
        tensors, outer = leaves[: len(inputs)], leaves[len(inputs) :]
        gradients = grad(
            _differentiable(func(*tensors)),
            [tensor for tensor, flag in zip(tensors, requires_grad, strict=False) if flag],
            outer,
            create_graph=True,
            allow_unused=True,
        )
        return tuple(gradient for gradient in gradients if gradient is not None)

    return gradcheck(
        gradient,
        inputs + weights,
        eps=eps,
        atol=atol,
        rtol=rtol,
        raise_exception=raise_exception,
        nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad,
        check_grad_dtypes=check_grad_dtypes,
        check_batched_grad=check_batched_grad,
        check_forward_ad=check_fwd_over_rev,
        check_backward_ad=check_rev_over_rev,
        fast_mode=fast_mode,
        masked=masked,
    )


# In PyTorch 0.2, `from torch.autograd import gradcheck` imports the module, and programs call `gradcheck.gradcheck(...)`.
gradcheck.gradcheck = gradcheck  # type: ignore[attr-defined]
gradcheck.gradgradcheck = gradgradcheck  # type: ignore[attr-defined]
gradcheck.GradcheckError = GradcheckError  # type: ignore[attr-defined]


# --- small helpers ------------------------------------------------------------------------------------------------


def _as_tuple(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def _differentiable(outputs: Any) -> tuple[Any, ...]:
    return tuple(output for output in _as_tuple(outputs) if isinstance(output, Tensor) and output.requires_grad)


def _is_floating(value: Any) -> bool:
    return isinstance(value, Tensor) and (value.is_floating_point() or value.is_complex())


def _random_weight(like: Any, noncontiguous: bool) -> Any:
    shape = (*like.shape, 2) if noncontiguous else like.shape
    weight = 2 * rand(shape, dtype=like.dtype, device=like.device) - 1
    return (weight[..., 0] if noncontiguous else weight).requires_grad_()


def _on_cpu(tensor: Any) -> Any:
    """Copy to the CPU, where results are compared; the function under test runs on its own devices."""
    return tensor.detach().to("cpu", copy=True)


def _close(first: Any, second: Any, rtol: float, atol: float) -> bool:
    common = dtypes.promote_types(first.dtype, second.dtype)
    return bool(F.allclose(first.to(common), second.to(common), rtol, atol))


def _is_zero(tensor: Any) -> bool:
    return not bool((_on_cpu(tensor) != 0).any())


def _directions(tensor: Any) -> Iterator[Any]:
    """Iterate over the unit tensors (one element 1, others 0) with the tensor's shape, on the CPU."""
    for index in range(tensor.numel()):
        unit = zeros(tensor.numel(), dtype=tensor.dtype, device="cpu")
        unit[index] = 1
        yield unit.reshape(tensor.shape)


def _random_direction(tensor: Any, generator: Any) -> Any:
    """Return nonnegative random numbers of norm 1, as PyTorch draws them: no element changes by more than `eps`."""
    numbers = rand(tensor.shape, generator=generator, device="cpu").to(tensor.dtype)
    if tensor.is_complex():
        numbers = numbers + 1j * rand(tensor.shape, generator=generator, device="cpu").to(tensor.dtype)
    return numbers / numbers.norm() if numbers.numel() else numbers


def _random_batch(tensor: Any) -> Any:
    return F.stack([PUBLIC["randn_like"](tensor) for _ in range(2)])


# --- the check ----------------------------------------------------------------------------------------------------


class _Check:
    """One call of `gradcheck`.  Its Jacobians have a row per input element and a column per output element."""

    def __init__(
        self,
        func: Callable[..., Any],
        inputs: Tensors,
        eps: float,
        atol: float,
        rtol: float,
        nondet_tol: float,
        check_dtypes: bool,
        fast: bool,
    ) -> None:
        self.func, self.inputs, self.eps, self.atol, self.rtol = func, inputs, eps, atol, rtol
        self.nondet_tol, self.check_dtypes, self.fast = nondet_tol, check_dtypes, fast
        self.generator = Generator()  # with its default seed, so that a check is repeatable
        self.indices = [index for index, input in enumerate(inputs) if isinstance(input, Tensor) and input.requires_grad]
        self.check_inputs()
        self.outputs = _differentiable(func(*inputs))

    def check_inputs(self) -> None:
        if not self.indices:
            raise ValueError(
                "gradcheck expects at least one input tensor to require gradient, but none of them have requires_grad=True."
            )
        for index in self.indices:
            input = self.inputs[index]
            if input.dtype not in (dtypes.float64, dtypes.complex128):
                warnings.warn(
                    f"Input #{index} requires gradient and is not a double precision floating point or complex. This "
                    "check will likely fail if all the inputs are not of double precision floating point or complex. ",
                    stacklevel=4,
                )
            if any(step == 0 and size > 1 for step, size in zip(input.stride(), input.shape, strict=True)):
                raise RuntimeError(
                    f"The {index}th input has a dimension with stride 0. gradcheck only supports inputs that are "
                    "non-overlapping to be able to compute the numerical gradients correctly. You should call "
                    ".contiguous on the input before passing it to gradcheck."
                )

    # --- backward mode ---

    def backward(self) -> None:
        if not self.outputs:
            self.check_no_dependence()
            return
        for part, prefix in self.output_parts():
            outputs = _differentiable(part(*self.inputs))
            compare = self.compare_projections if self.fast else self.compare_jacobians
            compare(part, outputs, prefix)

    def output_parts(self) -> list[tuple[Callable[..., Any], Callable[[int], str]]]:
        """Return the functions to check, with prefixes for error messages: `func`, or its imaginary and real parts if complex."""
        if not any(output.is_complex() for output in self.outputs):
            return [(self.func, lambda output: "")]

        def part(name: str) -> tuple[Callable[..., Any], Callable[[int], str]]:
            component = F.imag if name == "imaginary" else F.real

            def of_outputs(*inputs: Any) -> Any:
                return tuple(
                    component(output) if isinstance(output, Tensor) and output.is_complex() else output
                    for output in _as_tuple(self.func(*inputs))
                )

            prefix = f"While considering the {name} part of complex outputs only, "
            return of_outputs, lambda output: prefix if self.outputs[output].is_complex() else ""

        return [part("imaginary"), part("real")]

    def compare_jacobians(self, func: Callable[..., Any], outputs: Tensors, prefix: Callable[[int], str]) -> None:
        numerical = [self.numerical_jacobian(func, self.inputs[index]) for index in self.indices]
        for i, output in enumerate(outputs):
            for j, analytical in enumerate(self.analytical_jacobians(output)):
                if not _close(analytical, numerical[j][i], self.rtol, self.atol):
                    raise GradcheckError(prefix(i) + _mismatch(i, j, numerical[j][i], analytical))

    def numerical_jacobian(self, func: Callable[..., Any], target: Any) -> list[Any]:
        """Return the Jacobian of each differentiable output by central differences, changing `target` in place."""
        rows: list[list[Any]] = []
        for direction in _directions(target):
            row = self.difference(func, target, direction)
            if target.is_complex():  # the gradient is defined as d/dRe + i d/dIm
                row = [re + 1j * im for re, im in zip(row, self.difference(func, target, 1j * direction), strict=True)]
            rows.append([derivative.reshape(-1) for derivative in row])
        if not rows:
            outputs = _differentiable(func(*self.inputs))
            return [zeros(0, output.numel(), dtype=output.dtype, device="cpu") for output in outputs]
        return [F.stack(column) for column in zip(*rows, strict=True)]

    def difference(self, func: Callable[..., Any], target: Any, direction: Any) -> list[Any]:
        """Return the derivatives of the differentiable outputs along `direction`, by a central difference."""
        data = target.data
        original = _on_cpu(data)
        data.copy_(original + self.eps * direction)
        above = [_on_cpu(output) for output in _differentiable(func(*self.inputs))]
        data.copy_(original - self.eps * direction)
        below = [_on_cpu(output) for output in _differentiable(func(*self.inputs))]
        data.copy_(original)
        for plus, minus in zip(above, below, strict=True):
            if plus.shape != minus.shape or plus.dtype != minus.dtype:
                what = "shape" if plus.shape != minus.shape else "dtype"
                raise AssertionError(
                    f"Expected `func` to return outputs with the same {what} when inputs are perturbed by "
                    f"{self.eps}, but got: {what}s {getattr(plus, what)} and "
                    f"{getattr(minus, what)}."
                )
        return [(plus - minus) / (2 * self.eps) for plus, minus in zip(above, below, strict=True)]

    def analytical_jacobians(self, output: Any) -> list[Any]:
        """Return the Jacobians of one output with respect to each input, by one backward pass per element."""
        targets = [self.inputs[index] for index in self.indices]
        columns: list[list[Any]] = [[] for _ in targets]
        for weight in _directions(output):
            for column, target, gradient in zip(columns, targets, self.gradients(output, targets, weight), strict=True):
                column.append(zeros_like(target, device="cpu").reshape(-1) if gradient is None else gradient.reshape(-1))
        return [
            F.stack(column, 1) if column else zeros(target.numel(), 0, dtype=target.dtype, device="cpu")
            for column, target in zip(columns, targets, strict=True)
        ]

    def gradients(self, output: Any, targets: Tensors, weight: Any) -> list[Any]:
        """Return the gradients of `output` with respect to `targets`; raise if two backward passes give different gradients."""
        first, second = (
            [
                None if gradient is None else _on_cpu(gradient)
                for gradient in grad(output, targets, weight.to(output.device, copy=True), retain_graph=True, allow_unused=True)
            ]
            for _ in range(2)
        )
        for a, b, target in zip(first, second, targets, strict=True):
            if a is None:
                continue
            if self.check_dtypes and a.dtype != target.dtype:
                raise GradcheckError("Gradient has dtype mismatch")
            if a.shape != target.shape:
                raise GradcheckError("Analytical gradient has incorrect size")
            if a.numel() and bool((a - b).abs().max() > self.nondet_tol):
                raise GradcheckError(
                    "Backward is not reentrant, i.e., running backward with same input and grad_output "
                    "multiple times gives different values, although analytical gradient matches numerical "
                    f"gradient.The tolerance for nondeterminism was {self.nondet_tol}."
                )
        return first

    def compare_projections(self, func: Callable[..., Any], outputs: Tensors, prefix: Callable[[int], str]) -> None:
        """Compare one number per input and output: the Jacobian contracted with a random direction and a random weight."""
        for j, index in enumerate(self.indices):
            target = self.inputs[index]
            direction = _random_direction(target, self.generator)
            slopes = self.difference(func, target, direction)
            for i, output in enumerate(outputs):
                weight = _random_direction(output, self.generator)
                (gradient,) = self.gradients(output, [target], weight)
                analytical = zeros((), device="cpu") if gradient is None else (gradient.conj() * direction).sum()
                analytical = analytical.real if analytical.is_complex() else analytical
                numerical = (slopes[i] * weight).sum()
                scale = max(1.0, float(direction.abs().sum()) * float(weight.abs().sum()))
                if not _close(analytical, numerical, self.rtol, self.atol * scale):
                    raise GradcheckError(prefix(i) + _mismatch(i, j, numerical, analytical))

    def check_no_dependence(self) -> None:
        """If no output requires grad, check by finite differences that no output depends on the inputs."""
        floating = [output for output in _as_tuple(self.func(*self.inputs)) if _is_floating(output)]
        if not floating:
            return

        def as_leaves(*inputs: Any) -> Any:  # make the outputs require grad, so that `numerical_jacobian` includes them
            return tuple(output.detach().requires_grad_() for output in _as_tuple(self.func(*inputs)) if _is_floating(output))

        for index in self.indices:
            for jacobian in self.numerical_jacobian(as_leaves, self.inputs[index]):
                if not _is_zero(jacobian):
                    raise GradcheckError("Numerical gradient for function expected to be zero")

    # --- forward mode ---

    def forward(self) -> None:
        differentiable = [isinstance(output, Tensor) and output.requires_grad for output in _as_tuple(self.func(*self.inputs))]
        for j, index in enumerate(self.indices):
            target = self.inputs[index]
            for part in (1, 1j) if target.is_complex() else (1,):
                for direction in [_random_direction(target, self.generator)] if self.fast else _directions(target):
                    direction = part * direction
                    numerical = self.difference(self.func, target, direction)
                    with forward_ad.dual_level():
                        inputs = [input.detach() if isinstance(input, Tensor) else input for input in self.inputs]
                        for other in self.indices:  # all inputs have a tangent, as functions may expect
                            tangent = direction.to(target.device) if other == index else zeros_like(inputs[other])
                            inputs[other] = forward_ad.make_dual(inputs[other], tangent)
                        duals = itertools.compress(_as_tuple(self.func(*inputs)), differentiable)
                        tangents = [forward_ad.unpack_dual(dual).tangent for dual in duals]
                    self.compare_tangents(j, numerical, tangents, "imaginary" if part == 1j else "real", target.is_complex())

    def compare_tangents(self, j: int, numerical: Tensors, tangents: Tensors, part: str, is_complex: bool) -> None:
        prefix = f"While considering the {part} part of complex inputs only, " if is_complex else ""
        for i, (expected, tangent) in enumerate(zip(numerical, tangents, strict=True)):
            analytical = zeros_like(expected) if tangent is None else _on_cpu(tangent)
            if self.check_dtypes and analytical.dtype != expected.dtype:
                raise GradcheckError("Forward AD gradient has dtype mismatch.")
            if not _close(analytical, expected, self.rtol, self.atol):
                raise GradcheckError(prefix + _mismatch(i, j, expected, analytical, "computed with forward mode "))

    # --- other properties ---

    def batched_backward(self) -> None:
        """Check that the vjp of a batch of weights equals the vjp of each weight."""
        targets = [self.inputs[index] for index in self.indices]
        for i, output in enumerate(self.outputs):

            def vjp(weight: Any, output: Any = output) -> tuple[Any, ...]:
                gradients = grad(output, targets, weight, retain_graph=True, allow_unused=True)
                return tuple(zeros_like(t) if g is None else g for g, t in zip(gradients, targets, strict=True))

            weights = _random_batch(output)
            self.compare_batched(vjp, weights, f"For output {i} and input {{}}:\n")

    def batched_forward(self) -> None:
        """Check that the jvp of a batch of tangents equals the jvp of each tangent."""
        for j, index in enumerate(self.indices):

            def jvp(tangent: Any, index: int = index) -> tuple[Any, ...]:
                inputs = [input.detach() if isinstance(input, Tensor) else input for input in self.inputs]
                with forward_ad.dual_level():
                    inputs[index] = forward_ad.make_dual(inputs[index], tangent)
                    pairs = [forward_ad.unpack_dual(output) for output in _as_tuple(self.func(*inputs)) if _is_floating(output)]
                return tuple(zeros_like(value) if tangent is None else tangent for value, tangent in pairs)

            tangents = _random_batch(self.inputs[index])
            self.compare_batched(jvp, tangents, f"For output {{}} and input {j} (forward mode):\n")

    def compare_batched(self, function: Callable[..., tuple[Any, ...]], batch: Any, where: str) -> None:
        expected = [F.stack(row) for row in zip(*(function(row) for row in batch), strict=True)]
        try:
            actual = vmap(function)(batch)
        except RuntimeError as error:
            raise GradcheckError(f"While computing batched gradients, got: {error}") from error
        for index, (a, b) in enumerate(zip(actual, expected, strict=True)):
            if not F.allclose(a, b):
                raise GradcheckError(
                    f"{where.format(index)}\ngot:\n{a}\n\nexpected:\n{b}\n\nBatched and single gradients differ."
                )

    def proportional_to_grad_output(self) -> None:
        """Check that zero weights give zero gradients with the dtype, device and shape of the inputs."""
        if not self.outputs:
            return
        targets = [self.inputs[index] for index in self.indices]
        weights = [zeros_like(output) for output in self.outputs]
        for gradient, target in zip(grad(self.outputs, targets, weights, allow_unused=True), targets, strict=True):
            if gradient is None:
                continue
            if not _is_zero(gradient):
                raise GradcheckError("backward not multiplied by grad_output")
            for what, label in (("dtype", "type"), ("device", "device"), ("shape", "size")):
                if getattr(gradient, what) != getattr(target, what):
                    raise GradcheckError(f"grad is incorrect {label}")

    def undefined_gradients(self) -> None:
        """Check that missing gradients of outputs count as zero: of all outputs together, and of each output separately."""
        if not self.outputs:
            return
        everything = set(range(len(self.outputs)))
        for undefined in [everything, *([{index} for index in everything] if len(everything) > 1 else [])]:
            outputs = _differentiable(self.func(*self.inputs))
            cut = [_NoGradient.apply(output) if index in undefined else output for index, output in enumerate(outputs)]
            targets = [self.inputs[index] for index in self.indices]
            try:
                gradients = grad(cut, targets, [zeros_like(output) for output in cut], allow_unused=True)
            except RuntimeError as error:
                raise GradcheckError("Expected backward function to handle undefined output grads.") from error
            if not all(gradient is None or _is_zero(gradient) for gradient in gradients):
                raise GradcheckError(
                    "Expected all input grads to be undefined or zero when all output grads are undefined or zero."
                )


class _NoGradient(Function):
    """The identity in forward; its backward returns None."""

    @staticmethod
    def forward(ctx: Any, tensor: Any) -> Any:
        return tensor.view_as(tensor)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return None


def _mismatch(output: int, input: int, numerical: Any, analytical: Any, mode: str = "") -> str:
    return (
        f"Jacobian {mode}mismatch for output {output} with respect to input {input},\n"
        f"numerical:{numerical}\nanalytical:{analytical}\n"
    )

"""`torch.autograd.functional`: Jacobians and Hessians, and their products with vectors.

The transforms in `flambeau.func` compute the same for functions with nested arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import flambeau as torch

from ..engine.devices.aliases import private_names
from ..engine.tape.grad_mode import enable_grad, is_grad_enabled, set_grad_enabled
from ..transforms import forward_ad

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]
__getattr__ = private_names(__name__)


def vjp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """Return `(func(*inputs), v^T J)`: the outputs, and the product of a vector and the Jacobian of `func`.

    Args:
        func: a function of tensors that returns a tensor or a tuple of tensors.
        inputs: a tensor or a tuple of tensors.
        v: a weight for each output; may be omitted for a single output with one element.
        create_graph: make the results differentiable.
        strict: raise RuntimeError if an output does not depend on an input, instead of returning zeros.

    >>> torch.autograd.functional.vjp(torch.exp, torch.zeros(2), torch.tensor([1.0, 2.0]))
    (tensor([1., 1.]), tensor([1., 2.]))
    """
    call = _Call("vjp", func, inputs, create_graph, strict)
    weights = call.vector(
        v,
        call.outputs,
        call.single_output,
        "The vector v can only be None if the user-provided function returns a single Tensor with a single element.",
    )
    with set_grad_enabled(create_graph or is_grad_enabled()):
        gradients = call.filled(_gradients(call.outputs, call.inputs, weights, create_graph), call.inputs, "back")
    return call.results(gradients, call.single_input)


def jvp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """Return `(func(*inputs), J v)`: the outputs, and the product of the Jacobian of `func` and a vector.

    The arguments are those of `vjp`.

    >>> torch.autograd.functional.jvp(torch.exp, torch.zeros(2), torch.tensor([1.0, 2.0]))
    (tensor([1., 1.]), tensor([1., 2.]))
    """
    call = _Call("jvp", func, inputs, create_graph, strict)
    tangents = call.vector(
        v,
        call.inputs,
        call.single_input,
        "The vector v can only be None if the input to the user-provided function is a single Tensor with a single element.",
    )
    with enable_grad():  # the gradients `J^T w` are linear in the weights `w`; their vjp with `v` is `J v`
        weights = tuple(torch.zeros_like(output, requires_grad=True) for output in call.outputs)
        pulled = _gradients(call.outputs, call.inputs, weights, True)
        call.require("grad_inputs", pulled)
    with set_grad_enabled(create_graph or is_grad_enabled()):
        products = call.filled(_gradients(pulled, weights, tangents, create_graph), call.outputs, "back_trick")
    return call.results(products, call.single_output)


def vhp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """Return `(func(*inputs), v^T H)`: the output, a single number, and the product of a vector and the Hessian of `func`.

    >>> torch.autograd.functional.vhp(lambda x: (x**3).sum(), torch.ones(2), torch.tensor([1.0, 0.0]))
    (tensor(2.), tensor([6., 0.]))
    """
    call, jacobian, v = _first_derivative("vhp", func, inputs, v, create_graph, strict)
    with set_grad_enabled(create_graph or is_grad_enabled()):
        products = call.filled(_gradients(jacobian, call.inputs, v, create_graph), call.inputs, "double_back")
    return call.results(products, call.single_input)


def hvp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """Return `(func(*inputs), H v)`.  The Hessian is symmetric, so `vhp` returns the same and is faster."""
    call, jacobian, v = _first_derivative("hvp", func, inputs, v, create_graph, strict)
    with enable_grad():
        weights = tuple(torch.zeros_like(input, requires_grad=True) for input in call.inputs)
        pulled = _gradients(jacobian, call.inputs, weights, True)
    with set_grad_enabled(create_graph or is_grad_enabled()):
        products = call.filled(_gradients(pulled, weights, v, create_graph), call.inputs, "double_back_trick")
    return call.results(products, call.single_input)


def _first_derivative(name: str, func: Any, inputs: Any, v: Any, create_graph: bool, strict: bool) -> tuple[_Call, Any, Any]:
    call = _Call(name, func, inputs, create_graph, strict)
    weights = call.vector(
        v,
        call.inputs,
        call.single_input,
        "The vector v can only be None if the input to the user-provided function is a single Tensor with a single element.",
    )
    if not call.single_output:
        raise RuntimeError(f"The function given to {name} should return a single Tensor")
    if call.outputs[0].numel() != 1:
        raise RuntimeError(f"The Tensor returned by the function given to {name} should contain a single element")
    with enable_grad():
        jacobian = _gradients(call.outputs, call.inputs, None, True)
        call.require("jacobian", jacobian)
    return call, jacobian, weights


def jacobian(
    func: Callable[..., Any],
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """Compute the Jacobian of `func`: for an output of shape `S` and an input of shape `T`, a tensor of shape `S + T`.

    Args:
        func: a function of tensors that returns a tensor or a tuple of tensors.
        inputs: a tensor or a tuple of tensors; for a tuple, each output has a tuple of Jacobians.
        create_graph: make the Jacobian differentiable.
        strict: raise RuntimeError if an output does not depend on an input, instead of returning zeros.
        vectorize: compute all rows in one batched pass.
        strategy: `"reverse-mode"`, or `"forward-mode"`, which requires `vectorize`.

    >>> torch.autograd.functional.jacobian(lambda x: x**2, torch.ones(2))
    tensor([[2., 0.],
            [0., 2.]])
    """
    assert strategy in ("forward-mode", "reverse-mode"), (
        'Expected strategy to be either "forward-mode" or "reverse-mode". Hint: If your function has more outputs than inputs, '
        '"forward-mode" tends to be more performant. Otherwise, prefer to use "reverse-mode".'
    )
    if strategy == "forward-mode":
        return _forward_jacobian(func, inputs, create_graph, strict, vectorize)
    call = _Call("jacobian", func, inputs, create_graph, strict)
    if vectorize and strict:
        raise RuntimeError(
            "torch.autograd.functional.jacobian: `strict=True` and `vectorized=True` are not supported "
            "together. Please either set `strict=False` or `vectorize=False`."
        )
    with enable_grad():
        rows = _all_rows if vectorize else _row_by_row
        jacobians = [
            tuple(part.reshape(output.shape + input.shape) for part, input in zip(parts, call.inputs, strict=True))
            for output, parts in zip(call.outputs, rows(call), strict=True)
        ]
    if not create_graph:
        jacobians = [tuple(part.detach() for part in parts) for parts in jacobians]
    return _unpacked([_unpacked(parts, call.single_input) for parts in jacobians], call.single_output)


def _row_by_row(call: _Call) -> list[list[Any]]:
    """Compute the Jacobian rows for each output and input by one backward pass per row."""
    jacobians = []
    for i, output in enumerate(call.outputs):
        rows: list[list[Any]] = [[] for _ in call.inputs]
        for element in output.reshape(-1).unbind(0):
            gradients = _gradients((element,), call.inputs, None, call.create_graph, retain_graph=True)
            for j, (column, gradient, input) in enumerate(zip(rows, gradients, call.inputs, strict=True)):
                if gradient is None and call.strict:
                    raise RuntimeError(
                        f"Output {i} of the user-provided function is independent of input {j}. This is not "
                        "allowed in strict mode."
                    )
                if gradient is not None and call.strict and call.create_graph and not gradient.requires_grad:
                    raise RuntimeError(
                        f"The jacobian of the user-provided function is independent of input {i}. This is not "
                        "allowed in strict mode when create_graph=True."
                    )
                column.append(torch.zeros_like(input) if gradient is None else gradient)
        jacobians.append(
            [
                torch.stack(column) if column else input.new_zeros((0, *input.shape))
                for column, input in zip(rows, call.inputs, strict=True)
            ]
        )
    return jacobians


def _all_rows(call: _Call) -> list[list[Any]]:
    """Compute the Jacobian rows for each output and input by one batched backward pass."""
    numels = [output.numel() for output in call.outputs]
    flat = tuple(output.reshape(-1) for output in call.outputs)
    gradients = _gradients(flat, call.inputs, standard_basis(flat), call.create_graph, is_grads_batched=True)
    by_input = [
        (input.new_zeros((sum(numels), *input.shape)) if gradient is None else gradient).split(numels)
        for gradient, input in zip(gradients, call.inputs, strict=True)
    ]
    return [list(blocks) for blocks in zip(*by_input, strict=True)]


def standard_basis(tensors: Sequence[Any]) -> tuple[Any, ...]:
    """Return the standard basis of the space of all elements of the tensors, as one batch of basis vectors per tensor.

    For `N` elements in all, the batch for a tensor has shape `(N, *tensor.shape)`.
    """
    total, start, basis = sum(tensor.numel() for tensor in tensors), 0, []
    for tensor in tensors:
        block = torch.zeros(total, tensor.numel(), dtype=tensor.dtype, device=tensor.device)
        block[start : start + tensor.numel()] = torch.eye(tensor.numel(), dtype=tensor.dtype, device=tensor.device)
        if tensor._key.wraps:
            block = tensor.new_zeros(block.shape) + block  # a wrapper of the same class
        basis.append(block.reshape(total, *tensor.shape))
        start += tensor.numel()
    return tuple(basis)


def _forward_jacobian(func: Callable[..., Any], inputs: Any, create_graph: bool, strict: bool, vectorize: bool) -> Any:
    name = "torch.autograd.functional.jacobian: "
    for requested, option in ((create_graph, "create_graph"), (strict, "strict")):
        if requested:
            error_type = NotImplementedError if option == "create_graph" else RuntimeError
            raise error_type(
                f'{name}`{option}=True` and `strategy="forward-mode"` are not supported together (yet). Please either set '
                f'`{option}=False` or `strategy="reverse-mode"`.'
            )
    if not vectorize:
        raise NotImplementedError(
            "Computing Jacobian using forward-AD or forward-over-reverse Hessian isonly implemented for `vectorize=True`."
        )
    single_input, tensors = tensors_in(inputs, "inputs", "jacobian")
    numels = [tensor.numel() for tensor in tensors]
    structure: list[Any] = []

    def push(*tangents: Any) -> tuple[Any, ...]:
        with forward_ad.dual_level():
            duals = [forward_ad.make_dual(tensor, tangent) for tensor, tangent in zip(tensors, tangents, strict=True)]
            single, outputs = tensors_in(func(*duals), "outputs", "jacobian")
            pairs = [forward_ad.unpack_dual(output) for output in outputs]
        structure[:] = [single, [value.shape for value, _ in pairs]]
        return tuple(torch.zeros_like(value) if tangent is None else tangent for value, tangent in pairs)

    columns = torch.vmap(push, out_dims=-1)(*standard_basis(tensors))
    single_output, shapes = structure
    jacobians = [
        tuple(
            part.reshape(tuple(shape) + tuple(tensor.shape))
            for part, tensor in zip(block.split(numels, -1), tensors, strict=True)
        )
        for block, shape in zip(columns, shapes, strict=True)
    ]
    return _unpacked([_unpacked(parts, single_input) for parts in jacobians], single_output)


def hessian(
    func: Callable[..., Any],
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """Compute the second derivatives of `func`, which returns one number; the arguments are those of `jacobian`.

    For a tuple of inputs, the result is a tuple of tuples, by first and second input.

    >>> torch.autograd.functional.hessian(lambda x: (x**3).sum(), torch.ones(2))
    tensor([[6., 0.],
            [0., 6.]])
    """
    single_input, tensors = tensors_in(inputs, "inputs", "hessian")
    assert outer_jacobian_strategy in ("forward-mode", "reverse-mode"), (
        'Expected strategy to be either "forward-mode" or "reverse-mode".'
    )

    def number(*args: Any) -> Any:
        single, outputs = tensors_in(func(*args), "outputs of the user-provided function", "hessian")
        _require("outputs", outputs, strict)
        if not single:
            raise RuntimeError("The function given to hessian should return a single Tensor")
        if outputs[0].numel() != 1:
            raise RuntimeError("The Tensor returned by the function given to hessian should contain a single element")
        return outputs[0].squeeze()

    def gradient(*args: Any) -> Any:
        if outer_jacobian_strategy == "forward-mode":
            for arg in args:
                arg.requires_grad = True
        gradients = jacobian(number, args, create_graph=True)
        _require("jacobian", gradients, strict)
        return gradients

    rows = jacobian(gradient, tensors, create_graph, strict, vectorize, outer_jacobian_strategy)
    return rows[0][0] if single_input else rows


# --- calls of the user's function ---------------------------------------------------------------------------------


class _Call:
    """One call of the user's function: its inputs to differentiate by, its outputs, and the options."""

    def __init__(self, name: str, func: Callable[..., Any], inputs: Any, create_graph: bool, strict: bool) -> None:
        self.name, self.create_graph, self.strict = name, create_graph, strict
        with enable_grad():
            self.single_input, tensors = tensors_in(inputs, "inputs", name)
            self.inputs = tuple(self.point(tensor, True) for tensor in tensors)
            self.single_output, self.outputs = tensors_in(func(*self.inputs), "outputs of the user-provided function", name)
        self.require("outputs", self.outputs)

    def point(self, tensor: Any, leaf: bool) -> Any:
        """Return a view of the tensor in its graph if the result must be differentiable (`create_graph`), else a detached one."""
        if self.create_graph and tensor.requires_grad:
            return tensor.view_as(tensor)
        point = tensor.detach()
        return point.requires_grad_(leaf)

    def vector(self, v: Any, like: Sequence[Any], single: bool, missing: str) -> Any:
        """Return the vector `v` as a tuple of tensors, after checking their shapes against those of `like`."""
        if v is None:
            if len(like) != 1 or like[0].numel() != 1:
                raise RuntimeError(missing)
            return None
        with enable_grad():
            vectors = tuple(self.point(vector, False) for vector in tensors_in(v, "v", self.name)[1])
        if len(vectors) != len(like):
            raise RuntimeError(
                "The given v should contain a single Tensor."
                if single
                else f"v is a tuple of invalid length: should be {len(like)} but got {len(vectors)}."
            )
        for index, (vector, expected) in enumerate(zip(vectors, like, strict=True)):
            if vector.shape != expected.shape:
                where = "" if single else f"Entry {index} in "
                raise RuntimeError(f"{where}v has invalid size: should be {expected.shape} but got {vector.shape}.")
        return vectors

    def require(self, what: str, tensors: Sequence[Any]) -> None:
        _require(what, tensors, self.strict)

    def filled(self, gradients: Sequence[Any], like: Sequence[Any], stage: str) -> tuple[Any, ...]:
        """Replace missing gradients by zeros; raise in strict mode."""
        filled = []
        for index, (gradient, tensor) in enumerate(zip(gradients, like, strict=True)):
            if gradient is None and self.strict:
                raise RuntimeError(_INDEPENDENT[stage].format(index))
            if gradient is not None and self.strict and self.create_graph and not gradient.requires_grad:
                what = "hessian" if "double" in stage else "jacobian"
                raise RuntimeError(
                    f"The {what} of the user-provided function is independent of input {index}. This is not "
                    "allowed in strict mode when create_graph=True."
                )
            filled.append(torch.zeros_like(tensor) if gradient is None else gradient)
        return tuple(filled)

    def results(self, values: tuple[Any, ...], single: bool) -> tuple[Any, Any]:
        outputs = self.outputs
        if not self.create_graph:
            outputs, values = (tuple(tensor.detach() for tensor in tensors) for tensors in (outputs, values))
        return _unpacked(outputs, self.single_output), _unpacked(values, single)


_INDEPENDENT = {
    "back": "The output of the user-provided function is independent of input {}. This is not allowed in strict mode.",
    "back_trick": "The gradient with respect to the input is independent of entry {} in the grad_outputs when using the double "
                  "backward trick to compute forward mode gradients. This is not allowed in strict mode.",
    "double_back": "The jacobian of the user-provided function is independent of input {}. This is not allowed in strict mode.",
    "double_back_trick": "The hessian of the user-provided function is independent of entry {} in the grad_jacobian. This is not "
                         "allowed in strict mode as it prevents from using the double backward trick to replace forward mode AD.",
}  # fmt: skip
_NOT_DIFFERENTIABLE = {
    "jacobian": "While computing the hessian, found that the jacobian of the user-provided function with respect to input {} is "
                "independent of the input. This is not allowed in strict mode. You should ensure that your function is twice "
                "differentiable and that the jacobian depends on the inputs (this would be violated by a linear function for "
                "example).",
    "grad_inputs": "The gradient with respect to input {} is independent of the inputs of the user-provided function. This is "
                   "not allowed in strict mode.",
    "outputs": "Output {} of the user-provided function does not require gradients. The outputs must be computed in a "
               "differentiable manner from the input when running in strict mode.",
}  # fmt: skip


def _require(what: str, tensors: Sequence[Any], strict: bool) -> None:
    """Raise in strict mode if any of the tensors does not require grad."""
    for index, tensor in enumerate(tensors if strict else ()):
        if tensor is None:
            raise RuntimeError(_INDEPENDENT["back"].format(index))
        if not tensor.requires_grad:
            raise RuntimeError(_NOT_DIFFERENTIABLE[what].format(index))


def tensors_in(value: Any, what: str, name: str) -> tuple[bool, tuple[Any, ...]]:
    """Return whether `value` is a single tensor, and its tensors as a tuple."""
    single = not isinstance(value, tuple)
    values = (value,) if single else value
    for index, item in enumerate(values):
        if not isinstance(item, torch.Tensor):
            where = f"given {what} has" if single else f"value at index {index} has"
            raise TypeError(
                f"The {what} given to {name} must be either a Tensor or a tuple of Tensors but the {where} type {type(item)}."
            )
    return single, values


def _unpacked(values: Any, single: bool) -> Any:
    return values[0] if single else tuple(values)


def _gradients(
    outputs: Sequence[Any], inputs: Sequence[Any], weights: Any, create_graph: bool, **options: Any
) -> tuple[Any, ...]:
    """Call `autograd.grad` for the outputs that require grad; return None for each input if no output does."""
    pairs = [
        (output, weight)
        for output, weight in zip(outputs, weights or (None,) * len(outputs), strict=True)
        if output is not None and output.requires_grad
    ]
    if not pairs:
        return (None,) * len(inputs)
    return torch.autograd.grad(
        [output for output, _ in pairs],
        inputs,
        [weight for _, weight in pairs],
        create_graph=create_graph,
        allow_unused=True,
        **options,
    )

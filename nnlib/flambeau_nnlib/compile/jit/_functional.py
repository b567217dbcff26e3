"""Translate calls of `torch.nn.functional` in scripted code to operator calls."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any

import flambeau as torch
from flambeau.extension import facts_of
from flambeau.extension.schemas import FunctionSchema, named_arguments, namespace_of, operator_name, schemas

from ...nn import functional as F
from ._resizing import interpolation

if TYPE_CHECKING:
    from ._expressions import Expressions

__all__ = ["LISTS", "TOP", "functional_call", "space_of", "torch_call"]

# String options of grid_sample, with the numbers that its operator takes.
_NUMBERED: dict[str, dict[str, Any]] = {
    "mode": {"'bilinear'": 0, "'nearest'": 1, "'bicubic'": 2},
    "padding_mode": {"'zeros'": 0, "'border'": 1, "'reflection'": 2},
    "align_corners": {"None": False, "False": False, "True": True},
}
_OF_PAIRS = ("aten::col2im", "aten::im2col")  # operators whose size arguments must be lists of two numbers
# `TOP`: functions whose operator has another name. `LISTS`: functions that also accept separate numbers where their
# operator takes a list.
TOP = {"concat": "cat", "true_divide": "div", "absolute": "abs"}
LISTS = frozenset({"view", "reshape", "permute", "expand", "repeat", "flip", "new_zeros", "new_ones", "new_empty", "tile",
                    "zeros", "ones", "empty", "rand", "randn"})  # fmt: skip


def functional_call(name: str, args: list[str], kwargs: dict[str, str]) -> str | None:
    """Return the code for a call of `torch.nn.functional.NAME`, or None if the function is not handled here.

    Args:
        name: the name of the function.
        args, kwargs: the code of its arguments.

    Raises:
        TypeError: the arguments do not match the function's parameters.
    """
    if name == "softmin":
        if "None" in (*args[1:2], kwargs.get("dim", "None" if len(args) < 2 else "")):
            return None
        text = functional_call("softmax", args, kwargs)
        return text and text.replace("softmax(", "softmax(-", 1)
    if name == "grid_sample":
        return _grid_sample(args, kwargs)
    operator, function = operator_name(name), getattr(F, name)
    given = inspect.signature(function).bind(*args, **kwargs).arguments
    values = [_Code(value) for value in args], {key: _Code(value) for key, value in kwargs.items()}
    for schema in schemas(operator) if namespace_of(operator) == "aten" else ():
        named = named_arguments(schema, function, *values, missing=_Code("False"))
        texts = None if named is None else _texts(schema, named)
        if texts is not None:
            break
    else:
        return None
    operator += "_" * (given.get("inplace") == "True")
    with_indices = given.get("return_indices", "False") != "False"
    operator += "_with_indices" * (with_indices and operator.startswith("max_pool"))
    first = "[0]" * (operator.startswith("adaptive_max_pool") and not with_indices)
    return f"torch.{operator}({', '.join(texts)}){first}"


class _Code(str):
    """The code of an argument, as opposed to a plain `str`, which is an argument value such as a mode."""

    __slots__ = ()


def _texts(schema: FunctionSchema, named: dict[str, Any]) -> list[str] | None:
    """Return the code of each argument of an operator; None if the `reduction` of a loss is unknown at compile time."""
    texts, last = [], 0
    for each in schema.arguments:
        if each.name in ("generator", "return_indices"):
            continue
        value = named.get(each.name, each.default)
        if value == "None" and isinstance(value, _Code) and not each.type.endswith("?"):
            value = each.default
        text = str(value) if isinstance(value, _Code) else "annotate(List[int], [])" if value == [] else repr(value)
        if each.name == "reduction":
            number = {"'none'": "0", "'mean'": "1", "'sum'": "2"}.get(text, text)
            if not number.isdigit():
                return None
            text = number
        elif each.type == "float" and text.isdigit():
            text += ".0"
        elif schema.name in _OF_PAIRS and each.type == "int[2]":
            text = _pair(text)
        if not each.kwarg_only:
            texts.append(text)
            last = len(texts) if each.name in named else last
        elif each.name in named:
            texts, last = [*texts[:last], f"{each.name}={text}"], last + 1
    return texts[:last]


def _grid_sample(args: list[str], kwargs: dict[str, str]) -> str | None:
    signature = inspect.signature(F.grid_sample)
    given = {name: repr(parameter.default) for name, parameter in signature.parameters.items()}
    given |= signature.bind(*args, **kwargs).arguments
    if any(given[option] not in numbers for option, numbers in _NUMBERED.items()):
        return None
    given |= {option: str(numbers[given[option]]) for option, numbers in _NUMBERED.items()}
    return f"torch.grid_sampler({', '.join(given[name] for name in ('input', 'grid', *_NUMBERED))})"


def _pair(code: str) -> str:
    """Return the code of a list of two sizes, given the code of a number, tuple or list."""
    if code.isdigit():
        return f"[{code}, {code}]"
    return f"[{code[1:-1]}]" if code.startswith("(") else code


# --- calls --------------------------------------------------------------------------------------------------------


def space_of(name: str) -> str:
    """Return the namespace of an operator in code: `torch`, or `ops.flambeau` for operators that PyTorch lacks."""
    return "torch" if namespace_of(name) == "aten" or facts_of(name) is None else "ops.flambeau"


def torch_call(compiler: Expressions, name: str, target: Any, node: ast.Call) -> ast.expr:
    """Translate a call of a function of `torch` or `torch.nn.functional`.

    Args:
        compiler: the translator of the arguments.
        name: the name of the function.
        target: the function.
        node: the call.

    Raises:
        NotScriptable: TorchScript has no operator for the function with these arguments.
    """
    rewritten = _REWRITTEN[name](compiler, node) if name in _REWRITTEN else None
    if rewritten is not None:
        return compiler.parse(rewritten)
    args, kwargs = compiler.arguments(node)
    if getattr(F, name, None) is target or name == "dropout":
        try:
            text = functional_call(name, args, kwargs)
        except TypeError as error:
            return compiler.refuse(node, str(error))
        if text is not None:
            return compiler.parse(text)
        if not hasattr(torch, name):
            compiler.refuse(node, f"torch.nn.functional.{name} cannot be written as TorchScript with these arguments")
    if not args and "input" in kwargs:
        args = [kwargs.pop("input")]
    if name in LISTS and len(args) > 1 and name not in ("view", "reshape", "permute", "flip", "tile"):
        args = [f"[{', '.join(args)}]"]
    words = [f"{word}={value}" for word, value in kwargs.items()]
    return compiler.parse(f"{space_of(name)}.{TOP.get(name, name)}({', '.join([*args, *words])})")


def _einsum(compiler: Expressions, node: ast.Call) -> str | None:
    if len(node.args) == 2 and isinstance(node.args[1], (ast.List, ast.Tuple)):
        return None
    equation, *operands = compiler.arguments(node)[0]
    return f"torch.einsum({equation}, [{', '.join(operands)}])"


def _broadcast_tensors(compiler: Expressions, node: ast.Call) -> str | None:
    return None if compiler.is_list(node.args[0]) else f"torch.broadcast_tensors([{', '.join(compiler.arguments(node)[0])}])"


def _tensordot(compiler: Expressions, node: ast.Call) -> str:
    """Translate `tensordot`: the operator takes the dimensions of each tensor as a list."""
    given = _given(lambda a, b, dims=2: None, node)
    dims = given.get("dims", ast.Constant(2))
    if isinstance(dims, (ast.Tuple, ast.List)) and len(dims.elts) == 2:
        lists = [compiler.text(part) for part in dims.elts]
    else:
        count = compiler.known(dims)
        if not isinstance(count, int):
            compiler.refuse(node, "torch.tensordot cannot be written as TorchScript unless its dims are constant")
        lists = [str(list(range(-count, 0))), str(list(range(count)))]
    return f"torch.tensordot({compiler.text(given['a'])}, {compiler.text(given['b'])}, {', '.join(lists)})"


def _embedding_bag(compiler: Expressions, node: ast.Call) -> str:
    compiler.refuse(node, "torch.nn.functional.embedding_bag cannot be written as TorchScript; use nn.EmbeddingBag")


# The code uses `input` twice, so it is a separate function, as in PyTorch: the argument is computed only once.
_NORMALIZE = """def normalize(input: Tensor, p: float, dim: int, eps: float) -> Tensor:
  norms = torch.clamp_min(torch.norm(input, p, [dim], True), eps)
  return input / torch.expand_as(norms, input)"""


def _normalize(compiler: Expressions, node: ast.Call) -> str:
    given = {"p": ast.Constant(2.0), "dim": ast.Constant(1), "eps": ast.Constant(1e-12)} | _given(F.normalize, node)
    if "out" in given:
        compiler.refuse(node, "torch.nn.functional.normalize cannot be written as TorchScript with `out`")
    p, dim, eps = (_number(compiler, given[name], kind) for name, kind in (("p", "float"), ("dim", "int"), ("eps", "float")))
    return f"{compiler.program.helper(_NORMALIZE)}({compiler.text(given['input'])}, {p}, {dim}, {eps})"


_LP_POOL = """def lp_pool{n}d(input: Tensor, norm_type: float, kernel: List[int], stride: List[int], ceil_mode: bool) -> Tensor:
  mean = torch.avg_pool{n}d(torch.pow(input, norm_type), kernel, stride, {padding}, ceil_mode)
  total = torch.mul(torch.mul(torch.sign(mean), torch.relu(torch.abs(mean))), {count})
  return torch.pow(total, torch.div(1.0, norm_type))"""


def _lp_pool(dims: int, compiler: Expressions, node: ast.Call) -> str:
    """Translate `lp_pool1d` and `lp_pool2d` with constant sizes and a finite norm."""
    given = _given(getattr(F, f"lp_pool{dims}d"), node)
    match given["norm_type"]:
        case ast.Call(ast.Name("float"), [argument]):
            given["norm_type"] = argument
    options: dict[str, Any] = {"stride": None, "ceil_mode": False}
    options |= {name: compiler.known(value) for name, value in given.items() if name != "input"}
    norm = options["norm_type"]
    if ... in options.values() or norm == float("inf"):
        compiler.refuse(node, f"torch.nn.functional.lp_pool{dims}d cannot be written as TorchScript with these arguments")
    size, stride = (
        list(value) if isinstance(value, (tuple, list)) else [value] * dims
        for value in (options["kernel_size"], options["stride"] or options["kernel_size"])
    )
    helper = _LP_POOL.format(n=dims, padding=[0] * dims, count=float(prod(size)))
    arguments = f"{compiler.text(given['input'])}, {float(norm)}, {size}, {stride}, {options['ceil_mode']}"
    return f"{compiler.program.helper(helper)}({arguments})"


_LOCAL_RESPONSE_NORM = """def local_response_norm(input: Tensor, size: int, alpha: float, beta: float, k: float) -> Tensor:
  squares = torch.flatten(torch.unsqueeze(torch.mul(input, input), 1), 3, -1)
  padded = torch.constant_pad_nd(squares, [0, 0, torch.floordiv(size, 2), torch.floordiv(torch.sub(size, 1), 2)], 0.0)
  mean = torch.reshape(torch.avg_pool2d(padded, [size, 1], [1, 1]), torch.size(input))
  return torch.div(input, torch.pow(torch.add(torch.mul(mean, alpha), k), beta))"""


def _local_response_norm(compiler: Expressions, node: ast.Call) -> str:
    given = {"alpha": ast.Constant(1e-4), "beta": ast.Constant(0.75), "k": ast.Constant(1.0)} | _given(
        F.local_response_norm, node
    )
    numbers = [_number(compiler, given[name], "float") for name in ("alpha", "beta", "k")]
    call = ", ".join([compiler.text(given["input"]), compiler.text(given["size"]), *numbers])
    return f"{compiler.program.helper(_LOCAL_RESPONSE_NORM)}({call})"


def _no_grad(compiler: Expressions, node: ast.Call) -> str:
    compiler.refuse(node, "torch.no_grad() is only supported in a with statement")


def _given(function: Callable[..., Any], node: ast.Call) -> dict[str, ast.expr]:
    """Bind the arguments of a call to the parameters of a function."""
    words = {str(word.arg): word.value for word in node.keywords}
    return dict(inspect.signature(function).bind(*node.args, **words).arguments)


def _interpolate(compiler: Expressions, node: ast.Call) -> str:
    given = _given(F.interpolate, node)
    options: dict[str, Any] = {"mode": "nearest", "antialias": False, "recompute_scale_factor": None}
    options.update({name: compiler.known(given[name]) for name in options if name in given})
    if ... in options.values() or options["recompute_scale_factor"]:
        compiler.refuse(node, "torch.nn.functional.interpolate cannot be written as TorchScript with these arguments")
    size, factors = (_sizes(compiler, given.get(name), kind) for name, kind in (("size", "int"), ("scale_factor", "float")))
    align = compiler.text(given["align_corners"]) if "align_corners" in given else "None"
    align = "False" if align == "None" else align
    try:
        call, helper = interpolation(options["mode"], compiler.text(given["input"]), size, factors, align, options["antialias"])
    except TypeError as error:
        return compiler.refuse(node, str(error))
    return f"{compiler.program.helper(helper)}({call.partition('(')[2]}" if helper else call


def _sizes(compiler: Expressions, node: ast.expr | None, kind: str) -> list[str] | str:
    """Return the code of sizes or scale factors: one string per element, or a single string for an entire list, or `"None"`."""
    if node is None or (known := compiler.known(node)) is None:
        return "None"
    if isinstance(node, (ast.List, ast.Tuple)):
        return [_number(compiler, part, kind) for part in node.elts]
    if isinstance(known, (list, tuple)):
        return [repr(float(part) if kind == "float" else part) for part in known]
    return compiler.text(node) if compiler.is_list(node) else [_number(compiler, node, kind)]


def _number(compiler: Expressions, node: ast.expr, kind: str) -> str:
    known = compiler.known(node)
    if kind == "float" and isinstance(known, (int, float)):
        return repr(float(known))
    return f"float({compiler.text(node)})" if kind == "float" else compiler.text(node)


# Functions that are translated in a special way; None means that the standard translation applies.
_REWRITTEN: dict[str, Callable[[Expressions, ast.Call], str | None]] = {
    "broadcast_tensors": _broadcast_tensors,
    "einsum": _einsum,
    "embedding_bag": _embedding_bag,
    "enable_grad": _no_grad,
    "interpolate": _interpolate,
    "local_response_norm": _local_response_norm,
    "lp_pool1d": partial(_lp_pool, 1),
    "lp_pool2d": partial(_lp_pool, 2),
    "no_grad": _no_grad,
    "normalize": _normalize,
    "tensordot": _tensordot,
}

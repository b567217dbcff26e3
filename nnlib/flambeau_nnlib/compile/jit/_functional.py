"""Functions of `torch.nn.functional` as calls of operators, for scripted code."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import flambeau as torch

from ...nn import functional as F
from ._resizing import interpolation

if TYPE_CHECKING:
    from ._expressions import Expressions

__all__ = ["LISTS", "TOP", "functional_call", "torch_call"]

# What a function is in TorchScript, with its parameters.
_TEXTS = {
    "alpha_dropout": "torch.alpha_dropout({input}, {p}, {training})",
    "batch_norm":
        "torch.batch_norm({input}, {weight}, {bias}, {running_mean}, {running_var}, {training}, {momentum}, {eps}, False)",
    "binary_cross_entropy": "torch.binary_cross_entropy({input}, {target}, {weight}, {reduction})",
    "binary_cross_entropy_with_logits":
        "torch.binary_cross_entropy_with_logits({input}, {target}, {weight}, {pos_weight}, {reduction})",
    "celu": "torch.celu({input}, {alpha})",
    "channel_shuffle": "torch.channel_shuffle({input}, {groups})",
    "cosine_embedding_loss": "torch.cosine_embedding_loss({input1}, {input2}, {target}, {margin}, {reduction})",
    "cosine_similarity": "torch.cosine_similarity({x1}, {x2}, {dim}, {eps})",
    "cross_entropy": "torch.cross_entropy_loss({input}, {target}, {weight}, {reduction}, {ignore_index}, {label_smoothing})",
    "dropout": "torch.dropout({input}, {p}, {training})",
    **dict.fromkeys(("dropout1d", "dropout2d", "dropout3d"), "torch.feature_dropout({input}, {p}, {training})"),
    "elu": "torch.elu({input}, {alpha})",
    "embedding": "torch.embedding({weight}, {input}, {padding_idx})",
    "feature_alpha_dropout": "torch.feature_alpha_dropout({input}, {p}, {training})",
    "fold": "torch.col2im({input}, {output_size}, {kernel_size}, {dilation}, {padding}, {stride})",
    "gelu": "torch.gelu({input}, approximate={approximate})",
    "glu": "torch.glu({input}, {dim})",
    "group_norm": "torch.group_norm({input}, {num_groups}, {weight}, {bias}, {eps})",
    "grid_sample": "torch.grid_sampler({input}, {grid}, {mode}, {padding_mode}, {align_corners})",
    "hardshrink": "torch.hardshrink({input}, {lambd})",
    "hardtanh": "torch.hardtanh({input}, {min_val}, {max_val})",
    "hinge_embedding_loss": "torch.hinge_embedding_loss({input}, {target}, {margin}, {reduction})",
    "huber_loss": "torch.huber_loss({input}, {target}, {reduction}, {delta})",
    "instance_norm": "torch.instance_norm({input}, {weight}, {bias}, {running_mean}, {running_var}, {use_input_stats}, "
                     "{momentum}, {eps}, False)",
    "kl_div": "torch.kl_div({input}, {target}, {reduction}, log_target={log_target})",
    "l1_loss": "torch.l1_loss({input}, {target}, {reduction})",
    "layer_norm": "torch.layer_norm({input}, {normalized_shape}, {weight}, {bias}, {eps})",
    "leaky_relu": "torch.leaky_relu({input}, {negative_slope})",
    "linear": "torch.linear({input}, {weight}, {bias})",
    "logsigmoid": "torch.log_sigmoid({input})",
    "margin_ranking_loss": "torch.margin_ranking_loss({input1}, {input2}, {target}, {margin}, {reduction})",
    "mse_loss": "torch.mse_loss({input}, {target}, {reduction})",
    "nll_loss": "torch.nll_loss_nd({input}, {target}, {weight}, {reduction}, {ignore_index})",
    "one_hot": "torch.one_hot({input}, {num_classes})",
    "pad": "torch.pad({input}, {pad}, mode={mode}, value={value})",
    "pairwise_distance": "torch.pairwise_distance({x1}, {x2}, {p}, {eps}, {keepdim})",
    "poisson_nll_loss": "torch.poisson_nll_loss({input}, {target}, {log_input}, {full}, {eps}, {reduction})",
    "pixel_unshuffle": "torch.pixel_unshuffle({input}, {downscale_factor})",
    "pixel_shuffle": "torch.pixel_shuffle({input}, {upscale_factor})",
    "prelu": "torch.prelu({input}, {weight})",
    "rms_norm": "torch.rms_norm({input}, {normalized_shape}, {weight}, {eps})",
    "rrelu": "torch.rrelu({input}, {lower}, {upper}, {training})",
    "scaled_dot_product_attention":
        "torch.scaled_dot_product_attention({query}, {key}, {value}, {attn_mask}, {dropout_p}, {is_causal}, scale={scale})",
    "smooth_l1_loss": "torch.smooth_l1_loss({input}, {target}, {reduction}, {beta})",
    "soft_margin_loss": "torch.soft_margin_loss({input}, {target}, {reduction})",
    "softmin": "torch.softmax(-({input}), {dim})",
    "softplus": "torch.softplus({input}, {beta}, {threshold})",
    "softshrink": "torch.softshrink({input}, {lambd})",
    "threshold": "torch.threshold({input}, {threshold}, {value})",
    "triplet_margin_loss": "torch.triplet_margin_loss({anchor}, {positive}, {negative}, {margin}, {p}, {eps}, {swap}, "
                           "{reduction})",
    "unfold": "torch.im2col({input}, {kernel_size}, {dilation}, {padding}, {stride})",
    **{name: f"torch.{name}({{input}})" for name in ("hardsigmoid", "hardswish", "mish", "relu", "relu6", "selu", "sigmoid",
                                                     "silu", "tanh")},
    **{name: f"torch.{name}({{input}}, {{dim}})" for name in ("log_softmax", "softmax")},
    **{f"conv{dims}d": f"torch.conv{dims}d({{input}}, {{weight}}, {{bias}}, {{stride}}, {{padding}}, {{dilation}}, {{groups}})"
       for dims in (1, 2, 3)},
    **{f"conv_transpose{dims}d": f"torch.conv_transpose{dims}d({{input}}, {{weight}}, {{bias}}, {{stride}}, {{padding}}, "
       "{output_padding}, {groups}, {dilation})" for dims in (1, 2, 3)},
    **{f"max_pool{dims}d": f"torch.max_pool{dims}d({{input}}, {{kernel_size}}, {{stride}}, {{padding}}, {{dilation}}, "
       "{ceil_mode})"
       for dims in (1, 2, 3)},
    "avg_pool1d": "torch.avg_pool1d({input}, {kernel_size}, {stride}, {padding}, {ceil_mode}, {count_include_pad})",
    **{f"avg_pool{dims}d": f"torch.avg_pool{dims}d({{input}}, {{kernel_size}}, {{stride}}, {{padding}}, {{ceil_mode}}, "
       "{count_include_pad}, {divisor_override})" for dims in (2, 3)},
    **{f"adaptive_{kind}_pool{dims}d": f"torch.adaptive_{kind}_pool{dims}d({{input}}, {{output_size}}){'[0]' * (kind == 'max')}"
       for kind in ("avg", "max") for dims in (1, 2, 3)},
}  # fmt: skip
# Options of grid_sample that its operator knows by numbers.
_NUMBERED: dict[str, dict[str, Any]] = {
    "mode": {"'bilinear'": 0, "'nearest'": 1, "'bicubic'": 2},
    "padding_mode": {"'zeros'": 0, "'border'": 1, "'reflection'": 2},
    "align_corners": {"None": False, "False": False, "True": True},
}
# Parameters that operators have as floats only; sizes of which fold's operators have two.
_FLOATS = ("alpha", "beta", "delta", "eps", "label_smoothing", "lower", "margin", "momentum", "p", "upper")
_PAIRS = ("output_size", "kernel_size", "dilation", "padding", "stride")
# Operators and methods with another name, and those that take a list where functions also take several numbers.
TOP = {"concat": "cat", "true_divide": "div", "absolute": "abs"}
LISTS = frozenset({"view", "reshape", "permute", "expand", "repeat", "flip", "new_zeros", "new_ones", "new_empty", "tile",
                    "zeros", "ones", "empty", "rand", "randn"})  # fmt: skip


def functional_call(name: str, args: list[str], kwargs: dict[str, str]) -> str | None:
    """The code for a call of `torch.nn.functional.NAME`, or None: it is not known here.

    Args:
        name: the function's name.
        args, kwargs: the code of its arguments.

    Raises:
        TypeError: they do not fit its parameters.
    """
    if name not in _TEXTS:
        return None
    signature = inspect.signature(getattr(F, name))
    bound = signature.bind(*args, **kwargs).arguments
    parameters = signature.parameters
    if any(parameter.kind is parameter.VAR_POSITIONAL for parameter in parameters.values()):
        given = {"input": args[0], **dict(zip(["dim", "kernel_size"], args[1:], strict=False)), **kwargs}
    else:
        given = {
            name: bound.get(name, repr(parameter.default)) for name, parameter in parameters.items() if name in bound
            or parameter.default is not parameter.empty
        }  # fmt: skip
    text = _TEXTS[name]
    if given.get("inplace") == "True":
        text = text.replace("(", "_(", 1)
    if given.get("return_indices", "False") != "False":
        text = text.removesuffix("[0]") if name.startswith("adaptive") else text.replace("d(", "d_with_indices(", 1)
    if given.get("stride") == "None":
        given["stride"] = "annotate(List[int], [])"
    if "reduction" in given:
        reductions = ["'none'", "'mean'", "'sum'"]
        if given["reduction"] not in reductions:
            return None
        given["reduction"] = str(reductions.index(given["reduction"]))
    given.update({option: f"{given[option]}.0" for option in _FLOATS if given.get(option, "").isdigit()})
    if given.get("padding_idx") == "None":
        given["padding_idx"] = "-1"
    if name == "grid_sample":
        if any(given[option] not in numbers for option, numbers in _NUMBERED.items()):
            return None
        given.update({option: str(numbers[given[option]]) for option, numbers in _NUMBERED.items()})
    if name in ("fold", "unfold"):
        given.update({option: _pair(given[option]) for option in _PAIRS if option in given})
    return text.format_map(_Given(given))


def _pair(code: str) -> str:
    """The code of a list of two sizes, of a number or a tuple or a list."""
    if code.isdigit():
        return f"[{code}, {code}]"
    return f"[{code[1:-1]}]" if code.startswith("(") else code


class _Given(dict[str, Any]):
    def __missing__(self, name: str) -> str:
        return "None"


# --- calls --------------------------------------------------------------------------------------------------------


def torch_call(compiler: Expressions, name: str, target: Any, node: ast.Call) -> ast.expr:
    """The code for a call of a function of `torch` or `torch.nn.functional`.

    Args:
        compiler: translates the arguments.
        name: the function's name.
        target: the function.
        node: the call.

    Raises:
        NotScriptable: TorchScript has no operator for it, or not with these arguments.
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
    return compiler.parse(f"torch.{TOP.get(name, name)}({', '.join([*args, *words])})")


def _einsum(compiler: Expressions, node: ast.Call) -> str | None:
    if len(node.args) == 2 and isinstance(node.args[1], (ast.List, ast.Tuple)):
        return None
    equation, *operands = compiler.arguments(node)[0]
    return f"torch.einsum({equation}, [{', '.join(operands)}])"


def _broadcast_tensors(compiler: Expressions, node: ast.Call) -> str | None:
    return None if compiler.is_list(node.args[0]) else f"torch.broadcast_tensors([{', '.join(compiler.arguments(node)[0])}])"


def _tensordot(compiler: Expressions, node: ast.Call) -> str:
    """The operator has the dimensions of each tensor as a list."""
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


# A function of its own, as in PyTorch: its input is used twice, and is to be computed once.
_NORMALIZE = """def normalize(input: Tensor, p: float, dim: int, eps: float) -> Tensor:
  norms = torch.clamp_min(torch.norm(input, p, [dim], True), eps)
  return input / torch.expand_as(norms, input)"""


def _normalize(compiler: Expressions, node: ast.Call) -> str:
    given = {"p": ast.Constant(2.0), "dim": ast.Constant(1), "eps": ast.Constant(1e-12)} | _given(F.normalize, node)
    if "out" in given:
        compiler.refuse(node, "torch.nn.functional.normalize cannot be written as TorchScript with `out`")
    p, dim, eps = (_number(compiler, given[name], kind) for name, kind in (("p", "float"), ("dim", "int"), ("eps", "float")))
    return f"{compiler.program.helper(_NORMALIZE)}({compiler.text(given['input'])}, {p}, {dim}, {eps})"


def _no_grad(compiler: Expressions, node: ast.Call) -> str:
    compiler.refuse(node, "torch.no_grad() outside of with")


def _given(function: Callable[..., Any], node: ast.Call) -> dict[str, ast.expr]:
    """The arguments of a call by the names of a function's parameters."""
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
    """The code of sizes or factors: that of their elements, of which there may be one for all; or of the whole, or `"None"`."""
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


# Functions whose calls are written in another way; those that return None, only with some arguments.
_REWRITTEN: dict[str, Callable[[Expressions, ast.Call], str | None]] = {
    "broadcast_tensors": _broadcast_tensors,
    "einsum": _einsum,
    "embedding_bag": _embedding_bag,
    "enable_grad": _no_grad,
    "interpolate": _interpolate,
    "no_grad": _no_grad,
    "normalize": _normalize,
    "tensordot": _tensordot,
}

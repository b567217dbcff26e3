"""Functions of `torch.nn.functional` as calls of operators, for scripted code."""

from __future__ import annotations

import inspect
from typing import Any

from ..nn import functional as F

__all__ = ["functional_call"]

# What a function is in TorchScript, with its parameters; `{name!}` is a number for a reduction, `{name?}` a list, empty for None.
_TEXTS = {
    "alpha_dropout": "torch.alpha_dropout({input}, {p}, {training})",
    "batch_norm":
        "torch.batch_norm({input}, {weight}, {bias}, {running_mean}, {running_var}, {training}, {momentum}, {eps}, False)",
    "binary_cross_entropy": "torch.binary_cross_entropy({input}, {target}, {weight}, {reduction})",
    "binary_cross_entropy_with_logits":
        "torch.binary_cross_entropy_with_logits({input}, {target}, {weight}, {pos_weight}, {reduction})",
    "cosine_similarity": "torch.cosine_similarity({x1}, {x2}, {dim}, {eps})",
    "cross_entropy": "torch.cross_entropy_loss({input}, {target}, {weight}, {reduction}, {ignore_index}, {label_smoothing})",
    "dropout": "torch.dropout({input}, {p}, {training})",
    "dropout2d": "torch.feature_dropout({input}, {p}, {training})",
    "elu": "torch.elu({input}, {alpha})",
    "embedding": "torch.embedding({weight}, {input}, {padding_idx})",
    "gelu": "torch.gelu({input}, approximate={approximate})",
    "glu": "torch.glu({input}, {dim})",
    "group_norm": "torch.group_norm({input}, {num_groups}, {weight}, {bias}, {eps})",
    "hardtanh": "torch.hardtanh({input}, {min_val}, {max_val})",
    "l1_loss": "torch.l1_loss({input}, {target}, {reduction})",
    "layer_norm": "torch.layer_norm({input}, {normalized_shape}, {weight}, {bias}, {eps})",
    "leaky_relu": "torch.leaky_relu({input}, {negative_slope})",
    "linear": "torch.linear({input}, {weight}, {bias})",
    "logsigmoid": "torch.log_sigmoid({input})",
    "mse_loss": "torch.mse_loss({input}, {target}, {reduction})",
    "nll_loss": "torch.nll_loss_nd({input}, {target}, {weight}, {reduction}, {ignore_index})",
    "normalize": "({input} / torch.expand_as(torch.clamp_min(torch.norm({input}, {p}, [{dim}], True), {eps}), {input}))",
    "one_hot": "torch.one_hot({input}, {num_classes})",
    "pad": "torch.pad({input}, {pad}, mode={mode}, value={value})",
    "pixel_shuffle": "torch.pixel_shuffle({input}, {upscale_factor})",
    "prelu": "torch.prelu({input}, {weight})",
    "scaled_dot_product_attention":
        "torch.scaled_dot_product_attention({query}, {key}, {value}, {attn_mask}, {dropout_p}, {is_causal}, scale={scale})",
    "smooth_l1_loss": "torch.smooth_l1_loss({input}, {target}, {reduction}, {beta})",
    "softplus": "torch.softplus({input}, {beta}, {threshold})",
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
    **{f"adaptive_avg_pool{dims}d": f"torch.adaptive_avg_pool{dims}d({{input}}, {{output_size}})" for dims in (1, 2, 3)},
}  # fmt: skip
_PLAIN = ("sigmoid", "tanh")


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
        text = text.replace("d(", "d_with_indices(", 1)
    if given.get("stride") == "None":
        given["stride"] = "annotate(List[int], [])"
    if "reduction" in given:
        reductions = ["'none'", "'mean'", "'sum'"]
        if given["reduction"] not in reductions:
            return None
        given["reduction"] = str(reductions.index(given["reduction"]))
    if given.get("padding_idx") == "None":
        given["padding_idx"] = "-1"
    return text.format_map(_Given(given))


class _Given(dict[str, Any]):
    def __missing__(self, name: str) -> str:
        return "None"

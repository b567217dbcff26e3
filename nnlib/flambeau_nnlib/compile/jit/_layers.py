"""TorchScript code of the layers and functions of `torch.nn` that scripted modules call."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import flambeau as torch
from flambeau.extension import Kind, names
from flambeau.extension.schemas import operator_name, schemas

from ...nn import functional as F
from ...nn.modules.module import Module
from ._types import OF_TORCH, literal

__all__ = ["layer_method"]

_Method = list[str]


def _listed(value: Any, dims: int) -> str:
    return literal(list(value) if isinstance(value, (tuple, list)) else [value] * dims)


def _expression_method(expression: str | Callable[[Any], str], parameters: str = "input: Tensor") -> Callable[[Any], _Method]:
    """Return a function that generates the `forward` of a layer from one expression. `{name}` in it is replaced by the constant
    attribute of this name of the layer.
    """

    def method(layer: Any) -> _Method:
        text = expression if isinstance(expression, str) else expression(layer)
        constants = {name: literal(value) for name, value in vars(layer).items() if _is_constant(value)}
        return [f"def forward({{self}}, {parameters}) -> Tensor:", f"  return {text.format(**constants)}"]

    return method


def _is_constant(value: Any) -> bool:
    return value is None or isinstance(value, (bool, int, float, str)) or (isinstance(value, (tuple, list)) and all(
        map(_is_constant, value)))  # fmt: skip


def _operator_method(layer: Any) -> _Method:
    """Return a `forward` that calls the operator of the layer, with attributes of the layer as arguments."""
    inputs = [*inspect.signature(type(layer).forward).parameters][1:]
    operator, arguments = _operator_of(layer), [*inputs]
    for argument in schemas(operator)[0].arguments[len(inputs) :]:
        if argument.name == "train":
            text = "self.training"
        elif not hasattr(layer, argument.name):
            break
        elif argument.is_tensor:
            text = f"self.{argument.name}"
        elif argument.name == "reduction":
            text = str(("none", "mean", "sum").index(layer.reduction))
        else:
            value = getattr(layer, argument.name)
            text = literal(float(value) if argument.type == "float" else list(value) if isinstance(value, tuple) else value)
        arguments.append(f"{argument.name}={text}" if argument.kwarg_only else text)
    parameters, inplace = ", ".join(f"{name}: Tensor" for name in inputs), "_" if getattr(layer, "inplace", False) else ""
    return [
        f"def forward({{self}}, {parameters}) -> Tensor:", f"  return torch.{operator}{inplace}({', '.join(arguments)})"
    ]  # fmt: skip


def _operator_of(layer: Any) -> str:
    """Return the operator named like the layer, or like one of its base classes."""
    operators, kinds = _operators_of_layers(), [cls.__name__.lower() for cls in type(layer).__mro__]
    return next(operators[kind] for kind in kinds if kind in operators)


@functools.cache
def _operators_of_layers() -> dict[str, str]:
    """Map the lower-case names of layers to the operators of the corresponding `torch.nn.functional` functions."""
    functions = [name for name in dir(F) if not name.endswith("_")]
    return {spelling.replace("_", ""): operator_name(name) for name in functions for spelling in (name, operator_name(name))} | {
        "bceloss": "binary_cross_entropy", "bcewithlogitsloss": "binary_cross_entropy_with_logits"
    }  # fmt: skip


def _convolution(layer: Any) -> str:
    dims = len(layer.kernel_size)
    padding = literal(layer.padding) if isinstance(layer.padding, str) else _listed(layer.padding, dims)
    source = "input"
    if layer.padding_mode != "zeros":
        mode = {"zeros": "constant"}.get(layer.padding_mode, layer.padding_mode)
        widths = list(layer._reversed_padding_repeated_twice)
        source, padding = f"torch.pad(input, {literal(widths)}, mode={literal(mode)})", _listed(0, dims)
    return (
        f"torch.conv{dims}d({source}, self.weight, self.bias, {_listed(layer.stride, dims)}, {padding}, "
        f"{_listed(layer.dilation, dims)}, {layer.groups})"
    )


def _transposed(layer: Any) -> str:
    dims = len(layer.kernel_size)
    listed = [_listed(value, dims) for value in (layer.stride, layer.padding, layer.output_padding)]
    return (
        f"torch.conv_transpose{dims}d(input, self.weight, self.bias, {', '.join(listed)}, {layer.groups}, "
        f"{_listed(layer.dilation, dims)})"
    )


def _batch_norm(layer: Any) -> _Method:
    lines = ["def forward({self}, input: Tensor) -> Tensor:"]
    momentum = literal(0.0 if layer.momentum is None else float(layer.momentum))
    if layer.track_running_stats:
        lines += ["  if self.training:", "    counted = torch.add_(self.num_batches_tracked, 1)"]
        if layer.momentum is None:
            lines[1:1] = [f"  momentum = {momentum}"]
            lines += ["    momentum = 1.0 / float(counted)"]
            momentum = "momentum"
    statistics, uses = ("self.running_mean, self.running_var", "self.training") if layer.running_mean is not None else (
        "None, None", "True")  # fmt: skip
    lines.append(
        f"  return torch.batch_norm(input, self.weight, self.bias, {statistics}, {uses}, {momentum}, {layer.eps!r}, False)"
    )
    return lines


def _instance_norm(dims: int) -> Callable[[Any], _Method]:
    def method(layer: Any) -> _Method:
        uses = "self.training" if layer.track_running_stats else "True"
        return [
            "def forward({self}, input: Tensor) -> Tensor:",
            f"  is_single = torch.eq(torch.dim(input), {dims + 1})",
            "  batch = input",
            "  if is_single:",
            "    batch = torch.unsqueeze(input, 0)",
            "  output = torch.instance_norm(batch, self.weight, self.bias, self.running_mean, self.running_var, "
            f"{uses}, {float(layer.momentum or 0.0)!r}, {layer.eps!r}, False)",
            "  if is_single:",
            "    output = torch.squeeze(output, 0)",
            "  return output",
        ]

    return method


def _fractional_pool(dims: int) -> Callable[[Any], _Method]:
    def method(layer: Any) -> _Method:
        ratios = enumerate(layer.output_ratio or (), -dims)
        sizes = [f"int(float(torch.size(input, {dim})) * {float(ratio)!r})" for dim, ratio in ratios]
        output = f"[{', '.join(sizes)}]" if sizes else literal(list(layer.output_size))
        samples = [
            "  count = 1",
            f"  if torch.eq(torch.dim(input), {dims + 2}):",
            "    count = torch.size(input, 0)",
            f"  samples = torch.rand([count, torch.size(input, {-dims - 1}), {dims}], dtype=ops.prim.dtype(input), layout=None, "
            "device=ops.prim.device(input), pin_memory=None)",
        ]
        both = layer.return_indices
        return [
            f"def forward({{self}}, input: Tensor) -> {'Tuple[Tensor, Tensor]' if both else 'Tensor'}:",
            *(["  samples = self._random_samples"] if layer._random_samples is not None else samples),
            f"  output, indices = torch.fractional_max_pool{dims}d(input, {literal(list(layer.kernel_size))}, {output}, samples)",
            f"  return {'(output, indices)' if both else 'output'}",
        ]

    return method


def _embedding_bag(layer: Any) -> _Method:
    if layer.max_norm is not None:
        raise RuntimeError("torch.jit.save: a scripted EmbeddingBag with max_norm is not supported")
    settings = (layer.scale_grad_by_freq, ("sum", "mean", "max").index(layer.mode), layer.sparse)
    return [
        "def forward({self}, input: Tensor, offsets: Optional[Tensor]=None, "
        "per_sample_weights: Optional[Tensor]=None) -> Tensor:",
        "  factors = per_sample_weights",
        "  if torch.eq(torch.dim(input), 2):",
        "    starts = torch.arange(0, torch.numel(input), torch.size(input, 1), dtype=ops.prim.dtype(input), layout=None, "
        "device=ops.prim.device(input), pin_memory=None)",
        "    if torch.__isnot__(factors, None):",
        "      factors = torch.reshape(unchecked_cast(Tensor, factors), [-1])",
        "  else:",
        "    starts = ops.prim.unchecked_unwrap_optional(offsets)",
        f"  output, _0, _1, _2 = torch.embedding_bag(self.weight, torch.reshape(input, [-1]), starts, "
        f"{', '.join(map(str, settings))}, factors, {layer.include_last_offset}, {layer.padding_idx})",
        "  return output",
    ]


def _soft_margin(layer: Any) -> str:
    loss = "torch.log_sigmoid(input) * target + torch.log_sigmoid(-input) * torch.rsub(target, 1)"
    weighted = f"({loss}) * self.weight" if layer.weight is not None else f"({loss})"
    mean = f"-torch.sum({weighted}, [-1]) / torch.size(input, -1)"
    return {"none": mean, "mean": f"torch.mean({mean})", "sum": f"torch.sum({mean})"}[layer.reduction]


def _pool(dims: int, *rest: str) -> Callable[[Any], _Method]:
    def method(layer: Any) -> _Method:
        stride = layer.kernel_size if layer.stride is None else layer.stride
        windows = [layer.kernel_size, stride, layer.padding] + ([layer.dilation] if "dilation" in rest else [])
        listed = [_listed(value, dims) for value in windows]
        others = [literal(getattr(layer, name)) for name in rest if name != "dilation"]
        both = getattr(layer, "return_indices", False)
        name = _operator_of(layer) + "_with_indices" * both
        result = "Tuple[Tensor, Tensor]" if both else "Tensor"
        call = f"torch.{name}({', '.join(['input', *listed, *others])})"
        return [f"def forward({{self}}, input: Tensor) -> {result}:", f"  return {call}"]

    return method


def _adaptive(dims: int) -> Callable[[Any], _Method]:
    def method(layer: Any) -> _Method:
        name = _operator_of(layer)
        size = layer.output_size if isinstance(layer.output_size, (tuple, list)) else [layer.output_size] * dims
        sizes = ", ".join(f"torch.size(input, {place - dims})" if each is None else str(each) for place, each in enumerate(size))
        both = getattr(layer, "return_indices", False)
        index, kind = ("[0]" if "max" in name and not both else ""), "Tuple[Tensor, Tensor]" if both else "Tensor"
        return [f"def forward({{self}}, input: Tensor) -> {kind}:", f"  return torch.{name}(input, [{sizes}]){index}"]

    return method


def _upsample(layer: Any) -> _Method:
    def forward(dims: int) -> str:
        mode = layer.mode
        size = "None" if layer.size is None else _listed(layer.size, dims)
        factors = layer.scale_factor
        scale = (
            "None"
            if factors is None
            else literal([float(each) for each in (factors if isinstance(factors, tuple) else [factors] * dims)])
        )
        if mode in ("nearest", "nearest-exact"):
            return f"torch.{'_' * (mode != 'nearest')}upsample_{mode.replace('-', '_')}{dims}d(input, {size}, {scale})"
        name = {1: "linear1d", 2: "bicubic2d" if mode == "bicubic" else "bilinear2d", 3: "trilinear3d"}[dims]
        return f"torch.upsample_{name}(input, {size}, {bool(layer.align_corners)}, {scale})"

    of_mode = {"linear": [1], "bilinear": [2], "bicubic": [2], "trilinear": [3]}.get(layer.mode, [1, 2, 3])
    given = [len(value) for value in (layer.size, layer.scale_factor) if isinstance(value, tuple)]
    dims = given[:1] if given else of_mode
    lines = ["def forward({self}, input: Tensor) -> Tensor:"]
    for each in dims[:-1]:
        lines += [f"  if torch.dim(input) == {each + 2}:", f"    return {forward(each)}"]
    return [*lines, f"  return {forward(dims[-1])}"]


def _pad(mode: str) -> Callable[[Any], _Method]:
    def text(layer: Any) -> str:
        value = f", value={float(layer.value)!r}" if mode == "constant" else ""
        return f"torch.pad(input, {literal(list(layer.padding))}, mode={literal(mode)}{value})"

    return _expression_method(text)


def _recurrent(layer: Any) -> _Method:
    directions = 2 if layer.bidirectional else 1
    flat = ", ".join(f"self.{name}" for name in layer._flat_weights_names)
    is_lstm = layer.mode == "LSTM"
    name = {"RNN_TANH": "rnn_tanh", "RNN_RELU": "rnn_relu"}.get(layer.mode, layer.mode.lower())
    hidden = "Tuple[Tensor, Tensor]" if is_lstm else "Tensor"
    flags = (
        f"{layer.bias}, {layer.num_layers}, {float(layer.dropout)!r}, self.training, {layer.bidirectional}, {layer.batch_first}"
    )

    def zeros(size: int) -> str:
        return (
            f"torch.zeros([{layer.num_layers * directions}, batch, {size}], dtype=ops.prim.dtype(x), device=ops.prim.device(x))"
        )

    lines = [
        f"def forward({{self}}, input: Tensor, hx: Optional[{hidden}]=None) -> Tuple[Tensor, {hidden}]:",
        "  unbatched = torch.dim(input) == 2",
        f"  x = torch.unsqueeze(input, {1 - layer.batch_first}) if unbatched else input",
        f"  batch = torch.size(x, {1 - layer.batch_first})",
    ]
    if is_lstm:
        lines += [
            "  if hx is None:",
            f"    h = {zeros(layer.proj_size or layer.hidden_size)}",
            f"    c = {zeros(layer.hidden_size)}",
            "  else:",
            "    h = torch.unsqueeze(hx[0], 1) if unbatched else hx[0]",
            "    c = torch.unsqueeze(hx[1], 1) if unbatched else hx[1]",
            f"  output, hn, cn = torch.lstm(x, [h, c], [{flat}], {flags})",
            "  if unbatched:",
            f"    return (torch.squeeze(output, {1 - layer.batch_first}), (torch.squeeze(hn, 1), torch.squeeze(cn, 1)))",
            "  return (output, (hn, cn))",
        ]
    else:
        lines += [
            "  if hx is None:",
            f"    h = {zeros(layer.hidden_size)}",
            "  else:",
            "    h = torch.unsqueeze(hx, 1) if unbatched else hx",
            f"  output, hn = torch.{name}(x, h, [{flat}], {flags})",
            "  if unbatched:",
            f"    return (torch.squeeze(output, {1 - layer.batch_first}), torch.squeeze(hn, 1))",
            "  return (output, hn)",
        ]
    return lines


def _cell(name: str) -> Callable[[Any], _Method]:
    def method(layer: Any) -> _Method:
        is_lstm = name == "lstm_cell"
        hidden = "Tuple[Tensor, Tensor]" if is_lstm else "Tensor"
        operator = f"rnn_{layer.nonlinearity}_cell" if name == "rnn_cell" else name
        zeros = f"torch.zeros([torch.size(x, 0), {layer.hidden_size}], dtype=ops.prim.dtype(x), device=ops.prim.device(x))"
        weights = "self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh"
        lines = [
            f"def forward({{self}}, input: Tensor, hx: Optional[{hidden}]=None) -> {hidden}:",
            "  unbatched = torch.dim(input) == 1",
            "  x = torch.unsqueeze(input, 0) if unbatched else input",
            "  if hx is None:",
            f"    h = {zeros}",
            *([f"    c = {zeros}"] if is_lstm else []),
            "  else:",
        ]
        if is_lstm:
            return [
                *lines,
                "    h = torch.unsqueeze(hx[0], 0) if unbatched else hx[0]",
                "    c = torch.unsqueeze(hx[1], 0) if unbatched else hx[1]",
                f"  hn, cn = torch.lstm_cell(x, [h, c], {weights})",
                "  if unbatched:",
                "    return (torch.squeeze(hn, 0), torch.squeeze(cn, 0))",
                "  return (hn, cn)",
            ]
        return [
            *lines,
            "    h = torch.unsqueeze(hx, 0) if unbatched else hx",
            f"  hn = torch.{operator}(x, h, {weights})",
            "  return torch.squeeze(hn, 0) if unbatched else hn",
        ]

    return method


def _attention(layer: Any) -> _Method:
    """Return the `forward` of multi-head attention, which computes with shape `(L, N, E)`, as in PyTorch."""
    heads, embed = layer.num_heads, layer.embed_dim
    further = (layer.bias_k is not None) + layer.add_zero_attn  # the number of keys added here; masks must be widened by it
    widened = f"torch.pad({{0}}, [0, {further}])" if further else "{0}"
    if layer.in_proj_weight is not None:
        weights = [f"torch.slice(self.in_proj_weight, 0, {i * embed}, {(i + 1) * embed})" for i in range(3)]
    else:
        weights = ["self.q_proj_weight", "self.k_proj_weight", "self.v_proj_weight"]
    has_bias = layer.in_proj_bias is not None
    biases = [f"torch.slice(self.in_proj_bias, 0, {i * embed}, {(i + 1) * embed})" if has_bias else "None" for i in range(3)]
    lines = [
        "def forward({self}, query: Tensor, key: Tensor, value: Tensor, key_padding_mask: Optional[Tensor]=None, "
        "need_weights: bool=True, attn_mask: Optional[Tensor]=None, average_attn_weights: bool=True, is_causal: bool=False) "
        "-> Tuple[Tensor, Optional[Tensor]]:",
        "  batched = torch.dim(query) == 3",
        *([f"  {name} = torch.transpose({name}, 0, 1) if batched else {name}" for name in ("query", "key", "value")]
          if layer.batch_first else []),
        *(f"  {name} = {name} if batched else torch.unsqueeze({name}, 1)" for name in ("query", "key", "value")),
        "  length, batch, sources = torch.size(query, 0), torch.size(query, 1), torch.size(key, 0)",
    ]  # fmt: skip
    for name, source, weight, bias in zip("qkv", ("query", "key", "value"), weights, biases, strict=True):
        steps = "length" if name == "q" else "sources"
        lines.append(f"  {name} = torch.linear({source}, {weight}, {bias})")
        if name != "q" and layer.bias_k is not None:
            lines.append(f"  {name} = torch.cat([{name}, torch.repeat(self.bias_{name}, [1, batch, 1])])")
        if name != "q" and layer.add_zero_attn:
            lines.append(f"  {name} = torch.cat([{name}, torch.zeros([1, batch, {embed}], dtype=ops.prim.dtype({name}), "
                         f"device=ops.prim.device({name}))])")  # fmt: skip
        if name == "k" and further:
            lines.append(f"  sources = sources + {further}")
        lines += [
            f"  {name} = torch.permute(torch.reshape({name}, [{steps}, batch, {heads}, {embed // heads}]), [1, 2, 0, 3])",
        ]
    lines += [
        f"  scores = torch.matmul(q, torch.transpose(k, -2, -1)) * {(embed // heads) ** -0.5!r}",
        "  if attn_mask is not None:",
        f"    mask = {widened.format('attn_mask')}",
        "    if torch.dim(mask) == 3:",
        f"      mask = torch.reshape(mask, [batch, {heads}, length, sources])",
        "    if ops.prim.dtype(mask) == 11:",
        "      scores = torch.masked_fill(scores, mask, -inf)",
        "    else:",
        "      scores = scores + mask",
        "  if key_padding_mask is not None:",
        f"    padding = torch.reshape({widened.format('key_padding_mask')}, [batch, 1, 1, sources])",
        "    if ops.prim.dtype(padding) == 11:",
        "      scores = torch.masked_fill(scores, padding, -inf)",
        "    else:",
        "      scores = scores + padding",
        "  weights = torch.softmax(scores, -1)",
        f"  weights = torch.dropout(weights, {float(layer.dropout)!r}, self.training)",
        "  heads = torch.permute(torch.matmul(weights, v), [2, 0, 1, 3])",
        f"  output = torch.reshape(heads, [length, batch, {embed}])",
        "  output = torch.linear(output, self.out_proj.weight, self.out_proj.bias)",
        *(["  output = torch.transpose(output, 0, 1) if batched else output"] if layer.batch_first else []),
        f"  output = output if batched else torch.squeeze(output, {1})",
        "  if need_weights:",
        "    if average_attn_weights:",
        "      weights = torch.mean(weights, [1])",
        "    weights = weights if batched else torch.squeeze(weights, 0)",
        "    return (output, weights)",
        "  return (output, None)",
    ]
    return lines


def _encoder_layer(layer: Any) -> _Method:
    activation = _activation_text(layer.activation)
    attention = "(self.self_attn).forward({0}, {0}, {0}, src_key_padding_mask, False, src_mask)[0]"
    feed = "(self.linear2).forward((self.dropout).forward(" + activation.format("(self.linear1).forward({0})") + "))"
    lines = ["def forward({self}, src: Tensor, src_mask: Optional[Tensor]=None, src_key_padding_mask: Optional[Tensor]=None, "
             "is_causal: bool=False) -> Tensor:"]  # fmt: skip
    if layer.norm_first:
        lines += ["  y = (self.norm1).forward(src)", f"  x = src + (self.dropout1).forward({attention.format('y')})",
                  "  z = (self.norm2).forward(x)", f"  return x + (self.dropout2).forward({feed.format('z')})"]  # fmt: skip
    else:
        lines += [f"  x = (self.norm1).forward(src + (self.dropout1).forward({attention.format('src')}))",
                  f"  return (self.norm2).forward(x + (self.dropout2).forward({feed.format('x')}))"]  # fmt: skip
    return lines


def _decoder_layer(layer: Any) -> _Method:
    activation = _activation_text(layer.activation)
    itself = "(self.self_attn).forward({0}, {0}, {0}, tgt_key_padding_mask, False, tgt_mask)[0]"
    source = "(self.multihead_attn).forward({0}, memory, memory, memory_key_padding_mask, False, memory_mask)[0]"
    feed = "(self.linear2).forward((self.dropout).forward(" + activation.format("(self.linear1).forward({0})") + "))"
    lines = ["def forward({self}, tgt: Tensor, memory: Tensor, tgt_mask: Optional[Tensor]=None, "
             "memory_mask: Optional[Tensor]=None, tgt_key_padding_mask: Optional[Tensor]=None, "
             "memory_key_padding_mask: Optional[Tensor]=None, tgt_is_causal: bool=False, "
             "memory_is_causal: bool=False) -> Tensor:", "  x = tgt"]  # fmt: skip
    for number, part in enumerate((itself, source, feed), 1):
        norm, dropout = f"(self.norm{number}).forward", f"(self.dropout{number}).forward"
        if layer.norm_first:
            lines += [f"  y = {norm}(x)", f"  x = x + {dropout}({part.format('y')})"]
        else:
            lines.append(f"  x = {norm}(x + {dropout}({part.format('x')}))")
    return [*lines, "  return x"]


def _decoder(layer: Any) -> _Method:
    lines = ["def forward({self}, tgt: Tensor, memory: Tensor, tgt_mask: Optional[Tensor]=None, "
             "memory_mask: Optional[Tensor]=None, tgt_key_padding_mask: Optional[Tensor]=None, "
             "memory_key_padding_mask: Optional[Tensor]=None, tgt_is_causal: Optional[bool]=None, "
             "memory_is_causal: bool=False) -> Tensor:", "  output = tgt"]  # fmt: skip
    for place in range(len(layer.layers)):
        lines.append(f'  output = (getattr(self.layers, "{place}")).forward(output, memory, tgt_mask, memory_mask, '
                     "tgt_key_padding_mask, memory_key_padding_mask)")  # fmt: skip
    if layer.norm is not None:
        lines.append("  output = (self.norm).forward(output)")
    return [*lines, "  return output"]


def _transformer(layer: Any) -> _Method:
    masks = ", ".join(f"{name}: Optional[Tensor]=None" for name in ("src_mask", "tgt_mask", "memory_mask", "src_key_padding_mask",
                      "tgt_key_padding_mask", "memory_key_padding_mask"))  # fmt: skip
    return [
        f"def forward({{self}}, src: Tensor, tgt: Tensor, {masks}, src_is_causal: Optional[bool]=None, "
        "tgt_is_causal: Optional[bool]=None, memory_is_causal: bool=False) -> Tensor:",
        "  memory = (self.encoder).forward(src, src_mask, src_key_padding_mask)",
        "  return (self.decoder).forward(tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask)",
    ]


def _activation_text(activation: Any) -> str:
    if isinstance(activation, Module):
        return "(self.activation).forward({})"
    name = getattr(activation, "__name__", type(activation).__name__)
    is_ours = activation in (getattr(F, name, None), getattr(torch, name, None))
    if not is_ours or name not in names(kind=Kind.POINTWISE):
        raise RuntimeError(f"torch.jit.save: the activation {name} of a scripted transformer layer is not supported")
    return f"torch.{operator_name(name)}({{}})"


def _encoder(layer: Any) -> _Method:
    lines = ["def forward({self}, src: Tensor, mask: Optional[Tensor]=None, src_key_padding_mask: Optional[Tensor]=None, "
             "is_causal: Optional[bool]=None) -> Tensor:", "  output = src"]  # fmt: skip
    for place in range(len(layer.layers)):
        lines.append(f'  output = (getattr(self.layers, "{place}")).forward(output, mask, src_key_padding_mask)')
    if layer.norm is not None:
        lines.append("  output = (self.norm).forward(output)")
    return [*lines, "  return output"]


_LAYERS: dict[str, Callable[[Any], _Method]] = {
    "Identity": _expression_method("input"),
    **dict.fromkeys((
        "Linear", "Bilinear", "LayerNorm", "RMSNorm", "GroupNorm", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d",
        "AlphaDropout", "FeatureAlphaDropout", "ReLU", "Sigmoid", "Tanh", "SiLU", "Mish", "SELU", "CELU", "ELU", "LeakyReLU",
        "ReLU6", "Hardtanh", "Hardswish", "Hardsigmoid", "Threshold", "GELU", "GLU", "PReLU", "LogSigmoid", "Softplus",
        "Softshrink", "Hardshrink", "PixelShuffle", "PixelUnshuffle", "CosineSimilarity", "MSELoss", "L1Loss", "SmoothL1Loss",
        "CrossEntropyLoss", "BCELoss", "BCEWithLogitsLoss"), _operator_method),
    "Embedding": _expression_method(
        lambda layer: f"torch.embedding(self.weight, input, {-1 if layer.padding_idx is None else layer.padding_idx})"),
    "EmbeddingBag": _embedding_bag,
    "MultiLabelSoftMarginLoss": _expression_method(_soft_margin, "input: Tensor, target: Tensor"),
    **{f"{kind}{dims}d": make for dims in (1, 2, 3) for kind, make in (
        ("Conv", _expression_method(_convolution)), ("ConvTranspose", _expression_method(_transposed)),
        ("BatchNorm", _batch_norm),
        ("InstanceNorm", _instance_norm(dims)), ("FractionalMaxPool", _fractional_pool(dims)),
        ("MaxPool", _pool(dims, "dilation", "ceil_mode")),
        ("AdaptiveAvgPool", _adaptive(dims)), ("AdaptiveMaxPool", _adaptive(dims)),
        ("ReflectionPad", _pad("reflect")), ("ReplicationPad", _pad("replicate")), ("ConstantPad", _pad("constant")),
        ("ZeroPad", _pad("constant")), ("CircularPad", _pad("circular")))},
    "AvgPool1d": _pool(1, "ceil_mode", "count_include_pad"),
    "AvgPool2d": _pool(2, "ceil_mode", "count_include_pad", "divisor_override"),
    "AvgPool3d": _pool(3, "ceil_mode", "count_include_pad", "divisor_override"),
    "Tanhshrink": _expression_method("input - torch.tanh(input)"),
    "Softsign": _expression_method("input / (torch.abs(input) + 1)"),
    "Softmax": _expression_method(lambda layer: f"torch.softmax(input, {_dim(layer)})"),
    "LogSoftmax": _expression_method(lambda layer: f"torch.log_softmax(input, {_dim(layer)})"),
    "Flatten": _expression_method("torch.flatten(input, {start_dim}, {end_dim})"),
    "Unflatten": _expression_method(lambda layer: f"torch.unflatten(input, {layer.dim}, {_listed(layer.unflattened_size, 1)})"),
    "Upsample": _upsample, "UpsamplingNearest2d": _upsample, "UpsamplingBilinear2d": _upsample,
    "LSTM": _recurrent, "GRU": _recurrent, "RNN": _recurrent,
    "LSTMCell": _cell("lstm_cell"), "GRUCell": _cell("gru_cell"), "RNNCell": _cell("rnn_cell"),
    "MultiheadAttention": _attention, "TransformerEncoderLayer": _encoder_layer, "TransformerEncoder": _encoder,
    "TransformerDecoderLayer": _decoder_layer, "TransformerDecoder": _decoder, "Transformer": _transformer,
}  # fmt: skip


def _dim(layer: Any) -> str:
    if layer.dim is None:
        raise RuntimeError(f"torch.jit.save: a scripted {type(layer).__name__} requires an explicit dim")
    return str(layer.dim)


def layer_method(layer: Any, self_type: str) -> list[str] | None:
    """Return the TorchScript `forward` of a `torch.nn` layer, or None if it is translated from its Python code instead.

    Args:
        layer: the layer.
        self_type: the type of the `self` parameter.
    """
    kinds: tuple[Any, ...] = type(layer).__mro__
    cls = next((cls for cls in kinds if cls.__module__.startswith(OF_TORCH) and cls.__name__ in _LAYERS), None)
    if cls is None or inspect.unwrap(type(layer).forward) is not cls.forward:
        return None
    first, *lines = _LAYERS[cls.__name__](layer)
    return [first.replace("{self}", f"self: {self_type}"), *lines]

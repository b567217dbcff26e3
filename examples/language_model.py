"""Llama, Mistral, Qwen2, Qwen3 and other decoders with the same layers, for `generate.py`.

`load_model` reads `config.json` and `model.safetensors`, or several files of weights and their index
`model.safetensors.index.json`, as Hugging Face publishes models.
"""

import json
import math

import torch
from torch import nn
from torch.nn import functional as F

ARCHITECTURES = "llama", "mistral", "qwen2", "qwen3"


# --- the model; its layers have the names of the weights in the files ---


class Rotation:
    """Rotary position embeddings (RoPE): angles that increase with the position, with one frequency per pair of features."""

    def __init__(self, config, size):
        rope = {**(config.get("rope_scaling") or {}), **(config.get("rope_parameters") or {})}
        kind = rope.get("rope_type", rope.get("type", "default"))
        frequencies = 1 / rope.get("rope_theta", config.get("rope_theta", 10000)) ** (torch.arange(0, size, 2) / size)
        if kind == "llama3":  # divides low frequencies by a factor, and interpolates between low and high ones
            low, high = rope["low_freq_factor"], rope["high_freq_factor"]
            turns = rope["original_max_position_embeddings"] * frequencies / (2 * math.pi)
            kept = ((turns - low) / (high - low)).clamp(0, 1)
            frequencies = frequencies * (kept + (1 - kept) / rope["factor"])
        elif kind == "linear":
            frequencies = frequencies / rope["factor"]
        elif kind != "default":
            raise SystemExit(f"rotary embeddings of type {kind!r} are not supported: expected default, linear or llama3")
        self.frequencies = frequencies

    def __call__(self, start, length, dtype):
        """Return the cosines and sines `(L, size)` of positions `start` to `start + length - 1`."""
        angles = torch.outer(torch.arange(start, start + length).float(), self.frequencies).repeat(1, 2)
        return angles.cos().to(dtype), angles.sin().to(dtype)


def rotate(x, cos, sin):
    first, second = x.chunk(2, -1)
    return x * cos + torch.cat([-second, first], -1) * sin


class Attention(nn.Module):
    def __init__(self, config, size):
        super().__init__()
        kind, width = config["model_type"], config["hidden_size"]
        heads = config["num_attention_heads"]
        key_heads = config.get("num_key_value_heads", heads)
        bias = config.get("attention_bias", kind == "qwen2")
        self.size = size
        self.q_proj = nn.Linear(width, heads * size, bias=bias)
        self.k_proj = nn.Linear(width, key_heads * size, bias=bias)
        self.v_proj = nn.Linear(width, key_heads * size, bias=bias)
        self.o_proj = nn.Linear(heads * size, width, bias=bias and kind != "qwen2")
        normalizes = kind == "qwen3"
        self.q_norm = nn.RMSNorm(size, config["rms_norm_eps"]) if normalizes else nn.Identity()
        self.k_norm = nn.RMSNorm(size, config["rms_norm_eps"]) if normalizes else nn.Identity()

    def forward(self, x, rotation, cache):
        batch, length, _ = x.shape
        q, k, v = (project(x).view(batch, length, -1, self.size) for project in (self.q_proj, self.k_proj, self.v_proj))
        q, k = (rotate(part.transpose(1, 2), *rotation) for part in (self.q_norm(q), self.k_norm(k)))
        k, v = cache.append(k, v.transpose(1, 2)) if cache else (k, v.transpose(1, 2))
        x = F.scaled_dot_product_attention(q, k, v, is_causal=length > 1, enable_gqa=True)
        return self.o_proj(x.transpose(1, 2).flatten(2))


class MLP(nn.Module):
    def __init__(self, config):
        super().__init__()
        width, hidden, bias = config["hidden_size"], config["intermediate_size"], config.get("mlp_bias", False)
        self.gate_proj, self.up_proj = nn.Linear(width, hidden, bias=bias), nn.Linear(width, hidden, bias=bias)
        self.down_proj = nn.Linear(hidden, width, bias=bias)

    def forward(self, x):
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class Block(nn.Module):
    def __init__(self, config, size):
        super().__init__()
        self.self_attn, self.mlp = Attention(config, size), MLP(config)
        self.input_layernorm, self.post_attention_layernorm = (
            nn.RMSNorm(config["hidden_size"], config["rms_norm_eps"]) for _ in range(2)
        )

    def forward(self, x, rotation, cache):
        x = x + self.self_attn(self.input_layernorm(x), rotation, cache)
        return x + self.mlp(self.post_attention_layernorm(x))


class Decoder(nn.Module):
    def __init__(self, config, size):
        super().__init__()
        self.embed_tokens = nn.Embedding(config["vocab_size"], config["hidden_size"])
        self.layers = nn.ModuleList(Block(config, size) for _ in range(config["num_hidden_layers"]))
        self.norm = nn.RMSNorm(config["hidden_size"], config["rms_norm_eps"])

    def forward(self, tokens, rotation, caches):
        x = self.embed_tokens(tokens)
        for layer, cache in zip(self.layers, caches, strict=True):
            x = layer(x, rotation, cache)
        return self.norm(x)


class LanguageModel(nn.Module):
    """Return the logits `(N, L, vocabulary)` of the tokens that follow the tokens `(N, L)`."""

    def __init__(self, config):
        super().__init__()
        size = config.get("head_dim") or config["hidden_size"] // config["num_attention_heads"]
        self.config = config
        self.model = Decoder(config, size)
        self.lm_head = nn.Linear(config["hidden_size"], config["vocab_size"], bias=False)
        with torch.device("cpu"):
            self.rotation = Rotation(config, size)

    def forward(self, tokens):
        rotation = self.rotation(0, tokens.shape[1], self.model.norm.weight.dtype)
        return self.lm_head(self.model(tokens, rotation, [None] * len(self.model.layers)))

    def next_logits(self, tokens, caches):
        """Append the tokens `(1, L)` to the caches.  Return the logits `(vocabulary,)` of the next token."""
        rotation = self.rotation(caches[0].length, tokens.shape[1], self.model.norm.weight.dtype)
        return self.lm_head(self.model(tokens, rotation, caches)[0, -1:])[0]


class Cache:
    """The keys and values of one layer for all previous tokens, with space for `capacity` tokens."""

    def __init__(self, capacity):
        self.capacity, self.length = capacity, 0

    def append(self, keys, values):
        """Store keys and values `(1, heads, L, size)`.  Return all of them."""
        if self.length == 0:
            batch, heads, _, size = keys.shape
            self.keys, self.values = (keys.new_empty(batch, heads, self.capacity, size) for _ in range(2))
        start, self.length = self.length, self.length + keys.shape[2]
        self.keys[:, :, start : self.length], self.values[:, :, start : self.length] = keys, values
        return self.keys[:, :, : self.length], self.values[:, :, : self.length]


def generate(model, tokens, count, stops=(), temperature=0.0):
    """Yield up to `count` tokens that continue the list `tokens`, and end before a token in `stops`."""
    caches = [Cache(len(tokens) + count) for _ in model.model.layers]
    for _ in range(count):
        with torch.inference_mode():  # not around `yield`, which would leave it active in the caller
            logits = model.next_logits(torch.tensor([tokens]), caches).float()
            token = int(torch.multinomial((logits / temperature).softmax(-1), 1) if temperature else logits.argmax())
        if token in stops:
            return
        yield token
        tokens = [token]


# --- quantized weights ---


class Int8Linear(nn.Module):
    """A linear layer with int8 weights and one scale per row."""

    def __init__(self, linear):
        super().__init__()
        weight = linear.weight.detach().float()
        scales = (weight.abs().amax(1) / 127).clamp(min=1e-12)
        self.register_buffer("weight", (weight / scales[:, None]).round().to(torch.int8))
        self.register_buffer("scales", scales.to(linear.weight.dtype))
        self.bias = linear.bias

    def forward(self, x):
        y = torch._weight_int8pack_mm(x.flatten(0, -2), self.weight, self.scales).unflatten(0, x.shape[:-1])
        return y if self.bias is None else y + self.bias


class Int4Linear(nn.Module):
    """A linear layer with packed int4 weights, and a scale and an offset for every 32 weights of a row."""

    GROUP = 32

    def __init__(self, linear):
        super().__init__()
        weight = linear.weight.detach().float()
        groups = weight.unflatten(1, (-1, self.GROUP))
        least, greatest = groups.aminmax(dim=2)
        scales = ((greatest - least) / 15).clamp(min=1e-12)
        numbers = ((groups - least[..., None]) / scales[..., None]).round().clamp(0, 15).to(torch.int32).flatten(1)
        self.register_buffer("weight", torch._convert_weight_to_int4pack_for_cpu(numbers, 1))
        offsets = least + 8 * scales  # the value of the number 8
        self.register_buffer("scales", torch.stack([scales, offsets], -1).transpose(0, 1).contiguous().to(linear.weight.dtype))
        self.bias = linear.bias

    def forward(self, x):
        y = torch._weight_int4pack_mm_for_cpu(x.flatten(0, -2), self.weight, self.GROUP, self.scales)
        y = y.unflatten(0, x.shape[:-1])
        return y if self.bias is None else y + self.bias


def quantize(module, layer):
    """Replace the linear layers in a module.  `Int4Linear` requires sizes that are multiples of 16 and 32."""
    for name, child in module.named_children():
        if isinstance(child, nn.Linear) and not (child.out_features % 16 or child.in_features % 32):
            setattr(module, name, layer(child))
        quantize(child, layer)


# --- files ---


def load_model(directory, dtype=None, quantized=None):
    """Return the model in a directory.  Its files are mapped into memory, so that a weight is read when it is used.

    `dtype` is by default that of the weights.  `quantized` is "int8" or "int4" to quantize the weights of linear layers.
    """
    config = json.loads((directory / "config.json").read_text(encoding="utf-8"))
    if config["model_type"] not in ARCHITECTURES:
        raise SystemExit(f"models of type {config['model_type']!r} are not supported: expected {', '.join(ARCHITECTURES)}")
    index = directory / "model.safetensors.index.json"
    files = {"model.safetensors"}
    if index.exists():
        files = set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values())
    with torch.device("meta"):  # parameters without memory, which the weights replace
        model = LanguageModel(config)
    weights = {}
    for file in sorted(files):
        for name, weight in torch.load(directory / file, mmap=True).items():
            weights[name] = weight.to(dtype) if dtype else weight
    if config.get("tie_word_embeddings", False) or "lm_head.weight" not in weights:
        weights["lm_head.weight"] = weights["model.embed_tokens.weight"]
    model.load_state_dict(weights, assign=True)
    del weights, weight  # frees each weight that a quantized layer replaces
    if quantized:
        quantize(model, {"int8": Int8Linear, "int4": Int4Linear}[quantized])
    return model.eval()


def save_weights(weights, path):
    """Write float32 tensors to a `.safetensors` file: the length of a header in JSON, the header, and the data."""
    header, end = {}, 0
    for name, weight in weights.items():
        start, end = end, end + 4 * weight.numel()
        header[name] = {"dtype": "F32", "shape": list(weight.shape), "data_offsets": [start, end]}
    text = json.dumps({"__metadata__": {"format": "pt"}, **header}).encode()
    text += b" " * (-len(text) % 8)  # aligns the data
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for weight in weights.values():
            file.write(weight.numpy().tobytes())

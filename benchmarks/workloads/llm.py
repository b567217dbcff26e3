"""Language models in float32, bfloat16 and float16: their products, attention and normalizations, and a Llama-like model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .workload import Make, Step, Workload

__all__ = ["WORKLOADS"]

DTYPES = ("float32", "bfloat16", "float16")
TOLERANCES = {"float32": 1e-3, "bfloat16": 4e-2, "float16": 5e-3}  # some units of the last place
HALF_AIMS = {1: (2, 1.0), 16: (3, 1.0), 256: (5, 1.3)}  # rows: target ratios on NumPy alone and with the kernel pack
FLOAT_AIMS = {1: (1.0, 1.0), 16: (1.0, 1.0), 256: (1.2, 0.8)}


def without_gradients(create: Callable[[Any, Any], Step]) -> Callable[[str], Make]:
    """Return a function of a dtype's name; `create(torch, dtype)` returns the step, which runs without gradients."""

    def of_dtype(name: str) -> Make:
        def make(torch: Any) -> Step:
            torch.manual_seed(0)
            step = create(torch, getattr(torch, name))

            def run() -> Any:
                with torch.inference_mode():
                    return step()

            return run

        return make

    return of_dtype


def linear(rows: int) -> Callable[[str], Make]:
    def create(torch: Any, dtype: Any) -> Step:
        x, weight, bias = (torch.randn(shape).to(dtype) for shape in ((rows, 2048), (2048, 2048), (2048,)))
        return lambda: torch.nn.functional.linear(x, weight, bias)

    return without_gradients(create)


def linear_with_copies(rows: int) -> Callable[[str], Make]:
    """A layer whose weight flambeau also keeps in float32; in PyTorch, only the layer."""

    def create(torch: Any, dtype: Any) -> Step:
        layer, x = torch.nn.Linear(2048, 2048).to(dtype), torch.randn(rows, 2048).to(dtype)
        getattr(torch.nn.utils, "cache_float32_weights", lambda layer: layer)(layer)
        return lambda: layer(x)

    return without_gradients(create)


def attention(heads: int, key_heads: int, queries: int, keys: int) -> Callable[[str], Make]:
    """Attention with 64 features per head; causal if there is more than one query."""

    def create(torch: Any, dtype: Any) -> Step:
        sizes = (heads, queries), (key_heads, keys), (key_heads, keys)
        q, k, v = (torch.randn(1, count, length, 64).to(dtype) for count, length in sizes)
        options = {"is_causal": queries > 1, "enable_gqa": heads != key_heads}
        return lambda: torch.nn.functional.scaled_dot_product_attention(q, k, v, **options)

    return without_gradients(create)


def function(apply: Callable[[Any, Any, Any], Any]) -> Callable[[str], Make]:
    """A function of a matrix `(64, 1024)` and a vector `(1024,)`."""

    def create(torch: Any, dtype: Any) -> Step:
        x, weight = torch.randn(64, 1024).to(dtype), torch.randn(1024).to(dtype)
        return lambda: apply(torch.nn.functional, x, weight)

    return without_gradients(create)


def conv2d(torch: Any, dtype: Any) -> Step:
    x, weight = torch.randn(1, 32, 56, 56).to(dtype), torch.randn(32, 32, 3, 3).to(dtype)
    return lambda: torch.nn.functional.conv2d(x, weight, padding=1)


# --- a model ------------------------------------------------------------------------------------------------------

WIDTH, HEADS, KEY_HEADS, HIDDEN, LAYERS, WORDS, LENGTH = 768, 12, 4, 2048, 8, 32000, 192
SIZE = WIDTH // HEADS  # features per head


class Llama:
    """A decoder with 100 million random parameters: rotary embeddings, grouped queries, SwiGLU and a cache of keys and values."""

    def __init__(self, torch: Any, dtype: Any) -> None:
        def weight(*shape: int) -> Any:
            return (torch.randn(shape) * 0.02).to(dtype)

        self.torch, self.dtype = torch, dtype
        self.table, self.head, self.norm = weight(WORDS, WIDTH), weight(WORDS, WIDTH), torch.ones(WIDTH).to(dtype)
        packed = WIDTH + 2 * KEY_HEADS * SIZE
        self.layers = [
            {"in": weight(packed, WIDTH), "out": weight(WIDTH, WIDTH), "gate": weight(HIDDEN, WIDTH), "up": weight(HIDDEN, WIDTH),
             "down": weight(WIDTH, HIDDEN), "norm": self.norm, "norm2": self.norm}
            for _ in range(LAYERS)
        ]  # fmt: skip
        angles = torch.arange(LENGTH).unsqueeze(1) / 10000 ** (torch.arange(0, SIZE, 2) / SIZE)
        self.cos, self.sin = (torch.cat([f(angles)] * 2, -1).to(dtype) for f in (torch.cos, torch.sin))

    def rotate(self, x: Any, position: int) -> Any:
        first, second = x.chunk(2, -1)
        cos, sin = (table[position : position + x.shape[-2]] for table in (self.cos, self.sin))
        return x * cos + self.torch.cat([-second, first], -1) * sin

    def linear(self, x: Any, weight: Any) -> Any:
        return self.torch.nn.functional.linear(x, weight)

    def __call__(self, words: Any, caches: list[Any]) -> Any:
        """Return the logits after the last of the words `(N, L)`, and extend the caches."""
        torch, f = self.torch, self.torch.nn.functional
        x = f.embedding(words, self.table)
        batch, length = words.shape
        position = caches[0][0].shape[2] if caches[0] else 0
        for number, layer in enumerate(self.layers):
            packed = self.linear(f.rms_norm(x, (WIDTH,), layer["norm"], 1e-5), layer["in"])
            sizes = [WIDTH, KEY_HEADS * SIZE, KEY_HEADS * SIZE]
            q, k, v = (part.view(batch, length, -1, SIZE).transpose(1, 2) for part in packed.split(sizes, -1))
            q, k = self.rotate(q, position), self.rotate(k, position)
            if caches[number]:
                k, v = (torch.cat([old, new], 2) for old, new in zip(caches[number], (k, v), strict=True))
            caches[number] = k, v
            attended = f.scaled_dot_product_attention(q, k, v, is_causal=length > 1, enable_gqa=True)
            x = x + self.linear(attended.transpose(1, 2).reshape(batch, length, WIDTH), layer["out"])
            normal = f.rms_norm(x, (WIDTH,), layer["norm2"], 1e-5)
            x = x + self.linear(f.silu(self.linear(normal, layer["gate"])) * self.linear(normal, layer["up"]), layer["down"])
        return self.linear(f.rms_norm(x[:, -1], (WIDTH,), self.norm, 1e-5), self.head)


class LlamaInt8(Llama):
    """The same model with int8 weights and a scale per row in linear layers; in PyTorch, with the weights of `Llama`."""

    def __init__(self, torch: Any, dtype: Any) -> None:
        super().__init__(torch, dtype)
        if torch.__name__ == "flambeau":
            self.quantized = {
                id(weight): self.quantize(weight) for layer in self.layers for weight in layer.values() if weight.ndim == 2
            }
            self.quantized[id(self.head)] = self.quantize(self.head)

    def quantize(self, weight: Any) -> tuple[Any, Any]:
        scales = weight.float().abs().amax(1) / 127
        return (weight.float() / scales.unsqueeze(1)).round().to(self.torch.int8), scales.to(self.dtype)

    def linear(self, x: Any, weight: Any) -> Any:
        if self.torch.__name__ != "flambeau":
            return super().linear(x, weight)
        return self.torch._weight_int8pack_mm(x.reshape(-1, x.shape[-1]), *self.quantized[id(weight)]).reshape(*x.shape[:-1], -1)


def prompt(torch: Any, dtype: Any) -> Step:
    model, words = Llama(torch, dtype), torch.randint(0, WORDS, (1, 128))
    return lambda: model(words, [()] * LAYERS)


def generate(torch: Any, dtype: Any, model_type: type[Llama] = Llama) -> Step:
    """24 tokens after a prompt of 8; each word is drawn in advance, so that rounding errors do not change the text."""
    model, words = model_type(torch, dtype), torch.randint(0, WORDS, (1, 32))

    def step() -> Any:
        caches: list[Any] = [()] * LAYERS
        logits = model(words[:, :8], caches)
        for place in range(8, 32):
            logits = model(words[:, place : place + 1], caches)
        return logits

    return step


FUNCTIONS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "softmax": lambda f, x, weight: f.softmax(x, -1),
    "layer_norm": lambda f, x, weight: f.layer_norm(x, (1024,), weight, weight),
    "rms_norm": lambda f, x, weight: f.rms_norm(x, (1024,), weight, 1e-5),
    "silu": lambda f, x, weight: f.silu(x),
}


def rows_of(dtype: str) -> list[Workload]:
    aims = FLOAT_AIMS if dtype == "float32" else HALF_AIMS
    rows = [(f"linear 2048x2048, rows: {rows}", linear(rows), *aims[rows]) for rows in (1, 16, 256)]
    if dtype != "float32":
        rows += [(f"linear 2048x2048, float32 copies, rows: {rows}", linear_with_copies(rows), *aims[rows]) for rows in (1, 16)]
    rows += [
        (f"attention, 1 query of 16 heads, {keys} keys{', 4 key heads' * (count < 16)}", attention(16, count, 1, keys), 3, 1.0)
        for keys in (512, 4096) for count in (16, 4)
    ]  # fmt: skip
    rows += [("causal attention, 16 heads, length 256", attention(16, 16, 256, 256), 3, 1.0)]
    rows += [(f"{name} 64x1024", function(apply), 3, 1.0) for name, apply in FUNCTIONS.items()]
    rows += [("conv2d 3x3, 32 channels, 56x56", without_gradients(conv2d), 3, 1.0)]
    rows += [
        ("Llama, prompt of 128", without_gradients(prompt), 1.7, 1.0),
        ("Llama, 24 tokens", without_gradients(generate), 1.7, 1.0),
    ]
    return [
        Workload(f"{name}, {dtype}", make(dtype), alone, fast, tolerance=TOLERANCES[dtype]) for name, make, alone, fast in rows
    ]


def generate_int8(torch: Any, dtype: Any) -> Step:
    return generate(torch, dtype, LlamaInt8)


WORKLOADS = [workload for dtype in DTYPES for workload in rows_of(dtype)]
WORKLOADS.append(  # 1.5 times the tokens per second of bfloat16 with the kernel pack, and as many without
    Workload("Llama, 24 tokens, int8 weights, bfloat16", without_gradients(generate_int8)("bfloat16"), 1.0, 0.67, tolerance=0.15)
)

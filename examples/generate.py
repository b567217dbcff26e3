"""Continue a text with a language model: Llama, Mistral, Qwen2, Qwen3 and models with the same layers.

python -m flambeau examples/generate.py
python -m flambeau examples/generate.py DIRECTORY "Once upon a time" --tokens 100
python -m flambeau examples/generate.py DIRECTORY "Once upon a time" --quantize int8

DIRECTORY contains a model as Hugging Face publishes it: `config.json`, `tokenizer.json` and weights in `.safetensors` files.
Without a directory, a tiny model is trained on nursery rhymes and saved in that layout.  Only tokenizers of other models
require a package, `tokenizers`.
"""

import argparse
import json
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

import torch
from curves import add_plot_option, draw
from language_model import LanguageModel, generate, load_model, save_weights
from torch.nn import functional as F

TEXT = Path(__file__).with_name("nursery_rhymes.txt")
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
TINY = {
    "model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 96, "intermediate_size": 256,
    "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 1024,
    "rms_norm_eps": 1e-5, "tie_word_embeddings": False, "torch_dtype": "float32",
}  # fmt: skip


class Characters:
    """A tokenizer with one token per character, stored as byte-pair encoding without merges."""

    def __init__(self, vocabulary):
        self.numbers, self.characters = vocabulary, {number: character for character, number in vocabulary.items()}

    def encode(self, text):
        return [self.numbers[character] for character in text if character in self.numbers]

    def decode(self, tokens):
        return "".join(self.characters[token] for token in tokens)

    def save(self, path):
        model = {"type": "BPE", "vocab": self.numbers, "merges": []}
        path.write_text(json.dumps({"version": "1.0", "model": model, "decoder": {"type": "Fuse"}}), encoding="utf-8")


def load_tokenizer(path):
    """Return functions that convert a text to a list of tokens, and back."""
    model = json.loads(path.read_text(encoding="utf-8"))["model"]
    if model["type"] == "BPE" and not model["merges"]:
        characters = Characters(model["vocab"])
        return characters.encode, characters.decode
    if find_spec("tokenizers") is None:
        raise SystemExit("this tokenizer requires a package: pip install tokenizers")
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(path))
    return lambda text: tokenizer.encode(text).ids, tokenizer.decode


def train(directory, steps, batch=6, window=160):
    """Train a tiny model on nursery rhymes, save it in a directory, and return the losses."""
    text = TEXT.read_text(encoding="utf-8")
    tokenizer = Characters({character: number for number, character in enumerate(sorted(set(text)))})
    tokens = torch.tensor(tokenizer.encode(text + text[:window]))
    lines = torch.tensor([0, *(place + 1 for place, character in enumerate(text[:-1]) if character == "\n")])
    config = {**TINY, "vocab_size": len(tokenizer.numbers)}
    model = LanguageModel(config)
    optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    losses = []
    for step in range(1, steps + 1):
        starts = lines[torch.randint(len(lines), (batch, 1))]
        windows = tokens[starts + torch.arange(window)]
        loss = F.cross_entropy(model(windows[:, :-1]).flatten(0, 1), windows[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
        if step % 50 == 0 or step == steps:
            print(f"step {step:3d}  loss {sum(losses[-50:]) / len(losses[-50:]):.3f}")
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "config.json").write_text(json.dumps(config, indent=2), encoding="utf-8")
    tokenizer.save(directory / "tokenizer.json")
    save_weights(model.state_dict(), directory / "model.safetensors")
    print(f"saved to {directory}\n")
    return losses


def read_stops(directory):
    """Return the tokens that end a text."""
    stops = set()
    for name in ("config.json", "generation_config.json"):
        if (path := directory / name).exists():
            saved = json.loads(path.read_text(encoding="utf-8")).get("eos_token_id")
            stops.update(saved if isinstance(saved, list) else [] if saved is None else [saved])
    return stops


def stream(tokens, decode):
    """Print the text of tokens as they are generated.  Return the time of each token in seconds since the call."""
    start, times, every, printed = time.perf_counter(), [], [], 0
    for token in tokens:
        every.append(token)
        times.append(time.perf_counter() - start)
        text = decode(every)
        if not text.endswith("\ufffd"):  # the last character may have bytes in the next token
            print(text[printed:], end="", flush=True)
            printed = len(text)
    print()
    return times


def peak_memory():
    """Return the largest amount of memory that this process has used, in bytes, or None if it is unknown."""
    try:
        import resource
    except ImportError:  # on Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path, nargs="?", help="directory of a model; by default, train a tiny one")
    parser.add_argument("prompt", nargs="?", default="Mary had", help="text to continue")
    parser.add_argument("--tokens", type=int, default=150, help="number of tokens to generate")
    parser.add_argument("--temperature", type=float, default=0.3, help="0 always takes the most probable token")
    parser.add_argument("--dtype", choices=DTYPES, help="dtype of the weights and of the computation")
    parser.add_argument("--quantize", choices=["int8", "int4"], help="dtype of the weights of linear layers")
    parser.add_argument("--save", type=Path, default=Path(tempfile.gettempdir(), "nursery_rhymes"), help="for the tiny model")
    parser.add_argument("--steps", type=int, default=200, help="training steps of the tiny model")
    parser.add_argument("--seed", type=int, default=0)
    add_plot_option(parser)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    curves = {}
    if args.directory is None:
        curves["Loss"] = train(args.save, args.steps)
    directory = args.directory or args.save

    start = time.perf_counter()
    model = load_model(directory, DTYPES.get(args.dtype), args.quantize)
    encode, decode = load_tokenizer(directory / "tokenizer.json")
    loaded = time.perf_counter() - start
    prompt = encode(args.prompt)
    print(args.prompt, end="", flush=True)
    tokens = generate(model, prompt, args.tokens, read_stops(directory), args.temperature)
    times = stream(tokens, decode)

    size = sum(weight.nbytes for weight in {id(weight): weight for weight in model.state_dict().values()}.values())
    print(f"\nloaded in {loaded:.2f} s; {size / 1e6:,.0f} MB of weights")
    if times:
        print(f"prompt: {len(prompt)} tokens in {times[0]:.2f} s, {len(prompt) / times[0]:.1f} tokens per second")
    if len(times) > 1:
        print(f"text: {len(times)} tokens, {(len(times) - 1) / (times[-1] - times[0]):.1f} tokens per second")
    if peak := peak_memory():
        print(f"memory: at most {peak / 1e6:,.0f} MB")
    if args.plot:
        curves["Milliseconds per token"] = [1000 * (end - begin) for begin, end in zip([0, *times[:-1]], times, strict=True)]
        draw(args.plot, "step", curves)


if __name__ == "__main__":
    main()

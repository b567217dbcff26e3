"""A character-level LSTM that learns to generate text.

python -m flambeau examples/char_rnn.py
python -m flambeau examples/char_rnn.py --text my.txt --epochs 20 --sample 400
"""

import argparse
import math
from pathlib import Path

import torch
from curves import add_plot_option, draw
from torch import nn

TEXT = Path(__file__).with_name("nursery_rhymes.txt")


class CharRNN(nn.Module):
    def __init__(self, characters, embedding=32, hidden=128):
        super().__init__()
        self.embed = nn.Embedding(characters, embedding)
        self.lstm = nn.LSTM(embedding, hidden, batch_first=True)
        self.head = nn.Linear(hidden, characters)

    def forward(self, x, state=None):
        output, state = self.lstm(self.embed(x), state)
        return self.head(output), state


def write(model, alphabet, start, length, temperature=0.7):
    """Append `length` characters sampled from the model to `start`."""
    model.eval()
    text, state = start, None
    x = torch.tensor([[alphabet.index(c) for c in start]])
    with torch.no_grad():
        for _ in range(length):
            logits, state = model(x, state)
            x = torch.multinomial(torch.softmax(logits[:, -1] / temperature, dim=-1), 1)
            text += alphabet[x.item()]
    model.train()
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--text", type=Path, default=TEXT)
    parser.add_argument("--epochs", type=int, default=15)
    parser.add_argument("--window", type=int, default=48)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--sample", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    add_plot_option(parser)
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    text = args.text.read_text(encoding="utf-8")
    alphabet = sorted(set(text))
    data = torch.tensor([alphabet.index(c) for c in text])
    windows = data.unfold(0, args.window + 1, args.window // 4)

    model = CharRNN(len(alphabet))
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    loss_fn = nn.CrossEntropyLoss()
    losses = []
    for epoch in range(1, args.epochs + 1):
        total = 0.0
        for batch in torch.randperm(len(windows)).split(args.batch_size):
            x, y = windows[batch, :-1], windows[batch, 1:]
            logits, _ = model(x)
            loss = loss_fn(logits.flatten(0, 1), y.flatten())
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            total += loss.item() * len(batch)
        losses.append(total / len(windows))
        print(
            f"epoch {epoch:2d}  loss {total / len(windows):.3f}  ({math.exp(total / len(windows)):.1f} of {len(alphabet)} "
            "characters)"
        )
    print(write(model, alphabet, text[:1], args.sample))
    if args.plot:
        draw(args.plot, "epoch", {"Loss": losses})


if __name__ == "__main__":
    main()

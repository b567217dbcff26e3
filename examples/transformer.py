"""A transformer encoder that reads the handwritten digits row by row (Vaswani et al., "Attention Is All You Need", 2017).

python -m flambeau examples/transformer.py
"""

import argparse

import torch
import torch.nn.functional as F
import torchvision
from curves import add_plot_option, draw
from torch import nn


class RowTransformer(nn.Module):
    """Treat the eight rows of pixels as a sequence of eight tokens; classify the mean of the outputs."""

    def __init__(self, width=48, heads=4, layers=2):
        super().__init__()
        self.embed = nn.Linear(8, width)
        self.position = nn.Parameter(torch.randn(1, 8, width) * 0.02)
        layer = nn.TransformerEncoderLayer(width, heads, dim_feedforward=2 * width, dropout=0.1, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, layers)
        self.head = nn.Linear(width, 10)

    def forward(self, x):
        return self.head(self.encoder(self.embed(x) + self.position).mean(1))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=15)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--seed", type=int, default=0)
    add_plot_option(parser)
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    train, test = (torchvision.datasets.UCIDigits(train=part) for part in (True, False))
    x, y = train.data.float() / 255, train.targets
    model = RowTransformer()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.epochs)
    losses, accuracies = [], []
    for epoch in range(1, args.epochs + 1):
        model.train()
        for batch in torch.randperm(len(x)).split(args.batch_size):
            loss = F.cross_entropy(model(x[batch]), y[batch])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        schedule.step()
        model.eval()
        with torch.no_grad():
            right = (model(test.data.float() / 255).argmax(1) == test.targets).float().mean().item()
        losses.append(loss.item())
        accuracies.append(right)
        print(f"epoch {epoch:2d}  loss {loss.item():.3f}  held-out accuracy {right:.2%}")
    if args.plot:
        draw(args.plot, "epoch", {"Loss": losses, "Held-out accuracy": accuracies})


if __name__ == "__main__":
    main()

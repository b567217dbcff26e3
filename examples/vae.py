"""A variational autoencoder of the handwritten digits (Kingma & Welling, "Auto-Encoding Variational Bayes", 2013).

python -m flambeau examples/vae.py
python -m flambeau examples/vae.py --epochs 60 --image digits.png
"""

import argparse

import torch
import torch.nn.functional as F
import torchvision
from curves import add_plot_option, draw
from torch import nn


class VAE(nn.Module):
    def __init__(self, pixels=64, hidden=128, latent=8):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(pixels, hidden), nn.ReLU())
        self.mean, self.log_variance = nn.Linear(hidden, latent), nn.Linear(hidden, latent)
        self.decoder = nn.Sequential(nn.Linear(latent, hidden), nn.ReLU(), nn.Linear(hidden, pixels))

    def forward(self, x):
        h = self.encoder(x)
        mean, log_variance = self.mean(h), self.log_variance(h)
        z = mean + torch.exp(0.5 * log_variance) * torch.randn_like(mean)
        return self.decoder(z), mean, log_variance


def loss_function(logits, x, mean, log_variance):
    """Return the negative evidence lower bound, averaged over the batch."""
    reconstruction = F.binary_cross_entropy_with_logits(logits, x, reduction="sum")
    divergence = -0.5 * torch.sum(1 + log_variance - mean.pow(2) - log_variance.exp())
    return (reconstruction + divergence) / len(x)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--image", help="write 64 new digits to this file")
    parser.add_argument("--seed", type=int, default=0)
    add_plot_option(parser)
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    digits = torchvision.datasets.UCIDigits(train=True).data.flatten(1).float() / 255
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(digits), args.batch_size, shuffle=True)
    model = VAE()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    losses = []
    for epoch in range(1, args.epochs + 1):
        total = 0.0
        for (x,) in loader:
            logits, mean, log_variance = model(x)
            loss = loss_function(logits, x, mean, log_variance)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(x)
        losses.append(total / len(digits))
        print(f"epoch {epoch:2d}  loss {total / len(digits):.2f} nats per digit")
    if args.plot:
        draw(args.plot, "epoch", {"Nats per digit": losses})
    if args.image:
        with torch.no_grad():
            new = torch.sigmoid(model.decoder(torch.randn(64, 8))).reshape(64, 1, 8, 8)
        torchvision.utils.save_image(F.interpolate(new, scale_factor=4), args.image)


if __name__ == "__main__":
    main()

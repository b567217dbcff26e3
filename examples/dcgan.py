"""A small DCGAN of the handwritten digits (Radford, Metz & Chintala, 2015).

python -m flambeau examples/dcgan.py --epochs 30 --image digits.png
"""

import argparse

import torch
import torchvision
from curves import add_plot_option, draw
from torch import nn

LATENT = 16


def generator():
    """Map 16 random numbers to an 8 x 8 image in [-1, 1]."""
    return nn.Sequential(
        nn.ConvTranspose2d(LATENT, 32, 2),
        nn.BatchNorm2d(32),
        nn.ReLU(),
        nn.ConvTranspose2d(32, 16, 4, stride=2, padding=1),
        nn.BatchNorm2d(16),
        nn.ReLU(),
        nn.ConvTranspose2d(16, 1, 4, stride=2, padding=1),
        nn.Tanh(),
    )


def discriminator():
    """Map an image to a logit: how likely it is real."""
    return nn.Sequential(
        nn.Conv2d(1, 16, 4, stride=2, padding=1),
        nn.LeakyReLU(0.2),
        nn.Conv2d(16, 32, 4, stride=2, padding=1),
        nn.BatchNorm2d(32),
        nn.LeakyReLU(0.2),
        nn.Conv2d(32, 1, 2),
        nn.Flatten(0),
    )


def initialise(module):
    if isinstance(module, (nn.Conv2d, nn.ConvTranspose2d)):
        nn.init.normal_(module.weight, 0.0, 0.02)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--image", help="write 64 new digits to this file")
    parser.add_argument("--seed", type=int, default=0)
    add_plot_option(parser)
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    digits = torchvision.datasets.UCIDigits(train=True).data.unsqueeze(1).float() / 127.5 - 1
    G, D = generator().apply(initialise), discriminator().apply(initialise)
    loss_fn = nn.BCEWithLogitsLoss()
    step_G = torch.optim.Adam(G.parameters(), lr=1e-3, betas=(0.5, 0.999))
    step_D = torch.optim.Adam(D.parameters(), lr=5e-4, betas=(0.5, 0.999))
    losses = {"discriminator": [], "generator": []}
    for epoch in range(1, args.epochs + 1):
        for batch in torch.randperm(len(digits)).split(args.batch_size):
            real, fake = digits[batch], G(torch.randn(len(batch), LATENT, 1, 1))
            ones, zeros = torch.ones(len(batch)), torch.zeros(len(batch))
            loss_D = loss_fn(D(real), ones) + loss_fn(D(fake.detach()), zeros)
            step_D.zero_grad()
            loss_D.backward()
            step_D.step()
            loss_G = loss_fn(D(fake), ones)
            step_G.zero_grad()
            loss_G.backward()
            step_G.step()
            losses["discriminator"].append(loss_D.item())
            losses["generator"].append(loss_G.item())
        print(f"epoch {epoch:2d}  discriminator {loss_D.item():.3f}  generator {loss_G.item():.3f}")
    if args.plot:
        draw(args.plot, "batch", {"Loss": losses})
    if args.image:
        with torch.no_grad():
            torchvision.utils.save_image(G.eval()(torch.randn(64, LATENT, 1, 1)) / 2 + 0.5, args.image)


if __name__ == "__main__":
    main()

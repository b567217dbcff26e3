"""Train the same network for 100 steps in PyTorch and in flambeau, from one seed, and print both loss curves side by side.

    python examples/compare.py

Both draw the same initial weights, order of images and dropout masks from the seed. Their results differ by rounding in the
last digit. The layers used here do not amplify this difference. Max pooling of almost equal values would, but then two
runs of PyTorch also diverge if their initial weights differ in the seventh digit.
"""

import argparse

from curves import add_plot_option, draw


def losses(torch, steps, seed):
    """Train a small convolutional network on random images and return the loss of each step."""
    nn, F = torch.nn, torch.nn.functional
    torch.manual_seed(seed)
    images = torch.rand(512, 1, 16, 16)
    labels = torch.randint(0, 10, (512,))
    model = nn.Sequential(
        nn.Conv2d(1, 8, 3),
        nn.GELU(),
        nn.AvgPool2d(2),
        nn.Conv2d(8, 16, 3, bias=False),
        nn.BatchNorm2d(16),
        nn.SiLU(),
        nn.AvgPool2d(2),
        nn.Flatten(),
        nn.Dropout(0.25),
        nn.Linear(64, 32),
        nn.Tanh(),
        nn.Linear(32, 10),
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    dataset = torch.utils.data.TensorDataset(images, labels)
    curve = []
    while len(curve) < steps:
        for x, y in torch.utils.data.DataLoader(dataset, batch_size=64, shuffle=True):
            loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            curve.append(loss.item())
    return curve[:steps]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    add_plot_option(parser)
    args = parser.parse_args()

    import torch

    import flambeau

    if torch is flambeau:
        parser.error("start it with `python`, not `python -m flambeau`, which would compare flambeau with itself")

    theirs, ours = losses(torch, args.steps, args.seed), losses(flambeau, args.steps, args.seed)
    print(" step     PyTorch    flambeau  difference")
    for step, (a, b) in enumerate(zip(theirs, ours, strict=True), start=1):
        print(f"{step:5d}  {a:10.6f}  {b:10.6f}  {abs(a - b):10.1e}")
    print(f"largest difference: {max(abs(a - b) for a, b in zip(theirs, ours, strict=True)):.1e}")
    if args.plot:
        differences = [abs(a - b) for a, b in zip(theirs, ours, strict=True)]
        draw(args.plot, "step", {"Loss": {"PyTorch": theirs, "flambeau": ours}, "Difference": differences})


if __name__ == "__main__":
    main()

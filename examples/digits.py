"""Train a small convolutional network on 1,797 real handwritten digits.

    python -m flambeau examples/digits.py
    python -m flambeau examples/digits.py --epochs 30 --plot digits.png

The code runs with flambeau or with PyTorch and torchvision as `torch`. The dataset is only available in flambeau.
"""

import argparse
import time

import torch
import torch.nn.functional as F
import torchvision
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class DigitsConvNet(nn.Module):
    """Two convolutions with pooling reduce 8 x 8 pixels to 2 x 2; two linear layers follow."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 32, 3, padding=1)
        self.pool1 = nn.MaxPool2d(2, 2)
        self.conv2 = nn.Conv2d(32, 64, 3, padding=1)
        self.pool2 = nn.MaxPool2d(2, 2)
        self.dropout = nn.Dropout(0.5)
        self.fc1 = nn.Linear(64 * 2 * 2, 100)
        self.fc2 = nn.Linear(100, 10)

    def forward(self, input):
        x = self.pool1(F.relu(self.conv1(input)))
        x = self.pool2(F.relu(self.conv2(x)))
        x = x.view(x.size(0), -1)
        x = F.relu(self.fc1(x))
        return self.fc2(self.dropout(x))


def load_digits(train):
    """Return the digits as a dataset of float images in [0, 1], shape `(1, 8, 8)`, and their targets."""
    digits = torchvision.datasets.UCIDigits(train=train)
    return TensorDataset(digits.data.unsqueeze(1).float() / 255, digits.targets)


def progress(batches, title):
    """Return the batches, with a progress bar if tqdm is installed and the output is a terminal."""
    try:
        from tqdm import tqdm
    except ModuleNotFoundError:
        return batches
    return tqdm(batches, desc=title, ncols=79, leave=False, disable=None)


def train_epoch(model, batches, optimizer, title):
    """Train for one epoch and return the loss of each batch."""
    model.train()
    losses = []
    for images, targets in progress(batches, title):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(images), targets)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def predict(model, images):
    model.eval()
    with torch.no_grad():
        return model(images).argmax(dim=1)


def plot(path, losses, images, targets, predictions):
    """Draw the loss curve, and the misclassified digits below it."""
    from matplotlib.figure import Figure

    wrong = (predictions != targets).nonzero().flatten().tolist()
    columns = 10
    rows = max(1, -(-len(wrong) // columns))
    figure = Figure(figsize=(columns, 4 + 1.4 * rows), layout="constrained")
    curve, misread = figure.subfigures(2, 1, height_ratios=[4, 1.4 * rows])
    axes = curve.subplots()
    axes.plot(losses, linewidth=0.8)
    axes.set(title="Training loss", xlabel="batch", ylabel="cross-entropy", yscale="log")
    misread.suptitle(f"{len(wrong)} of {len(targets)} held-out digits misread")
    cells = misread.subplots(rows, columns, squeeze=False).flatten()
    for cell in cells:
        cell.axis("off")
    for cell, index in zip(cells, wrong, strict=False):
        cell.imshow(images[index, 0].numpy(), cmap="gray_r")
        cell.set_title(f"{targets[index]} read as {predictions[index]}", fontsize=7)
    figure.savefig(path, dpi=120)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=20, help="passes over the training digits (default: 20)")
    parser.add_argument("--lr", type=float, default=3e-3, help="learning rate (default: 0.003)")
    parser.add_argument("--batch-size", type=int, default=32, help="digits per step (default: 32)")
    parser.add_argument("--seed", type=int, default=0, help="seed of all random numbers (default: 0)")
    parser.add_argument("--plot", metavar="FILE.png", help="draw the loss curve and the misread digits")
    arguments = parser.parse_args()
    if arguments.plot:
        try:
            import matplotlib  # noqa: F401
        except ModuleNotFoundError:
            parser.error("--plot needs matplotlib: pip install matplotlib")
    return arguments


def main():
    arguments = parse_arguments()
    torch.manual_seed(arguments.seed)
    training, held_out = load_digits(train=True), load_digits(train=False)
    batches = DataLoader(training, batch_size=arguments.batch_size, shuffle=True)
    images, targets = held_out.tensors

    model = DigitsConvNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=arguments.lr)
    print(f"{len(training)} digits to train on, {len(held_out)} held out")
    print(model)

    start = time.perf_counter()
    losses = []
    for epoch in range(1, arguments.epochs + 1):
        epoch_losses = train_epoch(model, batches, optimizer, f"epoch {epoch:2}/{arguments.epochs}")
        losses += epoch_losses
        accuracy = (predict(model, images) == targets).float().mean().item()
        mean_loss = sum(epoch_losses) / len(epoch_losses)
        print(f"epoch {epoch:2}/{arguments.epochs}  loss {mean_loss:.4f}  held-out accuracy {accuracy:.2%}")
    print(f"trained in {time.perf_counter() - start:.1f} s")

    if arguments.plot:
        plot(arguments.plot, losses, images, targets, predict(model, images))
        print(f"plotted to {arguments.plot}")


if __name__ == "__main__":
    main()

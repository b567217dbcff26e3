"""Train one network in several processes that update shared parameters without locks (Hogwild).

    python -m flambeau examples/hogwild.py
    python -m flambeau examples/hogwild.py --processes 4 --epochs 20

Each process reads the current parameters, computes gradients and updates the parameters without waiting for the others. Some
updates are overwritten, but training still converges (Niu, Recht, Re, Wright: Hogwild!, 2011).
"""

import argparse
import time

import torch
import torch.multiprocessing as mp
import torch.nn.functional as F
import torchvision
from curves import add_plot_option, draw
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def make_model():
    return nn.Sequential(nn.Flatten(), nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))


def load_digits(train):
    digits = torchvision.datasets.UCIDigits(train=train)
    return TensorDataset(digits.data.float() / 255, digits.targets)


def train(rank, model, steps, losses, arguments):
    """Train in one process; `model`, `steps` and `losses` are in shared memory."""
    torch.manual_seed(arguments.seed + rank)
    torch.set_num_threads(1)
    batches = DataLoader(load_digits(train=True), batch_size=arguments.batch_size, shuffle=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=arguments.lr, momentum=0.5)
    for epoch in range(1, arguments.epochs + 1):
        total = 0.0
        for images, targets in batches:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(images), targets)
            loss.backward()
            optimizer.step()
            total += loss.item()
            steps[rank] += 1
        losses[rank, epoch - 1] = total / len(batches)
        print(f"process {rank}  epoch {epoch:2}/{arguments.epochs}  loss {total / len(batches):.4f}", flush=True)


def measure(model):
    """Return the accuracy on the held-out digits."""
    images, targets = load_digits(train=False).tensors
    with torch.no_grad():
        return (model(images).argmax(dim=1) == targets).float().mean().item()


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--processes", type=int, default=2, help="number of processes (default: 2)")
    parser.add_argument("--epochs", type=int, default=10, help="passes of each process over the training digits (default: 10)")
    parser.add_argument("--lr", type=float, default=0.1, help="learning rate (default: 0.1)")
    parser.add_argument("--batch-size", type=int, default=32, help="digits per step (default: 32)")
    parser.add_argument("--seed", type=int, default=0, help="seed of all random numbers (default: 0)")
    add_plot_option(parser)
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    torch.manual_seed(arguments.seed)
    model = make_model()
    model.share_memory()  # must precede the start of the processes, so that they use the same parameters
    steps = torch.zeros(arguments.processes, dtype=torch.int64).share_memory_()
    losses = torch.zeros(arguments.processes, arguments.epochs).share_memory_()
    print(f"accuracy before training {measure(model):.2%}")

    start = time.perf_counter()
    mp.spawn(train, args=(model, steps, losses, arguments), nprocs=arguments.processes)
    print(f"{int(steps.sum())} steps by {arguments.processes} processes in {time.perf_counter() - start:.1f} s")
    print(f"held-out accuracy {measure(model):.2%}")
    if arguments.plot:
        curves = {f"process {rank}": row for rank, row in enumerate(losses.tolist())}
        draw(arguments.plot, "epoch", {"Loss": curves})


if __name__ == "__main__":
    main()

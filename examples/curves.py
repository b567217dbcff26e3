"""Draw curves to a file, for the option `--plot` of the other examples. Requires matplotlib, but no display."""

import argparse
from importlib.util import find_spec


def picture(path):
    """Check the argument of `--plot`. Raise an argparse error if matplotlib is missing."""
    if find_spec("matplotlib") is None:
        raise argparse.ArgumentTypeError("requires matplotlib: pip install matplotlib")
    return path


def add_plot_option(parser):
    parser.add_argument("--plot", type=picture, metavar="FILE.png", help="plot the printed values")


def draw(path, along, curves, logarithmic=False):
    """Draw one plot per entry of `curves`: a title, and a list of numbers or a dict of labelled lists."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 3 * len(curves)), layout="constrained")
    for axes, (title, numbers) in zip(figure.subplots(len(curves), squeeze=False)[:, 0], curves.items(), strict=True):
        for label, values in numbers.items() if isinstance(numbers, dict) else [(None, numbers)]:
            axes.plot(range(1, len(values) + 1), values, linewidth=1, label=label)
        axes.set(title=title, xlabel=along, yscale="log" if logarithmic else "linear")
        if isinstance(numbers, dict):
            axes.legend()
    figure.savefig(path, dpi=120)
    print(f"plotted to {path}")

"""Run docstring examples, given as JSON, with the imported `torch`, and print the output of each example.

python docstring_examples.py < {name: docstring}
"""

from __future__ import annotations

import contextlib
import doctest
import io
import json
import math
import os
import re
import signal
import sys
import tempfile
import warnings

import numpy as np
import torch
from torch import nn, optim

SECONDS = 60  # time limit for one example


def reset():
    """Reset global settings that an example may have changed."""
    torch.set_default_device(None)
    torch.set_default_dtype(torch.float32)
    torch.set_printoptions(profile="default")
    torch.set_grad_enabled(True)
    torch.use_deterministic_algorithms(False)
    torch.manual_seed(0)
    np.random.seed(0)
    return {"torch": torch, "nn": nn, "F": nn.functional, "np": np, "math": math, "optim": optim, "__name__": "__main__"}


def shown(source, names):
    """Run an example; return its output and the values of expressions, or the type and text of its error."""
    found, printed = [], io.StringIO()
    sys.displayhook = lambda value: None if value is None else found.append(repr(value))
    signal.alarm(SECONDS)
    try:
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(compile(source, "<example>", "single"), names)
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:100]}"
    finally:
        signal.alarm(0)
    return re.sub("0x[0-9a-f]+", "0x", printed.getvalue() + "\n".join(found))


def late(*_):
    raise TimeoutError


def main():
    signal.signal(signal.SIGALRM, late)
    documents, made = json.load(sys.stdin), {}
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for name, text in documents.items():
            names = reset()
            made[name] = [(each.source, shown(each.source, names)) for each in doctest.DocTestParser().get_examples(text)]
        os.chdir("/")
    json.dump(made, sys.stdout)


if __name__ == "__main__":
    main()

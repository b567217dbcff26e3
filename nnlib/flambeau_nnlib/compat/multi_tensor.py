"""`torch.optim._multi_tensor`: the optimizers with `foreach=True`, which PyTorch 1.7 to 1.11 had under these names."""

from __future__ import annotations

from functools import partialmethod

from flambeau import optim

__all__ = ["ASGD", "SGD", "Adadelta", "Adagrad", "Adam", "AdamW", "Adamax", "NAdam", "RAdam", "RMSprop", "Rprop"]


def _with_foreach(cls: type[optim.Optimizer]) -> type[optim.Optimizer]:
    initialize = partialmethod(cls.__init__, foreach=True)
    return type(cls.__name__, (cls,), {"__init__": initialize, "__module__": __name__, "__doc__": cls.__doc__})


ASGD = _with_foreach(optim.ASGD)
SGD = _with_foreach(optim.SGD)
Adadelta = _with_foreach(optim.Adadelta)
Adagrad = _with_foreach(optim.Adagrad)
Adam = _with_foreach(optim.Adam)
AdamW = _with_foreach(optim.AdamW)
Adamax = _with_foreach(optim.Adamax)
NAdam = _with_foreach(optim.NAdam)
RAdam = _with_foreach(optim.RAdam)
RMSprop = _with_foreach(optim.RMSprop)
Rprop = _with_foreach(optim.Rprop)

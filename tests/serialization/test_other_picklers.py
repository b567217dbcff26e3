"""`torch.save` with picklers of other modules."""

from __future__ import annotations

import io
import pickle
import types

import flambeau as torch


class Point:
    def __init__(self, x):
        self.x = x


class PicklerOfFunctions(pickle.Pickler):
    """A pickler written in C that pickles functions by value, as cloudpickle's does."""

    def reducer_override(self, obj):
        return (Point, (obj(1),)) if isinstance(obj, types.FunctionType) and obj.__name__ == "<lambda>" else NotImplemented


def test_pickler_written_in_c():
    module = types.SimpleNamespace(Pickler=PicklerOfFunctions)
    value = {
        "half": torch.ones(2, dtype=torch.bfloat16),
        "layer": torch.nn.Linear(2, 1),
        "storage": torch.arange(3).untyped_storage(),
        "function": lambda x: x + 1,
        "sin": torch.sin,
        "layout": torch.strided,
    }
    file = io.BytesIO()
    torch.save(value, file, pickle_module=module)
    file.seek(0)
    found = torch.load(file, weights_only=False)
    assert found["half"].dtype == torch.bfloat16 and found["half"].tolist() == [1, 1]
    assert found["layer"].weight.equal(value["layer"].weight) and found["storage"].nbytes() == 24
    assert found["function"].x == 2 and found["sin"] is torch.sin and found["layout"] is torch.strided

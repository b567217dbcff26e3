"""`torch.export`: capture a module as a graph that contains only PyTorch operators.

>>> class Model(torch.nn.Module):
...     def forward(self, x):
...         return torch.relu(x).view(x.shape[0], -1)
>>> batch = torch.export.Dim("batch")
>>> program = torch.export.export(Model(), (torch.ones(2, 3, 4),), dynamic_shapes={"x": {0: batch}})
>>> [node.name for node in program.graph.nodes]
['x', 'relu', 'sym_size_int', 'view', 'output']
>>> program.module()(torch.ones(5, 3, 4)).shape
torch.Size([5, 12])
"""

from __future__ import annotations

from flambeau.utils.pytree import register_dataclass

from . import dynamic_shapes, exported_program, graph_signature
from ._errors import GuardOnDataDependentSymNode, UserError
from ._export import draft_export, export
from ._saving import load, save
from .decompositions import CustomDecompTable, default_decompositions
from .dynamic_shapes import AdditionalInputs, Constraint, Dim, ShapesCollection, dims
from .exported_program import ExportedProgram, ModuleCallEntry, ModuleCallSignature
from .graph_signature import ExportBackwardSignature, ExportGraphSignature
from .unflatten import FlatArgsAdapter, UnflattenedModule, unflatten

__all__ = [
    "AdditionalInputs", "Constraint", "CustomDecompTable", "Dim", "ExportBackwardSignature", "ExportGraphSignature",
    "ExportedProgram", "FlatArgsAdapter", "GuardOnDataDependentSymNode", "ModuleCallEntry", "ModuleCallSignature",
    "ShapesCollection", "UnflattenedModule", "UserError", "default_decompositions", "dims", "draft_export", "dynamic_shapes",
    "export", "exported_program", "graph_signature", "load", "register_dataclass", "save", "unflatten",
]  # fmt: skip

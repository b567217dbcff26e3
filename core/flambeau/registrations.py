"""Set the hooks of the engine, and the Tensor methods that are defined in layers above the operations.

A lower layer does not import upper layers.  It declares a hook, with or without a default, and this module sets the hook to a
function of an upper layer.  `engine.calls.transform_hooks` describes the hooks of calls.

Modules that define operations by `op` attach their methods to Tensor themselves.  Packages that are imported on first use
register their hooks at that time; `tests/project/test_registrations.py` lists them.
"""

from __future__ import annotations

from importlib import import_module
from types import FunctionType
from typing import Any

from .autograd.backward import backward_method
from .compat.volatile import reinforce, volatile
from .engine.calls import overriding
from .engine.calls.transform_hooks import hooks
from .engine.tensors.storage import Storage, StorageBase
from .engine.tensors.tensor import Tensor, attach
from .layouts import sparse_methods
from .layouts.subclasses import tensor_types, wrappers
from .layouts.subclasses.parameter import Parameter
from .operations.memory import resize_storage
from .operations.views.writes import put_view
from .protocols import interchange, pickling, printing
from .storage import UntypedStorage
from .transforms.batching.vmap import VmapHooks
from .transforms.conjugate_views import conj, materialized_for
from .transforms.forward_ad import DualHooks

__all__: list[str] = []


def _array_namespace(self: Tensor, *, api_version: str | None = None) -> Any:
    """Return the array API namespace for tensors.  ValueError for an unsupported version of the standard."""
    return import_module("flambeau.array_api")._select_version(api_version)


# --- hooks of calls -----------------------------------------------------------------------------------------------

hooks.batches, hooks.forward, hooks.materialize = VmapHooks(), DualHooks(), materialized_for
hooks.below_autograd, hooks.compute_on_wrappers = wrappers.below_autograd, wrappers.compute_on_wrappers
hooks.call_aten_operator, hooks.prepare_dispatching = wrappers.call_aten_operator, wrappers.prepare_dispatching
hooks.record_index = lambda *arguments: import_module("flambeau.library.recomputing").record_index(*arguments)
hooks.record_composite = lambda *arguments: import_module("flambeau.library.recomputing").record_composite(*arguments)
hooks.write_wrapper = wrappers.write_wrapper
hooks.sparse = lambda name: getattr(import_module("flambeau.sparse"), name)
hooks.nested = lambda name: getattr(import_module("flambeau.nested"), name)
hooks.operator = lambda *arguments: import_module("flambeau._ops").operator_of(*arguments)
hooks.dispatched_call = lambda *arguments: import_module("flambeau._ops").dispatched_call(*arguments)

# --- hooks of storages and of pickle ------------------------------------------------------------------------------

Storage.put_view = staticmethod(put_view)
UntypedStorage._resize = resize_storage
StorageBase.__reduce__ = pickling.reduce_storage  # type: ignore[assignment,method-assign]
Parameter.__reduce_ex__ = pickling.parameter_reduce_ex  # type: ignore[assignment]  # pickled as its data

# --- methods of Tensor --------------------------------------------------------------------------------------------


def _attach_named(**methods: Any) -> None:
    """Attach methods and properties to Tensor by keyword, and set the `__name__` of each method to its keyword."""
    for name, method in methods.items():
        if isinstance(method, FunctionType):
            method.__name__ = method.__qualname__ = name
    attach(**methods)


_attach_named(backward=backward_method, conj=conj, volatile=volatile, reinforce=reinforce)
_attach_named(
    type=tensor_types.type_method,
    new=tensor_types.new_method,
    as_subclass=tensor_types.as_subclass,
    __new__=staticmethod(tensor_types.construct),
)
_attach_named(_make_wrapper_subclass=staticmethod(wrappers.make_wrapper_subclass))
_attach_named(**{method.__name__: method for method in sparse_methods.METHODS})
_attach_named(__repr__=printing.repr_of_tensor, __format__=printing.format_tensor)
_attach_named(
    __deepcopy__=pickling.deepcopy_tensor, __getstate__=pickling.get_attributes, __reduce_ex__=pickling.tensor_reduce_ex
)
_attach_named(__array_wrap__=interchange.array_wrap, __dlpack_device__=interchange.dlpack_device)
_attach_named(__array_namespace__=_array_namespace, __cuda_array_interface__=property(interchange.cuda_array_interface))

Tensor._is_plain, Tensor._offer = staticmethod(overriding.is_plain), staticmethod(overriding.handle_torch_function)
for _name in ("type", "new_empty", "new_empty_strided", "new_full", "new_ones", "new_tensor", "new_zeros"):
    setattr(Tensor, _name, overriding.reoffered(getattr(Tensor, _name)))

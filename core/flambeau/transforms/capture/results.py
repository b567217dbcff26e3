"""Rebuild the results of a captured call in each replay: new tensors, views, existing tensors and numbers.

A view of an existing tensor, or of another result, is rebuilt by the same view operations on that tensor in the replay.  It
therefore shares the tensor's memory and version counter, and gradients flow through it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...engine.calls.tables import OPS
from ...engine.devices.devices import DispatchKey
from ...engine.tape.grad_mode import is_grad_enabled, set_grad_enabled
from ...engine.tensors.storage import IN_INFERENCE_MODE, InferenceStorage, memory_root, source_of
from ...engine.tensors.tensor import Tensor, wrap
from ...engine.values.trees import TreeSpec, unflatten
from ..conjugate_views import show
from .recorder import RecordedArray, RecordedInteger, RecordedNumber, Reference
from .recording import NotCapturable, Recording
from .sources import Source, Sources

__all__ = ["Results"]


@dataclass(slots=True)
class _New:
    """Describes a tensor that the captured call creates, so that a replay can create the same."""

    tensor: Tensor | None  # the tensor of the captured call, until the recording ends
    key: DispatchKey
    is_leaf: bool  # whether it is a leaf that requires a gradient
    version: int
    inference: bool
    shares: int | Source | None = None  # the tensor that shares its version counter: an index or a source

    def make(self, array: Any) -> Tensor:
        tensor = wrap(array, self.key)
        if self.is_leaf:
            tensor._requires_grad = True
        if self.inference:
            tensor._inference = True
        if self.version:
            tensor._own_storage().version = self.version
        return tensor


@dataclass(slots=True)
class _Step:
    """A view operation.  If `recorded` is True, autograd recorded it."""

    view: Callable[[Tensor], Tensor]
    recorded: bool

    def of(self, tensor: Tensor) -> Tensor:
        if self.recorded == is_grad_enabled():
            return self.view(tensor)
        with set_grad_enabled(self.recorded):
            return self.view(tensor)


@dataclass(slots=True)
class _View:
    """A view of a new tensor (given by its index) or of an existing tensor.

    If a view of a new tensor has autograd history, the replay restores it, so that gradients accumulate in the same order.
    """

    root: int | Source
    steps: list[_Step]
    has_history: bool = False


@dataclass(slots=True)
class _Number:
    position: int  # index among the numbers that the call returns


@dataclass(slots=True)
class _Same:
    position: int  # index of an earlier leaf of the result that is the same object


@dataclass(slots=True)
class _Constant:
    value: Any


@dataclass(slots=True)
class Results:
    """The leaves of a call's result, with descriptions of how to rebuild them.

    Attributes:
        made: the tensors that the call creates; their arrays are the first outputs of a replay.
        outputs: references to these arrays, followed by the returned numbers.
        one: the new tensor that is the whole result, or None.
    """

    spec: TreeSpec
    leaves: list[Any] = field(default_factory=list)
    made: list[_New] = field(default_factory=list)
    outputs: list[Reference] = field(default_factory=list)
    views: list[Tensor] = field(default_factory=list)  # views in the captured call, until the recording ends
    one: _New | None = None

    @classmethod
    def of(cls, recording: Recording, leaves: Sequence[Any], spec: TreeSpec, sources: Sources) -> Results:
        """Collect the results of a recording, which must still be open.

        Raises:
            NotCapturable: a replay cannot rebuild a result.
        """
        results = cls(spec)
        plan = _Plan(recording, sources, leaves, results.made, results.views)
        results.leaves = [plan.leaf(position, leaf) for position, leaf in enumerate(leaves)]
        for leaf in results.leaves:
            if type(leaf) is _Number:
                leaf.position += len(results.made)
        plan.note_shared_versions()
        results.outputs = plan.references()
        if spec.type is None and results.leaves == [0] and results.made[0].shares is None:
            results.one = results.made[0]
        return results

    def tensors(self) -> list[Tensor]:
        """Return the new tensors of the captured call, and their views with autograd history."""
        return [new.tensor for new in self.made if new.tensor is not None] + self.views

    def sources(self) -> list[Source]:
        """Return the existing tensors that are returned, or whose views are returned."""
        found = [leaf.root if type(leaf) is _View else leaf for leaf in self.leaves] + [new.shares for new in self.made]
        return [source for source in found if type(source) is Source]

    def forget(self) -> None:
        """Drop the references to the tensors of the captured call."""
        for new in self.made:
            new.tensor = None
        self.views.clear()

    def make(self, values: Sequence[Any], arguments: Sequence[Any]) -> list[Tensor]:
        """Create the new tensors from the outputs of a replay, after its effects on existing tensors have been applied."""
        tensors = [new.make(value) for new, value in zip(self.made, values, strict=False)]
        for new, tensor in zip(self.made, tensors, strict=True):
            if new.shares is not None:
                other = new.shares.tensor_in(arguments) if isinstance(new.shares, Source) else tensors[new.shares]
                tensor._storage = other._storage or other._own_storage()
        return tensors

    def add_views(self, tensors: list[Tensor]) -> list[Tensor]:
        """Append to `tensors`, which have no history yet, the views that will have one; return the intermediate views."""
        between = []
        for leaf in self.leaves:
            if type(leaf) is _View and leaf.has_history:
                tensor = tensors[leaf.root]  # type: ignore[index]  # a number
                for step in leaf.steps:
                    tensor = step.of(tensor)
                    between.append(tensor)
                    if tensor._view[1] is None:  # type: ignore[index]  # an output of `split` or `unbind`, which is not registered without a history
                        tensor._storage.add_view(tensor)  # type: ignore[union-attr]  # a view has one
                tensors.append(between.pop())
        return between

    def result(self, tensors: Sequence[Tensor], values: Sequence[Any], arguments: Sequence[Any]) -> Any:
        """Build the result of the call from its new tensors and the views that have a history."""
        leaves: list[Any] = []
        views = iter(tensors[len(self.made) :])
        for leaf in self.leaves:
            kind = type(leaf)
            if kind is int:
                leaves.append(tensors[leaf])
            elif kind is Source:
                leaves.append(leaf.tensor_in(arguments))
            elif kind is _View and leaf.has_history:
                leaves.append(next(views))
            elif kind is _View:
                tensor = leaf.root.tensor_in(arguments) if isinstance(leaf.root, Source) else tensors[leaf.root]
                for step in leaf.steps:
                    tensor = step.of(tensor)
                leaves.append(tensor)
            elif kind is _Number:
                leaves.append(values[leaf.position])
            else:
                leaves.append(leaves[leaf.position] if kind is _Same else leaf.value)
        return unflatten(leaves, self.spec)


class _Plan:
    """Describes how a replay rebuilds each result of a recorded call."""

    def __init__(
        self, recording: Recording, sources: Sources, leaves: Sequence[Any], made: list[_New], views: list[Tensor]
    ) -> None:
        self.recording, self.sources, self.made, self.views = recording, sources, made, views
        self.first: dict[int, int] = {}  # {id of a leaf: its first position}
        self.numbers: list[Reference] = []
        self.indices: dict[int, int] = {}  # {id of a new tensor: its index}
        tensors_before = [state.tensor for state in recording.states.values()]
        self.new_gradients = {id(tensor._grad): tensor for tensor in tensors_before if tensor._grad is not None}
        group = recording.recorder.group
        self.outside = {group(reference) for reference in sources.all_references()}
        tensors = {id(leaf): leaf for leaf in leaves if isinstance(leaf, Tensor) and id(leaf) not in recording.states}
        self.count: dict[int, int] = {}  # {memory group: number of results in it}
        for tensor in tensors.values():
            place = group(self._reference(tensor))
            self.count[place] = self.count.get(place, 0) + 1
        self.of_root = Counter(id(memory_root(tensor)) for tensor in tensors.values())

    def leaf(self, position: int, leaf: Any) -> Any:
        """Return a description of how to rebuild a leaf."""
        if type(leaf) in (RecordedNumber, RecordedInteger):
            self.numbers.append(leaf.reference)
            return _Number(len(self.numbers) - 1)
        if type(leaf) is RecordedArray:
            raise NotCapturable("it returns an array of the array library")
        if not isinstance(leaf, Tensor):
            return _Constant(leaf)
        earlier = self.first.setdefault(id(leaf), position)
        if earlier != position:
            return _Same(earlier)
        if id(leaf) in self.recording.states:
            return self._existing(leaf)
        if id(leaf) in self.new_gradients:
            return self.sources.gradient_of(self.new_gradients[id(leaf)])
        if source_of(leaf) is not None and self._must_stay_view(leaf):
            return self._view(leaf)
        return self._new(leaf)

    def _must_stay_view(self, tensor: Tensor) -> bool:
        """Whether a view must be rebuilt as a view, because its base existed before the call or has other views in the result."""
        place, root = self.recording.recorder.group(self._reference(tensor)), memory_root(tensor)
        if tensor._key.backend.mutable:
            return place in self.outside or self.count[place] > 1
        return id(root) in self.recording.states or id(root) in self.new_gradients or self.of_root[id(root)] > 1

    def _existing(self, tensor: Tensor) -> Any:
        source = self.sources.of_tensor(tensor)
        if source.kind == "gradient" and source.tensor._grad is not tensor:  # type: ignore[union-attr]  # a tensor
            raise NotCapturable("it returns a gradient that has been replaced")
        return source

    def _reference(self, tensor: Tensor) -> Reference:
        reference = self.recording.reference_of(tensor)
        if type(tensor) is not Tensor:
            raise NotCapturable(f"it returns a {type(tensor).__name__}")
        if reference is None:
            raise NotCapturable(f"it returns a tensor on {tensor.device}, which is not recorded")
        return reference

    def _new(self, tensor: Tensor) -> int:
        index = self.indices.get(id(tensor))
        if index is not None:
            return index
        self._reference(tensor)
        if tensor._grad is not None:
            raise NotCapturable("it returns a new tensor that has a gradient")
        storage = tensor._storage
        version = 0 if storage is None else storage.version
        is_leaf = tensor._requires_grad and tensor._node is None
        self.indices[id(tensor)] = len(self.made)
        self.made.append(_New(tensor, tensor._key, is_leaf, version, tensor._inference))
        return len(self.made) - 1

    def _view(self, tensor: Tensor) -> Any:
        """Describe a view by its root, an existing or a new tensor, and the view operations."""
        steps: list[_Step] = []
        view = tensor
        while (source := source_of(tensor)) is not None and id(tensor) not in self.recording.states:
            if id(tensor) in self.new_gradients:
                break
            steps.insert(0, self._step(tensor, source))
            tensor = source
        if id(tensor) in self.recording.states:
            return _View(self._existing(tensor), steps)
        if id(tensor) in self.new_gradients:
            return _View(self.sources.gradient_of(self.new_gradients[id(tensor)]), steps)
        has_history = view._node is not None
        if has_history:
            self.views.append(view)
        return _View(self._new(tensor), steps, has_history)

    def _step(self, tensor: Tensor, source: Tensor) -> _Step:
        if tensor._requires_grad and tensor._node is None:
            raise NotCapturable("it returns a view that was made a leaf")
        # Immutable arrays: the tensor shares memory with `source` without a view operation.
        if tensor._view is None:
            return _Step(Tensor.detach if tensor._storage is source._storage else _data, True)
        _, record, params, recorded = tensor._view
        if recorded == IN_INFERENCE_MODE or recorded not in (True, False):
            raise NotCapturable("it returns a view created by a custom Function or in inference mode")
        if record is not None:
            return _Step(_operation(record.name, params), recorded)
        if not params:  # the view reads the memory as another dtype
            dtype = tensor._key.dtype
            return _Step(lambda root: root.view(dtype), recorded)
        name, number, params = params
        several = _operation(name, params)
        return _Step(lambda root: several(root)[number], recorded)

    def note_shared_versions(self) -> None:
        """Note which new tensors share a version counter with another tensor, such as a tensor and its `detach()`."""
        owners: dict[int, int | Source] = {}
        for state in self.recording.states.values():
            if state.tensor._storage is not None:
                owners.setdefault(id(state.tensor._storage), self.sources.of_tensor(state.tensor))
        for index, new in enumerate(self.made):
            storage = new.tensor._storage  # type: ignore[union-attr]  # a tensor
            if storage is None or (type(storage) is InferenceStorage and not new.inference):
                continue
            owner = owners.setdefault(id(storage), index)
            if owner is not index:
                new.shares, new.version = owner, 0

    def references(self) -> list[Reference]:
        """Return references to the needed values: arrays of the new tensors, then numbers."""
        return [*(self._reference(new.tensor) for new in self.made), *self.numbers]  # type: ignore[arg-type]  # a tensor


def _data(tensor: Tensor) -> Tensor:
    return tensor.data


def _operation(name: str, params: tuple[Any, ...]) -> Callable[[Tensor], Any]:
    """Return a view operation as a function of the viewed tensor."""
    if any(isinstance(value, (RecordedNumber, RecordedInteger)) for value in params):
        raise NotCapturable("it returns a view whose position depends on values")
    if name in ("conj_view", "neg_view"):
        return lambda root: show(root, name.removesuffix("_view"))
    if name == "view_dtype":
        return lambda root: root.view(params[0])
    if name == "as_strided":
        return lambda root: root.as_strided(*params[:3])
    if name == "unfold":
        return lambda root: root.unfold(*params[:3])
    function = OPS[name].function
    return lambda root: function(root, *params)

"""Parallel styles: the placements of a layer's parameters, inputs and outputs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from flambeau import Tensor

from ....nn import Embedding, Linear, Module, Parameter
from ...device_mesh import DeviceMesh
from .._api import DTensor, distribute_module, distribute_tensor
from ..placement_types import Placement, Replicate, Shard

__all__ = [
    "ColwiseParallel", "ParallelStyle", "PrepareModuleInput", "PrepareModuleInputOutput", "PrepareModuleOutput",
    "RowwiseParallel", "SequenceParallel",
]  # fmt: skip

Layouts = Placement | tuple[Placement | None, ...]


class ParallelStyle(ABC):
    """Base class of styles. `parallelize_module` calls `_apply`."""

    src_data_rank: int | None = 0

    @abstractmethod
    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        """Parallelize a module in place, and return it."""

    def _place(self, module: Module, name: str, mesh: DeviceMesh, placement: Placement) -> None:
        """Distribute the parameter `name` over the mesh, if the module has it."""
        parameter = getattr(module, name, None)
        if parameter is not None:
            placed = distribute_tensor(parameter, mesh, [placement], src_data_rank=self.src_data_rank)
            module.register_parameter(name, Parameter(placed, parameter.requires_grad))

    def __repr__(self) -> str:
        shown = {name: value for name, value in vars(self).items() if name not in ("src_data_rank", "desired_input")}
        return f"{type(self).__name__}({', '.join(f'{name}={value}' for name, value in shown.items())})"


def _as_dtensor(value: Any, mesh: DeviceMesh, layout: Placement) -> DTensor:
    return value if isinstance(value, DTensor) else DTensor.from_local(value, mesh, (layout,))


def _redistributed(value: Any, mesh: DeviceMesh, layout: Placement | None, desired: Placement | None, local: bool) -> Any:
    """Redistribute a tensor from placement `layout` to `desired`; return the value unchanged if `layout` is None."""
    if layout is None:
        return value
    if not isinstance(value, Tensor):
        raise AssertionError("expecting input to be a torch.Tensor!")
    placed = _as_dtensor(value, mesh, layout)
    if desired is not None and layout != desired:
        placed = placed.redistribute(placements=(desired,))
    return placed.to_local() if local else placed


class _ShardedLayer(ParallelStyle):
    """Base class of styles that shard a layer's weight."""

    desired_input: Placement = Replicate()

    def __init__(self, input_layouts: Placement, output_layouts: Placement, use_local_output: bool) -> None:
        self.input_layouts, self.output_layouts = (input_layouts,), (output_layouts,)
        self.use_local_output = use_local_output

    def _placements(self, module: Module) -> dict[str, Placement]:
        """Return the placement of each parameter of a layer."""
        raise NotImplementedError

    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        if not isinstance(module, (Linear, Embedding)):
            raise NotImplementedError(f"{type(self).__name__} currently only support nn.Linear and nn.Embedding!")
        placements, desired = self._placements(module), self.desired_input

        def partition(name: str, layer: Module, mesh: DeviceMesh) -> None:
            for parameter, placement in placements.items():
                self._place(layer, parameter, mesh, placement)

        def before(layer: Module, inputs: Any, mesh: DeviceMesh) -> Any:
            return _as_dtensor(inputs[0], mesh, self.input_layouts[0]).redistribute(placements=(desired,))

        def after(layer: Module, output: Any, mesh: DeviceMesh) -> Any:
            output = output.redistribute(placements=self.output_layouts)
            return output.to_local() if self.use_local_output else output

        return distribute_module(module, device_mesh, partition, before, after)


class ColwiseParallel(_ShardedLayer):
    """Shard a `Linear` by output features, or an `Embedding` by embedding dimensions.

    Args:
        input_layouts: placement of a local input; default: replicated.
        output_layouts: placement of the output; default: sharded in the last dimension.
        use_local_output: whether to return a local tensor instead of a DTensor.
    """

    def __init__(
        self,
        *,
        input_layouts: Placement | None = None,
        output_layouts: Placement | None = None,
        use_local_output: bool = True,
    ) -> None:
        super().__init__(input_layouts or Replicate(), output_layouts or Shard(-1), use_local_output)

    def _placements(self, module: Module) -> dict[str, Placement]:
        return {"weight": Shard(0), "bias": Shard(0)} if isinstance(module, Linear) else {"weight": Shard(1)}


class RowwiseParallel(_ShardedLayer):
    """Shard a `Linear` by input features, or an `Embedding` by rows.

    Args:
        input_layouts: placement of a local input; default: sharded in the last dimension.
        output_layouts: placement of the output; default: replicated.
        use_local_output: whether to return a local tensor instead of a DTensor.
    """

    def __init__(
        self,
        *,
        input_layouts: Placement | None = None,
        output_layouts: Placement | None = None,
        use_local_output: bool = True,
    ) -> None:
        super().__init__(input_layouts or Shard(-1), output_layouts or Replicate(), use_local_output)

    def _placements(self, module: Module) -> dict[str, Placement]:
        self.desired_input = Shard(-1) if isinstance(module, Linear) else Replicate()
        return {"weight": Shard(1), "bias": Replicate()} if isinstance(module, Linear) else {"weight": Shard(0)}


class SequenceParallel(ParallelStyle):
    """Shard the input of a `LayerNorm`, `RMSNorm` or `Dropout` along the sequence; replicate its parameters.

    Args:
        sequence_dim: the sharded dimension of the input.
        use_local_output: whether to return a local tensor instead of a DTensor.
    """

    def __init__(self, *, sequence_dim: int = 1, use_local_output: bool = False) -> None:
        self.sequence_sharding, self.use_local_output = (Shard(sequence_dim),), use_local_output

    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        def partition(name: str, layer: Module, mesh: DeviceMesh) -> None:
            for key, parameter in list(layer.named_parameters(recurse=False)):
                placed = DTensor.from_local(parameter.detach(), mesh, [Replicate()])
                layer.register_parameter(key, Parameter(placed, parameter.requires_grad))

        def before(layer: Module, inputs: Any, mesh: DeviceMesh) -> Any:
            if not isinstance(inputs[0], Tensor):
                raise ValueError(f"expecting input of {layer} to be a torch.Tensor or DTensor, but got {inputs[0]}")
            placed = _as_dtensor(inputs[0], mesh, self.sequence_sharding[0])
            return placed.redistribute(placements=self.sequence_sharding)

        def after(layer: Module, output: Any, mesh: DeviceMesh) -> Any:
            return output.to_local() if self.use_local_output else output

        return distribute_module(module, device_mesh, partition, before, after)


def _as_tuple(layouts: Layouts | None) -> tuple[Placement | None, ...] | None:
    return (layouts,) if isinstance(layouts, Placement) else layouts


class PrepareModuleInput(ParallelStyle):
    """Convert a module's inputs to DTensors and redistribute them.

    Args:
        input_layouts: placement of each local input; None for inputs that stay unchanged.
        desired_input_layouts: placement of each input after redistribution.
        input_kwarg_layouts, desired_input_kwarg_layouts: the same for keyword arguments.
        use_local_output: whether to pass local tensors instead of DTensors to the module.

    Raises:
        AssertionError: the numbers of layouts and desired layouts differ.
    """

    def __init__(
        self,
        *,
        input_layouts: Layouts | None = None,
        desired_input_layouts: Layouts | None = None,
        input_kwarg_layouts: dict[str, Placement] | None = None,
        desired_input_kwarg_layouts: dict[str, Placement] | None = None,
        use_local_output: bool = False,
    ) -> None:
        self.input_layouts, self.desired_input_layouts = _as_tuple(input_layouts), _as_tuple(desired_input_layouts)
        self.input_kwarg_layouts = input_kwarg_layouts or {}
        self.desired_input_kwarg_layouts = desired_input_kwarg_layouts or {}
        self.use_local_output = use_local_output
        if self.input_layouts is not None and self.desired_input_layouts is None:
            raise AssertionError("desired module inputs should not be None!")
        if len(self.input_layouts or ()) != len(self.desired_input_layouts or ()):
            raise AssertionError("input_layouts and desired_input_layouts should have same length!")
        if len(self.input_kwarg_layouts) != len(self.desired_input_kwarg_layouts):
            raise AssertionError("input_kwarg_layouts and desired_input_kwarg_layouts should have same length!")

    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        def before(layer: Module, inputs: Any, named: dict[str, Any]) -> Any:
            return self._inputs(inputs, device_mesh), self._named(named, device_mesh)

        module.register_forward_pre_hook(before, with_kwargs=True)
        return module

    def _inputs(self, inputs: Any, mesh: DeviceMesh) -> Any:
        if self.input_layouts is None or self.desired_input_layouts is None:
            return inputs
        if len(inputs) != len(self.input_layouts):
            raise ValueError("module inputs and input_layouts should have same length!")
        layouts = zip(inputs, self.input_layouts, self.desired_input_layouts, strict=True)
        return tuple(_redistributed(value, mesh, layout, desired, self.use_local_output) for value, layout, desired in layouts)

    def _named(self, inputs: dict[str, Any], mesh: DeviceMesh) -> dict[str, Any]:
        layouts, desired = self.input_kwarg_layouts, self.desired_input_kwarg_layouts
        return {
            name: _redistributed(value, mesh, layouts.get(name), desired.get(name), self.use_local_output)
            for name, value in inputs.items()
        }


class PrepareModuleOutput(ParallelStyle):
    """Convert a module's outputs to DTensors and redistribute them.

    Args:
        output_layouts: placement of each local output; None for outputs that stay unchanged.
        desired_output_layouts: placement of each output after redistribution.
        use_local_output: whether to return local tensors instead of DTensors.

    Raises:
        AssertionError: the numbers of layouts and desired layouts differ.
    """

    def __init__(self, *, output_layouts: Layouts, desired_output_layouts: Layouts, use_local_output: bool = True) -> None:
        self.output_layouts = _as_tuple(output_layouts) or ()
        self.desired_output_layouts = _as_tuple(desired_output_layouts) or ()
        self.use_local_output = use_local_output
        if len(self.output_layouts) != len(self.desired_output_layouts):
            raise AssertionError("output_layouts and desired_output_layouts should have same length!")

    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        def after(layer: Module, inputs: Any, outputs: Any) -> Any:
            several = outputs if isinstance(outputs, tuple) else (outputs,)
            if len(several) != len(self.output_layouts):
                raise ValueError("module outputs and output_layouts should have same length!")
            layouts = zip(several, self.output_layouts, self.desired_output_layouts, strict=True)
            prepared = [
                _redistributed(value, device_mesh, layout, desired, self.use_local_output) for value, layout, desired in layouts
            ]
            return prepared[0] if len(prepared) == 1 else tuple(prepared)

        module.register_forward_hook(after)
        return module


class PrepareModuleInputOutput(ParallelStyle):
    """Combine `PrepareModuleInput` and `PrepareModuleOutput`. `use_local_input` is the former's `use_local_output`."""

    def __init__(
        self,
        *,
        input_layouts: Layouts | None = None,
        desired_input_layouts: Layouts | None = None,
        input_kwarg_layouts: dict[str, Placement] | None = None,
        desired_input_kwarg_layouts: dict[str, Placement] | None = None,
        use_local_input: bool = False,
        output_layouts: Layouts,
        desired_output_layouts: Layouts,
        use_local_output: bool = True,
    ) -> None:
        self.prepare_module_input = PrepareModuleInput(
            input_layouts=input_layouts,
            desired_input_layouts=desired_input_layouts,
            input_kwarg_layouts=input_kwarg_layouts,
            desired_input_kwarg_layouts=desired_input_kwarg_layouts,
            use_local_output=use_local_input,
        )
        self.prepare_module_output = PrepareModuleOutput(
            output_layouts=output_layouts, desired_output_layouts=desired_output_layouts, use_local_output=use_local_output
        )

    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        self.prepare_module_input._apply(module, device_mesh)
        return self.prepare_module_output._apply(module, device_mesh)

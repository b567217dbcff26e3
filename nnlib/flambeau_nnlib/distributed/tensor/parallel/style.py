"""Parallel styles: the placements of a layer's parameters, inputs and outputs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import partial
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
        hidden = ("src_data_rank", "desired_input_layouts", "sequence_sharding")
        shown = {name: value for name, value in vars(self).items() if name not in hidden}
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
    """Base class of styles that shard a layer's weight. Subclasses may override the steps of `_apply`, as in PyTorch."""

    def __init__(self, input_layouts: Placement, output_layouts: Placement, use_local_output: bool) -> None:
        self.input_layouts, self.output_layouts = (input_layouts,), (output_layouts,)
        self.desired_input_layouts: tuple[Placement, ...] = (Replicate(),)
        self.use_local_output = use_local_output

    @staticmethod
    def _prepare_input_fn(
        input_layouts: tuple[Placement, ...],
        desired_input_layouts: tuple[Placement, ...],
        mod: Module,
        inputs: Any,
        device_mesh: DeviceMesh,
    ) -> Any:
        return _as_dtensor(inputs[0], device_mesh, input_layouts[0]).redistribute(placements=desired_input_layouts)

    @staticmethod
    def _prepare_output_fn(
        output_layouts: tuple[Placement, ...], use_local_output: bool, mod: Module, outputs: Any, device_mesh: DeviceMesh
    ) -> Any:
        outputs = outputs.redistribute(placements=output_layouts)
        return outputs.to_local() if use_local_output else outputs

    def _partition_linear_fn(self, name: str, module: Module, device_mesh: DeviceMesh) -> None:
        raise NotImplementedError

    def _partition_embedding_fn(self, name: str, module: Module, device_mesh: DeviceMesh) -> None:
        raise NotImplementedError

    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        if not isinstance(module, (Linear, Embedding)):
            raise NotImplementedError(f"{type(self).__name__} currently only support nn.Linear and nn.Embedding!")
        return distribute_module(
            module,
            device_mesh,
            self._partition_linear_fn if isinstance(module, Linear) else self._partition_embedding_fn,
            partial(self._prepare_input_fn, self.input_layouts, self.desired_input_layouts),
            partial(self._prepare_output_fn, self.output_layouts, self.use_local_output),
        )


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

    def _partition_linear_fn(self, name: str, module: Module, device_mesh: DeviceMesh) -> None:
        self._place(module, "weight", device_mesh, Shard(0))
        self._place(module, "bias", device_mesh, Shard(0))

    def _partition_embedding_fn(self, name: str, module: Module, device_mesh: DeviceMesh) -> None:
        self._place(module, "weight", device_mesh, Shard(1))


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

    def _partition_linear_fn(self, name: str, module: Module, device_mesh: DeviceMesh) -> None:
        self._place(module, "weight", device_mesh, Shard(1))
        self._place(module, "bias", device_mesh, Replicate())

    def _partition_embedding_fn(self, name: str, module: Module, device_mesh: DeviceMesh) -> None:
        self._place(module, "weight", device_mesh, Shard(0))

    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        self.desired_input_layouts = (Shard(-1) if isinstance(module, Linear) else Replicate(),)
        return super()._apply(module, device_mesh)


class SequenceParallel(ParallelStyle):
    """Shard the input of a `LayerNorm`, `RMSNorm` or `Dropout` along the sequence; replicate its parameters.

    Args:
        sequence_dim: the sharded dimension of the input.
        use_local_output: whether to return a local tensor instead of a DTensor.
    """

    def __init__(self, *, sequence_dim: int = 1, use_local_output: bool = False) -> None:
        self.sequence_dim, self.use_local_output = sequence_dim, use_local_output
        self.sequence_sharding = (Shard(sequence_dim),)

    def _replicate_module_fn(self, name: str, module: Module, device_mesh: DeviceMesh) -> None:
        for key, parameter in list(module.named_parameters(recurse=False)):
            placed = DTensor.from_local(parameter.detach(), device_mesh, [Replicate()])
            module.register_parameter(key, Parameter(placed, parameter.requires_grad))

    @staticmethod
    def _prepare_input_fn(sequence_sharding: tuple[Placement, ...], mod: Module, inputs: Any, device_mesh: DeviceMesh) -> Any:
        if not isinstance(inputs[0], Tensor):
            raise ValueError(f"expecting input of {mod} to be a torch.Tensor or DTensor, but got {inputs[0]}")
        return _as_dtensor(inputs[0], device_mesh, sequence_sharding[0]).redistribute(placements=sequence_sharding)

    @staticmethod
    def _prepare_output_fn(use_local_output: bool, mod: Module, outputs: Any, device_mesh: DeviceMesh) -> Any:
        return outputs.to_local() if use_local_output else outputs

    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        return distribute_module(
            module,
            device_mesh,
            self._replicate_module_fn,
            partial(self._prepare_input_fn, self.sequence_sharding),
            partial(self._prepare_output_fn, self.use_local_output),
        )


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
        if self.input_layouts is not None:
            if self.desired_input_layouts is None:
                raise AssertionError("desired module inputs should not be None!")
            if len(self.input_layouts) != len(self.desired_input_layouts):
                raise AssertionError("input_layouts and desired_input_layouts should have same length!")
        if len(self.input_kwarg_layouts) != len(self.desired_input_kwarg_layouts):
            raise AssertionError("input_kwarg_layouts and desired_input_kwarg_layouts should have same length!")

    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        def before(layer: Module, inputs: Any, named: dict[str, Any]) -> Any:
            return self._prepare_input_kwarg_fn(inputs, named, device_mesh)

        module.register_forward_pre_hook(before, with_kwargs=True)
        return module

    def _prepare_input_fn(self, inputs: Any, device_mesh: DeviceMesh) -> Any:
        if self.input_layouts is None or self.desired_input_layouts is None:
            return inputs
        if len(inputs) != len(self.input_layouts):
            raise ValueError("module inputs and input_layouts should have same length!")
        layouts = zip(inputs, self.input_layouts, self.desired_input_layouts, strict=True)
        local = self.use_local_output
        return tuple(_redistributed(value, device_mesh, layout, desired, local) for value, layout, desired in layouts)

    def _prepare_input_kwarg_fn(self, inputs: Any, kwarg_inputs: dict[str, Any], device_mesh: DeviceMesh) -> Any:
        layouts, desired, local = self.input_kwarg_layouts, self.desired_input_kwarg_layouts, self.use_local_output
        named = {
            name: _redistributed(value, device_mesh, layouts.get(name), desired.get(name), local)
            for name, value in kwarg_inputs.items()
        }
        return self._prepare_input_fn(inputs, device_mesh), named


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
        module.register_forward_hook(lambda layer, inputs, outputs: self._prepare_out_fn(outputs, device_mesh))
        return module

    def _prepare_out_fn(self, outputs: Any, device_mesh: DeviceMesh) -> Any:
        several = outputs if isinstance(outputs, tuple) else (outputs,)
        if len(several) != len(self.output_layouts):
            raise ValueError("module outputs and output_layouts should have same length!")
        layouts, local = zip(several, self.output_layouts, self.desired_output_layouts, strict=True), self.use_local_output
        prepared = [_redistributed(value, device_mesh, layout, desired, local) for value, layout, desired in layouts]
        return prepared[0] if len(prepared) == 1 else tuple(prepared)


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

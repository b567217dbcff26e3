"""`FullyShardedDataParallel` (FSDP1): a module wrapper around `fully_shard`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from enum import Enum, auto
from typing import Any

import flambeau as torch
from flambeau import Tensor

from ...nn import Module, Parameter
from .. import collectives
from ..device_mesh import DeviceMesh
from ..tensor import DTensor, distribute_tensor
from ..world import default_group, get_process_group_ranks, get_rank, new_group
from . import api
from ._fully_shard import CPUOffloadPolicy, FSDPModule, MixedPrecisionPolicy, OffloadPolicy, fully_shard
from .api import (
    BackwardPrefetch,
    CPUOffload,
    FullOptimStateDictConfig,
    FullStateDictConfig,
    LocalOptimStateDictConfig,
    LocalStateDictConfig,
    MixedPrecision,
    OptimStateDictConfig,
    ShardedOptimStateDictConfig,
    ShardedStateDictConfig,
    ShardingStrategy,
    StateDictConfig,
    StateDictSettings,
    StateDictType,
)
from .wrap import wrapped_children

__all__ = ["FullyShardedDataParallel", "OptimStateKeyType", *api.__all__]

FSDP_WRAPPED_MODULE = "_fsdp_wrapped_module"
FSDP_PREFIX = FSDP_WRAPPED_MODULE + "."

_CONFIGS = {
    StateDictType.FULL_STATE_DICT: (FullStateDictConfig, FullOptimStateDictConfig),
    StateDictType.LOCAL_STATE_DICT: (LocalStateDictConfig, LocalOptimStateDictConfig),
    StateDictType.SHARDED_STATE_DICT: (ShardedStateDictConfig, ShardedOptimStateDictConfig),
}


class OptimStateKeyType(Enum):
    """Whether parameter names or parameter indices are the keys of an optimizer's states."""

    PARAM_NAME = auto()
    PARAM_ID = auto()


class FullyShardedDataParallel(Module):
    """Data-parallel training with sharded parameters: each process stores a part of the parameters and trains on
    separate batches.

    `fully_shard` is applied to the module, and to the submodules that the wrapping policy selects. By default,
    `state_dict` contains full tensors under the names of the unwrapped module.

    Args:
        module: the module to wrap.
        process_group: the process group. For hybrid strategies a pair: the group to shard over and the group to
            replicate over.
        sharding_strategy: what is sharded; default: everything.
        cpu_offload: whether parameters are stored on the CPU.
        auto_wrap_policy: selects the submodules to shard separately: a policy of `torch.distributed.fsdp.wrap`.
        mixed_precision: dtypes of computation and communication.
        ignored_modules, ignored_states: modules and parameters that are not sharded.
        param_init_fn: called with each module that has parameters on the device `meta`.
        device_id: device to which the module is moved.
        sync_module_states: whether to broadcast rank 0's parameters and buffers first.
        backward_prefetch, forward_prefetch, limit_all_gathers, use_orig_params: accepted for compatibility.
        device_mesh: a mesh to use instead of `process_group`.
    """

    def __init__(
        self,
        module: Module,
        process_group: Any = None,
        sharding_strategy: ShardingStrategy | None = None,
        cpu_offload: CPUOffload | None = None,
        auto_wrap_policy: Any = None,
        backward_prefetch: BackwardPrefetch | None = BackwardPrefetch.BACKWARD_PRE,
        mixed_precision: MixedPrecision | None = None,
        ignored_modules: Iterable[Module] | None = None,
        param_init_fn: Callable[[Module], None] | None = None,
        device_id: Any = None,
        sync_module_states: bool = False,
        forward_prefetch: bool = False,
        limit_all_gathers: bool = True,
        use_orig_params: bool = False,
        ignored_states: Iterable[Any] | None = None,
        device_mesh: DeviceMesh | None = None,
    ) -> None:
        super().__init__()
        self.sharding_strategy = sharding_strategy or ShardingStrategy.FULL_SHARD
        self.cpu_offload, self.mixed_precision = cpu_offload or CPUOffload(), mixed_precision or MixedPrecision()
        self.process_group, self.device_mesh = process_group, device_mesh
        ignored = {m for one in ignored_modules or () for m in one.modules()}
        ignored |= {m for m in ignored_states or () if isinstance(m, Module)}
        self._ignored: set[Any] = {p for p in ignored_states or () if isinstance(p, Tensor)}
        self._ignored |= {p for m in ignored for p in m.parameters()}
        if device_id is not None and not any(p.is_meta for p in module.parameters()):
            module.to(device_id if not isinstance(device_id, int) else torch.device("cuda", device_id))
        if param_init_fn is not None:
            for part in module.modules():
                if any(p.is_meta for p in part.parameters(recurse=False)):
                    param_init_fn(part)
        mesh = device_mesh or _mesh(process_group, self.sharding_strategy, module)
        if sync_module_states:
            _broadcast_tensors(module, mesh)
        if auto_wrap_policy is not None:
            options = {"sharding_strategy": sharding_strategy, "cpu_offload": cpu_offload, "mixed_precision": mixed_precision}

            def wrap_one(child: Module, own: dict[str, Any]) -> Module:
                chosen: dict[str, Any] = {**options, "process_group": process_group, "device_mesh": mesh, **own}
                return FullyShardedDataParallel(child, ignored_states=self._ignored, **chosen)

            wrapped_children(module, auto_wrap_policy, ignored, wrap_one)
        self._fsdp_wrapped_module = module
        self._settings = StateDictSettings()
        precision = self.mixed_precision
        policy = MixedPrecisionPolicy(
            precision.param_dtype,
            precision.reduce_dtype,
            cast_forward_inputs=precision.cast_forward_inputs or precision.cast_root_forward_inputs,
        )
        if not isinstance(module, FSDPModule):
            fully_shard(
                module,
                mesh=mesh,
                reshard_after_forward=self.sharding_strategy in (ShardingStrategy.FULL_SHARD, ShardingStrategy.HYBRID_SHARD),
                mp_policy=policy,
                offload_policy=CPUOffloadPolicy() if self.cpu_offload.offload_params else OffloadPolicy(),
                ignored_params=self._ignored,
            )

    @property
    def module(self) -> Module:
        """Return the wrapped module."""
        return self._fsdp_wrapped_module

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Apply the wrapped module."""
        return self._fsdp_wrapped_module(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(super().__getattr__(FSDP_WRAPPED_MODULE), name)

    def __getitem__(self, key: Any) -> Any:
        return self._fsdp_wrapped_module[key]  # type: ignore[index]

    # --- gradients and full parameters ---

    @staticmethod
    def fsdp_modules(module: Module, root_only: bool = False) -> list[FullyShardedDataParallel]:
        """Return the `FullyShardedDataParallel` instances in a module; with `root_only`, only the outermost ones."""
        found = [part for part in module.modules() if isinstance(part, FullyShardedDataParallel)]
        if not root_only:
            return found
        inner = {part for one in found for part in one.modules() if part is not one}
        return [one for one in found if one not in inner]

    def check_is_root(self) -> bool:
        """Return True: instances do not record whether another one contains them."""
        return True

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """Return a context in which gradients only accumulate. The first backward pass after it reduces their sum."""
        self._sync(False)
        try:
            yield
        finally:
            self._sync(True)

    def _sync(self, on: bool) -> None:
        for part in self.modules():
            if isinstance(part, FSDPModule):
                part.set_requires_gradient_sync(on, recurse=False)

    @staticmethod
    @contextmanager
    def summon_full_params(
        module: Module,
        recurse: bool = True,
        writeback: bool = True,
        rank0_only: bool = False,
        offload_to_cpu: bool = False,
        with_grads: bool = False,
    ) -> Iterator[None]:
        """Return a context in which the parameters are full tensors. Changes to them are kept if `writeback` is True.

        Raises:
            ValueError: both `writeback` and `rank0_only` are True.
        """
        if writeback and rank0_only:
            raise ValueError(
                "writeback=True and rank0_only=True is not supported, as model parameters will be different across ranks."
            )
        held: list[tuple[Module, str, Any, Parameter]] = []
        seen: dict[Any, Parameter] = {}
        for part in module.modules() if recurse else [module]:
            for name, parameter in list(part._parameters.items()):
                if isinstance(parameter, DTensor):
                    if parameter not in seen:
                        seen[parameter] = Parameter(parameter.detach().full_tensor().clone(), parameter.requires_grad)
                        if with_grads and parameter.grad is not None:
                            seen[parameter].grad = _full_tensor(parameter.grad)
                    held.append((part, name, parameter, seen[parameter]))
                    part._parameters[name] = seen[parameter]
        try:
            yield
        finally:
            with torch.no_grad():
                for part, name, parameter, whole in held:
                    part._parameters[name] = parameter
                    if writeback:
                        parameter.copy_(
                            distribute_tensor(whole.detach(), parameter.device_mesh, parameter.placements, src_data_rank=None)
                        )

    @torch.no_grad()
    def clip_grad_norm_(self, max_norm: float, norm_type: float = 2.0) -> Tensor:
        """Scale the gradients so that their total norm is at most `max_norm`; return the norm before scaling."""
        gradients = [parameter.grad for parameter in self.parameters() if parameter.grad is not None]
        if not gradients:
            return torch.zeros(())
        norms = torch.stack([_full_tensor(torch.linalg.vector_norm(gradient, norm_type)) for gradient in gradients])
        total: Tensor = torch.linalg.vector_norm(norms, norm_type)
        for gradient in gradients:
            gradient.mul_(torch.clamp(max_norm / (total + 1e-6), max=1.0))
        return total

    def register_comm_hook(self, state: Any, hook: Callable[..., Any]) -> None:
        """Raise RuntimeError: `fully_shard` does not support communication hooks."""
        raise RuntimeError(
            "FullyShardedDataParallel.register_comm_hook: communication hooks are supported by DistributedDataParallel only"
        )

    # --- state dicts ---

    @staticmethod
    def set_state_dict_type(
        module: Module,
        state_dict_type: StateDictType,
        state_dict_config: StateDictConfig | None = None,
        optim_state_dict_config: OptimStateDictConfig | None = None,
    ) -> StateDictSettings:
        """Set the type and options of state dicts for all `FullyShardedDataParallel` instances in a module; return the
        previous settings.
        """
        parts = FullyShardedDataParallel.fsdp_modules(module)
        before = parts[0]._settings if parts else StateDictSettings()
        of_state, of_optimizer = _CONFIGS[state_dict_type]
        settings = StateDictSettings(state_dict_type, state_dict_config or of_state(), optim_state_dict_config or of_optimizer())
        for part in parts:
            part._settings = settings
        return before

    @staticmethod
    def get_state_dict_type(module: Module) -> StateDictSettings:
        """Return the type and options of state dicts of the instances in a module."""
        parts = FullyShardedDataParallel.fsdp_modules(module)
        return parts[0]._settings if parts else StateDictSettings()

    @staticmethod
    @contextmanager
    def state_dict_type(
        module: Module,
        state_dict_type: StateDictType,
        state_dict_config: StateDictConfig | None = None,
        optim_state_dict_config: OptimStateDictConfig | None = None,
    ) -> Iterator[None]:
        """Return a context with a different type and options of state dicts."""
        set_type = FullyShardedDataParallel.set_state_dict_type
        before = set_type(module, state_dict_type, state_dict_config, optim_state_dict_config)
        try:
            yield
        finally:
            set_type(module, before.state_dict_type, before.state_dict_config, before.optim_state_dict_config)

    def state_dict(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """Return the parameters and buffers under the names of the unwrapped module, in the form set by `state_dict_type`."""
        inner = super().state_dict(*args, **kwargs)
        named = {key.replace(FSDP_PREFIX, ""): value for key, value in inner.items()}
        found = {key: self._convert(value) for key, value in named.items()}
        inner.clear()
        config = self._settings.state_dict_config
        if not (getattr(config, "rank0_only", False) and get_rank() != 0):
            inner.update(found)
        return inner

    def _convert(self, value: Any) -> Any:
        kind, config = self._settings.state_dict_type, self._settings.state_dict_config
        if isinstance(value, DTensor):
            value = value.detach()
            if kind is StateDictType.FULL_STATE_DICT:
                value = value.full_tensor()
            elif kind is StateDictType.LOCAL_STATE_DICT:
                value = value.to_local()
        return value.to("cpu") if config.offload_to_cpu and isinstance(value, Tensor) else value

    def load_state_dict(self, state_dict: Any, strict: bool = True, assign: bool = False) -> Any:
        """Load a result of `state_dict`; its tensors may be full tensors or shards."""
        own = dict(super().state_dict())
        names = {key.replace(FSDP_PREFIX, ""): key for key in own}
        given = {names.get(key, key): _shard_like(value, own.get(names.get(key, key))) for key, value in state_dict.items()}
        return super().load_state_dict(given, strict, assign)

    @staticmethod
    def optim_state_dict(model: Module, optim: Any, optim_state_dict: Any = None, group: Any = None) -> dict[str, Any]:
        """Return the state of an optimizer keyed by parameter names; by default as full tensors, see `state_dict_type`."""
        state = optim.state_dict() if optim_state_dict is None else optim_state_dict
        names = _parameter_names(model, optim)
        settings = FullyShardedDataParallel.get_state_dict_type(model)
        whole = settings.state_dict_type is StateDictType.FULL_STATE_DICT

        def given(value: Any) -> Any:
            return value.full_tensor() if whole and isinstance(value, DTensor) else value

        return {
            "state": {names[number]: {key: given(v) for key, v in kept.items()} for number, kept in state["state"].items()},
            "param_groups": [{**one, "params": [names[number] for number in one["params"]]} for one in state["param_groups"]],
        }

    @staticmethod
    def optim_state_dict_to_load(
        model: Module,
        optim: Any,
        optim_state_dict: Any,
        is_named_optimizer: bool = False,
        load_directly: bool = False,
        group: Any = None,
    ) -> dict[str, Any]:
        """Convert a result of `optim_state_dict` to the argument of `optim.load_state_dict`; the number of processes
        may differ.
        """
        names = _parameter_names(model, optim)
        numbers = {name: number for number, name in enumerate(names)}
        parameters = [parameter for one in optim.param_groups for parameter in one["params"]]
        state = {}
        for name, kept in optim_state_dict["state"].items():
            parameter = parameters[numbers[name]]
            state[numbers[name]] = {key: _shard_like(value, parameter) for key, value in kept.items()}
        groups = [{**one, "params": [numbers[name] for name in one["params"]]} for one in optim_state_dict["param_groups"]]
        loaded = {"state": state, "param_groups": groups}
        if load_directly:
            optim.load_state_dict(loaded)
        return loaded

    @staticmethod
    def rekey_optim_state_dict(
        optim_state_dict: dict[str, Any], optim_state_key_type: Any, model: Module, optim_input: Any = None, optim: Any = None
    ) -> dict[str, Any]:
        """Return an optimizer's state with its parameters numbered, or named, according to `optim_state_key_type`."""
        names = [name for name, _ in model.named_parameters()]
        by_name = getattr(optim_state_key_type, "name", optim_state_key_type) == "PARAM_NAME"
        keys: dict[Any, Any] = dict(enumerate(names)) if by_name else {name: place for place, name in enumerate(names)}
        groups = [
            {**group, "params": [keys.get(key, key) for key in group["params"]]} for group in optim_state_dict["param_groups"]
        ]
        return {"state": {keys.get(key, key): value for key, value in optim_state_dict["state"].items()}, "param_groups": groups}

    @staticmethod
    def full_optim_state_dict(
        model: Module, optim: Any, optim_input: Any = None, rank0_only: bool = True, group: Any = None
    ) -> dict[str, Any]:
        """Return the state of an optimizer as full tensors; with `rank0_only`, an empty dictionary in other ranks."""
        with FullyShardedDataParallel.state_dict_type(model, StateDictType.FULL_STATE_DICT):
            state = FullyShardedDataParallel.optim_state_dict(model, optim)
        return {} if rank0_only and get_rank() else state

    @staticmethod
    def sharded_optim_state_dict(model: Module, optim: Any, group: Any = None) -> dict[str, Any]:
        """Return the state of an optimizer as `DTensor`s."""
        with FullyShardedDataParallel.state_dict_type(model, StateDictType.SHARDED_STATE_DICT):
            return FullyShardedDataParallel.optim_state_dict(model, optim)


def _full_tensor(tensor: Any) -> Tensor:
    return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor


def _shard_like(value: Any, held: Any) -> Any:
    """Shard a tensor like `held`, the tensor that this process has now; return values that are not sharded unchanged."""
    if isinstance(held, DTensor) and isinstance(value, Tensor) and not isinstance(value, DTensor) and value.ndim == held.ndim:
        if value.shape != held.shape:  # `value` is already a shard
            return DTensor(value, held._spec, requires_grad=False)
        return distribute_tensor(value.detach(), held.device_mesh, held.placements, src_data_rank=None)
    return value


def _parameter_names(model: Module, optimizer: Any) -> list[str]:
    """Return the names of an optimizer's parameters, in the order of the optimizer."""
    names = {parameter: name.replace(FSDP_PREFIX, "") for name, parameter in model.named_parameters()}
    return [names[parameter] for group in optimizer.param_groups for parameter in group["params"]]


def _mesh(process_group: Any, strategy: ShardingStrategy, module: Module) -> DeviceMesh:
    """Return the device mesh for a sharding strategy."""
    first = next((p for p in module.parameters()), None)
    device_type = "cpu" if first is None or first.is_meta else first.device.type
    if strategy in (ShardingStrategy.HYBRID_SHARD, ShardingStrategy._HYBRID_SHARD_ZERO2):
        if not isinstance(process_group, (tuple, list)):
            raise ValueError("Manual wrapping with ShardingStrategy.HYBRID_SHARD requires a pair of groups, or a device_mesh")
        shard, replicate = process_group
        ranks = torch.tensor([get_process_group_ranks(shard)] * replicate.size())
        return DeviceMesh.from_group([replicate, shard], device_type, ranks, mesh_dim_names=("replicate", "shard"))
    group = process_group or default_group()
    if strategy is ShardingStrategy.NO_SHARD:
        ranks = torch.tensor(get_process_group_ranks(group)).unsqueeze(1)
        alone = [new_group([int(rank)]) for rank in ranks]
        own = alone[group.rank()]
        return DeviceMesh.from_group([group, own], device_type, ranks, mesh_dim_names=("replicate", "shard"))
    return DeviceMesh.from_group(group, device_type)


@torch.no_grad()
def _broadcast_tensors(module: Module, mesh: DeviceMesh) -> None:
    tensors: Sequence[Tensor] = [*module.parameters(), *module.buffers()]
    for group in mesh.get_all_groups():
        for tensor in tensors:
            if not isinstance(tensor, DTensor) and tensor.numel():
                collectives.broadcast(tensor.data, group=group, group_src=0)

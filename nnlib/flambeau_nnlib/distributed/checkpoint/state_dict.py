"""State dicts of models and optimizers keyed by parameter names without the prefixes of wrappers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import flambeau as torch
from flambeau import Tensor

from ...nn import Module
from ...optim import Optimizer
from ..objects import broadcast_object_list
from ..tensor import DTensor, distribute_tensor
from ..world import get_rank, is_initialized

__all__ = [
    "FQNS_T",
    "DictValueType",
    "ListDictValueType",
    "OptimizerStateType",
    "PrimitiveType",
    "StateDictOptions",
    "ValueType",
    "get_model_state_dict",
    "get_optimizer_state_dict",
    "get_state_dict",
    "set_model_state_dict",
    "set_optimizer_state_dict",
    "set_state_dict",
]  # fmt: skip

FQNS_T = set[str]
PrimitiveType = DTensor | Tensor | int | float | str
ValueType = PrimitiveType | list[PrimitiveType] | tuple[PrimitiveType, ...] | dict[str, Any]
DictValueType = dict[str, ValueType]
ListDictValueType = list[DictValueType]
OptimizerStateType = dict[str, DictValueType | ListDictValueType]

_WRAPPERS = ("_fsdp_wrapped_module.", "_checkpoint_wrapped_module.", "_orig_mod.")


@dataclass
class StateDictOptions:
    """Options of the functions that get and set state dicts.

    Args:
        full_state_dict: whether tensors are full tensors instead of `DTensor`s.
        cpu_offload: whether tensors are moved to the CPU. With `full_state_dict`, only rank 0 gets a state dict.
        ignore_frozen_params: whether to omit parameters that require no gradient.
        keep_submodule_prefixes: whether keys keep the prefix of the submodule when `submodules` is given.
        strict: whether the keys must be exactly those of the model.
        broadcast_from_rank0: whether to send rank 0's state dict to all processes.
        flatten_optimizer_state_dict: whether an optimizer's state is a flat dictionary with keys such as
            `state.weight.exp_avg`.
    """

    full_state_dict: bool = False
    cpu_offload: bool = False
    ignore_frozen_params: bool = False
    keep_submodule_prefixes: bool = True
    strict: bool = True
    broadcast_from_rank0: bool = False
    flatten_optimizer_state_dict: bool = False
    dsd_fqn_modifiers: str = "_fqn_modifiers"


def _strip_wrappers(name: str) -> str:
    """Remove the prefixes of wrappers from a name."""
    for wrapper in _WRAPPERS:
        name = name.replace(wrapper, "")
    return name


def _unwrapped(model: Module) -> Module:
    """Return the model inside `DistributedDataParallel` or `DataParallel`."""
    from ...nn import DataParallel
    from ...nn.parallel import DistributedDataParallel

    while isinstance(model, (DistributedDataParallel, DataParallel)):
        model = model.module
    return model


def _entries(model: Module) -> dict[str, Tensor]:
    """Return the parameters and persistent buffers by plain name, without conversion."""
    model = _unwrapped(model)
    every = {**dict(model.named_parameters(remove_duplicate=False)), **dict(model.named_buffers(remove_duplicate=False))}
    saved = set(Module.state_dict(model))
    return {_strip_wrappers(name): tensor for name, tensor in every.items() if name in saved}


def _convert(value: Any, options: StateDictOptions) -> Any:
    if not isinstance(value, Tensor):
        return value
    value = value.detach()
    if options.full_state_dict and isinstance(value, DTensor):
        value = value.full_tensor()
    return value.cpu() if options.cpu_offload else value


def _is_omitted(options: StateDictOptions) -> bool:
    """Whether this process gets an empty state dict: with `full_state_dict` and `cpu_offload`, only rank 0 gets one."""
    return options.full_state_dict and options.cpu_offload and is_initialized() and get_rank() != 0


def get_model_state_dict(
    model: Module, *, submodules: set[Module] | None = None, options: StateDictOptions | None = None
) -> dict[str, ValueType]:
    """Return a model's state dict with plain names; sharded parameters are `DTensor`s.

    Args:
        model: the model, wrapped or not.
        submodules: submodules to include; default: all.
        options: see `StateDictOptions`.
    """
    options = options or StateDictOptions()
    inner = _unwrapped(model)
    state = {_strip_wrappers(name): value for name, value in Module.state_dict(inner).items()}
    frozen = {_strip_wrappers(name) for name, parameter in inner.named_parameters() if not parameter.requires_grad}
    if options.ignore_frozen_params:
        state = {name: value for name, value in state.items() if name not in frozen}
    if submodules is not None:
        prefixes = [f"{_strip_wrappers(name)}." for name, module in inner.named_modules() if module in submodules]
        chosen = {}
        for name, value in state.items():
            prefix = next((prefix for prefix in prefixes if name.startswith(prefix)), None)
            if prefix is not None:
                chosen[name if options.keep_submodule_prefixes else name.removeprefix(prefix)] = value
        state = chosen
    found: dict[str, ValueType] = {name: _convert(value, options) for name, value in state.items()}
    return {} if _is_omitted(options) else found


def _shard_like(value: Any, held: Any) -> Any:
    """Shard a full tensor like `held`, the tensor of this process; return other values unchanged."""
    whole = isinstance(held, DTensor) and isinstance(value, Tensor) and not isinstance(value, DTensor)
    if whole and value.shape == held.shape:
        return distribute_tensor(value.detach(), held.device_mesh, held.placements, src_data_rank=None)
    return value


def _broadcast_from_rank0(state: Any, options: StateDictOptions) -> Any:
    if not (options.broadcast_from_rank0 and is_initialized()):
        return state
    if not options.full_state_dict:
        raise ValueError("full_state_dict must be True when broadcast_from_rank0 is True.")
    shared = [state if get_rank() == 0 else None]
    broadcast_object_list(shared, 0)
    return shared[0]


def set_model_state_dict(
    model: Module, model_state_dict: dict[str, ValueType], *, options: StateDictOptions | None = None
) -> Any:
    """Load a state dict with plain names, of full tensors or `DTensor`s, into a model.

    Args:
        model: the model, wrapped or not. If it is on the device `meta`, the tensors of the state dict become its parameters.
        model_state_dict: the state dict, or a dictionary of state dicts by submodule.
        options: see `StateDictOptions`.

    Returns:
        The missing and unexpected keys, which can be present only if `strict` is False.
    """
    options = options or StateDictOptions()
    inner = _unwrapped(model)
    if model_state_dict and all(isinstance(key, Module) for key in model_state_dict):
        paths: dict[Any, str] = {module: f"{_strip_wrappers(name)}." for name, module in inner.named_modules()}
        parts: Any = model_state_dict
        model_state_dict = {f"{paths[module]}{name}": value for module, part in parts.items() for name, value in part.items()}
    state = _broadcast_from_rank0(model_state_dict, options)
    own = _entries(inner)
    names = {_strip_wrappers(name): name for name in Module.state_dict(inner)}
    given = {names.get(name, name): _shard_like(value, own.get(name)) for name, value in state.items()}
    without_data = any(isinstance(tensor, Tensor) and tensor.is_meta for tensor in own.values())
    return Module.load_state_dict(inner, given, strict=options.strict, assign=without_data)


# --- optimizers -------------------------------------------------------------------------------------------------------


def _optimizers(optimizers: Optimizer | Iterable[Optimizer]) -> list[Optimizer]:
    return [optimizers] if isinstance(optimizers, Optimizer) else list(optimizers)


def _named_parameters(model: Module, optimizer: Optimizer) -> Iterator[tuple[str, Tensor]]:
    names = {parameter: _strip_wrappers(name) for name, parameter in _unwrapped(model).named_parameters()}
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            yield names[parameter], parameter


def get_optimizer_state_dict(
    model: Module,
    optimizers: Optimizer | Iterable[Optimizer],
    *,
    submodules: set[Module] | None = None,
    options: StateDictOptions | None = None,
) -> OptimizerStateType:
    """Return the state of one or several optimizers, keyed by plain parameter names.

    Args:
        model: the model, wrapped or not.
        optimizers: optimizers of the model's parameters.
        submodules: submodules whose parameters to include; default: all.
        options: see `StateDictOptions`.
    """
    options = options or StateDictOptions()
    inner = _unwrapped(model)
    chosen = None if submodules is None else {parameter for module in submodules for parameter in module.parameters()}
    states: dict[str, Any] = {}
    groups: list[Any] = []
    for optimizer in _optimizers(optimizers):
        _init_optim_state(optimizer)
        named = list(_named_parameters(inner, optimizer))
        for name, parameter in named:
            if chosen is None or parameter in chosen:
                kept = optimizer.state.get(parameter, {})
                states[name] = {key: _convert(value, options) for key, value in kept.items()}
        by_parameter = {parameter: name for name, parameter in named if chosen is None or parameter in chosen}
        for group in optimizer.param_groups:
            names = [by_parameter[parameter] for parameter in group["params"] if parameter in by_parameter]
            groups.append({**{key: value for key, value in group.items() if key != "params"}, "params": names})
    if _is_omitted(options):
        return {}
    if not options.flatten_optimizer_state_dict:
        return {"state": states, "param_groups": groups}
    flat: dict[str, Any] = {}
    for name, kept in states.items():
        flat |= {f"state.{name}.{key}": value for key, value in kept.items()}
    for group in groups:
        for name in group["params"]:
            flat |= {f"param_groups.{name}.{key}": value for key, value in group.items() if key != "params"}
    return flat


def _init_optim_state(optimizer: Optimizer) -> None:
    """Run an optimizer step that changes no parameter, so that the optimizer creates its state, unless it already has a state.

    PyTorch's examples call this function.
    """
    if optimizer.state:
        return
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"] if parameter.requires_grad]
    if any(parameter.grad is not None for parameter in parameters):
        return
    rates = [group["lr"] for group in optimizer.param_groups if "lr" in group]
    decays = [group.get("weight_decay") for group in optimizer.param_groups]
    before = [parameter.detach().clone() for parameter in parameters]
    for parameter in parameters:
        parameter.grad = torch.zeros_like(parameter)
    for group in optimizer.param_groups:
        if "lr" in group:
            group["lr"] = torch.zeros_like(group["lr"]) if isinstance(group["lr"], Tensor) else 0.0
    optimizer.step(closure=None)
    for group, rate, decay in zip((g for g in optimizer.param_groups if "lr" in g), rates, decays, strict=False):
        group["lr"] = rate
        if decay is not None:
            group["weight_decay"] = decay
    with torch.no_grad():
        for parameter, value in zip(parameters, before, strict=True):
            parameter.copy_(value)
    optimizer.zero_grad(set_to_none=True)


def set_optimizer_state_dict(
    model: Module,
    optimizers: Optimizer | Iterable[Optimizer],
    optim_state_dict: OptimizerStateType,
    *,
    options: StateDictOptions | None = None,
) -> None:
    """Load a state keyed by plain parameter names, of full tensors or `DTensor`s, into one or several optimizers.

    Args:
        model: the model, wrapped or not.
        optimizers: optimizers of the model's parameters.
        optim_state_dict: a result of `get_optimizer_state_dict`, possibly of a job with a different number of
            processes.
        options: see `StateDictOptions`.
    """
    options = options or StateDictOptions()
    state: Any = _broadcast_from_rank0(optim_state_dict, options)
    if state and "state" not in state:
        state = _unflatten(state)
    of_name = {name: group for group in state.get("param_groups", ()) for name in group["params"]}
    for optimizer in _optimizers(optimizers):
        named = list(_named_parameters(model, optimizer))
        numbers = {parameter: number for number, (_, parameter) in enumerate(named)}
        states = {}
        for name, parameter in named:
            if state.get("state", {}).get(name):
                states[numbers[parameter]] = {key: _shard_like(value, parameter) for key, value in state["state"][name].items()}
        groups = []
        for group in optimizer.param_groups:
            first = next((name for name, parameter in named if parameter is group["params"][0]), "")
            taken = {key: value for key, value in of_name.get(first, group).items() if key != "params"}
            groups.append({**taken, "params": [numbers[parameter] for parameter in group["params"]]})
        optimizer.load_state_dict({"state": states, "param_groups": groups})


def _unflatten(flat: dict[str, Any]) -> dict[str, Any]:
    """Convert a flat optimizer state, with keys such as `state.weight.exp_avg`, to nested dictionaries. Each parameter gets a
    parameter group.
    """
    states: dict[str, Any] = {}
    groups: dict[str, Any] = {}
    for path, value in flat.items():
        kind, rest = path.split(".", 1)
        name, key = rest.rsplit(".", 1)
        (states if kind == "state" else groups).setdefault(name, {})[key] = value
    return {"state": states, "param_groups": [{**group, "params": [name]} for name, group in groups.items()]}


# --- both -------------------------------------------------------------------------------------------------------------


def get_state_dict(
    model: Module,
    optimizers: Optimizer | Iterable[Optimizer],
    *,
    submodules: set[Module] | None = None,
    options: StateDictOptions | None = None,
) -> tuple[dict[str, ValueType], OptimizerStateType]:
    """Return the results of `get_model_state_dict` and `get_optimizer_state_dict`."""
    return (
        get_model_state_dict(model, submodules=submodules, options=options),
        get_optimizer_state_dict(model, optimizers, submodules=submodules, options=options),
    )


def set_state_dict(
    model: Module,
    optimizers: Optimizer | Iterable[Optimizer],
    *,
    model_state_dict: dict[str, ValueType],
    optim_state_dict: OptimizerStateType,
    options: StateDictOptions | None = None,
) -> Any:
    """Call `set_optimizer_state_dict` and `set_model_state_dict`; return the result of the latter."""
    set_optimizer_state_dict(model, optimizers, optim_state_dict, options=options)
    return set_model_state_dict(model, model_state_dict, options=options)

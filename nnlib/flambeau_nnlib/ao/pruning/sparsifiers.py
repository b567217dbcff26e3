"""Sparsifiers: they mask parameters of a model, and update the masks in `step`."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterable
from copy import deepcopy
from itertools import chain
from typing import Any

import flambeau as torch
from flambeau import Tensor

from ...nn import functional as F
from ...nn.modules.linear import Linear
from ...nn.modules.module import Module
from ...nn.utils import parametrize
from .parametrization import FakeSparsity, get_arg_info_from_tensor_fqn

__all__ = ["BaseSparsifier", "NearlyDiagonalSparsifier", "WeightNormSparsifier"]

_NOT_SAVED = ("module", "module_fqn", "tensor_name")
_NO_NAME = "tensor_fqn is a required argument in the sparsity config which replaces previous `module` and [module]`fqn` arguments"
_NO_DICT = "config elements should be dicts not modules i.e.:[{`tensor_fqn`: `foo.bar.weight`}, {`tensor_fqn`: ... }, ...]"


class BaseSparsifier(ABC):
    """Base class of sparsifiers. A subclass implements `update_mask`.

    `groups` contains one dictionary for each masked tensor: its names, its module, and its options. `state` maps the tensor's
    name to a dictionary with its `mask`.

    Args:
        defaults: the options of tensors whose configuration does not set them.
    """

    model: Module
    config: list[dict[str, Any]]

    def __init__(self, defaults: dict[str, Any] | None = None) -> None:
        super().__init__()
        self.defaults: dict[str, Any] = defaults or {}
        self.state: dict[str, dict[str, Any]] = defaultdict(dict)
        self.groups: list[dict[str, Any]] = []
        self.enable_mask_update = True

    def __getstate__(self) -> dict[str, Any]:
        return {"defaults": self.defaults, "state": self.state, "groups": self.groups}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    def __repr__(self) -> str:
        shown = f"{type(self).__name__} ("
        for i, group in enumerate(self.groups):
            keys = ["module", *sorted(group.keys() - {"module"})]
            shown += f"\n\tGroup {i}\n" + "".join(f"\t    {key}: {group[key]}\n" for key in keys)
        return shown + ")"

    def state_dict(self) -> dict[str, Any]:
        """Return `state` and the options in `groups`, without the modules."""
        groups = [{key: value for key, value in group.items() if key not in _NOT_SAVED} for group in self.groups]
        return {"state": self.state, "groups": groups}

    def load_state_dict(self, state_dict: dict[str, Any], strict: bool = True) -> None:
        """Load the masks and options that `state_dict` returned, and mask the parameters that are not masked yet.

        Raises:
            RuntimeError: if `strict`, and the model has no module for one of the tensors.
        """
        groups = deepcopy(state_dict["groups"])
        states = {tensor_fqn: dict(state) for tensor_fqn, state in state_dict["state"].items()}
        for tensor_fqn, state in states.items():
            info = get_arg_info_from_tensor_fqn(self.model, tensor_fqn)
            module, tensor_name = info["module"], info["tensor_name"]
            if module is None:
                if strict:
                    raise RuntimeError(f"Error loading {tensor_fqn} into the model")
                continue
            parametrizations = module.parametrizations[tensor_name] if parametrize.is_parametrized(module, tensor_name) else ()
            masked = next((each for each in parametrizations if isinstance(each, FakeSparsity)), None)
            if masked is None:
                masked = FakeSparsity(torch.ones(getattr(module, tensor_name).shape))
                parametrize.register_parametrization(module, tensor_name, masked)
            if state.get("mask") is not None:
                masked.mask = state["mask"]
            for group in groups:
                if group["tensor_fqn"] == tensor_fqn:
                    group.update(info)
        self.__setstate__({"state": states, "groups": groups})

    def make_config_from_model(self, model: Module, SUPPORTED_MODULES: Iterable[type[Module]] = (Linear,)) -> None:
        """Set `config` to the weights of all submodules of the given types."""
        self.config, stack = [], [("", model)]
        while stack:
            prefix, parent = stack.pop()
            for name, child in parent.named_children():
                if type(child) in SUPPORTED_MODULES:
                    self.config.append({"tensor_fqn": f"{prefix}{name}.weight"})
                else:
                    stack.append((f"{prefix}{name}.", child))

    def prepare(self, model: Module, config: list[dict[str, Any]] | None) -> None:
        """Mask parameters of `model`, in place.

        Args:
            model: the model.
            config: one dictionary for each parameter, with its qualified name as `tensor_fqn` and its options. None masks the
                weights of all linear layers.

        Raises:
            AssertionError: if an element of `config` is not a dictionary, or lacks `tensor_fqn`, or contradicts it.
        """
        self.model = model
        if config is None:
            self.make_config_from_model(model)
        else:
            self.config = config
        for options in self.config:
            if not isinstance(options, dict):
                raise AssertionError(_NO_DICT)
            group = {**deepcopy(self.defaults), **options}
            if group.get("tensor_fqn") is None:
                raise AssertionError(_NO_NAME)
            info = get_arg_info_from_tensor_fqn(model, group["tensor_fqn"].removeprefix("."))
            group["tensor_fqn"] = info["tensor_fqn"]
            for key, value in info.items():
                if group.get(key, value) != value:
                    raise AssertionError(f"Given both `{key}` and `tensor_fqn` in the config, it is expected them to agree!")
            self.groups.append({**group, **info})
        self._prepare()

    def _prepare(self, *args: Any, **kwargs: Any) -> None:
        """Register the parametrization of each group with a mask of ones."""
        for group in self.groups:
            module, name = group["module"], group["tensor_name"]
            mask = group["mask"] if "mask" in group else torch.ones_like(getattr(module, name))
            self.state[group["tensor_fqn"]]["mask"] = mask
            parametrize.register_parametrization(module, name, group.get("parametrization", FakeSparsity)(mask))

    def squash_mask(
        self,
        params_to_keep: Iterable[str] | None = None,
        params_to_keep_per_layer: dict[str, Iterable[str]] | None = None,
        *args: Any,
        **kwargs: Any,
    ) -> None:
        """Multiply the parameters by their masks and remove the parametrizations.

        Args:
            params_to_keep: options that each module keeps as a dictionary `sparse_params`.
            params_to_keep_per_layer: further options to keep, for the qualified names of modules.
        """
        for group in self.groups:
            module = group["module"]
            parametrize.remove_parametrizations(module, group["tensor_name"], leave_parametrized=True)
            kept = chain(params_to_keep or (), (params_to_keep_per_layer or {}).get(group["module_fqn"]) or ())
            if sparse_params := {key: group[key] for key in kept}:
                module.sparse_params = sparse_params

    def convert(
        self,
        module: Module,
        mapping: dict[type[Module], Any] | None = None,
        inplace: bool = False,
        parameterization: type[Module] = FakeSparsity,
    ) -> Module:
        """Replace masked submodules by the result of `from_dense` of the class to which `mapping` maps their type.

        Args:
            module: the module to convert.
            mapping: classes of sparse modules, by the type of the dense module.
            inplace: change `module` instead of a copy.
            parameterization: the type of parametrization that marks masked modules.

        Raises:
            NotImplementedError: if `mapping` is None.
        """
        if mapping is None:
            raise NotImplementedError("Need to auto generate mapping ")
        module = module if inplace else deepcopy(module)
        for name, child in list(module.named_children()):
            if parametrize.type_before_parametrizations(child) in mapping and _has_parametrization(child, parameterization):
                module._modules[name] = _converted(child, mapping)
            else:
                self.convert(child, mapping, inplace=True, parameterization=parameterization)
        return module

    def step(self, use_path: bool = True) -> None:
        """Update all masks, unless `enable_mask_update` is false."""
        if self.enable_mask_update:
            with torch.no_grad():
                for group in self.groups:
                    self.update_mask(**group)

    @abstractmethod
    def update_mask(self, module: Module, tensor_name: str, **kwargs: Any) -> None:
        """Update the mask of one tensor: `module.parametrizations[tensor_name][0].mask`.

        Args:
            module: the module that contains the tensor.
            tensor_name: the name of the tensor in the module.
            kwargs: the other entries of the tensor's group.
        """


def _has_parametrization(module: Module, kind: type[Module]) -> bool:
    """Whether a tensor of the module has a parametrization of the given type."""
    if not parametrize.is_parametrized(module):
        return False
    return any(isinstance(each, kind) for each in chain.from_iterable(module.parametrizations.values()))


def _converted(module: Module, mapping: dict[type[Module], Any]) -> Module:
    """Return the sparse module for `module`, with its hooks and on its device."""
    sparse: Module = mapping[parametrize.type_before_parametrizations(module)].from_dense(module)
    for pre_hook in module._forward_pre_hooks.values():
        sparse.register_forward_pre_hook(pre_hook)
    for hook in module._forward_hooks.values():
        sparse.register_forward_hook(hook)
    devices = {tensor.device for tensor in chain(module.parameters(), module.buffers())}
    if len(devices) > 1:
        raise AssertionError(f"swap_module only works with cpu or single-device CUDA modules, but got devices {devices}")
    return sparse.to(*devices) if devices else sparse


class WeightNormSparsifier(BaseSparsifier):
    """Mask the blocks of a matrix with the smallest mean norm.

    Args:
        sparsity_level: the fraction of blocks to mask.
        sparse_block_shape: number of rows and columns of a block.
        zeros_per_block: the number of elements to mask in each of those blocks: the smallest ones. The default is all.
        norm: 1 for `x.abs()`, 2 for `x * x`, or a function of the matrix. The default is 2.

    Raises:
        NotImplementedError: for another number as `norm`.
    """

    def __init__(
        self,
        sparsity_level: float = 0.5,
        sparse_block_shape: tuple[int, int] = (1, 4),
        zeros_per_block: int | None = None,
        norm: Callable[[Tensor], Tensor] | int | None = None,
    ) -> None:
        if callable(norm):
            self.norm_fn = norm
        elif norm in (None, 1, 2):
            self.norm_fn = torch.abs if norm == 1 else torch.square
        else:
            raise NotImplementedError(f"L-{norm} is not yet implemented.")
        zeros_per_block = math.prod(sparse_block_shape) if zeros_per_block is None else zeros_per_block
        super().__init__(
            {"sparsity_level": sparsity_level, "sparse_block_shape": sparse_block_shape, "zeros_per_block": zeros_per_block}
        )

    def update_mask(self, module: Module, tensor_name: str, **kwargs: Any) -> None:
        """Update the mask of one matrix.

        Raises:
            ValueError: if `zeros_per_block` is negative or exceeds the size of a block.
        """
        level, block, zeros = (kwargs[key] for key in ("sparsity_level", "sparse_block_shape", "zeros_per_block"))
        size = math.prod(block)
        if zeros > size:
            raise ValueError("Number of zeros per block cannot be more than the total number of elements in that block.")
        if zeros < 0:
            raise ValueError("Number of zeros per block should be positive.")
        mask = module.parametrizations[tensor_name][0].mask
        if level <= 0 or zeros == 0:
            mask.data = torch.ones_like(mask)
        elif level >= 1.0 and zeros == size:
            mask.data = torch.zeros_like(mask)
        else:
            norms = self.norm_fn(getattr(module, tensor_name))
            kept = _mask_of_blocks(norms, level, block)
            mask.data = kept if zeros == size else torch.logical_or(kept, _mask_within_blocks(norms, zeros, block))


def _mask_of_blocks(norms: Tensor, level: float, block: tuple[int, int]) -> Tensor:
    """Return a mask that is 0 in the fraction `level` of blocks with the smallest mean. Blocks at the edges may be partial."""
    if level >= 1.0:
        return torch.zeros_like(norms)
    rows, columns = norms.shape
    means = F.avg_pool2d(norms[None, None], block, stride=block, ceil_mode=True)[0, 0]
    count = min(round(level * means.numel()), means.numel() - 1)
    lowest = torch.topk(means.flatten(), count, largest=False).indices
    kept = torch.ones(means.numel(), device=norms.device).index_fill(0, lowest, 0).reshape(means.shape)
    return kept.repeat_interleave(block[0], 0).repeat_interleave(block[1], 1)[:rows, :columns].contiguous()


def _mask_within_blocks(norms: Tensor, zeros: int, block: tuple[int, int]) -> Tensor:
    """Return a mask that is 0 at the `zeros` smallest elements of each block."""
    rows, columns = norms.shape
    padded = F.pad(norms, (0, -columns % block[1], 0, -rows % block[0]), value=math.nan)  # NaN is larger than all numbers
    patches = F.unfold(padded[None, None], block, stride=block)
    smallest = torch.topk(patches, zeros, dim=1, largest=False).indices
    kept = torch.ones_like(patches).scatter(1, smallest, 0)
    return F.fold(kept, padded.shape, block, stride=block)[0, 0, :rows, :columns]


class NearlyDiagonalSparsifier(BaseSparsifier):
    """Keep the diagonals of a matrix that are closest to the main diagonal.

    Args:
        nearliness: the number of diagonals to keep, an odd number. 1 keeps the main diagonal.
    """

    def __init__(self, nearliness: int = 1) -> None:
        super().__init__({"nearliness": nearliness})

    def update_mask(self, module: Module, tensor_name: str, **kwargs: Any) -> None:
        """Update the mask of one matrix.

        Raises:
            ValueError: if `nearliness` is even, or if the matrix has fewer diagonals.
        """
        nearliness: int = kwargs["nearliness"]
        mask = module.parametrizations[tensor_name][0].mask
        if nearliness <= 0:
            mask.data = torch.zeros_like(mask)
            return
        if nearliness % 2 == 0:
            raise ValueError("nearliness can only be an odd number")
        distance = nearliness // 2
        if distance >= min(mask.shape):
            raise ValueError("nearliness cannot be larger than the dimensions of tensor.")
        mask.data = torch.ones_like(mask).tril(distance).triu(-distance)

"""The record of an operation: its forward, its derivative rules, and options for dtypes, memory layout, results and names."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

from ..tape.node import Node
from ..values.promotion import COMMON
from .facts import Facts, Kind, Order, facts_of
from .out_rules import Out

__all__ = ["ONLY_KERNELS", "OPTIONS", "Operation", "Out"]

ONLY_KERNELS = "<kernels>"  # for `requires`: no library has this, so a backend without a kernel uses the CPU

Forward = Callable[..., Any]  # `(xp, tensors..., /, parameters...)`; without a slash every argument is a tensor
Rule = Callable[..., Any]  # `(F, g, saved values...)`: returns the gradient of one argument


@dataclass(frozen=True, kw_only=True, eq=False)
class Operation:
    """One operation.  All options, with their documentation and defaults, are declared here and nowhere else."""

    name: str
    forward: Forward
    """Computes the results from raw arrays.  With `*tensors`, the operation takes a sequence of tensors."""
    rules: Mapping[str, Rule] = field(default_factory=dict)
    """The derivative rule (vjp) of each tensor argument, by its name.  The parameters of a rule after `F` and `g` name the values
    that a call saves for it: a tensor argument, `out`, one of the `results`, a parameter, `<argument>_shape`, or `needs` (for
    each edge, whether its gradient is requested)."""
    vjp: Rule | None = None
    """One rule that computes the gradients of all tensor arguments, used instead of `rules` where they share work."""
    nondifferentiable: tuple[str, ...] = ()
    """The tensor arguments for which `vjp` returns no gradient."""
    freed: tuple[str, ...] = ()
    """Parameters such as indices, which a backward frees like saved tensors: a second backward through the call raises."""

    # --- what is published, and under which names ---

    doc: str = ""
    public: bool = True
    """Whether the operation is a public function of `torch`."""
    method: bool = True
    """Whether the operation is a method of Tensor."""
    inplace: bool = False
    """Whether there is an in-place method `name_`."""
    out: bool | Out | None = None
    """Whether the function takes `out=`, or the rules for it.  Default: True unless the result is a view or a list."""
    aliases: tuple[str, ...] = ()
    """Further names of the function and the method."""
    dunders: tuple[str, ...] = ()
    """The operators that call the operation, such as `__mul__` and `__rmul__`."""
    signature: str = ""
    """The parameters of the public function, as source code, if their order is not that of `forward`."""
    own_arguments: bool = False
    """Whether the public function of this name has other parameters: `__torch_function__` then receives this operation."""

    # --- dtypes ---

    promote: str = "same"
    """The dtype promotion, a key of `PROMOTIONS`: it decides the dtype to compute in and the result's dtype."""
    dtypes: str = "all"
    """The supported dtypes, a key of `DTYPES`."""
    keeps_dtype: tuple[str, ...] = ()
    """Tensor arguments that keep their own dtype, such as masks and indices."""
    scalars: bool | tuple[str, ...] = True
    """Whether Python numbers are accepted for tensor arguments, or the names of the arguments that accept them.  Only for
    promotions to a common dtype."""
    numbers_alone: bool = False
    """Whether all tensor arguments may be Python numbers, as in `torch.mul(2, 3)`."""
    exact_numbers: bool = False
    """Whether a Python number combined with a float16 / bfloat16 tensor is used exactly, without rounding to that dtype first."""
    real_is_identity: bool = False
    """Whether the result for a real array is that array itself."""
    check: Callable[..., None] | None = None
    """Called with the tensor arguments; raises an error if PyTorch does not support their dtypes."""

    # --- results ---

    results: tuple[str, ...] = ()
    """The names of the results, for an operation with several results."""
    result_promotions: tuple[str, ...] = ()
    """For each result, the key of `PROMOTIONS` that determines its dtype."""
    returns_list: bool = False
    """Whether the forward returns a list of arrays of the input's type."""
    view: bool = False
    """Whether the result shares memory with the first argument."""
    writes: tuple[int, ...] = ()
    """The positions of arguments that the kernel writes to: a recorded step must not drop such a call."""
    column_major: tuple[str, ...] = ()
    """The names of results (`"out"` for a single one) that are column-major in memory, as LAPACK writes them."""
    requires: str | None = None
    """The optional array API function that the forward calls, such as `"linalg.svd"`.  If a backend's library lacks it, the
    operation is computed on the CPU."""

    # --- the node, as PyTorch shows it ---

    grad_fn: str | tuple[str, str] = ""
    """The name of the node's class; by default derived from the operation's name, as in `MulBackward0`.  Or two names: the second
    is for calls of PyTorch's other overload, with `dim` or as a reflected operator (`number - tensor`)."""
    decompose: Callable[[Node], None] | None = None
    """Replaces the node by the nodes that PyTorch records, when a user inspects the graph."""

    # --- generated once, by `op()` ---

    function: Callable[..., Any] = field(init=False, repr=False)
    """The public function."""
    record: Callable[..., Any] = field(init=False, repr=False)
    """Wraps the arrays that a kernel returned as tensors, and creates the node of the call."""

    def complete(self, function: Callable[..., Any], record: Callable[..., Any] | None) -> None:
        """Set the functions that `op()` has generated from the record.  Called once."""
        object.__setattr__(self, "function", function)
        if record is not None:
            object.__setattr__(self, "record", record)

    @property
    def facts(self) -> Facts:
        """The operation's kind and the other facts declared for its name."""
        found = facts_of(self.name)
        assert found is not None  # `op()` registers the facts of each operation
        return found

    # --- derived from the signature of the forward ---

    @cached_property
    def variadic(self) -> bool:
        """Whether the operation takes a sequence of tensors."""
        return bool(self.forward.__code__.co_flags & inspect.CO_VARARGS)

    @cached_property
    def tensor_names(self) -> tuple[str, ...]:
        """The names of the tensor arguments."""
        code = self.forward.__code__
        count = code.co_posonlyargcount or code.co_argcount
        return ("tensors",) if self.variadic else code.co_varnames[1:count]

    @cached_property
    def combines(self) -> bool:
        """Whether the operation combines the elements of several operands, in the memory order of the first, as `add` does."""
        is_ordered = self.facts.kind is Kind.POINTWISE and self.facts.order is not Order.ROW_MAJOR
        return is_ordered and len(self.tensor_names) > 1 and not self.results

    @cached_property
    def param_names(self) -> tuple[str, ...]:
        """The names of the parameters that are not tensor arguments."""
        return self._positional_params + self._keyword_only

    @cached_property
    def kernel_params(self) -> tuple[str, ...]:
        """The parameters that the kernel receives: all except `dtype`, as the input is cast before the kernel is called."""
        return tuple(name for name in self.param_names if name != "dtype")

    @cached_property
    def defaults(self) -> dict[str, Any]:
        """The default values of parameters, by name."""
        code = self.forward.__code__
        positional: tuple[Any, ...] = self.forward.__defaults__ or ()
        names = code.co_varnames[code.co_argcount - len(positional) : code.co_argcount]
        return dict(zip(names, positional, strict=True)) | (self.forward.__kwdefaults__ or {})

    @cached_property
    def flags(self) -> tuple[str, ...]:
        """The parameters that must be True or False."""
        return tuple(name for name in self.param_names if type(self.defaults.get(name)) is bool)

    @cached_property
    def primary(self) -> str:
        """The name of the tensor argument that decides the dtype and the device."""
        return next(name for name in self.tensor_names if name not in self.keeps_dtype)

    @cached_property
    def number_names(self) -> tuple[str, ...]:
        """The names of the tensor arguments that may be Python numbers."""
        if self.promote not in COMMON or len(self.tensor_names) == 1 or not self.scalars:
            return ()
        allowed: tuple[str, ...] = self.tensor_names if isinstance(self.scalars, bool) else self.scalars
        return tuple(name for name in self.tensor_names if name not in self.keeps_dtype and name in allowed)

    @cached_property
    def differentiable(self) -> bool:
        """Whether the operation has a derivative rule."""
        return bool(self.rules) or self.vjp is not None

    @cached_property
    def edge_names(self) -> tuple[str, ...]:
        """The names of the tensor arguments that get a gradient, in the order of the node's edges."""
        excluded = self.nondifferentiable if self.vjp or self.variadic else {*self.tensor_names} - self.rules.keys()
        return tuple(name for name in self.tensor_names if name not in excluded)

    @cached_property
    def has_out(self) -> bool:
        """Whether the public function takes `out=`."""
        return not self.view and not self.returns_list if self.out is None else bool(self.out)

    @cached_property
    def out_rules(self) -> Out:
        """The rules for `out=`."""
        return self.out if isinstance(self.out, Out) else Out(0)

    @cached_property
    def declaration(self) -> str:
        """The parameters of the public function, as source code, without `out=`."""
        if self.signature:
            return self.signature
        parts = [self._declare(name) for name in (*self.tensor_names, *(() if self.variadic else self._positional_params))]
        if self._keyword_only:
            parts += ([] if self.variadic else ["*"]) + [self._declare(name) for name in self._keyword_only]
        return ", ".join(parts)

    @cached_property
    def node_name(self) -> str:
        """The name of the node's class, capitalized as in PyTorch: `Log1PBackward0` for `log1p`."""
        name = self.grad_fn if isinstance(self.grad_fn, str) else self.grad_fn[0]
        return name or self.name.title().replace("_", "") + "Backward0"

    @property
    def overload_node_name(self) -> str | None:
        """The second name in `grad_fn`, for calls that PyTorch computes by another overload; None if there is only one."""
        return None if isinstance(self.grad_fn, str) else self.grad_fn[1]

    @property
    def _positional_params(self) -> tuple[str, ...]:
        code, first = self.forward.__code__, self.forward.__code__.co_posonlyargcount
        return () if self.variadic or not first else code.co_varnames[first : code.co_argcount]

    @property
    def _keyword_only(self) -> tuple[str, ...]:
        code = self.forward.__code__
        return code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]

    def _declare(self, name: str) -> str:
        return f"{name}={self.defaults[name]!r}" if name in self.defaults else name


OPTIONS = frozenset(option.name for option in fields(Operation) if option.init) - {"name", "forward", "rules"}

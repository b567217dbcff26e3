"""Dynamic sizes: how each symbolic size is computed, and the guards on sizes that a program needs."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import flambeau as torch

from ..python_operators import ARITHMETIC, COMPARISONS
from ._errors import UserError
from .dynamic_shapes import Constraint, Dim

__all__ = ["SizeExpression", "SizeGuards", "Specialized", "Symbol", "concrete", "infer_dynamic_sizes", "is_symbolic"]

_SYMBOLIC = (torch.SymInt, torch.SymFloat, torch.SymBool)


def is_symbolic(value: Any) -> bool:
    """Whether a value is a symbolic number."""
    return isinstance(value, _SYMBOLIC)


def concrete(value: Any) -> Any:
    """Return the value that a symbolic number has for the example inputs; return any other value unchanged."""
    return value.value if isinstance(value, _SYMBOLIC) else value


class Specialized(Exception):
    """Raised when the program requires a `Dim.AUTO` size to be a constant."""

    def __init__(self, symbol: Symbol) -> None:
        super().__init__(symbol.name)
        self.symbol = symbol


class Symbol:
    """A dynamic size of the inputs.

    Args:
        name: its name, such as `s0`.
        dim: the root `Dim` without arithmetic, or `Dim.AUTO` or `Dim.DYNAMIC`.
        hint: its value in the example inputs.
        probe: its value in the probe run.
    """

    def __init__(self, name: str, dim: Any, hint: int, probe: int) -> None:
        self.name, self.dim, self.hint, self.probe = name, dim, hint, probe
        self.range = Constraint(dim.min, dim.max) if isinstance(dim, Dim) else Constraint()
        self.places: list[tuple[str, int]] = []  # the names of inputs, and the dimensions, that have this size
        self.keys: set[tuple[int, int]] = set()  # `places`, but with the `id` of each input instead of its name

    @property
    def label(self) -> str:
        """The name in error messages: the name of the user's `Dim`, or the inputs and dimensions with this size."""
        return (
            self.dim.__name__ if isinstance(self.dim, Dim) else " and ".join(f"{name}.size()[{dim}]" for name, dim in self.places)
        )


class SizeExpression:
    """The expression that computes a symbolic number.

    Args:
        text: the expression as text.
        linear: the factor of each symbol and, with the key '', the constant; None if the expression is not linear.
        is_data_dependent: whether it depends on the values of tensors, rather than on sizes.
    """

    def __init__(self, text: str, linear: dict[str, int] | None = None, is_data_dependent: bool = False) -> None:
        self.text, self.linear, self.is_data_dependent = text, linear, is_data_dependent
        self.comparison: tuple[Callable[..., bool], dict[str, int]] | None = None
        self.recording: Any = None
        self.node: Any = None
        self.make: Callable[[], Any] | None = None

    @classmethod
    def data_dependent(cls, text: str) -> SizeExpression:
        return cls(text, None, True)

    @property
    def is_variable(self) -> bool:
        """Whether the expression depends on a symbol, or is not linear."""
        return self.linear is None or any(name and factor for name, factor in self.linear.items())

    def __str__(self) -> str:
        return self.text


Known = tuple[int, SizeExpression]
_SYMBOLS = ARITHMETIC | COMPARISONS
_MIRRORED = {operator.lt: operator.gt, operator.le: operator.ge, operator.gt: operator.lt, operator.ge: operator.le}


class SizeGuards:
    """The dynamic sizes of an export, and the guards on them that the program needs.

    Args:
        symbols: the dynamic sizes, by name.
    """

    def __init__(self, symbols: dict[str, Symbol]) -> None:
        self.symbols = symbols

    # --- expressions of symbolic numbers ---

    def form(self, symbol: Symbol, factor: int = 1, offset: int = 0) -> SizeExpression:
        """Return the expression `factor * symbol + offset`."""
        return SizeExpression(_text({symbol.name: factor, "": offset}), {symbol.name: factor, "": offset})

    def match_probe(self, size: int, other: int, text: str) -> SizeExpression:
        """Return a multiple of a symbol whose value is `size` in the examples and `other` in the probe; if none, `text`."""
        for symbol in self.symbols.values():
            if size % symbol.hint == 0 and other == size // symbol.hint * symbol.probe if symbol.hint else False:
                return self.form(symbol, size // symbol.hint)
        return SizeExpression(text)

    def combine(self, function: Callable[..., Any], args: tuple[Any, ...]) -> SizeExpression:
        """Return the expression of the result of a function of symbolic numbers."""
        forms = [arg.origin if is_symbolic(arg) else _constant(arg) for arg in args]
        texts = [f"({form.text})" if " " in form.text else form.text for form in forms]
        text = f" {_SYMBOLS[function]} ".join(texts) if function in _SYMBOLS else f"{function.__name__}({', '.join(texts)})"
        result = SizeExpression(text, None, any(form.is_data_dependent for form in forms))
        linears = [form.linear for form in forms]
        if any(linear is None for linear in linears):
            return result
        result.linear = _linear(function, linears)  # type: ignore[arg-type]  # none is None
        if result.linear is not None:
            result.text = _text(result.linear)
        if function in (*_MIRRORED, operator.eq, operator.ne):
            result.comparison = function, _sum(linears[0], linears[1], -1)  # type: ignore[arg-type]
        return result

    # --- decisions ---

    def decide(self, number: Any, where: str) -> bool:
        """Record that the program relies on the truth value of a comparison. Return False if each call has to check it.

        Raises:
            UserError: the decision depends on a size that the user declared dynamic.
            Specialized: the decision depends on another dynamic size.
        """
        form: SizeExpression = number.origin
        if form.comparison is None:
            if isinstance(number, torch.SymBool):
                return False
            self._fix(form, number.value, where)
            return True
        function, difference = form.comparison
        names = [name for name, factor in difference.items() if name and factor]
        if len(names) != 1:
            return not names
        return self._compare(self.symbols[names[0]], function, difference[names[0]], difference.get("", 0), number.value, where)

    def _fix(self, form: SizeExpression, value: Any, where: str) -> None:
        names = [name for name, factor in (form.linear or {}).items() if name and factor] or list(self.symbols)
        for name in names:
            symbol = self.symbols[name]
            if symbol.dim is Dim.AUTO:
                raise Specialized(symbol)
        for symbol in (self.symbols[name] for name in names):
            raise UserError(
                f"Constraints violated ({symbol.label})!\n  - You marked {symbol.label} as dynamic but your code specialized "
                "it to be "
                f"a constant ({symbol.hint}). If you're using Dim.DYNAMIC, replace it with either Dim.STATIC or Dim.AUTO.\n\n"
                f"The size was needed as a number here:\n{where}"
            )

    def _compare(self, symbol: Symbol, function: Any, factor: int, constant: int, answer: bool, where: str) -> bool:
        """Decide `function(factor * symbol + constant, 0)`; return False if each call has to check it."""
        assumed = symbol.range.narrowed(lower=2 if symbol.hint >= 2 else 0)
        if function in (operator.eq, operator.ne):
            if constant % factor or -constant // factor not in assumed:
                return True  # the size can never equal this value
            if answer is (function is operator.eq):
                self._fix(self.form(symbol), symbol.hint, where)
            return False
        if factor < 0:
            function, factor, constant = _MIRRORED[function], -factor, -constant
        if not answer:
            function = {operator.lt: operator.ge, operator.ge: operator.lt, operator.le: operator.gt, operator.gt: operator.le}[
                function
            ]
        limit = -constant / factor
        lower = upper = None
        if function is operator.ge:
            lower = math.ceil(limit)
        elif function is operator.gt:
            lower = math.floor(limit) + 1
        elif function is operator.le:
            upper = math.floor(limit)
        else:
            upper = math.ceil(limit) - 1
        narrowed = assumed.narrowed(lower, upper)
        if narrowed == assumed:
            return True
        if isinstance(symbol.dim, Dim):
            guard = f"{lower} <= {symbol.label}" if lower is not None else f"{symbol.label} <= {upper}"
            limits = f", {'min' if lower is not None else 'max'}={lower if lower is not None else upper}"
            raise UserError(
                f"Constraints violated ({symbol.label})!\n  - Not all values of {symbol.label} in the specified range satisfy "
                "the "
                f"generated guard {guard}.\n\nSuggested fixes:\n  {symbol.label} = Dim('{symbol.label}'{limits})\n\n"
                f"The guard comes from here:\n{where}"
            )
        symbol.range = symbol.range.narrowed(lower, upper)
        return True


def _constant(value: Any) -> SizeExpression:
    return SizeExpression(str(value), {"": value} if isinstance(value, int) else None)


def _sum(left: dict[str, int], right: dict[str, int], sign: int = 1) -> dict[str, int]:
    return {name: left.get(name, 0) + sign * right.get(name, 0) for name in {**left, **right}}


def _linear(function: Callable[..., Any], forms: list[dict[str, int]]) -> dict[str, int] | None:
    if function is operator.add:
        return _sum(forms[0], forms[1])
    if function is operator.sub:
        return _sum(forms[0], forms[1], -1)
    if function is operator.neg:
        return _sum({}, forms[0], -1)
    if function is operator.pos:
        return forms[0]
    if function is operator.mul:
        for one, other in (forms, forms[::-1]):
            if not any(name and factor for name, factor in one.items()):
                return {name: factor * one.get("", 0) for name, factor in other.items()}
    if function is operator.floordiv:
        divisor = forms[1].get("", 0)
        exact = divisor and not any(name and factor for name, factor in forms[1].items())
        if exact and all(factor % divisor == 0 for factor in forms[0].values()):
            return {name: factor // divisor for name, factor in forms[0].items()}
    return None


def _text(linear: dict[str, int]) -> str:
    terms = [name if factor == 1 else f"{factor}*{name}" for name, factor in linear.items() if name and factor]
    constant = linear.get("", 0)
    return " + ".join(terms + [str(constant)] * (constant != 0 or not terms))


_RESHAPING = ("view", "reshape", "flatten", "cat", "stack", "repeat", "slice", "unflatten", "permute", "expand")


def infer_dynamic_sizes(
    guards: SizeGuards,
    inputs: list[Any],
    shape: tuple[int, ...],
    other: tuple[int, ...] | None,
    depends: bool,
    operator_name: str,
) -> list[Known]:
    """Return the dynamic dimensions of a result, with their expressions.

    Args:
        guards: the dynamic sizes.
        inputs: the shapes of the operator's tensor arguments.
        shape: the shape of the result.
        other: the shape of the result in the probe run.
        depends: whether the first size of the result depends on values, as for `nonzero`.
        operator_name: the name of the operator.
    """
    found: list[Known] = []
    if depends and shape:
        found.append((0, SizeExpression.data_dependent(f"u{shape[0]}")))
    data_dependent = {concrete(size) for sizes in inputs for size in sizes if is_symbolic(size) and size.origin.is_data_dependent}
    fixed = {size for sizes in inputs for size in sizes if not is_symbolic(size)}
    for dim, size in enumerate(shape):
        if found and found[0][0] == dim:
            continue
        if other is not None and other[dim] != size:
            found.append((dim, guards.match_probe(size, other[dim], f"{operator_name}.size({dim})")))
        elif data_dependent and (
            size in data_dependent or (size not in fixed and any(name in operator_name for name in _RESHAPING))
        ):
            found.append((dim, SizeExpression.data_dependent(f"u{size}")))
    return found

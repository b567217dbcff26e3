"""Functions and methods accept PyTorch's arguments, by position and by name.

Each line of `signatures.txt` has a signature and the names that share it; overloads have several lines. Parameters before a
slash are positional only, as in legacy calls.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import flambeau as torch


class Argument(NamedTuple):
    name: str
    optional: bool
    kind: str  # passed by "position", "name" or "either"


def _arguments(signature: str) -> list[Argument]:
    found: list[Argument] = []
    after_star = False
    for part in signature.split(", ") if signature else []:
        name, _, default = part.partition("=")
        if name == "/":
            found = [parameter._replace(kind="position") for parameter in found]
        elif name == "*":
            after_star = True
        elif name.startswith("*"):
            found.append(Argument(name, False, "position"))
            after_star = True
        else:
            found.append(Argument(name, bool(default), "name" if after_star else "either"))
    return found


def _listed() -> Iterator[tuple[str, str, str]]:
    """Yield `(owner, name, signature)` for each overload of each name."""
    owner = signature = ""
    for line in (Path(__file__).parent / "signatures.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            owner = line.strip("[]")
        else:
            signature, names = line.rsplit(": ", 1) if line.startswith("(") else (signature, line)
            yield from ((owner, name, signature[1:-1]) for name in names.split())


CALLS = list(_listed())


def _bind(function: Callable[..., Any], args: tuple[Any, ...], named: dict[str, Any]) -> None:
    """Raise TypeError if the function's signature does not accept these arguments."""
    parameters = inspect.signature(function).parameters
    for name, parameter in parameters.items():
        if parameter.kind is parameter.VAR_POSITIONAL and name in named:  # factories accept `size=` in place of `*size`
            args = (*args, named.pop(name))
    inspect.signature(function).bind(*args, **named)


@pytest.mark.parametrize("owner", ["torch", "Tensor"])
def test_arguments_by_position_and_by_name(owner: str) -> None:
    holder, first = (torch, ()) if owner == "torch" else (torch.Tensor, (0,))
    wrong = []
    for _, name, signature in (call for call in CALLS if call[0] == owner):
        given = _arguments(signature)
        needed = [parameter for parameter in given if not parameter.optional]
        for chosen in (given, needed):
            for by_name in (False, True):
                args = [0 for parameter in chosen if parameter.kind == "position" or (parameter.kind == "either" and not by_name)]
                named = {
                    parameter.name: 0
                    for parameter in chosen
                    if parameter.kind == "name" or (parameter.kind == "either" and by_name)
                }
                try:
                    _bind(getattr(holder, name), (*first, *args), named)
                except TypeError as error:
                    wrong.append(f"{name}({signature}), {len(args)} by position, {list(named)} by name: {error}")
    assert not wrong, "\n".join(wrong)


# These accept any keyword: some for PyTorch's parameters `from` and `async`, which are reserved words; others always raise.
ANY_NAME = {f"Tensor.{name}" for name in ("cuda", "new", "random_", "type", "uniform_", "eig", "lstsq", "solve")} | {"torch.load"}


def test_unknown_names_are_refused() -> None:
    lenient = set()
    for owner, name, _ in CALLS:
        function = getattr(torch if owner == "torch" else torch.Tensor, name)
        if any(p.kind is p.VAR_KEYWORD for p in inspect.signature(function).parameters.values()):
            lenient.add(f"{owner}.{name}")
    assert lenient <= ANY_NAME
    for method in ("uniform_", "random_", "type"):
        with pytest.raises(TypeError, match="got an unexpected keyword argument 'up'"):
            getattr(torch.ones(2), method)(up=1)


# --- calls that no signature can show -----------------------------------------------------------------------------

X = torch.arange(6.0).reshape(2, 3)


@pytest.mark.parametrize("call", [
    lambda **axis: X.sum(**axis), lambda **axis: torch.sum(X, **axis), lambda **axis: X.mean(**axis), lambda **axis: X.amax(**axis),
    lambda **axis: X.all(**axis), lambda **axis: torch.any(X, **axis), lambda **axis: X.argmax(**axis),
    lambda **axis: X.max(**axis).values, lambda **axis: X.std(**axis), lambda **axis: torch.linalg.vector_norm(X, **axis),
])  # fmt: skip
def test_axis_and_keepdims_are_dim_and_keepdim(call: Callable[..., torch.Tensor]) -> None:
    for dim in (0, 1):
        assert torch.equal(call(axis=dim), call(dim=dim))
        assert torch.equal(call(axis=dim, keepdims=True), call(dim=dim, keepdim=True))


@pytest.mark.parametrize("call", [
    lambda **axis: X.cumsum(**axis), lambda **axis: X.softmax(**axis), lambda **axis: torch.cat([X, X], **axis),
    lambda **axis: torch.stack([X, X], **axis), lambda **axis: X.unsqueeze(**axis), lambda **axis: torch.squeeze(X, **axis),
    lambda **axis: X.argsort(**axis), lambda **axis: X.gather(index=torch.zeros(1, 1, dtype=torch.int64), **axis),
    lambda **axis: torch.fft.fft(X, **axis), lambda **axis: X.clone().cumsum_(**axis),
])  # fmt: skip
def test_axis_is_dim(call: Callable[..., torch.Tensor]) -> None:
    for dim in (0, 1):
        assert torch.equal(call(axis=dim), call(dim=dim))


@pytest.mark.parametrize("name", ["cumsum", "softmax", "gather", "unsqueeze"])
def test_dim_is_required_under_either_name(name: str) -> None:
    with pytest.raises(TypeError, match="missing"):
        getattr(X, name)()


def test_linear_algebra_by_name() -> None:
    A = torch.eye(3) * 2
    for name in ("cholesky", "cond", "eigh", "eigvalsh", "matrix_exp", "matrix_norm", "matrix_rank", "norm", "pinv"):
        function = getattr(torch.linalg, name)
        by_name, expected = function(input=A), function(A)
        assert all(map(torch.equal, by_name, expected)) if name == "eigh" else torch.equal(by_name, expected), name
    assert torch.equal(torch.linalg.solve_triangular(input=A, B=A, upper=True), torch.eye(3))
    assert torch.allclose(torch.linalg.lstsq(input=A, b=A).solution, torch.eye(3))
    assert torch.equal(torch.linalg.inv(A=A), A / 4)


def test_sizes_come_one_by_one_in_a_tuple_or_by_name() -> None:
    for method, name, sizes in (
        ("view", "size", (3, 2)),
        ("reshape", "shape", (6, 1)),
        ("expand", "size", (4, 2, 3)),
        ("permute", "dims", (1, 0)),
        ("repeat", "repeats", (2, 1)),
        ("tile", "dims", (1, 2)),
        ("flip", "dims", (0, 1)),
        ("sum_to_size", "size", (1, 3)),
        ("new_zeros", "size", (2, 2)),
    ):
        call = getattr(X, method)
        assert torch.equal(call(*sizes), call(sizes)) and torch.equal(call(sizes), call(**{name: sizes})), method
        with pytest.raises(TypeError):
            call()
    assert X.clone().resize_(size=(1, 2)).shape == (1, 2)
    assert X.view(dtype=torch.int32).dtype is torch.int32


@pytest.mark.parametrize("name", ["zeros", "ones", "empty", "rand", "randn"])
def test_factories_want_a_size(name: str) -> None:
    assert getattr(torch, name)(size=(2, 3)).shape == getattr(torch, name)(2, 3).shape == (2, 3)
    with pytest.raises(TypeError, match="missing 1 required"):
        getattr(torch, name)()


def test_bounds_by_name() -> None:
    assert torch.arange(end=3).tolist() == torch.arange(0, end=3).tolist() == [0, 1, 2]
    assert torch.randint(high=1, size=(3,)).tolist() == [0, 0, 0] and torch.randint_like(X, high=1).sum() == 0
    assert X.clone().random_(to=1).sum() == 0 and X.clone().random_(**{"from": 3, "to": 4}).eq(3).all()
    assert X.clone().uniform_(to=0.0).eq(0).all() and X.clone().uniform_(2.0, to=2.0).eq(2).all()
    with pytest.raises(TypeError, match='missing 1 required positional arguments: "end"'):
        torch.arange()


def test_results_written_to_out_have_a_type_of_their_own() -> None:
    out = torch.empty(0), torch.empty(0, dtype=torch.int64)
    result = torch.max(X, 1, out=out)
    assert type(result).__name__ == "max_out" and result.values is out[0] and result.indices.tolist() == [2, 2]
    assert type(torch.max(X, 1)).__name__ == "max"
    assert torch.argsort(X, descending=True, out=torch.empty(0, dtype=torch.int64)).tolist() == [[2, 1, 0]] * 2
    with pytest.raises(TypeError, match="unexpected keyword argument 'out'"):
        X.clone().add_(X, out=X)


def test_scalar_tensor() -> None:
    result = torch.scalar_tensor(2, dtype=torch.float64, layout=torch.strided, device="cpu", pin_memory=False, requires_grad=True)
    assert result.shape == () and result.dtype is torch.float64 and result.requires_grad
    assert torch.equal(torch.scalar_tensor(torch.tensor(3.0)), torch.tensor(3.0))
    for wrong in (lambda: torch.scalar_tensor(1, out=X), lambda: torch.scalar_tensor([1]), lambda: torch.scalar_tensor(X)):
        with pytest.raises(TypeError):
            wrong()
    with pytest.raises(RuntimeError, match="Only Tensors of floating point and complex dtype can require gradients"):
        torch.scalar_tensor(2, dtype=torch.int32, requires_grad=True)


def test_cross_and_meshgrid_warn_once_of_what_is_not_said() -> None:
    a, b = torch.rand(2, 3, 4, 3).unbind()
    torch.set_warn_always(True)
    try:
        with pytest.warns(UserWarning, match="without specifying the dim arg is deprecated") as caught:
            result = torch.cross(a, b)
        assert caught[0].filename == __file__
        with pytest.warns(UserWarning, match="required to pass the indexing argument"):
            torch.meshgrid(a[0, 0], b[0, 0])
    finally:
        torch.set_warn_always(False)
    assert torch.equal(result, torch.linalg.cross(a, b, dim=0))  # the legacy default is the first dimension of size 3
    with pytest.raises(RuntimeError, match="inputs dimension 0 must have length 3. Got 3 and 1"):
        torch.cross(a, b[:1])
    with pytest.raises(RuntimeError, match="no dimension of size 3 in input"):
        torch.cross(torch.ones(2), torch.ones(2))


@pytest.mark.parametrize("name", ["addmm", "addmv", "addr", "baddbmm", "addbmm"])
def test_scales_by_position_as_of_old(name: str) -> None:
    shapes = {
        "addmm": ((2, 2),) * 3,
        "addmv": ((2,), (2, 2), (2,)),
        "addr": ((2, 2), (2,), (2,)),
        "baddbmm": ((2, 2, 2),) * 3,
        "addbmm": ((2, 2), (3, 2, 2), (3, 2, 2)),
    }
    function, (m, a, b) = getattr(torch, name), (torch.rand(shape) for shape in shapes[name])
    assert torch.equal(function(0.5, m, 2, a, b), function(m, a, b, beta=0.5, alpha=2))
    assert torch.equal(function(0.5, m, a, b), function(m, a, b, beta=0.5))
    for method in (getattr(torch.Tensor, name), getattr(torch.Tensor, name + "_")):
        assert torch.equal(method(m.clone(), 0.5, 2, a, b), function(m, a, b, beta=0.5, alpha=2))
        assert torch.equal(method(m.clone(), 0.5, a, b), function(m, a, b, beta=0.5))
    with pytest.raises(TypeError):
        function(1, m, 1, a, b, b)


@pytest.mark.parametrize("name", ["addmm", "addmv", "addr", "addbmm"])
def test_a_product_is_not_expanded_to_what_is_added(name: str) -> None:
    one, other = {"addmm": ((1, 2), (2, 1)), "addmv": ((1, 2), (2,)), "addr": ((1,), (1,)), "addbmm": ((3, 1, 2), (3, 2, 1))}[
        name
    ]
    with pytest.raises(RuntimeError, match="must match the existing size"):
        getattr(torch, name)(torch.ones(3, 3), torch.ones(one), torch.ones(other))


def test_addbmm_in_place_grows_to_its_result() -> None:
    x = torch.ones(3)
    assert x.addbmm_(torch.ones(4, 2, 1), torch.ones(4, 1, 3)) is x and torch.equal(x, torch.full((2, 3), 5.0))


def test_right_shift_is_no_reflected_operator() -> None:
    x = torch.tensor([-5, 4, 1])
    assert (x >> 1).tolist() == [-3, 2, 0] and (8 >> torch.tensor([1, 2])).tolist() == [4, 2]


@pytest.mark.parametrize("name", ["empty", "ones", "rand", "randn", "zeros"])
def test_names_of_dimensions_are_refused(name: str) -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'names'"):
        getattr(torch, name)(2, names=("row",))

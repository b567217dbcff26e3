"""`Interceptor`: it sees kernel calls while installed, and has no effect after removal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import flambeau as torch
from flambeau.backend import Backend, find
from flambeau.engine.devices.devices import DispatchKey, dispatch_key
from flambeau.engine.devices.interceptor import Interceptor, intercepts, read_number, real_backend, wrapped_kernel

NUMPY = find("numpy")


class StandIn:
    """A proxy that forwards to a backend, but is a different object."""

    def __init__(self, real: Backend) -> None:
        self.real = real

    def __getattr__(self, name: str) -> Any:
        return getattr(self.real, name)


class Counting(Interceptor):
    """An interceptor that records the names of the operations whose kernels run."""

    def __init__(self) -> None:
        super().__init__([NUMPY])
        self.names: list[str] = []

    def stand_in(self, backend: Backend) -> StandIn:
        return StandIn(backend)

    def wrap_kernel(self, name: str, kernel: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *args, **kwargs: self.names.append(name) or kernel(*args, **kwargs)

    def read_number(self, backend: Any, array: Any) -> Any:
        self.names.append("number")
        return super().read_number(backend, array)


def state_of(key: DispatchKey) -> tuple[Any, ...]:
    return key.backend, key.array_type, key.constants, key.scalars, key.constant_types, key.F, key.table, DispatchKey.resolve


def test_forwards_and_derivatives_go_through_it() -> None:
    x = torch.ones(2, requires_grad=True)
    with Counting() as counting:
        assert x._key.backend is not NUMPY and real_backend(x._key.backend) is NUMPY
        (x.exp() * x.sin()).sum().backward()
    assert {"exp", "sin", "mul", "sum", "cos"} <= set(counting.names)
    assert x.grad.tolist() == pytest.approx([torch.exp(x)[0].item() * (torch.sin(x)[0].item() + torch.cos(x)[0].item())] * 2)


def test_all_is_as_before_at_the_end_and_after_an_error() -> None:
    keys = [dispatch_key(dtype) for dtype in (torch.float32, torch.int64, torch.bool)]
    before = [state_of(key) for key in keys]
    with Counting() as counting:
        torch.ones(2).exp()
    seen = len(counting.names)
    torch.ones(2).exp()
    assert len(counting.names) == seen and Interceptor.active is None
    with pytest.raises(ZeroDivisionError), Counting():
        torch.ones(2).tanh()
        raise ZeroDivisionError
    for key, state in zip(keys, before, strict=True):
        assert all(now is then for now, then in zip(state_of(key), state, strict=True))
    assert Interceptor.active is None


def test_a_failing_subclass_leaves_all_as_before() -> None:
    class Failing(Counting):
        def set_up(self, key: DispatchKey) -> None:
            raise NotImplementedError

    key = dispatch_key(torch.float32)
    before = state_of(key)
    with pytest.raises(NotImplementedError):
        Failing().__enter__()
    assert Interceptor.active is None and all(now is then for now, then in zip(state_of(key), before, strict=True))


def test_only_one_is_installed_at_a_time() -> None:
    with Counting() as counting:
        with pytest.raises(RuntimeError, match="another interceptor is installed"):
            Counting().__enter__()
        torch.ones(2).exp()
        assert Interceptor.active is counting
    assert "exp" in counting.names


def test_kernels_that_were_resolved_meanwhile_are_kept_unwrapped() -> None:
    key = dispatch_key(torch.float64)
    key.pop("log1p", None), key.table.pop("log1p", None)
    with Counting() as counting:
        torch.ones(2, dtype=torch.float64).log1p()
    names = len(counting.names)
    assert "log1p" in key and torch.ones(1, dtype=torch.float64).log1p().item() == pytest.approx(0.6931471805599453)
    assert len(counting.names) == names


def test_kernels_in_no_table_and_numbers() -> None:
    array = torch.tensor(3.0)._array
    assert wrapped_kernel("step", abs, NUMPY) is abs and not intercepts(NUMPY) and real_backend(NUMPY) is NUMPY
    with Counting() as counting:
        stand_in = dispatch_key(torch.float32).backend
        assert wrapped_kernel("step", abs, stand_in)(-1) == 1
        assert intercepts(stand_in) and read_number(stand_in, array) == 3
        assert wrapped_kernel("step", abs, NUMPY) is abs and not intercepts(NUMPY)
    assert counting.names == ["step", "number"]

"""Fused loops for chains of elementwise operations in recorded programs: results match separate operations bit for bit."""

import os
import random
import subprocess
import sys

import pytest

import flambeau as torch
from flambeau.nn import functional as F

UNARY = [torch.relu, torch.tanh, torch.sigmoid, torch.exp, torch.neg, torch.abs, torch.square, F.silu, F.gelu]
BINARY = [torch.add, torch.sub, torch.mul, torch.div]


def program(seed):
    """Return a function of random elementwise operations on a matrix, a row, a column and a number."""
    choose = random.Random(seed)
    steps = [(choose.choice([1, 2, 2, 3]), choose.randrange(100), choose.randrange(100)) for _ in range(9)]

    def run(x, row, column, number):
        values = [x * number, x + row, x * column]
        for count, first, second in steps:
            value, other = values[first % len(values)], values[second % len(values)]
            if count == 1:
                values.append(UNARY[first % len(UNARY)](value.clamp(-4, 4)))
            elif count == 2:
                values.append(BINARY[second % len(BINARY)](value, other + 1))
            else:
                values.append(torch.where(value > other, value * 0.5, other))
        return sum(values)

    return run


def loops_of(compiled):
    """Return the names of the fused loops in the programs of a compiled function."""
    return [name for one in compiled.compiled.programs for _, name, _ in one.table() if name.startswith("fused_")]


@pytest.mark.parametrize("seed", range(2))
def test_the_bits_are_those_of_the_operations(seed):
    function = program(seed)
    compiled = torch.compile(function, fullgraph=True)
    for call in range(3):
        torch.manual_seed(call)
        shapes = [(150, 200), (200,), (150, 1), ()]
        given = [torch.randn(shape).requires_grad_() for shape in shapes]
        results = []
        for version in (function, compiled):
            result = version(*given)
            results.append((result, *torch.autograd.grad(result, given, torch.ones_like(result))))
        for ours, plain in zip(*reversed(results), strict=True):
            assert torch.equal(torch.nan_to_num(ours), torch.nan_to_num(plain))
    assert loops_of(compiled) and all(entry.verified for entries in compiled.compiled.entries.values() for entry in entries)


@torch.no_grad()
def test_a_chain_is_one_call():
    compiled = torch.compile(lambda x: 0.5 * x * (1 + torch.tanh(0.8 * (x + 0.04 * x * x * x))), fullgraph=True)
    x = torch.randn(300, 100)
    for _ in range(3):
        y = compiled(x)
    (program,) = compiled.compiled.programs
    assert [name for _, name, _ in program.table()] == loops_of(compiled) and len(program.calls) == 1
    assert "tanh(x" in program.calls[0].function.source
    assert torch.allclose(y, F.gelu(x, approximate="tanh"), atol=1e-2)


@torch.no_grad()
def test_arrays_that_a_loop_does_not_take():
    """Fused loops only read C-contiguous arrays, but compiled functions accept other arrays, such as a column-major one."""
    compiled = torch.compile(lambda x, y: (x * y + 1).relu() - y, fullgraph=True)
    x, y = torch.randn(200, 150).t(), torch.randn(150, 200)
    for _ in range(3):
        assert torch.equal(compiled(x, y), (x * y + 1).relu() - y)
    assert loops_of(compiled)


@torch.no_grad()
def test_memory_that_is_written_to_between_two_steps():
    def function(x, total):
        first = x * 2
        total += 1
        second = first + total
        total *= 2
        return second * first + total

    compiled = torch.compile(function, fullgraph=True)
    x, totals = torch.randn(200, 100), [torch.zeros(200, 100), torch.zeros(200, 100)]
    for _ in range(4):
        assert torch.equal(compiled(x, totals[0]), function(x, totals[1])) and torch.equal(*totals)


@torch.no_grad()
def test_small_arrays_keep_their_operations():
    compiled = torch.compile(lambda x: (x + 1).relu() * 2, fullgraph=True)
    for _ in range(3):
        compiled(torch.randn(10))
    assert not loops_of(compiled) and len(compiled.compiled.programs[0].calls) == 3


def test_loops_use_as_many_threads_as_kernels():
    code = """
import flambeau as torch
triple = torch.compile(lambda x: x + x * 2)
for _ in range(3):
    triple(torch.ones(200, 200))
import numba
print(numba.get_num_threads())
"""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "2"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert done.stdout == "1\n"

"""Multithreading in the NumPy backend: results, concurrent calls, errors and forks."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import weakref

import numpy as np
import pytest

import flambeau as torch
import flambeau.nn.functional as F
from flambeau.engine.calls.op import OPS
from flambeau_backends.numpy import kernels, threads
from flambeau_backends.numpy.chunks import map_chunks

pytestmark = pytest.mark.skipif(
    threads._openblas_functions() is None, reason="NumPy's matrix products have no switch for their threads"
)


@pytest.fixture(params=[2, 3])
def count(request):
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield request.param
    torch.set_num_threads(before)


@pytest.mark.parametrize("length", [0, 1, 2, 50])
def test_results_come_in_order(count, length):
    assert threads.share(lambda part: part * part, range(length)) == [i * i for i in range(length)]


@pytest.mark.parametrize("length", [0, 1, 2, 7, 64])
@pytest.mark.parametrize("most", [0, 1, 3, 100])
def test_parts_cover_all(count, length, most):
    parts = threads.parts(length, most, True)
    assert [i for part in parts for i in range(length)[part]] == list(range(length))
    assert all(len(range(length)[part]) <= max(most, 1) for part in parts)
    assert len(parts) >= min(length, count) - 1  # the length of parts is rounded up, so that there may be one part less
    assert len(threads.parts(length, 100, False)) == min(length, 1)


def test_threads_work_at_the_same_time(count):
    together = threading.Barrier(count)
    found = threads.share(lambda part: (together.wait(60), threading.get_ident())[1], range(count))
    assert len(set(found)) == count


def test_products_use_one_thread_meanwhile(count):
    get = threads._openblas_functions()[0]
    found = threads.share(lambda part: (get(), torch.get_num_threads()), range(count))
    assert found == [(1, count)] * count
    assert get() == torch.get_num_threads() == count


def test_serial_work_uses_one_thread_for_products(count):
    get = threads._openblas_functions()[0]
    assert threads.serially(lambda *given: (get(), torch.get_num_threads(), given), 3, 4) == (1, count, (3, 4))
    assert threads.serially(threads.serially, get) == 1
    assert threads.share(lambda part: threads.serially(get), range(count)) == [1] * count
    with pytest.raises(ZeroDivisionError):
        threads.serially(lambda: 1 / 0)
    assert get() == torch.get_num_threads() == count


def test_products_can_be_kept_to_one_thread(count):
    """Runs in a subprocess, because `keep_products_serial` cannot be undone."""
    program = f"""if True:
        import numpy as np, flambeau as torch
        from flambeau_backends.numpy import threads
        torch.set_num_threads({count})
        threads.keep_products_serial()
        get = threads._openblas_functions()[0]
        assert (get(), torch.get_num_threads()) == (1, {count})
        left, right = np.random.rand(301, 300), np.random.rand(300, 150)
        np.testing.assert_allclose(threads.product(left, right), sum(np.outer(a, b) for a, b in zip(left.T, right)))
        torch.set_num_threads(4)
        assert (get(), torch.get_num_threads()) == (1, 4)
    """
    subprocess.run([sys.executable, "-c", program], check=True, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})


@pytest.mark.parametrize(
    "shape", [(3, 4, 5), (64, 320, 50), (257, 300, 311), (101, 300, 900), (900, 301, 101), (0, 3, 4), (3, 0, 4)]
)
def test_products_of_any_size(count, shape):
    rng = np.random.default_rng(0)
    left, right = rng.standard_normal(shape[:2]), rng.standard_normal(shape[1:])
    np.testing.assert_allclose(threads.product(left, right), np.einsum("ij,jk->ik", left, right), atol=1e-10)
    assert threads._openblas_functions()[0]() == count


def test_products_of_middle_size_use_several_threads_while_no_other_work_is_shared(count, monkeypatch):
    numbers = []
    monkeypatch.setattr(threads, "serially", lambda compute, *args: (numbers.append(1), compute(*args))[1])
    left, right = np.ones((64, 256)), np.ones((256, 128))
    threads.share(str, range(2))
    threads.product(left, right)
    assert numbers == [1]
    for _ in range(threads._RECENT_PRODUCTS):
        threads.product(left, right)
    assert numbers == [1] * threads._RECENT_PRODUCTS
    threads.share(str, range(2))
    np.testing.assert_array_equal(threads.product(left, right), np.full((64, 128), 256.0))
    assert numbers == [1] * (threads._RECENT_PRODUCTS + 1)


def test_shared_work_within_shared_work(count):
    found = threads.share(lambda part: threads.share(lambda i: (part, i), range(3)), range(4))
    assert found == [[(part, i) for i in range(3)] for part in range(4)]


def test_several_threads_have_work_to_share(count):
    found = [None] * 4

    def work(number):
        found[number] = [threads.share(lambda part: part + number, range(9)) for _ in range(50)]

    workers = [threading.Thread(target=work, args=[number]) for number in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert found == [[[part + number for part in range(9)]] * 50 for number in range(4)]
    assert torch.get_num_threads() == count


def test_an_error_is_raised_when_all_is_done(count):
    done = []

    def compute(part):
        if part == 1:
            raise ValueError("error in part 1")
        done.append(part)

    with pytest.raises(ValueError, match="error in part 1"):
        threads.share(compute, range(8))
    assert sorted(done) == [0, 2, 3, 4, 5, 6, 7]
    assert threads.share(str, range(2)) == ["0", "1"]
    assert torch.get_num_threads() == count


def test_errstate_holds_in_all_threads(count):
    together = threading.Barrier(count)

    def compute(part):
        together.wait(60)
        try:
            np.ones(3) / np.zeros(3)
        except FloatingPointError:
            return "raised"

    with np.errstate(divide="raise"):
        assert threads.share(compute, range(count)) == ["raised"] * count


def test_arrays_are_not_held(count):
    for _ in range(50):
        array = np.ones(1000)
        gone = weakref.ref(array)
        threads.share(lambda part, array=array: array[part].sum(), threads.parts(1000, 100, True))
        del array
        assert gone() is None


FORK = """
import os, sys
import flambeau as torch

torch.set_num_threads(2)
x, w = torch.ones(8, 16, 32, 32), torch.ones(16, 16, 3, 3)
before = torch.nn.functional.conv2d(x, w)
child = os.fork()
after = torch.nn.functional.conv2d(x, w)
right = torch.equal(before, after) and torch.get_num_threads() == 2
if not child:
    os._exit(0 if right else 1)
sys.exit(os.waitpid(child, 0)[1] or not right)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="only where there are forks")
def test_after_a_fork():
    subprocess.run([sys.executable, "-c", FORK], check=True, timeout=600)


# --- kernels ------------------------------------------------------------------------------------------------------


def normal(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize(("shape", "weight", "stride", "groups"), [
    ((7, 16, 20, 18), (24, 16, 3, 3), 1, 1),  # Winograd
    ((3, 16, 16, 16), (64, 16, 3, 3), 1, 1),  # Winograd with more weights than tiles
    ((1, 16, 70, 45), (16, 16, 3, 3), 1, 1),  # Winograd on a large image, split by rows
    ((7, 12, 15, 13), (10, 12, 3, 3), 2, 1),  # im2col with windows as rows
    ((1, 32, 4, 4), (64, 32, 3, 3), 1, 1),  # im2col with windows as rows, more weights than windows
    ((5, 32, 5, 5), (64, 32, 3, 3), 2, 1),
    ((7, 3, 15, 13), (10, 3, 5, 5), 1, 1),  # im2col with windows as columns
    ((7, 12, 9, 9), (10, 12, 1, 1), 1, 1),
    ((7, 12, 9, 9), (10, 6, 3, 3), 2, 2),
    ((7, 12, 15, 13), (12, 1, 3, 3), 1, 12),  # depthwise convolution
    ((7, 12, 15, 13), (24, 1, 3, 3), 2, 12),
])  # fmt: skip
def test_convolution(count, shape, weight, stride, groups):
    geometry = (stride, stride), (weight[-1] // 2,) * 2, (1, 1), groups
    x, w, b = normal(*shape), normal(*weight, seed=1), normal(weight[0], seed=2)
    output = kernels.KERNELS["convolution"](x, w, b, *geometry)
    slopes = normal(*output.shape, seed=3)
    for name, arrays, params in [
        ("convolution", [x, w, b], geometry),
        ("convolution_transposed", [slopes, w, None], (shape[2:], *geometry)),
        ("convolution_transposed", [slopes, w, normal(shape[1], seed=4)], (shape[2:], *geometry)),
        ("convolution_weight", [slopes, x], (weight, *geometry)),
    ]:
        wanted = OPS[name].forward(np, *arrays, *params)
        np.testing.assert_allclose(kernels.KERNELS[name](*arrays, *params), wanted, 0, 1e-4 * abs(wanted).max(), err_msg=name)


@pytest.mark.parametrize("function", [
    F.relu, F.gelu, lambda x: F.batch_norm(x, None, None, training=True), lambda x: F.max_pool2d(x, 3, 2, 1), lambda x: F.avg_pool2d(x, 2),
    lambda x: F.layer_norm(x, (33,)), lambda x: F.softmax(x, -1), lambda x: F.log_softmax(x, 1),
    lambda x: F.cross_entropy(x.reshape(-1, 31), torch.arange(x.numel() // 31) % 31),
])  # fmt: skip
def test_large_arrays(count, function):
    x = torch.from_numpy(normal(19, 40, 31, 33)).requires_grad_()
    slopes = torch.from_numpy(normal(*function(x).shape, seed=1))

    def results():
        output = function(x)
        return output.detach().numpy(), torch.autograd.grad(output, x, slopes)[0].numpy()

    shared = results()
    torch.set_num_threads(1)
    for got, wanted in zip(shared, results(), strict=True):
        np.testing.assert_allclose(got, wanted, 1e-5, 1e-5)


def test_moments_of_samples_that_differ_by_far(count):
    x = normal(64, 3, 50, 50)
    x[::7] += 1000
    mean, variance = kernels.KERNELS["moments"](x, (0, 2, 3))
    np.testing.assert_allclose(mean.ravel(), x.astype(float).mean((0, 2, 3)), 1e-6)
    np.testing.assert_allclose(variance.ravel(), x.astype(float).var((0, 2, 3)), 1e-6)


def test_pieces_come_in_order(count):
    found = map_chunks(lambda piece: piece.start, 1 << 22)
    assert found == sorted(found) and len(found) > count

"""DataLoader compared with PyTorch's: same order, random numbers and messages."""

from __future__ import annotations

import collections
import random

import numpy as np
import pytest

import flambeau
import flambeau.utils.data as ours

torch = pytest.importorskip("torch")
theirs = torch.utils.data

LIBRARIES = [(flambeau, ours), (torch, theirs)]


def plain(value):
    """Convert a value to types that both libraries share."""
    if isinstance(value, flambeau.Tensor | torch.Tensor):
        return "tensor", str(value.dtype).removeprefix("torch."), value.tolist()
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | collections.deque):
        return type(value).__name__, [plain(item) for item in value]
    return value


def outcome(function, *args, **kwargs):
    try:
        return plain(function(*args, **kwargs))
    except Exception as error:
        return type(error).__name__, str(error)


def assert_same(function):
    """Assert that `function(library, data)` returns the same and leaves the same generator state in both libraries."""
    results = []
    for library, data in LIBRARIES:
        library.manual_seed(12)
        random.seed(1)
        np.random.seed(2)
        results.append((outcome(function, library, data), library.rand(3).tolist()))
    assert results[0] == results[1]


class Random:
    """A dataset of random numbers from every generator that a worker seeds."""

    def __init__(self, library):
        self.library = library

    def __getitem__(self, index):
        return index, random.random(), np.random.rand(2), self.library.randn(2), self.library.initial_seed()

    def __len__(self):
        return 11


def count(library, data, end):
    class Count(data.IterableDataset):
        def __iter__(self):
            info = data.get_worker_info()
            first, step = (info.id, info.num_workers) if info else (0, 1)
            return iter(range(first * 3, end + first, step))

    return Count()


OPTIONS = [
    {"batch_size": 4},
    {"batch_size": 4, "shuffle": True},
    {"batch_size": 4, "shuffle": True, "drop_last": True},
    {"batch_size": None},
    {"batch_size": None, "shuffle": True},
]


@pytest.mark.parametrize(("workers", "persistent"), [(0, False), (1, False), (2, False), (1, True), (2, True)])
@pytest.mark.parametrize("options", OPTIONS)
def test_epochs(workers, persistent, options):
    def epochs(library, data):
        loader = data.DataLoader(Random(library), num_workers=workers, persistent_workers=persistent, **options)
        return [[plain(batch) for batch in loader] for _ in range(2)]

    assert_same(epochs)


@pytest.mark.parametrize("workers", [0, 1, 2])
@pytest.mark.parametrize("options", [{}, {"batch_size": 3}, {"batch_size": 3, "drop_last": True}, {"batch_size": None}])
@pytest.mark.parametrize("end", [0, 1, 20])
def test_iterable_epochs(workers, options, end):
    def epochs(library, data):
        loader = data.DataLoader(count(library, data, end), num_workers=workers, **options)
        return [plain(batch) for batch in loader]

    assert_same(epochs)


def test_a_sampler_that_draws_when_it_is_iterated():
    class Eager:
        def __init__(self, library):
            self.library = library

        def __iter__(self):
            return iter(self.library.randperm(5).tolist())

        def __len__(self):
            return 5

    for workers in (0, 2):
        for batch_size in (None, 2):
            assert_same(
                lambda library, data, workers=workers, batch_size=batch_size: [
                    plain(batch)
                    for batch in data.DataLoader(range(5), batch_size=batch_size, sampler=Eager(library), num_workers=workers)
                ]
            )


def test_own_generators():
    def epochs(library, data):
        loader = data.DataLoader(range(9), 2, shuffle=True, generator=library.Generator().manual_seed(3))
        return [plain(batch) for batch in loader] + [plain(batch) for batch in loader]

    assert_same(epochs)


@pytest.mark.parametrize("seeded", [False, True])
@pytest.mark.parametrize(
    "sample",
    [
        lambda data, generator: data.RandomSampler(range(13), generator=generator),
        lambda data, generator: data.RandomSampler(range(13), num_samples=30, generator=generator),
        lambda data, generator: data.RandomSampler(range(13), True, 70, generator),
        lambda data, generator: data.RandomSampler(range(13), True, generator=generator),
        lambda data, generator: data.SubsetRandomSampler([5, 1, 8, 3], generator),
        lambda data, generator: data.WeightedRandomSampler([0.1, 3, 0, 1.5], 9, generator=generator),
        lambda data, generator: data.WeightedRandomSampler([0.1, 3, 0, 1.5], 3, False, generator),
        lambda data, generator: data.BatchSampler(data.RandomSampler(range(13)), 4, True),
        lambda data, generator: data.DistributedSampler(range(13), 3, 1, seed=5),
        lambda data, generator: data.DistributedSampler(range(13), 3, 2, drop_last=True),
        lambda data, generator: data.DistributedSampler(range(2), 5, 4),
    ],
)
def test_samplers(sample, seeded):
    def twice(library, data):
        sampler = sample(data, library.Generator().manual_seed(4) if seeded else None)
        return [len(sampler), *sampler, *sampler]

    assert_same(twice)


@pytest.mark.parametrize("lengths", [[3, 7], [0.3, 0.7], [0.25] * 4, [0.5, 0.2], [11], [1.5, -0.5], [0.1, 0.9]])
@pytest.mark.filterwarnings("ignore:Length of split")
def test_random_split(lengths):
    assert_same(lambda library, data: [part.indices for part in data.random_split(range(10), lengths)])


Point = collections.namedtuple("Point", ["x", "y"])

SAMPLES = {
    "numbers": [1, 2],
    "bools": [True, False],
    "mixed": [1, 2.5],
    "floats": [1.5, 2.5],
    "complex": [1j, 2j],
    "text": ["a", "b"],
    "tuple of text": ("a", "b"),
    "none": [None, None],
    "tuples": [(1, "a"), (2, "b")],
    "lists": [[1, 2.0], [3, 4.0]],
    "uneven": [(1, 2), (1,)],
    "nested": [{"a": [1, {"b": 2.0}]}, {"a": [3, {"b": 4.0}]}],
    "named": [Point(1, 2.0), Point(3, 4.0)],
    "empty lists": [[], []],
    "nothing": [],
    "sets": [{1}, {2}],
    "ranges": [range(2), range(2)],
    "deques": [collections.deque([1]), collections.deque([2])],
    "missing key": [{"a": 1, "b": 2}, {"a": 1}],
    "arrays": [np.ones((2, 1)), np.zeros((2, 1))],
    "0-d arrays": [np.array(1), np.array(2)],
    "float16 arrays": [np.ones(2, np.float16)] * 2,
    "text arrays": [np.array(["a"])] * 2,
    "object arrays": [np.array([None])] * 2,
    "numpy numbers": [np.float64(1.5), np.float64(2)],
    "numpy int8": [np.int8(1), np.int8(2)],
    "numpy bools": [np.bool_(True), np.bool_(False)],
    "numpy text": [np.str_("a"), np.str_("b")],
    "bytes": [b"a", b"b"],
    "bytearrays": [bytearray(b"ab"), bytearray(b"cd")],
}


@pytest.mark.parametrize("name", SAMPLES)
def test_collate_and_convert(name):
    assert_same(lambda library, data: data.default_collate(SAMPLES[name]))
    assert_same(lambda library, data: data.default_convert(SAMPLES[name]))


def failing(error):
    class Failing:
        def __getitem__(self, index):
            raise error

        def __len__(self):
            return 4

    return Failing()


WRONG = {
    "workers": {"num_workers": -1},
    "timeout": {"timeout": -1},
    "prefetch": {"prefetch_factor": 2},
    "negative prefetch": {"prefetch_factor": -1, "num_workers": 1},
    "persistent": {"persistent_workers": True},
    "sampler and shuffle": {"sampler": [0], "shuffle": True},
    "two samplers": {"sampler": [0], "batch_sampler": [[0]]},
    "drop_last": {"batch_size": None, "drop_last": True},
    "batch_size": {"batch_size": 0},
    "context": {"multiprocessing_context": "fork"},
    "unknown context": {"multiprocessing_context": "x", "num_workers": 1},
    "wrong context": {"multiprocessing_context": 3, "num_workers": 1},
}


@pytest.mark.parametrize("name", WRONG)
def test_messages_for_wrong_options(name):
    assert_same(lambda library, data: data.DataLoader(range(4), **WRONG[name]) and None)


@pytest.mark.parametrize("error", [KeyError("a"), ValueError("b"), UnicodeDecodeError("c", b"", 0, 1, "d")])
def test_worker_errors(error):
    """Error messages agree except for the stack frames."""
    first_lines = []
    for _, data in LIBRARIES:
        name, message = outcome(lambda data=data: list(data.DataLoader(failing(error), num_workers=1)))
        first_lines.append((name, message.splitlines()[:2], message.splitlines()[-1:]))
    assert first_lines[0] == first_lines[1]

"""Datasets, samplers, collation and the DataLoader without workers. Tests of workers are in test_data_workers.py."""

from __future__ import annotations

import collections
import itertools
import math
import pickle
import types

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_datasets import FORK, Count, SizedCount, Squares, drawn_seed, numbers

import flambeau as torch
from flambeau.utils.data import (
    BatchSampler,
    ChainDataset,
    ConcatDataset,
    DataLoader,
    Dataset,
    DistributedSampler,
    IterableDataset,
    RandomSampler,
    Sampler,
    SequentialSampler,
    StackDataset,
    Subset,
    SubsetRandomSampler,
    TensorDataset,
    WeightedRandomSampler,
    default_collate,
    default_convert,
    random_split,
)

pytestmark = pytest.mark.slow


# --- Datasets ---


def test_tensor_dataset_slices_the_first_dimension():
    x, y = torch.arange(12).reshape(4, 3), torch.arange(4)
    dataset = TensorDataset(x, y)
    assert len(dataset) == 4
    assert [part.tolist() for part in dataset[2]] == [[6, 7, 8], 2]
    with pytest.raises(AssertionError, match="Size mismatch between tensors"):
        TensorDataset(x, y[:3])


def test_concat_dataset_indexes_from_both_ends():
    dataset = Squares(3) + Squares(2) + Squares(1)
    assert isinstance(dataset, ConcatDataset)
    assert [int(dataset[i]) for i in range(6)] == [0, 1, 4, 0, 1, 0]
    assert [int(dataset[i]) for i in range(-6, 0)] == [0, 1, 4, 0, 1, 0]
    assert ConcatDataset([[1], [2, 3]]).cumulative_sizes == [1, 3]
    with pytest.raises(ValueError, match="absolute value of index should not exceed dataset length"):
        dataset[-7]
    with pytest.raises(AssertionError, match="should not be an empty iterable"):
        ConcatDataset([])
    with pytest.raises(AssertionError, match="does not support IterableDataset"):
        ConcatDataset([Count(1)])
    with pytest.warns(FutureWarning, match="renamed"):
        assert ConcatDataset([[1], [2, 3]]).cummulative_sizes == [1, 3]


def test_chain_dataset():
    chain = SizedCount(2) + SizedCount(3)
    assert isinstance(chain, ChainDataset)
    assert list(chain) == [0, 1, 0, 1, 2]
    assert len(chain) == 5
    with pytest.raises(AssertionError, match="only supports IterableDataset"):
        list(ChainDataset([Squares()]))


def test_stack_dataset_of_tuples_and_of_dicts():
    assert StackDataset([1, 2], "ab")[1] == (2, "b")
    assert StackDataset(x=[1, 2], y="ab")[0] == {"x": 1, "y": "a"}
    assert StackDataset(x=[1, 2], y="ab").__getitems__([1, 0]) == [{"x": 2, "y": "b"}, {"x": 1, "y": "a"}]
    assert StackDataset(Subset("abc", [2, 1]), [7, 8]).__getitems__([0, 1]) == [("c", 7), ("b", 8)]
    with pytest.raises(ValueError, match="Size mismatch between datasets"):
        StackDataset([1], "ab")
    with pytest.raises(ValueError, match="At least one dataset should be passed"):
        StackDataset()
    with pytest.raises(ValueError, match="both types are given"):
        StackDataset([1], x=[1])

    class Broken(list):
        def __getitems__(self, indices):
            return []

    with pytest.raises(ValueError, match="Expected 2, got 0"):
        StackDataset(Broken([1, 2])).__getitems__([0, 1])


def test_subset():
    subset = Subset(Squares(), [5, 2, 7])
    assert [int(subset[i]) for i in range(len(subset))] == [25, 4, 49]
    assert [int(value) for value in subset.__getitems__([2, 0])] == [49, 25]
    assert Subset(torch.arange(10), [4, 5, 6])[[0, 2]].tolist() == [4, 6]

    class Doubled(Subset):
        def __getitem__(self, index):
            return 2 * super().__getitem__(index)

    with pytest.raises(NotImplementedError, match="Doubled overrides __getitem__ but not __getitems__"):
        Doubled(Squares(), [0])


def test_base_classes_leave_the_rest_to_subclasses():
    with pytest.raises(NotImplementedError, match="should implement __getitem__"):
        Dataset()[0]
    with pytest.raises(TypeError):
        len(Dataset())
    assert Dataset[int] is not None and IterableDataset[int] is not None


@pytest.mark.parametrize(
    ("total", "lengths", "expected"),
    [
        (10, [3, 7], [3, 7]),
        (10, [0.3, 0.7], [3, 7]),
        (10, [1 / 3, 1 / 3, 1 / 3], [4, 3, 3]),
        (107, [0.1] * 9 + [0.1], [11] * 7 + [10] * 3),
        (0, [0], [0]),
    ],
)
def test_random_split_lengths(total, lengths, expected):
    parts = random_split(range(total), lengths)
    assert [len(part) for part in parts] == expected
    assert sorted(i for part in parts for i in part.indices) == list(range(total))


def test_random_split_is_a_permutation_cut_up():
    parts = random_split(range(9), [4, 5], generator=torch.Generator().manual_seed(5))
    order = torch.randperm(9, generator=torch.Generator().manual_seed(5)).tolist()
    assert [parts[0].indices, parts[1].indices] == [order[:4], order[4:]]
    torch.manual_seed(5)
    assert random_split(range(9), [9])[0].indices == order


def test_random_split_rejects_wrong_lengths():
    with pytest.raises(ValueError, match="Sum of input lengths does not equal"):
        random_split(range(10), [1, 2])
    with pytest.raises(ValueError, match="Fraction at index 0 is not between 0 and 1"):
        random_split(range(10), [-0.5, 1.5])
    with pytest.warns(UserWarning, match="Length of split at index 1 is 0"):
        random_split(range(1), [0.5, 0.5])


# --- Samplers ---


@given(n=st.integers(1, 40), num_samples=st.integers(1, 100), seed=st.integers(0, 2**63 - 1))
@settings(max_examples=25, deadline=None)
def test_random_sampler_shuffles_again_and_again(n, num_samples, seed):
    order = list(RandomSampler(range(n), num_samples=num_samples, generator=torch.Generator().manual_seed(seed)))
    generator = torch.Generator().manual_seed(seed)
    shuffles = [torch.randperm(n, generator=generator).tolist() for _ in range(num_samples // n + 1)]
    assert order == list(itertools.chain(*shuffles))[:num_samples]


def test_random_sampler_takes_one_number_from_the_default_generator():
    sampler = RandomSampler(range(50))
    torch.manual_seed(3)
    first, second = list(sampler), list(sampler)
    after = torch.rand(1)
    torch.manual_seed(3)
    expected = [torch.randperm(50, generator=torch.Generator().manual_seed(drawn_seed())).tolist() for _ in range(2)]
    assert [first, second] == expected
    assert torch.equal(torch.rand(1), after)


def test_random_sampler_with_replacement():
    sampler = RandomSampler(range(5), replacement=True, num_samples=70, generator=torch.Generator().manual_seed(1))
    generator = torch.Generator().manual_seed(1)
    expected = [torch.randint(5, (size,), generator=generator).tolist() for size in (32, 32, 6)]
    assert list(sampler) == list(itertools.chain(*expected))
    assert len(sampler) == 70


def test_random_sampler_follows_a_growing_source():
    source = [1]
    sampler = RandomSampler(source)
    source.extend([2, 3])
    assert sorted(sampler) == [0, 1, 2]


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: RandomSampler([1], replacement=1), TypeError, "replacement should be a boolean value"),
        (lambda: RandomSampler([]), ValueError, "num_samples=0"),
        (lambda: RandomSampler([1], num_samples=0.5), ValueError, "num_samples should be a positive integer value"),
        (lambda: WeightedRandomSampler([1.0], True), ValueError, "num_samples=True"),
        (lambda: WeightedRandomSampler([1.0], 1, 1), ValueError, "replacement should be a boolean value"),
        (lambda: WeightedRandomSampler([[1.0]], 1), ValueError, r"weights have shape \(1, 1\)"),
        (lambda: BatchSampler([1], 0, False), ValueError, "batch_size=0"),
        (lambda: BatchSampler([1], 1, 1), ValueError, "drop_last should be a boolean value, but got drop_last=1"),
        (lambda: DistributedSampler([1], 2, 2), ValueError, r"Invalid rank 2, rank should be in the interval \[0, 1\]"),
        (lambda: list(Sampler()), NotImplementedError, None),
    ],
)
def test_samplers_reject_bad_arguments(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_subset_and_weighted_samplers():
    indices = [9, 4, 7]
    sampler = SubsetRandomSampler(indices, generator=torch.Generator().manual_seed(2))
    order = torch.randperm(3, generator=torch.Generator().manual_seed(2)).tolist()
    assert list(sampler) == [indices[i] for i in order]
    assert len(sampler) == 3

    weights = [0.0, 1.0, 2.0, 5.0]
    drawn = list(WeightedRandomSampler(weights, 4000, generator=torch.Generator().manual_seed(0)))
    counts = np.bincount(drawn, minlength=4) / 4000
    assert np.allclose(counts, np.array(weights) / 8, atol=0.04)
    assert sorted(WeightedRandomSampler(weights, 3, replacement=False)) == [1, 2, 3]


@given(n=st.integers(0, 30), batch_size=st.integers(1, 7), drop_last=st.booleans())
@settings(max_examples=30, deadline=None)
def test_batch_sampler_cuts_up_the_sequence(n, batch_size, drop_last):
    sampler = BatchSampler(SequentialSampler(range(n)), batch_size, drop_last)
    expected = [list(range(i, min(i + batch_size, n))) for i in range(0, n, batch_size)]
    if drop_last:
        expected = [batch for batch in expected if len(batch) == batch_size]
    assert list(sampler) == expected
    assert len(sampler) == len(expected)


@given(n=st.integers(1, 25), replicas=st.integers(1, 6), shuffle=st.booleans(), drop_last=st.booleans())
@settings(max_examples=30, deadline=None)
def test_distributed_sampler_shares_out_the_dataset(n, replicas, shuffle, drop_last):
    samplers = [DistributedSampler(range(n), replicas, rank, shuffle, 4, drop_last) for rank in range(replicas)]
    for sampler in samplers:
        sampler.set_epoch(2)
    shares = [list(sampler) for sampler in samplers]
    size = n // replicas if drop_last else math.ceil(n / replicas)
    assert [len(share) for share in shares] == [size] * replicas == [len(sampler) for sampler in samplers]
    order = torch.randperm(n, generator=torch.Generator().manual_seed(6)).tolist() if shuffle else list(range(n))
    dealt = [index for group in zip(*shares, strict=True) for index in group]
    assert dealt == [order[i % n] for i in range(size * replicas)]


# --- Collation ---

Point = collections.namedtuple("Point", ["x", "y"])


@pytest.mark.parametrize(
    ("batch", "expected"),
    [
        ([1, 2], torch.tensor([1, 2])),
        ([True, False], torch.tensor([True, False])),
        ([1.5, 2.5], torch.tensor([1.5, 2.5], dtype=torch.float64)),
        ([np.float32(1), np.float32(2)], torch.tensor([1.0, 2.0])),
        ([np.array([1, 2]), np.array([3, 4])], torch.tensor([[1, 2], [3, 4]])),
        ([np.array(1.0), np.array(2.0)], torch.tensor([1.0, 2.0], dtype=torch.float64)),
        ([torch.zeros(2, 0)] * 3, torch.zeros(3, 2, 0)),
    ],
)
def test_collate_makes_one_tensor(batch, expected):
    result = default_collate(batch)
    assert result.dtype is expected.dtype
    assert torch.equal(result, expected)


def test_collate_keeps_text_and_structure():
    assert default_collate(["a", "b"]) == ["a", "b"]
    assert default_collate((b"a", b"b")) == (b"a", b"b")
    assert default_collate([[], []]) == []
    assert [part.tolist() for part in default_collate([(1, 2), (3, 4)])] == [[1, 3], [2, 4]]
    point = default_collate([Point(1, "a"), Point(2, "b")])
    assert isinstance(point, Point) and point.x.tolist() == [1, 2] and list(point.y) == ["a", "b"]
    nested = default_collate([{"a": [1, {"b": 2.0}]}, {"a": [3, {"b": 4.0}]}])
    assert nested["a"][0].tolist() == [1, 3] and nested["a"][1]["b"].tolist() == [2.0, 4.0]


def test_collate_keeps_the_types_of_containers():
    ordered = default_collate([collections.OrderedDict(b=1, a=2)] * 2)
    assert type(ordered) is collections.OrderedDict and list(ordered) == ["b", "a"]
    defaults = default_collate([collections.defaultdict(int, a=1)] * 2)
    assert defaults.default_factory is int
    assert type(default_collate([collections.deque([1])] * 2)) is collections.deque
    assert type(default_collate([types.MappingProxyType({"a": 1})] * 2)) is types.MappingProxyType
    assert [part.tolist() for part in default_collate([range(2)] * 2)] == [[0, 0], [1, 1]]


@pytest.mark.parametrize(
    ("batch", "error", "message"),
    [
        ([None, None], TypeError, "found <class 'NoneType'>"),
        ([{1}, {2}], TypeError, "must contain tensors, numpy arrays, numbers, dicts or lists; found <class 'set'>"),
        ([np.array(["a"])] * 2, TypeError, "found <U1"),
        ([(1, 2), (1,)], RuntimeError, "each element in list of batch should be of equal size"),
        ([{"a": 1}, {"b": 1}], KeyError, "a"),
        ([torch.ones(2), torch.ones(3)], RuntimeError, "equal size"),
    ],
)
def test_collate_rejects(batch, error, message):
    with pytest.raises(error, match=message):
        default_collate(batch)


def test_convert_makes_tensors_of_arrays_only():
    text, objects = np.array(["a"]), np.array([None])
    sample = {"array": np.ones(2), "scalar": np.int16(3), "text": text, "objects": objects, "rest": [1, "x", None]}
    result = default_convert(sample)
    assert torch.equal(result["array"], torch.ones(2, dtype=torch.float64))
    assert result["scalar"].dtype is torch.int16
    assert result["text"] is text and result["objects"] is objects
    assert result["rest"] == [1, "x", None]
    assert type(default_convert((1, 2))) is list
    assert default_convert(Point(np.ones(()), 1)) == Point(torch.tensor(1.0), 1)
    assert sample["array"] is not result["array"] and isinstance(sample["array"], np.ndarray)


# --- The loader in one process ---


@pytest.mark.parametrize("workers", [0, 1, 2])
@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"batch_size": 4}, [[0, 1, 4, 9], [16, 25, 36, 49], [64, 81]]),
        ({"batch_size": 4, "drop_last": True}, [[0, 1, 4, 9], [16, 25, 36, 49]]),
        ({"batch_size": None}, [i**2 for i in range(10)]),
        ({"batch_sampler": [[3], [5, 1]]}, [[9], [25, 1]]),
        ({"sampler": [2, 4], "batch_size": 2}, [[4, 16]]),
        ({"batch_size": 20, "collate_fn": len}, [10]),
    ],
)
def test_batches(workers, options, expected):
    loader = DataLoader(Squares(), num_workers=workers, **(FORK if workers else {}), **options)
    assert numbers(loader) == expected
    assert len(loader) == len(expected)
    assert numbers(loader) == expected


@pytest.mark.parametrize("workers", [0, 2])
def test_iterable_datasets(workers):
    options = {"num_workers": workers, **(FORK if workers else {})}
    one_by_one = [[0], [1], [2], [3], [4]]
    in_pairs = [[0, 2], [1, 3], [4]] if workers else [[0, 1], [2, 3], [4]]
    assert numbers(DataLoader(Count(5), **options)) == one_by_one
    assert numbers(DataLoader(Count(5), batch_size=2, **options)) == in_pairs
    assert numbers(DataLoader(Count(5), batch_size=2, drop_last=True, **options)) == in_pairs[:2]
    assert list(DataLoader(Count(5), batch_size=None, **options)) == [0, 1, 2, 3, 4]
    assert list(DataLoader(Count(0), **options)) == []
    assert len(DataLoader(SizedCount(5), batch_size=2, **options)) == 3
    assert len(DataLoader(SizedCount(5), batch_size=2, drop_last=True, **options)) == 2
    assert len(DataLoader(SizedCount(5), batch_size=None, **options)) == 5
    with pytest.raises(TypeError):
        len(DataLoader(Count(5)))


def test_longer_than_reported():
    class Understated(SizedCount):
        def __len__(self):
            return 2

    loader = DataLoader(Understated(3))
    assert len(list(loader)) == 3
    assert len(loader) == 2
    with pytest.warns(UserWarning, match=r"was reported to be 2\(when accessing len\(dataloader\)\), but 3 samples"):
        list(loader)


@pytest.mark.parametrize("workers", [0, 2])
def test_shuffle_draws_what_pytorch_draws(workers):
    """Each epoch draws the workers' base seed, then the sampler's seed, and nothing else from the default generator."""
    loader = DataLoader(torch.arange(30), 7, shuffle=True, num_workers=workers, **(FORK if workers else {}))
    torch.manual_seed(11)
    epochs = [list(itertools.chain(*numbers(loader))) for _ in range(2)]
    after = torch.rand(1)
    torch.manual_seed(11)
    for epoch in epochs:
        drawn_seed()
        assert epoch == torch.randperm(30, generator=torch.Generator().manual_seed(drawn_seed())).tolist()
    assert torch.equal(torch.rand(1), after)


def test_own_generator_leaves_the_default_one_alone():
    torch.manual_seed(0)
    expected = torch.rand(1)
    torch.manual_seed(0)
    loader = DataLoader(range(20), 20, shuffle=True, generator=torch.Generator().manual_seed(9))
    order = numbers(loader)[0]
    assert torch.equal(torch.rand(1), expected)
    generator = torch.Generator().manual_seed(9)
    drawn_seed(generator)
    assert order == torch.randperm(20, generator=generator).tolist()


def test_getitems_gets_the_whole_batch():
    class Batched(Squares):
        def __getitems__(self, indices):
            return [torch.tensor(-i) for i in indices]

    assert numbers(DataLoader(Batched(), batch_size=5)) == [[0, -1, -2, -3, -4], [-5, -6, -7, -8, -9]]


def test_iterators_know_the_old_idiom():
    iterator = iter(DataLoader(Squares(), batch_size=4))
    assert len(iterator) == 3
    assert iterator.next().tolist() == [0, 1, 4, 9]
    assert next(iterator).tolist() == [16, 25, 36, 49]
    with pytest.raises(NotImplementedError, match="cannot be pickled"):
        pickle.dumps(iterator)


def test_two_iterators_at_once():
    loader = DataLoader(Squares(3))
    assert [(int(a), int(b)) for a in loader for b in loader] == [(a, b) for a in (0, 1, 4) for b in (0, 1, 4)]


@pytest.mark.parametrize(
    ("dataset", "options", "message"),
    [
        (Squares(), {"num_workers": -1}, "num_workers option should be non-negative"),
        (Squares(), {"timeout": -1}, "timeout option should be non-negative"),
        (Squares(), {"prefetch_factor": 2}, "prefetch_factor option could only be specified in multiprocessing"),
        (Squares(), {"prefetch_factor": -1, "num_workers": 1}, "prefetch_factor option should be non-negative"),
        (Squares(), {"persistent_workers": True}, "persistent_workers option needs num_workers > 0"),
        (Squares(), {"shuffle": True, "sampler": [0]}, "sampler option is mutually exclusive with shuffle"),
        (Squares(), {"batch_sampler": [[0]], "batch_size": 2}, "batch_sampler option is mutually exclusive"),
        (Squares(), {"batch_size": None, "drop_last": True}, "batch_size=None option disables auto-batching"),
        (Squares(), {"multiprocessing_context": "fork"}, r"only be used with multi-process loading \(num_workers > 0\)"),
        (Squares(), {"multiprocessing_context": "x", "num_workers": 1}, "should specify a valid start method in"),
        (Squares(0), {"shuffle": True}, "num_samples=0"),
        (Count(1), {"shuffle": True}, "expected unspecified shuffle option, but got shuffle=True"),
        (Count(1), {"sampler": [0]}, r"expected unspecified sampler option, but got sampler=\[0\]"),
        (Count(1), {"batch_sampler": [[0]]}, "expected unspecified batch_sampler option"),
    ],
)
def test_contradicting_options(dataset, options, message):
    with pytest.raises(ValueError, match=message):
        DataLoader(dataset, **options)


def test_more_checks():
    with pytest.raises(TypeError, match="should be a valid context object or a string specifying the start method"):
        DataLoader(Squares(), num_workers=1, multiprocessing_context=3)
    with pytest.raises(ValueError, match="batch_size attribute should not be set after DataLoader is initialized"):
        DataLoader(Squares()).batch_size = 3
    with pytest.raises(AssertionError):
        iter(DataLoader(Squares(), timeout=1))
    with pytest.warns(UserWarning, match="This DataLoader will create 1000 worker processes in total"):
        DataLoader(Squares(), num_workers=1000)
    if not torch.cuda.is_available():
        with pytest.warns(UserWarning, match="no accelerator is found"):
            next(iter(DataLoader(Squares(), pin_memory=True)))

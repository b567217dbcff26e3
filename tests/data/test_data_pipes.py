"""Data pipes: `torch.utils.data.IterDataPipe`, `MapDataPipe` and the pipes derived from them."""

from __future__ import annotations

import pickle

import pytest
from flambeau.utils.data.datapipes.iter import IterableWrapper, Shuffler
from flambeau.utils.data.datapipes.map import SequenceWrapper

import flambeau as torch
from flambeau.utils.data import DataLoader, IterDataPipe, MapDataPipe, functional_datapipe


def double(x):
    return 2 * x


def is_odd(x):
    return x % 2 == 1


class Range(IterDataPipe):
    def __init__(self, stop):
        self.stop = stop

    def __iter__(self):
        return iter(range(self.stop))


def test_chains():
    pipe = IterableWrapper(range(7)).filter(is_odd).map(double)
    assert list(pipe) == [2, 6, 10] and list(pipe) == [2, 6, 10]
    assert list(pipe.batch(2)) == [[2, 6], [10]] and list(pipe.batch(2, drop_last=True)) == [[2, 6]]
    assert list(pipe.batch(2).batch(1).unbatch(2)) == [2, 6, 10] == list(pipe.batch(2).batch(1).unbatch(-1))
    assert list(pipe.concat(Range(2))) == [2, 6, 10, 0, 1]
    assert list(pipe.zip(Range(5))) == [(2, 0), (6, 1), (10, 2)]
    assert [b.tolist() for b in Range(4).batch(2).collate()] == [[0, 1], [2, 3]]
    assert len(IterableWrapper([1, 2, 3]).map(double).batch(2)) == 2
    with pytest.raises(TypeError, match="valid length"):
        len(Range(3).map(double))
    with pytest.raises(AttributeError, match="nothing"):
        pipe.nothing
    assert repr(pipe) == "MapperIterDataPipe"


def test_columns():
    rows = IterableWrapper([(1, 2), (3, 4)])
    assert list(rows.map(double, input_col=1)) == [(1, 4), (3, 8)]
    assert list(rows.map(lambda a, b: a + b, input_col=[0, 1], output_col=-1)) == [(1, 2, 3), (3, 4, 7)]
    assert list(rows.map(lambda a, b: a + b, input_col=[0, 1])) == [(3,), (7,)]
    assert list(IterableWrapper([{"a": 1, "b": 5}]).map(double, "a", "c")) == [{"a": 1, "b": 5, "c": 2}]
    assert list(rows.filter(lambda b: b > 2, input_col=1)) == [(3, 4)]
    with pytest.raises(ValueError, match="Boolean output"):
        list(Range(3).filter(double))


def test_one_more_method():
    @functional_datapipe("shifted_for_a_test")
    class Shifted(IterDataPipe):
        def __init__(self, source, by):
            self.source, self.by = source, by

        def __iter__(self):
            return (x + self.by for x in self.source)

    assert list(Range(3).shifted_for_a_test(5)) == [5, 6, 7]
    assert not hasattr(SequenceWrapper([1]), "shifted_for_a_test")
    with pytest.raises(Exception, match="already taken"):
        functional_datapipe("shifted_for_a_test")(Shifted)
    with pytest.raises(TypeError, match="can only decorate"):
        functional_datapipe("other")(object)


def test_shuffling():
    torch.manual_seed(0)
    first, second = list(Range(20).shuffle()), list(Range(20).shuffle())
    assert sorted(first) == list(range(20)) and first != second
    torch.manual_seed(0)
    assert list(Range(20).shuffle()) == first
    pipe = Range(20).shuffle(buffer_size=2)
    assert list(pipe.set_seed(3)) == list(pipe.set_seed(3)) and next(iter(pipe)) < 2
    assert list(pipe.set_shuffle(False)) == list(range(20))


def test_loaders():
    assert [b.tolist() for b in DataLoader(Range(5).map(double), batch_size=2)] == [[0, 2], [4, 6], [8]]
    pipe = Range(6).shuffle()
    assert [b.item() for b in DataLoader(pipe, shuffle=False)] == list(range(6))
    assert sorted(b.item() for b in DataLoader(pipe, shuffle=True)) == list(range(6))
    with pytest.warns(UserWarning, match="does not contain a `Shuffler`"):
        assert isinstance(DataLoader(Range(3), shuffle=True).dataset, Shuffler)
    kinds = torch.utils.data.dataloader._DatasetKind
    assert DataLoader(Range(3))._dataset_kind == kinds.Iterable and DataLoader([1])._dataset_kind == kinds.Map
    assert kinds.create_fetcher(kinds.Map, [5, 6], True, list, False).fetch([1, 0]) == [6, 5]
    assert kinds.create_fetcher(kinds.Iterable, Range(3), True, list, False).fetch([0, 0]) == [0, 1]


@pytest.mark.slow
def test_workers_share_the_elements():
    assert sorted(b.item() for b in DataLoader(Range(7).sharding_filter(), num_workers=2)) == list(range(7))


def test_shards():
    pipe = IterableWrapper(range(7)).sharding_filter()
    assert list(pipe) == list(range(7))
    pipe.apply_sharding(3, 1)
    assert list(pipe) == [1, 4] and len(pipe) == 2
    with pytest.raises(ValueError, match="smaller than"):
        pipe.apply_sharding(2, 2)


def test_pipes_with_indices():
    pipe = SequenceWrapper([1, 2, 3]).map(double)
    assert isinstance(pipe, MapDataPipe) and pipe[2] == 6 and len(pipe) == 3
    assert list(pipe.batch(2)) == [[2, 4], [6]] and pipe.concat(SequenceWrapper([7]))[3] == 7
    assert list(pipe.zip(SequenceWrapper("ab"))) == [(2, "a"), (4, "b")]
    with pytest.raises(IndexError):
        pipe.batch(2)[2]


def test_pickling_and_its_hooks():
    pipe = pickle.loads(pickle.dumps(IterableWrapper([1, 2]).map(double)))
    assert list(pipe) == [2, 4]
    IterDataPipe.set_reduce_ex_hook(lambda pipe: (list, ([7],)))
    try:
        assert pickle.loads(pickle.dumps(Range(3))) == [7]
        with pytest.raises(RuntimeError, match="override existing"):
            IterDataPipe.set_reduce_ex_hook(repr)
    finally:
        IterDataPipe.set_reduce_ex_hook(None)
    assert list(pickle.loads(pickle.dumps(Range(2)))) == [0, 1]

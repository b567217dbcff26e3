"""`torch.utils._pytree`: flattening, tree specs, key paths and registered node types."""

from __future__ import annotations

import collections
import dataclasses

import pytest

import flambeau as torch
from flambeau.utils import _pytree as pytree

Point = collections.namedtuple("Point", "x y")


class Pair:
    def __init__(self, left, right):
        self.left, self.right = left, right

    def __eq__(self, other):
        return (self.left, self.right) == (other.left, other.right)


@pytest.fixture
def registered():
    keys = pytree.GetAttrKey("left"), pytree.GetAttrKey("right")
    pytree.register_pytree_node(
        Pair,
        lambda pair: ([pair.left, pair.right], "pair"),
        lambda children, context: Pair(*children),
        serialized_type_name="tests.Pair",
        flatten_with_keys_fn=lambda pair: ([(keys[0], pair.left), (keys[1], pair.right)], "pair"),
    )
    yield
    pytree._deregister_pytree_node(Pair)


@pytest.mark.parametrize(
    "tree",
    [
        {"a": (1, [2, 3]), "b": collections.OrderedDict(x=4)},
        Point(1, [2]),
        collections.defaultdict(list, {"k": 1}),
        collections.deque([1, (2,)], maxlen=3),
        torch.return_types.max((1, 2)),
        None,
        [],
    ],
)
def test_round_trip(tree):
    leaves, spec = pytree.tree_flatten(tree)
    again = pytree.tree_unflatten(leaves, spec)
    assert again == tree and type(again) is type(tree) and pytree.tree_structure(again) == spec
    assert getattr(again, "default_factory", 0) is getattr(tree, "default_factory", 0)
    assert list(pytree.tree_iter(tree)) == leaves and len(leaves) == spec.num_leaves
    assert [leaf for _, leaf in pytree.tree_leaves_with_path(tree)] == leaves
    assert all(pytree.key_get(tree, path) is leaf for path, leaf in pytree.tree_leaves_with_path(tree))


def test_structures_are_shown_and_compared_as_pytorchs():
    spec = pytree.tree_structure({"a": (1, [2, 3]), "b": collections.OrderedDict(x=1)})
    assert repr(spec) == (
        "TreeSpec(dict, ['a', 'b'], [TreeSpec(tuple, None, [*,\n    TreeSpec(list, None, [*,\n      *])]),\n"
        "  TreeSpec(OrderedDict, ['x'], [*])])"
    )
    assert pytree.treespec_pprint(spec) == "{'a': (*, [*, *]), 'b': OrderedDict({'x': *})}".replace(
        "OrderedDict({'x': *})", repr(collections.OrderedDict(x=0)).replace("0", "*")
    )
    assert pytree.TreeSpec(list, None, [pytree.LeafSpec()]) == pytree.tree_structure([7]) != pytree.tree_structure((7,))
    assert (spec.num_nodes, spec.num_leaves, spec.num_children, spec.is_leaf()) == (8, 4, 2, False)


@pytest.mark.parametrize("tree", [{"a": (1, [2])}, collections.defaultdict(list, {"k": 1}), collections.deque([1], maxlen=3), 5])
def test_structures_are_written_as_pytorch_writes_them(tree):
    spec = pytree.tree_structure(tree)
    assert pytree.treespec_loads(pytree.treespec_dumps(spec)) == spec
    text = pytree.treespec_dumps(pytree.tree_structure([1]))
    assert text == (
        '[1, {"type": "builtins.list", "context": "null", "children_spec": '
        '[{"type": null, "context": null, "children_spec": []}]}]'
    )


def test_registered_types_are_nodes_everywhere(registered):
    assert pytree.tree_leaves([Pair(1, (2,)), 3]) == [1, 2, 3]
    assert pytree.tree_map(lambda x: -x, Pair(1, [2])) == Pair(-1, [-2])
    assert pytree.keystr(pytree.tree_leaves_with_path([Pair(1, (2,))])[1][0]) == "[0].right[0]"
    spec = pytree.tree_structure(Pair(1, 2))
    assert pytree.treespec_loads(pytree.treespec_dumps(spec)) == spec
    pair = Pair(torch.ones(3), torch.arange(3.0))
    assert torch.equal(torch.vmap(lambda p: p.left + p.right)(pair), torch.tensor([1.0, 2.0, 3.0]))
    grads = torch.func.grad(lambda p: (p.left * p.right).sum())(pair)
    assert torch.equal(grads.left, pair.right) and torch.equal(grads.right, pair.left)
    with pytest.raises(ValueError, match="already registered"):
        pytree.register_pytree_node(Pair, None, None)


def test_dataclasses_and_constants():
    @dataclasses.dataclass
    class Batch:
        inputs: object
        targets: object = None

    class Mode(str):
        __slots__ = ()

    pytree.register_dataclass(Batch)
    pytree.register_constant(Mode)
    try:
        assert pytree.tree_map(str, Batch(1)) == Batch("1") and pytree.tree_leaves(Batch(1, [2])) == [1, 2]
        assert pytree.tree_leaves([Mode("train"), 1]) == [1]
        assert pytree.tree_structure(Mode("train")) != pytree.tree_structure(Mode("eval"))
    finally:
        pytree._deregister_pytree_node(Batch)
        pytree._deregister_pytree_node(Mode)


def test_choosing_leaves():
    tree, seen = {"a": (1, [2.5]), "b": None}, []
    assert pytree.tree_map_only_(float, seen.append, tree) is tree and seen == [2.5]
    assert pytree.tree_all_only(float, lambda x: x > 2, tree) and not pytree.tree_any_only((int, float), lambda x: x > 3, tree)
    assert pytree.tree_map_with_path(lambda path, x: pytree.keystr(path), tree)["a"] == ("['a'][0]", ["['a'][1][0]"])
    assert pytree.tree_is_leaf(tree, is_leaf=lambda x: True) and not pytree.tree_is_leaf(tree)
    with pytest.raises(ValueError, match="missing key"):
        pytree.tree_map(max, {"a": 1}, {"b": 1})
    assert pytree.is_namedtuple(Point) and not pytree.is_structseq(Point) and pytree.is_structseq(torch.ones(1).max(0))


def test_parts_of_named_tuples():
    kind = collections.namedtuple("kind", ["left", "right"])
    parts, context = pytree._namedtuple_flatten(kind(1, 2))
    assert parts == [1, 2] and context is kind and pytree._namedtuple_unflatten(parts, context) == kind(1, 2)


def test_built_in_containers_are_supported_nodes():
    for node in ((1, [2]), [1], {"a": 1}, collections.OrderedDict(b=2), collections.deque([1, 2], 3)):
        children, context = pytree.SUPPORTED_NODES[type(node)].flatten_fn(node)
        assert pytree.SUPPORTED_NODES[type(node)].unflatten_fn(children, context) == node
    assert int not in pytree.SUPPORTED_NODES

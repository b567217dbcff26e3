"""Immutable lists and dictionaries, in which nodes store their arguments.

>>> immutable_list([1, 2])[0]
1
"""

from __future__ import annotations

from typing import Any, NoReturn

from flambeau.utils import pytree

__all__ = ["immutable_dict", "immutable_list"]

_ADVICE = """\
If you are attempting to modify the kwargs or args of a torch.fx.Node object,
instead create a new copy of it and assign the copy to the node:

    new_args = ...  # copy and mutate args
    node.args = new_args"""


def _no_mutation(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
    raise TypeError(f"{type(self).__name__!r} object does not support mutation. {_ADVICE}")


class immutable_list(list[Any]):
    """A list that cannot be changed.

    Args:
        iterable: the elements.

    >>> immutable_list([1]).append(2)
    Traceback (most recent call last):
    ...
    TypeError: 'immutable_list' object does not support mutation. If you are attempting ...
    """

    __delitem__ = __iadd__ = __imul__ = __setitem__ = _no_mutation
    append = clear = extend = insert = pop = remove = reverse = sort = _no_mutation

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return immutable_list, (tuple(self),)


class immutable_dict(dict[Any, Any]):
    """A dictionary that cannot be changed.

    Args:
        *args: a mapping, or pairs.
        **kwargs: further entries.

    >>> immutable_dict(a=1)["a"]
    1
    """

    __delitem__ = __ior__ = __setitem__ = _no_mutation
    clear = pop = popitem = setdefault = update = _no_mutation

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))

    def __reduce__(self) -> tuple[Any, ...]:
        return immutable_dict, (tuple(self.items()),)


pytree.register_pytree_node(
    immutable_list,
    lambda items: (list(items), None),
    lambda items, _: immutable_list(items),
    flatten_with_keys_fn=lambda items: ([(pytree.SequenceKey(place), item) for place, item in enumerate(items)], None),
)
pytree.register_pytree_node(
    immutable_dict,
    lambda items: (list(items.values()), list(items)),
    lambda values, keys: immutable_dict(zip(keys, values, strict=True)),
    flatten_with_keys_fn=lambda items: ([(pytree.MappingKey(key), item) for key, item in items.items()], list(items)),
)

"""Types of simple expressions, as text: `int`, `Tensor`, `List[int]`, `Tuple[Tensor, int]`.

The empty string is a type that is not known. In a tuple it is written as `?`.
"""

from __future__ import annotations

__all__ = ["NUMBERS", "SIMPLE", "VALUES", "conflict", "parts_of", "simple"]

NUMBERS = ("bool", "int", "float", "complex")
VALUES = (*NUMBERS, "str", "Tensor")
SIMPLE = (*VALUES, "NoneType")


def simple(kind: str) -> str:
    """Return a type if the checks below can compare it, else an empty string."""
    return kind if kind in SIMPLE or kind.startswith(("List[", "Dict[")) or parts_of(kind) is not None else ""


def parts_of(kind: str) -> list[str] | None:
    """Return the types of the elements of a tuple, or None for another type or a tuple of unknown length."""
    if not kind.startswith("Tuple["):
        return None
    if kind == "Tuple[()]":
        return []
    parts, depth, start = [], 0, len("Tuple[")
    for place in range(start, len(kind)):
        depth += (kind[place] == "[") - (kind[place] == "]")
        if depth < 0 or (depth == 0 and kind[place] == ","):
            part = kind[start:place].strip()
            parts.append("" if part == "?" else part)
            start = place + 1
    return parts


def conflict(found: str, declared: str) -> bool:
    """Whether a value of the first type is certainly not valid for the second."""
    if not found or not declared or found == declared or (found, declared) == ("bool", "int"):
        return False
    parts, expected = parts_of(found), parts_of(declared)
    if parts is not None and expected is not None:
        return len(parts) != len(expected) or any(map(conflict, parts, expected))
    if declared in SIMPLE:
        return found in SIMPLE or found.startswith(("Tuple", "List", "Dict"))
    if declared.startswith("List[") and found.startswith("List["):
        return conflict(found[5:-1], declared[5:-1])
    return declared.startswith(("Tuple[", "List[", "Dict[")) and found in SIMPLE

"""Encoding of messages between processes: lists of byte strings, without pickle.

>>> decode(encode([b"set", b"key", b""]))
[b'set', b'key', b'']
"""

from __future__ import annotations

import struct
from collections.abc import Iterable

__all__ = ["decode", "encode"]

_LENGTH = struct.Struct("<Q")


def encode(fields: Iterable[bytes]) -> bytes:
    """Join byte strings, each preceded by its length."""
    return b"".join(part for field in fields for part in (_LENGTH.pack(len(field)), field))


def decode(message: bytes) -> list[bytes]:
    """Split an encoded message into its byte strings. ValueError if it is truncated."""
    fields, place = [], 0
    while place < len(message):
        if place + _LENGTH.size > len(message):
            raise ValueError("a message ends within a length")
        start = place + _LENGTH.size
        place = start + _LENGTH.unpack_from(message, place)[0]
        if place > len(message):
            raise ValueError(f"a message of {len(message)} bytes ends within a field")
        fields.append(message[start:place])
    return fields

"""Damage to files: bytes, pickle opcodes, JSON values, and records of zip archives, whose checksums stay valid."""

from __future__ import annotations

import io
import json
import pickle
import pickletools
import zipfile
from random import Random
from typing import Any

__all__ = ["damage", "nested_tuple"]

_NUMBERS = [
    0,
    1,
    2,
    3,
    4,
    5,
    7,
    8,
    15,
    16,
    63,
    127,
    128,
    255,
    256,
    65535,
    2**31 - 1,
    2**31,
    2**32 - 1,
    2**40,
    2**63 - 1,
    -1,
    -(2**63),
]


def nested_tuple(depth: int) -> bytes:
    """Return the pickle opcodes of a tuple that contains itself `2**depth` times."""
    level = b"q\x00h\x00\x86"  # memoize the top of the stack, push it again, and make a pair
    return b")" + level * depth


# Opcodes that a malicious file could contain: calls of functions, huge sizes, expensive keys, and attributes of classes.
_ATTACKS = [
    b"cfuzzed_canary\ntouched\n)R",
    b"\x8c\x0efuzzed_canary\x8c\x07touched\x93)R",
    b"cposix\nsystem\nX\x04\x00\x00\x00true\x85R",
    b"cbuiltins\neval\nX\x04\x00\x00\x001+1\n\x85R",
    b"(ifuzzed_canary\ntouched\n",
    b"(cfuzzed_canary\ntouched\no",
    b"ctorch._utils\n_rebuild_tensor_v2\n",
    b"ctorch.serialization\n_get_layout\nX\x0a\x00\x00\x00torch.save\x85R",
    b"ctorch\nload\n",
    b"ctorch\nFloatStorage\n",
    b"cbuiltins\nbytearray\nJ\xff\xff\xff\x7f\x85R",
    b"\x96\xff\xff\xff\xff\xff\xff\xff\x7f",
    b"\x8e\xff\xff\xff\xff\xff\xff\xff\x0f",
    b"B\xff\xff\xff\x7f",
    b"r\xff\xff\xff\x7f",
    b"}" + nested_tuple(60) + b"K\x01s",
    b"\x8f(" + nested_tuple(60) + b"\x90",
    b"(" + nested_tuple(60) + b"\x91",
    nested_tuple(60) + b")R",
    nested_tuple(60) + b")\x81",
    nested_tuple(60) + b"}b",
    nested_tuple(60) + b"Q",
    b"}}" + b"q\x05h\x05h\x05s" * 3,
    b"]" * 3000 + b"a" * 2999,
]


def damage(data: bytes, random: Random) -> bytes:
    """Return a damaged copy of a file of any format."""
    if data[:4] == b"PK\x03\x04" and random.random() < 0.7:
        return _damage_archive(data, random)
    if random.random() < 0.5:
        data = _damage_structure(data, random)
    for _ in range(random.choice([0, 1, 1, 2, 4])):
        data = _damage_bytes(data, random)
    return data


def _damage_structure(data: bytes, random: Random) -> bytes:
    if data[:1] == b"\x80" or (data[:1] and data[:1] in b"(}])"):
        return _damage_pickle(data, random)
    if data[:1] in (b"{", b"["):
        try:
            return json.dumps(_damage_json(json.loads(data), random)).encode()
        except ValueError:
            return data
    if data[8:9] == b"{":  # safetensors: a length and a JSON header
        size = int.from_bytes(data[:8], "little")
        header = json.dumps(_damage_json(json.loads(data[8 : 8 + size]), random)).encode()
        return len(header).to_bytes(8, "little") + header + data[8 + size :]
    for magic in (b"\x80\x02", b"\x93NUMPY"):  # a pickle or an array within a file
        start = data.find(magic)
        if start > 0:
            return data[:start] + (_damage_pickle if magic[0] == 0x80 else _damage_bytes)(data[start:], random)
    return _damage_bytes(data, random)


def _damage_bytes(data: bytes, random: Random) -> bytes:
    changed = bytearray(data)
    at = random.randrange(len(data) + 1)
    kind = random.randrange(7)
    if kind == 0:
        return data[:at]
    if kind == 1 and data:
        changed[at % len(data)] ^= 1 << random.randrange(8)
    elif kind == 2 and data:
        changed[at % len(data)] = random.randrange(256)
    elif kind == 3:
        size = random.choice([1, 2, 4, 8])
        changed[at : at + size] = (random.choice(_NUMBERS) % 2 ** (8 * size)).to_bytes(size, random.choice(["little", "big"]))
    elif kind == 4:
        end = at + random.randrange(64)
        changed[at:at] = data[at:end] * random.choice([1, 1, 100])
    elif kind == 5:
        del changed[at : at + random.choice([1, 4, 64, 512])]
    else:
        changed[at:at] = random.randbytes(random.randrange(16))
    return bytes(changed)


def _damage_pickle(data: bytes, random: Random) -> bytes:
    """Delete, repeat, exchange or insert opcodes of the first pickle in `data`."""
    starts = []
    try:
        for _, _, position in pickletools.genops(io.BytesIO(data)):
            starts.append(position)
    except Exception:  # what is left of the file is not a pickle
        if not starts:
            return data
    end = starts[-1] + 1
    parts = [data[a:b] for a, b in zip(starts, [*starts[1:], end], strict=True)]
    for _ in range(random.choice([1, 1, 2, 5])):
        at, other = random.randrange(len(parts)), random.randrange(len(parts))
        kind = random.randrange(6)
        if kind == 0 and len(parts) > 1:
            del parts[at]
        elif kind == 1:
            parts.insert(at, parts[other])
        elif kind == 2:
            parts[at], parts[other] = parts[other], parts[at]
        elif kind == 3:
            parts[at] = pickle.dumps(random.choice(_NUMBERS), 2)[2:-1]
        elif kind == 4:
            parts.insert(at, random.choice(_ATTACKS))
        else:
            parts[at] = random.choice(_ATTACKS)
    return b"".join(parts) + data[end:]


_VALUES: list[Any] = [
    None, True, "", "x", "__class__", "x=__import__('fuzzed_canary').touched()", "a\n    __import__('fuzzed_canary').touched()",
    "torch.ops.aten.save.default", "torch.ops.aten.from_file.default", "operator.getitem", "a" * 10_000, [], {}, [[]], 0.5, 1e308,
    -1, 0, 1, 2**31, 2**63, 10**400, [2**62] * 8, [1] * 100, {"node": "x"}, {"tuple": []}, {"dtype": "load"},
]  # fmt: skip


def _damage_json(value: Any, random: Random) -> Any:
    """Replace, delete or repeat one value inside."""
    if isinstance(value, str) and value[:1] in ("[", "{") and random.random() < 0.7:  # JSON within JSON
        try:
            return json.dumps(_damage_json(json.loads(value), random))
        except ValueError:
            return random.choice(_VALUES)
    if not isinstance(value, dict | list) or not value or random.random() < 0.05:
        return random.choice(_VALUES)
    key = random.choice([*value]) if isinstance(value, dict) else random.randrange(len(value))
    kind = random.randrange(10)
    changed: Any = value.copy()
    if kind == 0:
        del changed[key]
    elif kind == 1 and isinstance(value, dict):
        changed[str(random.choice(_VALUES))] = changed.pop(key)
    elif kind == 1:
        changed.insert(key, changed[key])
    else:
        changed[key] = _damage_json(value[key], random)
    return changed


def _damage_archive(data: bytes, random: Random) -> bytes:
    """Damage one record, and write all records to a new archive, whose checksums are therefore correct."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        records = {name: archive.read(name) for name in archive.namelist()}
    name = random.choice([*records] + [name for name in records if name.endswith((".pkl", ".py", ".json"))] * 5)
    kind = random.randrange(12)
    if kind == 0:
        del records[name]
    elif kind == 1:
        records[random.choice([*records])] = records.pop(name)
    elif kind == 2:
        records[f"{name}{random.choice(['', '/', 'x', '/../../x'])}"] = records[name]
    else:
        content = records[name]
        content = _damage_structure(content, random) if random.random() < 0.8 else _damage_bytes(content, random)
        records[name] = content
    compression = random.choice([zipfile.ZIP_STORED] * 4 + [zipfile.ZIP_DEFLATED])
    result = io.BytesIO()
    with zipfile.ZipFile(result, "w", compression) as archive:
        for path, content in records.items():
            archive.writestr(path, content)
    return result.getvalue() if random.random() < 0.8 else _damage_bytes(result.getvalue(), random)

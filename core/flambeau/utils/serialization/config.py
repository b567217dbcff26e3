"""Settings of `torch.save` and `torch.load`.

- `load.mmap`: the default of `torch.load(mmap=...)`; `load.mmap_flags`: see `torch.serialization.set_default_mmap_options`.
- `load.endianness`: see `torch.serialization.set_default_load_endianness`.
- `save.compute_crc32`: see `torch.serialization.set_crc32_options`.
- `save.storage_alignment`: the alignment of a tensor's data in a file, in bytes.
- `load.calculate_storage_offsets` and `save.use_pinned_memory_for_d2h` change no result, and have no effect.

>>> from flambeau.utils.serialization import config
>>> with config.patch("save.storage_alignment", 4096):
...     config.save.storage_alignment
4096
>>> config.save.storage_alignment
64
"""

from __future__ import annotations

from ...extension.settings import make_patch
from ...serialization.options import load_settings as load
from ...serialization.options import save_settings as save

__all__ = ["load", "patch", "save"]

patch = make_patch(__name__)

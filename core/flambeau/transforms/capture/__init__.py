"""Record the kernels that a step calls while it runs, and replay them as generated code.

Entry points: `capture` calls a function and returns a `Captured`, which can be replayed; `verified` compares the first replay
with the call; a `Program` is a list of recorded calls as a function of arrays; `refuse` reports why a step cannot be
recorded.  `flambeau.extension.capture` exports these for `torch.compile`.

Rules: only a `RecordingInterceptor` replaces kernels, after the arrays of all live tensors have been replaced by recorded
arrays.  Recorded arrays are opaque, and reading a value invalidates the recording.  Writes and random draws keep their order,
and are never folded or dropped.  A replay gives bitwise the same results as the call, unless the library compiles whole
programs.  The passes over the calls and the generated source may change freely.


From a call to its program:

- `recorder`: the list of calls, and arrays and numbers with references to the calls that computed them.
- `interceptor`: interceptors that also reach the kernels of conjugate views and of `vmap`.
- `recording_backend`: the interceptor that records, and the backend that dispatch keys have while recording.
- `recording`: the context in which kernels are recorded.
- `sources`, `results`, `effects`: the inputs of a step, its results, and its changes to existing tensors.
- `guards`: the conditions for a replay, such as the shapes of tensors.
- `differentiation`: the backward pass of a recorded function, recorded after its forward pass.
- `passes`: which of the calls are needed, and in which order.
- `elementwise`, `fusion`: chains of element-wise calls, as one loop each.
- `inference`: consecutive calls of an inference step, as one plan each.
- `compiled_program`: all calls as one compiled call, for array libraries that compile whole programs.
- `source`, `program`: calls as a Python function.
- `device_graphs`: a program as a graph of the device, launched in one call.
- `verification`: the first replay, compared with the call itself.
"""

from __future__ import annotations

from .capture import Captured, Refused, capture, describe, tensors_in
from .program import Program
from .recorder import LookedAtValue, is_own_file, is_recording, place_in_program, refuse, register_own_folder
from .recording import NotCapturable
from .source import CheckFailed
from .verification import verified

__all__ = [
    "Captured", "CheckFailed", "LookedAtValue", "NotCapturable", "Program", "Refused", "capture", "describe", "is_own_file",
    "is_recording", "place_in_program", "refuse", "register_own_folder", "tensors_in", "verified",
]  # fmt: skip

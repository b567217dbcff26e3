"""Communication hooks that average a bucket of gradients, in its dtype or as float16 or bfloat16."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import flambeau as torch
from flambeau import Tensor

__all__ = [
    "allreduce_hook",
    "bf16_compress_hook",
    "bf16_compress_wrapper",
    "fp16_compress_hook",
    "fp16_compress_wrapper",
]

Hook = Callable[[Any, Any], Any]


def averaged(tensor: Tensor, group: Any) -> torch.futures.Future[Tensor]:
    """Average a tensor over a group in place; return a future that contains the tensor."""
    tensor.div_(torch.distributed.get_world_size(group))
    work = torch.distributed.all_reduce(tensor, group=group, async_op=True)
    result: torch.futures.Future[Tensor] = work.get_future().then(lambda done: done.value()[0])
    return result


def allreduce_hook(process_group: Any, bucket: Any) -> Any:
    """Average the gradients, as `DistributedDataParallel` does without a hook."""
    return averaged(bucket.buffer(), process_group)


def _compressed(process_group: Any, bucket: Any, dtype: torch.dtype) -> Any:
    buffer = bucket.buffer()
    future = averaged(buffer.to(dtype), process_group)
    return future.then(lambda done: buffer.copy_(done.value()))


def fp16_compress_hook(process_group: Any, bucket: Any) -> Any:
    """Average the gradients in float16."""
    return _compressed(process_group, bucket, torch.float16)


def bf16_compress_hook(process_group: Any, bucket: Any) -> Any:
    """Average the gradients in bfloat16."""
    return _compressed(process_group, bucket, torch.bfloat16)


def _wrapped(hook: Hook, dtype: torch.dtype) -> Hook:
    def compressed(state: Any, bucket: Any) -> Any:
        before = bucket.buffer()
        bucket.set_buffer(before.to(dtype))
        future = hook(state, bucket)

        def restored(done: Any) -> Tensor:
            bucket.set_buffer(before)
            result: Tensor = before.copy_(done.value())
            return result

        return future.then(restored)

    return compressed


def fp16_compress_wrapper(hook: Hook) -> Hook:
    """Return a hook that casts the bucket to float16, calls `hook`, and casts the result back."""
    return _wrapped(hook, torch.float16)


def bf16_compress_wrapper(hook: Hook) -> Hook:
    """Return a hook that casts the bucket to bfloat16, calls `hook`, and casts the result back."""
    return _wrapped(hook, torch.bfloat16)

"""`functorch.experimental`: `vmap` in a given number of chunks, and transforms that are also in `torch.func`."""

from __future__ import annotations

from flambeau._functorch.apis import chunk_vmap  # type: ignore[import-not-found]  # an alias, made at import

from flambeau.func import functionalize, hessian, jacfwd, jvp, replace_all_batch_norm_modules_

__all__ = ["chunk_vmap", "functionalize", "hessian", "jacfwd", "jvp", "replace_all_batch_norm_modules_"]

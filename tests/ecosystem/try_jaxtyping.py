"""jaxtyping: shapes and dtypes of tensors in annotations, checked by beartype when functions are called."""

import torch
from beartype import beartype
from jaxtyping import Float, Int, jaxtyped

Matrix, Whole, Number = Float[torch.Tensor, "rows columns"], Int[torch.Tensor, " rows"], Float[torch.Tensor, ""]


@jaxtyped(typechecker=beartype)
def total(x: Matrix, y: Whole) -> Number:
    return x.sum() + y.sum()


print(total(torch.ones(2, 3), torch.ones(2, dtype=torch.int64)))
for x, y in (
    (torch.ones(2, 3), torch.ones(3, dtype=torch.int64)),
    (torch.ones(2), torch.ones(2)),
    (torch.ones(2, 3).int(), torch.ones(2).long()),
):
    try:
        total(x, y)
    except Exception as error:
        print(type(error).__name__)
for dtype in (torch.float32, torch.bfloat16, torch.float16, torch.int8, torch.complex64, torch.bool):
    print(dtype, isinstance(torch.ones(2, dtype=dtype), Float[torch.Tensor, "2"]))
print(isinstance(torch.ones(2), Float[torch.nn.Parameter, "2"]))

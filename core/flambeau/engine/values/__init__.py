"""Plain values: dtypes, sizes, trees of containers, and the promotion rules of dtypes.

Entry points: `dtypes` (the element types), `promotion` (the tables `PROMOTIONS` and `DTYPES`; each operation
names a key of both), `sizes.Size`, and `trees`.  Must stay true: nothing here imports an array library, a device or a tensor.
Further promotions and dtypes may be added freely.
"""

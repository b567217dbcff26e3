"""What tensors are described by: dtypes, sizes, trees of values, promotion.  Nothing here knows of arrays."""

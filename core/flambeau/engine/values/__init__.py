"""Plain values: dtypes, sizes, pytrees, promotion.  Nothing here depends on arrays."""

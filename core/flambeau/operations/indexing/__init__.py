"""`x[index]` and `x[index] = value`, `gather` and `scatter_add`; and the same on arrays of any library."""

"""`x[index]` and `x[index] = value`, `gather` and `scatter_add`; and indexing with only the array API standard."""

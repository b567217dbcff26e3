"""`x[index]` and `x[index] = value`; `gather`, masks; and indexing with only the array API standard."""

"""The `__init__` of the suite's folders that have none."""

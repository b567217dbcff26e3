"""How an operation is called: its record, its signature, its operands, dispatch, in-place forms, `out=`, overrides."""

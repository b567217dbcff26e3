"""How an operation is called: its record, its signature, its operands, dispatch, in-place forms, `out=`, overrides.

Entry points: `op.op` and `op.composite` (define operations), `record.Operation` (documents every option), `facts` (declared
properties of operations, and queries by them), `tables` (all operations by name), `sources` (the generated source) and `dispatch`
(the general path).  Must stay true: a call of plain tensors with one dispatch key runs generated code only, without loops over
arguments; all other calls go to `dispatch`; nothing here names a particular operation.  The templates and the order of
checks in `dispatch` may change freely.
"""

"""How an operation is called: its record, its signature, its operands, dispatch, in-place forms, `out=`, overrides.

Entry points: `op.op` and `op.composite` (define operations), `record.Operation` (documents every option), `facts` (what an
operation is, and queries of operations), `tables` (all of them by name), `sources` (the generated source) and `dispatch` (the
general path).  Must stay true: a call of plain tensors with one dispatch key runs generated code only, without loops over
arguments; everything else leaves it for `dispatch`; nothing here names a particular operation.  The templates and the order of
checks in `dispatch` may change freely.
"""

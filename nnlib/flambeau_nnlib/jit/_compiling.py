from __future__ import annotations
from typing import Any


def compile_method(program, module, name, cls): raise RuntimeError("later")
def compile_function(program, function, name, first): raise RuntimeError("later")
def exported_methods(m): return ["forward"]
def annotations_of(c): return {}
def constants_of(c): return set()

"""One round of each case of the stress test for threads; `python tests/robustness/thread_stress.py` runs more."""

from __future__ import annotations

import pytest
import thread_stress


@pytest.mark.parametrize("case", thread_stress.CASES.values(), ids=thread_stress.CASES)
def test_threads_lose_nothing(case):
    case()

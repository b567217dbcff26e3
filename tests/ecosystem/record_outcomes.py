"""A pytest plugin that appends the outcome of each test as a JSON line to the file named by `ECOSYSTEM_OUTCOMES`."""

import json
import os


def pytest_runtest_logreport(report):
    """Record the outcome of a test's call, and failures and skips of its setup and teardown."""
    if report.when == "call" or not report.passed:
        reason = "" if report.passed else " / ".join(report.longreprtext.strip().splitlines()[-4:])[-600:]
        outcome = {"passed": report.passed, "skipped": report.skipped, "reason": reason}
        with open(os.environ["ECOSYSTEM_OUTCOMES"], "a", encoding="utf-8") as file:
            file.write(json.dumps([report.nodeid, outcome]) + "\n")


def pytest_collectreport(report):
    """Record a file that cannot be collected as a failed test."""
    if report.failed:
        reason = " / ".join(report.longreprtext.strip().splitlines()[-4:])[-600:]
        with open(os.environ["ECOSYSTEM_OUTCOMES"], "a", encoding="utf-8") as file:
            file.write(json.dumps([report.nodeid, {"passed": False, "skipped": False, "reason": reason}]) + "\n")

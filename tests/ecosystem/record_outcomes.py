"""A plugin of pytest's: writes how each test ended to the file that `ECOSYSTEM_OUTCOMES` names, a line for each as it ends."""

import json
import os


def pytest_runtest_logreport(report):
    """A test has passed when its call has; what fails before or after its call has failed."""
    if report.when == "call" or not report.passed:
        reason = "" if report.passed else " / ".join(report.longreprtext.strip().splitlines()[-4:])[-600:]
        outcome = {"passed": report.passed, "skipped": report.skipped, "reason": reason}
        with open(os.environ["ECOSYSTEM_OUTCOMES"], "a", encoding="utf-8") as file:
            file.write(json.dumps([report.nodeid, outcome]) + "\n")


def pytest_collectreport(report):
    """A file that cannot be imported is a test that fails."""
    if report.failed:
        reason = " / ".join(report.longreprtext.strip().splitlines()[-4:])[-600:]
        with open(os.environ["ECOSYSTEM_OUTCOMES"], "a", encoding="utf-8") as file:
            file.write(json.dumps([report.nodeid, {"passed": False, "skipped": False, "reason": reason}]) + "\n")

"""Check with pyright that at least 97 % of the public names have known types: `tox -e types`.

If one attribute of a class such as Backend has no annotation, the types of all functions that use the class are unknown.
"""

from __future__ import annotations

import json
import subprocess
import sys

LEAST = 0.97


def main() -> int:
    """Print the share of names with known types, and up to 20 names without. Return 1 if the share is too small."""
    command = ["pyright", "--verifytypes", "flambeau", "--ignoreexternal", "--outputjson"]
    done = subprocess.run(command, capture_output=True, text=True)
    report = json.loads(done.stdout)["typeCompleteness"]
    print(f"{report['completenessScore']:.1%} of the public names have known types")
    if report["completenessScore"] >= LEAST:
        return 0
    found = [
        f"{symbol['name']}: {diagnostic['message'].splitlines()[0]}"
        for symbol in report["symbols"]
        if symbol["isExported"] and not symbol["isTypeKnown"]
        for diagnostic in symbol["diagnostics"]
        if "missing type annotation" in diagnostic["message"]
    ]
    print("\n".join(found[:20]))
    return 1


if __name__ == "__main__":
    sys.exit(main())

"""`python -m flambeau`: see `launching.launcher`."""

from __future__ import annotations

from .launching.launcher import main

if __name__ == "__main__":
    main()

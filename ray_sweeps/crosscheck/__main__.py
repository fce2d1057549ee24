"""The command ``python -m ray_sweeps.crosscheck``."""

import sys

from ray_sweeps.crosscheck import main

if __name__ == "__main__":
    sys.exit(main())

"""The benchmarks are scripts that import each other from their own folder."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))

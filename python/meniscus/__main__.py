"""Entry point of `python -m meniscus`: the command line."""

import sys

from meniscus.cli import main

sys.exit(main())

"""`python -m alikely.cli`."""

import sys

from alikely.cli import main

sys.exit(main())

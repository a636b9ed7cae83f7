"""``python -m psvm.cli``."""

import sys

from . import main

sys.exit(main())

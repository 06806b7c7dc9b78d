"""``python -m tenvec`` is the command ``tenvec``."""

import sys

from tenvec.cli import main

sys.exit(main())

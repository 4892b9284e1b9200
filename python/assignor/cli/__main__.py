"""Entry point of `python -m assignor.cli`."""

import sys

from assignor.cli import main

sys.exit(main())

"""Entry point of `python -m assignor`, which runs the command line `assignor`."""

import sys

from assignor.cli import main

sys.exit(main())

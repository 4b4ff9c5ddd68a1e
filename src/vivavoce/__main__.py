"""`python -m vivavoce` is the `vivavoce` command."""

import sys

from vivavoce.cli.command import main

sys.exit(main())

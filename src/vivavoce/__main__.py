"""`python -m vivavoce` is the `vivavoce` command."""

import sys

from vivavoce.cli import main

sys.exit(main())

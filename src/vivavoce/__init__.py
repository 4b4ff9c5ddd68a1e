"""Vivavoce: a self-hosted realtime voice-agent server.

Start at `app/server.py` to see how the packages are put together, and at
`session/machine.py` to see what the product decides. `docs/architecture.md`
has the map.
"""

__version__ = "0.1.0"

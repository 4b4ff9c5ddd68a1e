"""Where shell commands run: a port, several ways to fill it, and a probe that chooses."""

from vivavoce.tools.sandbox.ports import NoSandbox, Sandbox
from vivavoce.tools.sandbox.probe import probe

__all__ = ["NoSandbox", "Sandbox", "probe"]

"""What the model may call: the registry, tools from functions, and the built-ins."""

from vivavoce.tools.builtin import builtins
from vivavoce.tools.functions import Tool, tool
from vivavoce.tools.registry import Registry

__all__ = ["Registry", "Tool", "builtins", "tool"]

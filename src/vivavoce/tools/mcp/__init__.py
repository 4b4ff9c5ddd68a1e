"""Tools of MCP servers, as tools of ours (docs/mcp.md).

The SDK is imported when the first server is connected, off the event loop:
an agent without servers pays nothing for it, and no start waits for it.
"""

from vivavoce.tools.mcp.servers import McpServers, Patience, ServerStatus

__all__ = ["McpServers", "Patience", "ServerStatus"]

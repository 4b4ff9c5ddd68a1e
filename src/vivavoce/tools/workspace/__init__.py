"""The workspace's files: reading, finding, searching, changing, and nothing outside it."""

from vivavoce.tools.workspace.root import Workspace, Workspaces
from vivavoce.tools.workspace.tools import workspace_tools

__all__ = ["Workspace", "Workspaces", "workspace_tools"]

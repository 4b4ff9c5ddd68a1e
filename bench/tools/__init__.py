"""Tool calls, grep and the sandbox."""

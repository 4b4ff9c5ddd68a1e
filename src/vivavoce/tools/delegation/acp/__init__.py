"""Local coding agents, by the Agent Client Protocol."""

"""Remote agents, by the A2A protocol."""

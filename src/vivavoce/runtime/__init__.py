"""Sessions at work: tool calls, tasks, users, journal, provider, agent folders; the ports."""

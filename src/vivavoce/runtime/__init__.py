"""Sessions at work: one task group, one inbox and one loop each; the registry; the ports."""

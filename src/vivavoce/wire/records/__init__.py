"""What is kept: conversations and their entries, plans, delegated work."""

"""Written English as one would say it."""

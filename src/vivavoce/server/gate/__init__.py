"""Who may come in: host, origin, size, authentication, tickets."""

MIN_TOKEN_LENGTH = 16
"""Of the server's bearer token."""

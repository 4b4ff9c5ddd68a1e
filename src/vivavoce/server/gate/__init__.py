"""Who may come in: host, origin, size, authentication, tickets."""

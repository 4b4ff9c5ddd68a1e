"""The doors: HTTP and SSE, authentication, limits. `app.py` puts everything together."""

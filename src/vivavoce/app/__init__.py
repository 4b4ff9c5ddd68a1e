"""Puts everything together: settings, the server's parts and its life, engine, tools, intents."""

"""Intents for a backend of the user's: an outbox, signed messages."""

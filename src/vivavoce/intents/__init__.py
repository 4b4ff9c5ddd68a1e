"""Intents: what the model understood, checked, kept, and handed to whoever acts on it."""

"""Intents understood, in writing and by speech."""

"""Brains without a language model: a script, and the demonstration."""

"""Puts everything together. Beside the command, the only reader of settings."""

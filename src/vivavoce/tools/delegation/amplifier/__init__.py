"""Agents of `amplifier-core`."""

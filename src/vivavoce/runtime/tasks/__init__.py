"""Delegated work: begun, recorded, told of, asked about."""

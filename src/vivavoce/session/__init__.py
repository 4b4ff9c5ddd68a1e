"""The heart, without I/O: events in, effects out."""

"""The event log: the only way to write and to announce, and its readers."""

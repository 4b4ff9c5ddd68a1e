"""Vocabularies: the Realtime protocol, our own events, the records."""

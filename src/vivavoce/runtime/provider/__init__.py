"""Whoever speaks the Realtime protocol, as the runtime reaches it."""

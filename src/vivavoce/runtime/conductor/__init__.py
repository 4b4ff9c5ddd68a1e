"""Runtimes, and the conversations that they are at: apps with a microphone, a loudspeaker and tools
of their own."""

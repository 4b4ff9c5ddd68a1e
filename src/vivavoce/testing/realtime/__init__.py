"""A scripted Realtime provider for tests."""

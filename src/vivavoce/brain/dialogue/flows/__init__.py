"""Wishes that take several calls of tools: carried out one by one, names found in the workspace
before a tool gets them, results told in words. No I/O."""

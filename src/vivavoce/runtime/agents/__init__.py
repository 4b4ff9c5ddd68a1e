"""Agent folders: what makes one voice agent different from another, with no code."""

"""The models: what they are, where they come from, and where they lie on this machine."""

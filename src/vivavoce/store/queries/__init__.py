"""Named reads."""

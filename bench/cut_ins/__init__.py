"""Whether a pause is taken for the end of a turn."""

"""End of speech to the first word of the answer."""

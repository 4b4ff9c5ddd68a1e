"""Vocabularies: what is said on each wire and what is kept. No I/O, and nothing of ours."""

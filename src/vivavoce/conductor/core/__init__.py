"""What a client decides, with no I/O and no clock: facts in, orders out."""

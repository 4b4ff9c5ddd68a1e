"""What was meant, and what to do about it: the dialogue manager for brains that understand one
utterance better than a whole talk. No I/O."""

"""What a small model may do next, guessed from what was said. A better model needs none of it."""

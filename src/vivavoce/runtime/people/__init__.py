"""Users: who they are, what they plan, what is remembered of them."""

"""What a session and its responses are set to."""

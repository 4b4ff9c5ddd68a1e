"""The heart: events in, effects out. State machine, transcript, what the model is told."""

"""What the model may call: the registry and the built-ins."""

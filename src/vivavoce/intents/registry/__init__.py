"""The intents of an agent, from its `intents.yaml`."""

"""What a runtime shows beside the talk: a small document of cards, made from events, and sent as
changes (JSON Patch, RFC 6902)."""

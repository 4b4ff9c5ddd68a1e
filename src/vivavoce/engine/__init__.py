"""The embedded provider: OpenAI's Realtime API with ears, turn taking, a mouth and media."""

"""The embedded provider: a server of OpenAI's Realtime API with ears, a brain and a mouth."""

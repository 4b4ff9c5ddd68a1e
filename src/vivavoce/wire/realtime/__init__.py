"""OpenAI's Realtime protocol (GA), both directions. No I/O."""

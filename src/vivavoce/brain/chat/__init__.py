"""A brain elsewhere: any server of OpenAI's `/chat/completions`."""

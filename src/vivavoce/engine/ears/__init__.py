"""What hears: voice activity, speech to text, and whether the speaker has finished."""

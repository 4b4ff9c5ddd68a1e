"""One Realtime session at work: what the turn machine decides is done here."""

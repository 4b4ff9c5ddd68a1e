"""Sound and events over WebRTC: what `engine.ports` calls a peer.

`peer.answer` is the way in. Nothing here knows of turns, models or sessions.
"""

"""WebRTC: CPU, delay, pacing, interruptions."""

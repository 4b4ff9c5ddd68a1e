"""The Realtime API over HTTP and WebSocket: keys, sessions, calls."""

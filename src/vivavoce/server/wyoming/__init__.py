"""The door for hardware: the Wyoming protocol, which Home Assistant and its satellites speak, over
plain TCP. A thin adapter: ears and mouth as services, and a satellite's talk as a session."""

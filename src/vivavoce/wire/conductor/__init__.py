"""The conductor's protocol: events between the conductor (here) and a runtime, an app that has the
microphone, the loudspeaker and tools of its own. Both directions. No I/O."""

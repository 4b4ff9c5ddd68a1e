"""The fakes we ship: `ScriptedProvider`, `MemoryStore`, `ManualClock` (docs/testing.md)."""

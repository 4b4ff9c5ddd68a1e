"""Every test file may use these."""

pytest_plugins = ["vivavoce.testing.plugin"]

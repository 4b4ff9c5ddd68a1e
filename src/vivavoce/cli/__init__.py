"""The `vivavoce` command."""

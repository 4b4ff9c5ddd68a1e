"""The HTTP doors, each thin."""

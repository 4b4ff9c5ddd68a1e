"""The one place that knows a human language."""

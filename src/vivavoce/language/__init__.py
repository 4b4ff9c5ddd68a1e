"""The one place that knows a human language: numbers, times, recurrences, yes and no."""

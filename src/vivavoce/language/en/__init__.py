"""English: numbers, times, recurrences, yes, no and stop, and text as one says it."""

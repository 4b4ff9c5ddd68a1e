"""Named writes."""

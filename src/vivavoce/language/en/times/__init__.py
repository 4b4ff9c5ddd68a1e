"""What a spoken time means."""

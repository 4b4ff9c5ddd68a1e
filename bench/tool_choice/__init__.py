"""Whether the brain picks the right tool, in writing and by speech."""

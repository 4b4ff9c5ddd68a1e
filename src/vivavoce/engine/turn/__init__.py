"""The turn machine: facts in, orders out. No I/O in this package."""

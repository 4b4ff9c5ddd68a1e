"""The parts of a spoken time: the words, clocks, days and spans."""

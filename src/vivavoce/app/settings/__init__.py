"""One frozen `Settings`, and the only reader of the environment."""

"""Requests and answers of the doors, and records as clients see them."""

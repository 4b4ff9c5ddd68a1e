"""Delegated work: who carries it through crashes, and the agents that do it."""

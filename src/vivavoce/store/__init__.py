"""Durable memory in SQL: SQLite by default, PostgreSQL by URL."""

"""Alembic's entry: the connection, and its transaction, belong to the caller."""

from alembic import context

context.configure(connection=context.config.attributes["connection"])
context.run_migrations()

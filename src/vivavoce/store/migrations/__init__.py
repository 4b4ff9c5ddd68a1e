"""Ordered migrations, run by Alembic inside one transaction (`vivavoce.store.migrate`)."""

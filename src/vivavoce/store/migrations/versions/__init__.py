"""One file a revision. A new one goes into `migrate.REVISIONS` too."""

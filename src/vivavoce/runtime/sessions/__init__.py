"""Voice sessions: made, connected, run, changed, ended, recovered."""

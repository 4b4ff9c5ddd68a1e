"""The built-in orchestrator: goals, tasks and reschedules in our own database."""

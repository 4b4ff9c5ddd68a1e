"""Tool calls: checked, permitted, recorded, run, answered once."""

"""Child processes: started, watched, ended."""

"""Talks as outsiders speak, with a judge of their own: what came of them, as text and by speech.

The talks and the judge are somebody else's: a folder with `judge.py` and files `*.jsonl`, named on
the command line or by `TALKS_FOLDER`. Nothing of it is kept here.
"""

"""What a talk in a terminal comes to, without I/O: the state from facts (`state.py`), the state in
words (`words.py`), and what of the sound was played and heard (`playing.py`)."""

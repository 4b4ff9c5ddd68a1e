"""What each stretch of words says about time: productions of a small grammar, one a piece.

A production looks at the tokens from one place on and gives the piece that begins there, where it
ends, and how sure it is: some words say a time wherever they stand ("tomorrow"), some only beside
others ("nine", "the third", "May"). Which of those count is decided in `reading`, where the
neighbours are known. The longest piece at a place is taken.
"""

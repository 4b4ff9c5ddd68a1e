"""The models' files: which there are, fetching them, checking them."""

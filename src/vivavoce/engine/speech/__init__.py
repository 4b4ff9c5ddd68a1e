"""The speech process: ears, judge and mouth in a child of the server, and the way to them."""

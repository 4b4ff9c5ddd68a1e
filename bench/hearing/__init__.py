"""Words heard wrong, on recordings of people."""

"""HTTP and SSE: the doors, what they take and answer, and the gate in front of them."""

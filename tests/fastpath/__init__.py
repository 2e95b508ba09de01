"""The fast path: what it forwards and rejects, and that a session without it does the same."""

"""TLS contexts for both sides, made from files, and what a certificate says of its owner and its end.

Non-goals: no connections. `cluster` and `proxy.connections` open them.
"""

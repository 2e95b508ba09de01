"""TLS contexts for both sides, made from files, and the owner and expiry of certificates.

Non-goals: no connections. `cluster` and `proxy.connections` open them.
"""

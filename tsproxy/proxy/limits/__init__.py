"""Limits for all clients of one process together, and the consequences for a client that exceeds them.

The session bounds single requests (their size, their records, their decompressed bytes).

Non-goals: no quotas for bandwidth or request rate. Brokers have them, and know the principal.
"""

"""What one process gives to all its clients together, and what a client that takes too much meets.

    limit         the names of the limits, as metrics and log lines tell them
    admission     who may connect: so many in all, so many from one address
    connection_monitor        one look a second at every connection: stalled frames, idle connections, memory
    descriptors   whether the system grants as many files as the connections need

Bounds of a single request (its size, its records, what it may unfold to) are the session's.

Non-goals: no bandwidth or request-rate quotas; brokers have them, and know the principal.
"""

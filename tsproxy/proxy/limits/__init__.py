"""Limits for all clients of one process together, and the consequences for a client that exceeds them.

    limit               the names of the limits in metrics and log lines
    process             the limits of one process: admission, memory, and the monitor
    admission           how many clients may connect in all, and from one address
    connection_monitor  checks every connection once a second: stalled frames, idle connections, memory
    descriptors         whether the system grants enough open files for the connections

The session bounds single requests (their size, their records, their decompressed bytes).

Non-goals: no quotas for bandwidth or request rate. Brokers have them, and know the principal.
"""

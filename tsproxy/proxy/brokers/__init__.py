"""What a running proxy knows of its brokers: addresses, versions, topics and the limits that hold.

Non-goals: no clients' connections. `proxy.connections` serves the brokers found here.
"""

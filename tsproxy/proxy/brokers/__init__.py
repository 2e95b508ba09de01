"""The brokers as a running proxy knows them: addresses, versions, topics and limits.

Non-goals: no clients' connections. `proxy.connections` serves the brokers found here.
"""

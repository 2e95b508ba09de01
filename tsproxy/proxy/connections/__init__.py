"""Clients' connections: ports, handshakes, and the two sockets that one session joins.

A connection is one client connection and one broker connection with one lifetime. The session decides;
this package reads, writes, waits and closes.

Non-goals: no decision on any record, no pool of connections.
"""

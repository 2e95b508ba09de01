"""Queries the cluster for brokers, topics, limits and the newest timestamps, and provides a producer.

The proxy and the offline commands use it. It opens connections of its own and never uses a client's
connection.

Non-goals: no judging and no state of a running proxy. `proxy.brokers` keeps the results.
"""

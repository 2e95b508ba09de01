"""The client that asks the cluster: brokers, topics, limits, the newest timestamps; and a producer.

The proxy and the offline commands use it. Its connections are never a client's: what the proxy wants to
know itself it asks on connections of its own.

Non-goals: no judging and no state of a running proxy. `proxy.brokers` keeps what was learnt.
"""

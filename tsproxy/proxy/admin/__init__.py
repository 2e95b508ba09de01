"""The admin port: it shows the state of a running proxy to scrapers, probes and people.

The pages show the addresses of brokers and clients, the names of topics, and the configuration without its
secrets. By default the port is bound to the loopback address. Everybody who can connect to it can read all
pages.

Non-goals: nothing can be changed here. There is one token, and no users.
"""

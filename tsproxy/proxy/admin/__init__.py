"""The admin port: what scrapers, probes and people are shown of a proxy while it runs.

    http       GET over HTTP/1.1, bounded in every direction
    pages      the paths, and what is said under each
    report     what one process says of itself; several processes as one
    totals     metrics of several processes as one
    offenders  who sent what was rejected lately, highest score first
    live       the page for people, one document without anything from outside

Whoever reaches the port reads all of it: the addresses of brokers and clients, names of topics, the
configuration without its secrets. It is bound to the loopback address by default.

Non-goals: nothing can be changed here, nobody is asked who they are, and TLS is left to what stands in
front of it.
"""

"""The admin port: it shows the state of a running proxy to scrapers, probes and people.

    http     GET over HTTP/1.1, bounded in every direction
    hosts    the host names under which a browser may open the pages
    pages    the paths and their contents
    report   the state of one process, and of several processes as one
    numbers  sums and quantiles of metrics, for the page
    live     the page for people, one document without external parts

Everybody who reaches the port can read all of it: the addresses of brokers and clients, the names of topics,
the configuration without its secrets. By default it is bound to the loopback address.

Non-goals: nothing can be changed here. There is no login, and no TLS: use a reverse proxy for both.
"""

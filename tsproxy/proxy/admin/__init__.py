"""The admin port: it shows the state of a running proxy to scrapers, probes and people.

    http     GET over HTTP/1.1, bounded in every direction
    hosts    the host names under which a browser may open the pages
    access   the token that readers must send, if one is configured
    pages    the paths and their contents
    report   the state of one process, and of several processes as one
    numbers  sums and quantiles of metrics, for the page
    live     the page for people, one document without external parts

The pages show the addresses of brokers and clients, the names of topics, and the configuration without its
secrets. By default the port is bound to the loopback address. Everybody who can connect to it can read all
pages.

Non-goals: nothing can be changed here. There is one token, and no users.
"""

"""Every metric of the admin port, once.

    traffic    batches, latency, connections, brokers
    state      decision log, clock, configuration, process
    sections   both in the order of docs/metrics.md

Code makes metrics from these rows only, and tests compare them with the page and with a running proxy.
"""

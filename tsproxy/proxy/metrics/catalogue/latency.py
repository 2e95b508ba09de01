"""Metrics of latency and of the event loop."""

from typing import Final

from tsproxy.proxy.metrics.described import histogram_row

TITLE: Final = "Latency and CPU"

REQUEST_SECONDS: Final = histogram_row(
    "tsproxy_request_seconds",
    "seconds",
    "Time that a request and its answer spent in the proxy (a sample)",
    "p99 above 10 ms: the CPU core is full (add workers), or large compressed batches are judged.",
    ("api",),
)
UPSTREAM_SECONDS: Final = histogram_row(
    "tsproxy_upstream_seconds",
    "seconds",
    "Time from a forwarded request to the broker's whole answer (the same sample)",
    "Grows: the brokers are slow, not the proxy. Fetch waits by design.",
    ("api",),
)
BROKER_CONNECT_SECONDS: Final = histogram_row(
    "tsproxy_broker_connect_seconds",
    "seconds",
    "Time to connect to a broker for a client, by its node id (or `bootstrap`), with the TLS handshake",
    "One broker is slower than the others: look at that broker, or at the network to it. Failed tries are in "
    "`tsproxy_client_connections_total`.",
    ("broker",),
)
BROKER_PRODUCE_SECONDS: Final = histogram_row(
    "tsproxy_broker_produce_seconds",
    "seconds",
    "Time from a forwarded Produce request to the broker's whole answer, by broker (the same sample)",
    "One broker is slower than the others: look at its disks, its replication and its network.",
    ("broker",),
)
EVENT_LOOP_LAG: Final = histogram_row(
    "tsproxy_event_loop_lag_seconds",
    "seconds",
    "How late the event loop ran scheduled work, measured four times a second",
    "p99 above 10 ms: the CPU core is full. Single delays above 1 s: report them.",
)

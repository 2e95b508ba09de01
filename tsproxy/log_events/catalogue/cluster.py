"""Events of the cluster and its brokers."""

from typing import Final

from tsproxy.log_events.event import crashed, error, info, warning

TITLE: Final = "The cluster and its brokers"

UPSTREAM_UNREACHABLE: Final = error(
    "upstream_unreachable",
    ("error", "for_s", "advice"),
    "The proxy's own connection gets no answer, for `for_s` seconds. Connected clients stay connected.",
    "`error` says why: address, TLS on one side only, SASL, DNS. Check `upstream.bootstrap_servers` and "
    "`upstream.tls` from this machine.",
)
UPSTREAM_REACHED: Final = info("upstream_reached", (), "The cluster answers again.")
UPSTREAM_MAY_BE_PROXY: Final = warning(
    "upstream_may_be_proxy",
    ("listener", "brokers", "advice"),
    "The addresses that the cluster advertises are those of this proxy.",
    "`upstream.bootstrap_servers` must name the brokers, not the proxy.",
)
CLUSTER_CONVERSATION_CRASHED: Final = crashed(
    "cluster_conversation_crashed",
    "An error in our code while the proxy read the cluster's answer. It asks again.",
)
BROKER_SERVED: Final = info(
    "broker_served",
    ("listener", "node_id", "address", "upstream"),
    "A broker has a port of its own here, or a new address.",
)
BROKER_HANGS: Final = error(
    "broker_hangs",
    ("node_id", "address", "error", "advice"),
    "A broker keeps clients waiting that were connected, and does not answer the proxy's own connection "
    "either.",
    "See whether the broker hangs. Its clients connect again when they give up (`request.timeout.ms`).",
)
BROKER_ANSWERS: Final = info("broker_answers", ("node_id", "address"), "A broker that hung answers again.")
BROKER_NOT_SERVED: Final = error(
    "broker_not_served",
    ("listener", "node_id", "error"),
    "A broker has no port here: its port could not be bound (that is tried again every second), or its node "
    "id lies outside `first_id` and `count`. The line says which.",
    "Free the port, or choose others (`listeners[].brokers.ports_from`); or set `first_id` to the lowest "
    "node id, and `count` higher. Keep broker ports outside the system's range for outgoing connections.",
)
BROKERS_NOT_SERVED: Final = error(
    "brokers_not_served",
    ("listener", "node_ids", "errors", "advice"),
    "Some brokers have no port, so clients cannot reach the partitions that they lead.",
    "The same. `brokers.count` must cover every node id.",
)
SERVING_CRASHED: Final = crashed("serving_crashed", "An error in our code while ports were tried again.")
OFFERS_CRASHED: Final = crashed(
    "offers_crashed",
    "An error in our code while the versions of brokers were compared. The versions known before stay in "
    "use.",
)
LOOP_COMPLAINED: Final = error(
    "loop_complained",
    ("text", "error", "frames", "not_logged"),
    "The event loop reported an error that no other code has handled. Clients are served. At most one line a"
    " second; `not_logged` counts the others since the last line.",
    "Report it with the whole line.",
)
